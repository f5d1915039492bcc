/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shape rules of data movement ops and of constants.
 */
#include "graph/ops/shape_rule.h"

#include <math.h>

void gcut_shape_reshape(infer *s)
{
    s->out->dtype = in(s, 0)->dtype;
    shape_from(s, GCUT_KEY_shape);
    gcut_dim a = gcut_type_numel(s->g->module, in(s, 0)), b = gcut_type_numel(s->g->module, s->out);
    if (gcut_dims_differ(s->g, a, b))
        BAD(s, "'reshape': %s has %s elements, the new shape %s", show(s, in(s, 0)), show_dim(s, a),
            show_dim(s, b));
    require(s, b, a);
}

void gcut_shape_transpose(infer *s)
{
    const gcut_type *x = in(s, 0);
    const gcut_dim *perm = list_of(s, GCUT_KEY_perm, x->rank);
    uint32_t seen = 0;
    *s->out = (gcut_type){.dtype = x->dtype, .rank = x->rank};
    for (uint32_t d = 0; d < x->rank; d++) {
        if (!gcut_dim_known(perm[d]) || perm[d] >= x->rank || seen >> perm[d] & 1)
            BAD(s, "'transpose' of %s: perm names every axis once, and axis %s %s", show(s, x),
                show_dim(s, perm[d]), gcut_dim_known(perm[d]) && perm[d] < x->rank ? "twice" : "is none");
        seen |= 1u << perm[d];
        s->out->dim[d] = x->dim[perm[d]];
    }
}

void gcut_shape_broadcast(infer *s)
{
    const gcut_type *x = in(s, 0);
    s->out->dtype = x->dtype;
    shape_from(s, GCUT_KEY_shape);
    const gcut_dim *axes = list_of(s, GCUT_KEY_axes, x->rank);
    for (uint32_t d = 0; d < x->rank; d++) {
        if (!gcut_dim_known(axes[d]) || axes[d] >= s->out->rank || (d && axes[d] <= axes[d - 1]))
            BAD(s, "'broadcast': axes must be increasing axes of the result, one for each axis of %s",
                show(s, x));
        if (x->dim[d] != 1) require(s, s->out->dim[axes[d]], x->dim[d]);
    }
}

void gcut_shape_slice(infer *s)
{
    const gcut_type *x = in(s, 0);
    const gcut_dim *start = list_of(s, GCUT_KEY_start, x->rank), *limit = list_of(s, GCUT_KEY_limit, x->rank);
    const gcut_dim *step = list_of(s, GCUT_KEY_step, x->rank);
    *s->out = (gcut_type){.dtype = x->dtype, .rank = x->rank};
    for (uint32_t d = 0; d < x->rank; d++) {
        if (step && (!gcut_dim_known(step[d]) || step[d] < 1))
            BAD(s, "'slice': step of axis %u must be a constant >= 1, not %s (flip reverses)", d,
                show_dim(s, step[d]));
        require_le(s, start[d], limit[d]);
        require_le(s, limit[d], x->dim[d]);
        gcut_dim len = dim2(s, GCUT_DIM_SUB, limit[d], start[d]);
        s->out->dim[d] = step ? dim2(s, GCUT_DIM_CEILDIV, len, step[d]) : len;
    }
}

/* A fill value of dtype bool is 0 or 1: readers would disagree about 2. */
static void bool_value(infer *s, gcut_dtype t)
{
    double v = t == GCUT_BOOL ? attr(s, GCUT_KEY_value)->u.num.f : 0;
    if (v != 0 && v != 1) BAD(s, "'%s': a bool is 0 or 1, not %g", opname(s), v);
}

void gcut_shape_pad(infer *s)
{
    const gcut_type *x = in(s, 0);
    bool_value(s, x->dtype);
    const gcut_dim *low = list_of(s, GCUT_KEY_low, x->rank), *high = list_of(s, GCUT_KEY_high, x->rank);
    const gcut_dim *interior = list_of(s, GCUT_KEY_interior, x->rank);
    *s->out = *x;
    for (uint32_t d = 0; d < x->rank; d++) {
        gcut_dim n = x->dim[d];
        if (interior && interior[d] != 0) { /* n + max(n - 1, 0) * interior */
            gcut_dim gaps = dim2(s, GCUT_DIM_SUB, dim2(s, GCUT_DIM_MAXOF, n, 1), 1);
            n = dim2(s, GCUT_DIM_ADD, n, dim2(s, GCUT_DIM_MUL, gaps, interior[d]));
        }
        s->out->dim[d] = dim2(s, GCUT_DIM_ADD, dim2(s, GCUT_DIM_ADD, low[d], n), high[d]);
    }
}

/* Borders of elements of x: as many as are there, without the one at the edge where they are reflected. */
void gcut_shape_border(infer *s)
{
    const gcut_type *x = in(s, 0);
    const gcut_dim *low = list_of(s, GCUT_KEY_low, x->rank), *high = list_of(s, GCUT_KEY_high, x->rank);
    const gcut_op op = s->spec->op;
    *s->out = *x;
    for (uint32_t d = 0; d < x->rank; d++) {
        const gcut_dim *side[] = {low, high};
        for (uint32_t k = 0; k < 2; k++) {
            const gcut_dim n = side[k][d], edge = op == GCUT_OP_reflection_pad;
            if (n == 0) continue;
            require_le(s, op == GCUT_OP_replication_pad ? 1 : dim2(s, GCUT_DIM_ADD, n, edge), x->dim[d]);
        }
        s->out->dim[d] = dim2(s, GCUT_DIM_ADD, dim2(s, GCUT_DIM_ADD, low[d], x->dim[d]), high[d]);
    }
}

static void need_integer(infer *s, gcut_attr_key key)
{
    const double x = attr(s, key)->u.num.f;
    if (x != floor(x) || fabs(x) > 0x1p53)
        BAD(s, "'%s': %s must be an integer of at most 2^53, not %g", opname(s), gcut_attr_name(key), x);
}

void gcut_shape_roll(infer *s)
{
    need_integer(s, GCUT_KEY_shift);
    axis_of(s, GCUT_KEY_axis, in(s, 0)->rank);
    *s->out = *in(s, 0);
}

void gcut_shape_triangle(infer *s)
{
    need_integer(s, GCUT_KEY_diagonal);
    if (in(s, 0)->rank < 2)
        BAD(s, "'%s': operand 1 is %s, expected two axes or more", opname(s), show(s, in(s, 0)));
    *s->out = *in(s, 0);
}

void gcut_shape_masked_fill(infer *s)
{
    if (in(s, 1)->dtype != GCUT_BOOL)
        BAD(s, "'masked_fill': operand 2 must be bool, not %s", show(s, in(s, 1)));
    same_shape(s, 0, 1);
    bool_value(s, in(s, 0)->dtype);
    *s->out = *in(s, 0);
}

void gcut_shape_concat(infer *s)
{
    *s->out = *in(s, 0);
    uint32_t axis = axis_of(s, GCUT_KEY_axis, s->out->rank);
    for (uint32_t k = 1; k < s->nargs; k++) {
        const gcut_type *x = in(s, k);
        same_dtype(s, 0, k);
        if (x->rank != s->out->rank)
            BAD(s, "'concat': operand %u is %s but operand 1 is %s; ranks must be equal", k + 1, show(s, x),
                show(s, in(s, 0)));
        for (uint32_t d = 0; d < x->rank; d++)
            if (d == axis)
                s->out->dim[d] = dim2(s, GCUT_DIM_ADD, s->out->dim[d], x->dim[d]);
            else
                require(s, s->out->dim[d], x->dim[d]);
    }
}

void gcut_shape_flip(infer *s)
{
    axes_of(s, in(s, 0)->rank);
    *s->out = *in(s, 0);
}

void gcut_shape_pack_bits(infer *s)
{
    if (in(s, 0)->dtype != GCUT_BOOL)
        BAD(s, "'pack_bits': operand 1 must be bool, not %s", show(s, in(s, 0)));
    gcut_dim n = gcut_type_numel(s->g->module, in(s, 0));
    *s->out = (gcut_type){.dtype = GCUT_U8, .rank = 1, .dim = {dim2(s, GCUT_DIM_CEILDIV, n, 8)}};
}

void gcut_shape_unpack_bits(infer *s)
{
    const gcut_type *x = in(s, 0);
    if (x->dtype != GCUT_U8 || x->rank != 1)
        BAD(s, "'unpack_bits': operand 1 must be u8 with one axis, not %s", show(s, x));
    *s->out = (gcut_type){.dtype = GCUT_BOOL};
    shape_from(s, GCUT_KEY_shape);
    require(s, x->dim[0], dim2(s, GCUT_DIM_CEILDIV, gcut_type_numel(s->g->module, s->out), 8));
}

void gcut_shape_dim(infer *s)
{
    *s->out = (gcut_type){.dtype = GCUT_I64};
}

void gcut_shape_full(infer *s)
{
    *s->out = (gcut_type){.dtype = dtype_of(s, GCUT_KEY_dtype)};
    shape_from(s, GCUT_KEY_shape);
    if (s->spec->op == GCUT_OP_full) bool_value(s, s->out->dtype);
    if (s->spec->op == GCUT_OP_iota) {
        axis_of(s, GCUT_KEY_axis, s->out->rank);
        if (s->out->dtype == GCUT_BOOL) BAD(s, "'iota': dtype must be a number, not bool");
    }
}
