/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The summary: figures, and the answers in sentences.
 */
#include <math.h>

#include "base/units.h"
#include "report/page/page.h"
#include "report/report.h"

static const char *percent(gcut_arena *a, double part, double all)
{
    return gcut_printf(a, "%.1f%%", all > 0 ? 100 * part / all : 0);
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- figures ---- */

static void put_tile(gcut_text *out, const char *name, const char *figure, const char *below)
{
    gcut_text_add(out, "<div><dt>%s</dt><dd>", name);
    gcut_page_text(out, figure);
    gcut_text_add(out, "<small>");
    gcut_page_text(out, below);
    gcut_text_add(out, "</small></dd></div>\n");
}

static size_t count(const gcut_plan_info *p, gcut_plan_decision d)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += p->value[i]->decision == d;
    return n;
}

static void put_step(const gcut_page *page, gcut_text *out)
{
    gcut_arena *a = out->arena;
    const gcut_profile *s = page->profile;
    if (!s) {
        put_tile(out, "Time of a step, predicted", gcut_time_text(a, page->plan->step_ns),
                 gcut_printf(a, "%d thread%s", page->plan->threads, plural((size_t)page->plan->threads)));
        return;
    }
    put_tile(out, "Time of a step, measured", gcut_time_text(a, s->median_ns),
             gcut_printf(a, "%d thread%s; predicted %s by the model of %s", s->threads,
                         plural((size_t)s->threads), gcut_time_text(a, s->predicted_ns), s->machine));
    const double rate = s->flops / s->median_ns;
    put_tile(out, "Of the limit of arithmetic", percent(a, 1e9 * rate, s->peak_flops_per_second),
             gcut_printf(a, "%s of %s GFLOP/s", gcut_three_digits(a, rate),
                         gcut_three_digits(a, s->peak_flops_per_second / 1e9)));
}

/* What limits the peak. */
static const char *budget_text(gcut_arena *a, const gcut_plan_info *p)
{
    if (p->budget > 0)
        return gcut_printf(a, "%s of the budget", percent(a, (double)p->peak_bytes, (double)p->budget));
    return p->budget == GCUT_BUDGET_MIN ? "the smallest that was found" : "predicted, without a budget";
}

/* Counts of values are of the step's own, not of those in bodies of loops. */
static const char *outside(const gcut_plan_info *p)
{
    return p->nloops ? " outside of loops" : "";
}

static void put_recompute_tile(const gcut_plan_info *p, gcut_text *out)
{
    gcut_arena *a = out->arena;
    const size_t n = count(p, GCUT_PLAN_RECOMPUTED);
    put_tile(out, "Recomputing, predicted", gcut_time_text(a, p->recompute_ns),
             gcut_printf(a, "%zu value%s%s, %s of the step", n, plural(n), outside(p),
                         percent(a, p->recompute_ns, p->step_ns)));
}

static void put_tiles(const gcut_page *page, gcut_text *out)
{
    gcut_arena *a = out->arena;
    const gcut_plan_info *p = page->plan;
    const size_t saved = count(p, GCUT_PLAN_SAVED);
    gcut_text_add(out, "<dl class=\"tiles\">\n");
    put_tile(out, "Peak of a step", gcut_bytes_short(a, (double)p->peak_bytes), budget_text(a, p));
    put_tile(out, "Saved for backward", gcut_bytes_short(a, (double)p->saved_bytes),
             gcut_printf(a, "%zu tensor%s over the step", saved, plural(saved)));
    put_recompute_tile(p, out);
    put_step(page, out);
    gcut_text_add(out, "</dl>\n");
}

/* ---- sentences ---- */

static void put_peak(const gcut_memory_profile *m, const gcut_page_lines *l, gcut_text *out)
{
    gcut_arena *a = out->arena;
    gcut_page_say(out, "peaks at %s", gcut_bytes_text(a, m->peak_bytes));
    if (!m->nevents) return;
    const gcut_memory_event *e = m->event[m->peak];
    gcut_page_say(out, ", %s after it begins, in the %s graph, while the kernel k%d (%s) computes ",
                  gcut_time_text(a, e->start_ns), e->backward ? "backward" : "forward", e->launch, e->op);
    gcut_page_value(l, e->value, out);
}

/* "Parameters hold 38.3% of it, gradients 38.3%, …", the largest first. */
static void put_classes(const gcut_memory_profile *m, gcut_text *out)
{
    bool said[GCUT_MEMORY_CLASSES] = {false};
    const int64_t *live = m->event[m->peak]->live;
    for (int n = 0; n < GCUT_MEMORY_CLASSES; n++) {
        int most = -1;
        for (int k = 0; k < GCUT_MEMORY_CLASSES; k++)
            if (!said[k] && live[k] * 1000 >= m->peak_bytes && (most < 0 || live[k] > live[most])) most = k;
        if (most < 0) break;
        said[most] = true;
        gcut_page_say(out, "%s%s %s", n ? ", " : " Of it, ",
                      percent(out->arena, (double)live[most], (double)m->peak_bytes),
                      n ? gcut_memory_word((gcut_memory_class)most)
                        : gcut_printf(out->arena, "are %s", gcut_memory_word((gcut_memory_class)most)));
    }
    gcut_text_add(out, ".");
}

/* The buffer with the most bytes at the peak; NULL: there is none.  owned: not one of the caller's. */
static const gcut_memory_buffer *holder(const gcut_memory_profile *m, bool owned)
{
    const gcut_memory_buffer *most = NULL;
    for (size_t i = 0; i < m->nbuffers; i++) {
        const gcut_memory_buffer *b = m->buffer[i];
        if (b->at_peak && (!owned || b->made_by) && (!most || b->bytes > most->bytes)) most = b;
    }
    return most;
}

static void put_holder(const gcut_memory_profile *m, const gcut_memory_buffer *b, const char *what,
                       const gcut_page_lines *l, gcut_text *out)
{
    gcut_text_add(out, "%s ", what);
    if (b->kind == GCUT_MEMORY_WORKSPACE)
        gcut_page_text(out, b->name);
    else
        gcut_page_value(l, b->name, out);
    gcut_page_say(out, " (%s, %s): %s, %s of the peak", gcut_memory_word(b->kind), b->op,
                  gcut_bytes_text(out->arena, b->bytes),
                  percent(out->arena, (double)b->bytes, (double)m->peak_bytes));
}

static void put_holders(const gcut_memory_profile *m, const gcut_page_lines *l, gcut_text *out)
{
    const gcut_memory_buffer *any = holder(m, false), *own = holder(m, true);
    if (!any || !any->bytes) return;
    gcut_text_add(out, "<p>");
    put_holder(m, any, "The largest single buffer at the peak is", l, out);
    if (own && own != any) put_holder(m, own, "; of those that the step allocates it is", l, out);
    gcut_text_add(out, ".</p>\n");
}

static void put_saved(const gcut_plan_info *p, const gcut_page_lines *l, gcut_text *out)
{
    const size_t n = count(p, GCUT_PLAN_SAVED);
    gcut_arena *a = out->arena;
    if (!n) {
        gcut_text_add(out, "The plan saves nothing for the backward graph.");
        return;
    }
    const gcut_plan_value *v = p->value[0]; /* the largest */
    size_t same = 1;
    while (same < n && p->value[same]->bytes == v->bytes) same++;
    gcut_page_say(out, "The plan saves %zu tensor%s, %s, for the backward graph. The largest is ", n,
                  plural(n), gcut_bytes_text(a, p->saved_bytes));
    gcut_page_value(l, v->name, out);
    gcut_page_say(out, " (%s, %s): %s", v->op, v->type, gcut_bytes_text(a, v->bytes));
    if (same > 1) gcut_page_say(out, ", as large as %zu other%s", same - 1, plural(same - 1));
    gcut_text_add(out, ".");
}

static void put_recomputed(const gcut_plan_info *p, gcut_text *out)
{
    gcut_arena *a = out->arena;
    const size_t n = count(p, GCUT_PLAN_RECOMPUTED);
    if (n)
        gcut_page_say(
            out,
            "The backward graph recomputes %zu value%s%s, which by the prices of the cut takes %s, %s of the "
            "predicted step of %s. ",
            n, plural(n), outside(p), gcut_time_text(a, p->recompute_ns),
            percent(a, p->recompute_ns, p->step_ns), gcut_time_text(a, p->step_ns));
    else
        gcut_page_say(out, "The backward graph recomputes no value of the forward graph%s. ", outside(p));
}

/* Costs are prices: they count saved bytes, too. */
static void put_cost(const gcut_plan_info *p, gcut_text *out)
{
    gcut_arena *a = out->arena;
    if (!(p->cost_ns > 0)) return;
    gcut_page_say(out, "To save and to recompute costs %s by the prices of the cut",
                  gcut_time_text(a, p->cost_ns));
    if (gcut_plan_price(p) > 0)
        gcut_page_say(out, ", %g ns for each saved byte among them", gcut_plan_price(p));
    if (!isnan(p->lower_bound_ns))
        gcut_page_say(out, "; it is proved that no plan%s costs less than %s%s",
                      p->budget || p->saved_budget ? " within the budget" : "",
                      gcut_time_text(a, p->lower_bound_ns), p->nparts > 1 ? ", loops left as they are" : "");
    gcut_text_add(out, ".");
}

static void put_loop(const gcut_plan_loop *x, const gcut_page_lines *l, gcut_text *out)
{
    gcut_text_add(out, "<p>Each iteration of ");
    gcut_page_value(l, x->name, out);
    gcut_page_say(out, " saves %s", gcut_bytes_text(out->arena, x->step_bytes));
    gcut_page_say(out, x->nsaved ? " (" : "");
    for (size_t i = 0; i < x->nsaved; i++) gcut_page_say(out, "%s%%%s", i ? ", " : "", x->saved[i]);
    gcut_page_say(out, "%s and recomputes %s", x->nsaved ? ")" : "", x->nrecomputed ? "" : "nothing");
    for (size_t i = 0; i < x->nrecomputed; i++)
        gcut_page_say(out, "%s%%%s %s", i ? ", " : "", x->recomputed[i].name, x->recomputed[i].op);
    gcut_text_add(out, ".</p>\n");
}

static void put_other(const gcut_memory_profile *m, const gcut_page_lines *l, gcut_text *out)
{
    const gcut_memory_profile *o = m->against;
    if (!o) return;
    gcut_text_add(out, "<p>The other plan (");
    gcut_page_text(out, o->policy);
    gcut_text_add(out, ") ");
    put_peak(o, l, out);
    gcut_page_say(out, "; its step takes %s, this one %s, as predicted.",
                  gcut_time_text(out->arena, o->step_ns), gcut_time_text(out->arena, m->step_ns));
    gcut_text_add(out, "</p>\n");
}

void gcut_page_summary(const gcut_page *page, const gcut_page_lines *l, gcut_text *out)
{
    put_tiles(page, out);
    gcut_text_add(out, "<p>A training step ");
    put_peak(page->memory, l, out);
    gcut_text_add(out, ".");
    if (page->memory->nevents) put_classes(page->memory, out);
    gcut_text_add(out, "</p>\n");
    put_holders(page->memory, l, out);
    gcut_text_add(out, "<p>");
    put_saved(page->plan, l, out);
    gcut_text_add(out, "</p>\n<p>");
    put_recomputed(page->plan, out);
    put_cost(page->plan, out);
    gcut_text_add(out, "</p>\n");
    for (size_t i = 0; i < page->plan->nloops; i++) put_loop(page->plan->loop[i], l, out);
    put_other(page->memory, l, out);
}
