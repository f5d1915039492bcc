/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of ops that take elements along an axis.
 */
#include "graph/decompose/decompose_rule.h"

static gcut_dim product(gcut_build *b, const gcut_dim *d, uint32_t n)
{
    gcut_dim all = 1;
    for (uint32_t k = 0; k < n; k++) all = gcut_dim_make(b->g->module->dims, GCUT_DIM_MUL, all, d[k]);
    return all;
}

/* v times a size */
static gcut_ref times_size(gcut_build *b, gcut_ref v, gcut_dim n)
{
    const gcut_type t = type_of(b, v);
    if (n == 1) return v;
    if (gcut_dim_known(n)) return gcut_bscale(b, v, (double)n);
    gcut_attr of = gcut_attr_dim(GCUT_KEY_of, n);
    gcut_ref size = gcut_node_new(b->g, GCUT_OP_dim, NULL, 0, &of, 1, b->loc, b->name);
    return gcut_b2(b, GCUT_OP_mul, v, gcut_bbroadcast(b, size, t.dim, t.rank, NULL));
}

/* y[o, j, in] = x[o, i[o, j, in], in], with o before and in after the axis: the flattened x taken at
 * (o n + i) inner + in.  The indices are in range. */
static gcut_ref taken_along(gcut_build *b, gcut_ref x, gcut_ref i, uint32_t axis)
{
    const gcut_type t = type_of(b, x), to = type_of(b, i);
    gcut_type index = {.dtype = GCUT_I64, .rank = 3};
    index.dim[0] = product(b, to.dim, axis);
    index.dim[1] = to.dim[axis];
    index.dim[2] = product(b, to.dim + axis + 1, to.rank - axis - 1);
    gcut_ref at = gcut_breshape(b, gcut_bconvert(b, i, GCUT_I64), index.dim, 3);
    if (index.dim[0] != 1) {
        gcut_ref rows = times_size(b, gcut_biota(b, &index, 0), t.dim[axis]);
        at = gcut_b2(b, GCUT_OP_add, rows, at);
    }
    if (index.dim[2] != 1) {
        at = times_size(b, at, index.dim[2]);
        at = gcut_b2(b, GCUT_OP_add, at, gcut_biota(b, &index, 2));
    }
    const gcut_dim all = product(b, t.dim, t.rank);
    gcut_ref y = gcut_btake(b, gcut_breshape(b, x, &all, 1), at, 0);
    return gcut_breshape(b, y, to.dim, to.rank);
}

/* An index beyond the axis would name an element of another row, hence `bounded`. */
gcut_ref gcut_decompose_take_along(composite *c)
{
    const uint32_t axis = (uint32_t)attr(c, GCUT_KEY_axis)->u.dim;
    gcut_attr of = gcut_attr_dim(GCUT_KEY_of, type_of(B, c->x[0]).dim[axis]);
    gcut_ref i = gcut_node_new(B->g, GCUT_OP_bounded, &c->x[1], 1, &of, 1, B->loc, B->name);
    return taken_along(B, c->x[0], i, axis);
}

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
