/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shape rules of indexed reads and writes, and of what sorts.
 */
#include "graph/ops/shape_rule.h"

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

void gcut_shape_scatter_add_along(infer *s)
{
    same_dtype(s, 0, 2);
    same_shape(s, 1, 2);
    gcut_shape_take_along(s);
    *s->out = *in(s, 0);
}

/* The index vectors lie along the last axis of i and name rows of x: x[batch] + i[batch:-1] + x[batch + K:]. */
static gcut_type rows(infer *s, const gcut_type *x, const gcut_type *i, gcut_dim batch)
{
    index_operand(s, 1);
    if (!gcut_dim_known(batch)) BAD(s, "'%s': batch=%s is no number", opname(s), show_dim(s, batch));
    if (i->rank == 0 || !gcut_dim_known(i->dim[i->rank - 1u]))
        BAD(s, "'%s': operand 2 is %s, expected index vectors along the last axis, whose size is a number",
            opname(s), show(s, i));
    const gcut_dim vector = i->dim[i->rank - 1u];
    if (vector > x->rank || batch + vector > x->rank || batch >= i->rank ||
        (batch + vector == 0 && x->rank == GCUT_MAX_RANK))
        BAD(s, "'%s': index vectors of %lld numbers after %lld batch axes, %s, do not fit %s", opname(s),
            (long long)vector, (long long)batch, show(s, i), show(s, x));
    gcut_type t = {.dtype = x->dtype};
    const uint32_t first = (uint32_t)(batch + vector);
    if (i->rank - 1u + x->rank - first > GCUT_MAX_RANK)
        BAD(s, "'%s': the result would have rank %u, more than %d", opname(s), i->rank - 1u + x->rank - first,
            GCUT_MAX_RANK);
    for (uint32_t d = 0; d < batch; d++) require(s, x->dim[d], i->dim[d]);
    for (uint32_t d = 0; d + 1u < i->rank; d++) t.dim[t.rank++] = i->dim[d];
    for (uint32_t d = first; d < x->rank; d++) t.dim[t.rank++] = x->dim[d];
    return t;
}

void gcut_shape_take_nd(infer *s)
{
    *s->out = rows(s, in(s, 0), in(s, 1), attr(s, GCUT_KEY_batch)->u.dim);
}

void gcut_shape_scatter_add_nd(infer *s)
{
    same_dtype(s, 0, 2);
    const gcut_type *u = in(s, 2), want = rows(s, in(s, 0), in(s, 1), 0);
    if (want.rank != u->rank)
        BAD(s, "'%s': the update is %s, expected %s", opname(s), show(s, u), show(s, &want));
    for (uint32_t d = 0; d < u->rank; d++) require(s, want.dim[d], u->dim[d]);
    *s->out = *in(s, 0);
}

void gcut_shape_one_hot(infer *s)
{
    const gcut_type *i = in(s, 0);
    const gcut_dim n = attr(s, GCUT_KEY_n)->u.dim;
    index_operand(s, 0);
    if (i->rank == GCUT_MAX_RANK)
        BAD(s, "'one_hot': the result would have rank %d, more than %d", i->rank + 1, GCUT_MAX_RANK);
    *s->out = *i;
    s->out->dtype = dtype_of(s, GCUT_KEY_dtype);
    s->out->dim[s->out->rank++] = n;
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
