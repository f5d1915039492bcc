/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The frontier against its definition: every set of saved values of small random joint graphs is tried, by
 * code that knows neither networks nor flows.
 */
#include "harness.h"

#include <float.h>

#include "graph/ops/node_facts.h"
#include "autodiff/autodiff.h"
#include "passes/passes.h"
#include "joint_gen.h"
#include "partition/cut/frontier.h"
#include "partition/cut/glpk.h"
#include "partition/cut/min_cut.h"
#include "partition/policies/policy.h"

#define MOST 14     /* values that may be saved */
#define TRIES 60000 /* 3^10, and 2^14 */

typedef struct world {
    gcut_env *env;
    gcut_module *m;
} world;

FIXTURE(world)

/* ---- the definition ---- */

typedef struct pair {
    int64_t bytes;
    double ns; /* at lambda 0 */
} pair;

typedef struct truth {
    pair *all; /* the Pareto set of every set: rising bytes, falling ns */
    uint32_t n;
} truth;

static bool is_out(const gcut_graph *g, gcut_ref v)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_out && g->results.at[i].value == v) return true;
    return false;
}

static uint32_t saveable(const gcut_problem *p, gcut_ref *out)
{
    const gcut_graph *g = p->g;
    uint32_t n = 0;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (!gcut_def(g, v) || is_out(g, v) || p->facts->side[v] == GCUT_SIDE_BACKWARD) continue;
        if (gcut_value_is(g, v, GCUT_CLASS_VIEW) || gcut_value_is(g, v, GCUT_CLASS_CONSTANT)) continue;
        if (n < MOST) out[n] = v;
        n++;
    }
    return n;
}

/* The backward graph computes what it needs and is not given, and pays for what the forward graph has
 * computed before.  Values of `packed` are saved in their other form. */
static pair price_of(const gcut_problem *p, const gcut_ref *who, uint32_t n, uint32_t mask, uint32_t packed)
{
    const gcut_graph *g = p->g;
    bool given[512] = {0}, need[512] = {0};
    pair s = {0};
    assert_that(g->values.n, <, 512);
    for (uint32_t k = 0; k < n; k++)
        if (mask >> k & 1) {
            gcut_format f = packed >> k & 1 ? gcut_other_format(p, who[k]) : GCUT_FORMAT_PLAIN;
            given[who[k]] = true;
            s.bytes += gcut_value_saved_bytes(p, who[k], f);
            s.ns += gcut_saved_ns(p, who[k], f);
        }
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role != GCUT_ROLE_out) need[g->results.at[i].value] = true;
    for (gcut_ref v = g->values.n - 1; v > 0; v--) {
        const gcut_node *d = gcut_def(g, v);
        if (!need[v] || given[v] || !d || is_out(g, v)) continue;
        for (uint32_t k = 0; k < d->nargs; k++) need[gcut_arg(g, d, k)] = true;
        if (p->facts->side[v] != GCUT_SIDE_BACKWARD) s.ns += p->price[v].recompute_ns;
    }
    return s;
}

static int by_bytes(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static bool is_allowed(const gcut_problem *p, const gcut_ref *who, uint32_t n, uint32_t mask)
{
    for (uint32_t k = 0; k < n; k++)
        if (p->force[who[k]] == (mask >> k & 1 ? GCUT_CONSTRAINT_RECOMPUTE : GCUT_CONSTRAINT_SAVE))
            return false;
    return true;
}

static truth truth_of(const gcut_problem *p)
{
    gcut_ref who[MOST];
    uint32_t n = saveable(p, who), two = 0, count = 0;
    for (uint32_t k = 0; k < n && n <= MOST; k++)
        if (gcut_other_format(p, who[k]) != GCUT_FORMAT_PLAIN) two |= 1u << k;
    if (n > MOST || (two && n > MOST - 4)) return (truth){0};
    truth t = {malloc(sizeof(pair) * TRIES), 0};
    for (uint32_t mask = 0; mask < 1u << n; mask++)
        for (uint32_t packed = mask & two; is_allowed(p, who, n, mask); packed = (packed - 1) & mask & two) {
            assert_that(count, <, TRIES);
            t.all[count++] = price_of(p, who, n, mask, packed);
            if (!packed) break;
        }
    qsort(t.all, count, sizeof *t.all, by_bytes);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || t.all[i].ns < t.all[t.n - 1].ns) t.all[t.n++] = t.all[i];
    return t;
}

/* The least time of those with at most that many bytes. */
static double best_within(const truth *t, int64_t bytes)
{
    double best = INFINITY;
    for (uint32_t i = 0; i < t->n && t->all[i].bytes <= bytes; i++) best = t->all[i].ns;
    return best;
}

static double cheapest_at(const truth *t, double lambda)
{
    double best = INFINITY;
    for (uint32_t i = 0; i < t->n; i++) best = fmin(best, t->all[i].ns + lambda * (double)t->all[i].bytes);
    return best;
}

static double rounding(double a, double b)
{
    return 1e-9 * fmax(fabs(a), fabs(b)) + 1e-9;
}

#define assert_near(a, b) assert_within(a, b, rounding(a, b))

/* The corners of the lower convex hull of the Pareto set, from the most bytes to the fewest. */
static uint32_t hull_of(const truth *t, pair *out)
{
    uint32_t n = 0;
    double least = INFINITY;
    for (uint32_t i = 0; i < t->n; i++) { /* rising bytes, falling time */
        pair x = t->all[i];
        if (!(x.ns < least - 1e-9 * x.ns - 1e-12)) continue;
        least = x.ns;
        while (n > 1) { /* the last is a corner when the slope before it is steeper */
            double before = (out[n - 2].ns - out[n - 1].ns) / (double)(out[n - 1].bytes - out[n - 2].bytes);
            double after = (out[n - 1].ns - x.ns) / (double)(x.bytes - out[n - 1].bytes);
            if (before > after * (1 + 1e-9)) break;
            n--;
        }
        out[n++] = x;
    }
    for (uint32_t i = 0; i < n / 2; i++) {
        pair x = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = x;
    }
    return n;
}

/* ---- one frontier ---- */

static void check_points(const gcut_cut_frontier *f, const truth *t)
{
    for (uint32_t i = 0; i < f->points.n; i++) {
        const gcut_cut_point *x = &f->points.at[i];
        assert_near(x->fixed_ns, best_within(t, x->saved_bytes));
        assert_true(x->saved_bytes == 0 || x->fixed_ns < best_within(t, x->saved_bytes - 1));
        assert_true(x->between ? x->from == x->to : x->from < x->to);
        if (i > 0) {
            assert_that(x->saved_bytes, <, x[-1].saved_bytes);
            assert_that(x->fixed_ns, >, x[-1].fixed_ns);
            assert_that(x->from, ==, x[-1].to);
        }
        gcut_choice *c = gcut_cut_point_choice(f, f->p->g->module->arena, x);
        assert_int_equal(c->saved_bytes, x->saved_bytes);
        assert_near(c->fixed_ns, x->fixed_ns);
        assert_that(c->lower_bound_ns, <=, c->cost_ns);
        assert_near(c->lower_bound_ns, c->cost_ns);
    }
    assert_that(f->points.at[0].from, ==, 0);
    assert_true(isinf(f->points.at[f->points.n - 1].to));
}

static uint32_t check_hull(const gcut_cut_frontier *f, const truth *t)
{
    static pair hull[TRIES];
    uint32_t n = hull_of(t, hull), k = 0;
    for (uint32_t i = 0; i < f->points.n; i++) {
        if (f->points.at[i].between) continue;
        assert_that(k, <, n);
        assert_int_equal(f->points.at[i].saved_bytes, hull[k].bytes);
        assert_near(f->points.at[i].fixed_ns, hull[k].ns);
        k++;
    }
    assert_int_equal(k, n);
    return n;
}

static void check_prices(const gcut_cut_frontier *f, const truth *t)
{
    for (uint32_t i = 0; i < f->points.n; i++) {
        const gcut_cut_point *x = &f->points.at[i];
        double hi = isinf(x->to) ? 2 * x->from + 1 : x->to;
        for (int k = 0; k <= 4; k++) {
            double lambda = x->from + (hi - x->from) * k / 4, cost = cheapest_at(t, lambda);
            assert_near(cost, x->fixed_ns + lambda * (double)x->saved_bytes);
            assert_that(gcut_bound_for_lambda(f, lambda), <=, cost * (1 + 1e-12));
            assert_near(gcut_bound_for_lambda(f, lambda), cost);
        }
    }
}

/* Never above the truth, and as high as the hull lets it be. */
static void check_bounds(const gcut_cut_frontier *f, const truth *t)
{
    const gcut_cut_point *last = &f->points.at[f->points.n - 1];
    for (uint32_t i = 0; i < t->n; i++)
        for (int64_t b = t->all[i].bytes - 1; b <= t->all[i].bytes + 1; b++) {
            double bound = gcut_bound_for_bytes(f, b), best = best_within(t, b);
            if (b < last->saved_bytes) {
                assert_true(isinf(bound));
                assert_true(isinf(best));
                continue;
            }
            assert_that(bound, <=, best * (1 + 1e-12));
            double line = f->points.at[0].fixed_ns;
            for (uint32_t k = 1; k < f->points.n; k++) {
                const gcut_cut_point *x = &f->points.at[k];
                if (b < x[-1].saved_bytes && b >= x->saved_bytes)
                    line = x->fixed_ns - (x->fixed_ns - x[-1].fixed_ns) * (double)(b - x->saved_bytes) /
                                             (double)(x[-1].saved_bytes - x->saved_bytes);
            }
            assert_near(bound, line);
        }
}

/* The cheapest at every number of bytes at which another one gets in reach, and the proof that it is. */
static uint32_t check_within(const gcut_cut_frontier *f, const truth *t, gcut_arena *a)
{
    uint32_t off_hull = 0;
    int64_t least = f->points.at[f->points.n - 1].saved_bytes;
    for (uint32_t i = 0; i < t->n; i++)
        for (int64_t b = t->all[i].bytes; b <= t->all[i].bytes + 1; b++) {
            if (b < least) continue;
            gcut_choice *c = gcut_frontier_at_most(f, a, b);
            double best = best_within(t, b), bound = gcut_bound_for_bytes(f, b);
            assert_that(c->saved_bytes, <=, b);
            assert_near(c->fixed_ns, best);
            assert_that(c->cost_ns, ==, c->fixed_ns);
            assert_that(c->lower_bound_ns, <=, best * (1 + 1e-12));
            assert_that(c->lower_bound_ns, >=, bound * (1 - 1e-12));
            double first = INFINITY; /* of the points: what the program improves on, to a millionth */
            for (uint32_t k = f->points.n; k-- > 0 && f->points.at[k].saved_bytes <= b;)
                first = f->points.at[k].fixed_ns;
            assert_that(best - c->lower_bound_ns, <=, 2e-6 * (first - bound) + 1e-6 + 1e-9 * best);
            off_hull += best - bound > 1e-6 * best;
        }
    return off_hull;
}

/* Flip prices say where the decisions of the corners change, from any lambda on. */
static uint32_t check_flips(const gcut_cut_frontier *f, gcut_arena *a, double from)
{
    gcut_flips *flips = gcut_flip_prices(f, a, from);
    uint32_t again = 0;
    for (uint32_t i = 0; i < f->points.n; i++) {
        const gcut_cut_point *x = &f->points.at[i];
        if (x->between || x->to <= from) continue;
        gcut_choice *c = gcut_cut_point_choice(f, a, x);
        for (gcut_ref v = 1; v < f->p->g->values.n; v++) {
            bool saved = flips[v].saved;
            for (uint32_t k = 0; k < flips[v].n && flips[v].at[k] <= fmax(x->from, from); k++) saved = !saved;
            assert_int_equal(saved, c->decision[v] == GCUT_PLAN_SAVED);
        }
    }
    for (gcut_ref v = 1; v < f->p->g->values.n; v++) {
        again += flips[v].n > 1;
        for (uint32_t k = 0; k < flips[v].n; k++)
            assert_that(flips[v].at[k], >, (k ? flips[v].at[k - 1] : from));
    }
    return again;
}

typedef struct tally {
    uint32_t graphs, corners, between, again, off_hull;
} tally;

/* Without round trips dividing by lambda leaves only the recompute prices varying, all in one direction: what
 * is computed again at one lambda is so at every greater one. */
static void check_nested(const gcut_cut_frontier *f)
{
    for (uint32_t i = 1; i < f->points.n; i++)
        for (gcut_ref v = 1; v < f->p->g->values.n; v++)
            assert_true(!f->points.at[i].saved[v] || f->points.at[i - 1].saved[v]);
}

static gcut_problem *random_problem(world *w, gcut_arena *a, uint64_t seed, uint32_t kind)
{
    static const int64_t sizes[][2] = {{2, 3}, {64, 8}, {500, 128}, {32, 400}};
    gcut_module *m = gcut_module_new(w->env, a);
    uint32_t n = 5 + (uint32_t)(seed % 13);
    gcut_graph *g = joint_random(m, seed, n, sizes[seed % 4][0], sizes[seed % 4][1], "j");
    gcut_plan_options *opt = gcut_calloc(a, 1, sizeof *opt);
    opt->machine = gcut_machine_at(gcut_machine_model_shipped(), 0);
    if (seed % 5 == 0) opt->save_dtype = GCUT_BF16;
    gcut_problem *p = gcut_problem_new(a, g, opt);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        gcut_price *c = &p->price[v];
        if (kind == 1) c->trip_ns = c->convert_ns = 0;
        if (kind == 2) { /* whole numbers, few of them: every sum is exact, and ties are frequent */
            c->trip_ns = (double)(v % 2);
            if (!isinf(c->recompute_ns) && c->recompute_ns > 0) c->recompute_ns = 1 + v % 3;
            if (c->bytes) c->bytes = (1 + v % 4) * gcut_dtype_bytes(gcut_type_of(g, v)->dtype);
        }
    }
    gcut_ref who[MOST];
    uint32_t few = saveable(p, who);
    if (few > 2 && few <= MOST && seed % 6 == 0) p->force[who[seed % few]] = GCUT_CONSTRAINT_SAVE;
    if (few > 2 && few <= MOST && seed % 9 == 0) p->force[who[seed / 2 % few]] = GCUT_CONSTRAINT_RECOMPUTE;
    return p;
}

static gcut_cut_frontier *check_frontier(const gcut_problem *p, const truth *t, gcut_arena *a, tally *sum)
{
    gcut_cut_frontier *f = gcut_cut_frontier_of(p, a);
    check_points(f, t);
    sum->corners += check_hull(f, t);
    check_prices(f, t);
    check_bounds(f, t);
    sum->again += check_flips(f, a, 0);
    check_flips(f, a, f->points.at[f->points.n / 2].from);
    sum->off_hull += check_within(f, t, a);
    for (uint32_t i = 0; i < f->points.n; i++) sum->between += f->points.at[i].between;
    sum->graphs++;
    return f;
}

static void frontier_body(void *state)
{
    world *w = state;
    tally sum = {0};
    for (uint64_t seed = 1; seed <= 240; seed++) {
        TRY("seed %d", (int)seed);
        gcut_arena *a = gcut_arena_new(w->env, w->env->arena);
        uint32_t kind = (uint32_t)(seed / 4 % 3);
        gcut_problem *p = random_problem(w, a, seed, kind);
        truth t = truth_of(p);
        if (t.n) {
            gcut_cut_frontier *f = check_frontier(p, &t, a, &sum);
            if (kind == 1) check_nested(f);
        }
        free(t.all);
        gcut_arena_free(a);
    }
    assert_that(sum.graphs, >, 150);
    assert_that(sum.corners, >, 300);
    assert_that(sum.between, >, 5);
    assert_that(sum.again, >, 5);
    assert_that(sum.off_hull, >, 100);
}

static void frontiers_are_the_hull(void **state)
{
    world *w = *state;
    must(w->env, frontier_body, w);
}

/* A loss head: its gradient in either graph, and what it makes of a parameter in the memory of a gradient. */
static void head_body(void *state)
{
    static const char text[] = "gcut 1\nfunc @f[N in 1..](param %w: f32[64, 64], param %e: f32[500, 64], "
                               "input %x: f32[N, 64], input "
                               "%k: f32[N, 500]) -> (out loss: f32[]) {\n%p = matmul(%x, %w)\n%h = relu(%p)\n"
                               "%l = matmul(%h, %e, tb=true)\n%d = sub(%l, %k)\n%q = mul(%d, %d)\n%loss = "
                               "sum(%q)\nreturn %loss\n}\n";
    world *w = state;
    gcut_module *m = gcut_parse_module(w->env, w->env->arena, "t.gcut", text, strlen(text));
    gcut_graph *g = gcut_joint(m->graphs.at[0], NULL, "j");
    g = gcut_pass_dce(gcut_pass_cse(gcut_pass_fold(gcut_pass_head(g, "h"), "f1"), "c"), "d");
    tally sum = {0};
    uint32_t begun = 0;
    for (int64_t n = 1; n <= 100000; n *= 10) {
        gcut_arena *a = gcut_arena_new(w->env, w->env->arena);
        gcut_dim_binding at = {g->decls.at[0].sym, n};
        gcut_plan_options opt = {
            .machine = gcut_machine_at(gcut_machine_model_shipped(), 0), .at = &at, .nat = 1};
        gcut_problem *p = gcut_problem_new(a, g, &opt);
        truth t = truth_of(p);
        assert_that(t.n, >, 1);
        gcut_cut_frontier *f = check_frontier(p, &t, a, &sum);
        gcut_choice *c = gcut_cut_point_choice(f, a, &f->points.at[0]);
        for (gcut_ref v = 1; v < g->values.n; v++) begun += c->format[v] == GCUT_FORMAT_GRAD;
        free(t.all);
        gcut_arena_free(a);
    }
    assert_that(begun, >, 0);
    assert_that(sum.corners, >, sum.graphs);
}

static void heads_have_frontiers(void **state)
{
    must(((world *)*state)->env, head_body, *state);
}

/* ---- certificates ---- */

/* The largest flow as a linear program: a variable per arc, up to its price; as much enters each vertex but
 * source and sink as leaves it. */
static gcut_lp flow_program(const gcut_network *net, gcut_arena *a)
{
    gcut_lp lp = {0};
    for (uint32_t v = 2; v < net->nvertices; v++) *GCUT_PUSH(a, &lp.rows) = (gcut_lp_row){0, 0};
    for (uint32_t i = 0; i < net->arcs.n; i++) {
        const gcut_arc *c = &net->arcs.at[i];
        double cost = (c->from == GCUT_NET_SINK) - (c->to == GCUT_NET_SINK);
        *GCUT_PUSH(a, &lp.vars) = (gcut_lp_var){0, c->price, cost, false};
        if (c->from >= 2) *GCUT_PUSH(a, &lp.terms) = (gcut_lp_term){c->from - 2, i, -1};
        if (c->to >= 2) *GCUT_PUSH(a, &lp.terms) = (gcut_lp_term){c->to - 2, i, 1};
    }
    return lp;
}

/* That the solution is a flow, and as large as the cut is dear, proves both without any solver: no cut is
 * cheaper than a flow is large. */
static void check_certificate(const gcut_network *net, const gcut_cut *cut, gcut_arena *a)
{
    gcut_lp lp = flow_program(net, a);
    gcut_lp_answer x = gcut_glpk_intopt(a, &lp, NULL, 2);
    double *balance = gcut_calloc(a, net->nvertices, sizeof *balance), slack = 1e-7 * cut->cost + 1e-7;
    assert_true(x.found);
    for (uint32_t i = 0; i < net->arcs.n; i++) {
        double flow = x.x[i];
        assert_that(flow, >=, -slack);
        assert_that(flow, <=, net->arcs.at[i].price + slack);
        balance[net->arcs.at[i].from] -= flow;
        balance[net->arcs.at[i].to] += flow;
    }
    for (uint32_t v = 2; v < net->nvertices; v++) assert_that(fabs(balance[v]), <=, slack);
    assert_within(balance[GCUT_NET_SINK], cut->cost, slack);
    assert_within(-x.cost, cut->cost, slack);
    assert_within(cut->flow, cut->cost, slack);
    double crossing = 0;
    for (uint32_t i = 0; i < net->arcs.n; i++)
        if (cut->source_side[net->arcs.at[i].from] && !cut->source_side[net->arcs.at[i].to])
            crossing += net->arcs.at[i].price;
    assert_within(crossing, cut->cost, slack);
    assert_that(cut->lower_bound, <=, crossing);
}

static void certificate_body(void *state)
{
    world *w = state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        TRY("seed %d", (int)seed);
        gcut_arena *a = gcut_arena_new(w->env, w->env->arena);
        gcut_problem *p = random_problem(w, a, seed, (uint32_t)(seed % 3));
        gcut_network *net = gcut_problem_network(p, a);
        for (double lambda = 0; lambda < 30; lambda = 4 * lambda + 0.01) {
            gcut_network_at(net, lambda);
            gcut_cut cut = gcut_solve(net, a);
            check_certificate(net, &cut, a);
        }
        gcut_arena_free(a);
    }
}

static void cuts_have_certificates(void **state)
{
    world *w = *state;
    must(w->env, certificate_body, w);
}

/* ---- a budget of saved bytes ---- */

static const char chain[] =
    "gcut 1\nfunc @f(input %x: f32[64, 64], cotan %d: f32[64, 64]) -> (out y: f32[64, 64], grad x: f32[64, "
    "64]) {\n"
    "  %a = tanh(%x)\n  %y = exp(%a)\n  %e = mul(%d, %a)\n  %f = mul(%e, %y)\n  return %y, %f\n}\n";

typedef struct refusal {
    world *w;
    int64_t bytes;
    gcut_choice *c;
} refusal;

static void refused_body(void *what)
{
    refusal *r = what;
    gcut_arena *a = r->w->env->arena;
    gcut_module *m = gcut_parse_module(r->w->env, a, "t.gcut", chain, strlen(chain));
    static const char *const save[] = {"%a"};
    gcut_plan_options opt = {
        .machine = gcut_machine_at(gcut_machine_model_shipped(), 0), .save = save, .nsave = 1};
    r->c = gcut_choose_at_most(gcut_problem_new(a, m->graphs.at[0], &opt), a, r->bytes);
}

static void forced_values_are_named(void **state)
{
    world *w = *state;
    refusal r = {w, 64 * 64 * 4, NULL};
    must(w->env, refused_body, &r);
    assert_int_equal(r.c->saved_bytes, 64 * 64 * 4);
    r.bytes--;
    gcut_diags_clear(w->env);
    assert_int_equal(gcut_protect(w->env, refused_body, &r), GCUT_EPLAN);
    const char *d = gcut_diag_text(w->env->arena, &w->env->diags[0]);
    if (!strstr(d, "16383 bytes or less") || !strstr(d, "%a must be saved, 16384 bytes")) fail_msg("%s", d);
}

/* ---- bounds of large graphs ---- */

/* No plan is cheaper than what is said of all plans of its bytes, and of its lambda. */
static void check_plan(const gcut_cut_frontier *f, const gcut_choice *c)
{
    static const double lambda[] = {0, 1e-3, 0.05, 3, 1e6, 1e12};
    assert_that(gcut_bound_for_bytes(f, c->saved_bytes), <=, c->fixed_ns * (1 + 1e-12));
    for (size_t k = 0; k < sizeof lambda / sizeof *lambda; k++)
        assert_that(gcut_bound_for_lambda(f, lambda[k]), <=,
                    (c->fixed_ns + lambda[k] * (double)c->saved_bytes) * (1 + 1e-12));
}

/* Saves each value with a chance that is drawn too, in any form. */
static gcut_choice *any_plan(const gcut_problem *p, gcut_arena *a, joint_gen *r)
{
    uint32_t nvalues = p->g->values.n, rare = 1 + draw(r, 6);
    gcut_problem q = *p;
    bool *saved = gcut_calloc(a, nvalues, 1);
    q.format = gcut_calloc(a, nvalues, sizeof *q.format);
    for (gcut_ref v = 1; v < nvalues; v++) {
        saved[v] = draw(r, rare) == 0;
        q.format[v] = draw(r, 2) ? gcut_other_format(p, v) : GCUT_FORMAT_PLAIN;
    }
    return gcut_choice_saving(&q, a, saved, NULL, p->opt->lambda);
}

static void bounds_body(void *state)
{
    static const int64_t rows[] = {1, 1000, 100000000};
    world *w = state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        TRY("seed %d", (int)seed);
        gcut_arena *a = gcut_arena_new(w->env, w->env->arena);
        gcut_module *m = gcut_module_new(w->env, a);
        gcut_graph *g =
            joint_random(m, seed, 20 + (uint32_t)seed / 2, rows[seed % 3], seed % 5 ? 64 : 0, "j");
        joint_gen r = {.seed = seed * UINT64_C(0x9E3779B97F4A7C15)};
        gcut_plan_options opt = {.lambda = 0.05, .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
        if (seed % 2) opt.save_dtype = GCUT_BF16;
        gcut_problem *p = gcut_problem_new(a, g, &opt);
        for (gcut_ref v = 1; v < g->values.n; v++)
            if (seed % 4 == 0 && gcut_def(g, v) && p->facts->side[v] == GCUT_SIDE_FORWARD &&
                !p->facts->out[v] && p->facts->base[v] == v && draw(&r, 5) == 0)
                p->force[v] = draw(&r, 2) ? GCUT_CONSTRAINT_SAVE : GCUT_CONSTRAINT_RECOMPUTE;
        gcut_cut_frontier *f = gcut_cut_frontier_of(p, a);
        int64_t most = f->points.at[0].saved_bytes, least = f->points.at[f->points.n - 1].saved_bytes;
        int64_t room = least + (most - least) / 7 * (int64_t)draw(&r, 8);
        const gcut_choice *within = gcut_frontier_at_most(f, a, room);
        check_plan(f, within);
        for (int k = 0; k < GCUT_NPOLICIES; k++)
            check_plan(f, gcut_choose(p, a, gcut_policy_get((gcut_policy)k)->saved, 0.05));
        for (int k = 0; k < 100; k++) {
            const gcut_choice *c = any_plan(p, a, &r);
            check_plan(f, c);
            assert_true(c->saved_bytes > room || within->lower_bound_ns <= c->fixed_ns * (1 + 1e-12));
        }
        gcut_arena_free(a);
    }
}

static void bounds_hold_for_any_plan(void **state)
{
    world *w = *state;
    must(w->env, bounds_body, w);
}

/* Where lambda times bytes has many more digits than what is left when it is subtracted again. */
static void digits_body(void *state)
{
    static const char text[] =
        "gcut 1\nfunc @f(input %x: f32[1000003, 20011], cotan %d: f32[1000003, 20011])\n"
        "  -> (out z: f32[1000003, 20011], grad x: f32[1000003, 20011]) {\n"
        "  %a = tanh(%x)\n  %b = cos(%a)\n  %s = sum(%b)\n"
        "  %t = broadcast(%s, shape=[1000003, 20011], axes=[])\n  %z = mul(%b, %t)\n"
        "  %e = mul(%d, %a)\n  %f = mul(%e, %t)\n  %h = mul(%f, %b)\n  return %z, %h\n}\n";
    world *w = state;
    static const char *const save[] = {"%a", "%b"};
    gcut_module *m = gcut_parse_module(w->env, w->env->arena, "t.gcut", text, strlen(text));
    gcut_graph *g = m->graphs.at[0];
    gcut_plan_options opt = {
        .machine = gcut_machine_at(gcut_machine_model_shipped(), 0), .save = save, .nsave = 2};
    gcut_problem *p = gcut_problem_new(w->env->arena, g, &opt);
    gcut_cut_frontier *f = gcut_cut_frontier_of(p, w->env->arena);
    assert_int_equal(f->points.n, 2); /* with the sum and without */
    assert_int_equal(f->points.at[0].saved_bytes - f->points.at[1].saved_bytes, 4);
    for (uint32_t i = 0; i < 2; i++) check_plan(f, gcut_cut_point_choice(f, w->env->arena, &f->points.at[i]));
}

static void bounds_survive_cancellation(void **state)
{
    world *w = *state;
    must(w->env, digits_body, w);
}

/* ---- equal layers ---- */

/* Each layer has a product worth saving until lambda says otherwise, all at the same price. */
static const char *layers_text(gcut_arena *a, int n)
{
    gcut_text t = {.arena = a};
    gcut_text_add(
        &t, "gcut 1\nfunc @f(param %%w: f32[256, 256], input %%x: f32[64, 256], cotan %%d0: f32[64, 256])\n"
            "  -> (out y: f32[64, 256], grad x: f32[64, 256]) {\n  %%h0 = tanh(%%x)\n");
    for (int i = 1; i <= n; i++)
        gcut_text_add(&t, "  %%m%d = matmul(%%x, %%w)\n  %%e%d = exp(%%m%d)\n  %%h%d = add(%%e%d, %%h%d)\n",
                      i, i, i, i, i, i - 1);
    for (int i = 1; i <= n; i++)
        gcut_text_add(&t, "  %%s%d = sin(%%m%d)\n  %%d%d = mul(%%s%d, %%d%d)\n", i, i, i, i, i - 1);
    gcut_text_add(&t, "  return %%h%d, %%d%d\n}\n", n, n);
    return t.at;
}

static void layers_body(void *state)
{
    world *w = state;
    gcut_arena *a = w->env->arena;
    const char *text = layers_text(a, 12);
    gcut_module *m = gcut_parse_module(w->env, a, "t.gcut", text, strlen(text));
    gcut_plan_options opt = {.machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
    gcut_problem *p = gcut_problem_new(a, m->graphs.at[0], &opt);
    gcut_cut_frontier *f = gcut_cut_frontier_of(p, a);
    assert_int_equal(f->points.n, 13);
    for (uint32_t i = 0; i < 13; i++) {
        const gcut_cut_point *x = &f->points.at[i];
        assert_int_equal(x->saved_bytes, (12 - i) * 64 * 256 * 4);
        assert_int_equal(x->between, i > 0 && i < 12);
        assert_near(x->fixed_ns - f->points.at[0].fixed_ns,
                    i * (f->points.at[12].fixed_ns - f->points.at[0].fixed_ns) / 12);
        assert_near(gcut_bound_for_bytes(f, x->saved_bytes), x->fixed_ns);
    }
}

static void equal_layers_have_points_between(void **state)
{
    world *w = *state;
    must(w->env, layers_body, w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(frontiers_are_the_hull),           WITH_FIXTURE(heads_have_frontiers),
        WITH_FIXTURE(equal_layers_have_points_between), WITH_FIXTURE(cuts_have_certificates),
        WITH_FIXTURE(forced_values_are_named),          WITH_FIXTURE(bounds_hold_for_any_plan),
        WITH_FIXTURE(bounds_survive_cancellation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
