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
             gcut_printf(a, "predicted %s, %d thread%s", gcut_time_text(a, s->predicted_ns), s->threads,
                         plural((size_t)s->threads)));
    const double rate = s->flops / s->median_ns;
    put_tile(out, "Of the limit of arithmetic", percent(a, 1e9 * rate, s->peak_flops_per_second),
             gcut_printf(a, "%.3g of %.3g GFLOP/s", rate, s->peak_flops_per_second / 1e9));
}

static void put_tiles(const gcut_page *page, gcut_text *out)
{
    gcut_arena *a = out->arena;
    const gcut_plan_info *p = page->plan;
    const size_t saved = count(p, GCUT_PLAN_SAVED), again = count(p, GCUT_PLAN_RECOMPUTED);
    gcut_text_add(out, "<dl class=\"tiles\">\n");
    put_tile(out, "Peak of a step", gcut_bytes_short(a, (double)p->peak_bytes),
             gcut_printf(a, "%s bytes, predicted", gcut_count_text(a, p->peak_bytes)));
    put_tile(out, "Saved for backward", gcut_bytes_short(a, (double)p->saved_bytes),
             gcut_printf(a, "%zu tensor%s, %s of the peak", saved, plural(saved),
                         percent(a, (double)p->saved_bytes, (double)p->peak_bytes)));
    put_tile(out, "Cost of computing again", gcut_time_text(a, p->recompute_ns),
             gcut_printf(a, "%zu value%s, %s of the predicted step", again, plural(again),
                         percent(a, p->recompute_ns, p->step_ns)));
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
    gcut_page_say(out, " in the %s graph, while kernel k%d computes ", e->backward ? "backward" : "forward",
                  e->launch);
    gcut_page_value(l, e->value, out);
    gcut_page_say(out, " (%s)", e->op);
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
    gcut_page_say(out, " (%s, %s), with %s, %s of the peak", gcut_memory_word(b->kind), b->op,
                  gcut_bytes_short(out->arena, (double)b->bytes),
                  percent(out->arena, (double)b->bytes, (double)m->peak_bytes));
}

static void put_holders(const gcut_memory_profile *m, const gcut_page_lines *l, gcut_text *out)
{
    const gcut_memory_buffer *any = holder(m, false), *own = holder(m, true);
    if (!any || !any->bytes) return;
    gcut_text_add(out, "<p>");
    put_holder(m, any, "The largest buffer at the peak is", l, out);
    if (own && own != any) put_holder(m, own, "; the largest that the step itself allocates is", l, out);
    gcut_text_add(out, ".</p>\n");
}

static void put_saved(const gcut_plan_info *p, const gcut_page_lines *l, gcut_text *out)
{
    const size_t n = count(p, GCUT_PLAN_SAVED);
    gcut_arena *a = out->arena;
    if (!n) {
        gcut_text_add(out, "<p>The plan saves nothing for the backward graph.</p>\n");
        return;
    }
    const gcut_plan_value *v = p->value[0]; /* the largest */
    gcut_page_say(out, "The plan saves %zu tensor%s, %s, for the backward graph. The largest is ", n,
                  plural(n), gcut_bytes_text(a, p->saved_bytes));
    gcut_page_value(l, v->name, out);
    gcut_page_say(out, " (%s, %s): %s.", v->op, v->type, gcut_bytes_text(a, v->bytes));
}

static void put_cost(const gcut_plan_info *p, gcut_text *out)
{
    gcut_arena *a = out->arena;
    const size_t n = count(p, GCUT_PLAN_RECOMPUTED);
    gcut_page_say(out, "The backward graph computes %zu value%s again, which takes %s of %s.", n, plural(n),
                  gcut_time_text(a, p->recompute_ns), gcut_time_text(a, p->step_ns));
    gcut_page_say(out, " With what saving takes, the plan costs %s", gcut_time_text(a, p->cost_ns));
    if (!isnan(p->lower_bound_ns))
        gcut_page_say(out, "; it is proved that no plan costs less than %s",
                      gcut_time_text(a, p->lower_bound_ns));
    gcut_text_add(out, ".");
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
    gcut_text_add(out, ".</p>\n");
    put_holders(page->memory, l, out);
    gcut_text_add(out, "<p>");
    put_saved(page->plan, l, out);
    gcut_text_add(out, "</p>\n<p>");
    put_cost(page->plan, out);
    gcut_text_add(out, "</p>\n");
    put_other(page->memory, l, out);
}
