/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs: a graph of them.
 */
#include "gen/gen.h"

#include <math.h>
#include <string.h>

/* The last op calls functions that a program registers: tests/api/test_external.c. */
#define make_external NULL
static void (*const makers[GCUT_NOPS])(graph_gen *, gcut_op) = {
#define OP(id, operands, types, attr, shape, ...) [GCUT_OP_##id] = make_##shape,
#include "graph/ops/ops.def"
#undef OP
};

/* Sums are divided by the root of their size, so that single elements of a gradient still weigh something. */
static gcut_ref term(graph_gen *r, uint32_t k)
{
    gcut_ref v = r->item[k].v;
    if (!gen_is_real(r, v)) {
        double scale = gen_type_of(r, v).dtype == GCUT_BOOL ? 1 : 1 / fmax(1, r->item[k].mag);
        v = gcut_bscale(&r->b, gcut_bconvert(&r->b, v, r->real), scale);
    } else if (r->item[k].mag > 1.5 || gen_coin(r)) {
        v = gcut_b1(&r->b, GCUT_OP_tanh, v);
    } else if (gen_draw(r, 4) == 0) {
        v = gcut_b2(&r->b, GCUT_OP_mul, v, v);
    }
    gcut_type t = gen_type_of(r, v);
    if (t.rank) v = gcut_breduce(&r->b, GCUT_OP_sum, v, (1u << t.rank) - 1);
    return gcut_bconvert(&r->b, gcut_bscale(&r->b, v, 1 / sqrt(fmax(1, gen_elements(r, &t)))), r->real);
}

static void results(graph_gen *r)
{
    gcut_ref loss = 0;
    gcut_graph *g = r->b.g;
    for (uint32_t k = 0; k < r->n; k++) {
        if (r->item[k].used && gen_draw(r, 8)) continue;
        gcut_ref s = term(r, k);
        loss = loss ? gcut_b2(&r->b, GCUT_OP_add, loss, s) : s;
    }
    gcut_result_new(g, GCUT_ROLE_out, "loss", loss);
    for (uint32_t k = 0, n = gen_draw(r, 4); k < n; k++) {
        gcut_ref v = r->item[gen_draw(r, r->n)].v;
        if (gen_type_of(r, v).rank == 0) continue; /* the loss is the only scalar */
        gcut_result_new(g, GCUT_ROLE_out, gcut_printf(gen_module_of(r)->arena, "out%u", k), v);
    }
}

/* A state that is read like any other leaf and gets a new value. */
static void state(graph_gen *r)
{
    gcut_type t = gen_any_type(r, r->real, 0);
    gcut_ref s = gcut_param_new(r->b.g, GCUT_ROLE_state, "running", &t);
    r->nleaves++;
    uint32_t k = gen_add(r, s, 1, true), y = gen_matching(r, k, false);
    gcut_ref other = gen_use(r, y);
    gcut_ref next =
        gcut_b1(&r->b, GCUT_OP_tanh, gcut_b2(&r->b, GCUT_OP_add, gcut_bscale(&r->b, s, 0.5), other));
    gcut_result_new(r->b.g, GCUT_ROLE_next, "running", next);
}

gcut_graph *graph_random(graph_gen *r, gcut_module *m, const char *name, uint64_t seed, uint32_t ops,
                         const gcut_op *first, uint32_t nfirst)
{
    memset(r, 0, sizeof *r);
    r->seed = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    r->empties = seed % 13 == 5;
    r->b.g = gcut_graph_create(m, name);
    r->sym[0] = gcut_dim_symbol(m->dims, "N");
    r->sym[1] = gcut_dim_symbol(m->dims, "M");
    gcut_decl_add(r->b.g, (gcut_dim_decl){r->sym[0], 1, GCUT_DIM_MAX, 1});
    gcut_decl_add(r->b.g, (gcut_dim_decl){r->sym[1], 2, GCUT_DIM_MAX, 2});
    for (int k = 0; k < 8; k++) gen_draw(r, 2);
    r->real = r->half = gen_draw(r, 4) ? GCUT_F32 : GCUT_F64;
    if (r->real == GCUT_F32 && gen_draw(r, 4) == 0) r->half = gen_coin(r) ? GCUT_BF16 : GCUT_F16;
    if (gen_draw(r, 3) == 0) state(r);
    gcut_type t = gen_any_type(r, r->half, 2);
    t.dim[0] = r->sym[0];
    while (gen_elements(r, &t) > GEN_CAP) t.rank--;
    gen_leaf(r, &t);
    for (uint32_t k = 0; k < nfirst; k++) makers[first[k]](r, first[k]);
    for (uint32_t k = 0; k < ops && r->n < GEN_ITEMS - 16 && r->nleaves < GEN_LEAVES - 16; k++) {
        gcut_op op = (gcut_op)gen_draw(r, GEN_OPS);
        makers[op](r, op);
    }
    /* The sizes are always those of some parameter. */
    gcut_type both = {.dtype = r->real, .rank = 2, .dim = {r->sym[0], r->sym[1]}};
    gen_leaf(r, &both);
    results(r);
    return r->b.g;
}

const gen_bound *graph_bound(const graph_gen *r, const char *name)
{
    for (uint32_t i = 0; i < r->nbounds; i++)
        if (!strcmp(r->bound[i].name, name)) return &r->bound[i];
    return NULL;
}
