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

/* y = mean of |d| <= delta ? d^2 / 2 : delta (|d| - delta / 2) (Huber 1964).  With m = min(|d|, delta) either is
 * m (|d| - m / 2), whose derivative has no select. */
gcut_ref gcut_decompose_huber(composite *c)
{
    const double delta = number(c, GCUT_KEY_delta);
    gcut_ref d = gcut_b1(B, GCUT_OP_abs, gcut_b2(B, GCUT_OP_sub, c->x[0], c->x[1]));
    gcut_ref m = gcut_b2(B, GCUT_OP_min, d, gcut_bconst(B, d, delta));
    gcut_ref y = gcut_b2(B, GCUT_OP_mul, m, gcut_b2(B, GCUT_OP_sub, d, gcut_bscale(B, m, 0.5)));
    return gcut_breduce(B, GCUT_OP_mean, y, all_axes(B, y));
}

/* y = mean of -t log sigmoid(x) - (1 - t) log(1 - sigmoid(x)) = mean of log(1 + e^x) - x t */
gcut_ref gcut_decompose_bce(composite *c)
{
    gcut_ref xt = gcut_b2(B, GCUT_OP_mul, c->x[0], c->x[1]);
    gcut_ref y = gcut_b2(B, GCUT_OP_sub, gcut_b1(B, GCUT_OP_softplus, c->x[0]), xt);
    return gcut_breduce(B, GCUT_OP_mean, y, all_axes(B, y));
}

/* Does the row of a label count? */
static gcut_ref counted(composite *c)
{
    return gcut_b2(B, GCUT_OP_ne, c->x[1], gcut_bconst(B, c->x[1], number(c, GCUT_KEY_ignore)));
}

/* p[label] of each row.  Labels of rows that do not count become 0, because `ignore` is no index. */
static gcut_ref at_labels(composite *c, gcut_ref p, gcut_ref counts)
{
    gcut_ref label = gcut_bselect(B, counts, c->x[1], gcut_bconst(B, c->x[1], 0));
    return op_with_axis(B, GCUT_OP_pick, (gcut_ref[]){p, label}, 2, type_of(B, p).rank - 1u);
}

/* The mean of -row over the rows that count.  Others are selected away, not multiplied by 0, so that an infinity in them
 * does not spread; no row at all gives 0 / 0 = NaN. */
static gcut_ref mean_of_counted(composite *c, gcut_ref row, gcut_ref counts)
{
    gcut_ref nothing = gcut_bconst(B, row, 0);
    row = gcut_bselect(B, counts, gcut_b1(B, GCUT_OP_neg, row), nothing);
    gcut_ref n = gcut_bconvert(B, counts, type_of(B, row).dtype);
    n = gcut_breduce(B, GCUT_OP_sum, n, all_axes(B, n));
    return gcut_b2(B, GCUT_OP_div, gcut_breduce(B, GCUT_OP_sum, row, all_axes(B, row)), n);
}

/* loss = sum over rows with label != ignore of -p[label], divided by their number */
gcut_ref gcut_decompose_nll(composite *c)
{
    gcut_ref counts = counted(c);
    return mean_of_counted(c, at_labels(c, c->x[0], counts), counts);
}

/* loss = sum over rows with label != ignore of -((1 - s) p[label] + s mean p), divided by their number, where
 * p = log_softmax(logits).  s = smooth is label smoothing as in PyTorch. */
gcut_ref gcut_decompose_cross_entropy(composite *c)
{
    const double smooth = number(c, GCUT_KEY_smooth);
    gcut_ref p = op_with_axis(B, GCUT_OP_log_softmax, c->x, 1, type_of(B, c->x[0]).rank - 1u);
    gcut_ref counts = counted(c), row = at_labels(c, p, counts);
    if (smooth != 0) {
        gcut_ref even = gcut_bscale(B, gcut_breduce(B, GCUT_OP_mean, p, last_axis(B, p)), smooth);
        row = gcut_b2(B, GCUT_OP_add, gcut_bscale(B, row, 1 - smooth), even);
    }
    return mean_of_counted(c, row, counts);
}
