/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The partition against its definition: every minimum is found again by trying
 * every choice, with code that knows neither networks nor flows.
 */
#include "harness.h"

#include "base/bytes.h"
#include "joint_gen.h"
#include "gradcut/gradcut.h"
#include "partition/cut/frontier.h"
#include "partition/policies/policy.h"

typedef struct world {
    gcut_env *env;
    gcut_module *m;
} world;

FIXTURE(world)

static gcut_plan_options options(double lambda)
{
    return (gcut_plan_options){.lambda = lambda, .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
}

/* Integer prices: every sum is exact, and ties are frequent. */
static gcut_machine integer_machine(void)
{
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 0);
    for (int i = 0; i < GCUT_NLEVELS; i++) m.read_ns_per_byte[i] = m.write_ns_per_byte[i] = 1;
    for (size_t i = 0; i < sizeof m.gemm_ns_per_flop / sizeof(double); i++)
        (&m.gemm_ns_per_flop[0][0][0])[i] = 1;
    for (int op = 0; op < GCUT_NOPS; op++)
        m.op_ns[op][0] = m.op_ns[op][1] = gcut_op_get((gcut_op)op)->cost_ps;
    m.kernel_ns = 8;
    return m;
}

/* ---- the definition ---- */

typedef struct oracle {
    const gcut_plan *plan;
    const gcut_graph *g;
    bool *tainted, *forward; /* by value */
    gcut_ref saveable[20];
    uint32_t n;
} oracle;

static gcut_class class_of(const gcut_graph *g, gcut_ref v)
{
    return gcut_op_get((gcut_op)gcut_def(g, v)->op)->class;
}

static bool is_out(const gcut_graph *g, gcut_ref v)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_out && g->results.at[i].value == v) return true;
    return false;
}

/* Does `to` depend on `from`? */
static bool depends(const gcut_graph *g, gcut_ref to, gcut_ref from)
{
    bool *d = calloc(g->values.n, 1);
    d[from] = true;
    for (uint32_t i = 0; i < g->nodes.n; i++)
        for (uint32_t k = 0; k < g->nodes.at[i].nargs; k++)
            if (d[gcut_arg(g, &g->nodes.at[i], k)]) d[g->nodes.at[i].res0] = true;
    bool yes = d[to];
    free(d);
    return yes;
}

static oracle oracle_new(const gcut_plan *plan)
{
    const gcut_graph *g = plan->joint;
    oracle o = {.plan = plan, .g = g, .tainted = calloc(g->values.n, 1), .forward = calloc(g->values.n, 1)};
    gcut_ref cotan = gcut_graph_find(g, "dy");
    for (gcut_ref v = 1; v < g->values.n; v++) {
        o.tainted[v] = depends(g, v, cotan);
        for (uint32_t i = 0; i < g->results.n; i++)
            if (g->results.at[i].role == GCUT_ROLE_out) o.forward[v] |= depends(g, g->results.at[i].value, v);
    }
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (o.tainted[v] || !gcut_def(g, v) || is_out(g, v)) continue;
        gcut_class c = class_of(g, v);
        if (c == GCUT_CLASS_VIEW || c == GCUT_CLASS_CONSTANT) continue;
        if (!o.forward[v] && plan->value[v].side == GCUT_SIDE_BACKWARD) continue;
        if (o.n < 20) o.saveable[o.n] = v;
        o.n++;
    }
    return o;
}

static void oracle_free(oracle *o)
{
    free(o->tainted);
    free(o->forward);
}

typedef struct score {
    double cost;
    int64_t bytes;
    uint32_t count;
} score;

/* Storage of v as it is or, of bools, as bits, whichever costs less: bytes there and back, and for bits what
 * packing and unpacking them takes; not where both fit into one line. */
static score store(const oracle *o, gcut_ref v, double lambda)
{
    const gcut_machine *m = &o->plan->options.machine;
    const gcut_type *t = gcut_type_of(o->g, v);
    double byte = gcut_machine_dram_trip_ns(m, 1) + lambda;
    int64_t n = 1;
    for (uint32_t d = 0; d < t->rank; d++) n *= t->dim[d];
    score plain = {byte * (double)(n * gcut_dtype_bytes(t->dtype)), n * gcut_dtype_bytes(t->dtype), 1};
    score bits = {byte * (double)((n + 7) / 8) +
                      gcut_machine_op_ns(m, GCUT_OP_pack_bits, GCUT_BOOL, (double)n) +
                      gcut_machine_op_ns(m, GCUT_OP_unpack_bits, GCUT_BOOL, (double)n),
                  (n + 7) / 8, 1};
    return t->dtype == GCUT_BOOL && n > GCUT_LINE && bits.cost < plain.cost ? bits : plain;
}

/* The cost of saving exactly the set `mask`: the backward graph computes what it needs and is not given,
 * recursively, and pays c for each such value unless the forward graph never computed it. */
static score price_of(const oracle *o, uint32_t mask, double lambda)
{
    const gcut_graph *g = o->g;
    bool *given = calloc(g->values.n, 1), *need = calloc(g->values.n, 1);
    score s = {0};
    for (uint32_t k = 0; k < o->n; k++)
        if (mask >> k & 1) {
            score b = store(o, o->saveable[k], lambda);
            given[o->saveable[k]] = true;
            s.cost += b.cost;
            s.bytes += b.bytes;
            s.count++;
        }
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role != GCUT_ROLE_out) need[g->results.at[i].value] = true;
    for (gcut_ref v = g->values.n - 1; v > 0; v--) {
        const gcut_node *n = gcut_def(g, v);
        if (!need[v] || given[v] || !n || is_out(g, v)) continue;
        for (uint32_t k = 0; k < n->nargs; k++) need[gcut_arg(g, n, k)] = true;
        if (!o->tainted[v] && o->forward[v]) s.cost += o->plan->value[v].recompute_ns;
    }
    free(given);
    free(need);
    return s;
}

static bool better(score a, score b)
{
    if (a.cost != b.cost) return a.cost < b.cost;
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.count < b.count;
}

static score best_of(const oracle *o, double lambda)
{
    score best = {.cost = INFINITY};
    for (uint32_t mask = 0; mask < 1u << o->n; mask++) {
        score s = price_of(o, mask, lambda);
        if (better(s, best)) best = s;
    }
    return best;
}

static uint32_t mask_of(const oracle *o, uint32_t *others)
{
    uint32_t mask = 0;
    *others = 0;
    for (gcut_ref v = 1; v < o->g->values.n; v++) {
        if (o->plan->value[v].decision != GCUT_PLAN_SAVED) continue;
        uint32_t k = 0;
        while (k < o->n && o->saveable[k] != v) k++;
        if (k == o->n)
            ++*others;
        else
            mask |= 1u << k;
    }
    return mask;
}

static const double lambdas[] = {0, 0.01, 0.05, 0.2, 0.7, 3, 20, 1e4};

/* One random graph at many prices. */
static bool check_random(world *w, uint64_t seed, bool integers)
{
    TRY("seed %d%s", (int)seed, integers ? ", prices in integers" : "");
    gcut_arena *a = gcut_arena_new(w->env, w->env->arena);
    gcut_module *m = gcut_module_new(w->env, a);
    static const int64_t sizes[][2] = {{2, 3}, {64, 8}, {500, 128}, {32, 400}};
    gcut_graph *g =
        joint_random(m, seed, 3 + (uint32_t)(seed % 5), sizes[seed % 4][0], sizes[seed % 4][1], "j");
    int64_t last = INT64_MAX;
    bool done = false;
    for (size_t i = 0; i < sizeof lambdas / sizeof *lambdas; i++) {
        gcut_plan_options opt = options(integers ? floor(lambdas[i]) : lambdas[i]);
        if (integers) opt.machine = integer_machine();
        gcut_plan *plan = gcut_plan_make(g, &opt);
        oracle o = oracle_new(plan);
        uint32_t others;
        if (o.n <= 10) {
            score best = best_of(&o, opt.lambda), mine = price_of(&o, mask_of(&o, &others), opt.lambda);
            double slack = 1e-9 * best.cost + 1e-9;
            assert_int_equal(others, 0);
            assert_within(mine.cost, plan->cost_ns, slack);
            assert_int_equal(mine.bytes, plan->saved_bytes);
            assert_that(plan->cost_ns - best.cost, <=, plan->cost_ns - plan->lower_bound_ns + slack);
            assert_that(plan->lower_bound_ns, <=, best.cost + slack);
            assert_that(plan->cost_ns - plan->lower_bound_ns, <=, 1e-4 * plan->cost_ns + 1e-3);
            if (integers) {
                assert_that(mine.cost, ==, best.cost);
                assert_int_equal(mine.bytes, best.bytes);
                assert_int_equal(mine.count, best.count);
            }
            done = true;
        }
        assert_that(plan->saved_bytes, <=, last); /* dearer bytes, never more of them */
        last = plan->saved_bytes;
        oracle_free(&o);
    }
    gcut_arena_free(a);
    return done;
}

static void oracle_body(void *p)
{
    uint32_t checked = 0;
    for (uint64_t seed = 1; seed <= 120; seed++)
        for (int integers = 0; integers < 2; integers++) checked += check_random(p, seed, integers != 0);
    assert_that(checked, >, 120);
}

static void plans_are_cheapest(void **state)
{
    world *w = *state;
    must(w->env, oracle_body, w);
}

/* ---- the default machine ---- */

typedef struct text_case {
    world *w;
    const char *text;
    int64_t n; /* of symbol N */
    gcut_plan_options opt;
    gcut_plan *plan;
} text_case;

static void plan_text_body(void *p)
{
    text_case *t = p;
    gcut_module *m = gcut_parse_module(t->w->env, t->w->env->arena, "t.gcut", t->text, strlen(t->text));
    gcut_dim_binding b = {gcut_dim_symbol(m->dims, "N"), t->n};
    gcut_plan_options o = t->opt;
    o.at = &b;
    o.nat = 1;
    t->plan = gcut_plan_make(m->graphs.at[m->graphs.n - 1], &o);
}

static gcut_plan *plan_text(world *w, const char *text, int64_t n, gcut_plan_options o)
{
    text_case t = {w, text, n, o, NULL};
    must(w->env, plan_text_body, &t);
    return t.plan;
}

static gcut_plan_decision decision_of(const gcut_plan *p, const char *name)
{
    gcut_ref v = gcut_graph_find(p->joint, name);
    assert_int_not_equal(v, 0);
    return p->value[v].decision;
}

static const char coscos[] =
    "gcut 1\n"
    "func @f[N in 1..](input %x: f32[N], cotan %dz: f32[N]) -> (out z: f32[N], grad x: f32[N]) {\n"
    "  %y = cos(%x)\n  %z = cos(%y)\n  %sy = sin(%y)\n  %ny = neg(%sy)\n  %dy = mul(%ny, %dz)\n"
    "  %sx = sin(%x)\n  %nx = neg(%sx)\n  %dx = mul(%nx, %dy)\n  return %z, %dx\n}\n";

static void cos_of_cos(void **state)
{
    static const int64_t sizes[] = {1, 7, 4096, 100000000};
    for (int i = 0; i < 4; i++) {
        gcut_plan *p = plan_text(*state, coscos, sizes[i], options(0.05));
        assert_int_equal(p->saved_bytes, 0);
        assert_int_equal(p->saved_bytes_sym, 0);
        assert_int_equal(decision_of(p, "x"), GCUT_PLAN_ALIVE);
        assert_int_equal(decision_of(p, "y"), GCUT_PLAN_RECOMPUTED);
        gcut_ref y = gcut_graph_find(p->joint, "y");
        assert_that(p->recompute_ns, ==, p->value[y].recompute_ns);
        assert_int_equal(p->value[gcut_graph_find(p->joint, "sx")].side, GCUT_SIDE_EITHER);
        assert_int_equal(p->value[gcut_graph_find(p->joint, "dy")].side, GCUT_SIDE_BACKWARD);
    }
}

/* A chain of four elementwise ops after the input, and a normalisation by row: only rows are kept. */
static const char norm[] =
    "gcut 1\n"
    "func @f[N in 1..](input %x: f32[N, 256], cotan %dy: f32[N, 256]) -> (out y: f32[N, 256], grad x: f32[N, "
    "256]) {\n"
    "  %a = tanh(%x)\n  %b = exp(%a)\n  %c = mul(%b, %a)\n  %sq = mul(%c, %c)\n"
    "  %r = sum(%sq, axes=[1])\n  %s = rsqrt(%r)\n  %sb = broadcast(%s, shape=[N, 256], axes=[0])\n"
    "  %y = mul(%c, %sb)\n  %t = mul(%dy, %c)\n  %u = sum(%t, axes=[1])\n  %us = mul(%u, %s)\n"
    "  %ub = broadcast(%us, shape=[N, 256], axes=[0])\n  %d = mul(%dy, %sb)\n  %e = add(%d, %ub)\n"
    "  %f = mul(%e, %b)\n  %dx = mul(%f, %a)\n  return %y, %dx\n}\n";

static void chains_and_norms(void **state)
{
    static const int64_t sizes[] = {1, 32, 8192};
    for (int i = 0; i < 3; i++) {
        gcut_plan *p = plan_text(*state, norm, sizes[i], options(0.05));
        assert_int_equal(decision_of(p, "a"), GCUT_PLAN_RECOMPUTED);
        assert_int_equal(decision_of(p, "b"), GCUT_PLAN_RECOMPUTED);
        assert_int_equal(decision_of(p, "c"), GCUT_PLAN_RECOMPUTED);
        assert_int_equal(p->saved_bytes, 4 * sizes[i]); /* one f32 per row */
    }
}

static void matmul_case(world *w, int k, int64_t n, bool saved)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "gcut 1\nfunc @f[N in 1..](param %%w: f32[%d, 512], input %%x: f32[N, %d], cotan %%dy: f32[N, 512])\n"
        "  -> (out y: f32[N, 512], grad w: f32[%d, 512]) {\n"
        "  %%h = matmul(%%x, %%w)\n  %%y = tanh(%%h)\n  %%s = sin(%%h)\n  %%d = mul(%%s, %%dy)\n"
        "  %%dw = matmul(%%x, %%d, ta=true)\n  return %%y, %%dw\n}\n",
        k, k, k);
    gcut_plan *p = plan_text(w, text, n, options(0.05));
    assert_int_equal(decision_of(p, "h"), saved ? GCUT_PLAN_SAVED : GCUT_PLAN_RECOMPUTED);
}

static void matmuls(void **state)
{
    static const int ks[] = {128, 300, 4096};
    for (int i = 0; i < 3; i++)
        for (int64_t n = 1; n <= 16384; n *= 128) matmul_case(*state, ks[i], n, true);
    matmul_case(*state, 8, 16384, false);
}

/* ---- policies and forced values ---- */

static const char chain[] =
    "gcut 1\n"
    "func @f[N in 1..](input %x: f32[N, 64], cotan %dy: f32[N, 64]) -> (out y: f32[N, 64], grad x: f32[N, "
    "64]) {\n"
    "  %a = cos(%x)SA !1\n  %v = reshape(%a, shape=[64, N])SV !2\n  %b = reshape(%v, shape=[N, 64])\n"
    "  %c = exp(%b)SC !3\n  %k = full(shape=[N, 64], value=2.0)\n  %y = mul(%c, %k)\n"
    "  %d = mul(%dy, %b)\n  %e = mul(%d, %c)\n  %dx = mul(%e, %k)\n  return %y, %dx\n}\n"
    "loc !1 = \"m.c\":11\nloc !2 = \"m.c\":12\nloc !3 = \"m.c\":13\n";

/* The chain with marks in the three places. */
static const char *marked(world *w, const char *a, const char *v, const char *c)
{
    gcut_text t = {.arena = w->env->arena};
    for (const char *s = chain; *s; s++) {
        if (s[0] == 'S' && (s[1] == 'A' || s[1] == 'V' || s[1] == 'C')) {
            gcut_text_add(&t, " %s", s[1] == 'A' ? a : s[1] == 'V' ? v : c);
            s++;
        } else {
            gcut_text_addn(&t, s, 1);
        }
    }
    return t.at;
}

static void policies_differ(void **state)
{
    gcut_plan_options o = options(0.05);
    const char *text = marked(*state, "", "", "");
    gcut_plan *p = plan_text(*state, text, 100, o);
    assert_int_equal(p->saved_bytes, 0);
    o.policy = GCUT_POLICY_SAVE_ALL;
    p = plan_text(*state, text, 100, o);
    assert_int_equal(decision_of(p, "a"), GCUT_PLAN_SAVED); /* read as %b, a view of a view of it */
    assert_int_equal(decision_of(p, "b"), GCUT_PLAN_RECOMPUTED);
    assert_int_equal(decision_of(p, "c"), GCUT_PLAN_SAVED);
    assert_int_equal(decision_of(p, "k"), GCUT_PLAN_ALIVE);
    assert_int_equal(p->saved_bytes, 2 * 100 * 64 * 4);
    assert_that(p->lower_bound_ns, <, p->cost_ns);
    o.policy = GCUT_POLICY_RECOMPUTE_ALL;
    p = plan_text(*state, text, 100, o);
    assert_int_equal(p->saved_bytes, 0);
    assert_int_equal(decision_of(p, "c"), GCUT_PLAN_RECOMPUTED);
    assert_true(gcut_policy_read("save-all", &o));
    assert_that(o.policy, ==, GCUT_POLICY_SAVE_ALL);
    assert_false(gcut_policy_read("save_all", &o));
}

static void forced_values(void **state)
{
    gcut_plan *p = plan_text(*state, marked(*state, "", "#must_save", ""), 100, options(0.05));
    assert_int_equal(decision_of(p, "a"), GCUT_PLAN_SAVED); /* a mark on a view is about its base */
    assert_true(p->value[gcut_graph_find(p->joint, "a")].forced);
    assert_int_equal(p->saved_bytes, 100 * 64 * 4);
    gcut_plan_options o = options(0.05);
    o.save = (const char *[]){"%c"};
    o.nsave = 1;
    p = plan_text(*state, marked(*state, "", "", ""), 100, o);
    assert_int_equal(decision_of(p, "c"), GCUT_PLAN_SAVED);
    o = options(0.05);
    o.policy = GCUT_POLICY_SAVE_ALL;
    p = plan_text(*state, marked(*state, "#must_recompute", "", ""), 100, o);
    assert_int_equal(decision_of(p, "a"), GCUT_PLAN_RECOMPUTED);
    assert_int_equal(decision_of(p, "c"), GCUT_PLAN_SAVED);
}

static void expect_error(world *w, const char *text, gcut_plan_options o, const char *say, const char *also)
{
    text_case t = {w, text, 100, o, NULL};
    gcut_diags_clear(w->env);
    gcut_status expected = strstr(say, "no value") ? GCUT_EUSAGE : GCUT_EPLAN;
    assert_int_equal(gcut_protect(w->env, plan_text_body, &t), expected);
    assert_int_equal(w->env->ndiags, 1);
    const char *d = gcut_diag_text(w->env->arena, &w->env->diags[0]);
    if (!strstr(d, say) || !strstr(d, also)) fail_msg("no '%s' or '%s' in: %s", say, also, d);
}

static void contradictions(void **state)
{
    gcut_plan_options o = options(0.05);
    expect_error(*state, marked(*state, "#must_save", "#must_recompute", ""), o, "m.c:11", "m.c:12");
    o.recompute = (const char *[]){"c"};
    o.nrecompute = 1;
    expect_error(*state, marked(*state, "", "", "#must_save"), o, "m.c:13", "--recompute");
    o.recompute = (const char *[]){"x"};
    expect_error(*state, marked(*state, "", "", ""), o, "%x is a parameter", "nothing to recompute");
    o = options(0.05);
    o.nsave = 1;
    o.save = (const char *[]){"dx"};
    expect_error(*state, marked(*state, "", "", ""), o, "%dx cannot be saved", "backward graph");
    o.save = (const char *[]){"dxx"};
    expect_error(*state, marked(*state, "", "", ""), o, "no value %dxx", "%dx");
}

/* ---- flip prices ---- */

static bool saved_at(gcut_graph *g, gcut_ref v, double lambda)
{
    gcut_plan_options o = options(lambda);
    return gcut_plan_make(g, &o)->value[v].decision == GCUT_PLAN_SAVED;
}

static void flips_body(void *p)
{
    world *w = p;
    uint32_t checked = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        TRY("seed %d", (int)seed);
        gcut_arena *a = gcut_arena_new(w->env, w->env->arena);
        gcut_graph *g = joint_random(gcut_module_new(w->env, a), seed, 8, 500, 128, "j");
        gcut_plan_options o = options(0);
        gcut_flips *f = gcut_flip_prices(gcut_cut_frontier_of(gcut_problem_new(a, g, &o), a), a, 0);
        for (gcut_ref v = 1; v < g->values.n; v++) {
            assert_int_equal(f[v].saved, saved_at(g, v, 0));
            for (uint32_t i = 0; i < f[v].n; i++, checked++) {
                assert_int_equal(saved_at(g, v, f[v].at[i] * (1 - 1e-4)), i % 2 == 0);
                assert_int_equal(saved_at(g, v, f[v].at[i] * (1 + 1e-4)), i % 2 == 1);
            }
            if (f[v].saved && f[v].n == 0) assert_true(saved_at(g, v, 1e6));
        }
        gcut_arena_free(a);
    }
    assert_that(checked, >, 20);
}

static void flips_are_where_plans_change(void **state)
{
    world *w = *state;
    must(w->env, flips_body, w);
}

/* ---- reports ---- */

static void report_says(void **state)
{
    world *w = *state;
    gcut_plan_options o = options(0.05);
    o.policy = GCUT_POLICY_SAVE_ALL;
    gcut_plan *p = plan_text(w, marked(w, "", "", ""), 1000, o);
    const char *t = gcut_plan_saved_text(p, NULL), *j = gcut_plan_json(p);
    assert_true(t);
    assert_true(j);
    assert_non_null(strstr(t, "saved for backward: 2 tensors, 512,000 bytes (500.0 KiB)        512*N\n"));
    assert_non_null(strstr(t, "256,000  50.0%  %a     f32[1000,64]  cos      m.c:11"));
    static const char *const keys[] = {
        "\"graph_hash\"",       "\"policy\": \"save-all\"", "\"N\": 1000", "\"saved_bytes\": 512000",
        "\"peak_bytes\": null", "\"lower_bound\"",          "\"gap\"",     "\"flip_ns_per_byte\"",
        "\"recomputed\": []"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strstr(j, keys[i])) fail_msg("no %s in %s", keys[i], j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(plans_are_cheapest), WITH_FIXTURE(cos_of_cos),
        WITH_FIXTURE(chains_and_norms),   WITH_FIXTURE(matmuls),
        WITH_FIXTURE(policies_differ),    WITH_FIXTURE(forced_values),
        WITH_FIXTURE(contradictions),     WITH_FIXTURE(flips_are_where_plans_change),
        WITH_FIXTURE(report_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
