/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A frontier as a table, as CSV and as JSON.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "report/report.h"

static double first_known(double a, double b, double c)
{
    return !isnan(a) ? a : !isnan(b) ? b : c;
}

double gcut_frontier_point_ns(const gcut_frontier_point *p)
{
    return first_known(p->step_ns_best, p->step_ns_predicted, p->cost_ns);
}

/* ---- the table ---- */

enum { PLAN, SAVED, PEAK, MEASURED, RECOMPUTED, STEP, STEP_BEST, STEP_MEDIAN, OURS, NCOLS };

static const char *time_text(gcut_arena *a, double ns)
{
    return isnan(ns) ? NULL : gcut_time_text_to(a, ns, 4);
}

static void add_titles(gcut_table *t, const gcut_frontier *s)
{
    bool predicted = s->n && !isnan(s->point[0]->step_ns_predicted);
    gcut_table_row(t, (const char *[NCOLS]){[PLAN] = "plan",
                                            [SAVED] = "saved",
                                            [PEAK] = "peak",
                                            [MEASURED] = "measured",
                                            [RECOMPUTED] = "recomputed",
                                            [STEP] = predicted ? "step, predicted" : "cost, predicted",
                                            [STEP_BEST] = "best",
                                            [STEP_MEDIAN] = "median",
                                            [OURS] = "ours at this peak"});
}

static void add_row(gcut_table *t, const gcut_frontier_point *p)
{
    gcut_arena *a = t->arena;
    const char *cell[NCOLS] = {[PLAN] = p->label,
                               [SAVED] = gcut_count_text(a, p->saved_bytes),
                               [PEAK] = gcut_count_text(a, p->peak_predicted),
                               [RECOMPUTED] = gcut_printf(a, "%zu", p->recomputed)};
    if (p->peak_measured >= 0) cell[MEASURED] = gcut_count_text(a, p->peak_measured);
    cell[STEP] = time_text(a, isnan(p->step_ns_predicted) ? p->cost_ns : p->step_ns_predicted);
    cell[STEP_BEST] = time_text(a, p->step_ns_best);
    if (!isnan(p->step_ns_median))
        cell[STEP_MEDIAN] =
            gcut_printf(a, "%s ±%s", time_text(a, p->step_ns_median), time_text(a, p->step_ns_spread));
    double ratio = p->ours_ns / gcut_frontier_point_ns(p);
    if (!isnan(p->ours_ns))
        cell[OURS] = isfinite(ratio) ? gcut_printf(a, "%s (%.2fx)", time_text(a, p->ours_ns), ratio)
                                     : time_text(a, p->ours_ns);
    gcut_table_row(t, cell);
}

static const char *plural(size_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

void gcut_write_frontier_text(const gcut_frontier *s, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    gcut_table t = {.arena = a, .ncols = NCOLS, .right = ~1u};
    uint32_t shown = 0;
    add_titles(&t, s);
    for (size_t i = 0; i < s->n; i++) {
        add_row(&t, s->point[i]);
        shown += !s->point[i]->baseline;
    }
    gcut_text_add(out, "frontier of @%s", s->graph);
    gcut_write_sizes(s->at, s->nat, " at ", out);
    gcut_text_add(out, ", %d thread%s: %zu %s tried, %zu on the frontier, %u shown\n", s->threads,
                  s->threads == 1 ? "" : "s", s->plans, plural(s->plans, "plan", "plans"), s->frontier,
                  shown);
    gcut_table_print(&t, 0, 1 + shown, "", out);
    gcut_text_add(out, "without a budget, by policy\n");
    gcut_table_print(&t, 1 + shown, t.nrows, "", out);
    if (s->rounds)
        gcut_text_add(
            out,
            "measured: best and median of %d rounds ± half the distance between the quartiles; best times "
            "are compared\n",
            s->rounds);
    gcut_arena_free(a);
}

/* ---- CSV ---- */

/* A field, in quotes when needed. */
static void csv_string(gcut_text *out, const char *s)
{
    if (!strpbrk(s, ",\"\n\r")) {
        gcut_text_add(out, "%s", s);
        return;
    }
    gcut_text_add(out, "\"");
    for (; *s; s++) gcut_text_add(out, *s == '"' ? "\"\"" : "%c", *s);
    gcut_text_add(out, "\"");
}

/* Empty when unknown. */
static void csv_real(gcut_text *out, double x)
{
    gcut_text_add(out, ",");
    if (isfinite(x)) gcut_text_add(out, "%.0f", x);
}

void gcut_write_frontier_csv(const gcut_frontier *s, gcut_text *out)
{
    gcut_text_add(out,
                  "label,policy,baseline,lambda,saved_bytes,peak_predicted,peak_measured,recomputed,cost_ns,"
                  "step_ns_predicted,step_ns_median,step_ns_spread,ours_ns,step_ns_best\n");
    for (size_t i = 0; i < s->n; i++) {
        const gcut_frontier_point *p = s->point[i];
        csv_string(out, p->label);
        gcut_text_add(out, ",%s,%d,%.9g,%lld,%lld,", p->policy, p->baseline, p->lambda,
                      (long long)p->saved_bytes, (long long)p->peak_predicted);
        if (p->peak_measured >= 0) gcut_text_add(out, "%lld", (long long)p->peak_measured);
        gcut_text_add(out, ",%zu", p->recomputed);
        csv_real(out, p->cost_ns);
        csv_real(out, p->step_ns_predicted);
        csv_real(out, p->step_ns_median);
        csv_real(out, p->step_ns_spread);
        csv_real(out, p->ours_ns);
        csv_real(out, p->step_ns_best);
        gcut_text_add(out, "\n");
    }
}

/* ---- JSON ---- */

static void json_point(gcut_json *j, const gcut_frontier_point *p)
{
    gcut_json_object(j);
    gcut_json_members(j, "label:s policy:s baseline:b lambda:r", p->label, p->policy, p->baseline, p->lambda);
    gcut_json_members(j, "saved_bytes:i peak_predicted:i peak_measured:k recomputed:i", p->saved_bytes,
                      p->peak_predicted, p->peak_measured, (int64_t)p->recomputed);
    gcut_json_members(j, "cost_ns:r step_ns_predicted:r step_ns_best:r step_ns_median:r", p->cost_ns,
                      p->step_ns_predicted, p->step_ns_best, p->step_ns_median);
    gcut_json_members(j, "step_ns_spread:r ours_ns:r", p->step_ns_spread, p->ours_ns);
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
    gcut_json_members(&j, "graph:s at:s threads:i rounds:i plans:i frontier:i", s->graph, at.at ? at.at : "",
                      (int64_t)s->threads, (int64_t)s->rounds, (int64_t)s->plans, (int64_t)s->frontier);
    gcut_json_key_array(&j, "points");
    for (size_t i = 0; i < s->n; i++) json_point(&j, s->point[i]);
    gcut_json_end(&j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
