/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shape rules of reductions, contractions and indexed reads and writes.
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

/* x[:axis] + i + x[axis+1:] */
static gcut_type taken(infer *s, const gcut_type *x, const gcut_type *i, uint32_t axis)
{
    gcut_type t = {.dtype = x->dtype};
    if (x->rank + i->rank > GCUT_MAX_RANK + 1)
        BAD(s, "'%s': the result would have rank %d, more than %d", opname(s), x->rank + i->rank - 1,
            GCUT_MAX_RANK);
    for (uint32_t d = 0; d < axis; d++) t.dim[t.rank++] = x->dim[d];
    for (uint32_t d = 0; d < i->rank; d++) t.dim[t.rank++] = i->dim[d];
    for (uint32_t d = axis + 1; d < x->rank; d++) t.dim[t.rank++] = x->dim[d];
    return t;
}

void gcut_shape_take(infer *s)
{
    index_operand(s, 1);
    *s->out = taken(s, in(s, 0), in(s, 1), axis_of(s, GCUT_KEY_axis, in(s, 0)->rank));
}

void gcut_shape_pick(infer *s)
{
    const gcut_type *x = in(s, 0), *i = in(s, 1);
    uint32_t axis = axis_of(s, GCUT_KEY_axis, x->rank);
    index_operand(s, 1);
    *s->out = (gcut_type){.dtype = x->dtype};
    for (uint32_t d = 0; d < x->rank; d++)
        if (d != axis) s->out->dim[s->out->rank++] = x->dim[d];
    if (i->rank != s->out->rank)
        BAD(s, "'pick': indices %s must have the shape of %s without axis %u", show(s, i), show(s, x), axis);
    for (uint32_t d = 0; d < i->rank; d++) require(s, s->out->dim[d], i->dim[d]);
}

void gcut_shape_scatter_add(infer *s)
{
    const gcut_type *x = in(s, 0), *u = in(s, 2);
    index_operand(s, 1);
    same_dtype(s, 0, 2);
    gcut_type want = taken(s, x, in(s, 1), axis_of(s, GCUT_KEY_axis, x->rank));
    if (want.rank != u->rank)
        BAD(s, "'scatter_add': the update is %s, expected %s", show(s, u), show(s, &want));
    for (uint32_t d = 0; d < u->rank; d++) require(s, want.dim[d], u->dim[d]);
    *s->out = *x;
}

void gcut_shape_axis(infer *s)
{
    axis_of(s, GCUT_KEY_axis, in(s, 0)->rank);
    *s->out = *in(s, 0);
}

void gcut_shape_take_along(infer *s)
{
    const gcut_type *x = in(s, 0), *i = in(s, 1);
    uint32_t axis = axis_of(s, GCUT_KEY_axis, x->rank);
    index_operand(s, 1);
    if (i->rank != x->rank)
        BAD(s, "'take_along': indices %s must have the rank of %s", show(s, i), show(s, x));
    for (uint32_t d = 0; d < x->rank; d++)
        if (d != axis) require(s, x->dim[d], i->dim[d]);
    *s->out = *i;
    s->out->dtype = x->dtype;
}

void gcut_shape_argsort(infer *s)
{
    gcut_shape_axis(s);
    s->out->dtype = GCUT_I64;
}

/* The values, then their indices. */
void gcut_shape_topk(infer *s)
{
    const gcut_type *x = in(s, 0);
    uint32_t axis = axis_of(s, GCUT_KEY_axis, x->rank);
    gcut_dim k = attr(s, GCUT_KEY_k)->u.dim;
    if (gcut_dim_known(k) && k < 0) BAD(s, "'topk': k=%s is no size", show_dim(s, k));
    require_le(s, k, x->dim[axis]);
    s->n = 2;
    s->out[0] = *x;
    s->out[0].dim[axis] = k;
    s->out[1] = s->out[0];
    s->out[1].dtype = GCUT_I64;
}
