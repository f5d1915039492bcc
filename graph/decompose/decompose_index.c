/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of ops that take elements along an axis.
 */
#include "graph/decompose/decompose_rule.h"

#include <string.h>

static gcut_dim product(gcut_build *b, const gcut_dim *d, uint32_t n)
{
    gcut_dim all = 1;
    for (uint32_t k = 0; k < n; k++) all = gcut_dim_make(b->g->module->dims, GCUT_DIM_MUL, all, d[k]);
    return all;
}

/* The places of x[o, i[o, j, in], in] in the flattened x, with o before and in after the axis: (o n + i) inner + in. */
static gcut_ref places_along(gcut_build *b, gcut_ref x, gcut_ref i, uint32_t axis)
{
    const gcut_type t = type_of(b, x), to = type_of(b, i);
    gcut_type index = {.dtype = GCUT_I64, .rank = 3};
    index.dim[0] = product(b, to.dim, axis);
    index.dim[1] = to.dim[axis];
    index.dim[2] = product(b, to.dim + axis + 1, to.rank - axis - 1);
    gcut_ref at = gcut_breshape(b, gcut_bconvert(b, i, GCUT_I64), index.dim, 3);
    if (index.dim[0] != 1) {
        gcut_ref rows = gcut_btimes(b, gcut_biota(b, &index, 0), t.dim[axis]);
        at = gcut_b2(b, GCUT_OP_add, rows, at);
    }
    if (index.dim[2] != 1) {
        at = gcut_btimes(b, at, index.dim[2]);
        at = gcut_b2(b, GCUT_OP_add, at, gcut_biota(b, &index, 2));
    }
    return at;
}

static gcut_ref flattened(gcut_build *b, gcut_ref x)
{
    const gcut_type t = type_of(b, x);
    const gcut_dim all = product(b, t.dim, t.rank);
    return gcut_breshape(b, x, &all, 1);
}

/* The indices are in range. */
static gcut_ref taken_along(gcut_build *b, gcut_ref x, gcut_ref i, uint32_t axis)
{
    const gcut_type to = type_of(b, i);
    gcut_ref y = gcut_btake(b, flattened(b, x), places_along(b, x, i, axis), 0);
    return gcut_breshape(b, y, to.dim, to.rank);
}

/* An index beyond the axis would name an element of another row, so indices are bounded. */
gcut_ref gcut_decompose_take_along(composite *c)
{
    const uint32_t axis = (uint32_t)attr(c, GCUT_KEY_axis)->u.dim;
    return taken_along(B, c->x[0], gcut_bbounded(B, c->x[1], type_of(B, c->x[0]).dim[axis]), axis);
}

gcut_ref gcut_decompose_scatter_add_along(composite *c)
{
    const uint32_t axis = (uint32_t)attr(c, GCUT_KEY_axis)->u.dim;
    const gcut_type t = type_of(B, c->x[0]);
    gcut_ref at = places_along(B, c->x[0], gcut_bbounded(B, c->x[1], t.dim[axis]), axis);
    const gcut_type ti = type_of(B, at);
    gcut_ref u = gcut_breshape(B, c->x[2], ti.dim, ti.rank);
    gcut_ref y = gcut_bscatter_add(B, flattened(B, c->x[0]), at, u, 0);
    return gcut_breshape(B, y, t.dim, t.rank);
}

/* ---- index vectors ---- */

/* The row that each index vector along the last axis of i names: rows are those of the first `batch` + K axes of x,
 * which become one axis (*rows), K being the length of a vector. */
static gcut_ref rows_of(composite *c, uint32_t batch, gcut_ref *rows)
{
    const gcut_type t = type_of(B, c->x[0]);
    const gcut_type ti = type_of(B, c->x[1]);
    gcut_type of = {.dtype = GCUT_I64};
    const uint32_t vector = (uint32_t)ti.dim[ti.rank - 1u], first = batch + vector;
    gcut_ref i = gcut_bconvert(B, c->x[1], GCUT_I64), index[2 * GCUT_MAX_RANK];
    memcpy(of.dim, ti.dim, sizeof of.dim);
    of.rank = (uint8_t)(ti.rank - 1);
    for (uint32_t d = 0; d < batch; d++) index[d] = gcut_biota(B, &of, (int)d);
    for (uint32_t d = batch; d < first; d++) {
        gcut_ref k = slice_axis(B, i, of.rank, d - batch, d - batch + 1);
        index[d] = gcut_bbounded(B, gcut_breshape(B, k, of.dim, of.rank), t.dim[d]);
    }
    gcut_dim shape[GCUT_MAX_RANK + 1] = {product(B, t.dim, first)};
    memcpy(shape + 1, t.dim + first, (t.rank - first) * sizeof *shape);
    *rows = gcut_breshape(B, c->x[0], shape, t.rank - first + 1);
    return first ? gcut_blinear_index(B, index, t.dim, first) : gcut_bfull(B, &of, 0);
}

gcut_ref gcut_decompose_take_nd(composite *c)
{
    gcut_ref rows, at = rows_of(c, (uint32_t)attr(c, GCUT_KEY_batch)->u.dim, &rows);
    return gcut_btake(B, rows, at, 0);
}

gcut_ref gcut_decompose_scatter_add_nd(composite *c)
{
    const gcut_type t = type_of(B, c->x[0]);
    gcut_ref rows, at = rows_of(c, 0, &rows);
    return gcut_breshape(B, gcut_bscatter_add(B, rows, at, c->x[2], 0), t.dim, t.rank);
}

/* ---- sorted ---- */

static gcut_ref order_of(composite *c, bool descending)
{
    gcut_attr a[] = {*attr(c, GCUT_KEY_axis), gcut_attr_bool(GCUT_KEY_descending, descending)};
    return gcut_node_new(B->g, GCUT_OP_argsort, c->x, 1, a, 2, B->loc, B->name);
}

gcut_ref gcut_decompose_sort(composite *c)
{
    gcut_ref order = order_of(c, flag(c, GCUT_KEY_descending));
    return taken_along(B, c->x[0], order, (uint32_t)attr(c, GCUT_KEY_axis)->u.dim);
}

gcut_ref gcut_decompose_topk(composite *c)
{
    const uint32_t axis = (uint32_t)attr(c, GCUT_KEY_axis)->u.dim;
    gcut_ref order = order_of(c, flag(c, GCUT_KEY_largest));
    gcut_type t = type_of(B, order);
    const gcut_dim start[GCUT_MAX_RANK] = {0};
    t.dim[axis] = attr(c, GCUT_KEY_k)->u.dim;
    c->more[0] = gcut_bslice(B, order, start, t.dim, NULL);
    return taken_along(B, c->x[0], c->more[0], axis);
}

/* y[.., k] = (k == i[..]) */
gcut_ref gcut_decompose_one_hot(composite *c)
{
    gcut_dtype to = GCUT_F32;
    gcut_type t = type_of(B, c->x[0]);
    gcut_dtype_parse(attr(c, GCUT_KEY_dtype)->u.str, &to);
    gcut_dim axes[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) axes[d] = d;
    t.dim[t.rank++] = attr(c, GCUT_KEY_n)->u.dim;
    gcut_ref i = gcut_bbroadcast(B, gcut_bbounded(B, c->x[0], t.dim[t.rank - 1]), t.dim, t.rank, axes);
    return gcut_bconvert(B, gcut_b2(B, GCUT_OP_eq, gcut_biota(B, &t, t.rank - 1), i), to);
}
