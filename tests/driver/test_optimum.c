/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans of budgets against exact optima, found by trying everything.
 *
 * The space.  A plan of one level decides of each value that the backward graph needs whether it is saved, in which
 * storage format, or recomputed once, just before its first reader.  Which values are needed follows from those
 * decisions, from the results backwards.  for_every_plan goes through all of them, with a rule of its own for what is
 * needed.  Each is lowered: its peak is that of the placed arena, its time that of its kernels, its cost the sum of the
 * partition's prices.
 *
 *   optimum(B)   the least predicted time of the plans of the space with a peak of at most B
 *   cheapest(B)  their least cost
 *
 * Both are exact: kernels interact, so time is not additive, and nothing is left out because of a bound.  A graph is
 * passed over as a whole where it has too many plans, where the fastest plan is also the smallest, so that no budget
 * makes a difference, or larger by so few buffers of 64 bytes that the budgets between them are one and would count
 * several times, and where the plans of loops are decided too.
 *
 * Two decisions are outside of the space: further copies of a recomputed value, or earlier ones, and convolutions with
 * less workspace.  A plan that takes one is beyond the space; it may be faster than optimum(B).
 *
 * What is asked, for each graph and budget B:
 *
 *   - a plan in the space is one of those tried, with the same peak, time and cost; so it is not faster than optimum(B);
 *   - the bound of the cost is at most cheapest(B), that of the peak at most the smallest one;
 *   - in 95 % of all cases the plan takes at most 1.01 optimum(B), and in 1 % at most the budget is refused although a
 *     plan of the space fits.  The search promises neither: it is not exhaustive;
 *   - an optimum is the plan of --save and --recompute with the values that it saves and recomputes.
 *
 * Only what makes and prices a given plan is shared with the search: gcut_choice_saving, the split, lowering, costs.
 *
 * GCUT_SEED=k GCUT_GRAPHS=n tries n graphs from number k on, GCUT_MODEL=name the block of that model; both print every
 * case.
 */
#include "driver/pipeline/compile.h"
#include "harness.h"

#include "driver/options/options.h"
#include "driver/options/plan_options.h"
#include "driver/search/peak_bound.h"
#include "graph/ops/node_facts.h"
#include "graph/rewrite.h"
#include "graph_gen.h"
#include "joint_gen.h"
#include "models/models.h"
#include "partition/plan.h"

enum {
    BUDGETS = 3,
    THREADS = 2,
    MOST_WORST = 12,
    MOST_PLANS = 16384, /* of a random graph */
    QUICK_PLANS = 256,
    ARENA_STEP = 64, /* bytes: peaks of a graph differ by a multiple of it */
};

/* ---- every plan of the space ---- */

/* What a plan does with a value: a gcut_plan_decision, and for SAVED in a further byte the format. */
typedef struct fate {
    unsigned char decision, format;
} fate;

typedef struct point {
    int64_t peak;
    double step, cost;
    const fate *fate; /* by value */
} point;

typedef struct space {
    const char *name;
    gcut_arena *arena;
    gcut_pipeline *p; /* at JOINT */
    gcut_plan_options options;
    gcut_problem *problem;
    uint32_t most, n; /* plans: no more are tried; counted */
    bool counts;      /* them only */
    GCUT_VEC(point) points;
} space;

static bool is_decided(const gcut_problem *p, gcut_ref v)
{
    const gcut_node *n = gcut_def(p->g, v);
    return n && p->facts->side[v] != GCUT_SIDE_BACKWARD && !p->facts->kept[v] &&
           gcut_node_class(n) != GCUT_CLASS_CONSTANT;
}

/* Lowers the plan in a copy of the graph. */
static void add_plan(space *s, const fate *f)
{
    if (s->n++ >= s->most || s->counts) return;
    gcut_pipeline *q = gcut_pipeline_nested(s->p, s->p->joint, s->arena);
    gcut_problem *p = gcut_problem_of_clone(q->arena, s->problem, q->planned);
    const uint32_t values = p->g->values.n;
    p->format = gcut_memdup(q->arena, p->format, values * sizeof *p->format);
    bool *saved = gcut_calloc(q->arena, values, 1);
    for (gcut_ref v = 1; v < values; v++)
        if (is_decided(p, v) && f[v].decision == GCUT_PLAN_SAVED)
            saved[v] = true, p->format[v] = (gcut_format)f[v].format;
    const gcut_choice *c = gcut_choice_saving(p, q->arena, saved, NULL, 0);
    for (gcut_ref v = 1; v < values; v++)
        if (is_decided(p, v)) assert_int_equal(c->decision[v], f[v].decision);
    gcut_pipeline_split(q, gcut_plan_from(p, &s->options, c), q->primal->name);
    gcut_pipeline_lower(q);
    *GCUT_PUSH(s->arena, &s->points) = (point){.peak = q->peak_bytes,
                                               .step = q->plan->step_ns,
                                               .cost = c->fixed_ns,
                                               .fate = gcut_memdup(s->arena, f, values * sizeof *f)};
    gcut_arena_free(q->arena);
}

/* Decides the results of node i from number k on, then those of the nodes before it.  `again`: some result of it is
 * recomputed.  need, f: by value. */
static void decide(space *s, uint32_t i, uint32_t k, bool again, bool *need, fate *f)
{
    const gcut_problem *p = s->problem;
    const gcut_node *n = gcut_node_at(p->g, i);
    if (s->n > s->most) return;
    if (k == n->nres) {
        bool was[n->nargs + 1u];
        for (uint32_t a = 0; again && a < n->nargs; a++)
            was[a] = need[gcut_arg(p->g, n, a)], need[gcut_arg(p->g, n, a)] = true;
        if (i > 0)
            decide(s, i - 1, 0, false, need, f);
        else
            add_plan(s, f);
        for (uint32_t a = n->nargs; again && a-- > 0;) need[gcut_arg(p->g, n, a)] = was[a];
        return;
    }
    const gcut_ref v = n->res0 + k;
    f[v] = (fate){GCUT_PLAN_UNUSED, 0};
    if (!is_decided(p, v) || !need[v]) {
        decide(s, i, k + 1, again, need, f);
        return;
    }
    if (gcut_node_class(n) != GCUT_CLASS_VIEW) {
        /* In a gradient's memory it costs nothing: there is no choice. */
        const gcut_format other = gcut_other_format(p, v);
        f[v] = (fate){GCUT_PLAN_SAVED, (unsigned char)other};
        decide(s, i, k + 1, again, need, f);
        f[v].format = GCUT_FORMAT_PLAIN;
        if (other == GCUT_FORMAT_BITS) decide(s, i, k + 1, again, need, f);
    }
    if (isinf(p->price[v].recompute_ns) || gcut_value_runs_once(p->g, v)) return;
    f[v] = (fate){GCUT_PLAN_RECOMPUTED, 0};
    decide(s, i, k + 1, true, need, f);
}

/* Counts all plans, then tries them; false where they are too many. */
static bool for_every_plan(space *s)
{
    const gcut_problem *p = s->problem;
    const uint32_t values = p->g->values.n;
    for (int pass = 0; pass < 2 && s->n <= s->most; pass++) {
        fate *f = gcut_calloc(s->arena, values, sizeof *f);
        s->n = 0;
        s->counts = pass == 0;
        decide(s, p->g->nodes.n - 1, 0, false, gcut_memdup(s->arena, p->facts->read, values), f);
    }
    return s->n <= s->most;
}

/* The fastest of those that fit; of equally fast ones the smallest.  NULL: none fits. */
static const point *optimum(const space *s, int64_t budget)
{
    const point *best = NULL;
    for (uint32_t i = 0; i < s->points.n; i++) {
        const point *x = &s->points.at[i];
        if (x->peak > budget) continue;
        if (!best || x->step < best->step || (x->step == best->step && x->peak < best->peak)) best = x;
    }
    return best;
}

static double cheapest(const space *s, int64_t budget)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < s->points.n; i++)
        if (s->points.at[i].peak <= budget) least = fmin(least, s->points.at[i].cost);
    return least;
}

static int64_t smallest(const space *s)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < s->points.n; i++)
        if (s->points.at[i].peak < least) least = s->points.at[i].peak;
    return least;
}

static bool is_beyond(const space *s, const gcut_plan *plan)
{
    bool beyond = false;
    for (gcut_ref v = 1; v < s->problem->g->values.n; v++) beyond |= plan->value[v].less_workspace;
    const gcut_recomputations *again = gcut_recomputations_of(s->problem, s->arena, plan);
    for (uint32_t i = 0; i <= s->problem->facts->norder; i++) beyond |= again[i].n > 0;
    return beyond;
}

/* The plan among those tried; NULL: it is none of them. */
static const point *find(const space *s, const gcut_plan *plan)
{
    for (uint32_t i = 0; i < s->points.n; i++) {
        const fate *f = s->points.at[i].fate;
        bool same = true;
        for (gcut_ref v = 1; same && v < s->problem->g->values.n; v++) {
            const gcut_decision *d = &plan->value[v];
            if (!is_decided(s->problem, v)) continue;
            same =
                f[v].decision == d->decision && (d->decision != GCUT_PLAN_SAVED || f[v].format == d->format);
        }
        if (same) return &s->points.at[i];
    }
    return NULL;
}

/* ---- one graph, three budgets ---- */

typedef struct shortfall {
    char name[80];
    int64_t budget;
    double ratio; /* to the optimum; INFINITY: refused */
} shortfall;

typedef struct tally {
    const char *what;
    uint32_t graphs, cases, within, at, refused, beyond, faster, bounds, replays;
    uint64_t plans;
    shortfall worst[MOST_WORST]; /* falling ratios */
    uint32_t nworst;
    bool tells; /* every case */
} tally;

static void add_shortfall(tally *t, const char *name, int64_t budget, double ratio)
{
    if (t->nworst == MOST_WORST && t->worst[MOST_WORST - 1].ratio >= ratio) return;
    uint32_t i = t->nworst < MOST_WORST ? t->nworst++ : MOST_WORST - 1;
    for (; i > 0 && t->worst[i - 1].ratio < ratio; i--) t->worst[i] = t->worst[i - 1];
    t->worst[i] = (shortfall){.budget = budget, .ratio = ratio};
    snprintf(t->worst[i].name, sizeof t->worst[i].name, "%s", name);
}

static void tell(const space *s, const char *whose, const point *x)
{
    printf("  %s, %lld bytes, %.6g ns, saves", whose, (long long)x->peak, x->step);
    for (gcut_ref v = 1; v < s->problem->g->values.n; v++)
        if (is_decided(s->problem, v) && x->fate[v].decision == GCUT_PLAN_SAVED)
            printf(" %%%s%s", s->problem->g->values.at[v].name,
                   x->fate[v].format == GCUT_FORMAT_BITS ? ":bits" : "");
    printf("\n");
}

static void end_kernels(void *arg)
{
    gcut_pipeline_continue(arg, GCUT_STAGE_KERNEL);
}

static void check_budget(tally *t, const space *s, gcut_graph *g, int64_t budget)
{
    TRY("%s, budget %lld", s->name, (long long)budget);
    gcut_settings opt = s->p->opt;
    opt.budget = budget;
    gcut_pipeline *q = gcut_pipeline_new(g, &opt, GCUT_STAGE_JOINT, s->arena);
    const point *best = optimum(s, budget), *mine = NULL;
    double ratio = INFINITY;
    const gcut_status status = gcut_protect(s->p->env, end_kernels, q);
    if (status != GCUT_OK) {
        assert_int_equal(status, GCUT_EPLAN);
        assert_that(q->peak_bytes, >, budget);
        gcut_diags_clear(s->p->env);
        t->refused++;
    } else {
        const gcut_plan *plan = q->plan;
        assert_that(q->peak_bytes, <=, budget);
        ratio = plan->step_ns / best->step;
        if (is_beyond(s, plan)) {
            t->beyond++;
            t->faster += ratio < 1;
        } else {
            mine = find(s, plan);
            assert_non_null(mine);
            assert_that(mine->peak, ==, q->peak_bytes);
            assert_that(mine->step, ==, plan->step_ns);
            assert_within(mine->cost, plan->cost_ns, 1e-9 * mine->cost + 1e-9);
            assert_that(ratio, >=, 1);
        }
        if (!isnan(plan->lower_bound_ns)) {
            t->bounds++;
            assert_that(plan->lower_bound_ns, <=, cheapest(s, budget) * (1 + 1e-9));
        }
    }
    t->cases++;
    t->within += ratio <= 1.01;
    t->at += ratio <= 1;
    if (ratio > 1.01) add_shortfall(t, s->name, budget, ratio);
    if (!t->tells) return;
    printf("%s, budget %lld: %.2f %% above the optimum, %s\n", s->name, (long long)budget, 100 * (ratio - 1),
           status == GCUT_OK ? q->plan->label
                             : gcut_printf(s->arena, "refused at %lld", (long long)q->peak_bytes));
    if (ratio > 1) tell(s, "the optimum", best);
    if (ratio > 1 && mine) tell(s, "the plan", mine);
}

static const char *text_of(const space *s, const gcut_graph *g)
{
    gcut_text t = {.arena = s->arena};
    gcut_print_graph(g, &(gcut_print_options){.no_loc = true}, &t);
    return t.at;
}

/* A user gets the same by naming all that is saved and recomputed, unless a format is not that of the price, or passes
 * keep a value because it is named, so that the joint graph is another.  Returns whether it was tried. */
static bool check_replay(const space *s, gcut_graph *g, const point *x)
{
    const gcut_problem *p = s->problem;
    const char **save = gcut_calloc(s->arena, p->g->values.n, sizeof *save);
    const char **recompute = gcut_calloc(s->arena, p->g->values.n, sizeof *recompute);
    gcut_settings opt = s->p->opt;
    for (gcut_ref v = 1; v < p->g->values.n; v++) {
        const char *name = p->g->values.at[v].name;
        if (!is_decided(p, v) || gcut_value_is(p->g, v, GCUT_CLASS_VIEW)) continue;
        if (x->fate[v].decision == GCUT_PLAN_SAVED && x->fate[v].format != p->format[v]) return false;
        if (x->fate[v].decision == GCUT_PLAN_SAVED) save[opt.nsave++] = name;
        if (x->fate[v].decision == GCUT_PLAN_RECOMPUTED) recompute[opt.nrecompute++] = name;
    }
    opt.save = save;
    opt.recompute = recompute;
    const gcut_pipeline *q = gcut_pipeline_new(g, &opt, GCUT_STAGE_KERNEL, s->arena);
    if (strcmp(text_of(s, q->joint), text_of(s, s->p->joint)) != 0) return false;
    assert_that(q->peak_bytes, ==, x->peak);
    assert_that(q->plan->step_ns, ==, x->step);
    return true;
}

typedef struct job {
    tally *t;
    gcut_env *env;
    gcut_arena *arena;
    uint32_t number;                /* of a random graph */
    const char *name, *from, *last; /* of a block */
    gcut_graph *g;
    gcut_settings opt;
    gcut_pipeline *p; /* at JOINT */
    uint32_t most;    /* plans */
} job;

static void find_joint(void *arg)
{
    job *j = arg;
    j->p = gcut_pipeline_new(j->g, &j->opt, GCUT_STAGE_JOINT, j->arena);
}

static void try_graph(job *j)
{
    space s = {.name = j->name, .most = j->most, .p = j->p, .arena = j->p->arena};
    s.options = gcut_pipeline_plan_options(s.p);
    if (gcut_pipeline_loops(s.p, &s.options) != s.p->joint || s.p->joint->nodes.n == 0) return;
    s.problem = gcut_problem_new(s.arena, s.p->joint, &s.options);
    if (!for_every_plan(&s)) return;
    const point *fastest = optimum(&s, INT64_MAX);
    const int64_t least = smallest(&s), room = fastest->peak - least;
    if (room < BUDGETS * ARENA_STEP) return;
    assert_that(gcut_peak_bound(s.p), <=, least);
    j->t->graphs++;
    j->t->plans += s.n;
    j->t->replays += check_replay(&s, j->g, fastest);
    j->t->replays += check_replay(&s, j->g, optimum(&s, least));
    for (int64_t k = 0; k < BUDGETS; k++) check_budget(j->t, &s, j->g, least + room * k / BUDGETS);
}

static void report(const tally *t)
{
    printf("%s: %u graphs of %llu plans, %u budgets: %u plans within 1 %% of the optimum (%u not above it), "
           "%u budgets "
           "refused although a plan fits, %u plans beyond the space (%u of them faster), %u bounds, %u "
           "optima replayed\n",
           t->what, t->graphs, (unsigned long long)t->plans, t->cases, t->within, t->at, t->refused,
           t->beyond, t->faster, t->bounds, t->replays);
    for (uint32_t i = 0; i < t->nworst; i++)
        printf("  %s, budget %lld: %.2f %% above the optimum\n", t->worst[i].name,
               (long long)t->worst[i].budget, 100 * (t->worst[i].ratio - 1));
    assert_that(t->bounds, >, 0);
    assert_that(t->replays, >, 0);
    /* Of the few cases of a sanitized run one may be another. */
    assert_that(t->cases - t->within, <=, fmax(1, 0.05 * t->cases));
    assert_that(t->refused, <=, fmax(1, 0.01 * t->cases));
}

/* ---- random graphs ---- */

/* Products by one weight, elementwise ops, sums along rows and normalisations of matrices; what none of them reads is
 * part of the loss. */
static gcut_graph *random_layers(gcut_module *m, uint64_t seed, uint32_t ops)
{
    gcut_graph *g = gcut_graph_create(m, "f");
    joint_gen r = {.b = {.g = g}, .seed = seed * UINT64_C(0x9E3779B97F4A7C15) + 1, .rows = 1024, .cols = 128};
    gcut_type mat = {.dtype = GCUT_F32, .rank = 2, .dim = {r.rows, r.cols}};
    gcut_type square = {.dtype = GCUT_F32, .rank = 2, .dim = {r.cols, r.cols}};
    for (int k = 0; k < 8; k++) draw(&r, 2);
    r.weight = gcut_param_new(g, GCUT_ROLE_param, "w", &square);
    r.mat[r.nmat++] = gcut_param_new(g, GCUT_ROLE_input, "x", &mat);
    r.mat[r.nmat++] = gcut_bmatmul(&r.b, r.mat[0], r.weight, false, false);
    while (g->nodes.n + 2 < ops) forward_node(&r);
    bool *read = gcut_calloc(m->arena, g->values.n, 1);
    for (uint32_t i = 0; i < g->nodes.n; i++)
        for (uint32_t k = 0; k < gcut_node_at(g, i)->nargs; k++)
            read[gcut_arg(g, gcut_node_at(g, i), k)] = true;
    gcut_ref sum = r.mat[r.nmat - 1];
    for (uint32_t i = 1; i + 1 < r.nmat; i++)
        if (!read[r.mat[i]]) sum = gcut_b2(&r.b, GCUT_OP_add, sum, r.mat[i]);
    for (uint32_t i = 0; i < r.nrow; i++)
        if (!read[r.row[i]]) sum = gcut_b2(&r.b, GCUT_OP_mul, sum, spread(&r, r.row[i]));
    gcut_result_new(g, GCUT_ROLE_out, "loss", gcut_breduce(&r.b, GCUT_OP_sum, sum, 3));
    return g;
}

/* Even numbers: ops of the whole table.  Odd ones: layers. */
static void random_case(void *arg)
{
    job *j = arg;
    static graph_gen gen;
    static const gcut_size at[] = {{"N", 1024}, {"M", 64}};
    const uint32_t k = j->number / 2;
    gcut_module *m = gcut_module_new(j->env, j->arena);
    j->opt = gcut_settings_of(NULL, NULL, 0);
    j->opt.threads = THREADS;
    j->opt.at = at;
    j->opt.nat = j->number % 2 ? 0 : 2;
    j->g = j->number % 2 ? random_layers(m, j->number, 8 + k % 20)
                         : graph_random(&gen, m, "f", 5000 + j->number, 2 + k % 6, NULL, 0);
    j->name = gcut_printf(j->arena, "graph %u of %u nodes", j->number, j->g->nodes.n);
    TRY("%s", j->name);
    if (j->g->nodes.n < 8 || j->g->nodes.n > 30) return;
    if (gcut_protect(j->env, find_joint, j) == GCUT_OK)
        try_graph(j);
    else
        gcut_diags_clear(j->env); /* its loss depends on no parameter */
}

static uint32_t setting(const char *name, uint32_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? (uint32_t)strtoul(s, NULL, 10) : otherwise;
}

/* As many of either kind. */
static void random_graphs(void **state)
{
    (void)state;
    const bool chosen = getenv("GCUT_SEED");
    const uint32_t first = setting("GCUT_SEED", 0), graphs = setting("GCUT_GRAPHS", nightly() ? 500 : GRAPHS);
    if (getenv("GCUT_MODEL")) skip();
    tally t = {.what = "random graphs", .tells = chosen};
    gcut_env *env = gcut_env_new(NULL, NULL);
    for (uint32_t i = first; t.graphs < graphs; i++) {
        if ((i - first) % 2 != t.graphs % 2) continue;
        job j = {.t = &t, .env = env, .arena = gcut_arena_new(env, NULL), .number = i};
        j.most = nightly() || chosen ? MOST_PLANS : QUICK_PLANS;
        must(env, random_case, &j);
        gcut_arena_free(j.arena);
    }
    gcut_env_free(env);
    report(&t);
}

/* Of 49 the optimum saves masks that are not packed, of 1849 a mask in place of the value that it is computed from. */
static void masks_are_flipped(void **state)
{
    (void)state;
    static const uint32_t number[] = {49, 1849};
    if (getenv("GCUT_MODEL") || getenv("GCUT_SEED")) skip();
    tally t = {.what = "masks"};
    gcut_env *env = gcut_env_new(NULL, NULL);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        job j = {
            .t = &t, .env = env, .arena = gcut_arena_new(env, NULL), .number = number[i], .most = MOST_PLANS};
        must(env, random_case, &j);
        gcut_arena_free(j.arena);
    }
    gcut_env_free(env);
    assert_that(t.graphs, ==, 2);
    assert_that(t.within, ==, t.cases);
}

/* ---- the first block of each model ---- */

/* At the first of the model's sizes.  A block ends where its plans can still be counted; RNN and LSTM begin with a
 * loop. */
typedef struct block {
    const char *model, *from, *last; /* values: what the block reads, NULL: inputs of the model; its result */
    bool quick;                      /* tried by the tests, the others nightly */
} block;

static const block blocks[] = {
    {"mlp", NULL, "cross_entropy", false},
    {"autoencoder", NULL, "encoder.relu.3", false},
    {"vae", NULL, "encoder.add", false},
    {"lenet", NULL, "features.avg_pool2d.2", true},
    {"resnet", "stem.conv.conv2d", "stem.relu", false},
    {"mobilenet", "first.bn.batch_norm", "block0.depth.conv2d", true},
    {"unet", NULL, "down0.max_pool2d", true},
    {"vit", "embedding.add", "block0.add", false},
    {"gpt2", "embedding.add", "block0.add", false},
    {"bert", "block0.ln1.layer_norm", "block0.add.2", false},
    {"llama", NULL, "block0.add", false},
};

/* What `last` needs of g, the sum of its squares as the loss, and states that are updated on the way. */
static gcut_graph *block_of(const gcut_graph *g, const char *from, const char *last)
{
    gcut_arena *a = g->module->arena;
    const gcut_ref end = gcut_graph_find(g, last), given = from ? gcut_graph_find(g, from) : 0;
    assert_true(end && (given || !from));
    bool *need = gcut_calloc(a, g->values.n, 1);
    gcut_ref *map = gcut_calloc(a, g->values.n, sizeof *map);
    need[end] = true;
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        need[given] = false;
        for (uint32_t k = 0; gcut_any_result(n, need) && k < n->nargs; k++) need[gcut_arg(g, n, k)] = true;
    }
    gcut_graph *b = gcut_graph_shell(g, gcut_printf(a, "%s.block", g->name));
    if (given) map[given] = gcut_param_new(b, GCUT_ROLE_param, "given", gcut_type_of(g, given));
    for (uint32_t i = 0; i < g->params.n; i++)
        if (need[g->params.at[i].value]) gcut_param_copy(b, g, i, map);
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (gcut_any_result(gcut_node_at(g, i), need)) gcut_node_copy_to(b, g, i, map);
    gcut_build to = {.g = b};
    gcut_ref loss = map[end];
    const uint32_t rank = gcut_type_of(b, loss)->rank;
    if (rank) loss = gcut_breduce(&to, GCUT_OP_sum, gcut_b2(&to, GCUT_OP_mul, loss, loss), (1u << rank) - 1);
    gcut_result_new(b, GCUT_ROLE_out, "loss", loss);
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_next && map[g->results.at[i].value])
            gcut_result_copy(b, g, i, map);
    return b;
}

static void block_case(void *arg)
{
    job *j = arg;
    TRY("%s", j->name);
    const uint32_t before = j->t->graphs;
    j->g = block_of(j->g, j->from, j->last);
    find_joint(j);
    try_graph(j);
    assert_that(j->t->graphs, >, before);
}

static void first_blocks(void **state)
{
    (void)state;
    const char *only = getenv("GCUT_MODEL");
    if (getenv("GCUT_SEED")) skip();
    tally t = {.what = "first blocks", .tells = only};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        const block *b = &blocks[i];
        if (only ? strcmp(only, b->model) != 0 : !b->quick && !nightly()) continue;
        const model *m = model_find(b->model);
        const gcut_size at[] = {{"N", m->batch}, {"T", m->length}};
        int64_t parameters;
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        job j = {.t = &t, .from = b->from, .last = b->last, .most = UINT32_MAX};
        j.opt = gcut_settings_of(NULL, NULL, 0);
        j.opt.threads = THREADS;
        j.opt.at = at;
        j.opt.nat = m->length ? 2 : 1;
        j.g = model_graph(m, 0, GCUT_F32, ctx, &parameters);
        assert_non_null(j.g);
        j.env = j.g->module->env;
        j.arena = j.env->arena;
        j.name = gcut_printf(j.arena, "%s up to %%%s", b->model, b->last);
        must(j.env, block_case, &j);
        gcut_ctx_free(ctx);
    }
    report(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(masks_are_flipped),
        cmocka_unit_test(first_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
