/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A sweep as a table, as CSV and as JSON.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "driver/sweep.h"
#include "graph/text.h"
#include "partition/report.h"

/* ---- the table ---- */

enum { COLUMNS = 8 };

typedef struct row {
    const char *cell[COLUMNS]; /* NULL = the column is empty in every row, or here */
} row;

static const char *time_text(gcut_arena *a, double ns)
{
    if (isnan(ns)) return NULL;
    if (ns < 1e3) return gcut_printf(a, "%.3g ns", ns);
    if (ns < 1e6) return gcut_printf(a, "%.3g us", ns / 1e3);
    return ns < 1e9 ? gcut_printf(a, "%.*f ms", ns < 1e7 ? 3 : 1, ns / 1e6)
                    : gcut_printf(a, "%.3f s", ns / 1e9);
}

static row heading(const gcut_sweep *s)
{
    bool measured = s->n && s->point[0].peak_measured >= 0;
    return (row){{"plan", "saved", "peak", measured ? "measured" : NULL, "recomputed",
                  s->n && !isnan(s->point[0].step_ns_predicted) ? "step, predicted" : "cost, predicted",
                  measured ? "step, measured" : NULL, "ours at this peak"}};
}

static row row_of(gcut_arena *a, const gcut_sweep_point *p)
{
    row r = {{p->label, gcut_report_exact(a, p->saved_bytes), gcut_report_exact(a, p->peak_predicted)}};
    if (p->peak_measured >= 0) r.cell[3] = gcut_report_exact(a, p->peak_measured);
    r.cell[4] = gcut_printf(a, "%zu", p->recomputed);
    r.cell[5] = time_text(a, isnan(p->step_ns_predicted) ? p->cost_ns : p->step_ns_predicted);
    if (!isnan(p->step_ns_median))
        r.cell[6] =
            gcut_printf(a, "%s ±%s", time_text(a, p->step_ns_median), time_text(a, p->step_ns_spread));
    if (isnan(p->ours_ns)) return r;
    double ratio = p->ours_ns / gcut_sweep_point_ns(p);
    r.cell[7] = isfinite(ratio) ? gcut_printf(a, "%s (%.2fx)", time_text(a, p->ours_ns), ratio)
                                : time_text(a, p->ours_ns);
    return r;
}

/* Characters, not bytes: the sign of the spread has two. */
static int width_of(const char *s)
{
    int n = 0;
    for (; s && *s; s++) n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

static void put_row(const row *r, const int *width, gcut_text *out)
{
    int pad = 0;
    for (int c = 0; c < COLUMNS; c++) {
        if (!width[c]) continue;
        const char *s = r->cell[c] ? r->cell[c] : "";
        int gap = width[c] - width_of(s);
        pad += c ? gap + 2 : 0;
        if (*s) gcut_text_add(out, "%*s%s", pad, "", s);
        if (*s) pad = 0;
        if (!c) pad = gap;
    }
    gcut_text_add(out, "\n");
}

static const char *plural(size_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

void gcut_sweep_text(const gcut_sweep *s, const gcut_sweep_info *info, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    row *r = gcut_calloc(a, s->n + 1, sizeof *r);
    int width[COLUMNS] = {0};
    size_t shown = 0;
    r[0] = heading(s);
    for (size_t i = 0; i < s->n; i++) r[i + 1] = row_of(a, &s->point[i]), shown += !s->point[i].baseline;
    for (int c = 0; c < COLUMNS; c++) {
        bool empty = true;
        for (size_t i = 0; i <= s->n; i++) {
            int w = width_of(r[i].cell[c]);
            if (w > width[c]) width[c] = w;
            empty &= i == 0 || w == 0;
        }
        if (empty) width[c] = 0;
    }
    gcut_text_add(out, "sweep of @%s%s%s, %d thread%s: %zu %s tried, %zu on the frontier, %zu shown\n",
                  info->graph, *info->at ? " at " : "", info->at, info->threads,
                  info->threads == 1 ? "" : "s", s->plans, plural(s->plans, "plan", "plans"), s->frontier,
                  shown);
    put_row(&r[0], width, out);
    for (size_t i = 0; i < s->n; i++) {
        if (i == shown) gcut_text_add(out, "without a budget, by policy\n");
        put_row(&r[i + 1], width, out);
    }
    if (info->measured)
        gcut_text_add(out, "measured: median of %d rounds ± half the distance between the quartiles\n",
                      info->rounds);
    gcut_arena_free(a);
}

/* ---- CSV ---- */

/* A field in quotes when it needs them; what is a formula to a spreadsheet is not one of ours. */
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

/* Empty for what is not known. */
static void csv_real(gcut_text *out, double x)
{
    gcut_text_add(out, ",");
    if (isfinite(x)) gcut_text_add(out, "%.0f", x);
}

void gcut_sweep_csv(const gcut_sweep *s, gcut_text *out)
{
    gcut_text_add(out,
                  "label,policy,baseline,lambda,saved_bytes,peak_predicted,peak_measured,recomputed,cost_ns,"
                  "step_ns_predicted,step_ns_median,step_ns_spread,ours_ns\n");
    for (size_t i = 0; i < s->n; i++) {
        const gcut_sweep_point *p = &s->point[i];
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
        gcut_text_add(out, "\n");
    }
}

/* ---- JSON ---- */

static void key_str(gcut_json *j, const char *key, const char *s)
{
    gcut_json_key(j, key), gcut_json_str(j, s);
}
static void key_int(gcut_json *j, const char *key, int64_t i)
{
    gcut_json_key(j, key), gcut_json_int(j, i);
}
static void key_real(gcut_json *j, const char *key, double f)
{
    gcut_json_key(j, key), gcut_json_real(j, f);
}

static void json_point(gcut_json *j, const gcut_sweep_point *p)
{
    gcut_json_object(j);
    key_str(j, "label", p->label);
    key_str(j, "policy", p->policy);
    gcut_json_key(j, "baseline"), gcut_json_bool(j, p->baseline);
    key_real(j, "lambda", p->lambda);
    key_int(j, "saved_bytes", p->saved_bytes);
    key_int(j, "peak_predicted", p->peak_predicted);
    gcut_json_key(j, "peak_measured");
    if (p->peak_measured >= 0)
        gcut_json_int(j, p->peak_measured);
    else
        gcut_json_null(j);
    key_int(j, "recomputed", (int64_t)p->recomputed);
    key_real(j, "cost_ns", p->cost_ns);
    key_real(j, "step_ns_predicted", p->step_ns_predicted);
    key_real(j, "step_ns_median", p->step_ns_median);
    key_real(j, "step_ns_spread", p->step_ns_spread);
    key_real(j, "ours_ns", p->ours_ns);
    gcut_json_key(j, "plan");
    gcut_json_raw(j, p->plan);
    gcut_json_end(j);
}

void gcut_sweep_json(const gcut_sweep *s, const gcut_sweep_info *info, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    key_str(&j, "graph", info->graph);
    key_str(&j, "at", info->at);
    key_int(&j, "threads", info->threads);
    key_int(&j, "rounds", info->rounds);
    key_int(&j, "plans", (int64_t)s->plans);
    key_int(&j, "frontier", (int64_t)s->frontier);
    gcut_json_key(&j, "points");
    gcut_json_array(&j);
    for (size_t i = 0; i < s->n; i++) json_point(&j, &s->point[i]);
    gcut_json_end(&j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
