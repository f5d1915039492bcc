/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of losses.
 */
#include "graph/decompose/decompose_rule.h"

/* y = mean (a - b)^2 */
gcut_ref gcut_decompose_mse(gcut_build *b, const gcut_graph *src, const gcut_node *node, const gcut_ref *x)
{
    (void)src, (void)node;
    gcut_ref d = gcut_b2(b, GCUT_OP_sub, x[0], x[1]);
    return gcut_breduce(b, GCUT_OP_mean, gcut_b2(b, GCUT_OP_mul, d, d), all_axes(b, d));
}

/* loss = sum over rows with label != ignore of -((1 - s) p[label] + s mean p), divided by their number, where
 * p = log_softmax(logits).  s = smooth is label smoothing as in PyTorch; no row at all gives 0 / 0 = NaN.
 * Ignored rows are selected away, not multiplied by 0, so that an infinity in them does not spread; their
 * labels become 0 first, because `ignore` is no index. */
gcut_ref gcut_decompose_cross_entropy(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                      const gcut_ref *x)
{
    double ignore = gcut_attr_num(src, node, GCUT_KEY_ignore),
           smooth = gcut_attr_num(src, node, GCUT_KEY_smooth);
    uint32_t last = last_axis(b, x[0]), axis = type_of(b, x[0]).rank - 1u;
    gcut_ref p = op_with_axis(b, GCUT_OP_log_softmax, x, 1, axis);
    gcut_ref counts = gcut_b2(b, GCUT_OP_ne, x[1], gcut_bconst(b, x[1], ignore));
    gcut_ref label = gcut_bselect(b, counts, x[1], gcut_bconst(b, x[1], 0));
    gcut_ref row = op_with_axis(b, GCUT_OP_pick, (gcut_ref[]){p, label}, 2, axis);
    if (smooth != 0) {
        gcut_ref even = gcut_bscale(b, gcut_breduce(b, GCUT_OP_mean, p, last), smooth);
        row = gcut_b2(b, GCUT_OP_add, gcut_bscale(b, row, 1 - smooth), even);
    }
    gcut_ref nothing = gcut_bconst(b, row, 0);
    row = gcut_bselect(b, counts, gcut_b1(b, GCUT_OP_neg, row), nothing);
    gcut_ref n = gcut_bcast(b, counts, type_of(b, p).dtype);
    n = gcut_breduce(b, GCUT_OP_sum, n, all_axes(b, n));
    return gcut_b2(b, GCUT_OP_div, gcut_breduce(b, GCUT_OP_sum, row, all_axes(b, row)), n);
}
