/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The frontier of a graph: every candidate with its exact peak, those that no other dominates, a few of these
 * shown, and the other policies beside them, each with the plan that a budget of its peak takes.
 *
 * Which plan that is, gcut_budget_best decides before anything is measured.
 */
#include "driver/options/default_sizes.h"
#include "driver/pipeline/compile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver/api/timed.h"
#include "driver/options/options.h"
#include "driver/search/budget_search.h"
#include "driver/pipeline/given_pair.h"
#include "driver/pipeline/plan_info.h"
#include "gradcut/gradcut_rt.h"
#include "report/report.h"

enum { POINTS = 12 };

typedef struct job {
    gcut_env *env;
    gcut_graph *g;
    const gcut_options *opt; /* the caller's, of `size` bytes */
    size_t size;
    const gcut_frontier_options *given; /* of `how_size` bytes */
    size_t how_size;
    gcut_frontier_options how;
    const gcut_timer *timer;
    gcut_arena *keep, *a; /* of the frontier; scratch */
    gcut_pipeline *p;
    gcut_candidates *candidates;
    GCUT_VEC(const gcut_candidate *) taken; /* by some budget */
    GCUT_VEC(const gcut_candidate *) shown; /* by falling peak */
    gcut_candidate *baseline;               /* of every policy */
    const gcut_candidate **ours;            /* by baseline: what a budget of its peak takes */
    uint32_t nbaselines;
    /* By point: those of the frontier, the baselines, `again`; then each `ours` that is not shown. */
    const gcut_candidate **of;
    gcut_pipeline **lowered;
    gcut_frontier_point *point;
    uint32_t npoints;
    gcut_frontier *out;
} job;

static double first_known(double a, double b)
{
    return !isnan(a) ? a : !isnan(b) ? b : 0;
}

static double predicted(const gcut_candidate *of)
{
    return first_known(of->step_ns, gcut_candidate_total_ns(of));
}

static void tell(void *user, size_t done, size_t all)
{
    const job *j = user;
    gcut_env_progress(j->env, "lowering candidate plans", done, all);
}

/* ---- choosing points ---- */

/* By falling peak; at equal peaks, the slower first; then by label, which two of `taken` do not share as well. */
static int larger(const void *a, const void *b)
{
    const gcut_candidate *x = *(const gcut_candidate *const *)a, *y = *(const gcut_candidate *const *)b;
    if (x->peak_bytes != y->peak_bytes) return x->peak_bytes > y->peak_bytes ? -1 : 1;
    double s = predicted(x), t = predicted(y);
    if (s != t) return s > t ? -1 : 1;
    return strcmp(x->label, y->label);
}

/* What that budget takes: one pointer for one plan. */
static const gcut_candidate *taken(job *j, int64_t budget)
{
    const gcut_candidate x = gcut_budget_best(j->candidates, budget);
    for (uint32_t i = 0; i < j->taken.n; i++) {
        const gcut_candidate *y = j->taken.at[i];
        if (y->peak_bytes == x.peak_bytes && y->step_ns == x.step_ns && !strcmp(y->label, x.label)) return y;
    }
    return *GCUT_PUSH(j->a, &j->taken) = gcut_memdup(j->a, &x, sizeof x);
}

/* Of the plans shown those that have a smaller peak than all faster ones. */
static void drop_dominated(job *j)
{
    uint32_t n = 0;
    double best = INFINITY;
    if (j->shown.n) qsort(j->shown.at, j->shown.n, sizeof *j->shown.at, larger);
    for (uint32_t i = j->shown.n; i-- > 0;)
        if (predicted(j->shown.at[i]) < best) {
            best = predicted(j->shown.at[i]);
            j->shown.at[j->shown.n - ++n] = j->shown.at[i];
        }
    if (n) memmove(j->shown.at, j->shown.at + (j->shown.n - n), n * sizeof *j->shown.at);
    j->shown.n = n;
}

/* Selects the candidates that fit some budget first and are faster than what smaller ones fit, and k of these, evenly.
 * Shown are the plans that budgets of their peaks take.  The last budget is the smallest that a plan meets, as of
 * GCUT_BUDGET_MIN, which is below the peaks of candidates before local search. */
static void choose_shown(job *j, uint32_t k)
{
    gcut_candidates *o = j->candidates;
    uint32_t n = o->list.n, kept = 0;
    gcut_candidates_lower(o, tell, j);
    const gcut_candidate **front = gcut_calloc(j->a, n + 1, sizeof *front);
    for (uint32_t i = 0; i < n; i++) {
        const gcut_candidate *of = &o->list.at[i];
        if (kept && of->peak_bytes >= front[kept - 1]->peak_bytes) continue;
        if (kept && predicted(of) == predicted(front[kept - 1])) kept--;
        front[kept++] = of;
    }
    j->out->plans = n;
    j->out->frontier = kept;
    if (k > kept) k = kept;
    int64_t *budget = gcut_calloc(j->a, k + 1u, sizeof *budget); /* the search sorts the candidates */
    for (uint32_t i = 0; i < k; i++) {
        uint32_t below = k > 1 ? (uint32_t)((uint64_t)i * (kept - 1) / (k - 1)) : kept - 1;
        budget[i] = front[kept - 1 - below]->peak_bytes;
    }
    if (k > 1) budget[0] = gcut_budget_least(o).peak_bytes;
    for (uint32_t i = k; i-- > 0;) *GCUT_PUSH(j->a, &j->shown) = taken(j, budget[i]);
    drop_dominated(j);
}

/* Chooses for each policy the plan that a budget of its peak takes.  A measured frontier shows all of these plans, a
 * predicted one those that have a smaller peak than all faster plans, up to `most` plans in all. */
static void choose_ours(job *j, uint32_t most)
{
    gcut_candidates *o = j->candidates;
    const bool measured = j->how.rounds > 0;
    j->nbaselines = gcut_candidates_policies(o, &j->baseline);
    j->ours = gcut_calloc(j->a, j->nbaselines + 1, sizeof *j->ours);
    for (uint32_t i = 0; i < j->nbaselines; i++) {
        int64_t peak = gcut_candidate_peak(o, &j->baseline[i]);
        const gcut_candidate *of = j->ours[i] = taken(j, peak);
        GCUT_ASSERT(of->peak_bytes <= peak); /* the plan of every policy is a candidate */
        bool found = false;
        for (uint32_t k = 0; k < j->shown.n; k++) found = found || j->shown.at[k] == of;
        if (!found && (measured || j->shown.n < most)) *GCUT_PUSH(j->a, &j->shown) = of;
    }
    if (measured) {
        qsort(j->shown.at, j->shown.n, sizeof *j->shown.at, larger);
        return;
    }
    drop_dominated(j);
    if (j->out->frontier < j->shown.n) j->out->frontier = j->shown.n;
}

/* ---- results ---- */

static size_t count_recomputed(const gcut_plan *plan)
{
    const gcut_plan_info *p = gcut_plan_info_of(plan);
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += p->value[i]->decision == GCUT_PLAN_RECOMPUTED;
    return n;
}

static gcut_frontier_point describe(job *j, const gcut_candidate *of, const gcut_pipeline *q)
{
    gcut_arena *keep = j->keep;
    gcut_text json = {.arena = j->a};
    gcut_plan_file_text(q->plan, &json);
    while (json.n && json.at[json.n - 1] == '\n') json.n--;
    const char *label = gcut_keep(keep, of->label);
    const bool baseline = of->budget == GCUT_CANDIDATE_NO_BUDGET;
    return (gcut_frontier_point){.label = label,
                                 .policy = baseline ? label : gcut_policy_name(of->options->policy),
                                 .baseline = baseline,
                                 .lambda = of->choice->lambda,
                                 .saved_bytes = of->choice->saved_bytes,
                                 .peak_predicted = q->peak_bytes,
                                 .peak_measured = -1,
                                 .recomputed = count_recomputed(q->plan),
                                 .cost_ns = gcut_candidate_cost(j->candidates, of),
                                 .step_ns_predicted = q->plan->step_ns,
                                 .step_ns_best = NAN,
                                 .step_ns_median = NAN,
                                 .step_ns_lo = NAN,
                                 .step_ns_hi = NAN,
                                 .ratio_predicted = NAN,
                                 .ratio = NAN,
                                 .ratio_lo = NAN,
                                 .ratio_hi = NAN,
                                 .plan = gcut_strndup(keep, json.at, json.n)};
}

static gcut_frontier_point *add_point(job *j, const gcut_candidate *of)
{
    gcut_pipeline *q = gcut_candidate_lower(j->candidates, of, j->a);
    gcut_frontier_point *x = &j->point[j->npoints];
    *x = describe(j, of, q);
    j->of[j->npoints] = of;
    j->lowered[j->npoints++] = q;
    if (j->how.rounds <= 0) gcut_arena_free(q->arena);
    return x;
}

/* The point of a candidate, which may have to be added. */
static const gcut_frontier_point *point_of(job *j, const gcut_candidate *of)
{
    for (uint32_t i = 0; i < j->npoints; i++)
        if (j->of[i] == of) return &j->point[i];
    return add_point(j, of);
}

static void add_points(job *j)
{
    const uint32_t most = j->shown.n + 2 * j->nbaselines + 1;
    uint32_t first = j->shown.n, mincut = 0;
    j->of = gcut_calloc(j->a, most, sizeof *j->of);
    j->lowered = gcut_calloc(j->a, most, sizeof *j->lowered);
    j->point = gcut_calloc(j->keep, most, sizeof *j->point);
    for (uint32_t i = 0; i < j->shown.n; i++) add_point(j, j->shown.at[i]);
    for (uint32_t i = 0; i < j->nbaselines; i++) {
        add_point(j, &j->baseline[i]);
        if (j->baseline[i].options->policy == GCUT_POLICY_MINCUT) mincut = first + i;
    }
    if (j->how.rounds > 0) {
        gcut_frontier_point *again = add_point(j, j->of[mincut]);
        again->label = gcut_printf(j->keep, "%s again", again->label);
        again->again = true;
        again->ours = &j->point[mincut];
    }
    j->out->n = j->npoints;
    for (uint32_t i = 0; i < j->nbaselines; i++) j->point[first + i].ours = point_of(j, j->ours[i]);
    for (uint32_t i = first; i < j->out->n; i++) {
        gcut_frontier_point *x = &j->point[i];
        x->ratio_predicted = gcut_frontier_predicted_ns(x->ours) / gcut_frontier_predicted_ns(x);
    }
    GCUT_LIST(j->keep, j->out->point, j->out->n, &j->point[i]);
}

static void record(job *j, const gcut_stats *stats, const gcut_measured *m)
{
    for (size_t i = 0; i < j->out->n; i++) {
        gcut_frontier_point *x = &j->point[i];
        x->peak_measured = stats[i].peak_bytes;
        x->step_ns_best = m->best_ns[i];
        x->step_ns_median = m->median_ns[i].at;
        x->step_ns_lo = m->median_ns[i].lo;
        x->step_ns_hi = m->median_ns[i].hi;
        if (!x->ours) continue;
        gcut_interval r = gcut_bootstrap_ratio(&m->bootstrap, (size_t)(x->ours - j->point), i);
        x->ratio = r.at;
        x->ratio_lo = r.lo;
        x->ratio_hi = r.hi;
        x->separable = gcut_separable(r);
    }
    j->out->sample = m->sample;
    j->out->nsamples = m->nsamples;
}

/* Compiles the points and runs them in rounds. */
static void measure(job *j)
{
    const size_t n = j->out->n;
    gcut_rounds r = {.step = gcut_calloc(j->a, n + 1, sizeof *r.step),
                     .name = gcut_calloc(j->a, n + 1, sizeof *r.name),
                     .n = n,
                     .feed = j->how.feed,
                     .nfeed = j->how.nfeed,
                     .rounds = j->how.rounds,
                     .seed = j->out->seed,
                     .timer = j->timer};
    gcut_stats *stats = gcut_calloc(j->a, n + 1, sizeof *stats);
    for (size_t i = 0; i < n; i++) {
        gcut_env_progress(j->env, "compiling", i, n);
        r.step[i] = gcut_step_of_pipeline(j->lowered[i], j->lowered[i]->arena);
        r.name[i] = j->point[i].label;
    }
    gcut_rounds_begin(&r, stats, j->a);
    for (size_t i = 0; i < n; i++)
        if (stats[i].predicted_bytes != j->point[i].peak_predicted)
            gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){0}, "give the sizes of the arrays with --at",
                      "the arrays have other sizes than the plans are made for");
    gcut_measured m = gcut_rounds_run(&r, j->keep, j->a);
    record(j, stats, &m);
}

static void write_forms(job *j)
{
    gcut_text text = {.arena = j->keep}, csv = text, json = text, svg = text, samples = text;
    gcut_write_frontier_csv(j->out, &csv);
    gcut_write_frontier_json(j->out, &json);
    gcut_write_frontier_svg(j->out, NULL, &svg);
    gcut_write_frontier_text(j->out, &(gcut_table_options){0}, &text);
    gcut_write_samples_csv(j->out->sample, j->out->nsamples, &samples);
    j->out->csv = csv.at;
    j->out->json = json.at;
    j->out->svg = svg.at;
    j->out->text = text.at;
    j->out->samples = samples.at;
}

static void check(const job *j)
{
    if (j->how.nfeed && !j->how.feed)
        gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "gcut_frontier_new: how.feed is NULL, how.nfeed is %zu", j->how.nfeed);
    if (j->how.points < 0 || j->how.rounds < 0)
        gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "gcut_frontier_new: how.points is %d and how.rounds %d: neither is negative", j->how.points,
                  j->how.rounds);
}

static void trace(void *arg, const gcut_made *m)
{
    job *j = arg;
    j->out = m->object;
    j->keep = m->keep;
    j->a = m->scratch;
    gcut_settings opt = gcut_settings_of(j->env, j->opt, j->size);
    GCUT_COPY_KNOWN(j->env, gcut_frontier_options, j->given, j->how_size, &j->how);
    check(j);
    opt.policy = gcut_policy_name(GCUT_POLICY_MINCUT);
    opt.backend = GCUT_BACKEND_COMPILED;
    opt.forward_only = false;
    opt.budget = opt.saved_budget = 0;
    opt.plan = NULL;
    opt.dump = "";
    if (j->how.rounds > 0) opt.threads = gcut_rt_threads(opt.threads); /* as the plans are, so they are run */
    gcut_given_refuse(j->g);
    j->p = gcut_pipeline_new(j->g, &opt, GCUT_STAGE_JOINT, j->a);
    j->candidates = gcut_candidates_of(j->p, j->a);
    const uint32_t most = j->how.points ? (uint32_t)j->how.points : POINTS;
    choose_shown(j, most);
    choose_ours(j, most);
    j->out->graph = gcut_keep(j->keep, j->p->primal->name);
    j->out->at = gcut_sizes_named(j->keep, j->p->module, j->p->at, j->p->nat);
    j->out->nat = j->p->nat;
    j->out->threads = j->p->threads;
    j->out->rounds = j->how.rounds;
    j->out->seed = j->p->opt.seed;
    add_points(j);
    if (j->how.rounds > 0) measure(j);
    write_forms(j);
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_frontier_options, nfeed);
#endif

gcut_frontier *gcut_frontier_timed(const gcut_timer *timer, size_t size, size_t how_size, gcut_graph *g,
                                   const gcut_options *opt, const gcut_frontier_options *how)
{
    job j = {.env = g->module->env,
             .g = g,
             .opt = opt,
             .size = size,
             .given = how,
             .how_size = how_size,
             .timer = timer};
    return gcut_made_by(j.env, sizeof(gcut_frontier), trace, &j);
}

gcut_frontier *gcut_frontier_new_sized(size_t size, size_t how_size, gcut_graph *g, const gcut_options *opt,
                                       const gcut_frontier_options *how)
{
    GCUT_NEED(NULL, g, NULL);
    return gcut_frontier_timed(NULL, size, how_size, g, opt, how);
}
