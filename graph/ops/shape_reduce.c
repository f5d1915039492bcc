/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shape rules of reductions, contractions and ops along an axis.
 */
#include "graph/ops/shape_rule.h"

void gcut_shape_reduce(infer *s)
{
    const gcut_type *x = in(s, 0);
    uint32_t mask = axes_of(s, x->rank);
    bool keep = attr(s, GCUT_KEY_keep)->u.flag;
    *s->out = (gcut_type){.dtype = x->dtype};
    for (uint32_t d = 0; d < x->rank; d++) {
        if (mask >> d & 1 && !keep) continue;
        s->out->dim[s->out->rank++] = mask >> d & 1 ? 1 : x->dim[d];
    }
}

void gcut_shape_arg(infer *s)
{
    const gcut_type *x = in(s, 0);
    uint32_t axis = axis_of(s, GCUT_KEY_axis, x->rank);
    require_element(s, 0, axis);
    *s->out = (gcut_type){.dtype = GCUT_I64};
    for (uint32_t d = 0; d < x->rank; d++)
        if (d != axis) s->out->dim[s->out->rank++] = x->dim[d];
}

void gcut_shape_matmul(infer *s)
{
    const gcut_type *x = in(s, 0), *y = in(s, 1);
    uint32_t ta = attr(s, GCUT_KEY_ta)->u.flag, tb = attr(s, GCUT_KEY_tb)->u.flag, r = x->rank;
    same_dtype(s, 0, 1);
    if (r < 2 || y->rank != r)
        BAD(s, "'matmul': operands %s and %s must have one rank, at least 2 (leading axes are batch)",
            show(s, x), show(s, y));
    *s->out = (gcut_type){.dtype = x->dtype, .rank = x->rank};
    for (uint32_t d = 0; d + 2 < r; d++) {
        require(s, x->dim[d], y->dim[d]);
        s->out->dim[d] = x->dim[d];
    }
    gcut_dim k1 = x->dim[r - 1 - ta], k2 = y->dim[r - 2 + tb];
    if (gcut_dims_differ(s->g, k1, k2))
        BAD(s, "'matmul': contracted sizes %s (of %s%s) and %s (of %s%s) differ", show_dim(s, k1), show(s, x),
            ta ? ", transposed" : "", show_dim(s, k2), show(s, y), tb ? ", transposed" : "");
    require(s, k1, k2);
    s->out->dim[r - 2] = x->dim[r - 2 + ta];
    s->out->dim[r - 1] = y->dim[r - 1 - tb];
}

void gcut_shape_axis(infer *s)
{
    axis_of(s, GCUT_KEY_axis, in(s, 0)->rank);
    *s->out = *in(s, 0);
}
