/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The buffers of the arena as bars over the predicted time of the step.
 */
#include <stdlib.h>

#include "base/units.h"
#include "report/page/page.h"
#include "report/report.h"

enum { MOST = 60 /* buffers */ };

/* A buffer that the step allocates, how long it is alive, and its bytes times that. */
typedef struct held {
    const gcut_memory_buffer *b;
    double ns, byte_ns;
} held;

static int by_held(const void *a, const void *b)
{
    const held *x = a, *y = b;
    if (x->byte_ns != y->byte_ns) return x->byte_ns > y->byte_ns ? -1 : 1;
    if (x->b->first != y->b->first) return x->b->first < y->b->first ? -1 : 1;
    return (x->b->offset > y->b->offset) - (x->b->offset < y->b->offset);
}

static const held *list(const gcut_memory_profile *m, gcut_arena *a, size_t *n)
{
    held *x = gcut_calloc(a, m->nbuffers + 1, sizeof *x);
    *n = 0;
    for (size_t i = 0; i < m->nbuffers; i++) {
        const gcut_memory_buffer *b = m->buffer[i];
        if (!b->made_by || !b->bytes) continue;
        const gcut_memory_event *first = m->event[b->first], *last = m->event[b->last];
        const double ns = last->start_ns + last->ns - first->start_ns;
        x[(*n)++] = (held){b, ns, ns * (double)b->bytes};
    }
    if (*n) qsort(x, *n, sizeof *x, by_held);
    return x;
}

static double percent(double part, double all)
{
    return all > 0 ? 100 * part / all : 0;
}

static void put_row(const gcut_memory_profile *m, const held *x, const gcut_page_lines *l, gcut_text *out)
{
    const gcut_memory_buffer *b = x->b;
    const double all = gcut_memory_end_ns(m);
    const gcut_memory_event *first = m->event[b->first], *last = m->event[b->last];
    gcut_text_add(out, "<tr><td class=\"n\">%s<td>", gcut_count_text(out->arena, b->bytes));
    if (b->kind == GCUT_MEMORY_WORKSPACE)
        gcut_page_text(out, b->name);
    else
        gcut_page_value(l, b->name, out);
    gcut_text_add(out, "<td>%s<td class=\"n\">k%d<td class=\"n\">k%d<td class=\"n\">%s<td class=\"life\">",
                  gcut_memory_word(b->kind), first->launch, last->launch, gcut_time_text(out->arena, x->ns));
    gcut_text_add(out, "<i class=\"c%d\" style=\"left:%.2f%%;width:%.2f%%\"></i>\n", (int)b->kind,
                  percent(first->start_ns, all), percent(x->ns, all));
}

static void put_head(const gcut_memory_profile *m, gcut_text *out)
{
    const gcut_memory_event *peak = m->event[m->peak];
    gcut_text_add(out,
                  "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"lifetimes\">"
                  "<table class=\"sort lives\" style=\"--peak:%.2f%%\">\n"
                  "<caption>Buffers that the step allocates, the largest by bytes times time first; the line "
                  "is the peak"
                  "</caption>\n",
                  percent(peak->start_ns + peak->ns / 2, gcut_memory_end_ns(m)));
    gcut_text_add(out, "<thead><tr><th scope=\"col\" class=\"n\">bytes<th scope=\"col\">value"
                       "<th scope=\"col\">class<th scope=\"col\" class=\"n\">from"
                       "<th scope=\"col\" class=\"n\">to<th scope=\"col\" class=\"n\">alive for"
                       "<th scope=\"col\">over the step</thead><tbody>\n");
}

void gcut_page_lifetimes(const gcut_page *page, const gcut_page_lines *l, gcut_text *out)
{
    const gcut_memory_profile *m = page->memory;
    size_t n;
    const held *x = list(m, out->arena, &n);
    int64_t left = 0;
    put_head(m, out);
    for (size_t i = 0; i < n && i < MOST; i++) put_row(m, &x[i], l, out);
    for (size_t i = MOST; i < n; i++) left += x[i].b->bytes;
    gcut_text_add(out, "</table></div>\n");
    if (n > MOST)
        gcut_text_add(out, "<p class=\"left\">left out: %zu buffer%s, %s</p>\n", n - MOST,
                      n - MOST == 1 ? "" : "s", gcut_bytes_text(out->arena, left));
}
