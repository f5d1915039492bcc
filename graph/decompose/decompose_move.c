/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of ops that move elements or replace some of them by a constant.
 */
#include "graph/decompose/decompose_rule.h"

/* y[i] = x[(i - shift) mod n]: the first m elements, m = -shift mod n, go to the end.  Of n = 0 all sizes are 0. */
gcut_ref gcut_decompose_roll(composite *c)
{
    const uint32_t axis = (uint32_t)attr(c, GCUT_KEY_axis)->u.dim;
    const gcut_dim n = type_of(B, c->x[0]).dim[axis];
    const int64_t shift = (int64_t)number(c, GCUT_KEY_shift);
    if (n == 0 || shift == 0) return c->x[0];
    int64_t least, most;
    gcut_dim_range(B->g->module->dims, n, B->g->decls.at, B->g->decls.n, &least, &most);
    gcut_dim m =
        dim2(c, GCUT_DIM_MOD, shift < 0 ? -shift : shift, least > 0 ? n : dim2(c, GCUT_DIM_MAXOF, n, 1));
    if (shift > 0) m = dim2(c, GCUT_DIM_SUB, n, m);
    gcut_ref part[] = {slice_axis(B, c->x[0], axis, m, n), slice_axis(B, c->x[0], axis, 0, m)};
    return op_with_axis(B, GCUT_OP_concat, part, 2, axis);
}

/* y[.., i, j] = x[.., i, j] where j - i compares so with the diagonal, else 0 */
static gcut_ref triangle(composite *c, gcut_op compare)
{
    gcut_type t = type_of(B, c->x[0]);
    t.dtype = GCUT_I64;
    gcut_ref from = gcut_b2(B, GCUT_OP_sub, gcut_biota(B, &t, t.rank - 1), gcut_biota(B, &t, t.rank - 2));
    gcut_ref here = gcut_b2(B, compare, from, gcut_bconst(B, from, number(c, GCUT_KEY_diagonal)));
    return gcut_bselect(B, here, c->x[0], gcut_bconst(B, c->x[0], 0));
}

gcut_ref gcut_decompose_triu(composite *c)
{
    return triangle(c, GCUT_OP_ge);
}

gcut_ref gcut_decompose_tril(composite *c)
{
    return triangle(c, GCUT_OP_le);
}

gcut_ref gcut_decompose_masked_fill(composite *c)
{
    const gcut_type t = type_of(B, c->x[0]);
    return gcut_bselect(B, c->x[1], gcut_bfull_of(B, &t, attr(c, GCUT_KEY_value)->u.num), c->x[0]);
}

/* ---- pads made of elements ---- */

/* `n` elements of an axis, before element 0 (high: after the last one). */
typedef gcut_ref border(composite *c, gcut_ref x, uint32_t axis, gcut_dim n, bool high);

/* One axis after the other: a corner is the border of a border. */
static gcut_ref surrounded(composite *c, border *make)
{
    const gcut_attr *low = attr(c, GCUT_KEY_low), *high = attr(c, GCUT_KEY_high);
    gcut_ref y = c->x[0];
    for (uint32_t d = 0; d < low->n; d++) {
        gcut_ref part[3];
        uint32_t n = 0;
        if (low->u.dims[d] != 0) part[n++] = make(c, y, d, low->u.dims[d], false);
        part[n++] = y;
        if (high->u.dims[d] != 0) part[n++] = make(c, y, d, high->u.dims[d], true);
        if (n > 1) y = op_with_axis(B, GCUT_OP_concat, part, n, d);
    }
    return y;
}

/* ... 2 1 [0 1 2 .. n-1] n-2 n-3 ... */
static gcut_ref reflected(composite *c, gcut_ref x, uint32_t axis, gcut_dim n, bool high)
{
    const gcut_dim size = type_of(B, x).dim[axis], one = dim2(c, GCUT_DIM_ADD, n, 1);
    const gcut_dim last = high ? dim2(c, GCUT_DIM_SUB, size, 1) : 0, flipped[] = {axis};
    gcut_ref part = high ? slice_axis(B, x, axis, dim2(c, GCUT_DIM_SUB, size, one), last)
                         : slice_axis(B, x, axis, 1, one);
    gcut_attr a = gcut_attr_dims(B->g->module, GCUT_KEY_axes, flipped, 1);
    return gcut_node_new(B->g, GCUT_OP_flip, &part, 1, &a, 1, B->loc, B->name);
}

/* ... 0 0 [0 1 2 .. n-1] n-1 n-1 ... */
static gcut_ref replicated(composite *c, gcut_ref x, uint32_t axis, gcut_dim n, bool high)
{
    gcut_type t = type_of(B, x);
    gcut_dim axes[GCUT_MAX_RANK];
    const gcut_dim size = t.dim[axis], from = high ? dim2(c, GCUT_DIM_SUB, size, 1) : 0;
    for (uint32_t d = 0; d < t.rank; d++) axes[d] = d;
    t.dim[axis] = n;
    return gcut_bbroadcast(B, slice_axis(B, x, axis, from, high ? size : 1), t.dim, t.rank, axes);
}

/* ... n-2 n-1 [0 1 2 .. n-1] 0 1 ... */
static gcut_ref repeated(composite *c, gcut_ref x, uint32_t axis, gcut_dim n, bool high)
{
    const gcut_dim size = type_of(B, x).dim[axis];
    return high ? slice_axis(B, x, axis, 0, n) : slice_axis(B, x, axis, dim2(c, GCUT_DIM_SUB, size, n), size);
}

gcut_ref gcut_decompose_reflection_pad(composite *c)
{
    return surrounded(c, reflected);
}

gcut_ref gcut_decompose_replication_pad(composite *c)
{
    return surrounded(c, replicated);
}

gcut_ref gcut_decompose_circular_pad(composite *c)
{
    return surrounded(c, repeated);
}
