/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan as text.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/fold.h"
#include "report/report.h"

/* A gap below 1e-6 ns is rounding error; its digits are not printed. */
static const char *gap_text(gcut_arena *a, double ns)
{
    return ns > 0 && ns < 1e-6 ? "< 1e-06 ns" : gcut_time_text(a, ns);
}

/* ---- lists ---- */

enum { WIDTH = 110 /* of a list, where the terminal's is not known */ };

/* Adds one item of a list, on a new line when this one is full; one that is wider than the terminal is cut.  *column is
 * the current column. */
static void add_item(gcut_text *out, size_t *column, size_t number, int64_t columns, const char *item)
{
    size_t n = strlen(item), width = columns > 0 ? (size_t)columns : WIDTH;
    if (columns > 8 && n + 3 > width) {
        item = gcut_printf(out->arena, "%.*s..", (int)(width - 5), item);
        n = width - 3;
    }
    bool fresh = (number || columns > 0) && *column + n + 3 > width;
    gcut_text_add(out, "%s%s%s", number ? ";" : "", fresh ? "\n  " : " ", item);
    *column = (fresh ? 2 : *column + 2) + n;
}

/* The values with that decision, folded, each as `item` says of its group. */
static void
print_values(const gcut_plan_info *p, gcut_plan_decision d, const gcut_table_options *o, const char *title,
             const char *(*item)(gcut_arena *a, const gcut_plan_value *v, const gcut_row_group *g),
             gcut_text *out)
{
    gcut_arena *a = out->arena;
    size_t column = strlen(title);
    gcut_row *row = gcut_calloc(a, p->n + 1, sizeof *row);
    const gcut_plan_value **value = gcut_calloc(a, p->n + 1, sizeof(*value));
    uint32_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const gcut_plan_value *v = p->value[i];
        if (v->decision != d) continue;
        value[n] = v;
        row[n++] = (gcut_row){v->name, gcut_printf(a, "%s %s %d", v->type, v->op, v->result), v->bytes};
    }
    const gcut_folded f = gcut_fold(a, row, n, o, false);
    gcut_text_add(out, "%s", title);
    for (uint32_t i = 0; i < f.n; i++)
        add_item(out, &column, i, o->columns, item(a, value[*f.at[i].row], &f.at[i]));
    gcut_text_add(out, n ? f.n ? "\n" : " none that matches\n" : " nothing\n");
    if (f.left) gcut_text_add(out, "  left out: %s\n", gcut_left_text(a, &f, "value"));
}

/* A parameter or result that the backward graph reads, with its bytes. */
static const char *alive_text(gcut_arena *a, const gcut_plan_value *v, const gcut_row_group *g)
{
    const char *what = v->result ? "result" : v->op, *bytes = gcut_count_text(a, v->bytes);
    return g->n > 1 ? gcut_printf(a, "%%%s %s %u x %s", g->name, what, g->n, bytes)
                    : gcut_printf(a, "%%%s %s %s", g->name, what, bytes);
}

static const char *recomputed_text(gcut_arena *a, const gcut_plan_value *v, const gcut_row_group *g)
{
    if (g->n > 1)
        return gcut_printf(a, "%u x %%%s %s (for %s)", g->n, g->name, v->op, gcut_readers_text(a, v, true));
    return gcut_printf(a, "%%%s %s (for %s)", v->name, v->op, gcut_readers_text(a, v, false));
}

static void print_loop(const gcut_plan_loop *l, const gcut_table_options *o, gcut_text *out)
{
    gcut_arena *a = out->arena;
    size_t before = out->n;
    gcut_text_add(out, "each iteration of %%%s (%s) saves %s:", l->name, gcut_place_text(a, l->where),
                  gcut_bytes_text(a, l->step_bytes));
    size_t column = out->n - before;
    for (size_t k = 0; k < l->nsaved; k++)
        add_item(out, &column, k, o->columns, gcut_printf(a, "%%%s", l->saved[k]));
    gcut_text_add(out, "%s\n  and recomputes:", l->nsaved ? "" : " nothing");
    column = strlen("  and recomputes:");
    for (size_t k = 0; k < l->nrecomputed; k++)
        add_item(out, &column, k, o->columns,
                 gcut_printf(a, "%%%s %s", l->recomputed[k].name, l->recomputed[k].op));
    gcut_text_add(out, l->nrecomputed ? "\n" : " nothing\n");
}

void gcut_write_saved_text(const gcut_plan_info *p, const gcut_table_options *o, gcut_text *out)
{
    gcut_write_saved_values(p, o, out);
    print_values(p, GCUT_PLAN_ALIVE, o, "alive anyway:", alive_text, out);
    print_values(p, GCUT_PLAN_RECOMPUTED, o, "recomputed:", recomputed_text, out);
    for (size_t i = 0; i < p->nloops; i++) print_loop(p->loop[i], o, out);
}

/* ---- totals ---- */

/* "mincut, budget 1,300 bytes (1.3 KiB), met by 3 flips" */
static const char *choice_text(gcut_arena *a, const gcut_plan_info *p)
{
    if (p->budget)
        return gcut_printf(a, "%s, budget %s, met by %s", p->policy, gcut_bytes_text(a, p->budget), p->label);
    if (p->saved_budget)
        return gcut_printf(a, "%s, at most %s saved", p->policy,
                           gcut_bytes_text(a, gcut_plan_saved_limit(p->saved_budget)));
    const char *replayed = gcut_replayed_text(a, p);
    if (replayed) return gcut_printf(a, "%s, %s", p->policy, replayed);
    return gcut_printf(a, "%s, lambda %g ns/B%s%s", p->policy, gcut_plan_price(p), p->label ? ", " : "",
                       p->label ? p->label : "");
}

static void print_head(const gcut_plan_info *p, gcut_text *out)
{
    gcut_text_add(out, "plan of @%s: %s", p->graph, choice_text(out->arena, p));
    gcut_write_sizes(p->at, p->nat, ", at ", out);
    gcut_text_add(out, "\n");
}

static void print_totals(const gcut_plan_info *p, gcut_text *out)
{
    gcut_arena *a = out->arena;
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += p->value[i]->decision == GCUT_PLAN_RECOMPUTED;
    if (p->peak_bytes >= 0) gcut_text_add(out, "peak: %s\n", gcut_bytes_text(a, p->peak_bytes));
    if (p->block_bytes)
        gcut_text_add(out, "called apart: forward %s, backward %s, each with the block of saved values, %s\n",
                      gcut_bytes_text(a, p->forward_bytes), gcut_bytes_text(a, p->backward_bytes),
                      gcut_bytes_text(a, p->block_bytes));
    if (!isnan(p->step_ns))
        gcut_text_add(out, "step: %s, predicted with %d thread%s of %s\n", gcut_time_text(a, p->step_ns),
                      p->threads, p->threads == 1 ? "" : "s", p->machine);
    if (p->threads != p->priced_threads)
        gcut_text_add(out, "threads: %d, priced as %d, the %s that the machine model has\n", p->threads,
                      p->priced_threads, p->priced_threads < p->threads ? "most" : "fewest");
    if (p->file_machine_hash)
        gcut_text_add(out, "times are of the machine model %s (%s), those of the plan file of %s (%s)\n",
                      p->machine, p->machine_hash, p->file_machine, p->file_machine_hash);
    gcut_text_add(out, "recompute: %s, %zu value%s\n", gcut_time_text(a, p->recompute_ns), n,
                  n == 1 ? "" : "s");
    if (p->nless_workspace)
        gcut_text_add(out, "less workspace: %zu convolution%s\n", p->nless_workspace,
                      p->nless_workspace == 1 ? "" : "s");
    gcut_text_add(out, "cost: %s", gcut_time_text(a, p->cost_ns));
    if (!isnan(p->lower_bound_ns))
        gcut_text_add(out, ", lower bound %s, gap %s", gcut_time_text(a, p->lower_bound_ns),
                      gap_text(a, p->cost_ns - p->lower_bound_ns));
    gcut_text_add(out, "%s\n", p->nparts > 1 ? ", loops left as they are" : "");
}

/* The range of sizes in which no tried size has a cheaper plan; of a plan file, whether its own size has
 * one. */
static void print_validity(const gcut_plan_info *p, const gcut_plan_validity *v, gcut_text *out)
{
    gcut_arena *a = out->arena;
    if (v->minimum_ns > 0 && !v->best)
        gcut_text_add(out,
                      "by prices not the cheapest here: %s (%.3g%%) above the cheapest cut found, %s; "
                      "no plan costs less than %s\n",
                      gcut_time_text(a, v->above_ns), 100 * v->above_ns / v->minimum_ns,
                      gcut_time_text(a, v->minimum_ns), gcut_time_text(a, v->bound_ns));
    for (size_t i = 0; i < v->n; i++) {
        const gcut_valid_range *x = v->range[i];
        gcut_text_add(out, "%s %s tried from %lld to %lld", i ? "," : "best at every", x->symbol,
                      (long long)x->lo, (long long)x->hi);
        if (x->unbounded) gcut_text_add(out, " (no end found)");
        if (!x->lo_exact || (!x->hi_exact && !x->unbounded)) gcut_text_add(out, " at least");
    }
    if (v->best && v->skipped && p->nat) gcut_text_add(out, "other sizes: not tried, %s\n", v->skipped);
    if (v->n) gcut_text_add(out, "%s\n", v->n > 1 ? " (each with the others as they are)" : "");
}

void gcut_write_plan_totals(const gcut_plan_info *p, gcut_text *out)
{
    print_head(p, out);
    print_totals(p, out);
}

void gcut_write_plan_text(const gcut_plan_info *p, const gcut_plan_validity *v, const gcut_table_options *o,
                          gcut_text *out)
{
    gcut_write_plan_totals(p, out);
    print_validity(p, v, out);
    gcut_write_saved_text(p, o, out);
}
