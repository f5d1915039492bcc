/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs: ops that are given places.
 */
#include "gen/gen.h"

#include <math.h>

/* A shape of indices, and the shape that taking them along axis gives. */
static gcut_type index_shape(graph_gen *r, const gcut_type *x, uint32_t axis, gcut_type *taken)
{
    gcut_type i = {.rank = (uint8_t)gen_draw(r, 3)};
    double room = GEN_CAP / fmax(1, gen_elements(r, x) / (double)gen_nominal(r, x->dim[axis]));
    for (uint32_t d = 0; d < i.rank; d++) {
        i.dim[d] = gen_any_dim(r, (int64_t)fmax(room, 1));
        room /= (double)gen_nominal(r, i.dim[d]);
    }
    *taken = (gcut_type){.dtype = x->dtype};
    for (uint32_t d = 0; d < axis; d++) taken->dim[taken->rank++] = x->dim[d];
    for (uint32_t d = 0; d < i.rank; d++) taken->dim[taken->rank++] = i.dim[d];
    for (uint32_t d = axis + 1; d < x->rank; d++) taken->dim[taken->rank++] = x->dim[d];
    return i;
}

void make_take(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    int axis = gen_solid_axis(r, x);
    if (axis < 0) return;
    gcut_type t = gen_type_of(r, r->item[x].v), taken, i = index_shape(r, &t, (uint32_t)axis, &taken);
    gcut_ref in[2] = {gen_use(r, x), gen_indices(r, i.rank, i.dim, t.dim[axis])};
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    gen_moved(r, x, gen_node(r, op, in, 2, &a, 1));
}

void make_pick(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false), n = 0;
    int axis = gen_solid_axis(r, x);
    if (axis < 0) return;
    gcut_type t = gen_type_of(r, r->item[x].v);
    gcut_dim rest[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++)
        if ((int)d != axis) rest[n++] = t.dim[d];
    gcut_ref in[2] = {gen_use(r, x), gen_indices(r, n, rest, t.dim[axis])};
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    gen_moved(r, x, gen_node(r, op, in, 2, &a, 1));
}

void make_take_along(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    int axis = gen_solid_axis(r, x);
    if (axis < 0) return;
    gcut_type t = gen_type_of(r, r->item[x].v), to = t;
    const double lines = fmax(1, gen_elements(r, &t) / (double)gen_nominal(r, t.dim[axis]));
    if (gen_coin(r)) to.dim[axis] = gen_any_dim(r, (int64_t)fmax(GEN_CAP / lines, 1));
    gcut_ref in[2] = {gen_use(r, x), gen_indices(r, to.rank, to.dim, t.dim[axis])};
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    gen_moved(r, x, gen_node(r, op, in, 2, &a, 1));
}

void make_scatter_add(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    int axis = gen_solid_axis(r, x);
    if (axis < 0) return;
    gcut_type t = gen_type_of(r, r->item[x].v), taken, i = index_shape(r, &t, (uint32_t)axis, &taken);
    uint32_t u = gen_coin(r) ? gen_leaf(r, &taken) : gen_repeated(r, &taken);
    gcut_ref in[3] = {gen_use(r, x), gen_indices(r, i.rank, i.dim, t.dim[axis]), gen_use(r, u)};
    if (gen_is_real(r, in[2]) && gen_coin(r)) in[2] = gcut_b1(&r->b, GCUT_OP_sin, in[2]);
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    gen_keep(r, gen_node(r, op, in, 3, &a, 1), r->item[x].mag + 3, false);
}
