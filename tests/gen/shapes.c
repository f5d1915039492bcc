/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs: what only moves elements, bits and constants.
 */
#include "gen/gen.h"

#include <math.h>
#include <string.h>

/* The result is item x moved about. */
void gen_moved(graph_gen *r, uint32_t x, gcut_ref v)
{
    gen_keep(r, v, r->item[x].mag, r->item[x].exact);
}

void make_reshape(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 0, false);
    gcut_type t = gen_type_of(r, r->item[x].v), to = t;
    uint32_t at = t.rank ? gen_draw(r, t.rank) : 0;
    switch (gen_draw(r, 4)) {
    case 0: /* one axis */
        to.rank = 1;
        to.dim[0] = gcut_type_numel(gen_module_of(r), &t);
        break;
    case 1: /* two axes become one */
        if (at + 1 >= t.rank) break;
        to.dim[at] = gen_combine(r, GCUT_DIM_MUL, t.dim[at], t.dim[at + 1]);
        memmove(&to.dim[at + 1], &t.dim[at + 2], (t.rank - at - 2u) * sizeof *t.dim);
        to.rank--;
        break;
    case 2: /* one becomes two, where a small factor divides it */
        for (int64_t f = 2; f < 6 && t.rank && to.rank == t.rank; f++) {
            if (!gcut_dim_known(t.dim[at]) || t.dim[at] % f) continue;
            uint32_t first = gen_coin(r);
            memmove(&to.dim[at + 1], &t.dim[at], (size_t)(t.rank - at) * sizeof *t.dim);
            to.dim[at + first] = f;
            to.dim[at + !first] = t.dim[at] / f;
            to.rank++;
        }
        break;
    default: /* an axis of 1 */
        memmove(&to.dim[at + 1], &t.dim[at], (size_t)(t.rank - at) * sizeof *t.dim);
        to.dim[at] = 1;
        to.rank++;
    }
    gen_moved(r, x, gcut_breshape(&r->b, gen_use(r, x), to.dim, to.rank));
}

void make_transpose(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 2, false), rank = gen_type_of(r, r->item[x].v).rank;
    gcut_dim perm[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) perm[d] = d;
    for (uint32_t d = rank; d > 1; d--) {
        uint32_t k = gen_draw(r, d);
        gcut_dim t = perm[d - 1];
        perm[d - 1] = perm[k];
        perm[k] = t;
    }
    gen_moved(r, x, gcut_btranspose(&r->b, gen_use(r, x), perm));
}

void make_broadcast(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 0, false);
    gcut_type t = gen_type_of(r, r->item[x].v), to = {.dtype = t.dtype};
    gcut_dim axes[GCUT_MAX_RANK];
    int64_t cap = (int64_t)(GEN_CAP / fmax(1, gen_elements(r, &t)));
    for (uint32_t d = 0; d <= t.rank; d++) {
        if (to.rank + (t.rank - d) < 5 && gen_draw(r, 3) == 0) {
            to.dim[to.rank] = gen_any_dim(r, cap < 1 ? 1 : cap);
            cap /= gen_nominal(r, to.dim[to.rank++]);
        }
        if (d == t.rank) break;
        axes[d] = to.rank;
        gcut_dim n = t.dim[d];
        if (n == 1) n = gen_any_dim(r, cap < 1 ? 1 : cap), cap /= gen_nominal(r, n);
        to.dim[to.rank++] = n;
    }
    gen_moved(r, x, gcut_bbroadcast(&r->b, gen_use(r, x), to.dim, to.rank, axes));
}

/* One axis of a slice. */
static void cut_axis(graph_gen *r, gcut_dim n, gcut_dim *start, gcut_dim *limit, gcut_dim *step)
{
    bool third = gen_draw(r, 3) == 0, fifth = gen_draw(r, 5) == 0;
    *start = 0, *limit = n, *step = 1 + third + fifth;
    if (gcut_dim_known(n)) {
        if (n == 0 || gen_draw(r, 3) == 0) return;
        *start = gen_draw(r, (uint32_t)n);
        *limit = *start + 1 + gen_draw(r, (uint32_t)(n - *start));
        return;
    }
    if (gen_may_be_empty(r, n)) return;
    switch (gen_draw(r, 6)) {
    case 0: *start = gen_combine(r, GCUT_DIM_SUB, n, 1); break;
    case 1: *limit = 1; break;
    case 2: *start = 1; break; /* nothing is left of a size of 1 */
    case 3: *limit = gen_combine(r, GCUT_DIM_SUB, n, 1); break;
    default: break;
    }
}

static gcut_ref sliced(graph_gen *r, gcut_ref x, uint32_t only)
{
    gcut_type t = gen_type_of(r, x);
    gcut_dim start[GCUT_MAX_RANK], limit[GCUT_MAX_RANK], step[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) {
        start[d] = 0, limit[d] = t.dim[d], step[d] = 1;
        if (only >> d & 1) cut_axis(r, t.dim[d], &start[d], &limit[d], &step[d]);
    }
    gcut_attr a[3] = {gen_dims(r, GCUT_KEY_start, start, t.rank), gen_dims(r, GCUT_KEY_limit, limit, t.rank),
                      gen_dims(r, GCUT_KEY_step, step, t.rank)};
    return gen_node(r, GCUT_OP_slice, &x, 1, a, 3);
}

void make_slice(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    uint32_t how = gen_draw(r, 16);
    gen_moved(r, x, sliced(r, gen_use(r, x), how));
}

void make_pad(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    gcut_type t = gen_type_of(r, r->item[x].v);
    gcut_dim low[GCUT_MAX_RANK], high[GCUT_MAX_RANK], inner[GCUT_MAX_RANK];
    bool room = gen_elements(r, &t) < GEN_CAP / 4;
    for (uint32_t d = 0; d < t.rank; d++) {
        low[d] = gen_coin(r) ? 0 : gen_draw(r, 3);
        high[d] = gen_coin(r) ? 0 : gen_draw(r, 3);
        inner[d] = room && gen_draw(r, 4) == 0 ? 1 + gen_draw(r, 2) : 0;
        room = room && inner[d] == 0;
    }
    gcut_attr a[4] = {gen_dims(r, GCUT_KEY_low, low, t.rank), gen_dims(r, GCUT_KEY_high, high, t.rank)};
    uint32_t n = 2;
    if (gen_coin(r))
        a[n++] = gcut_attr_int(GCUT_KEY_value, t.dtype == GCUT_BOOL ? gen_draw(r, 2) : gen_draw(r, 3));
    if (gen_draw(r, 3)) a[n++] = gen_dims(r, GCUT_KEY_interior, inner, t.rank);
    gcut_ref in = gen_use(r, x);
    gen_keep(r, gen_node(r, op, &in, 1, a, n), fmax(r->item[x].mag, 2), r->item[x].exact);
}

void make_concat(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false), n = 1 + gen_draw(r, 3);
    gcut_type t = gen_type_of(r, r->item[x].v);
    uint32_t axis = gen_draw(r, t.rank);
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    gcut_ref in[3];
    double mag = r->item[x].mag;
    for (uint32_t k = 0; k < n; k++) {
        gcut_type other = t;
        other.dim[axis] = gen_any_dim(r, 5);
        switch (k == 0 ? 0 : gen_draw(r, 3)) {
        case 0: in[k] = gen_use(r, x); break;
        case 1: in[k] = sliced(r, gen_use(r, x), 1u << axis); break;
        default: in[k] = gen_use(r, gen_leaf(r, &other)); mag = fmax(mag, r->item[r->n - 1].mag);
        }
    }
    gen_keep(r, gen_node(r, op, in, n, &a, 1), mag, r->item[x].exact);
}

static uint32_t some_axes(graph_gen *r, uint32_t rank, gcut_dim *axes)
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < rank; d++)
        if (gen_coin(r)) axes[n++] = d;
    return n;
}

void make_flip(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    gcut_dim axes[GCUT_MAX_RANK];
    uint32_t n = some_axes(r, gen_type_of(r, r->item[x].v).rank, axes);
    gcut_attr a = gen_dims(r, GCUT_KEY_axes, axes, n);
    gcut_ref in = gen_use(r, x);
    gen_moved(r, x, gen_node(r, op, &in, 1, &a, 1));
}

void make_roll(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    const uint32_t rank = gen_type_of(r, r->item[x].v).rank;
    gcut_attr a[2] = {gcut_attr_dim(GCUT_KEY_axis, gen_draw(r, rank)),
                      gcut_attr_int(GCUT_KEY_shift, (int64_t)gen_draw(r, 9) - 4)};
    gcut_ref in = gen_use(r, x);
    gen_moved(r, x, gen_node(r, op, &in, 1, a, 2));
}

void make_triangle(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 2, false);
    gcut_attr a = gcut_attr_int(GCUT_KEY_diagonal, (int64_t)gen_draw(r, 5) - 2);
    gcut_ref in = gen_use(r, x);
    gen_moved(r, x, gen_node(r, op, &in, 1, &a, gen_coin(r)));
}

void make_masked_fill(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 0, false);
    gcut_type t = gen_type_of(r, r->item[x].v), p = t;
    p.dtype = GCUT_BOOL;
    gcut_ref in[2] = {gen_use(r, x), gen_use(r, gen_coin(r) ? gen_leaf(r, &p) : gen_repeated(r, &p))};
    gcut_attr a = gcut_attr_int(GCUT_KEY_value, gen_draw(r, 2));
    gen_keep(r, gen_node(r, op, in, 2, &a, 1), fmax(r->item[x].mag, 1), r->item[x].exact);
}

/* Each axis is padded where it has elements enough at every size. */
void make_border(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    gcut_type t = gen_type_of(r, r->item[x].v);
    gcut_dim low[GCUT_MAX_RANK] = {0}, high[GCUT_MAX_RANK] = {0};
    for (uint32_t d = 0; d < t.rank; d++) {
        int64_t lo, hi;
        gcut_dim_range(gen_module_of(r)->dims, t.dim[d], r->b.g->decls.at, r->b.g->decls.n, &lo, &hi);
        if (lo < 3 || gen_elements(r, &t) > GEN_CAP / 4) continue;
        low[d] = gen_draw(r, 3);
        high[d] = gen_draw(r, 3);
    }
    gcut_attr a[2] = {gen_dims(r, GCUT_KEY_low, low, t.rank), gen_dims(r, GCUT_KEY_high, high, t.rank)};
    gcut_ref in = gen_use(r, x);
    gen_moved(r, x, gen_node(r, op, &in, 1, a, 2));
}

/* ---- bits ---- */

static gcut_ref packed(graph_gen *r, gcut_ref mask)
{
    return gen_node(r, GCUT_OP_pack_bits, &mask, 1, NULL, 0);
}

void make_pack_bits(graph_gen *r, gcut_op op)
{
    gcut_type t = gen_any_type(r, GCUT_BOOL, 0);
    (void)op;
    gen_add(r, packed(r, gen_use(r, gen_coin(r) ? gen_leaf(r, &t) : gen_repeated(r, &t))), 255, true);
}

/* Of what was packed, or of bytes from outside; read by a loop, beside the other things that may happen to
 * it.
 */
void make_unpack_bits(graph_gen *r, gcut_op op)
{
    gcut_type t = gen_any_type(r, GCUT_BOOL, 0), u = {.dtype = GCUT_U8, .rank = 1};
    gcut_module *m = gen_module_of(r);
    u.dim[0] = gcut_dim_make(m->dims, GCUT_DIM_CEILDIV, gcut_type_numel(m, &t), 8);
    gcut_ref x = gen_coin(r) ? gen_use(r, gen_leaf(r, &u)) : packed(r, gen_use(r, gen_leaf(r, &t)));
    gcut_attr a = gen_dims(r, GCUT_KEY_shape, t.dim, t.rank);
    gcut_ref in[3] = {gen_node(r, op, &x, 1, &a, 1)};
    gen_add(r, in[0], 1, true);
    t.dtype = r->real;
    in[1] = gen_use(r, gen_leaf(r, &t));
    in[2] = gen_use(r, gen_repeated(r, &t));
    gen_keep(r, gen_node(r, GCUT_OP_select, in, 3, NULL, 0), 1, true);
}

/* ---- constants ---- */

void make_dim(graph_gen *r, gcut_op op)
{
    gcut_attr a = gcut_attr_dim(GCUT_KEY_of, gen_any_dim(r, 130));
    gen_add(r, gen_node(r, op, NULL, 0, &a, 1), 130, true);
}

void make_full(graph_gen *r, gcut_op op)
{
    bool counts = op == GCUT_OP_iota;
    gcut_type t = gen_any_type(r, gen_any_dtype(r, counts ? 'N' : 'X'), counts);
    if (counts && gcut_dtype_bytes(t.dtype) == 1) t.dtype = GCUT_I32; /* 8 bits do not count to 130 */
    uint32_t axis = counts ? gen_draw(r, t.rank) : 0;
    gcut_attr a[3] = {gen_dims(r, GCUT_KEY_shape, t.dim, t.rank),
                      gcut_attr_str(gen_module_of(r), GCUT_KEY_dtype, gcut_dtype_name(t.dtype)),
                      counts ? gcut_attr_dim(GCUT_KEY_axis, axis)
                             : gcut_attr_int(GCUT_KEY_value, gen_draw(r, 2))};
    double mag = counts ? (double)gen_nominal(r, t.dim[axis]) : 1;
    gen_keep(r, gen_node(r, op, NULL, 0, a, 3), mag, true);
}
