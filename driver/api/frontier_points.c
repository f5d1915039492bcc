/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The frontier of a graph: every candidate with its exact peak, those that no other dominates, a few of these
 * shown, and the other policies beside them.
 */
#include "driver/options/default_sizes.h"
#include "driver/pipeline/compile.h"

#include <math.h>
#include <stdlib.h>

#include "driver/measure/rounds.h"
#include "driver/options/options.h"
#include "driver/pipeline/candidates.h"
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
    gcut_arena *keep, *a; /* of the frontier; scratch */
    gcut_pipeline *p;
    gcut_candidates *candidates;
    GCUT_VEC(gcut_candidate *) shown; /* by falling peak */
    gcut_pipeline **lowered;          /* by point */
    gcut_frontier_point *point;
    gcut_frontier *out;
} job;

static double first_known(double a, double b)
{
    return !isnan(a) ? a : !isnan(b) ? b : 0;
}

static double predicted(const gcut_candidate *of)
{
    return first_known(of->step_ns, of->cost_ns);
}

static void tell(void *user, size_t done, size_t all)
{
    const job *j = user;
    gcut_env_progress(j->env, "lowering candidate plans", done, all);
}

/* ---- choosing points ---- */

/* By falling peak; at equal peaks, the slower first. */
static int larger(const void *a, const void *b)
{
    const gcut_candidate *x = *(gcut_candidate *const *)a, *y = *(gcut_candidate *const *)b;
    if (x->peak_bytes != y->peak_bytes) return x->peak_bytes > y->peak_bytes ? -1 : 1;
    double s = predicted(x), t = predicted(y);
    if (s != t) return s > t ? -1 : 1;
    return (x > y) - (x < y);
}

/* Selects, from the smallest peak up, each candidate that is faster than all smaller ones; then k of these,
 * evenly. */
static void choose_shown(job *j, uint32_t k)
{
    gcut_candidates *o = j->candidates;
    uint32_t n = o->by_time.n, kept = 0;
    gcut_candidate **all = gcut_calloc(j->a, n + 1, sizeof *all);
    gcut_candidates_lower(o, tell, j);
    for (uint32_t i = 0; i < n; i++) all[i] = &o->by_time.at[i];
    qsort(all, n, sizeof *all, larger);
    gcut_candidate **front = gcut_calloc(j->a, n + 1, sizeof *front);
    double best = INFINITY;
    for (uint32_t i = n; i-- > 0;)
        if (predicted(all[i]) < best) {
            best = predicted(all[i]);
            front[kept++] = all[i];
        }
    j->out->plans = n;
    j->out->frontier = kept;
    if (k > kept) k = kept;
    for (uint32_t i = k; i-- > 0;) {
        uint32_t at = k > 1 ? (uint32_t)((uint64_t)i * (kept - 1) / (k - 1)) : kept - 1;
        *GCUT_PUSH(j->a, &j->shown) = front[at];
    }
}

/* ---- results ---- */

static size_t count_recomputed(const gcut_plan *plan)
{
    const gcut_plan_info *p = gcut_plan_info_of(plan);
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += p->value[i]->decision == GCUT_PLAN_RECOMPUTED;
    return n;
}

static gcut_frontier_point describe(job *j, const gcut_candidate *of, const gcut_pipeline *q, bool baseline)
{
    gcut_arena *keep = j->keep;
    gcut_text json = {.arena = j->a};
    gcut_plan_file_text(q->plan, &json);
    while (json.n && json.at[json.n - 1] == '\n') json.n--;
    const char *label = gcut_keep(keep, of->label);
    return (gcut_frontier_point){.label = label,
                                 .policy = baseline ? label : gcut_policy_name(of->options->policy),
                                 .baseline = baseline,
                                 .lambda = of->choice->lambda,
                                 .saved_bytes = of->choice->saved_bytes,
                                 .peak_predicted = q->peak_bytes,
                                 .peak_measured = -1,
                                 .recomputed = count_recomputed(q->plan),
                                 .cost_ns = of->cost_ns,
                                 .step_ns_predicted = q->plan->step_ns,
                                 .step_ns_best = NAN,
                                 .step_ns_median = NAN,
                                 .step_ns_spread = NAN,
                                 .ours_ns = NAN,
                                 .plan = gcut_strndup(keep, json.at, json.n)};
}

static void add_point(job *j, const gcut_candidate *of, bool baseline)
{
    gcut_frontier *s = j->out;
    gcut_pipeline *q = gcut_candidate_lower(j->candidates, of, j->a);
    j->lowered[s->n] = q;
    j->point[s->n++] = describe(j, of, q, baseline);
    if (j->how.rounds > 0) return;
    gcut_arena_free(q->arena);
}

/* Compiles the points and runs them in turn. */
static void measure(job *j)
{
    const size_t n = j->out->n;
    gcut_rounds r = {gcut_calloc(j->a, n + 1, sizeof *r.step), n, j->how.feed, j->how.nfeed, j->how.rounds};
    gcut_stats *stats = gcut_calloc(j->a, n + 1, sizeof *stats);
    gcut_times *times = gcut_calloc(j->a, n + 1, sizeof *times);
    for (size_t i = 0; i < n; i++) {
        gcut_env_progress(j->env, "compiling", i, n);
        r.step[i] = gcut_step_of_pipeline(j->lowered[i], j->lowered[i]->arena);
    }
    gcut_rounds_begin(&r, stats, j->a);
    for (size_t i = 0; i < n; i++)
        if (stats[i].predicted_bytes != j->point[i].peak_predicted)
            gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){0}, "give the sizes of the arrays with --at",
                      "the arrays have other sizes than the plans are made for");
    gcut_rounds_run(&r, times, j->a);
    for (size_t i = 0; i < n; i++) {
        j->point[i].peak_measured = stats[i].peak_bytes;
        j->point[i].step_ns_best = times[i].best_ns;
        j->point[i].step_ns_median = times[i].median_ns;
        j->point[i].step_ns_spread = times[i].spread_ns;
    }
}

/* For each baseline, the fastest of our plans with at most its peak: by prediction among all candidates, by
 * measured time among those shown. */
static void compare(job *j)
{
    for (size_t i = 0; i < j->out->n; i++) {
        gcut_frontier_point *b = &j->point[i];
        for (size_t k = 0; b->baseline && j->how.rounds > 0 && k < j->out->n; k++) {
            const gcut_frontier_point *x = &j->point[k];
            if (!x->baseline && x->peak_predicted <= b->peak_predicted)
                b->ours_ns = fmin(b->ours_ns, gcut_frontier_point_ns(x));
        }
        for (uint32_t k = 0; b->baseline && j->how.rounds <= 0 && k < j->candidates->by_time.n; k++) {
            const gcut_candidate *x = &j->candidates->by_time.at[k];
            if (x->peak_bytes <= b->peak_predicted) b->ours_ns = fmin(b->ours_ns, predicted(x));
        }
    }
}

static void write_forms(job *j)
{
    gcut_text text = {.arena = j->keep}, csv = text, json = text, svg = text;
    gcut_write_frontier_csv(j->out, &csv);
    gcut_write_frontier_json(j->out, &json);
    gcut_write_frontier_svg(j->out, &svg);
    gcut_write_frontier_text(j->out, &text);
    j->out->csv = csv.at;
    j->out->json = json.at;
    j->out->svg = svg.at;
    j->out->text = text.at;
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
    j->p = gcut_pipeline_new(j->g, &opt, GCUT_STAGE_JOINT, j->a);
    j->candidates = gcut_candidates_of(j->p, j->a);
    choose_shown(j, j->how.points ? (uint32_t)j->how.points : POINTS);
    gcut_candidate *baseline;
    uint32_t nbaselines = gcut_candidates_policies(j->candidates, &baseline), n = j->shown.n + nbaselines;
    j->lowered = gcut_calloc(j->a, n + 1, sizeof *j->lowered);
    j->point = gcut_calloc(j->keep, n + 1, sizeof *j->point);
    GCUT_LIST(j->keep, j->out->point, n, &j->point[i]);
    j->out->graph = gcut_keep(j->keep, j->p->primal->name);
    j->out->at = gcut_sizes_named(j->keep, j->p->module, j->p->at, j->p->nat);
    j->out->nat = j->p->nat;
    j->out->threads = gcut_rt_threads(j->p->opt.threads);
    j->out->rounds = j->how.rounds;
    for (uint32_t i = 0; i < j->shown.n; i++) add_point(j, j->shown.at[i], false);
    for (uint32_t i = 0; i < nbaselines; i++) add_point(j, &baseline[i], true);
    if (j->how.rounds > 0) measure(j);
    compare(j);
    write_forms(j);
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_frontier_options, nfeed);
#endif

gcut_frontier *gcut_frontier_new_sized(size_t size, size_t how_size, gcut_graph *g, const gcut_options *opt,
                                       const gcut_frontier_options *how)
{
    GCUT_NEED(NULL, g, NULL);
    job j = {.env = g->module->env, .g = g, .opt = opt, .size = size, .given = how, .how_size = how_size};
    return gcut_made_by(j.env, sizeof(gcut_frontier), trace, &j);
}
