/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lower bounds against what is reached: every candidate plan of a budget search, random saved sets with
 * random copies, and on small graphs every saved set, each lowered and placed.
 *
 *   peak of the plan  >=  gcut_peak_bound of the graph
 *   peak of the plan  >=  resident bytes + bytes that the plan saves
 *   cost of the plan  >=  gcut_bound_for_bytes and gcut_moment_bound of its peak less the resident bytes
 *
 * The models are those of examples/models at their tiny sizes, and at published ones those of which a bound
 * was once above the smallest peak.
 */
#include "driver/pipeline/compile.h"
#include "harness.h"

#include "driver/options/options.h"
#include "driver/search/candidates.h"
#include "driver/search/peak_bound.h"
#include "gradcut/gradcut.h"
#include "graph_gen.h"
#include "models/models.h"
#include "oracle.h"
#include "partition/bounds/moment_bound.h"
#include "partition/cut/frontier.h"

/* A graph with its candidate plans and its bounds. */
typedef struct bounded {
    const char *name;
    uint64_t seed; /* of the random plans; part of failures */
    gcut_env *env;
    gcut_arena *arena;
    gcut_pipeline *p;
    gcut_candidates *o;
    bool has_cost;                              /* there is a bound of the cost */
    GCUT_VEC(const gcut_cut_frontier *) corner; /* of each base */
    int64_t bound;
    int64_t least;    /* the smallest peak seen */
    uint32_t tighter; /* plans whose bound is that of a moment */
} bounded;

static bounded bounded_of(const char *name, gcut_graph *g, const gcut_settings *opt, gcut_arena *arena)
{
    bounded b = {.name = name, .seed = 1, .env = g->module->env, .least = INT64_MAX};
    b.p = gcut_pipeline_new(g, opt, GCUT_STAGE_JOINT, arena);
    b.arena = b.p->arena;
    b.o = gcut_candidates_of(b.p, b.arena);
    b.bound = gcut_peak_bound(b.p);
    b.has_cost = true;
    for (uint32_t i = 0; i < b.o->bases.n; i++) {
        b.has_cost &= b.o->bases.at[i]->own_buffers;
        *GCUT_PUSH(b.arena, &b.corner) = gcut_cut_frontier_of(b.o->bases.at[i]->problem, b.arena);
    }
    return b;
}

/* The least of all plans of loops. */
static double cost_bound(const bounded *b, int64_t room, bool moments)
{
    double least = INFINITY;
    for (uint32_t i = 0; b->has_cost && i < b->o->bases.n; i++) {
        const gcut_candidate_base *base = b->o->bases.at[i];
        const double x = moments ? gcut_moment_bound(base->problem, b->arena, room)
                                 : gcut_bound_for_bytes(b->corner.at[i], room);
        least = fmin(least, base->work_ns - b->o->least_work + x);
    }
    return b->has_cost ? least : 0;
}

static void check_plan(bounded *b, gcut_candidate *of)
{
    int64_t peak = gcut_candidate_peak(b->o, of);
    const int64_t room = peak - b->o->resident;
    const double cost = cost_bound(b, room, false), moment = cost_bound(b, room, true),
                 reached = gcut_candidate_cost(b->o, of);
    if (peak < b->bound)
        fail_msg("%s, seed %llu, %s: peak %lld, bound %lld", b->name, (unsigned long long)b->seed, of->label,
                 (long long)peak, (long long)b->bound);
    if (peak < gcut_candidate_least(b->o, of))
        fail_msg("%s, seed %llu, %s: peak %lld, resident and saved %lld", b->name,
                 (unsigned long long)b->seed, of->label, (long long)peak,
                 (long long)gcut_candidate_least(b->o, of));
    if (cost > reached * (1 + 1e-12))
        fail_msg("%s, seed %llu, %s: cost %.17g, bound %.17g", b->name, (unsigned long long)b->seed,
                 of->label, reached, cost);
    if (moment > reached * (1 + 1e-12))
        fail_msg("%s, seed %llu, %s: cost %.17g, bound of a moment %.17g", b->name,
                 (unsigned long long)b->seed, of->label, reached, moment);
    b->tighter += moment > cost * (1 + 1e-6);
    if (peak < b->least) b->least = peak;
}

static void check_candidates(bounded *b)
{
    assert_that(b->o->list.n, >, 0);
    for (uint32_t i = 0; i < b->o->list.n; i++) check_plan(b, &b->o->list.at[i]);
}

/* ---- plans that no search finds ---- */

static uint32_t below(bounded *b, uint32_t n)
{
    return (uint32_t)(next_unit(&b->seed) * n);
}

static gcut_candidate plan_saving(const bounded *b, const bool *saved, const gcut_recomputations *again)
{
    const gcut_candidate_base *base = b->o->bases.at[0];
    const gcut_choice *c = gcut_choice_saving(base->problem, b->arena, saved, again, 0);
    return (gcut_candidate){
        .base = base, .options = &base->options, .choice = c, .label = "a random plan", .peak_bytes = -1};
}

/* A random part of all values saved, some nodes computed once more in random places. */
static void check_random(bounded *b, uint32_t plans)
{
    const gcut_problem *p = b->o->bases.at[0]->problem;
    uint32_t n;
    gcut_backward_order(b->arena, p->facts, &n);
    for (uint32_t k = 0; k < plans; k++) {
        uint32_t of_eight = below(b, 9), copies = below(b, 2) ? below(b, 6) : 0;
        bool *saved = gcut_calloc(b->arena, p->g->values.n, 1);
        gcut_recomputations *again = gcut_calloc(b->arena, (size_t)n + 1, sizeof *again);
        for (gcut_ref v = 1; v < p->g->values.n; v++) saved[v] = below(b, 8) < of_eight;
        while (copies-- > 0 && p->g->nodes.n) {
            uint32_t node = below(b, p->g->nodes.n);
            uint32_t before = below(b, n + 1);
            const gcut_node *x = gcut_node_at(p->g, node);
            if (x->nres && p->facts->side[x->res0] != GCUT_SIDE_BACKWARD)
                *GCUT_PUSH(b->arena, &again[before]) = node;
        }
        gcut_candidate of = plan_saving(b, saved, again);
        check_plan(b, &of);
    }
}

/* ---- the zoo ---- */

typedef struct model_case {
    const char *name, *size;
    gcut_settings opt;
    int dtype;
    uint32_t random;  /* plans */
    double tightness; /* the smallest peak is at most the bound times this; 0: not asked */
    gcut_env *env;
    gcut_graph *g;
    uint32_t tighter; /* bounded's */
} model_case;

static void model_body(void *arg)
{
    model_case *c = arg;
    TRY("%s %s", c->name, c->size);
    bounded b = bounded_of(c->name, c->g, &c->opt, c->env->arena);
    check_candidates(&b);
    check_random(&b, c->random);
    assert_that(b.bound, >=, b.o->resident);
    c->tighter = b.tighter;
    assert_true(b.o->bases.at[0]->own_buffers);
    if (c->tightness > 0 && (double)b.least > c->tightness * (double)b.bound)
        fail_msg("%s: bound %lld, smallest peak %lld", c->name, (long long)b.bound, (long long)b.least);
    gcut_arena_free(b.arena);
}

static uint32_t check_model(model_case c)
{
    const model *m = model_find(c.name);
    int64_t parameters;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    c.opt.threads = 2;
    c.g = model_graph(m, model_size(m, c.size), c.dtype, ctx, &parameters);
    if (!c.g) fail_msg("%s: %s", c.name, gcut_last_error(ctx));
    c.env = c.g->module->env;
    must(c.env, model_body, &c);
    gcut_ctx_free(ctx);
    return c.tighter;
}

static gcut_settings with(const char *optimizer, const char *save_dtype, const gcut_size *at, size_t nat)
{
    gcut_settings o = gcut_settings_of(NULL, NULL, 0);
    o.optimizer = optimizer;
    o.save_dtype = save_dtype;
    o.at = at;
    o.nat = nat;
    return o;
}

/* One model of two, and of four where sanitized builds are ten times slower, but for the nightly run. */
#ifndef MODELS_STRIDE
#define MODELS_STRIDE 2
#endif

static void tiny_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < nmodels; i += nightly() ? 1 : MODELS_STRIDE) {
        const model *m = &models[i];
        gcut_size at[] = {{"N", 5}, {"T", 7}};
        size_t nat = m->length ? 2 : 1;
        const model_case c[] = {
            {.opt = with(NULL, NULL, at, nat), .dtype = GCUT_F32, .random = 8},
            {.opt = with("adamw(lr=0.1)", NULL, at, nat), .dtype = GCUT_F32},
            {.opt = with("sgd(lr=0.1)", "bf16", at, nat), .dtype = GCUT_F32},
            {.opt = with(NULL, NULL, at, nat), .dtype = GCUT_BF16},
        };
        /* The nightly run tries each way of each model, others one in turn. */
        for (size_t k = 0; k < 4; k++) {
            if (k != i / MODELS_STRIDE % 4 && !nightly()) continue;
            model_case one = c[k];
            one.name = m->name, one.size = "tiny";
            check_model(one);
        }
    }
}

/* Bounds that were once above what is reached: part of a gradient that waits in the gradient's buffer was
 * counted beside it, and so were operands that are computed as they are packed. */
static void published_sizes(void **state)
{
    (void)state;
    gcut_size vae[] = {{"N", 256}}, bert[] = {{"N", 8}, {"T", 128}}, lenet[] = {{"N", 64}};
    check_model((model_case){.name = "vae",
                             .size = "784-400-20",
                             .opt = with(NULL, NULL, vae, 1),
                             .dtype = GCUT_F32,
                             .random = 8,
                             .tightness = 1.02});
    check_model((model_case){.name = "bert",
                             .size = "small",
                             .opt = with(NULL, NULL, bert, 2),
                             .dtype = GCUT_F32,
                             .tightness = 1.01});
    /* Its peak is held by a pooling of the backward graph. */
    const uint32_t tighter = check_model(
        (model_case){.name = "lenet", .size = "28", .opt = with(NULL, NULL, lenet, 1), .dtype = GCUT_F32});
    assert_that(tighter, >, 0);
}

/* ---- random graphs ---- */

typedef struct graph_case {
    gcut_env *env;
    uint32_t index, ops;
    bool exhaustive;
} graph_case;

enum { MOST_SAVEABLE = 8 }; /* values of which every part is tried */

/* Every saved set, each value recomputed once at most. */
static void check_every_set(bounded *b)
{
    const gcut_problem *p = b->o->bases.at[0]->problem;
    gcut_ref value[MOST_SAVEABLE];
    uint32_t n = 0;
    const char *why;
    for (gcut_ref v = 1; v < p->g->values.n; v++) {
        double price = p->facts->side[v] == GCUT_SIDE_BACKWARD ? 0 : gcut_save_price(p, v, 0, &why);
        if (price == 0 || isinf(price)) continue;
        if (n == MOST_SAVEABLE) return;
        value[n++] = v;
    }
    for (uint32_t set = 0; set < 1u << n; set++) {
        bool *saved = gcut_calloc(b->arena, p->g->values.n, 1);
        for (uint32_t k = 0; k < n; k++) saved[value[k]] = set >> k & 1;
        gcut_candidate of = plan_saving(b, saved, NULL);
        check_plan(b, &of);
    }
}

static void graph_body(void *arg)
{
    graph_case *c = arg;
    TRY("graph %u of %u ops", 9000 + c->index, c->ops);
    static graph_gen gen;
    gcut_arena *a = gcut_arena_new(c->env, NULL);
    gcut_graph *g = graph_random(&gen, gcut_module_new(c->env, a), "f", 9000 + c->index, c->ops, NULL, 0);
    gcut_size at[] = {{"N", 96}, {"M", 16}};
    gcut_settings opt = with(c->index % 3 ? NULL : "adamw(lr=0.1)", c->index % 4 ? NULL : "bf16", at, 2);
    opt.threads = 1 + (int)(c->index % 2);
    bounded b = bounded_of(gcut_printf(a, "graph %u of %u ops", c->index, c->ops), g, &opt, a);
    check_candidates(&b);
    if (c->exhaustive)
        check_every_set(&b);
    else
        check_random(&b, 8);
    gcut_arena_free(a);
}

static void random_graphs(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    for (uint32_t i = 0; i < (nightly() ? 50 : GRAPHS); i++)
        must(env, graph_body, &(graph_case){.env = env, .index = i, .ops = 4 + i % 17});
    gcut_env_free(env);
}

/* Neither @f nor its derivative may run twice: bounds take such nodes apart from those that are computed again. */
static const char effects[] =
    "gcut 1\n"
    "func @f[N in 1.., M in 1..](input %x: f32[N, M]) -> (out y: f32[N, M]) {\n"
    "  %y: f32[N, M] = external(%x, kernel=\"cube\", flops=2*N*M, bytes=8*N*M)\n"
    "  return %y\n"
    "}\n"
    "func @f.vjp[N in 1.., M in 1..](input %x: f32[N, M], cotan %dy: f32[N, M]) -> (grad x: f32[N, M]) {\n"
    "  %dx: f32[N, M] = external(%x, %dy, kernel=\"cube_vjp\", flops=3*N*M, bytes=12*N*M)\n"
    "  return %dx\n"
    "}\n"
    "func @g(input %x: f32[512, 96], input %t: i32[512], param %u: f32[96, 96], param %w: f32[96, 512])\n"
    "    -> (out loss: f32[]) {\n"
    "  %h = matmul(%x, %u)\n"
    "  %a = call(@f, %h, vjp=@f.vjp)\n"
    "  %p = matmul(%h, %w)\n"
    "  %c = cross_entropy(%p, %t)\n"
    "  %s = mul(%a, %a)\n"
    "  %r = sum(%s)\n"
    "  %e = mul(%c, %c)\n"
    "  %loss = mul(%e, %r)\n"
    "  return %loss\n"
    "}\n";

static void effects_body(void *arg)
{
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, NULL);
    const gcut_module *m = gcut_parse_module(env, a, "effects", effects, strlen(effects));
    gcut_settings opt = gcut_settings_of(NULL, NULL, 0);
    bounded b = bounded_of("effects", m->graphs.at[2], &opt, a);
    assert_true(b.has_cost);
    check_candidates(&b);
    check_every_set(&b);
    gcut_arena_free(a);
}

static void nodes_with_effects_run_once(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, effects_body, env);
    gcut_env_free(env);
}

/* The peak is at %p, in the forward graph: what is saved of the chain before it is alive, %q and %b are not yet.  Nothing
 * of the backward graph depends on %p. */
static const char forward_peak[] =
    "gcut 1\n"
    "func @f(input %x: f32[256, 64], param %u: f32[64, 64], param %v: f32[64, 64], param %w: f32[64, 64],\n"
    "        param %wide: f32[64, 2048]) -> (out loss: f32[], out most: f32[256], out h2: f32[256, 64]) {\n"
    "  %h1 = matmul(%x, %u)\n"
    "  %a1 = exp(%h1)\n"
    "  %h2 = matmul(%a1, %v)\n"
    "  %p = matmul(%h2, %wide)\n"
    "  %most = max_reduce(%p, axes=[1])\n"
    "  %q = matmul(%x, %w)\n"
    "  %b = exp(%q)\n"
    "  %s = mul(%h2, %b)\n"
    "  %loss = sum(%s, axes=[0, 1])\n"
    "  return %loss, %most, %h2\n"
    "}\n";

/* The peak is in the backward loop: its operands, what it makes, and what the loop before it has saved are alive. */
static const char loop_peak[] =
    "gcut 1\n"
    "func @f(input %x: f32[32, 8, 64], param %u: f32[64, 64], param %w: f32[64, 64]) -> (out loss: f32[]) {\n"
    "  %z = full(shape=[8, 64], value=0.0)\n"
    "  %h, %hs = scan(%z, %x, carries=1) body(%c: f32[8, 64], %s: f32[8, 64]) {\n"
    "    %p = matmul(%c, %u)\n"
    "    %q = add(%p, %s)\n"
    "    %t = tanh(%q)\n"
    "    yield %t, %t\n"
    "  }\n"
    "  %k, %ks = scan(%z, %hs, carries=1) body(%c2: f32[8, 64], %s2: f32[8, 64]) {\n"
    "    %p2 = matmul(%c2, %w)\n"
    "    %q2 = add(%p2, %s2)\n"
    "    %t2 = tanh(%q2)\n"
    "    yield %t2, %t2\n"
    "  }\n"
    "  %sq = mul(%ks, %ks)\n"
    "  %loss = sum(%sq, axes=[0, 1, 2])\n"
    "  return %loss\n"
    "}\n";

/* A function without ops has candidate plans too, and a bound: what is resident. */
static void no_ops_body(void *arg)
{
    gcut_env *env = arg;
    static const char source[] = "gcut 1\nfunc @f(param %w: f32[]) -> (out loss: f32[]) {\n  return %w\n}\n";
    gcut_arena *a = gcut_arena_new(env, NULL);
    gcut_graph *g = gcut_parse_module(env, a, "no ops", source, strlen(source))->graphs.at[0];
    gcut_settings opt = gcut_settings_of(NULL, NULL, 0);
    opt.budget = 1 << 20;
    assert_that(gcut_pipeline_new(g, &opt, GCUT_STAGE_KERNEL, a)->peak_bytes, <=, opt.budget);
    bounded b = bounded_of("no ops", g, &opt, a);
    check_candidates(&b);
    assert_int_equal(b.bound, b.o->resident);
    gcut_arena_free(a);
}

static void no_ops(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, no_ops_body, env);
    gcut_env_free(env);
}

/* No result needs %big, which %r reads and which is larger than all else.  Without the pass dce it stays in the graph; no
 * plan computes it, so no bound may count it. */
static const char unneeded[] =
    "gcut 1\n"
    "func @f(input %x: f32[8, 16], param %w: f32[16, 16], param %v: f32[16, 4096]) -> (out loss: f32[]) {\n"
    "  %h = matmul(%x, %w)\n"
    "  %a = exp(%h)\n"
    "  %big = matmul(%a, %v)\n"
    "  %r = relu(%big)\n"
    "  %loss = sum(%a)\n"
    "  return %loss\n"
    "}\n";

typedef struct fixture {
    const char *name, *text;
    const char *without; /* a pass; NULL: none */
    bool tighter;        /* the bound of a moment is above that of the boundary for some plan */
    gcut_env *env;
} fixture;

static void fixture_body(void *arg)
{
    const fixture *c = arg;
    gcut_arena *a = gcut_arena_new(c->env, NULL);
    gcut_graph *g = gcut_parse_module(c->env, a, c->name, c->text, strlen(c->text))->graphs.at[0];
    gcut_settings opt = gcut_settings_of(NULL, NULL, 0);
    opt.without = &c->without;
    opt.nwithout = c->without != NULL;
    bounded b = bounded_of(c->name, g, &opt, a);
    assert_true(b.has_cost);
    check_candidates(&b);
    check_every_set(&b);
    if (c->tighter) assert_that(b.tighter, >, 0);
    gcut_arena_free(a);
}

static void every_saved_set_of_fixtures(void **state)
{
    (void)state;
    fixture c[] = {{"forward peak", forward_peak, NULL, true, NULL},
                   {"loop peak", loop_peak, NULL, true, NULL},
                   {"unneeded", unneeded, "dce", false, NULL}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        c[i].env = gcut_env_new(NULL, NULL);
        must(c[i].env, fixture_body, &c[i]);
        gcut_env_free(c[i].env);
    }
}

/* Each softmax and the formula of one beside it: kernels store one value where the plan saves two. */
static const char equal_values[] =
    "gcut 1\n"
    "func @f(param %w: f32[64, 256], input %x: f32[512, 64]) -> (out loss: f32[]) {\n"
    "  %h1 = matmul(%x, %w)\n"
    "  %h2 = neg(%h1)\n"
    "  %a1 = softmax(%h1, axis=1)\n"
    "  %m1 = max_reduce(%h1, axes=[1])\n"
    "  %s1 = stop_gradient(%m1)\n"
    "  %e1 = broadcast(%s1, shape=[512, 256], axes=[0])\n"
    "  %d1 = sub(%h1, %e1)\n"
    "  %p1 = exp(%d1)\n"
    "  %q1 = sum(%p1, axes=[1])\n"
    "  %r1 = broadcast(%q1, shape=[512, 256], axes=[0])\n"
    "  %b1 = div(%p1, %r1)\n"
    "  %a2 = softmax(%h2, axis=1)\n"
    "  %m2 = max_reduce(%h2, axes=[1])\n"
    "  %s2 = stop_gradient(%m2)\n"
    "  %e2 = broadcast(%s2, shape=[512, 256], axes=[0])\n"
    "  %d2 = sub(%h2, %e2)\n"
    "  %p2 = exp(%d2)\n"
    "  %q2 = sum(%p2, axes=[1])\n"
    "  %r2 = broadcast(%q2, shape=[512, 256], axes=[0])\n"
    "  %b2 = div(%p2, %r2)\n"
    "  %f1 = sin(%a1)\n"
    "  %f2 = cos(%b1)\n"
    "  %f3 = sin(%a2)\n"
    "  %f4 = cos(%b2)\n"
    "  %g1 = mul(%f1, %f2)\n"
    "  %g2 = mul(%f3, %f4)\n"
    "  %g = mul(%g1, %g2)\n"
    "  %loss = sum(%g)\n"
    "  return %loss\n"
    "}\n";

/* So what a plan saves does not bound its peak, and there is no bound of the cost. */
static void equal_values_body(void *arg)
{
    gcut_env *env = arg;
    static const char *const names[] = {"a1", "b1", "a2", "b2"};
    gcut_arena *a = gcut_arena_new(env, NULL);
    gcut_graph *g =
        gcut_parse_module(env, a, "equal values", equal_values, strlen(equal_values))->graphs.at[0];
    gcut_settings opt = with(NULL, NULL, NULL, 0);
    opt.save = names;
    opt.nsave = 4;
    opt.no_algebra = true; /* the composite's decomposition divides, too */
    bounded b = bounded_of("equal values", g, &opt, a);
    check_candidates(&b);
    assert_false(b.o->bases.at[0]->own_buffers);
    assert_false(b.has_cost);
    bool *saved = gcut_calloc(a, b.o->bases.at[0]->problem->g->values.n, 1);
    gcut_candidate of = plan_saving(&b, saved, NULL);
    check_plan(&b, &of);
    assert_that(of.choice->saved_bytes, ==, 4 * 512 * 256 * 4);
    assert_that(of.peak_bytes, <, b.o->resident + of.choice->saved_bytes);
    opt.budget = of.peak_bytes;
    const gcut_plan *plan = gcut_pipeline_new(g, &opt, GCUT_STAGE_KERNEL, a)->plan;
    assert_that(plan->peak_bytes, <=, of.peak_bytes);
    assert_true(isnan(plan->lower_bound_ns));
    gcut_arena_free(a);
}

static void equal_values_have_one_buffer(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, equal_values_body, env);
    gcut_env_free(env);
}

static void every_saved_set_of_small_graphs(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    for (uint32_t i = 0; i < (nightly() ? 50 : GRAPHS); i++)
        must(env, graph_body, &(graph_case){.env = env, .index = i, .ops = 1 + i % 4, .exhaustive = true});
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_models),
        cmocka_unit_test(published_sizes),
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(every_saved_set_of_small_graphs),
        cmocka_unit_test(every_saved_set_of_fixtures),
        cmocka_unit_test(no_ops),
        cmocka_unit_test(equal_values_have_one_buffer),
        cmocka_unit_test(nodes_with_effects_run_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
