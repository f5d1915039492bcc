/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A frontier as a table, as CSV and as JSON.
 */
#include <math.h>

#include "base/json.h"
#include "base/units.h"
#include "report/report.h"
#include "report/tables.h"

double gcut_frontier_predicted_ns(const gcut_frontier_point *p)
{
    return isnan(p->step_ns_predicted) ? p->cost_ns : p->step_ns_predicted;
}

double gcut_frontier_point_ns(const gcut_frontier_point *p)
{
    return isnan(p->step_ns_median) ? gcut_frontier_predicted_ns(p) : p->step_ns_median;
}

/* ---- the table ---- */

enum {
    PLAN,
    SAVED,
    PEAK,
    MEASURED,
    RECOMPUTED,
    STEP,
    STEP_MEDIAN,
    OURS,
    OURS_PREDICTED,
    OURS_MEDIAN,
    RATIO,
    NCOLS
};

static void add_titles(gcut_table *t, const gcut_frontier *s)
{
    bool predicted = s->n && !isnan(s->point[0]->step_ns_predicted);
    gcut_table_row(t, (const char *[NCOLS]){[PLAN] = "plan",
                                            [SAVED] = "saved",
                                            [PEAK] = "peak",
                                            [MEASURED] = "measured",
                                            [RECOMPUTED] = "recomputed",
                                            [STEP] = predicted ? "step, predicted" : "cost, predicted",
                                            [STEP_MEDIAN] = "step, median",
                                            [OURS] = "ours at this peak",
                                            [OURS_PREDICTED] = "predicted",
                                            [OURS_MEDIAN] = "median",
                                            [RATIO] = "ours over this"});
}

static const char *time_text(gcut_arena *a, double ns)
{
    return gcut_time_text_to(a, ns, 4);
}

static void add_row(gcut_table *t, const gcut_frontier_point *p)
{
    gcut_arena *a = t->arena;
    const gcut_frontier_point *o = p->ours;
    const char *cell[NCOLS] = {
        [PLAN] = p->label,
        [SAVED] = gcut_count_text(a, p->saved_bytes),
        [PEAK] = gcut_count_text(a, p->peak_predicted),
        [RECOMPUTED] = gcut_printf(a, "%zu", p->recomputed),
        [STEP] = time_text(a, gcut_frontier_predicted_ns(p)),
        [STEP_MEDIAN] = gcut_median_text(a, p->step_ns_median, p->step_ns_lo, p->step_ns_hi),
        [RATIO] = gcut_ratio_text(a, p->ratio, p->ratio_lo, p->ratio_hi, p->separable)};
    if (p->peak_measured >= 0) cell[MEASURED] = gcut_count_text(a, p->peak_measured);
    if (o) {
        cell[OURS] = o->label;
        cell[OURS_PREDICTED] = time_text(a, gcut_frontier_predicted_ns(o));
        if (isfinite(p->ratio_predicted))
            cell[OURS_PREDICTED] = gcut_printf(a, "%s (%.3fx)", cell[OURS_PREDICTED], p->ratio_predicted);
        if (!isnan(o->step_ns_median)) cell[OURS_MEDIAN] = time_text(a, o->step_ns_median);
    }
    gcut_table_row(t, cell);
}

static const char *plural(size_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

gcut_table gcut_frontier_table(const gcut_frontier *s, const gcut_table_options *o, gcut_arena *a)
{
    static const uint8_t last[] = {RECOMPUTED, SAVED, OURS, OURS_MEDIAN};
    gcut_table t = {.arena = a,
                    .ncols = NCOLS,
                    .right = ~(1u << PLAN | 1u << OURS),
                    .cut = 1u << PLAN | 1u << OURS,
                    .columns = o->columns,
                    .bold = o->bold,
                    .last = last,
                    .nlast = sizeof last};
    add_titles(&t, s);
    for (size_t i = 0; i < s->n; i++) add_row(&t, s->point[i]);
    return t;
}

void gcut_write_frontier_text(const gcut_frontier *s, const gcut_table_options *o, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    const gcut_table t = gcut_frontier_table(s, o, a);
    uint32_t shown = 0;
    for (size_t i = 0; i < s->n; i++) shown += !s->point[i]->baseline;
    gcut_text_add(out, "frontier of @%s", s->graph);
    gcut_write_sizes(s->at, s->nat, " at ", out);
    gcut_text_add(out, ", %d thread%s: %zu %s tried, %zu on the frontier, %u shown\n", s->threads,
                  s->threads == 1 ? "" : "s", s->plans, plural(s->plans, "plan", "plans"), s->frontier,
                  shown);
    gcut_table_print(&t, 0, 1 + shown, "", out);
    gcut_text_add(out, "without a budget, by policy (mincut: the cut alone, without flips)\n");
    gcut_table_print(&t, 1 + shown, t.nrows, "", out);
    if (s->rounds) gcut_write_rounds(s->rounds, s->seed, out);
    for (size_t i = 0; i < s->n; i++)
        if (s->point[i]->again) gcut_write_again(s->point[i]->ours->label, s->point[i]->separable, out);
    gcut_arena_free(a);
}

/* ---- CSV ---- */

/* Empty when unknown. */
static void csv_ns(gcut_text *out, double x)
{
    gcut_text_add(out, ",");
    if (isfinite(x)) gcut_text_add(out, "%.0f", x);
}

static void csv_ratio(gcut_text *out, double x)
{
    gcut_text_add(out, ",");
    if (isfinite(x)) gcut_text_add(out, "%.6f", x);
}

void gcut_write_frontier_csv(const gcut_frontier *s, gcut_text *out)
{
    gcut_text_add(out,
                  "label,policy,baseline,lambda,saved_bytes,peak_predicted,peak_measured,recomputed,cost_ns,"
                  "step_ns_predicted,step_ns_best,step_ns_median,step_ns_lo,step_ns_hi,ratio_predicted,ratio,"
                  "ratio_lo,ratio_hi,separable,ours_ns_predicted,ours_ns_median,ours\n");
    for (size_t i = 0; i < s->n; i++) {
        const gcut_frontier_point *p = s->point[i], *o = p->ours;
        gcut_csv_string(out, p->label);
        gcut_text_add(out, ",%s,%d,%.9g,%lld,%lld,", p->policy, p->baseline, p->lambda,
                      (long long)p->saved_bytes, (long long)p->peak_predicted);
        if (p->peak_measured >= 0) gcut_text_add(out, "%lld", (long long)p->peak_measured);
        gcut_text_add(out, ",%zu", p->recomputed);
        csv_ns(out, p->cost_ns);
        csv_ns(out, p->step_ns_predicted);
        csv_ns(out, p->step_ns_best);
        csv_ns(out, p->step_ns_median);
        csv_ns(out, p->step_ns_lo);
        csv_ns(out, p->step_ns_hi);
        csv_ratio(out, p->ratio_predicted);
        csv_ratio(out, p->ratio);
        csv_ratio(out, p->ratio_lo);
        csv_ratio(out, p->ratio_hi);
        gcut_text_add(out, isnan(p->ratio) ? "," : ",%d", p->separable);
        csv_ns(out, o ? gcut_frontier_predicted_ns(o) : NAN);
        csv_ns(out, o ? o->step_ns_median : NAN);
        gcut_text_add(out, ",");
        if (o) gcut_csv_string(out, o->label);
        gcut_text_add(out, "\n");
    }
}

/* ---- JSON ---- */

static void json_ours(gcut_json *j, const gcut_frontier_point *p)
{
    gcut_json_key(j, "ours");
    if (!p) {
        gcut_json_null(j);
        return;
    }
    gcut_json_object(j);
    gcut_json_members(j, "label:s saved_bytes:i peak_predicted:i step_ns_predicted:r step_ns_median:r",
                      p->label, p->saved_bytes, p->peak_predicted, p->step_ns_predicted, p->step_ns_median);
    gcut_json_end(j);
}

static void json_point(gcut_json *j, const gcut_frontier_point *p)
{
    gcut_json_object(j);
    gcut_json_members(j, "label:s policy:s baseline:b lambda:r", p->label, p->policy, p->baseline, p->lambda);
    gcut_json_members(j, "saved_bytes:i peak_predicted:i peak_measured:k recomputed:i", p->saved_bytes,
                      p->peak_predicted, p->peak_measured, (int64_t)p->recomputed);
    gcut_json_members(
        j, "cost_ns:r step_ns_predicted:r step_ns_best:r step_ns_median:r step_ns_lo:r step_ns_hi:r",
        p->cost_ns, p->step_ns_predicted, p->step_ns_best, p->step_ns_median, p->step_ns_lo, p->step_ns_hi);
    gcut_json_members(j, "again:b ratio_predicted:r ratio:r ratio_lo:r ratio_hi:r separable:b", p->again,
                      p->ratio_predicted, p->ratio, p->ratio_lo, p->ratio_hi, p->separable);
    json_ours(j, p->ours);
    gcut_json_key(j, "plan");
    gcut_json_raw(j, p->plan);
    gcut_json_end(j);
}

void gcut_write_frontier_json(const gcut_frontier *s, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_text at = {.arena = out->arena};
    gcut_write_sizes(s->at, s->nat, "", &at);
    gcut_json_object(&j);
    gcut_json_members(&j, "graph:s at:s threads:i rounds:i seed:i plans:i frontier:i", s->graph,
                      at.at ? at.at : "", (int64_t)s->threads, (int64_t)s->rounds, (int64_t)s->seed,
                      (int64_t)s->plans, (int64_t)s->frontier);
    gcut_json_key_array(&j, "points");
    for (size_t i = 0; i < s->n; i++) json_point(&j, s->point[i]);
    gcut_json_end(&j);
    gcut_json_samples(&j, s->sample, s->nsamples);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
