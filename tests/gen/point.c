/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs: elementwise ops.
 */
#include "gen/gen.h"

#include <math.h>
#include <string.h>

/* Where an op may be used; the others everywhere. */
enum {
    FIRST_POSITIVE = 1,
    SECOND_POSITIVE = 2,
    KINK = 4,
    STEP = 8,
    EXACT = 16,
    SMALL = 32,
    INSIDE = 64,
    ABOVE_ONE = 128
};
static const uint8_t facts[GCUT_NOPS] = {
    [GCUT_OP_log] = FIRST_POSITIVE,
    [GCUT_OP_log1p] = FIRST_POSITIVE,
    [GCUT_OP_sqrt] = FIRST_POSITIVE,
    [GCUT_OP_rsqrt] = FIRST_POSITIVE,
    [GCUT_OP_pow] = FIRST_POSITIVE,
    [GCUT_OP_div] = SECOND_POSITIVE,
    [GCUT_OP_mod] = SECOND_POSITIVE | STEP | EXACT,
    [GCUT_OP_relu] = KINK | EXACT,
    [GCUT_OP_abs] = KINK | EXACT,
    [GCUT_OP_max] = KINK | EXACT,
    [GCUT_OP_min] = KINK | EXACT,
    [GCUT_OP_clamp] = KINK | EXACT,
    [GCUT_OP_max_reduce] = KINK | EXACT,
    [GCUT_OP_min_reduce] = KINK | EXACT,
    [GCUT_OP_elu] = KINK,
    [GCUT_OP_leaky_relu] = KINK,
    [GCUT_OP_hardsigmoid] = KINK,
    [GCUT_OP_hardswish] = KINK,
    [GCUT_OP_tan] = SMALL,
    [GCUT_OP_asin] = INSIDE,
    [GCUT_OP_acos] = INSIDE,
    [GCUT_OP_atanh] = INSIDE,
    [GCUT_OP_acosh] = ABOVE_ONE,
    [GCUT_OP_argmax] = STEP,
    [GCUT_OP_argmin] = STEP,
    [GCUT_OP_argsort] = STEP,
    [GCUT_OP_sort] = STEP,
    [GCUT_OP_topk] = STEP,
    [GCUT_OP_prelu] = KINK,
    [GCUT_OP_adaptive_max_pool] = STEP,
    [GCUT_OP_max_pool_nd] = STEP,
    [GCUT_OP_max_pool2d] = STEP,
    [GCUT_OP_max_pool2d_grad] = STEP,
    [GCUT_OP_max_pool2d_take] = STEP,
    [GCUT_OP_sign] = STEP | EXACT,
    [GCUT_OP_floor] = STEP | EXACT,
    [GCUT_OP_ceil] = STEP | EXACT,
    [GCUT_OP_round] = STEP | EXACT,
    [GCUT_OP_neg] = EXACT,
    [GCUT_OP_add] = EXACT,
    [GCUT_OP_sub] = EXACT,
    [GCUT_OP_stop_gradient] = EXACT,
};

bool gen_has_kink(gcut_op op)
{
    return facts[op] & KINK;
}
bool gen_has_step(gcut_op op)
{
    return facts[op] & STEP;
}
bool gen_is_exact(gcut_op op)
{
    return facts[op] & EXACT;
}

bool gen_wants_exact(graph_gen *r, gcut_op op)
{
    return facts[op] & STEP || (facts[op] & KINK && gen_coin(r));
}

static double grown(gcut_op op, double a, double b, uint32_t nargs)
{
    switch (op) {
    case GCUT_OP_exp:
    case GCUT_OP_expm1:
    case GCUT_OP_sinh:
    case GCUT_OP_cosh: return exp(a);
    case GCUT_OP_add:
    case GCUT_OP_sub: return a + b;
    case GCUT_OP_mul: return a * b;
    case GCUT_OP_div: return 2 * a;
    case GCUT_OP_pow: return pow(2, b);
    default: return fmax(a, nargs > 1 ? b : 1) + (nargs > 1 ? 0 : 0.5);
    }
}

/* clamp's optional bounds, gelu's approximation: whatever the attributes of an elementwise op are. */
static uint32_t point_attrs(graph_gen *r, gcut_op op, gcut_attr *out)
{
    const gcut_op_spec *spec = &gen_module_of(r)->specs[op];
    uint32_t n = 0;
    for (uint32_t i = 0; i < spec->n; i++) {
        gcut_attr_key k = spec->at[i].key;
        if (k == GCUT_KEY_approx)
            out[n++] = gcut_attr_str(gen_module_of(r), k, gen_coin(r) ? "tanh" : "none");
        else if (k == GCUT_KEY_lo && gen_draw(r, 4))
            out[n++] = gcut_attr_int(k, gen_draw(r, 2) ? -1 : 0);
        else if (k == GCUT_KEY_hi && gen_draw(r, 4))
            out[n++] = gcut_attr_int(k, 1);
        else if ((k == GCUT_KEY_alpha || k == GCUT_KEY_slope) && gen_coin(r))
            out[n++] = gcut_attr_real(k, 0.25);
    }
    return n;
}

/* An operand of indices below `below`. */
gcut_ref gen_indices(graph_gen *r, uint32_t rank, const gcut_dim *shape, gcut_dim below)
{
    gcut_type t = {.dtype = gen_coin(r) ? GCUT_I32 : GCUT_I64, .rank = (uint8_t)rank};
    memcpy(t.dim, shape, rank * sizeof *shape);
    gcut_ref v = gen_new_leaf(r, &t, 0, below);
    if (gcut_dim_known(below) && gen_coin(r)) {
        gcut_module *m = gen_module_of(r);
        gcut_mark_add(m->arena, &r->b.g->params.at[r->b.g->params.n - 1].marks,
                      (gcut_mark){GCUT_MARK_range, 2, {{.i = 0}, {.i = below}}});
    }
    return v;
}

static void make_bounded(graph_gen *r)
{
    gcut_type t = gen_any_type(r, GCUT_I32, 0);
    gcut_attr of = gcut_attr_dim(GCUT_KEY_of, gen_any_dim(r, 64));
    gcut_ref i = gen_indices(r, t.rank, t.dim, of.u.dim);
    gen_add(r, gen_node(r, GCUT_OP_bounded, &i, 1, &of, 1), 64, true);
}

/* tanh of item i, times `below` */
static uint32_t small(graph_gen *r, uint32_t i, double below)
{
    gcut_ref v = gcut_b1(&r->b, GCUT_OP_tanh, gen_use(r, i));
    return gen_add(r, below == 1 ? v : gcut_bscale(&r->b, v, below), 1, false);
}

/* 1.25 more than a sigmoid of item i */
static uint32_t above_one(graph_gen *r, uint32_t i)
{
    gcut_ref v = gcut_b1(&r->b, GCUT_OP_sigmoid, gen_use(r, i));
    return gen_add(r, gcut_baddc(&r->b, v, 1.25), 2.25, false);
}

void make_same(graph_gen *r, gcut_op op)
{
    const gcut_op_info *info = gcut_op_get(op);
    if (info->dtypes == 'I') {
        make_bounded(r);
        return;
    }
    bool exact = gen_wants_exact(r, op), all = true;
    uint32_t arg[3];
    arg[0] = gen_operand(r, info->dtypes, 0, exact);
    for (uint32_t k = 1; k < info->lo; k++) arg[k] = gen_matching(r, arg[0], exact);
    bool bits = gen_type_of(r, r->item[arg[0]].v).dtype == GCUT_BOOL;
    if (facts[op] & FIRST_POSITIVE) arg[0] = gen_positive(r, arg[0], exact);
    if (facts[op] & (SMALL | INSIDE)) arg[0] = small(r, arg[0], facts[op] & INSIDE ? 0.75 : 1);
    if (facts[op] & ABOVE_ONE) arg[0] = above_one(r, arg[0]);
    if (facts[op] & SECOND_POSITIVE && !bits) arg[1] = gen_positive(r, arg[1], exact);
    gcut_ref in[3];
    for (uint32_t k = 0; k < info->lo; k++) {
        in[k] = gen_use(r, arg[k]);
        all = all && r->item[arg[k]].exact;
    }
    if (facts[op] & KINK && !all) r->kinked = true;
    gcut_attr attr[4];
    uint32_t n = point_attrs(r, op, attr);
    double mag = grown(op, r->item[arg[0]].mag, info->lo > 1 ? r->item[arg[1]].mag : 0, info->lo);
    gen_keep(r, gen_node(r, op, in, info->lo, attr, n), mag, all && facts[op] & EXACT && mag < 4096);
}

/* Comparisons, of exact values: rounding may not decide. */
void make_test(graph_gen *r, gcut_op op)
{
    const gcut_op_info *info = gcut_op_get(op);
    uint32_t x = gen_operand(r, info->dtypes, 0, info->lo > 1),
             y = info->lo > 1 ? gen_matching(r, x, true) : 0;
    gcut_ref in[2] = {gen_use(r, x), info->lo > 1 ? gen_use(r, y) : 0};
    gen_add(r, gen_node(r, op, in, info->lo, NULL, 0), 1, true);
}

void make_cast(graph_gen *r, gcut_op op)
{
    static const gcut_dtype to[] = {GCUT_F32,  GCUT_F64, GCUT_I32, GCUT_I64,
                                    GCUT_BOOL, GCUT_I8,  GCUT_U8,  GCUT_F32};
    gcut_dtype t = to[gen_draw(r, 8)];
    uint32_t x = gen_operand(r, 'X', 0, !gcut_dtype_is_float(t));
    gcut_ref in = gen_use(r, x);
    if (t == GCUT_U8 && gen_is_real(r, in))
        in = gcut_b1(&r->b, GCUT_OP_abs, in); /* negative to unsigned means nothing */
    gcut_attr a = gcut_attr_str(gen_module_of(r), GCUT_KEY_to, gcut_dtype_name(t));
    bool real = gen_is_real(r, in);
    gen_keep(r, gen_node(r, op, &in, 1, &a, 1), r->item[x].mag,
             real ? r->item[x].exact : r->item[x].mag < 1e5);
}

void make_select(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, 'X', 0, false), y = gen_matching(r, x, false);
    gcut_type t = gen_type_of(r, r->item[x].v);
    gcut_ref p = 0;
    if (r->item[x].exact && gen_coin(r) && t.dtype != GCUT_BOOL) {
        p = gcut_b2(&r->b, GCUT_OP_lt, r->item[x].v, gcut_bconst(&r->b, r->item[x].v, 0));
    } else {
        t.dtype = GCUT_BOOL;
        p = gen_use(r, gen_coin(r) ? gen_leaf(r, &t) : gen_repeated(r, &t));
    }
    gcut_ref in[3] = {p, gen_use(r, x), gen_use(r, y)};
    gen_keep(r, gen_node(r, op, in, 3, NULL, 0), fmax(r->item[x].mag, r->item[y].mag),
             r->item[x].exact && r->item[y].exact);
}
