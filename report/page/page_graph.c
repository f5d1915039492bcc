/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The graph: the text IR with the scopes of its values as parts that open and close, each with what it saves, what is
 * recomputed and its predicted time.  Saved values have a filled square, recomputed ones a hatched one.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/page/page.h"

enum { PIECE = 100 /* lines that a browser lays out at once when they come into view */ };

typedef struct drawing {
    const gcut_page_lines *l;
    gcut_text *out;
    gcut_page_line most; /* of any part that is not in another one: bars are as long as their share of it */
    uint32_t piece;      /* lines of the open <pre>; 0: none is open */
} drawing;

/* The end of the component of the scope that begins at byte `from`; 0: the scope has no such component. */
static size_t component_end(const gcut_page_line *x, size_t from)
{
    size_t end = from;
    if (!x->name || x->scope <= from) return 0;
    while (end < x->scope && x->name[end] != '.') end++;
    return end;
}

/* Whether the lines have this component in common, and what is before it. */
static bool same_scope(const gcut_page_line *a, const gcut_page_line *b, size_t from, size_t end)
{
    return component_end(b, from) == end && !strncmp(a->name, b->name, end);
}

static gcut_page_line sum_of(const gcut_page_line *at, uint32_t n)
{
    gcut_page_line sum = {0};
    for (uint32_t i = 0; i < n; i++) {
        sum.saved_bytes += at[i].saved_bytes;
        sum.saved += at[i].saved;
        sum.recomputed += at[i].recomputed;
        sum.recompute_ns += at[i].recompute_ns;
        sum.forward_ns += at[i].forward_ns;
        sum.backward_ns += at[i].backward_ns;
    }
    return sum;
}

/* The lines of the part that begins with line i; 1: it is a line by itself. */
static uint32_t part_length(const drawing *d, uint32_t i, uint32_t end, size_t from, size_t *component)
{
    const gcut_page_line *at = d->l->at;
    uint32_t n = 1;
    *component = component_end(&at[i], from);
    while (*component && i + n < end && same_scope(&at[i], &at[i + n], from, *component)) n++;
    return n;
}

static void close_piece(drawing *d)
{
    if (d->piece) gcut_text_add(d->out, "</pre>\n");
    d->piece = 0;
}

static void put_line(drawing *d, const gcut_page_line *x, uint32_t i)
{
    gcut_text *out = d->out;
    if (d->piece == PIECE) close_piece(d);
    if (!d->piece++) gcut_text_add(out, "<pre>");
    if (x->name || *x->at == ' ' || *x->at == 'f') gcut_text_add(out, "<i id=\"v%u\">", i);
    gcut_page_say(out, "%.*s", (int)x->length, x->at);
    if (x->name || *x->at == ' ' || *x->at == 'f') gcut_text_add(out, "</i>");
    if (x->saved)
        gcut_text_add(out, " <b class=\"s\">saved %s</b>",
                      gcut_bytes_short(out->arena, (double)x->saved_bytes));
    if (x->recomputed) gcut_text_add(out, " <b class=\"r\">recomputed</b>");
    if (x->forward_ns > 0)
        gcut_text_add(out, " <small>%s</small>", gcut_time_text(out->arena, x->forward_ns));
    if (x->backward_ns > 0)
        gcut_text_add(out, " <small>%s backward</small>", gcut_time_text(out->arena, x->backward_ns));
    gcut_text_add(out, "\n");
}

static void put_bar(gcut_text *out, const char *class, const char *text, double part, double most)
{
    gcut_text_add(out, "<span class=\"%s\">", class);
    if (part > 0)
        gcut_text_add(out, "<i style=\"width:%.0f%%\"></i>", most > 0 ? fmin(100, 100 * part / most) : 0);
    gcut_text_add(out, "%s</span>", part > 0 ? text : "");
}

static void put_sums(drawing *d, const gcut_page_line *sum)
{
    gcut_text *out = d->out;
    gcut_arena *a = out->arena;
    put_bar(out, "s", gcut_bytes_short(a, (double)sum->saved_bytes), (double)sum->saved_bytes,
            (double)d->most.saved_bytes);
    put_bar(out, "r", gcut_printf(a, "%u: %s", sum->recomputed, gcut_time_text(a, sum->recompute_ns)),
            sum->recompute_ns, d->most.recompute_ns);
    put_bar(out, "f", gcut_time_text(a, sum->forward_ns), sum->forward_ns, d->most.forward_ns);
    put_bar(out, "b", gcut_time_text(a, sum->backward_ns), sum->backward_ns, d->most.backward_ns);
}

static bool is_comment(const gcut_page_line *x)
{
    return !strncmp(x->at, "//", 2);
}

/* The lines after the text, from i on, that say what identities replaced; how many. */
static uint32_t put_identities(drawing *d, uint32_t i, uint32_t end)
{
    uint32_t n = 0;
    while (i + n < end && is_comment(&d->l->at[i + n])) n++;
    close_piece(d);
    gcut_text_add(
        d->out,
        "<details><summary><span class=\"g\">identities of real numbers that were applied <small>%u "
        "line%s</small></span></summary>\n",
        n, n == 1 ? "" : "s");
    for (uint32_t k = 0; k < n; k++) put_line(d, &d->l->at[i + k], i + k);
    close_piece(d);
    gcut_text_add(d->out, "</details>\n");
    return n;
}

static void put_parts(drawing *d, uint32_t i, uint32_t end, size_t from)
{
    gcut_text *out = d->out;
    const gcut_page_line *at = d->l->at;
    for (uint32_t n; i < end; i += n) {
        size_t component;
        if (is_comment(&at[i])) {
            n = put_identities(d, i, end);
            continue;
        }
        n = part_length(d, i, end, from, &component);
        if (!component) {
            put_line(d, &at[i], i);
            continue;
        }
        close_piece(d);
        const gcut_page_line sum = sum_of(&at[i], n);
        gcut_text_add(out, "<details><summary><span class=\"g\">");
        gcut_page_say(out, "%.*s", (int)component, at[i].name);
        gcut_text_add(out, " <small>%u line%s</small></span>", n, n == 1 ? "" : "s");
        put_sums(d, &sum);
        gcut_text_add(out, "</summary>\n");
        put_parts(d, i, i + n, component + 1);
        close_piece(d);
        gcut_text_add(out, "</details>\n");
    }
}

static void find_most(drawing *d)
{
    const gcut_page_lines *l = d->l;
    for (uint32_t i = 0, n; i < l->n; i += n) {
        size_t component;
        n = part_length(d, i, l->n, 0, &component);
        const gcut_page_line sum = sum_of(&l->at[i], n);
        if (sum.saved_bytes > d->most.saved_bytes) d->most.saved_bytes = sum.saved_bytes;
        d->most.recompute_ns = fmax(d->most.recompute_ns, sum.recompute_ns);
        d->most.forward_ns = fmax(d->most.forward_ns, sum.forward_ns);
        d->most.backward_ns = fmax(d->most.backward_ns, sum.backward_ns);
    }
}

/* Where the text has the entry's first op; n: it has none. */
static uint32_t first_op(const gcut_page_lines *l)
{
    uint32_t i = 0;
    while (i < l->n && !l->at[i].name) i++;
    return i;
}

void gcut_page_graph(const gcut_page_lines *l, gcut_text *out)
{
    drawing d = {.l = l, .out = out};
    const uint32_t first = first_op(l);
    find_most(&d);
    gcut_text_add(out, "<div class=\"graph\"><p class=\"row titles\"><span class=\"g\">scope</span>"
                       "<span class=\"s\">saved</span><span class=\"r\">recomputed</span>"
                       "<span class=\"f\">forward</span><span class=\"b\">backward</span></p>\n");
    const gcut_page_line declared = sum_of(l->at, first); /* gradients of parameters, most of all */
    gcut_text_add(out, "<details><summary><span class=\"g\">declarations <small>%u line%s</small></span>",
                  first, first == 1 ? "" : "s");
    put_sums(&d, &declared);
    gcut_text_add(out, "</summary>\n");
    for (uint32_t i = 0; i < first; i++) put_line(&d, &l->at[i], i);
    close_piece(&d);
    gcut_text_add(out, "</details>\n");
    put_parts(&d, first, l->n, 0);
    close_piece(&d);
    if (l->other.forward_ns + l->other.backward_ns + (double)l->other.saved_bytes > 0) {
        gcut_text_add(out, "<p class=\"row\"><span class=\"g\">of no line above</span>");
        put_sums(&d, &l->other);
        gcut_text_add(out, "</p>\n");
    }
    gcut_text_add(out, "</div>\n");
}
