/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Budgets on the peak of every model of tests/models, from the smallest that can be met to that of save-all:
 * the peak is within the budget, and no lower where the budget is higher, as is the predicted time the other
 * way round; what is predicted is what the arena shows after a run and what the allocator of the process saw;
 * results are those of save-all, bit for bit.  Random graphs: bounds hold for every candidate plan.
 *
 * The allocator's word needs tests/aot/high_water.c preloaded, as ctest does; else it is not asked.
 */
#define _GNU_SOURCE
#include "driver/pipeline/compile.h"
#include "runs.h"

#include <dirent.h>
#include <dlfcn.h>

#include "driver/options/options.h"
#include "driver/search/budget_search.h"
#include "driver/search/peak_bound.h"
#include "driver/load/step.h"
#include "graph_gen.h"
#include "nightly.h"
#include "partition/cut/frontier.h"
#include "public.h"

enum { THREADS = 2 };

static int budgets(void)
{
    return nightly() ? 8 : 3;
}

static int part = 0, parts = 1; /* of the models and graphs: test_budget PART PARTS */

static long long (*reset_mark)(void), (*read_mark)(void);

static gcut_options with_budget(int64_t budget)
{
    gcut_options o = {0};
    o.budget = budget;
    o.threads = THREADS;
    return o;
}

/* As the library works with them: what takes a pipeline takes these. */
static gcut_settings read_options(gcut_options o)
{
    return gcut_settings_of(NULL, &o, sizeof o);
}

/* ---- the process's own allocations ---- */

/* A block of exactly so many bytes, with the same contents as another. */
static void *same_block(const void *from, int64_t bytes, size_t align)
{
    void *p = align ? aligned_alloc(align, (size_t)bytes) : malloc((size_t)bytes);
    if (bytes) assert_non_null(p);
    if (from && bytes) memcpy(p, from, (size_t)bytes);
    return p;
}

/* Runs the step once more in memory of our own, block by block: the most that the process has at once beyond
 * what it had before is the predicted peak, to the byte. */
static void weigh(run_case *c, gcut_step *s, int64_t predicted)
{
    if (!reset_mark || !read_mark) return;
    uint32_t n;
    void *mine[MAX_VALUES], *value[MAX_VALUES] = {0};
    assert_true(s->nslots <= MAX_VALUES);
    const gcut_binding_info *b = gcut_program_bindings(s->p->program, &n);
    gcut_rt_error err = {0};
    long long before = reset_mark();
    for (uint32_t k = 0; k < s->nslots; k++) mine[k] = same_block(s->slot[k].at, s->slot[k].bytes, 0);
    void *arena = same_block(NULL, s->arena_bytes, 64);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < s->nslots; k++) {
            bool grad = b[i].role == GCUT_ROLE_grad;
            const char *name = s->slot[k].name;
            if (grad == (s->slot[k].role == GCUT_ROLE_grad) && !strcmp(b[i].name, grad ? name + 5 : name))
                value[i] = mine[k];
        }
    assert_int_equal(s->entry->run(s->plan, value, NULL, arena, GCUT_RT_STEP, &err), GCUT_RT_OK);
    long long most = read_mark() - before;
    CHECK(c, most == predicted, "the process allocated %lld bytes, predicted %lld", most,
          (long long)predicted);
    for (uint32_t k = 0; k < s->nslots; k++) free(mine[k]);
    free(arena);
}

/* ---- models ---- */

/* Compiles and runs a candidate; what it measures is what was predicted. */
static void run_candidate(run_case *c, gcut_candidates *o, gcut_candidate *of, outcome *out)
{
    int64_t peak = gcut_candidate_peak(o, of);
    gcut_pipeline *q = gcut_candidate_lower(o, of, o->arena);
    gcut_step *s = gcut_step_of_pipeline(q, q->arena);
    CHECK(c, q->peak_bytes == peak, "%s peaks at %lld and at %lld", of->label, (long long)peak,
          (long long)q->peak_bytes);
    gcut_step_prepare(s);
    gcut_step_run(s, GCUT_RT_STEP);
    gcut_stats st = *gcut_step_stats(s);
    CHECK(c, st.predicted_bytes == peak, "the step predicts %lld, the plan %lld",
          (long long)st.predicted_bytes, (long long)peak);
    CHECK(c, st.peak_bytes == peak, "measured %lld, predicted %lld", (long long)st.peak_bytes,
          (long long)peak);
    collect(s, out);
    weigh(c, s, peak);
    gcut_arena_free(q->arena);
}

/* The budget of an option, by way of the public API: no slower than the first candidate that fits. */
static void no_worse_plan(run_case *c, int64_t budget, const gcut_candidate *of)
{
    gcut_options o = with_budget(budget);
    const gcut_plan *plan = gcut_plan_new(c->g, &o);
    if (!CHECK(c, plan, "budget %lld cannot be met", (long long)budget)) return;
    CHECK(c, plan->peak_bytes <= budget && plan->step_ns <= of->step_ns && plan->budget == budget,
          "budget %lld: peak %lld and %g ns, the candidate %lld and %g", (long long)budget,
          (long long)plan->peak_bytes, plan->step_ns, (long long)of->peak_bytes, of->step_ns);
    CHECK(c, isnan(plan->lower_bound_ns) || plan->lower_bound_ns <= plan->cost_ns, "bound over cost");
}

/* The smallest peak that a refused budget names: no higher than any candidate's, met as a budget, refused with a
 * byte less.  Returns it. */
static int64_t infeasible(run_case *c, int64_t lo)
{
    gcut_options o = with_budget(1);
    char *text = NULL;
    int64_t least = lo;
    for (int k = 0; k < 2; k++) {
        CHECK(c, !gcut_plan_new(c->g, &o), "a budget below the smallest peak is met");
        const gcut_env *env =
            c->g->module->env; /* gcut_last_error is of calls from outside of gcut_protect */
        CHECK(c, env->status == GCUT_EPLAN, "status %d", (int)env->status);
        free(text);
        text = strdup(gcut_error(c->ctx, gcut_error_count(c->ctx) - 1));
        for (char *s = text, *t = text; (*t = *s); s++) t += *s != ','; /* 34,048 -> 34048 */
        const char *is = strstr(text, "plans tried) is ");
        int64_t said = is ? atoll(is + strlen("plans tried) is ")) : -1;
        CHECK(c, said > 0 && said <= least && (k == 0 || said == least),
              "%lld candidates' smallest, it says %s", (long long)least, text);
        CHECK(c, strstr(text, "alive") && strstr(text, "parameters"), "it says %s", text);
        gcut_clear_errors(c->ctx);
        least = said;
        o.budget = least - 1;
    }
    free(text);
    o.budget = least;
    const gcut_plan *plan = gcut_plan_new(c->g, &o);
    CHECK(c, plan && plan->peak_bytes <= least, "the smallest peak, %lld, is not met", (long long)least);
    return least;
}

/* GCUT_BUDGET_MIN is the budget of the smallest peak that a refused one names: the same plan, byte for byte.  The frontier
 * ends there. */
static void smallest(run_case *c, int64_t lo)
{
    gcut_options o = with_budget(GCUT_BUDGET_MIN);
    gcut_plan *least = gcut_plan_new(c->g, &o);
    o.budget = lo;
    gcut_plan *named = gcut_plan_new(c->g, &o);
    if (!CHECK(c, least && named, "the smallest peak is refused")) return;
    CHECK(c, least->peak_bytes == lo && least->budget == lo, "the smallest peak is %lld, not %lld",
          (long long)least->peak_bytes, (long long)lo);
    char *a = gcut_plan_json(least), *b = gcut_plan_json(named);
    CHECK(c, a && b && !strcmp(a, b), "the smallest peak has another plan than its budget");
    gcut_free(a);
    gcut_free(b);
    o.budget = 0;
    const gcut_frontier_options how = {.points = 2};
    gcut_frontier *f = gcut_frontier_new(c->g, &o, &how);
    int64_t end = INT64_MAX;
    for (size_t i = 0; f && i < f->n; i++)
        if (!f->point[i]->baseline && f->point[i]->peak_predicted < end) end = f->point[i]->peak_predicted;
    CHECK(c, end == least->peak_bytes, "the frontier ends at %lld, the smallest peak is %lld", (long long)end,
          (long long)least->peak_bytes);
    gcut_free(f);
}

/* A larger budget takes no longer, but for what a local search may miss: 1 %. */
static void rises(run_case *c, int64_t from, int64_t to)
{
    double best = INFINITY;
    for (int k = 0; k <= budgets(); k++) {
        gcut_options o = with_budget(from + (to - from) * k / budgets());
        gcut_plan *plan = gcut_plan_new(c->g, &o);
        if (!CHECK(c, plan, "the budget %lld is refused", (long long)o.budget)) return;
        CHECK(c, plan->step_ns <= best * 1.01, "budget %lld: %g ns, a smaller one %g ns", (long long)o.budget,
              plan->step_ns, best);
        best = fmin(best, plan->step_ns);
        gcut_plan_free(plan);
    }
}

/* At no policy's peak is there anything slower than that policy. */
static void beats_policies(run_case *c, gcut_candidates *o)
{
    gcut_candidate *of;
    uint32_t n = gcut_candidates_policies(o, &of);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = gcut_candidates_fit(o, gcut_candidate_peak(o, &of[k]), NULL);
        CHECK(c, i != GCUT_NONE && o->list.at[i].step_ns <= of[k].step_ns, "%s is faster than ours",
              of[k].label);
    }
}

/* The candidate chosen is the fastest of those that are compared with the budget and fit, among them all plans of policies;
 * not all candidates are compared. */
static void check_choice(gcut_candidates *o, int64_t budget)
{
    const gcut_candidate *at = o->list.at;
    bool *compared = gcut_calloc(o->arena, o->list.n, sizeof *compared);
    const uint32_t fit = gcut_candidates_fit(o, budget, compared);
    uint32_t n = 0;
    assert_that(fit, !=, GCUT_NONE);
    assert_true(compared[fit] && at[fit].peak_bytes <= budget);
    for (uint32_t i = 0; i < o->list.n; i++) {
        assert_true(compared[i] || !at[i].of_policy || gcut_candidate_least(o, &at[i]) > budget);
        if (!compared[i]) continue;
        n++;
        assert_true(at[i].peak_bytes >= 0);
        assert_true(at[i].peak_bytes > budget || at[i].step_ns >= at[fit].step_ns);
    }
    assert_that(n, <, o->list.n);
}

/* Where candidates are too many to lower all of them, in the order of their prices and in the opposite one, which misleads
 * a search. */
static void choose_of_many(void *arg)
{
    run_case *c = arg;
    gcut_settings opt = read_options(with_budget(0));
    gcut_pipeline *p = gcut_pipeline_new(c->g, &opt, GCUT_STAGE_JOINT, c->g->module->env->arena);
    gcut_candidates *o = gcut_candidates_of(p, gcut_arena_new(p->env, p->arena));
    const int64_t all = gcut_candidate_peak(o, &o->list.at[0]);
    assert_false(gcut_candidates_are_few(o));
    for (int percent = 99; percent >= 60; percent -= 3) check_choice(o, all * percent / 100);
    beats_policies(c, o);
    for (uint32_t i = 0, j = o->list.n - 1; i < j; i++, j--) {
        const gcut_candidate x = o->list.at[i];
        o->list.at[i] = o->list.at[j];
        o->list.at[j] = x;
    }
    for (int percent = 99; percent >= 60; percent -= 3) check_choice(o, all * percent / 100);
}

static void many_candidates(void **state)
{
    (void)state;
    enum { LAYERS = 100, LAYER_BYTES = 160 };
    if (part) skip();
    char *text = malloc((LAYERS + 4) * LAYER_BYTES), *end = text;
    assert_non_null(text);
    end += sprintf(
        end, "gcut 1\nfunc @f(param %%u: f32[64, 256], param %%d: f32[256, 64], input %%h0: f32[1000, 64])\n"
             "    -> (out loss: f32[]) {\n");
    for (int k = 0; k < LAYERS; k++)
        end += sprintf(end,
                       "  %%a%d = matmul(%%h%d, %%u)\n  %%t%d = tanh(%%a%d)\n  %%m%d = matmul(%%t%d, %%d)\n"
                       "  %%h%d = add(%%h%d, %%m%d)\n",
                       k, k, k, k, k, k, k + 1, k, k);
    sprintf(end, "  %%loss = sum(%%h%d)\n  return %%loss\n}\n", LAYERS);
    run_case c = {.what = "a chain", .ctx = gcut_ctx_new(NULL)};
    c.g = gcut_parse(c.ctx, text, strlen(text), "chain", NULL);
    if (!c.g) fail_msg("%s", gcut_last_error(c.ctx));
    must(c.g->module->env, choose_of_many, &c);
    assert_int_equal(c.nwrong, 0);
    gcut_ctx_free(c.ctx);
    free(text);
}

static void check_model(void *arg)
{
    run_case *c = arg;
    static outcome want, got;
    gcut_settings opt = read_options(with_budget(0));
    gcut_pipeline *p = gcut_pipeline_new(c->g, &opt, GCUT_STAGE_JOINT, c->g->module->env->arena);
    gcut_candidates *o = gcut_candidates_of(p, gcut_arena_new(p->env, p->arena));
    gcut_candidates_lower(o, NULL, NULL);
    gcut_candidate all = gcut_candidate_policy(o, GCUT_POLICY_SAVE_ALL, 0);
    run_candidate(c, o, &all, &want);
    beats_policies(c, o);
    int64_t lo = INT64_MAX, last = -1;
    double last_ns = INFINITY;
    for (uint32_t i = 0; i < o->list.n; i++)
        if (o->list.at[i].peak_bytes < lo) lo = o->list.at[i].peak_bytes;
    if (c->refused) {
        const int64_t least = infeasible(c, lo);
        smallest(c, least);
        rises(c, least, all.peak_bytes);
    }
    for (int k = 0; k < budgets(); k++) {
        int64_t budget = lo + (all.peak_bytes - lo) * k / (budgets() - 1);
        uint32_t i = gcut_candidates_fit(o, budget, NULL);
        if (!CHECK(c, i != GCUT_NONE, "nothing fits %lld", (long long)budget)) return;
        gcut_candidate *of = &o->list.at[i];
        CHECK(c, of->peak_bytes <= budget && of->peak_bytes >= last, "peak %lld after %lld, budget %lld",
              (long long)of->peak_bytes, (long long)last, (long long)budget);
        CHECK(c, of->step_ns <= last_ns, "time rises from %g to %g", last_ns, of->step_ns);
        if (k == 0 || k == budgets() / 2) no_worse_plan(c, budget, of);
        last_ns = of->step_ns;
        if (of->peak_bytes == last) continue;
        last = of->peak_bytes;
        if (k % 4 && !nightly()) continue; /* the C compiler takes long */
        run_candidate(c, o, of, &got);
        same_bits(c, of->label, budget, &got, &want);
    }
    forget(&want);
    forget(&got);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void models_keep_their_budgets(void **state)
{
    (void)state;
    char *names[64], path[512];
    size_t n = 0;
    int nwrong = 0;
    DIR *d = opendir(GCUT_SOURCE_DIR "/tests/models");
    assert_non_null(d);
    for (struct dirent *e; n < 64 && (e = readdir(d));)
        if (strstr(e->d_name, ".gcut")) names[n++] = strdup(e->d_name);
    closedir(d);
    qsort(names, n, sizeof *names, by_name);
    assert_true(n > 10);
    for (size_t i = 0; i < n; i++) {
        if (i % (size_t)parts != (size_t)part || !in_turn(i / (size_t)parts, 2)) {
            free(names[i]);
            continue;
        }
        snprintf(path, sizeof path, GCUT_SOURCE_DIR "/tests/models/%s", names[i]);
        run_case c = {.what = names[i], .path = path, .ctx = gcut_ctx_new(NULL)};
        c.g = gcut_load(c.ctx, path, NULL);
        /* The smallest peak of a small graph by day: it takes five searches. */
        c.refused = nightly() || (c.g && c.g->nodes.n + c.g->params.n < 40 && in_turn(i / (size_t)parts, 4));
        if (CHECK(&c, c.g, "not read")) must(c.g->module->env, check_model, &c);
        nwrong += c.nwrong;
        gcut_ctx_free(c.ctx);
        free(names[i]);
    }
    assert_int_equal(nwrong, 0);
}

/* A budget that one policy's plan must meet, and plans that no budget is asked of. */
static void other_policies_are_held_to_it(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/models/gpt2.gcut", NULL);
    gcut_options o = with_budget(0);
    o.policy = "save-all";
    int64_t peak = gcut_plan_look(gcut_plan_new(g, &o))->peak_bytes;
    o.budget = peak;
    assert_non_null(gcut_plan_new(g, &o));
    o.budget = peak - 1;
    assert_null(gcut_plan_new(g, &o));
    assert_int_equal(gcut_last_status(ctx), GCUT_EPLAN);
    gcut_clear_errors(ctx);
    o.budget = 1;
    o.backend = GCUT_BACKEND_EAGER; /* follows no plan */
    gcut_step *s = gcut_compile(g, &o);
    assert_non_null(s);
    gcut_step_free(s);
    gcut_ctx_free(ctx);
}

/* ---- random graphs ---- */

typedef struct job {
    gcut_env *env;
    gcut_arena *arena;
    uint32_t index;
} job;

/* A product that reads a slice of a parameter in its place, and one of a slice that is smaller than what it
 * is cut from. */
static const char slices[] =
    "gcut 1\nfunc @f(param %w: f32[64, 4], input %x: f32[1000, 64]) -> (out loss: f32[]) {\n"
    "  %s = slice(%x, start=[1, 0], limit=[1000, 64])\n  %q = matmul(%s, %w)\n  %e = exp(%x)\n"
    "  %t = slice(%e, start=[7, 0], limit=[8, 64])\n  %p = matmul(%t, %w)\n"
    "  %a = sum(%q)\n  %b = sum(%p)\n  %loss = add(%a, %b)\n  return %loss\n}\n";

static void check_candidates(void *arg)
{
    job *j = arg;
    static graph_gen gen;
    gcut_module *m = gcut_module_new(j->env, j->arena);
    gcut_graph *g = j->index
                        ? graph_random(&gen, m, "f", 4000 + j->index, 6 + j->index % 14, NULL, 0)
                        : gcut_parse_module(j->env, j->arena, "slices", slices, strlen(slices))->graphs.at[0];
    gcut_settings opt = read_options(with_budget(0));
    gcut_pipeline *p = gcut_pipeline_new(g, &opt, GCUT_STAGE_JOINT, j->arena);
    gcut_candidates *o = gcut_candidates_of(p, p->arena);
    gcut_candidates_lower(o, NULL, NULL);
    int64_t bound = gcut_peak_bound(p);
    const gcut_cut_frontier *f =
        o->bases.n > 1 ? NULL : gcut_cut_frontier_of(o->bases.at[0]->problem, o->arena);
    assert_true(o->list.n > 0);
    for (uint32_t i = 0; i < o->list.n; i++) {
        gcut_candidate *of = &o->list.at[i];
        /* The frontier is that of the only base.  A cost is the difference of two times of the whole graph. */
        const double rounding = 1e-12 * of->base->work_ns;
        bool ok = bound <= of->peak_bytes && gcut_candidate_least(o, of) <= of->peak_bytes &&
                  (!f || gcut_bound_for_bytes(f, of->peak_bytes - o->resident) <=
                             gcut_candidate_cost(o, of) + rounding) &&
                  (i == 0 || of[-1].step_ns <= of->step_ns);
        if (ok) continue;
        gcut_text t = {.arena = j->arena};
        gcut_print_graph(g, &(gcut_print_options){.no_loc = true}, &t);
        fail_msg("graph %u, %s: peak %lld, bounds %lld and %lld\n%s", j->index, of->label,
                 (long long)of->peak_bytes, (long long)bound, (long long)gcut_candidate_least(o, of), t.at);
    }
    /* The real thing is what was tried in a copy. */
    opt.budget = o->list.at[o->list.n - 1].peak_bytes;
    gcut_pipeline *q = gcut_pipeline_new(g, &opt, GCUT_STAGE_KERNEL, j->arena);
    assert_null(q->asked); /* what candidates asked for is freed with the search */
    uint32_t i = gcut_candidates_fit(o, opt.budget, NULL);
    const gcut_candidate best = gcut_budget_best(o, opt.budget);
    assert_int_equal(q->peak_bytes, best.peak_bytes);
    assert_true(q->plan->step_ns == best.step_ns && best.step_ns <= o->list.at[i].step_ns);
}

static void bounds_hold_on_random_graphs(void **state)
{
    (void)state;
    const char *want = getenv("GCUT_GRAPHS");
    gcut_env *env = gcut_env_new(NULL, NULL);
    for (int i = part; i < (want ? atoi(want) : 40); i += parts) {
        if (!in_turn((size_t)(i / parts), 3)) continue;
        job j = {env, gcut_arena_new(env, NULL), (uint32_t)i};
        must(env, check_candidates, &j);
        gcut_arena_free(j.arena);
    }
    gcut_env_free(env);
}

/* ---- the number of threads ---- */

/* Attention has workspace for each thread. */
static const char heads[] =
    "gcut 1\nfunc @f(param %w: f32[64, 64], input %x: f32[512, 64]) -> (out loss: f32[]) {\n"
    "  %h = matmul(%x, %w)\n  %q = reshape(%h, shape=[1, 8, 64, 64])\n  %a = attention(%q, %q, %q)\n"
    "  %s = mul(%a, %a)\n  %loss = sum(%s)\n  return %loss\n}\n";

typedef struct team_run {
    int64_t planned, ran; /* peaks */
    int threads;          /* that ran it */
    double ns;
} team_run;

/* Plans and runs a step without options.threads, with OMP_NUM_THREADS as given. */
static team_run run_with(gcut_env *env, gcut_arena *a, const char *there, int64_t budget)
{
    gcut_options given = with_budget(budget);
    given.threads = 0;
    gcut_settings opt = read_options(given);
    setenv("OMP_NUM_THREADS", there, 1);
    gcut_graph *g = gcut_parse_module(env, a, "heads", heads, strlen(heads))->graphs.at[0];
    gcut_pipeline *p = gcut_pipeline_new(g, &opt, GCUT_STAGE_KERNEL, a);
    gcut_step *s = gcut_step_of_pipeline(p, a);
    gcut_step_prepare(s);
    gcut_step_run(s, GCUT_RT_STEP);
    const gcut_stats *st = gcut_step_stats(s);
    assert_int_equal(st->peak_bytes, st->predicted_bytes);
    unsetenv("OMP_NUM_THREADS");
    return (team_run){p->peak_bytes, st->peak_bytes, st->threads, p->plan->step_ns};
}

/* A plan is the same wherever it is made; a step has the threads that there are, and keeps a budget nevertheless. */
static void teams_body(void *arg)
{
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, NULL);
    const team_run few = run_with(env, a, "2", 0), many = run_with(env, a, "8", 0);
    assert_int_equal(few.planned, many.planned);
    assert_true(few.ns == many.ns);
    assert_int_equal(few.threads, 2);
    assert_int_equal(few.ran, few.planned); /* the shipped model is for two threads */
    assert_int_equal(many.threads, 8);
    assert_that(many.ran, >, many.planned);
    const team_run ample = run_with(env, a, "8", many.ran), tight = run_with(env, a, "8", few.ran),
                   between = run_with(env, a, "8", many.ran - 1),
                   least = run_with(env, a, "8", GCUT_BUDGET_MIN);
    assert_int_equal(ample.threads, 8);
    assert_that(tight.ran, <=, few.ran);
    assert_that(between.threads, <, 8);
    assert_that(between.ran, <, many.ran);
    assert_int_equal(least.planned, run_with(env, a, "2", GCUT_BUDGET_MIN).planned);
    assert_that(least.ran, <=, least.planned);
    gcut_arena_free(a);
}

static void plans_are_for_no_machine(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, teams_body, env);
    gcut_env_free(env);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_keep_their_budgets),    cmocka_unit_test(other_policies_are_held_to_it),
        cmocka_unit_test(bounds_hold_on_random_graphs), cmocka_unit_test(many_candidates),
        cmocka_unit_test(plans_are_for_no_machine),
    };
    *(void **)&reset_mark = dlsym(RTLD_DEFAULT, "high_water_reset");
    *(void **)&read_mark = dlsym(RTLD_DEFAULT, "high_water");
    unsetenv("LD_PRELOAD"); /* the compiler is none of our business */
    if (argc == 3) part = atoi(argv[1]), parts = atoi(argv[2]);
    if (parts < 1 || part < 0 || part >= parts) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
