/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A profile as SVG, a flame graph (Gregg 2016) by scope: the step, its two graphs, the scopes that values are named after,
 * and the kernels, each as wide as its measured time and below what it is a part of.  Kernels of one scope are together,
 * whenever they run.
 */
#include <string.h>

#include "base/units.h"
#include "report/report.h"
#include "report/svg.h"
#include "report/value_names.h"

enum { WIDE = 960, LEFT = 30, TOP = 60, ROW = 20, DEEPEST = 9, LEAST = 1 /* pixels of a box */ };

typedef struct part part;
struct part {
    const char *name; /* of `length` bytes: "block0" */
    size_t length;
    double ns;
    bool kernel;
    part *first, *last,
        *next; /* parts of it, in the order of their first kernels; the next one of what it is of */
};

typedef struct picture {
    const gcut_profile *p;
    gcut_text *out;
    double all; /* ns */
    int deepest;
} picture;

static part *child(picture *p, part *of, const char *name, size_t length, bool kernel)
{
    for (part *x = of->first; x && !kernel; x = x->next)
        if (!x->kernel && x->length == length && !memcmp(x->name, name, length)) return x;
    part *x = gcut_calloc(p->out->arena, 1, sizeof *x);
    *x = (part){.name = name, .length = length, .kernel = kernel};
    if (of->last)
        of->last->next = x;
    else
        of->first = x;
    of->last = x;
    return x;
}

/* Adds a kernel below its scopes: "block0.attn.out.matmul" is in block0, attn and out. */
static void add(picture *p, part *graph, const gcut_kernel_time *k)
{
    const char *s = k->value;
    part *at = graph;
    at->ns += k->measured_ns;
    for (int depth = 1; depth < DEEPEST - 1; depth++) {
        const char *end = k->value + gcut_scope_prefix(k->value, depth);
        if (end == k->value) break;
        at = child(p, at, s, (size_t)(end - s), false);
        at->ns += k->measured_ns;
        s = end + 1;
    }
    at = child(p, at, s, strlen(s), true);
    at->ns += k->measured_ns;
}

static void put_part(picture *p, const part *x, double left, int depth, const char *class)
{
    gcut_text *out = p->out;
    const double w = x->ns / p->all * (WIDE - 2 * LEFT);
    const int y = TOP + depth * ROW, room = (int)((w - 6) / 7);
    if (w < LEAST) return;
    if (depth > p->deepest) p->deepest = depth;
    gcut_text_add(out, "<g><title>");
    gcut_svg_escaped(out, gcut_printf(out->arena, "%.*s: %s, %.1f%%", (int)x->length, x->name,
                                      gcut_time_text(out->arena, x->ns), 100 * x->ns / p->all));
    gcut_text_add(out, "</title><rect class=\"%s%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
                  class, x->kernel ? " leaf" : "", left, y, w, ROW - 1);
    int shown = (int)x->length < room ? (int)x->length : room;
    while (shown > 0 && (x->name[shown] & 0xC0) == 0x80) shown--; /* whole characters of UTF-8 */
    if (room > 2)
        gcut_svg_text(out, left + 4, y + 14, "in", "start", gcut_printf(out->arena, "%.*s", shown, x->name));
    gcut_text_add(out, "</g>\n");
    for (const part *c = x->first; c; c = c->next) {
        put_part(p, c, left, depth + 1, class);
        left += c->ns / p->all * (WIDE - 2 * LEFT);
    }
}

void gcut_write_profile_flame(const gcut_profile *s, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    gcut_text body = {.arena = a}, t = body;
    picture p = {.p = s, .out = &body};
    part graph[2] = {{.name = "forward", .length = 7}, {.name = "backward", .length = 8}};
    double left = LEFT;
    for (size_t i = 0; i < s->n; i++) {
        add(&p, &graph[s->at[i]->backward], s->at[i]);
        p.all += s->at[i]->measured_ns;
    }
    for (int g = 0; g < 2 && p.all > 0; g++) {
        put_part(&p, &graph[g], left, 0, g ? "flame-b" : "flame-f");
        left += graph[g].ns / p.all * (WIDE - 2 * LEFT);
    }
    gcut_svg_begin(&t, WIDE, TOP + (p.deepest + 1) * ROW + 24,
                   ".in{font-size:12px;fill:#15202b}.flame-f{fill:#a9cbe8}.flame-b{fill:#f2c58b}\n"
                   ".flame-f.leaf{fill:#d5e6f5}.flame-b.leaf{fill:#fae6cb}\n");
    gcut_svg_text(&t, LEFT, 30, "head", "start",
                  gcut_printf(a, "Measured time by scope: %s of kernels, %d thread%s",
                              gcut_time_text(a, p.all), s->threads, s->threads == 1 ? "" : "s"));
    gcut_svg_text(&t, LEFT, 50, "sub", "start",
                  "a part is as wide as its kernels take, and below what it is a part of");
    gcut_text_addn(&t, body.at ? body.at : "", body.n);
    gcut_text_add(&t, "</svg>\n");
    gcut_text_addn(out, t.at, t.n);
    gcut_arena_free(a);
}
