/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random well-typed graphs over the whole op table.
 */
#include "graph_gen.h"

#include <math.h>
#include <string.h>

#define CAP 4096 /* elements of a value at the nominal sizes */

/* ---- draws ---- */

static uint32_t draw(graph_gen *r, uint32_t below)
{
    r->seed ^= r->seed << 13, r->seed ^= r->seed >> 7, r->seed ^= r->seed << 17;
    return (uint32_t)((r->seed * UINT64_C(0x2545F4914F6CDD1D)) >> 33) % below;
}

static bool coin(graph_gen *r)
{
    return draw(r, 2);
}

static gcut_module *module_of(const graph_gen *r)
{
    return r->b.g->module;
}
static gcut_type type_of(const graph_gen *r, gcut_ref v)
{
    return *gcut_type_of(r->b.g, v);
}

static int64_t nominal(const graph_gen *r, gcut_dim d)
{
    gcut_dim_binding at[2] = {{r->sym[0], GEN_NOMINAL_N}, {r->sym[1], GEN_NOMINAL_M}};
    int64_t n = 0;
    GCUT_ASSERT(gcut_dim_eval(module_of(r)->dims, d, at, 2, &n));
    return n;
}

static double elements(const graph_gen *r, const gcut_type *t)
{
    double n = 1;
    for (uint32_t d = 0; d < t->rank; d++) n *= (double)nominal(r, t->dim[d]);
    return n;
}

static bool may_be_empty(const graph_gen *r, gcut_dim d)
{
    int64_t lo, hi;
    gcut_dim_range(module_of(r)->dims, d, r->b.g->decls.at, r->b.g->decls.n, &lo, &hi);
    return lo < 1;
}

static gcut_dim combine(const graph_gen *r, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    return gcut_dim_make(module_of(r)->dims, op, a, b);
}

/* A size of at most cap at the nominal sizes; every second one symbolic where that fits. */
static gcut_dim any_dim(graph_gen *r, int64_t cap)
{
    static const int64_t known[] = {1, 2, 3, 5, 8, 17, 64, 65, 130};
    gcut_dim d = 0;
    switch (draw(r, 16)) {
    case 0:
    case 1:
    case 2:
    case 3: d = r->sym[0]; break;
    case 4:
    case 5: d = r->sym[1]; break;
    case 6: d = combine(r, GCUT_DIM_ADD, r->sym[0], 1); break;
    case 7: d = combine(r, GCUT_DIM_MUL, r->sym[0], 2); break;
    default: d = known[draw(r, sizeof known / sizeof *known)];
    }
    while (nominal(r, d) > cap) d = known[draw(r, cap < 2 ? 1 : 5)];
    return d;
}

static gcut_type any_type(graph_gen *r, gcut_dtype dtype, uint32_t lo_rank)
{
    gcut_type t = {.dtype = dtype, .rank = (uint8_t)(lo_rank + draw(r, 5 - lo_rank))};
    int64_t cap = CAP;
    for (uint32_t d = 0; d < t.rank; d++) {
        t.dim[d] = any_dim(r, cap);
        cap /= nominal(r, t.dim[d]);
    }
    return t;
}

/* ---- values ---- */

static bool is_real(const graph_gen *r, gcut_ref v)
{
    return gcut_dtype_is_float(type_of(r, v).dtype);
}

/* A half that was computed, and not only moved, was rounded. */
static bool is_rounded(const graph_gen *r, gcut_ref v)
{
    const gcut_node *n = gcut_def(r->b.g, v);
    if (!n || !gcut_dtype_is_half(type_of(r, v).dtype)) return false;
    gcut_class c = gcut_op_get((gcut_op)n->op)->class;
    return c == GCUT_CLASS_POINTWISE || c == GCUT_CLASS_REDUCTION || c == GCUT_CLASS_CONTRACTION;
}

static uint32_t add(graph_gen *r, gcut_ref v, double mag, bool exact)
{
    GCUT_ASSERT(r->n < GEN_ITEMS);
    exact = (exact && !is_rounded(r, v)) || !is_real(r, v);
    r->item[r->n] = (gen_item){.v = v, .mag = mag, .exact = exact};
    return r->n++;
}

/* The same, brought back to a moderate size first. */
static uint32_t keep(graph_gen *r, gcut_ref v, double mag, bool exact)
{
    if (type_of(r, v).dtype != GCUT_bool && !is_real(r, v) && mag > 1e6)
        return add(r, gcut_b2(&r->b, GCUT_OP_mod, v, gcut_bconst(&r->b, v, 16)), 16, true);
    if (!is_real(r, v) || mag <= 4) return add(r, v, mag, exact);
    v = gcut_bscale(&r->b, v, ldexp(1, -ilogb(mag)));
    if (coin(r)) v = gcut_b1(&r->b, GCUT_OP_tanh, v);
    return add(r, v, 2, false);
}

static gcut_ref use(graph_gen *r, uint32_t i)
{
    r->item[i].used = true;
    return r->item[i].v;
}

/* Names of leaves try what a C file, a path or a table may trip over. */
static const char *leaf_name(graph_gen *r)
{
    static const char *const names[] = {"x",    "int", "w.1",    "w_1",    "0", "N",
                                        "main", "_",   "double", "loss.1", "d", "i"};
    return gcut_name_fresh(r->b.g, names[draw(r, sizeof names / sizeof *names)]);
}

static gcut_ref new_leaf(graph_gen *r, const gcut_type *t, int64_t lo, gcut_dim hi)
{
    GCUT_ASSERT(r->nleaves < GEN_LEAVES);
    const char *name = leaf_name(r);
    bool real = gcut_dtype_is_float(t->dtype);
    gcut_ref v = gcut_param_new(r->b.g, real && draw(r, 3) ? GCUT_ROLE_param : GCUT_ROLE_input, name, t);
    r->nleaves++;
    if (!real) r->bound[r->nbounds++] = (gen_bound){name, lo, hi};
    return v;
}

/* Leaves hold multiples of 1/64 plus 1/128 in [-1, 1]: every f32 sum of a few of them is exact. */
static uint32_t leaf(graph_gen *r, const gcut_type *t)
{
    gcut_dtype d = t->dtype;
    if (gcut_dtype_is_float(d)) return add(r, new_leaf(r, t, 0, 0), 1, true);
    return add(r, new_leaf(r, t, d == GCUT_bool || d == GCUT_u8 ? 0 : -8, d == GCUT_bool ? 2 : 9), 9, true);
}

static gcut_dtype any_int(graph_gen *r)
{
    static const gcut_dtype ints[] = {GCUT_i32, GCUT_i64, GCUT_i32, GCUT_i64, GCUT_i8, GCUT_i16, GCUT_u8};
    return ints[draw(r, 7)];
}

static gcut_dtype any_real(graph_gen *r)
{
    if (draw(r, 8)) return r->half;
    return r->half != r->real || r->real == GCUT_f64 ? GCUT_f32 : GCUT_f64;
}

/* A dtype that fits the op table's letter. */
static gcut_dtype any_dtype(graph_gen *r, char letter)
{
    uint32_t k = draw(r, 20);
    switch (letter) {
    case 'F': return any_real(r);
    case 'N': return k < 17 ? any_real(r) : any_int(r);
    case 'B': return k < 12 ? GCUT_bool : any_int(r);
    case 'I': return any_int(r);
    default: return k < 15 ? any_real(r) : k < 18 ? any_int(r) : GCUT_bool;
    }
}

/* A value of that dtype and at least that rank: one there is, mostly a late or unused one, or a new leaf. */
static uint32_t value(graph_gen *r, gcut_dtype t, uint32_t rank, bool exact)
{
    uint32_t found[GEN_ITEMS], n = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        gcut_type have = type_of(r, r->item[i].v);
        if (have.dtype != t || have.rank < rank || (exact && !r->item[i].exact)) continue;
        for (int k = r->item[i].used ? 1 : 3; k > 0 && n < GEN_ITEMS; k--) found[n++] = i;
    }
    if (n && draw(r, 6)) return found[n - 1 - draw(r, n > 9 && coin(r) ? 9 : n)];
    gcut_type fresh = any_type(r, t, rank);
    return leaf(r, &fresh);
}

static uint32_t operand(graph_gen *r, char letter, uint32_t rank, bool exact)
{
    return value(r, any_dtype(r, letter), rank, exact);
}

/* One of exactly four axes; an item may have five, and a new type has at most four. */
static uint32_t image(graph_gen *r, char letter, bool exact)
{
    uint32_t x = operand(r, letter, 4, exact);
    gcut_type t = type_of(r, r->item[x].v);
    if (t.rank == 4) return x;
    t = any_type(r, t.dtype, 4);
    return leaf(r, &t);
}

/* Some axes of t, some of them 1, repeated to the shape of t. */
static uint32_t repeated(graph_gen *r, const gcut_type *t)
{
    gcut_type small = {.dtype = t->dtype};
    gcut_dim axes[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++) {
        if (coin(r)) continue;
        axes[small.rank] = d;
        small.dim[small.rank++] = draw(r, 4) ? t->dim[d] : 1;
    }
    uint32_t x = leaf(r, &small);
    double mag = r->item[x].mag;
    return add(r, gcut_bbroadcast(&r->b, use(r, x), t->dim, t->rank, axes), mag, true);
}

/* Another value of the type of item i. */
static uint32_t matching(graph_gen *r, uint32_t i, bool exact)
{
    gcut_type t = type_of(r, r->item[i].v);
    switch (draw(r, 8)) {
    case 0: return i;
    case 1: return leaf(r, &t);
    case 2:
    case 3: return repeated(r, &t);
    case 4: return add(r, gcut_bconst(&r->b, r->item[i].v, draw(r, t.dtype == GCUT_bool ? 2 : 3)), 2, true);
    default: break;
    }
    for (uint32_t k = r->n, from = draw(r, r->n); k > 0; k--) {
        uint32_t j = (from + k) % r->n;
        gcut_type have = type_of(r, r->item[j].v);
        if (j != i && gcut_type_equal(&have, &t) && (!exact || r->item[j].exact)) return j;
    }
    return coin(r) ? leaf(r, &t) : repeated(r, &t);
}

/* Away from zero, above it. */
static uint32_t positive(graph_gen *r, uint32_t i, bool exact)
{
    gcut_type t = type_of(r, r->item[i].v);
    if (!is_real(r, r->item[i].v)) return add(r, new_leaf(r, &t, 1, 6), 6, true);
    gcut_ref v = gcut_b1(&r->b, exact ? GCUT_OP_abs : GCUT_OP_sigmoid, use(r, i));
    return add(r, gcut_baddc(&r->b, v, 0.5), r->item[i].mag + 0.5, exact);
}

/* In (0.5, 1), so that a product of many is neither infinite nor sooner 0 than need be; integers as they are.
 */
static gcut_ref factors(graph_gen *r, gcut_ref v)
{
    if (!is_real(r, v)) return v;
    return gcut_baddc(&r->b, gcut_bscale(&r->b, gcut_b1(&r->b, GCUT_OP_sigmoid, v), -0.5), 1);
}

static gcut_ref node(graph_gen *r, gcut_op op, const gcut_ref *in, uint32_t n, const gcut_attr *attr,
                     uint32_t nattrs)
{
    return gcut_node_new(r->b.g, op, in, n, attr, nattrs, 0, NULL);
}

static gcut_attr dims(graph_gen *r, gcut_attr_key k, const gcut_dim *d, uint32_t n)
{
    return gcut_attr_dims(module_of(r), k, d, n);
}

/* ---- elementwise ---- */

/* Where an op may be used; the others everywhere. */
enum { FIRST_POSITIVE = 1, SECOND_POSITIVE = 2, KINK = 4, STEP = 8, EXACT = 16, SMALL = 32 };
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
    [GCUT_OP_argmax] = STEP,
    [GCUT_OP_argmin] = STEP,
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

static bool wants_exact(graph_gen *r, gcut_op op)
{
    return facts[op] & STEP || (facts[op] & KINK && coin(r));
}

static double grown(gcut_op op, double a, double b, uint32_t nargs)
{
    switch (op) {
    case GCUT_OP_exp:
    case GCUT_OP_expm1: return exp(a);
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
    const gcut_op_spec *spec = &module_of(r)->specs[op];
    uint32_t n = 0;
    for (uint32_t i = 0; i < spec->n; i++) {
        gcut_attr_key k = spec->at[i].key;
        if (k == GCUT_A_approx)
            out[n++] = gcut_attr_str(module_of(r), k, coin(r) ? "tanh" : "none");
        else if (k == GCUT_A_lo && draw(r, 4))
            out[n++] = gcut_attr_int(k, draw(r, 2) ? -1 : 0);
        else if (k == GCUT_A_hi && draw(r, 4))
            out[n++] = gcut_attr_int(k, 1);
        else if ((k == GCUT_A_alpha || k == GCUT_A_slope) && coin(r))
            out[n++] = gcut_attr_real(k, 0.25);
    }
    return n;
}

/* An operand of indices below `below`. */
static gcut_ref indices(graph_gen *r, uint32_t rank, const gcut_dim *shape, gcut_dim below)
{
    gcut_type t = {.dtype = coin(r) ? GCUT_i32 : GCUT_i64, .rank = (uint8_t)rank};
    memcpy(t.dim, shape, rank * sizeof *shape);
    gcut_ref v = new_leaf(r, &t, 0, below);
    if (gcut_dim_known(below) && coin(r)) {
        gcut_module *m = module_of(r);
        const char *args[] = {"0", gcut_printf(m->arena, "%lld", (long long)below)};
        gcut_mark_add(m, &r->b.g->params.at[r->b.g->params.n - 1].marks, "range", 2, args);
    }
    return v;
}

static void gen_bounded(graph_gen *r)
{
    gcut_type t = any_type(r, GCUT_i32, 0);
    gcut_attr of = gcut_attr_dim(GCUT_A_of, any_dim(r, 64));
    gcut_ref i = indices(r, t.rank, t.dim, of.u.dim);
    add(r, node(r, GCUT_OP_bounded, &i, 1, &of, 1), 64, true);
}

static void gen_same(graph_gen *r, gcut_op op)
{
    const gcut_op_info *info = gcut_op_get(op);
    if (info->dtypes == 'I') {
        gen_bounded(r);
        return;
    }
    bool exact = wants_exact(r, op), all = true;
    uint32_t arg[3];
    arg[0] = operand(r, info->dtypes, 0, exact);
    for (uint32_t k = 1; k < info->lo; k++) arg[k] = matching(r, arg[0], exact);
    bool bits = type_of(r, r->item[arg[0]].v).dtype == GCUT_bool;
    if (facts[op] & FIRST_POSITIVE) arg[0] = positive(r, arg[0], exact);
    if (facts[op] & SMALL) arg[0] = add(r, gcut_b1(&r->b, GCUT_OP_tanh, use(r, arg[0])), 1, false);
    if (facts[op] & SECOND_POSITIVE && !bits) arg[1] = positive(r, arg[1], exact);
    gcut_ref in[3];
    for (uint32_t k = 0; k < info->lo; k++) {
        in[k] = use(r, arg[k]);
        all = all && r->item[arg[k]].exact;
    }
    if (facts[op] & KINK && !all) r->kinked = true;
    gcut_attr attr[4];
    uint32_t n = point_attrs(r, op, attr);
    double mag = grown(op, r->item[arg[0]].mag, info->lo > 1 ? r->item[arg[1]].mag : 0, info->lo);
    keep(r, node(r, op, in, info->lo, attr, n), mag, all && facts[op] & EXACT && mag < 4096);
}

/* Comparisons, of exact values: rounding may not decide. */
static void gen_test(graph_gen *r, gcut_op op)
{
    const gcut_op_info *info = gcut_op_get(op);
    uint32_t x = operand(r, info->dtypes, 0, info->lo > 1), y = info->lo > 1 ? matching(r, x, true) : 0;
    gcut_ref in[2] = {use(r, x), info->lo > 1 ? use(r, y) : 0};
    add(r, node(r, op, in, info->lo, NULL, 0), 1, true);
}

static void gen_cast(graph_gen *r, gcut_op op)
{
    static const gcut_dtype to[] = {GCUT_f32,  GCUT_f64, GCUT_i32, GCUT_i64,
                                    GCUT_bool, GCUT_i8,  GCUT_u8,  GCUT_f32};
    gcut_dtype t = to[draw(r, 8)];
    uint32_t x = operand(r, 'X', 0, !gcut_dtype_is_float(t));
    gcut_ref in = use(r, x);
    if (t == GCUT_u8 && is_real(r, in))
        in = gcut_b1(&r->b, GCUT_OP_abs, in); /* negative to unsigned means nothing */
    gcut_attr a = gcut_attr_str(module_of(r), GCUT_A_to, gcut_dtype_name(t));
    bool real = is_real(r, in);
    keep(r, node(r, op, &in, 1, &a, 1), r->item[x].mag, real ? r->item[x].exact : r->item[x].mag < 1e5);
}

static void gen_select(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, 'X', 0, false), y = matching(r, x, false);
    gcut_type t = type_of(r, r->item[x].v);
    gcut_ref p = 0;
    if (r->item[x].exact && coin(r) && t.dtype != GCUT_bool) {
        p = gcut_b2(&r->b, GCUT_OP_lt, r->item[x].v, gcut_bconst(&r->b, r->item[x].v, 0));
    } else {
        t.dtype = GCUT_bool;
        p = use(r, coin(r) ? leaf(r, &t) : repeated(r, &t));
    }
    gcut_ref in[3] = {p, use(r, x), use(r, y)};
    keep(r, node(r, op, in, 3, NULL, 0), fmax(r->item[x].mag, r->item[y].mag),
         r->item[x].exact && r->item[y].exact);
}

/* ---- shapes ---- */

/* The result is item x moved about. */
static void moved(graph_gen *r, uint32_t x, gcut_ref v)
{
    keep(r, v, r->item[x].mag, r->item[x].exact);
}

static void gen_reshape(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 0, false);
    gcut_type t = type_of(r, r->item[x].v), to = t;
    uint32_t at = t.rank ? draw(r, t.rank) : 0;
    switch (draw(r, 4)) {
    case 0: /* one axis */
        to.rank = 1;
        to.dim[0] = gcut_type_numel(module_of(r), &t);
        break;
    case 1: /* two axes become one */
        if (at + 1 >= t.rank) break;
        to.dim[at] = combine(r, GCUT_DIM_MUL, t.dim[at], t.dim[at + 1]);
        memmove(&to.dim[at + 1], &t.dim[at + 2], (t.rank - at - 2u) * sizeof *t.dim);
        to.rank--;
        break;
    case 2: /* one becomes two, where a small factor divides it */
        for (int64_t f = 2; f < 6 && t.rank && to.rank == t.rank; f++) {
            if (!gcut_dim_known(t.dim[at]) || t.dim[at] % f) continue;
            uint32_t first = coin(r);
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
    moved(r, x, gcut_breshape(&r->b, use(r, x), to.dim, to.rank));
}

static void gen_transpose(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 2, false), rank = type_of(r, r->item[x].v).rank;
    gcut_dim perm[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) perm[d] = d;
    for (uint32_t d = rank; d > 1; d--) {
        uint32_t k = draw(r, d);
        gcut_dim t = perm[d - 1];
        perm[d - 1] = perm[k];
        perm[k] = t;
    }
    moved(r, x, gcut_btranspose(&r->b, use(r, x), perm));
}

static void gen_broadcast(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 0, false);
    gcut_type t = type_of(r, r->item[x].v), to = {.dtype = t.dtype};
    gcut_dim axes[GCUT_MAX_RANK];
    int64_t cap = (int64_t)(CAP / elements(r, &t));
    for (uint32_t d = 0; d <= t.rank; d++) {
        if (to.rank + (t.rank - d) < 5 && draw(r, 3) == 0) {
            to.dim[to.rank] = any_dim(r, cap < 1 ? 1 : cap);
            cap /= nominal(r, to.dim[to.rank++]);
        }
        if (d == t.rank) break;
        axes[d] = to.rank;
        gcut_dim n = t.dim[d];
        if (n == 1) n = any_dim(r, cap < 1 ? 1 : cap), cap /= nominal(r, n);
        to.dim[to.rank++] = n;
    }
    moved(r, x, gcut_bbroadcast(&r->b, use(r, x), to.dim, to.rank, axes));
}

/* One axis of a slice. */
static void cut_axis(graph_gen *r, gcut_dim n, gcut_dim *start, gcut_dim *limit, gcut_dim *step)
{
    *start = 0, *limit = n, *step = 1 + (draw(r, 3) == 0) + (draw(r, 5) == 0);
    if (gcut_dim_known(n)) {
        if (n == 0 || draw(r, 3) == 0) return;
        *start = draw(r, (uint32_t)n);
        *limit = *start + 1 + draw(r, (uint32_t)(n - *start));
        return;
    }
    if (may_be_empty(r, n)) return;
    switch (draw(r, 6)) {
    case 0: *start = combine(r, GCUT_DIM_SUB, n, 1); break;
    case 1: *limit = 1; break;
    case 2: *start = 1; break; /* nothing is left of a size of 1 */
    case 3: *limit = combine(r, GCUT_DIM_SUB, n, 1); break;
    default: break;
    }
}

static gcut_ref sliced(graph_gen *r, gcut_ref x, uint32_t only)
{
    gcut_type t = type_of(r, x);
    gcut_dim start[GCUT_MAX_RANK], limit[GCUT_MAX_RANK], step[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) {
        start[d] = 0, limit[d] = t.dim[d], step[d] = 1;
        if (only >> d & 1) cut_axis(r, t.dim[d], &start[d], &limit[d], &step[d]);
    }
    gcut_attr a[3] = {dims(r, GCUT_A_start, start, t.rank), dims(r, GCUT_A_limit, limit, t.rank),
                      dims(r, GCUT_A_step, step, t.rank)};
    return node(r, GCUT_OP_slice, &x, 1, a, 3);
}

static void gen_slice(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 1, false);
    moved(r, x, sliced(r, use(r, x), draw(r, 16)));
}

static void gen_pad(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 1, false);
    gcut_type t = type_of(r, r->item[x].v);
    gcut_dim low[GCUT_MAX_RANK], high[GCUT_MAX_RANK], inner[GCUT_MAX_RANK];
    bool room = elements(r, &t) < CAP / 4;
    for (uint32_t d = 0; d < t.rank; d++) {
        low[d] = coin(r) ? 0 : draw(r, 3);
        high[d] = coin(r) ? 0 : draw(r, 3);
        inner[d] = room && draw(r, 4) == 0 ? 1 + draw(r, 2) : 0;
        room = room && inner[d] == 0;
    }
    gcut_attr a[4] = {dims(r, GCUT_A_low, low, t.rank), dims(r, GCUT_A_high, high, t.rank)};
    uint32_t n = 2;
    if (coin(r)) a[n++] = gcut_attr_int(GCUT_A_value, t.dtype == GCUT_bool ? draw(r, 2) : draw(r, 3));
    if (draw(r, 3)) a[n++] = dims(r, GCUT_A_interior, inner, t.rank);
    gcut_ref in = use(r, x);
    keep(r, node(r, op, &in, 1, a, n), fmax(r->item[x].mag, 2), r->item[x].exact);
}

static void gen_concat(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 1, false), n = 1 + draw(r, 3);
    gcut_type t = type_of(r, r->item[x].v);
    uint32_t axis = draw(r, t.rank);
    gcut_attr a = gcut_attr_dim(GCUT_A_axis, axis);
    gcut_ref in[3];
    double mag = r->item[x].mag;
    for (uint32_t k = 0; k < n; k++) {
        gcut_type other = t;
        other.dim[axis] = any_dim(r, 5);
        switch (k == 0 ? 0 : draw(r, 3)) {
        case 0: in[k] = use(r, x); break;
        case 1: in[k] = sliced(r, use(r, x), 1u << axis); break;
        default: in[k] = use(r, leaf(r, &other)); mag = fmax(mag, r->item[r->n - 1].mag);
        }
    }
    keep(r, node(r, op, in, n, &a, 1), mag, r->item[x].exact);
}

static uint32_t some_axes(graph_gen *r, uint32_t rank, gcut_dim *axes)
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < rank; d++)
        if (coin(r)) axes[n++] = d;
    return n;
}

static void gen_flip(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 1, false);
    gcut_dim axes[GCUT_MAX_RANK];
    uint32_t n = some_axes(r, type_of(r, r->item[x].v).rank, axes);
    gcut_attr a = dims(r, GCUT_A_axes, axes, n);
    gcut_ref in = use(r, x);
    moved(r, x, node(r, op, &in, 1, &a, 1));
}

/* ---- bits ---- */

static gcut_ref packed(graph_gen *r, gcut_ref mask)
{
    return node(r, GCUT_OP_pack_bits, &mask, 1, NULL, 0);
}

static void gen_pack_bits(graph_gen *r, gcut_op op)
{
    gcut_type t = any_type(r, GCUT_bool, 0);
    (void)op;
    add(r, packed(r, use(r, coin(r) ? leaf(r, &t) : repeated(r, &t))), 255, true);
}

/* Of what was packed, or of bytes from outside; read by a loop, beside the other things that may happen to
 * it.
 */
static void gen_unpack_bits(graph_gen *r, gcut_op op)
{
    gcut_type t = any_type(r, GCUT_bool, 0), u = {.dtype = GCUT_u8, .rank = 1};
    gcut_module *m = module_of(r);
    u.dim[0] = gcut_dim_make(m->dims, GCUT_DIM_CEILDIV, gcut_type_numel(m, &t), 8);
    gcut_ref x = coin(r) ? use(r, leaf(r, &u)) : packed(r, use(r, leaf(r, &t)));
    gcut_attr a = dims(r, GCUT_A_shape, t.dim, t.rank);
    gcut_ref in[3] = {node(r, op, &x, 1, &a, 1)};
    add(r, in[0], 1, true);
    t.dtype = r->real;
    in[1] = use(r, leaf(r, &t));
    in[2] = use(r, repeated(r, &t));
    keep(r, node(r, GCUT_OP_select, in, 3, NULL, 0), 1, true);
}

/* ---- constants ---- */

static void gen_dim(graph_gen *r, gcut_op op)
{
    gcut_attr a = gcut_attr_dim(GCUT_A_of, any_dim(r, 130));
    add(r, node(r, op, NULL, 0, &a, 1), 130, true);
}

static void gen_full(graph_gen *r, gcut_op op)
{
    bool counts = op == GCUT_OP_iota;
    gcut_type t = any_type(r, any_dtype(r, counts ? 'N' : 'X'), counts);
    if (counts && gcut_dtype_bytes(t.dtype) == 1) t.dtype = GCUT_i32; /* 8 bits do not count to 130 */
    uint32_t axis = counts ? draw(r, t.rank) : 0;
    gcut_attr a[3] = {dims(r, GCUT_A_shape, t.dim, t.rank),
                      gcut_attr_str(module_of(r), GCUT_A_dtype, gcut_dtype_name(t.dtype)),
                      counts ? gcut_attr_dim(GCUT_A_axis, axis) : gcut_attr_int(GCUT_A_value, draw(r, 2))};
    double mag = counts ? (double)nominal(r, t.dim[axis]) : 1;
    keep(r, node(r, op, NULL, 0, a, 3), mag, true);
}

/* ---- reductions ---- */

static void gen_reduce(graph_gen *r, gcut_op op)
{
    bool exact = wants_exact(r, op), adds = op == GCUT_OP_sum;
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 0, exact), n = 0, na = 0;
    gcut_type t = type_of(r, r->item[x].v);
    gcut_dim axes[GCUT_MAX_RANK];
    double over = 1;
    bool all = draw(r, 5) == 0;
    for (uint32_t d = 0; d < t.rank; d++) {
        bool empty = may_be_empty(r, t.dim[d]) && !adds; /* nothing has no largest element */
        /* The derivative of a product takes n^2 steps. */
        if (op == GCUT_OP_prod && (!gcut_dim_known(t.dim[d]) || over * (double)t.dim[d] > 16)) empty = true;
        all = all && !empty;
        if (empty || coin(r)) continue;
        axes[n++] = d;
        over *= (double)nominal(r, t.dim[d]);
    }
    gcut_attr a[2];
    if (!all) a[na++] = dims(r, GCUT_A_axes, axes, n);
    if (coin(r)) a[na++] = gcut_attr_bool(GCUT_A_keep, coin(r));
    if (facts[op] & KINK && !r->item[x].exact) r->kinked = true;
    gcut_ref in = op == GCUT_OP_prod ? factors(r, use(r, x)) : use(r, x);
    double mag = r->item[x].mag * (adds ? all ? elements(r, &t) : over : 1);
    if (op == GCUT_OP_logsumexp) mag += 9;
    keep(r, node(r, op, &in, 1, a, na), mag, r->item[x].exact && facts[op] & EXACT);
}

/* An operand with an axis that is never empty; -1 when the one drawn has none. */
static int solid_axis(graph_gen *r, uint32_t x)
{
    gcut_type t = type_of(r, r->item[x].v);
    for (uint32_t k = 0, from = draw(r, t.rank); k < t.rank; k++) {
        uint32_t d = (from + k) % t.rank;
        if (!may_be_empty(r, t.dim[d])) return (int)d;
    }
    return -1;
}

static void gen_axis(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 1, false);
    int axis = solid_axis(r, x);
    if (axis < 0) return;
    gcut_type t = type_of(r, r->item[x].v);
    gcut_attr a[2] = {gcut_attr_dim(GCUT_A_axis, axis), gcut_attr_bool(GCUT_A_reverse, coin(r))};
    bool running = gcut_op_get(op)->dtypes == 'N'; /* cumsum, cumprod; the others are softmaxes */
    double n = (double)nominal(r, t.dim[axis]), mag = r->item[x].mag + 4;
    if (op == GCUT_OP_cumprod && (!gcut_dim_known(t.dim[axis]) || n > 5)) return; /* takes n^2 steps */
    gcut_ref in = op == GCUT_OP_cumprod ? factors(r, use(r, x)) : use(r, x);
    if (op == GCUT_OP_cumsum) mag = r->item[x].mag * n;
    keep(r, node(r, op, &in, 1, a, running ? 2 : 1), mag, false);
}

/* Of exact values: rounding may not decide. */
static void gen_arg(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 1, wants_exact(r, op));
    int axis = solid_axis(r, x);
    if (axis < 0) return;
    gcut_attr a = gcut_attr_dim(GCUT_A_axis, axis);
    gcut_type t = type_of(r, r->item[x].v);
    gcut_ref in = use(r, x);
    keep(r, node(r, op, &in, 1, &a, 1), (double)nominal(r, t.dim[axis]), true);
}

static void gen_upsample(graph_gen *r, gcut_op op)
{
    uint32_t x = image(r, gcut_op_get(op)->dtypes, false);
    gcut_type t = type_of(r, r->item[x].v);
    if (elements(r, &t) > CAP / 2 || may_be_empty(r, t.dim[2]) || may_be_empty(r, t.dim[3])) return;
    gcut_dim factor[2] = {1 + draw(r, 3), 1 + draw(r, 3)};
    gcut_attr a[2] = {dims(r, GCUT_A_factor, factor, 2),
                      gcut_attr_str(module_of(r), GCUT_A_mode, coin(r) ? "nearest" : "bilinear")};
    gcut_ref in = use(r, x);
    keep(r, node(r, op, &in, 1, a, 2), r->item[x].mag, false);
}

/* A row of equal values has variance 0 and divides by sqrt(eps): a small eps would amplify rounding there, so
 * only leaves, whose rows differ, get one. */
static void gen_norm(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 1, false), n = gcut_op_get(op)->lo;
    gcut_type t = type_of(r, r->item[x].v), last = {.dtype = t.dtype, .rank = 1, .dim = {t.dim[t.rank - 1]}};
    if (may_be_empty(r, last.dim[0])) return;
    bool small = coin(r) && !gcut_def(r->b.g, r->item[x].v) && gcut_dim_known(last.dim[0]) && last.dim[0] > 4;
    gcut_attr a = gcut_attr_real(GCUT_A_eps, small ? 1e-5 : 0.0625);
    gcut_ref in[3] = {use(r, x)};
    for (uint32_t k = 1; k < n; k++) in[k] = use(r, leaf(r, &last));
    keep(r, node(r, op, in, n, &a, 1), 3, false);
}

/* x [N, C, ...] with leaves for the vectors over its channels. */
static uint32_t channels(graph_gen *r, gcut_op op, uint32_t rank, gcut_ref *in)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, rank, false);
    gcut_type t = type_of(r, r->item[x].v), c = {.dtype = t.dtype, .rank = 1, .dim = {t.dim[1]}};
    for (uint32_t d = 0; d < t.rank; d++)
        if (may_be_empty(r, t.dim[d])) return GCUT_NONE;
    in[0] = use(r, x);
    for (uint32_t k = 1; k < gcut_op_get(op)->lo; k++) in[k] = use(r, leaf(r, &c));
    return x;
}

static void gen_batch_norm(graph_gen *r, gcut_op op)
{
    gcut_ref in[5];
    gcut_attr a[2] = {gcut_attr_real(GCUT_A_eps, 0.0625), gcut_attr_real(GCUT_A_momentum, 0.25)};
    uint32_t x = channels(r, op, 2, in);
    if (x == GCUT_NONE) return;
    double mag = r->item[x].mag;
    gcut_ref y = node(r, op, in, 5, a, 1 + draw(r, 2));
    keep(r, y, 3, false);
    keep(r, y + 1, 1 + mag, false);
    keep(r, y + 2, 1 + 2 * mag * mag, false);
}

static void gen_channel_norm(graph_gen *r, gcut_op op)
{
    bool groups = op == GCUT_OP_group_norm;
    gcut_ref in[3];
    uint32_t x = channels(r, op, groups ? 2 : 3, in), n = 1;
    if (x == GCUT_NONE) return;
    gcut_type t = type_of(r, in[0]);
    gcut_attr a[2] = {gcut_attr_real(GCUT_A_eps, 0.0625)};
    if (groups) a[n++] = gcut_attr_dim(GCUT_A_groups, gcut_dim_known(t.dim[1]) && t.dim[1] % 2 == 0 ? 2 : 1);
    keep(r, node(r, op, in, 3, a, n), 3, false);
}

static void gen_cross_entropy(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 1, false);
    gcut_type t = type_of(r, r->item[x].v);
    for (uint32_t d = 0; d < t.rank; d++)
        if (may_be_empty(r, t.dim[d])) return;
    gcut_ref in[2] = {use(r, x), indices(r, t.rank - 1u, t.dim, t.dim[t.rank - 1])};
    gcut_attr a[2];
    uint32_t n = 0;
    if (coin(r)) a[n++] = gcut_attr_real(GCUT_A_smooth, 0.125);
    if (draw(r, 3) == 0) a[n++] = gcut_attr_int(GCUT_A_ignore, 3);
    keep(r, node(r, op, in, 2, a, n), 4, false);
}

static void gen_mse(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 0, false), y = matching(r, x, false);
    gcut_type t = type_of(r, r->item[x].v);
    for (uint32_t d = 0; d < t.rank; d++)
        if (may_be_empty(r, t.dim[d])) return;
    gcut_ref in[2] = {use(r, x), use(r, y)};
    keep(r, node(r, op, in, 2, NULL, 0), 16, false);
}

/* ---- contractions ---- */

static void gen_matmul(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 2, false), ta = coin(r), tb = coin(r);
    gcut_type t = type_of(r, r->item[x].v), u = t;
    uint32_t k = t.rank;
    gcut_dim inner = t.dim[k - 1 - ta];
    gcut_ref in[2] = {use(r, x)};
    double mag = r->item[x].mag;
    if (draw(r, 6) == 0) { /* x by itself */
        in[1] = in[0];
        tb = !ta;
        mag *= mag;
    } else {
        u.dim[k - 2 + tb] = inner;
        u.dim[k - 1 - tb] = any_dim(r, 130);
        while (elements(r, &u) > CAP || elements(r, &t) * (double)nominal(r, u.dim[k - 1 - tb]) > 4e5)
            u.dim[k - 1 - tb] = any_dim(r, nominal(r, u.dim[k - 1 - tb]) / 2 + 1), u.dim[k - 2 + tb] = inner;
        in[1] = use(r, leaf(r, &u));
    }
    gcut_attr a[2] = {gcut_attr_bool(GCUT_A_ta, ta), gcut_attr_bool(GCUT_A_tb, tb)};
    gcut_ref v = node(r, op, in, 2, a, 2);
    double over = (double)nominal(r, inner);
    if (over > 2) v = gcut_bscale(&r->b, v, 1 / sqrt(over));
    keep(r, v, 2 * mag, false);
}

/* ---- windows ---- */

/* An image, stride, dilation, padding and window that fit: attributes into a, sizes of the places into y. */
typedef struct window {
    gcut_type x, y;
    gcut_dim k[2], pad[4], stride[2], dilation[2], groups;
} window;

static window any_window(graph_gen *r, gcut_type x, bool dilates)
{
    window w = {.x = x, .y = x, .groups = 1};
    for (uint32_t d = 0; d < 2; d++) {
        int64_t lo, hi;
        gcut_dim_range(module_of(r)->dims, x.dim[2 + d], r->b.g->decls.at, r->b.g->decls.n, &lo, &hi);
        w.stride[d] = 1 + draw(r, 3);
        w.dilation[d] = dilates && draw(r, 4) == 0 ? 2 : 1;
        w.k[d] = 1 + draw(r, 3);
        w.pad[d] = draw(r, (uint32_t)w.k[d]);
        w.pad[d + 2] = draw(r, (uint32_t)w.k[d]);
        int64_t least = lo + w.pad[d] + w.pad[d + 2];
        if (w.dilation[d] * (w.k[d] - 1) + 1 > least) w.k[d] = 1, w.pad[d] = w.pad[d + 2] = 0;
        gcut_dim room = combine(r, GCUT_DIM_ADD, x.dim[2 + d], w.pad[d] + w.pad[d + 2]);
        room = combine(r, GCUT_DIM_SUB, room, w.dilation[d] * (w.k[d] - 1) + 1);
        w.y.dim[2 + d] = combine(r, GCUT_DIM_ADD, combine(r, GCUT_DIM_DIV, room, w.stride[d]), 1);
    }
    return w;
}

static uint32_t conv_attrs(graph_gen *r, const window *w, gcut_attr *a)
{
    a[0] = dims(r, GCUT_A_stride, w->stride, 2);
    a[1] = dims(r, GCUT_A_pad, w->pad, 4);
    a[2] = dims(r, GCUT_A_dilation, w->dilation, 2);
    a[3] = gcut_attr_dim(GCUT_A_groups, w->groups);
    return 4;
}

/* A convolution on an operand for the image (or for y), the rest leaves; its channels decide the groups. */
typedef struct conv {
    window w;
    gcut_type weight;
    double terms; /* of an element of y */
} conv;

static conv any_conv(graph_gen *r, gcut_type x)
{
    conv c = {.w = any_window(r, x, true)};
    gcut_dim channels = x.dim[1], each = 1 + draw(r, 3);
    if (gcut_dim_known(channels) && coin(r)) c.w.groups = channels;
    if (channels == 8 && coin(r)) c.w.groups = 4;
    gcut_dim in = combine(r, GCUT_DIM_DIV, channels, c.w.groups);
    c.w.y.dim[1] = each * c.w.groups;
    c.weight = (gcut_type){.dtype = x.dtype, .rank = 4, .dim = {c.w.y.dim[1], in, c.w.k[0], c.w.k[1]}};
    c.terms = elements(r, &c.weight) / (double)c.w.y.dim[1];
    return c;
}

static void keep_sum(graph_gen *r, gcut_ref v, double mag, double terms)
{
    if (terms > 2) v = gcut_bscale(&r->b, v, 1 / sqrt(terms));
    keep(r, v, 2 * mag, false);
}

static void gen_conv2d(graph_gen *r, gcut_op op)
{
    uint32_t x = image(r, gcut_op_get(op)->dtypes, false);
    conv c = any_conv(r, type_of(r, r->item[x].v));
    gcut_ref in[2] = {use(r, x), use(r, leaf(r, &c.weight))};
    gcut_attr a[4];
    if (elements(r, &c.w.y) > 4 * CAP) return;
    keep_sum(r, node(r, op, in, 2, a, conv_attrs(r, &c.w, a)), r->item[x].mag, c.terms);
}

static void gen_conv2d_input(graph_gen *r, gcut_op op)
{
    gcut_type x = any_type(r, any_real(r), 4);
    conv c = any_conv(r, x);
    if (elements(r, &c.w.y) > CAP) return;
    uint32_t y = coin(r) ? leaf(r, &c.w.y) : repeated(r, &c.w.y);
    gcut_ref in[2] = {use(r, y), use(r, leaf(r, &c.weight))};
    gcut_attr a[5];
    uint32_t n = conv_attrs(r, &c.w, a);
    a[n++] = dims(r, GCUT_A_shape, x.dim + 2, 2);
    keep_sum(r, node(r, op, in, 2, a, n), 1, elements(r, &c.weight) / (double)nominal(r, c.weight.dim[1]));
}

static void gen_conv2d_weight(graph_gen *r, gcut_op op)
{
    uint32_t x = image(r, gcut_op_get(op)->dtypes, false);
    conv c = any_conv(r, type_of(r, r->item[x].v));
    if (elements(r, &c.w.y) > CAP) return;
    gcut_ref in[2] = {use(r, x), use(r, coin(r) ? leaf(r, &c.w.y) : repeated(r, &c.w.y))};
    gcut_attr a[5];
    uint32_t n = conv_attrs(r, &c.w, a);
    a[n++] = dims(r, GCUT_A_window, c.w.k, 2);
    keep_sum(r, node(r, op, in, 2, a, n), r->item[x].mag,
             elements(r, &c.w.y) / (double)nominal(r, c.w.y.dim[1]));
}

static void gen_conv_transpose2d(graph_gen *r, gcut_op op)
{
    uint32_t x = image(r, gcut_op_get(op)->dtypes, false);
    gcut_type t = type_of(r, r->item[x].v);
    for (uint32_t d = 0; d < 4; d++)
        if (may_be_empty(r, t.dim[d])) return;
    gcut_dim k[2] = {1 + draw(r, 3), 1 + draw(r, 3)}, pad[4] = {0};
    gcut_dim stride[2] = {1 + draw(r, 2), 1 + draw(r, 2)}, more[2] = {draw(r, 2), 0};
    for (uint32_t d = 0; d < 2; d++)
        if (k[d] > 1) pad[d] = draw(r, 2);
    if (more[0] >= stride[0]) more[0] = 0;
    gcut_dim dilation[2] = {1 + (draw(r, 4) == 0), 1 + (draw(r, 4) == 0)};
    gcut_dim groups = gcut_dim_known(t.dim[1]) && draw(r, 3) == 0 ? t.dim[1] : 1;
    gcut_type w = {.dtype = t.dtype, .rank = 4, .dim = {t.dim[1], 2, k[0], k[1]}};
    if ((double)groups > CAP / elements(r, &t)) return; /* two channels of y for each of them */
    gcut_ref in[2] = {use(r, x), use(r, leaf(r, &w))};
    gcut_attr a[5] = {dims(r, GCUT_A_stride, stride, 2), dims(r, GCUT_A_pad, pad, 4),
                      dims(r, GCUT_A_output_pad, more, 2), dims(r, GCUT_A_dilation, dilation, 2),
                      gcut_attr_dim(GCUT_A_groups, groups)};
    keep_sum(r, node(r, op, in, 2, a, 5), r->item[x].mag, elements(r, &w) / 2 / (double)groups);
}

static uint32_t pool_attrs(graph_gen *r, const window *w, gcut_attr *a)
{
    a[0] = dims(r, GCUT_A_window, w->k, 2);
    a[1] = dims(r, GCUT_A_pad, w->pad, 4);
    a[2] = dims(r, GCUT_A_stride, w->stride, 2);
    return 3;
}

/* Which element is the largest may not be decided by rounding: the image of a max_pool's kin is exact. */
static void gen_pool(graph_gen *r, gcut_op op)
{
    bool steps = facts[op] & (STEP | KINK);
    uint32_t x = image(r, gcut_op_get(op)->dtypes, steps), n = gcut_op_get(op)->lo;
    window w = any_window(r, type_of(r, r->item[x].v), false);
    gcut_ref in[2] = {use(r, x), n == 2 ? use(r, matching(r, x, false)) : 0};
    gcut_attr a[3];
    keep(r, node(r, op, in, n, a, pool_attrs(r, &w, a)), n == 2 ? 4 : r->item[x].mag, false);
}

static void gen_pool_grad(graph_gen *r, gcut_op op)
{
    uint32_t x = image(r, gcut_op_get(op)->dtypes, true);
    window w = any_window(r, type_of(r, r->item[x].v), false);
    gcut_ref in[2] = {use(r, x), use(r, coin(r) ? leaf(r, &w.y) : repeated(r, &w.y))};
    gcut_attr a[3];
    keep(r, node(r, op, in, 2, a, pool_attrs(r, &w, a)), 9, false);
}

static void gen_unpool(graph_gen *r, gcut_op op)
{
    gcut_type x = any_type(r, any_real(r), 4);
    window w = any_window(r, x, false);
    gcut_ref in = use(r, coin(r) ? leaf(r, &w.y) : repeated(r, &w.y));
    gcut_attr a[4];
    uint32_t n = pool_attrs(r, &w, a);
    a[n++] = dims(r, GCUT_A_shape, x.dim + 2, 2);
    keep(r, node(r, op, &in, 1, a, n), 9, false);
}

/* q, k, v and sometimes a bias, whose number is returned, and the type of y. */
static uint32_t attention_operands(graph_gen *r, gcut_ref *in, gcut_type *y)
{
    static const int64_t heads[] = {1, 2, 4};
    gcut_dim B = any_dim(r, 2), H = heads[draw(r, 3)], G = heads[draw(r, 3)], D = heads[draw(r, 3)] * 2;
    gcut_dim T = any_dim(r, 32), S = coin(r) ? T : any_dim(r, 32), E = coin(r) ? D : 3;
    if (H % G) G = 1;
    gcut_dtype t = any_real(r);
    gcut_type q = {.dtype = t, .rank = 4, .dim = {B, H, T, D}},
              k = {.dtype = t, .rank = 4, .dim = {B, G, S, D}};
    gcut_type v = {.dtype = t, .rank = 4, .dim = {B, G, S, E}},
              bias = {.dtype = t, .rank = 4, .dim = {B, H, T, S}};
    *y = (gcut_type){.dtype = t, .rank = 4, .dim = {B, H, T, E}};
    in[0] = use(r, leaf(r, &q));
    in[1] = use(r, leaf(r, &k));
    in[2] = use(r, leaf(r, &v));
    if (coin(r)) in[0] = gcut_b1(&r->b, GCUT_OP_tanh, in[0]);
    if (draw(r, 3)) return 3;
    in[3] = use(r, coin(r) ? leaf(r, &bias) : repeated(r, &bias));
    return 4;
}

static void gen_attention(graph_gen *r, gcut_op op)
{
    gcut_type y;
    gcut_ref in[4];
    uint32_t n = attention_operands(r, in, &y);
    gcut_attr a[2] = {gcut_attr_bool(GCUT_A_causal, coin(r)), gcut_attr_real(GCUT_A_scale, 0.5)};
    keep(r, node(r, op, in, n, a, 1 + draw(r, 2)), 1, false);
}

/* Any of its results may stay unused. */
static void gen_attention_grad(graph_gen *r, gcut_op op)
{
    gcut_type y;
    gcut_ref in[5];
    uint32_t n = attention_operands(r, in, &y), some = 1 + draw(r, (1u << n) - 1);
    gcut_attr a[2] = {gcut_attr_bool(GCUT_A_causal, coin(r)), gcut_attr_real(GCUT_A_scale, 0.5)};
    in[n] = use(r, leaf(r, &y));
    gcut_ref d = node(r, op, in, n + 1, a, 1 + draw(r, 2));
    for (uint32_t k = 0; k < n; k++)
        if (some >> k & 1) keep(r, d + k, k == 0 || k == 3 ? 2 : 16, false);
}

/* ---- indices ---- */

/* A shape of indices, and the shape that taking them along axis gives. */
static gcut_type index_shape(graph_gen *r, const gcut_type *x, uint32_t axis, gcut_type *taken)
{
    gcut_type i = {.rank = (uint8_t)draw(r, 3)};
    double room = CAP / fmax(1, elements(r, x) / (double)nominal(r, x->dim[axis]));
    for (uint32_t d = 0; d < i.rank; d++) {
        i.dim[d] = any_dim(r, (int64_t)fmax(room, 1));
        room /= (double)nominal(r, i.dim[d]);
    }
    *taken = (gcut_type){.dtype = x->dtype};
    for (uint32_t d = 0; d < axis; d++) taken->dim[taken->rank++] = x->dim[d];
    for (uint32_t d = 0; d < i.rank; d++) taken->dim[taken->rank++] = i.dim[d];
    for (uint32_t d = axis + 1; d < x->rank; d++) taken->dim[taken->rank++] = x->dim[d];
    return i;
}

static void gen_take(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 1, false);
    int axis = solid_axis(r, x);
    if (axis < 0) return;
    gcut_type t = type_of(r, r->item[x].v), taken, i = index_shape(r, &t, (uint32_t)axis, &taken);
    gcut_ref in[2] = {use(r, x), indices(r, i.rank, i.dim, t.dim[axis])};
    gcut_attr a = gcut_attr_dim(GCUT_A_axis, axis);
    moved(r, x, node(r, op, in, 2, &a, 1));
}

static void gen_pick(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 1, false), n = 0;
    int axis = solid_axis(r, x);
    if (axis < 0) return;
    gcut_type t = type_of(r, r->item[x].v);
    gcut_dim rest[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++)
        if ((int)d != axis) rest[n++] = t.dim[d];
    gcut_ref in[2] = {use(r, x), indices(r, n, rest, t.dim[axis])};
    gcut_attr a = gcut_attr_dim(GCUT_A_axis, axis);
    moved(r, x, node(r, op, in, 2, &a, 1));
}

static void gen_scatter_add(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 1, false);
    int axis = solid_axis(r, x);
    if (axis < 0) return;
    gcut_type t = type_of(r, r->item[x].v), taken, i = index_shape(r, &t, (uint32_t)axis, &taken);
    uint32_t u = coin(r) ? leaf(r, &taken) : repeated(r, &taken);
    gcut_ref in[3] = {use(r, x), indices(r, i.rank, i.dim, t.dim[axis]), use(r, u)};
    if (is_real(r, in[2]) && coin(r)) in[2] = gcut_b1(&r->b, GCUT_OP_sin, in[2]);
    gcut_attr a = gcut_attr_dim(GCUT_A_axis, axis);
    keep(r, node(r, op, in, 3, &a, 1), r->item[x].mag + 3, false);
}

/* A node with these bodies, which take given[k] arguments each. */
static gcut_ref with_bodies(gcut_graph *g, gcut_op op, const gcut_ref *args, uint32_t n,
                            gcut_graph *const *body, const uint32_t *given, uint32_t nbodies,
                            const gcut_attr *attrs, uint32_t nattrs)
{
    gcut_region regions[2];
    uint32_t ncaptured;
    gcut_ref all[16], *captured = gcut_bodies_close(body, given, nbodies, &ncaptured);
    GCUT_ASSERT(n + ncaptured <= 16 && nbodies <= 2);
    for (uint32_t k = 0; k < n + ncaptured; k++) all[k] = k < n ? args[k] : captured[k - n];
    for (uint32_t k = 0; k < nbodies; k++) regions[k] = (gcut_region){gcut_op_region(op, k), body[k]};
    return gcut_node_make(g, &(gcut_node_spec){.op = op,
                                               .args = all,
                                               .nargs = n + ncaptured,
                                               .ncaptured = ncaptured,
                                               .attrs = attrs,
                                               .nattrs = nattrs,
                                               .regions = regions,
                                               .nregs = nbodies});
}

static gcut_ref argument(gcut_graph *body, const char *name, const gcut_type *t)
{
    return gcut_param_new(body, GCUT_ROLE_input, gcut_name_fresh(body, name), t);
}

static void yields(gcut_graph *body, const char *name, gcut_ref v)
{
    gcut_result_new(body, GCUT_ROLE_out, name, v);
}

/* An integer scalar that decides: exact in every precision. */
static gcut_ref decider(graph_gen *r)
{
    return new_leaf(r, &(gcut_type){.dtype = GCUT_i32}, 0, 5);
}

/* The type of a slice of t without that axis. */
static gcut_type without_axis(const gcut_type *t, uint32_t axis)
{
    gcut_type slice = {.dtype = t->dtype};
    for (uint32_t d = 0; d < t->rank; d++)
        if (d != axis) slice.dim[slice.rank++] = t->dim[d];
    return slice;
}

/* c' = sin(c + x), y = c' * k: errors do not grow from step to step. */
static void gen_fold(graph_gen *r)
{
    uint32_t x = value(r, any_real(r), 1, false);
    gcut_type t = type_of(r, use(r, x));
    uint32_t axis = draw(r, t.rank);
    gcut_type slice = without_axis(&t, axis);
    uint32_t c = leaf(r, &slice), k = matching(r, c, false);
    gcut_build b = {.g = gcut_body_new(r->b.g)};
    gcut_ref in[2] = {use(r, c), use(r, x)}, carry = argument(b.g, "c", &slice);
    gcut_ref part = argument(b.g, "x", &slice), factor = gcut_body_capture(b.g, use(r, k));
    gcut_ref next = gcut_b1(&b, GCUT_OP_sin, gcut_b2(&b, GCUT_OP_add, carry, part));
    yields(b.g, "next", next);
    yields(b.g, "y", gcut_b2(&b, GCUT_OP_mul, next, factor));
    gcut_attr a[] = {gcut_attr_dim(GCUT_A_carries, 1), gcut_attr_dim(GCUT_A_axis, axis),
                     gcut_attr_bool(GCUT_A_reverse, coin(r))};
    gcut_ref out = with_bodies(r->b.g, GCUT_OP_scan, in, 2, &b.g, (uint32_t[]){2}, 1, a, 3);
    keep(r, out, 1, false);
    keep(r, out + 1, r->item[k].mag, false);
}

/* y = cos(x), summed over an axis: nothing is carried. */
static void gen_map(graph_gen *r)
{
    uint32_t x = value(r, any_real(r), 1, false);
    gcut_type t = type_of(r, use(r, x));
    uint32_t axis = draw(r, t.rank);
    gcut_type slice = without_axis(&t, axis);
    gcut_build b = {.g = gcut_body_new(r->b.g)};
    gcut_ref in = use(r, x), y = gcut_b1(&b, GCUT_OP_cos, argument(b.g, "x", &slice));
    if (axis < slice.rank && coin(r)) { /* y has the axis still */
        y = gcut_breduce(&b, GCUT_OP_sum, y, 1u << draw(r, slice.rank));
        y = gcut_b1(&b, GCUT_OP_tanh, y);
    }
    yields(b.g, "y", y);
    gcut_attr a[] = {gcut_attr_dim(GCUT_A_carries, 0), gcut_attr_dim(GCUT_A_axis, axis)};
    keep(r, with_bodies(r->b.g, GCUT_OP_scan, &in, 1, &b.g, (uint32_t[]){1}, 1, a, 2), 1, false);
}

/* In the body of gen_steps: a and b change places, or a becomes its sine. */
static gcut_ref swap_or_sine(gcut_graph *g, gcut_ref swaps, gcut_ref a, gcut_ref b)
{
    gcut_graph *body[2] = {gcut_body_new(g), gcut_body_new(g)};
    for (uint32_t k = 0; k < 2; k++) {
        gcut_build in = {.g = body[k]};
        gcut_ref u = gcut_body_capture(in.g, a), v = gcut_body_capture(in.g, b);
        yields(in.g, "a", k ? gcut_b1(&in, GCUT_OP_sin, u) : v);
        yields(in.g, "b", k ? v : gcut_b2(&in, GCUT_OP_mul, u, gcut_b1(&in, GCUT_OP_cos, v)));
    }
    return with_bodies(g, GCUT_OP_if, &swaps, 1, body, (uint32_t[]){0, 0}, 2, NULL, 0);
}

/* Steps over nothing but what is carried, which an `if` in them changes. */
static void gen_steps(graph_gen *r)
{
    uint32_t x = value(r, any_real(r), 0, false), y = matching(r, x, false);
    gcut_ref limit = decider(r), in[3] = {use(r, x), use(r, y), gcut_bconst(&r->b, limit, 0)};
    gcut_type t = type_of(r, in[0]), count = type_of(r, limit);
    bool traces = t.rank < 4 && coin(r);
    gcut_build b = {.g = gcut_body_new(r->b.g)};
    gcut_ref u = argument(b.g, "a", &t), v = argument(b.g, "b", &t), i = argument(b.g, "i", &count);
    gcut_ref swaps = gcut_b2(&b, GCUT_OP_lt, i, gcut_body_capture(b.g, limit));
    gcut_ref next = swap_or_sine(b.g, swaps, u, v);
    yields(b.g, "a", next);
    yields(b.g, "b", next + 1);
    yields(b.g, "i", gcut_b2(&b, GCUT_OP_add, i, gcut_bconst(&b, i, 1)));
    if (traces) yields(b.g, "trace", next);
    gcut_attr a[] = {gcut_attr_dim(GCUT_A_carries, 3), gcut_attr_dim(GCUT_A_length, any_dim(r, 6))};
    double mag = fmax(1, fmax(r->item[x].mag, r->item[y].mag));
    gcut_ref out = with_bodies(r->b.g, GCUT_OP_scan, in, 3, &b.g, (uint32_t[]){3}, 1, a, 2);
    keep(r, out, mag, false);
    keep(r, out + 1, mag, false);
    if (traces) keep(r, out + 3, mag, false);
}

static void gen_scan(graph_gen *r)
{
    switch (draw(r, 3)) {
    case 0: gen_map(r); break;
    case 1: gen_steps(r); break;
    default: gen_fold(r);
    }
}

static void gen_if(graph_gen *r)
{
    uint32_t x = value(r, any_real(r), 0, false), y = matching(r, x, false);
    gcut_ref k = decider(r), p = gcut_b2(&r->b, GCUT_OP_gt, k, gcut_bconst(&r->b, k, 2));
    gcut_build b[2] = {{.g = gcut_body_new(r->b.g)}, {.g = gcut_body_new(r->b.g)}};
    gcut_graph *body[2] = {b[0].g, b[1].g};
    gcut_ref inside = gcut_body_capture(body[0], use(r, x));
    yields(body[0], "a", gcut_b1(&b[0], GCUT_OP_sin, inside));
    yields(body[0], "b", inside);
    inside = gcut_b2(&b[1], GCUT_OP_mul, gcut_body_capture(body[1], use(r, x)),
                     gcut_body_capture(body[1], use(r, y)));
    yields(body[1], "a", gcut_b1(&b[1], GCUT_OP_cos, inside));
    yields(body[1], "b", gcut_bconst(&b[1], inside, 0.5));
    gcut_ref out = with_bodies(r->b.g, GCUT_OP_if, &p, 1, body, (uint32_t[]){0, 0}, 2, NULL, 0);
    keep(r, out, 1, false);
    keep(r, out + 1, fmax(r->item[x].mag, 1), false);
}

/* At most as often as the bound and as an input says; a bound, so that it has a derivative. */
static void gen_while(graph_gen *r)
{
    uint32_t item = value(r, any_real(r), 0, false);
    gcut_ref x = use(r, item), limit = decider(r);
    gcut_type t = type_of(r, x), count = type_of(r, limit);
    gcut_ref in[2] = {x, gcut_bconst(&r->b, limit, 0)};
    gcut_build b[2] = {{.g = gcut_body_new(r->b.g)}, {.g = gcut_body_new(r->b.g)}};
    gcut_graph *body[2] = {b[0].g, b[1].g};
    argument(body[0], "x", &t);
    gcut_ref i = argument(body[0], "i", &count);
    yields(body[0], "more", gcut_b2(&b[0], GCUT_OP_lt, i, gcut_body_capture(body[0], limit)));
    gcut_ref v = argument(body[1], "x", &t);
    i = argument(body[1], "i", &count);
    yields(body[1], "x", gcut_b1(&b[1], GCUT_OP_sin, v));
    yields(body[1], "i", gcut_b2(&b[1], GCUT_OP_add, i, gcut_bconst(&b[1], i, 1)));
    gcut_attr bound = gcut_attr_dim(GCUT_A_bound, 3);
    gcut_ref out = with_bodies(r->b.g, GCUT_OP_while, in, 2, body, (uint32_t[]){2, 2}, 2, &bound, 1);
    keep(r, out, fmax(r->item[item].mag, 1), false);
    add(r, out + 1, 3, true);
}

/* A function of two values of one type, some of whose sizes are symbols of its own, which a call binds. */
static gcut_graph *function(graph_gen *r, gcut_type t)
{
    gcut_module *m = module_of(r);
    gcut_build b = {.g = gcut_graph_create(m, gcut_printf(m->arena, "helper.%u", m->graphs.n))};
    for (uint32_t d = 0; d < t.rank; d++) {
        int64_t lo, hi;
        gcut_dim_range(m->dims, t.dim[d], r->b.g->decls.at, r->b.g->decls.n, &lo, &hi);
        if (gcut_dim_known(t.dim[d]) && coin(r)) continue;
        t.dim[d] = gcut_dim_symbol(m->dims, gcut_printf(m->arena, "S%u", d));
        gcut_decl_add(b.g, (gcut_dim_decl){t.dim[d], lo, GCUT_DIM_MAX, 1});
    }
    gcut_ref x = argument(b.g, "x", &t), y = argument(b.g, "y", &t);
    gcut_ref a = gcut_b1(&b, GCUT_OP_sin, gcut_b2(&b, GCUT_OP_add, x, y));
    yields(b.g, "a", gcut_b2(&b, GCUT_OP_mul, a, y));
    yields(b.g, "b", t.rank ? gcut_breduce(&b, GCUT_OP_sum, x, 1u << draw(r, t.rank)) : a);
    return b.g;
}

static void gen_call(graph_gen *r)
{
    uint32_t x = value(r, any_real(r), 0, false), y = matching(r, x, false);
    gcut_type t = type_of(r, r->item[x].v);
    gcut_ref in[2] = {use(r, x), use(r, y)};
    gcut_region f = {gcut_op_region(GCUT_OP_call, 0), function(r, t)};
    gcut_ref out = gcut_node_make(
        r->b.g, &(gcut_node_spec){.op = GCUT_OP_call, .args = in, .nargs = 2, .regions = &f, .nregs = 1});
    gcut_type sum = type_of(r, out + 1);
    keep(r, out, r->item[y].mag, false);
    keep(r, out + 1, r->item[x].mag * fmax(1, elements(r, &t) / fmax(1, elements(r, &sum))), false);
}

static void gen_region(graph_gen *r, gcut_op op)
{
    switch (op) {
    case GCUT_OP_scan: gen_scan(r); break;
    case GCUT_OP_while: gen_while(r); break;
    case GCUT_OP_call: gen_call(r); break;
    default: gen_if(r);
    }
}

/* ---- random ---- */

/* A key: a leaf, whose bound makes it an integer from 0 to 8. */
static gcut_ref key(graph_gen *r)
{
    return new_leaf(r, &(gcut_type){.dtype = GCUT_i64}, 0, 9);
}

static void gen_random(graph_gen *r, gcut_op op)
{
    static const char *const to[] = {"f32", "f64", "i64"};
    uint32_t i = value(r, GCUT_i64, 0, true), k = matching(r, i, true), t = draw(r, 3);
    gcut_attr a = gcut_attr_str(module_of(r), GCUT_A_dtype, to[t]);
    gcut_ref in[2] = {use(r, k), use(r, i)};
    keep(r, node(r, op, in, 2, &a, 1), t == 2 ? 0x1p63 : 1, t == 2);
}

static void gen_draw(graph_gen *r, gcut_op op)
{
    gcut_type t = any_type(r, r->real, 0);
    gcut_attr a[4] = {dims(r, GCUT_A_shape, t.dim, t.rank),
                      gcut_attr_str(module_of(r), GCUT_A_dtype, gcut_dtype_name(t.dtype))};
    uint32_t n = 2;
    bool uniform = op == GCUT_OP_uniform;
    if (coin(r)) a[n++] = gcut_attr_real(uniform ? GCUT_A_lo : GCUT_A_mean, uniform ? -1 : 0.25);
    if (coin(r)) a[n++] = gcut_attr_real(uniform ? GCUT_A_hi : GCUT_A_std, 1.5);
    gcut_ref in = key(r);
    keep(r, node(r, op, &in, 1, a, n), uniform ? 2 : 6, false);
}

static void gen_key_split(graph_gen *r, gcut_op op)
{
    gcut_attr a = gcut_attr_dim(GCUT_A_n, any_dim(r, 64));
    gcut_ref in = key(r);
    keep(r, node(r, op, &in, 1, &a, 1), 0x1p63, true);
}

static void gen_dropout(graph_gen *r, gcut_op op)
{
    uint32_t x = operand(r, gcut_op_get(op)->dtypes, 0, false);
    gcut_attr a = gcut_attr_real(GCUT_A_p, draw(r, 4) ? 0.25 : 0);
    gcut_ref in[2] = {use(r, x), key(r)};
    keep(r, node(r, op, in, 2, &a, 1), 2 * r->item[x].mag, false);
}

/* ---- a graph ---- */

static void (*const makers[GCUT_NOPS])(graph_gen *, gcut_op) = {
#define OP(id, operands, types, attr, shape, ...) [GCUT_OP_##id] = gen_##shape,
#include "graph/ops.def"
#undef OP
};

/* Sums are divided by the root of their size, so that single elements of a gradient still weigh something. */
static gcut_ref term(graph_gen *r, uint32_t k)
{
    gcut_ref v = r->item[k].v;
    if (!is_real(r, v)) {
        double scale = type_of(r, v).dtype == GCUT_bool ? 1 : 1 / fmax(1, r->item[k].mag);
        v = gcut_bscale(&r->b, gcut_bcast(&r->b, v, r->real), scale);
    } else if (r->item[k].mag > 1.5 || coin(r)) {
        v = gcut_b1(&r->b, GCUT_OP_tanh, v);
    } else if (draw(r, 4) == 0) {
        v = gcut_b2(&r->b, GCUT_OP_mul, v, v);
    }
    gcut_type t = type_of(r, v);
    if (t.rank) v = gcut_breduce(&r->b, GCUT_OP_sum, v, (1u << t.rank) - 1);
    return gcut_bcast(&r->b, gcut_bscale(&r->b, v, 1 / sqrt(fmax(1, elements(r, &t)))), r->real);
}

static void results(graph_gen *r)
{
    gcut_ref loss = 0;
    gcut_graph *g = r->b.g;
    for (uint32_t k = 0; k < r->n; k++) {
        if (r->item[k].used && draw(r, 8)) continue;
        gcut_ref s = term(r, k);
        loss = loss ? gcut_b2(&r->b, GCUT_OP_add, loss, s) : s;
    }
    gcut_result_new(g, GCUT_ROLE_out, "loss", loss);
    for (uint32_t k = 0, n = draw(r, 4); k < n; k++) {
        gcut_ref v = r->item[draw(r, r->n)].v;
        if (type_of(r, v).rank == 0) continue; /* the loss is the only scalar */
        gcut_result_new(g, GCUT_ROLE_out, gcut_printf(module_of(r)->arena, "out%u", k), v);
    }
}

/* A state that is read like any other leaf and gets a new value. */
static void state(graph_gen *r)
{
    gcut_type t = any_type(r, r->real, 0);
    gcut_ref s = gcut_param_new(r->b.g, GCUT_ROLE_state, "running", &t);
    r->nleaves++;
    uint32_t k = add(r, s, 1, true), y = matching(r, k, false);
    gcut_ref next =
        gcut_b1(&r->b, GCUT_OP_tanh, gcut_b2(&r->b, GCUT_OP_add, gcut_bscale(&r->b, s, 0.5), use(r, y)));
    gcut_result_new(r->b.g, GCUT_ROLE_next, "running", next);
}

gcut_graph *graph_random(graph_gen *r, gcut_module *m, const char *name, uint64_t seed, uint32_t ops,
                         const gcut_op *first, uint32_t nfirst)
{
    memset(r, 0, sizeof *r);
    r->seed = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    r->b.g = gcut_graph_create(m, name);
    r->sym[0] = gcut_dim_symbol(m->dims, "N");
    r->sym[1] = gcut_dim_symbol(m->dims, "M");
    gcut_decl_add(r->b.g, (gcut_dim_decl){r->sym[0], 1, GCUT_DIM_MAX, 1});
    gcut_decl_add(r->b.g, (gcut_dim_decl){r->sym[1], 2, GCUT_DIM_MAX, 2});
    for (int k = 0; k < 8; k++) draw(r, 2);
    r->real = r->half = draw(r, 4) ? GCUT_f32 : GCUT_f64;
    if (r->real == GCUT_f32 && draw(r, 4) == 0) r->half = coin(r) ? GCUT_bf16 : GCUT_f16;
    if (draw(r, 3) == 0) state(r);
    gcut_type t = any_type(r, r->half, 2);
    t.dim[0] = r->sym[0];
    while (elements(r, &t) > CAP) t.rank--;
    leaf(r, &t);
    for (uint32_t k = 0; k < nfirst; k++) makers[first[k]](r, first[k]);
    for (uint32_t k = 0; k < ops && r->n < GEN_ITEMS - 16 && r->nleaves < GEN_LEAVES - 16; k++) {
        gcut_op op = (gcut_op)draw(r, GCUT_NOPS);
        makers[op](r, op);
    }
    /* The sizes are always those of some parameter. */
    gcut_type both = {.dtype = r->real, .rank = 2, .dim = {r->sym[0], r->sym[1]}};
    leaf(r, &both);
    results(r);
    return r->b.g;
}

const gen_bound *graph_bound(const graph_gen *r, const char *name)
{
    for (uint32_t i = 0; i < r->nbounds; i++)
        if (!strcmp(r->bound[i].name, name)) return &r->bound[i];
    return NULL;
}
