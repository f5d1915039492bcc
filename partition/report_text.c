/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The plan in words and as a table.
 */
#include <math.h>
#include <string.h>

#include "base/table.h"
#include "partition/form.h"
#include "partition/holds.h"
#include "partition/policy.h"
#include "partition/report.h"

/* ---- pieces of text ---- */

/* Less than a millionth of a nanosecond of rounding is told as such: its digits say nothing. */
static const char *gap_text(gcut_arena *a, double ns)
{
    return ns > 0 && ns < 1e-6 ? "< 1e-06 ns" : gcut_report_time(a, ns);
}

static const char *flop_text(gcut_arena *a, double flops)
{
    static const char *const unit[] = {"", "k", "M", "G", "T", "P"};
    int u = 0;
    while (flops >= 1000 && u < 5) flops /= 1000, u++;
    return gcut_printf(a, flops < 10 && u ? "%.1f %sflop" : "%.0f %sflop", flops, unit[u]);
}

/* The type, or bf16 of f32[32,256], or f32[32,256] in its gradient. */
static const char *stored_type(const gcut_report_ctx *r, gcut_ref v)
{
    gcut_form form = r->plan->value[v].form;
    const char *plain = gcut_report_type(r, v);
    if (form == GCUT_FORM_GRAD) return gcut_printf(r->arena, "%s in its gradient", plain);
    return form == GCUT_FORM_PLAIN ? plain : gcut_printf(r->arena, "%s of %s", gcut_form_name(form), plain);
}

/* ---- who reads a value ---- */

/* "%h2' relu, %mask gt": a prime marks what is itself recomputed there; long lists are cut short. */
static const char *readers_text(const gcut_report_ctx *r, gcut_ref v)
{
    gcut_refs who = gcut_report_readers(r, v);
    gcut_text t = {.arena = r->arena};
    for (uint32_t i = 0; i < who.n && i < 3; i++) {
        bool again = r->plan->value[who.at[i]].fate == GCUT_F_RECOMPUTED &&
                     r->plan->value[who.at[i]].where == GCUT_W_FORWARD;
        gcut_text_add(&t, "%s%%%s%s %s", i ? ", " : "", r->g->values.at[who.at[i]].name, again ? "'" : "",
                      gcut_maker_name(r->g, who.at[i]));
    }
    if (who.n > 3) gcut_text_add(&t, " +%u", who.n - 3);
    return t.at ? t.at : "-";
}

/* ---- what recomputing would cost ---- */

/* The chain that would have to run in the backward half if v were not saved and all else stayed: its
 * dearest step by name (with flops where it has any), and the price of it all. */
static const char *instead_text(const gcut_report_ctx *r, gcut_ref v)
{
    const gcut_graph *g = r->g;
    bool *need = gcut_calloc(r->arena, g->values.n, 1);
    double total = 0, dearest = -1;
    const gcut_node *worst = NULL;
    need[v] = true;
    if (r->p->force[v] == GCUT_FORCE_SAVE) return "forced";
    for (uint32_t i = g->values.at[v].def + 1; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        bool here = false;
        for (gcut_ref u = n->res0; u < n->res0 + n->nres; u++)
            here |= need[u] && (u == v || r->plan->value[u].fate == GCUT_F_UNUSED);
        if (!here) continue;
        for (uint32_t k = 0; k < n->nargs; k++) need[gcut_arg(g, n, k)] = true;
        double ns = r->p->price[n->res0].recompute_ns;
        total += ns;
        if (ns > dearest) dearest = ns, worst = n;
    }
    const gcut_plan_options *o = &r->plan->options;
    double flops = gcut_node_flops(g, worst, o->at, o->nat);
    const char *name = gcut_op_get((gcut_op)worst->op)->name;
    return gcut_printf(r->arena, "%s %s", name,
                       flops > 0 ? flop_text(r->arena, flops) : gcut_report_time(r->arena, total));
}

static const char *flip_text(const gcut_report_ctx *r, gcut_ref v)
{
    const gcut_flips *f = &r->flips[v];
    gcut_text t = {.arena = r->arena};
    if (r->p->force[v] == GCUT_FORCE_SAVE) return "forced";
    if (f->n == 0) return f->saved ? "never" : "0 ns/B";
    for (uint32_t i = 0; i < f->n; i++)
        gcut_text_add(&t, "%s%s%.2g", i ? ", " : "", (i % 2 == 0) != f->saved ? "back " : "", f->at[i]);
    gcut_text_add(&t, " ns/B");
    return t.at;
}

/* ---- tables ---- */

enum { COL_BYTES, COL_SHARE, COL_VALUE, COL_TYPE, COL_OP, COL_AT, COL_READ, COL_FLIP, COL_INSTEAD, NCOLS };
static const char *const titles[NCOLS] = {
    "bytes", "share", "value", "type", "made by", "at", "read in backward by", "flips at", "instead"};

static const char *bytes_formula(const gcut_report_ctx *r, gcut_ref v)
{
    gcut_module *m = r->g->module;
    return gcut_report_sym(r, gcut_form_bytes(m, gcut_type_of(r->g, v), r->plan->value[v].form));
}

static void fill_row(const gcut_report_ctx *r, gcut_ref v, const char **cell)
{
    int64_t bytes = r->plan->value[v].bytes, all = r->plan->saved_bytes;
    cell[COL_BYTES] = r->symbolic ? bytes_formula(r, v) : gcut_report_exact(r->arena, bytes);
    cell[COL_SHARE] = gcut_printf(r->arena, "%.1f%%", all ? 100.0 * (double)bytes / (double)all : 0.0);
    cell[COL_VALUE] = gcut_printf(r->arena, "%%%s", r->g->values.at[v].name);
    cell[COL_TYPE] = stored_type(r, v);
    cell[COL_OP] = gcut_maker_name(r->g, v);
    cell[COL_AT] = gcut_report_at_text(r, v);
    cell[COL_READ] = readers_text(r, v);
    cell[COL_FLIP] = flip_text(r, v);
    cell[COL_INSTEAD] = instead_text(r, v);
}

static const char *form_note(gcut_form form)
{
    return form == GCUT_FORM_BF16   ? ", each element off by at most 2^-8 of itself"
           : form == GCUT_FORM_GRAD ? ", in the memory of gradients that are results"
                                    : "";
}

/* "as bf16: 3 tensors, 5,120 bytes less, each element off by at most 2^-8 of itself" */
static void print_forms(const gcut_report_ctx *r, gcut_text *out)
{
    for (gcut_form form = GCUT_FORM_BF16; form <= GCUT_FORM_GRAD; form++) {
        uint32_t n = 0;
        int64_t less = 0;
        for (gcut_ref v = 1; v < r->g->values.n; v++) {
            if (r->plan->value[v].fate != GCUT_F_SAVED || r->plan->value[v].form != form) continue;
            n++;
            less += r->p->price[v].bytes - r->plan->value[v].bytes;
        }
        if (!n) continue;
        gcut_text_add(out, "as %s: %u tensor%s, %s less", gcut_form_name(form), n, n == 1 ? "" : "s",
                      gcut_report_size(r->arena, less));
        gcut_text_add(out, "%s\n", form_note(form));
    }
}

static void print_saved(const gcut_report_ctx *r, gcut_text *out)
{
    gcut_refs s = gcut_report_saved(r);
    gcut_text_add(out, "saved for backward: %u tensor%s, %s", s.n, s.n == 1 ? "" : "s",
                  gcut_report_size(r->arena, r->plan->saved_bytes));
    if (!gcut_dim_known(r->plan->saved_bytes_sym))
        gcut_text_add(out, "        %s", gcut_report_sym(r, r->plan->saved_bytes_sym));
    gcut_text_add(out, "\n");
    if (!s.n) return;
    gcut_table t = {.arena = r->arena, .ncols = NCOLS, .right = 1u << COL_BYTES | 1u << COL_SHARE};
    gcut_table_row(&t, titles);
    for (uint32_t i = 0; i < s.n; i++) {
        const char *cell[NCOLS];
        fill_row(r, s.at[i], cell);
        gcut_table_row(&t, cell);
    }
    gcut_table_print(&t, 0, t.nrows, "  ", out);
    print_forms(r, out);
}

#define WIDTH 110

/* Adds one item of a list, on a new line when this one is full. *column is where the line stands. */
static void add_item(gcut_text *out, size_t *column, uint32_t number, const char *item)
{
    size_t n = strlen(item);
    bool fresh = number && *column + n + 3 > WIDTH;
    gcut_text_add(out, "%s%s%s", number ? ";" : "", fresh ? "\n  " : " ", item);
    *column = (fresh ? 2 : *column + 2) + n;
}

/* Parameters and results that the backward half reads, with their bytes. */
static void print_alive(const gcut_report_ctx *r, gcut_text *out)
{
    uint32_t n = 0;
    size_t column = strlen("alive anyway:");
    gcut_text_add(out, "alive anyway:");
    for (gcut_ref v = 1; v < r->g->values.n; v++) {
        const gcut_decision *d = &r->plan->value[v];
        if (d->fate != GCUT_F_FREE || gcut_value_is(r->g, v, GCUT_CLASS_CONSTANT)) continue;
        if (!r->p->facts->read[v] && !gcut_report_readers(r, v).n) continue;
        add_item(out, &column, n++,
                 gcut_printf(r->arena, "%%%s %s %s", r->g->values.at[v].name,
                             gcut_def(r->g, v) ? "result" : gcut_maker_name(r->g, v),
                             gcut_report_exact(r->arena, r->p->price[v].bytes)));
    }
    gcut_text_add(out, n ? "\n" : " nothing\n");
}

static void print_recomputed(const gcut_report_ctx *r, gcut_text *out)
{
    uint32_t n = 0;
    size_t column = strlen("recomputed:");
    gcut_text_add(out, "recomputed:");
    for (gcut_ref v = 1; v < r->g->values.n; v++)
        if (gcut_report_recomputed(r, v))
            add_item(out, &column, n++,
                     gcut_printf(r->arena, "%%%s %s (for %s)", r->g->values.at[v].name,
                                 gcut_maker_name(r->g, v), readers_text(r, v)));
    gcut_text_add(out, n ? "\n" : " nothing\n");
}

/* ---- loops ---- */

static void print_loops(const gcut_report_ctx *r, gcut_text *out)
{
    gcut_report_loops loops = gcut_report_loops_of(r);
    for (uint32_t i = 0; i < loops.n; i++) {
        const gcut_report_loop *l = &loops.at[i];
        int64_t bytes = 0;
        gcut_dim_eval(r->g->module->dims, l->bytes, r->plan->options.at, r->plan->options.nat, &bytes);
        size_t before = out->n;
        gcut_text_add(out, "each step of %%%s (%s) saves %s:", r->g->values.at[l->loop].name,
                      gcut_report_at_text(r, l->loop), gcut_report_size(r->arena, bytes));
        size_t column = out->n - before;
        for (uint32_t k = 0; k < l->saved.n; k++)
            add_item(out, &column, k, gcut_printf(r->arena, "%%%s", r->g->values.at[l->saved.at[k]].name));
        gcut_text_add(out, "%s\n  and recomputes:", l->saved.n ? "" : " nothing");
        column = strlen("  and recomputes:");
        uint32_t n = 0;
        for (uint32_t k = 0; k < l->body->nodes.n; k++) {
            const gcut_node *node = gcut_node_at(l->body, k);
            if (gcut_mark_find(&node->marks, "recomputed"))
                add_item(out, &column, n++,
                         gcut_printf(r->arena, "%%%s %s", l->body->values.at[node->res0].name,
                                     gcut_op_get((gcut_op)node->op)->name));
        }
        gcut_text_add(out, n ? "\n" : " nothing\n");
    }
}

void gcut_report_saved_table(const gcut_plan *plan, bool symbolic, gcut_text *out)
{
    gcut_arena *scratch = gcut_arena_new(plan->joint->module->env, plan->joint->module->arena);
    gcut_report_ctx r = gcut_report_open(plan, scratch);
    r.symbolic = symbolic;
    print_saved(&r, out);
    print_alive(&r, out);
    print_recomputed(&r, out);
    print_loops(&r, out);
    gcut_arena_free(scratch);
}

static uint32_t count_recomputed(const gcut_report_ctx *r)
{
    uint32_t n = 0;
    for (gcut_ref v = 1; v < r->g->values.n; v++) n += gcut_report_recomputed(r, v);
    return n;
}

/* The range of sizes in which no size was tried at which another plan is cheaper; of a plan file, whether one
 * is at its own. */
static void print_holds(const gcut_report_ctx *r, gcut_text *out)
{
    gcut_holds h = gcut_plan_holds(r->plan, r->arena);
    if (h.minimum_ns > 0 && !h.best)
        gcut_text_add(out, "not the cheapest here: %s (%.3g%%) above %s, of which no plan is below %s\n",
                      gcut_report_time(r->arena, h.above_ns), 100 * h.above_ns / h.minimum_ns,
                      gcut_report_time(r->arena, h.minimum_ns), gcut_report_time(r->arena, h.bound_ns));
    for (uint32_t i = 0; i < h.ranges.n; i++) {
        const gcut_range *x = &h.ranges.at[i];
        gcut_text_add(out, "%s %s tried from %lld to %lld", i ? "," : "best at every",
                      gcut_report_sym(r, x->sym), (long long)x->lo, (long long)x->hi);
        if (x->unbounded) gcut_text_add(out, " (no end found)");
        if (!x->lo_exact || (!x->hi_exact && !x->unbounded)) gcut_text_add(out, " at least");
    }
    if (h.best && h.skipped && r->plan->options.nat)
        gcut_text_add(out, "other sizes: not tried, %s\n", h.skipped);
    if (h.ranges.n) gcut_text_add(out, "%s\n", h.ranges.n > 1 ? " (each with the others as they are)" : "");
}

void gcut_report_plan(const gcut_plan *plan, bool symbolic, gcut_text *out)
{
    const gcut_module *m = plan->joint->module;
    gcut_arena *a = gcut_arena_new(m->env, m->arena);
    gcut_report_ctx r = gcut_report_open(plan, a);
    r.symbolic = symbolic;
    gcut_text_add(out, "plan of @%s: %s, ", r.g->name, gcut_policy_text(a, &plan->options));
    if (plan->budget)
        gcut_text_add(out, "budget %s, met by %s", gcut_report_size(a, plan->budget), plan->label);
    else if (plan->options.saved_limited)
        gcut_text_add(out, "at most %s saved", gcut_report_size(a, plan->options.saved_budget));
    else
        gcut_text_add(out, "lambda %g ns/B", plan->options.lambda);
    for (uint32_t i = 0; i < plan->options.nat; i++)
        gcut_text_add(out, "%s%s=%lld", i ? ", " : ", at ", gcut_report_sym(&r, plan->options.at[i].sym),
                      (long long)plan->options.at[i].value);
    gcut_text_add(out, "\n");
    if (plan->peak_bytes >= 0) gcut_text_add(out, "peak: %s\n", gcut_report_size(a, plan->peak_bytes));
    if (!isnan(plan->step_ns)) gcut_text_add(out, "step: %s predicted\n", gcut_report_time(a, plan->step_ns));
    uint32_t n = count_recomputed(&r);
    gcut_text_add(out, "recompute: %s, %u value%s\n", gcut_report_time(a, plan->recompute_ns), n,
                  n == 1 ? "" : "s");
    gcut_text_add(out, "cost: %s", gcut_report_time(a, plan->cost_ns));
    if (!isnan(plan->lower_bound_ns))
        gcut_text_add(out, ", lower bound %s, gap %s", gcut_report_time(a, plan->lower_bound_ns),
                      gap_text(a, plan->cost_ns - plan->lower_bound_ns));
    bool loops = plan->options.loops && plan->options.loops->all.n;
    gcut_text_add(out, "%s\n", loops ? ", loops left as they are" : "");
    print_holds(&r, out);
    print_saved(&r, out);
    print_alive(&r, out);
    print_recomputed(&r, out);
    print_loops(&r, out);
    gcut_arena_free(a);
}
