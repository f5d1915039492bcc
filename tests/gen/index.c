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

/* Index vectors, and what they take of x: i[.., K] with one batch axis or none. */
static gcut_ref index_vectors(graph_gen *r, const gcut_type *x, bool batches, gcut_dim *batch,
                              gcut_type *taken)
{
    gcut_type i = {.rank = 1};
    const uint32_t first = batches && x->rank > 1 && gen_coin(r), vector = gen_draw(r, x->rank - first) + 1;
    gcut_dim least = x->dim[first];
    for (uint32_t d = 0; d < first + vector; d++) {
        if (gen_may_be_empty(r, x->dim[d])) return 0;
        if (d >= first && gen_nominal(r, x->dim[d]) < gen_nominal(r, least)) least = x->dim[d];
        if (d >= first && !gcut_dim_known(x->dim[d])) return 0; /* no bound of one axis is one of another */
    }
    i.dim[0] = first ? x->dim[0] : gen_any_dim(r, 8);
    *batch = first;
    *taken = (gcut_type){x->dtype, 1, {i.dim[0]}};
    for (uint32_t d = first + vector; d < x->rank; d++) taken->dim[taken->rank++] = x->dim[d];
    i.dim[i.rank++] = vector;
    return gen_indices(r, i.rank, i.dim, least);
}

void make_take_nd(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    gcut_type t = gen_type_of(r, r->item[x].v), taken;
    gcut_dim batch;
    gcut_ref in[2] = {0, index_vectors(r, &t, true, &batch, &taken)};
    if (!in[1]) return;
    in[0] = gen_use(r, x);
    gcut_attr a = gcut_attr_dim(GCUT_KEY_batch, batch);
    gen_moved(r, x, gen_node(r, op, in, 2, &a, 1));
}

void make_scatter_add_nd(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    gcut_type t = gen_type_of(r, r->item[x].v), taken;
    gcut_dim batch;
    gcut_ref in[3] = {0, index_vectors(r, &t, false, &batch, &taken)};
    if (!in[1]) return;
    in[0] = gen_use(r, x);
    in[2] = gen_use(r, gen_leaf(r, &taken));
    gen_keep(r, gen_node(r, op, in, 3, NULL, 0), r->item[x].mag + 3, false);
}

void make_scatter_add_along(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    int axis = gen_solid_axis(r, x);
    if (axis < 0) return;
    gcut_type t = gen_type_of(r, r->item[x].v), u = t;
    if (gen_coin(r)) u.dim[axis] = 1 + gen_draw(r, 3);
    gcut_ref in[3] = {gen_use(r, x), gen_indices(r, u.rank, u.dim, t.dim[axis]), gen_use(r, gen_leaf(r, &u))};
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    gen_keep(r, gen_node(r, op, in, 3, &a, 1), r->item[x].mag + 3, false);
}

void make_one_hot(graph_gen *r, gcut_op op)
{
    gcut_type t = gen_any_type(r, GCUT_I32, 0);
    if (t.rank == GCUT_MAX_RANK || gen_elements(r, &t) > GEN_CAP / 8) return;
    const gcut_dim n = 1 + gen_draw(r, 8);
    gcut_ref i = gen_indices(r, t.rank, t.dim, n);
    gcut_attr a[2] = {gcut_attr_dim(GCUT_KEY_n, n),
                      gcut_attr_str(gen_module_of(r), GCUT_KEY_dtype, gcut_dtype_name(gen_any_real(r)))};
    gen_keep(r, gen_node(r, op, &i, 1, a, 2), 1, true);
}
