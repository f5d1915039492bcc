/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page: its head, its sections, its end.
 */
#include "report/page/page.h"

#include <string.h>

#include "base/units.h"
#include "report/report.h"
#include "report/tables.h"

enum { MOST_ROWS = 100 /* of a table; it says what it leaves out */ };

typedef struct writing {
    const gcut_page *page;
    const gcut_page_lines *l;
    gcut_text *out;
} writing;

/* ---- head ---- */

static int hex_digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* A hash as a Content-Security-Policy has it (base64, RFC 4648, section 4). */
static void put_base64(const char *hex, gcut_text *out)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t bits = 4 * strlen(hex);
    char four[5] = "";
    for (size_t bit = 0; bit < bits; bit += 24) {
        unsigned word = 0;
        for (size_t k = 0; k < 6; k++)
            word = word << 4 | (unsigned)(bit / 4 + k < bits / 4 ? hex_digit(hex[bit / 4 + k]) : 0);
        for (int k = 0; k < 4; k++)
            four[k] = bit + 6 * (size_t)k < bits ? digit[word >> (18 - 6 * k) & 63] : '=';
        gcut_text_add(out, "%s", four);
    }
}

static void put_lines(const char *const *line, gcut_text *out)
{
    for (; *line; line++) gcut_text_addn(out, *line, strlen(*line));
}

static void put_title(const gcut_page *page, gcut_text *out)
{
    gcut_text t = {.arena = out->arena};
    gcut_text_add(&t, "@%s", page->memory->graph);
    gcut_write_sizes(page->memory->at, page->memory->nat, " at ", &t);
    gcut_page_text(out, t.at);
}

/* What the plan is for, and how it was chosen. */
static void put_choice(const gcut_plan_info *p, gcut_text *out)
{
    gcut_page_say(out, "One training step, planned by %s", p->policy);
    if (p->budget > 0) gcut_page_say(out, " within a peak of %s", gcut_bytes_text(out->arena, p->budget));
    if (p->budget == GCUT_BUDGET_MIN) gcut_page_say(out, " for the smallest peak");
    if (p->saved_budget)
        gcut_page_say(out, ", with at most %s saved",
                      gcut_bytes_text(out->arena, gcut_plan_saved_limit(p->saved_budget)));
    const char *replayed = gcut_replayed_text(out->arena, p);
    if (replayed)
        gcut_page_say(out, ", %s", replayed);
    else if (!p->budget && !p->saved_budget)
        gcut_page_say(out, " at %g ns for a saved byte%s%s", gcut_plan_price(p), p->label ? ", " : "",
                      p->label ? p->label : "");
    gcut_page_say(out, ", for %d thread%s. Times are predicted by the model of %s.", p->threads,
                  p->threads == 1 ? "" : "s", p->machine);
}

/* The Content-Security-Policy lets nothing be fetched, and no script run but the one with this hash. */
static void put_head(const gcut_page *page, gcut_text *out)
{
    gcut_text_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                       "style-src 'unsafe-inline'; script-src 'sha256-");
    put_base64(gcut_page_js_sha256, out);
    gcut_text_add(out, "'; base-uri 'none'; form-action 'none'\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    put_title(page, out);
    gcut_text_add(out, ": the plan of a training step</title>\n<style>\n");
    put_lines(gcut_page_css, out);
    gcut_text_add(out, "</style></head>\n<body>\n<header><h1>");
    put_title(page, out);
    gcut_text_add(out, "</h1>\n<p>");
    put_choice(page->plan, out);
    gcut_text_add(out, "</p></header>\n");
}

/* ---- sections ---- */

static void put_picture(const char *name, const char *svg, gcut_text *out)
{
    gcut_text_add(out, "<figure tabindex=\"0\" aria-label=\"%s\">", name);
    gcut_text_add(out, "%s", svg);
    gcut_text_add(out, "</figure>\n");
}

static void put_closed(const writing *w, const char *title, const gcut_table *t)
{
    gcut_text_add(w->out, "<details class=\"more\"><summary>%s</summary>\n", title);
    gcut_page_table(t, w->l, title, w->out);
    gcut_text_add(w->out, "</details>\n");
}

/* What the picture draws. */
static void put_memory_tables(const writing *w)
{
    const gcut_table_options many = {.top = MOST_ROWS};
    gcut_table t = gcut_memory_events(w->page->memory, &many, w->out->arena);
    put_closed(w, "Bytes alive while each kernel runs", &t);
    t = gcut_memory_map(w->page->memory, &many, w->out->arena);
    put_closed(w, "Every buffer of the arena", &t);
}

static void memory_section(const writing *w)
{
    gcut_text_add(w->out,
                  "<p>Above: what is alive while each kernel runs, over the predicted time of the step. "
                  "Below: where each buffer is in the arena.</p>\n");
    gcut_text svg = {.arena = w->out->arena};
    gcut_write_memory_svg(w->page->memory, true, &svg);
    put_picture("memory over the step", svg.at, w->out);
    put_memory_tables(w);
    gcut_text_add(
        w->out,
        "<p>A value whose name begins with d is a gradient or a part of one: %%dh of %%h. k12 is a "
        "kernel; what it computes is named after its last value. Parameters, states, inputs and results are "
        "the caller's memory, outside of the arena, and so are gradients unless an optimizer takes "
        "them.</p>\n");
}

static void peak_section(const writing *w)
{
    static const char *const titles[GCUT_MEMORY_TOTALS] = {"What is alive at the peak, by op",
                                                           "What is alive at the peak, by scope",
                                                           "What is alive at the peak, by source line"};
    const gcut_memory_profile *m = w->page->memory;
    gcut_arena *a = w->out->arena;
    gcut_table_options few = {.top = 25}, many = {.top = MOST_ROWS};
    gcut_table t = gcut_memory_classes(m, a);
    for (uint32_t r = 0; r < t.nrows; r++)
        t.cell.at[r * t.ncols + 2] = NULL; /* letters of the text's picture */
    t.cell.at[3] = "class";
    gcut_page_table(&t, w->l, "Bytes at the peak by class", w->out);
    t = gcut_memory_holders(m, &few, a);
    gcut_page_table(&t, w->l, "Buffers alive at the peak, repeated ones in one row", w->out);
    for (int by = 0; by < GCUT_MEMORY_TOTALS; by++) {
        t = gcut_memory_totals(m, by, &many, a);
        put_closed(w, titles[by], &t);
    }
}

static void lifetimes_section(const writing *w)
{
    gcut_page_lifetimes(w->page, w->l, w->out);
}

static void graph_section(const writing *w)
{
    gcut_text_add(
        w->out,
        "<p>The text of the graph by scope. <b class=\"s\">saved</b>: a value of this line crosses to "
        "the backward graph. <b class=\"r\">recomputed</b>: the backward graph computes it from saved "
        "values, parameters and inputs. Times are predicted; a kernel's time is that of the value it is "
        "named after, that of a "
        "parameter's gradient is with the declarations.</p>\n");
    gcut_page_graph(w->l, w->out);
}

static void saved_section(const writing *w)
{
    gcut_table_options some = {.top = MOST_ROWS}, each = {.top = MOST_ROWS, .all = true};
    gcut_arena *a = w->out->arena;
    gcut_text_add(w->out, "<p>A saved tensor is recomputed instead where a byte costs more than the price "
                          "at which it flips. <q>Instead</q> is the slowest op that would then run.</p>\n");
    gcut_table t = gcut_saved_table(w->page->plan, &some, a);
    const uint32_t folded = t.nrows;
    gcut_page_table(&t, w->l, "Saved tensors, repeated ones in one row", w->out);
    t = gcut_saved_table(w->page->plan, &each, a);
    if (t.nrows != folded) put_closed(w, "Each saved tensor by itself", &t);
    t = gcut_recomputed_table(w->page->plan, &some, a);
    if (t.nrows > 1) put_closed(w, "Values that the backward graph recomputes", &t);
}

static void kernels_section(const writing *w)
{
    gcut_table_options some = {.top = MOST_ROWS};
    gcut_arena *a = w->out->arena;
    gcut_table reasons, t = gcut_fused_table(w->page->fusion, &some, a);
    uint32_t n;
    gcut_page_table(&t, w->l, "Kernels in running order: prologue > kernel > epilogue", w->out);
    t = gcut_unfused_table(w->page->fusion, &some, a, &reasons, &n);
    gcut_page_say(w->out, "%u pair%s of a value and a kernel that reads it from memory:", n,
                  n == 1 ? "" : "s");
    gcut_page_table(&t, w->l, "What one kernel writes and another reads, and why they are not one", w->out);
    gcut_page_table(&reasons, w->l, "What the reasons mean", w->out);
}

/* How many of its kernels the plan has. */
static size_t kernels_in_common(const gcut_profile *p, const gcut_fusion *f)
{
    size_t n = 0;
    for (size_t i = 0, x = 0; i < p->n; i++) { /* both are in running order */
        while (x < f->nkernels && f->kernel[x]->launch < p->at[i]->launch) x++;
        n += x < f->nkernels && f->kernel[x]->launch == p->at[i]->launch &&
             !strcmp(f->kernel[x]->value, p->at[i]->value);
    }
    return n;
}

/* Where the times are from. */
static void put_origin(const writing *w)
{
    const gcut_profile *p = w->page->profile;
    const size_t same = kernels_in_common(p, w->page->fusion), here = w->page->fusion->nkernels;
    gcut_text_add(w->out, "<p>");
    gcut_page_say(w->out,
                  "%s of %d step%s with %d thread%s; limits and predictions are of the machine model %s.",
                  p->means ? "Means" : "Medians", p->steps, p->steps == 1 ? "" : "s", p->threads,
                  p->threads == 1 ? "" : "s", p->machine);
    if (same < p->n || same < here)
        gcut_page_say(w->out,
                      " The steps had another plan, or one made with another machine model: %zu of their %zu "
                      "kernels are among the %zu of this plan.",
                      same, p->n, here);
    gcut_text_add(w->out, "</p>\n");
}

static void profile_section(const writing *w)
{
    gcut_table_options some = {.top = MOST_ROWS};
    gcut_text svg = {.arena = w->out->arena};
    gcut_write_profile_svg(w->page->profile, &svg);
    put_picture("kernels below the limits of the machine", svg.at, w->out);
    put_origin(w);
    svg.n = 0;
    gcut_write_profile_flame(w->page->profile, &svg);
    put_picture("measured time by scope", svg.at, w->out);
    const gcut_table t = gcut_profile_table(w->page->profile, &some, w->out->arena);
    gcut_page_table(&t, w->l, "Measured kernels, the longest first", w->out);
}

static void frontier_section(const writing *w)
{
    gcut_text svg = {.arena = w->out->arena};
    const gcut_frontier_mark mark = {"this plan", w->page->plan->peak_bytes, w->page->plan->step_ns};
    gcut_write_frontier_svg(w->page->frontier, &mark, &svg);
    put_picture("frontier of peak and time", svg.at, w->out);
    const gcut_table t = gcut_frontier_table(w->page->frontier, &(gcut_table_options){0}, w->out->arena);
    gcut_page_table(
        &t, w->l,
        "Plans for every budget, then what policies do without one (mincut: the cut alone, without flips)",
        w->out);
}

static void lint_section(const writing *w)
{
    const gcut_lint_report *r = w->page->lint;
    gcut_table_options some = {.top = MOST_ROWS};
    for (size_t i = 0, end; i < r->n; i = end) {
        end = gcut_lint_rule_end(r, i);
        const gcut_table t = gcut_lint_table(r, i, end, &some, w->out->arena);
        gcut_text_add(w->out, "<h3>%s</h3>\n<p>", r->finding[i]->rule);
        gcut_page_say(w->out, "%s. Instead: %s.", r->finding[i]->means, r->finding[i]->instead);
        gcut_text_add(w->out, "</p>\n");
        gcut_page_table(&t, w->l, r->finding[i]->rule, w->out);
    }
}

static void summary_section(const writing *w)
{
    gcut_text totals = {.arena = w->out->arena};
    gcut_page_summary(w->page, w->l, w->out);
    gcut_write_plan_totals(w->page->plan, &totals);
    gcut_text_add(
        w->out,
        "<details class=\"more\"><summary>Totals of the plan, as gradcut plan prints them</summary>\n<pre>");
    gcut_page_text(w->out, totals.at);
    gcut_text_add(w->out, "</pre></details>\n");
}

typedef struct section {
    const char *id, *title;
    void (*write)(const writing *w);
    bool there;
} section;

void gcut_write_page(const gcut_page *page, gcut_text *out)
{
    const gcut_page_lines l = gcut_page_lines_of(page, out->arena);
    const writing w = {page, &l, out};
    const section all[] = {
        {"summary", "Summary", summary_section, true},
        {"memory", "Memory over the step", memory_section, page->memory->nevents > 0},
        {"peak", "Who holds the peak", peak_section, true},
        {"lifetimes", "Lifetimes", lifetimes_section, page->memory->nevents > 0},
        {"frontier", "Peak against time", frontier_section, page->frontier != NULL},
        {"saved", "Saved and recomputed", saved_section, true},
        {"graph", "Graph", graph_section, true},
        {"profile", "Measured kernels", profile_section, page->profile != NULL},
        {"kernels", "Kernels", kernels_section, true},
        {"lint", "Lint", lint_section, page->lint->n > 0},
    };
    put_head(page, out);
    gcut_text_add(out, "<nav aria-label=\"sections\">");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].there) gcut_text_add(out, "<a href=\"#%s\">%s</a>\n", all[i].id, all[i].title);
    gcut_text_add(out, "</nav>\n<main>\n");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].there) continue;
        gcut_text_add(out, "<section id=\"%s\"><h2>%s</h2>\n", all[i].id, all[i].title);
        all[i].write(&w);
        gcut_text_add(out, "</section>\n");
    }
    gcut_text_add(out, "</main>\n<footer><p>");
    gcut_page_say(out, "gradcut %s; graph %s; machine model %s (%s).", page->version, page->plan->graph_hash,
                  page->plan->machine, page->plan->machine_hash);
    gcut_text_add(out, "</p></footer>\n<script>");
    put_lines(gcut_page_js, out);
    gcut_text_add(out, "</script>\n</body></html>\n");
}
