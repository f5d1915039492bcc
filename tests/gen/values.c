/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs: draws, and the values that a graph has so far.
 */
#include "gen/gen.h"

#include <math.h>

uint32_t gen_draw(graph_gen *r, uint32_t below)
{
    r->seed ^= r->seed << 13, r->seed ^= r->seed >> 7, r->seed ^= r->seed << 17;
    return (uint32_t)((r->seed * UINT64_C(0x2545F4914F6CDD1D)) >> 33) % below;
}

bool gen_coin(graph_gen *r)
{
    return gen_draw(r, 2);
}

gcut_module *gen_module_of(const graph_gen *r)
{
    return r->b.g->module;
}
gcut_type gen_type_of(const graph_gen *r, gcut_ref v)
{
    return *gcut_type_of(r->b.g, v);
}

int64_t gen_nominal(const graph_gen *r, gcut_dim d)
{
    gcut_dim_binding at[2] = {{r->sym[0], GEN_NOMINAL_N}, {r->sym[1], GEN_NOMINAL_M}};
    int64_t n = 0;
    GCUT_ASSERT(gcut_dim_eval(gen_module_of(r)->dims, d, at, 2, &n));
    return n;
}

double gen_elements(const graph_gen *r, const gcut_type *t)
{
    double n = 1;
    for (uint32_t d = 0; d < t->rank; d++) n *= (double)gen_nominal(r, t->dim[d]);
    return n;
}

bool gen_may_be_empty(const graph_gen *r, gcut_dim d)
{
    int64_t lo, hi;
    gcut_dim_range(gen_module_of(r)->dims, d, r->b.g->decls.at, r->b.g->decls.n, &lo, &hi);
    return lo < 1;
}

gcut_dim gen_combine(const graph_gen *r, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    return gcut_dim_make(gen_module_of(r)->dims, op, a, b);
}

/* A size of at most cap at the nominal sizes; every second one symbolic where that fits. */
gcut_dim gen_any_dim(graph_gen *r, int64_t cap)
{
    static const int64_t known[] = {1, 2, 3, 5, 8, 17, 64, 65, 130};
    gcut_dim d = 0;
    switch (gen_draw(r, 16)) {
    case 0:
    case 1:
    case 2:
    case 3: d = r->sym[0]; break;
    case 4:
    case 5: d = r->sym[1]; break;
    case 6: d = gen_combine(r, GCUT_DIM_ADD, r->sym[0], 1); break;
    case 7: d = gen_combine(r, GCUT_DIM_MUL, r->sym[0], 2); break;
    default: d = known[gen_draw(r, sizeof known / sizeof *known)];
    }
    while (gen_nominal(r, d) > cap) d = known[gen_draw(r, cap < 2 ? 1 : 5)];
    return d;
}

gcut_type gen_any_type(graph_gen *r, gcut_dtype dtype, uint32_t lo_rank)
{
    gcut_type t = {.dtype = dtype, .rank = (uint8_t)(lo_rank + gen_draw(r, 5 - lo_rank))};
    int64_t cap = GEN_CAP;
    for (uint32_t d = 0; d < t.rank; d++) {
        bool empty = r->empties && gen_draw(r, 6) == 0;
        t.dim[d] = empty ? 0 : gen_any_dim(r, cap);
        if (!empty) cap /= gen_nominal(r, t.dim[d]);
    }
    return t;
}

/* ---- values ---- */

bool gen_is_real(const graph_gen *r, gcut_ref v)
{
    return gcut_dtype_is_float(gen_type_of(r, v).dtype);
}

/* A half that was computed, and not only moved, was rounded. */
static bool is_rounded(const graph_gen *r, gcut_ref v)
{
    const gcut_node *n = gcut_def(r->b.g, v);
    if (!n || !gcut_dtype_is_16bit_float(gen_type_of(r, v).dtype)) return false;
    gcut_class c = gcut_op_get((gcut_op)n->op)->class;
    return c == GCUT_CLASS_POINTWISE || c == GCUT_CLASS_REDUCTION || c == GCUT_CLASS_CONTRACTION;
}

uint32_t gen_add(graph_gen *r, gcut_ref v, double mag, bool exact)
{
    GCUT_ASSERT(r->n < GEN_ITEMS);
    exact = (exact && !is_rounded(r, v)) || !gen_is_real(r, v);
    r->item[r->n] = (gen_item){.v = v, .mag = mag, .exact = exact};
    return r->n++;
}

/* The same, brought back to a moderate size first. */
uint32_t gen_keep(graph_gen *r, gcut_ref v, double mag, bool exact)
{
    if (gen_type_of(r, v).dtype != GCUT_BOOL && !gen_is_real(r, v) && mag > 1e6)
        return gen_add(r, gcut_b2(&r->b, GCUT_OP_mod, v, gcut_bconst(&r->b, v, 16)), 16, true);
    if (!gen_is_real(r, v) || mag <= 4) return gen_add(r, v, mag, exact);
    v = gcut_bscale(&r->b, v, ldexp(1, -ilogb(mag)));
    if (gen_coin(r)) v = gcut_b1(&r->b, GCUT_OP_tanh, v);
    return gen_add(r, v, 2, false);
}

gcut_ref gen_use(graph_gen *r, uint32_t i)
{
    r->item[i].used = true;
    return r->item[i].v;
}

/* Names of leaves try what a C file, a path or a table may trip over. */
static const char *leaf_name(graph_gen *r)
{
    static const char *const names[] = {"x",    "int", "w.1",    "w_1",    "0", "N",
                                        "main", "_",   "double", "loss.1", "d", "i"};
    return gcut_name_fresh(r->b.g, names[gen_draw(r, sizeof names / sizeof *names)]);
}

gcut_ref gen_new_leaf(graph_gen *r, const gcut_type *t, int64_t lo, gcut_dim hi)
{
    GCUT_ASSERT(r->nleaves < GEN_LEAVES);
    const char *name = leaf_name(r);
    bool real = gcut_dtype_is_float(t->dtype);
    gcut_ref v = gcut_param_new(r->b.g, real && gen_draw(r, 3) ? GCUT_ROLE_param : GCUT_ROLE_input, name, t);
    r->nleaves++;
    if (!real) r->bound[r->nbounds++] = (gen_bound){name, lo, hi};
    return v;
}

/* Leaves hold multiples of 1/64 plus 1/128 in [-1, 1]: every f32 sum of a few of them is exact. */
uint32_t gen_leaf(graph_gen *r, const gcut_type *t)
{
    gcut_dtype d = t->dtype;
    if (gcut_dtype_is_float(d)) return gen_add(r, gen_new_leaf(r, t, 0, 0), 1, true);
    return gen_add(r, gen_new_leaf(r, t, d == GCUT_BOOL || d == GCUT_U8 ? 0 : -8, d == GCUT_BOOL ? 2 : 9), 9,
                   true);
}

static gcut_dtype any_int(graph_gen *r)
{
    static const gcut_dtype ints[] = {GCUT_I32, GCUT_I64, GCUT_I32, GCUT_I64, GCUT_I8, GCUT_I16, GCUT_U8};
    return ints[gen_draw(r, 7)];
}

gcut_dtype gen_any_real(graph_gen *r)
{
    if (gen_draw(r, 8)) return r->half;
    return r->half != r->real || r->real == GCUT_F64 ? GCUT_F32 : GCUT_F64;
}

/* A dtype that fits the op table's letter. */
gcut_dtype gen_any_dtype(graph_gen *r, char letter)
{
    uint32_t k = gen_draw(r, 20);
    switch (letter) {
    case 'F': return gen_any_real(r);
    case 'N': return k < 17 ? gen_any_real(r) : any_int(r);
    case 'B': return k < 12 ? GCUT_BOOL : any_int(r);
    case 'I': return any_int(r);
    default: return k < 15 ? gen_any_real(r) : k < 18 ? any_int(r) : GCUT_BOOL;
    }
}

/* A value of that dtype and at least that rank: one there is, mostly a late or unused one, or a new leaf. */
uint32_t gen_value(graph_gen *r, gcut_dtype t, uint32_t rank, bool exact)
{
    uint32_t found[GEN_ITEMS], n = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        gcut_type have = gen_type_of(r, r->item[i].v);
        if (have.dtype != t || have.rank < rank || (exact && !r->item[i].exact)) continue;
        for (int k = r->item[i].used ? 1 : 3; k > 0 && n < GEN_ITEMS; k--) found[n++] = i;
    }
    if (n && gen_draw(r, 6)) return found[n - 1 - gen_draw(r, n > 9 && gen_coin(r) ? 9 : n)];
    gcut_type fresh = gen_any_type(r, t, rank);
    return gen_leaf(r, &fresh);
}

uint32_t gen_operand(graph_gen *r, char letter, uint32_t rank, bool exact)
{
    return gen_value(r, gen_any_dtype(r, letter), rank, exact);
}

/* One of exactly four axes; an item may have five, and a new type has at most four. */
uint32_t gen_image(graph_gen *r, char letter, bool exact)
{
    uint32_t x = gen_operand(r, letter, 4, exact);
    gcut_type t = gen_type_of(r, r->item[x].v);
    if (t.rank == 4) return x;
    t = gen_any_type(r, t.dtype, 4);
    return gen_leaf(r, &t);
}

/* Some axes of t, some of them 1, repeated to the shape of t. */
uint32_t gen_repeated(graph_gen *r, const gcut_type *t)
{
    gcut_type small = {.dtype = t->dtype};
    gcut_dim axes[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++) {
        if (gen_coin(r)) continue;
        axes[small.rank] = d;
        small.dim[small.rank++] = gen_draw(r, 4) ? t->dim[d] : 1;
    }
    uint32_t x = gen_leaf(r, &small);
    double mag = r->item[x].mag;
    return gen_add(r, gcut_bbroadcast(&r->b, gen_use(r, x), t->dim, t->rank, axes), mag, true);
}

/* Another value of the type of item i. */
uint32_t gen_matching(graph_gen *r, uint32_t i, bool exact)
{
    gcut_type t = gen_type_of(r, r->item[i].v);
    switch (gen_draw(r, 8)) {
    case 0: return i;
    case 1: return gen_leaf(r, &t);
    case 2:
    case 3: return gen_repeated(r, &t);
    case 4:
        return gen_add(r, gcut_bconst(&r->b, r->item[i].v, gen_draw(r, t.dtype == GCUT_BOOL ? 2 : 3)), 2,
                       true);
    default: break;
    }
    for (uint32_t k = r->n, from = gen_draw(r, r->n); k > 0; k--) {
        uint32_t j = (from + k) % r->n;
        gcut_type have = gen_type_of(r, r->item[j].v);
        if (j != i && gcut_type_equal(&have, &t) && (!exact || r->item[j].exact)) return j;
    }
    return gen_coin(r) ? gen_leaf(r, &t) : gen_repeated(r, &t);
}

/* Away from zero, above it. */
uint32_t gen_positive(graph_gen *r, uint32_t i, bool exact)
{
    gcut_type t = gen_type_of(r, r->item[i].v);
    if (!gen_is_real(r, r->item[i].v)) return gen_add(r, gen_new_leaf(r, &t, 1, 6), 6, true);
    gcut_ref v = gcut_b1(&r->b, exact ? GCUT_OP_abs : GCUT_OP_sigmoid, gen_use(r, i));
    return gen_add(r, gcut_baddc(&r->b, v, 0.5), r->item[i].mag + 0.5, exact);
}

/* In (0.5, 1), so that a product of many is neither infinite nor sooner 0 than need be; integers as they are.
 */
gcut_ref gen_factors(graph_gen *r, gcut_ref v)
{
    if (!gen_is_real(r, v)) return v;
    return gcut_baddc(&r->b, gcut_bscale(&r->b, gcut_b1(&r->b, GCUT_OP_sigmoid, v), -0.5), 1);
}

gcut_ref gen_node(graph_gen *r, gcut_op op, const gcut_ref *in, uint32_t n, const gcut_attr *attr,
                  uint32_t nattrs)
{
    return gcut_node_new(r->b.g, op, in, n, attr, nattrs, 0, NULL);
}

gcut_attr gen_dims(graph_gen *r, gcut_attr_key k, const gcut_dim *d, uint32_t n)
{
    return gcut_attr_dims(gen_module_of(r), k, d, n);
}
