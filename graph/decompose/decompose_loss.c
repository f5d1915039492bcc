/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of losses.
 */
#include "graph/decompose/decompose_rule.h"

/* y = mean (a - b)^2 */
gcut_ref gcut_decompose_mse(composite *c)
{
    gcut_ref d = gcut_b2(B, GCUT_OP_sub, c->x[0], c->x[1]);
    return gcut_breduce(B, GCUT_OP_mean, gcut_b2(B, GCUT_OP_mul, d, d), all_axes(B, d));
}

/* loss = sum over rows with label != ignore of -((1 - s) p[label] + s mean p), divided by their number, where
 * p = log_softmax(logits).  s = smooth is label smoothing as in PyTorch; no row at all gives 0 / 0 = NaN.
 * Ignored rows are selected away, not multiplied by 0, so that an infinity in them does not spread; their
 * labels become 0 first, because `ignore` is no index. */
gcut_ref gcut_decompose_cross_entropy(composite *c)
{
    double ignore = number(c, GCUT_KEY_ignore), smooth = number(c, GCUT_KEY_smooth);
    uint32_t last = last_axis(B, c->x[0]), axis = type_of(B, c->x[0]).rank - 1u;
    gcut_ref p = op_with_axis(B, GCUT_OP_log_softmax, c->x, 1, axis);
    gcut_ref counts = gcut_b2(B, GCUT_OP_ne, c->x[1], gcut_bconst(B, c->x[1], ignore));
    gcut_ref label = gcut_bselect(B, counts, c->x[1], gcut_bconst(B, c->x[1], 0));
    gcut_ref row = op_with_axis(B, GCUT_OP_pick, (gcut_ref[]){p, label}, 2, axis);
    if (smooth != 0) {
        gcut_ref even = gcut_bscale(B, gcut_breduce(B, GCUT_OP_mean, p, last), smooth);
        row = gcut_b2(B, GCUT_OP_add, gcut_bscale(B, row, 1 - smooth), even);
    }
    gcut_ref nothing = gcut_bconst(B, row, 0);
    row = gcut_bselect(B, counts, gcut_b1(B, GCUT_OP_neg, row), nothing);
    gcut_ref n = gcut_bconvert(B, counts, type_of(B, p).dtype);
    n = gcut_breduce(B, GCUT_OP_sum, n, all_axes(B, n));
    return gcut_b2(B, GCUT_OP_div, gcut_breduce(B, GCUT_OP_sum, row, all_axes(B, row)), n);
}
