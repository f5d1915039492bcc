/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The largest size that fits a budget, as text and as JSON.
 */
#include <math.h>

#include "base/table.h"
#include "base/units.h"
#include "report/report.h"

/* ---- text ---- */

enum { SIZE, PEAK, STEP, RATE, RECOMPUTED, SAVED, PLAN, MARK, NCOLS };

static const char *rate_text(gcut_arena *a, double per_second)
{
    return per_second < 1000 ? gcut_printf(a, "%.4g", per_second) : gcut_count_text(a, (int64_t)per_second);
}

static void add_row(gcut_table *t, const gcut_fitted *f, const gcut_fit_try *x)
{
    gcut_arena *a = t->arena;
    const bool largest = x == f->largest, best = x == f->best, timed = isfinite(x->step_ns);
    gcut_table_row(t, (const char *[NCOLS]){
                          [SIZE] = gcut_count_text(a, x->size),
                          [PEAK] = gcut_count_text(a, x->peak_bytes),
                          [STEP] = timed ? gcut_printf(a, "%.4g", x->step_ns / 1e6) : NULL,
                          [RATE] = timed ? rate_text(a, x->per_second) : NULL,
                          [RECOMPUTED] = timed ? gcut_printf(a, "%.1f%%", 100 * x->recompute_share) : NULL,
                          [SAVED] = gcut_count_text(a, x->saved_bytes),
                          [PLAN] = x->label,
                          [MARK] = largest && best ? "largest, best"
                                   : largest       ? "largest"
                                   : best          ? "best"
                                                   : NULL});
}

static void write_table(const gcut_fitted *f, gcut_arena *a, gcut_text *out)
{
    gcut_table t = {.arena = a,
                    .ncols = NCOLS,
                    .right =
                        1u << SIZE | 1u << PEAK | 1u << STEP | 1u << RATE | 1u << RECOMPUTED | 1u << SAVED};
    gcut_table_row(&t, (const char *[NCOLS]){[SIZE] = f->symbol,
                                             [PEAK] = "peak",
                                             [STEP] = "ms a step",
                                             [RATE] = gcut_printf(a, "%s a second", f->symbol),
                                             [RECOMPUTED] = "recomputed",
                                             [SAVED] = "saved",
                                             [PLAN] = "plan"});
    for (size_t i = 0; i < f->n; i++)
        if (f->tried[i]->fits) add_row(&t, f, f->tried[i]);
    gcut_table_print(&t, 0, t.nrows, "", out);
}

/* What is known about larger sizes. */
static void write_next(const gcut_fitted *f, gcut_arena *a, gcut_text *out)
{
    const gcut_fit_try *n = f->next;
    const long long k = (long long)f->largest->size;
    if (!n && k == f->most)
        gcut_text_add(out, "%s=%lld is the largest that is looked for\n", f->symbol, k);
    else if (!n)
        gcut_text_add(out, "the graph allows no %s from %lld to %lld\n", f->symbol, k + 1,
                      (long long)f->looked);
    if (!n) return;
    gcut_text_add(out, "%s=%lld%s was tried and refused: ", f->symbol, (long long)n->size,
                  f->adjacent ? ", the next that the graph allows," : "");
    if (n->peak_bytes < 0)
        gcut_text_add(out, "%s\n", n->refused);
    else
        gcut_text_add(out, "the smallest peak found is %s; no plan takes less than %s%s\n",
                      gcut_bytes_text(a, n->peak_bytes), gcut_bytes_text(a, n->bound_bytes),
                      n->bound_bytes > f->budget ? ", so none fits" : "");
}

static void write_refused(const gcut_fitted *f, gcut_text *out)
{
    const char *before = "refused as well: ";
    bool any = false;
    for (size_t i = 0; i < f->n; i++) {
        if (f->tried[i]->fits || f->tried[i] == f->next) continue;
        gcut_text_add(out, "%s%s=%lld", any ? ", " : before, f->symbol, (long long)f->tried[i]->size);
        any = true;
    }
    if (any) gcut_text_add(out, "\n");
}

void gcut_write_fit_text(const gcut_fitted *f, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    const gcut_fit_try *k = f->largest, *b = f->best;
    gcut_text_add(out, "@%s", f->graph);
    gcut_write_sizes(f->at, f->nat, " at ", out);
    gcut_text_add(out, ", %d thread%s: the largest %s found in %s is %lld\n", f->threads,
                  f->threads == 1 ? "" : "s", f->symbol, gcut_bytes_text(a, f->budget), (long long)k->size);
    gcut_text_add(out, "%s=%lld fits: %s peaks at %s\n", f->symbol, (long long)k->size, k->label,
                  gcut_bytes_text(a, k->peak_bytes));
    write_next(f, a, out);
    write_refused(f, out);
    if (b) {
        gcut_text_add(out, "best of these, predicted: %s=%lld, %s a second", f->symbol, (long long)b->size,
                      rate_text(a, b->per_second));
        if (b != k) gcut_text_add(out, ", %.3f times that of the largest", b->per_second / k->per_second);
        gcut_text_add(out, "\n");
    }
    gcut_text_add(out, "\n");
    write_table(f, a, out);
    gcut_arena_free(a);
}

/* ---- JSON ---- */

static void json_try(gcut_json *j, const gcut_fit_try *x)
{
    gcut_json_object(j);
    gcut_json_members(j, "size:i fits:b refused:s peak_bytes:k bound_bytes:k plan:s", x->size, x->fits,
                      x->refused, x->peak_bytes, x->bound_bytes, x->label);
    gcut_json_members(j, "saved_bytes:k step_ns:r per_second:r recompute_share:r",
                      x->fits ? x->saved_bytes : -1, x->step_ns, x->per_second, x->recompute_share);
    gcut_json_end(j);
}

static int64_t size_of(const gcut_fit_try *x)
{
    return x ? x->size : -1;
}

void gcut_write_fit_json(const gcut_fitted *f, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_text at = {.arena = out->arena};
    gcut_write_sizes(f->at, f->nat, "", &at);
    gcut_json_object(&j);
    gcut_json_members(&j, "graph:s symbol:s budget:i at:s threads:i most:i", f->graph, f->symbol, f->budget,
                      at.at ? at.at : "", (int64_t)f->threads, f->most);
    gcut_json_members(&j, "largest:i next:k adjacent:b looked:i best:k", f->largest->size, size_of(f->next),
                      f->adjacent, f->looked, size_of(f->best));
    gcut_json_key_array(&j, "tried");
    for (size_t i = 0; i < f->n; i++) json_try(&j, f->tried[i]);
    gcut_json_end(&j);
    gcut_json_key(&j, "plan");
    gcut_json_raw(&j, f->largest->plan);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
