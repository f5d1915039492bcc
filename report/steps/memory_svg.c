/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory over a training step as SVG: the classes stacked over predicted time, with the outline of the other plan, and
 * below them, on the same axis of time, the arena: a rectangle for each buffer, from its first to its last launch, at its
 * offset.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/report.h"
#include "report/svg.h"

enum {
    WIDE = 960,
    LEFT = 92,
    RIGHT = 30,
    TOP = 108,
    MIDDLE = 400, /* the bottom of the upper picture */
    ARENA = 470,  /* the top of the lower one */
    BOTTOM = 730, /* and its bottom */
    HIGH = 790,
    BELOW = 36, /* how high the part below a cut is */
    COLUMNS = WIDE - LEFT - RIGHT
};

typedef struct picture {
    const gcut_memory_profile *m;
    gcut_text *out;
    gcut_svg_axis time, bytes, offset;
    bool is_cut; /* the axis of bytes, below which all is drawn in BELOW */
} picture;

static int64_t up_to(const gcut_memory_event *e, int class)
{
    int64_t sum = 0;
    for (int k = 0; e && k <= class; k++) sum += e->live[k];
    return sum;
}

/* What is alive at any time, whatever is saved: parameters, their gradients and the optimizer's states are most of the
 * memory of many steps. */
static int64_t undecided(const gcut_memory_profile *m)
{
    int64_t least = m->peak_bytes;
    for (size_t i = 0; i < m->nevents; i++) {
        const int64_t bytes = up_to(m->event[i], GCUT_MEMORY_SAVED - 1);
        if (bytes < least) least = bytes;
    }
    return least;
}

static void set_bytes(picture *p, double peak)
{
    const double least = (double)undecided(p->m);
    gcut_svg_bytes(&p->bytes, peak);
    gcut_svg_range(&p->bytes, least > peak / 2 ? least : 0, peak, 5);
    p->is_cut = p->bytes.lo > 0;
    p->bytes.from = p->is_cut ? MIDDLE - BELOW : MIDDLE, p->bytes.to = TOP;
}

static double place_of(const picture *p, double bytes)
{
    const double cut = p->bytes.lo * p->bytes.unit;
    return p->is_cut && bytes < cut ? MIDDLE - BELOW * bytes / cut : gcut_svg_place(&p->bytes, bytes);
}

/* A white line with teeth, and where the axis goes on below it. */
static void put_cut(const picture *p)
{
    gcut_text *out = p->out;
    if (!p->is_cut) return;
    gcut_text_add(out, "<path class=\"cut\" d=\"M%d %d", LEFT - 6, MIDDLE - BELOW + 3);
    for (int x = LEFT - 6, up = 1; x < WIDE - RIGHT; x += 8, up = -up) gcut_text_add(out, "l8 %d", 5 * -up);
    gcut_text_add(out, "\"><title>the axis is cut</title></path>\n");
    gcut_svg_text(out, LEFT - 10, MIDDLE + 4, "tick", "end", "0");
    gcut_svg_text(out, LEFT + 12, MIDDLE - 10, "mark", "start",
                  gcut_printf(out->arena, "axis cut at %s %s",
                              gcut_svg_tick(out->arena, p->bytes.lo, p->bytes.step), p->bytes.name));
}

static void set_axes(picture *p)
{
    const gcut_memory_profile *m = p->m, *o = m->against;
    const double end = fmax(gcut_memory_end_ns(m), o ? gcut_memory_end_ns(o) : 0),
                 peak = fmax((double)m->peak_bytes, o ? (double)o->peak_bytes : 0);
    gcut_svg_time(&p->time, end);
    set_bytes(p, peak);
    gcut_svg_bytes(&p->offset, (double)m->arena_bytes);
    gcut_svg_range(&p->time, 0, end > 0 ? end : 1, 8);
    p->time.hi = (end > 0 ? end : 1) / p->time.unit; /* time ends where the step does */
    gcut_svg_range(&p->offset, 0, (double)m->arena_bytes, 5);
    p->time.from = LEFT, p->time.to = WIDE - RIGHT;
    p->offset.from = BOTTOM, p->offset.to = ARENA;
}

static void put_grid(picture *p, const gcut_svg_axis *y, int top, int bottom, const char *name)
{
    gcut_text *out = p->out;
    for (int i = 0; y->lo + i * y->step <= y->hi + y->step / 2; i++) {
        const double v = y->lo + i * y->step, at = gcut_svg_place(y, v * y->unit);
        gcut_text_add(out, "<path class=\"grid\" d=\"M%d %.1f H%d\"/>\n", LEFT, at, WIDE - RIGHT);
        gcut_svg_text(out, LEFT - 10, at + 4, "tick", "end", gcut_svg_tick(out->arena, v, y->step));
    }
    for (int i = 0; p->time.lo + i * p->time.step <= p->time.hi + p->time.step / 1e3; i++) {
        const double v = p->time.lo + i * p->time.step, at = gcut_svg_place(&p->time, v * p->time.unit);
        gcut_text_add(out, "<path class=\"axis\" d=\"M%.1f %d v5\"/>\n", at, bottom);
        gcut_svg_text(out, at, bottom + 20, "tick", "middle", gcut_svg_tick(out->arena, v, p->time.step));
    }
    gcut_text_add(out, "<path class=\"axis\" d=\"M%d %d V%d H%d\"/>\n", LEFT, top, bottom, WIDE - RIGHT);
    gcut_svg_text(out, LEFT - 60, top - 12, "name", "start",
                  gcut_printf(out->arena, "%s, %s", name, y->name));
}

/* ---- the classes ---- */

static double height_of(const picture *p, const gcut_memory_event *e, int class)
{
    return place_of(p, (double)up_to(e, class));
}

/* The upper edge of what is alive up to a class, in columns from..to-1; repeated heights are left out. */
static void add_edge(const picture *p, const gcut_memory_event *const *at, int from, int to, int class,
                     gcut_text *t)
{
    double last = NAN;
    for (int c = from; c < to; c++) {
        const double y = height_of(p, at[c], class);
        if (c == from)
            gcut_text_add(t, "M%d %.1f", LEFT + c, y);
        else if (y != last)
            gcut_text_add(t, "H%d V%.1f", LEFT + c, y);
        last = y;
    }
    gcut_text_add(t, "H%d", LEFT + to);
}

/* The lower edge of the class, back to the left. */
static void add_edge_back(const picture *p, const gcut_memory_event *const *at, int from, int to, int class,
                          gcut_text *t)
{
    double last = height_of(p, at[to - 1], class - 1);
    gcut_text_add(t, "V%.1f", last);
    for (int c = to - 1; c >= from; c--) {
        const double y = height_of(p, at[c], class - 1);
        if (y != last) gcut_text_add(t, "H%d V%.1f", LEFT + c + 1, y);
        last = y;
    }
    gcut_text_add(t, "H%dZ", LEFT + from);
}

static const gcut_memory_event **columns(picture *p, const gcut_memory_profile *m)
{
    const gcut_memory_event **at = gcut_calloc(p->out->arena, COLUMNS, sizeof(*at));
    size_t from = 0;
    for (int c = 0; c < COLUMNS; c++)
        at[c] = gcut_memory_fullest(m, c, COLUMNS, p->time.hi * p->time.unit, &from);
    return at;
}

/* Each class where it has bytes: between the sum of those before it and its own. */
static void put_classes(picture *p)
{
    const gcut_memory_profile *m = p->m;
    const gcut_memory_event *const *at = columns(p, m);
    for (int k = 0; k < GCUT_MEMORY_CLASSES; k++) {
        gcut_text t = {.arena = p->out->arena};
        for (int c = 0, to; c < COLUMNS && at[c]; c = to) {
            to = c + 1;
            if (!at[c]->live[k]) continue;
            while (to < COLUMNS && at[to] && at[to]->live[k]) to++;
            add_edge(p, at, c, to, k, &t);
            add_edge_back(p, at, c, to, k, &t);
        }
        if (t.n)
            gcut_text_add(p->out, "<path class=\"c%d\" d=\"%s\"><title>%s</title></path>\n", k, t.at,
                          gcut_memory_word((gcut_memory_class)k));
    }
    if (!m->against) return;
    gcut_text t = {.arena = p->out->arena};
    const gcut_memory_event *const *other = columns(p, m->against);
    int end = 0;
    while (end < COLUMNS && other[end]) end++;
    if (end) add_edge(p, other, 0, end, GCUT_MEMORY_CLASSES - 1, &t);
    if (end)
        gcut_text_add(p->out, "<path class=\"second\" d=\"%s\"><title>the other plan</title></path>\n", t.at);
}

/* The line between forward and backward, and the peak. */
static void put_marks(picture *p)
{
    const gcut_memory_profile *m = p->m;
    gcut_text *out = p->out;
    for (size_t i = 0; i < m->nevents; i++) {
        if (!m->event[i]->backward) continue;
        const double x = gcut_svg_place(&p->time, m->event[i]->start_ns);
        gcut_text_add(out, "<path class=\"turn\" d=\"M%.1f %d V%d M%.1f %d V%d\"/>\n", x, TOP, MIDDLE, x,
                      ARENA, BOTTOM);
        gcut_svg_text(out, x - 6, TOP - 12, "name", "end", "forward");
        gcut_svg_text(out, x + 6, TOP - 12, "name", "start", "backward");
        break;
    }
    if (!m->nevents) return;
    const gcut_memory_event *e = m->event[m->peak];
    const double x = gcut_svg_place(&p->time, e->start_ns + e->ns / 2), y = place_of(p, (double)e->bytes);
    const char *gaps = m->gap_bytes ? gcut_printf(out->arena, " with %s of gaps",
                                                  gcut_bytes_short(out->arena, (double)m->gap_bytes))
                                    : "",
               *label = gcut_printf(out->arena, "peak, %s%s: k%d, %%%s %s",
                                    gcut_bytes_short(out->arena, (double)m->peak_bytes), gaps, e->launch,
                                    e->value, e->op);
    const double wide = 8.1 * (double)strlen(label);
    const bool left = e->backward ? x + wide > WIDE - RIGHT : x - wide > LEFT; /* away from the other graph */
    gcut_text_add(out, "<path class=\"peak\" d=\"M%.1f %.1f l-6 -11 h12 Z\"/>\n", x, y - 1);
    gcut_text_add(out, "<path class=\"at-peak\" d=\"M%.1f %d V%d\"/>\n", x, ARENA, BOTTOM);
    const double at = left ? fmax(x, LEFT + wide) : fmin(x, WIDE - RIGHT - wide);
    gcut_svg_text(out, at, y - 17, "mark", left ? "end" : "start", label);
    gcut_svg_text(out, x + 5, ARENA + 14, "mark", "start", "peak");
}

static void put_legend(picture *p)
{
    const gcut_memory_profile *m = p->m;
    double x = 32;
    for (int k = 0; k < GCUT_MEMORY_CLASSES; k++) {
        const char *name = gcut_memory_word((gcut_memory_class)k);
        bool any = false;
        for (size_t i = 0; i < m->nevents && !any; i++) any = m->event[i]->live[k] > 0;
        if (!any) continue;
        gcut_text_add(p->out, "<rect class=\"c%d key\" x=\"%.1f\" y=\"46\" width=\"14\" height=\"14\"/>\n", k,
                      x);
        gcut_svg_text(p->out, x + 19, 58, "sub", "start", name);
        for (x += 37; *name; name++) x += 7;
    }
    if (!m->against) return;
    gcut_text_add(p->out, "<path class=\"second\" d=\"M32 73h22\"/>\n");
    gcut_svg_text(p->out, 60, 78, "sub", "start", "the other plan");
}

/* ---- the arena ---- */

static void put_buffers(picture *p)
{
    const gcut_memory_profile *m = p->m;
    for (size_t i = 0; i < m->nbuffers; i++) {
        const gcut_memory_buffer *b = m->buffer[i];
        if (b->offset < 0 || !b->bytes) continue;
        const gcut_memory_event *first = m->event[b->first], *last = m->event[b->last];
        const double x = gcut_svg_place(&p->time, first->start_ns),
                     w = gcut_svg_place(&p->time, last->start_ns + last->ns) - x,
                     y = gcut_svg_place(&p->offset, (double)(b->offset + b->bytes)),
                     h = gcut_svg_place(&p->offset, (double)b->offset) - y;
        if (h < 0.2) continue; /* the table of --map has it */
        gcut_text_add(
            p->out, "<rect class=\"c%d box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s",
            (int)b->kind, x, y, fmax(w, 0.5), h, b->kind == GCUT_MEMORY_WORKSPACE ? "" : "%");
        gcut_svg_escaped(p->out, b->name);
        gcut_text_add(p->out, " %s</title></rect>\n", gcut_bytes_short(p->out->arena, (double)b->bytes));
        const char *name =
            gcut_printf(p->out->arena, "%s%s", b->kind == GCUT_MEMORY_WORKSPACE ? "" : "%", b->name);
        if (h > 18 && w > 7.6 * (double)strlen(name) + 8)
            gcut_svg_text(p->out, x + w / 2, y + h / 2 + 5, "mark", "middle", name);
    }
}

/* Has the class other bytes during some event than during the first?  The caller's have not. */
static bool varies(const gcut_memory_profile *m, int class)
{
    bool other = false;
    for (size_t i = 1; i < m->nevents && !other; i++)
        other = m->event[i]->live[class] != m->event[0]->live[class];
    return other;
}

/* What a pointer reads: a bar for each kernel that a column shows, with a text. */
static void put_pointed(picture *p)
{
    gcut_text *out = p->out;
    gcut_arena *a = out->arena;
    const gcut_memory_event *const *at = columns(p, p->m);
    bool own[GCUT_MEMORY_CLASSES];
    for (int k = 0; k < GCUT_MEMORY_CLASSES; k++) own[k] = varies(p->m, k);
    for (int c = 0, n; c < COLUMNS && at[c]; c += n) {
        const gcut_memory_event *e = at[c];
        for (n = 1; c + n < COLUMNS && at[c + n] == e;) n++;
        gcut_text_add(out, "<rect class=\"at\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"><title>",
                      LEFT + c, TOP, n, MIDDLE - TOP);
        gcut_svg_escaped(out, gcut_printf(a, "k%d %%%s %s, %s: %s alive", e->launch, e->value, e->op,
                                          e->backward ? "backward" : "forward",
                                          gcut_bytes_short(a, (double)e->bytes)));
        for (int k = 0; k < GCUT_MEMORY_CLASSES; k++)
            if (e->live[k] && own[k])
                gcut_text_add(out, ", %s %s", gcut_memory_word((gcut_memory_class)k),
                              gcut_bytes_short(a, (double)e->live[k]));
        gcut_text_add(out, "</title></rect>\n");
    }
}

static void put_head(picture *p)
{
    gcut_text *out = p->out;
    gcut_svg_begin(
        out, WIDE, HIGH,
        ".mark{font-size:13px;font-weight:600;stroke:#fff;stroke-width:3;paint-order:stroke}\n"
        ".turn{stroke:#222;stroke-dasharray:2 3;fill:none}.peak{fill:#222}.at-peak{stroke:#222;fill:none}\n"
        ".second{stroke:#a3360a;stroke-width:2;fill:none;stroke-dasharray:7 3}\n"
        ".box,.key{stroke:#fff;stroke-width:.5}.cut{stroke:#fff;stroke-width:4;fill:none}\n"
        ".c0{fill:#b4bbc4}.c1{fill:#6b8c88}.c2{fill:#d3d8de}.c3{fill:#e9dfc4}.c4{fill:#c9b67e}\n"
        ".c5{fill:#1c5d99}.c6{fill:url(#again)}.c7{fill:#e59a33}.c8{fill:url(#work)}\n");
    gcut_text_add(out,
                  "<defs><pattern id=\"again\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
                  "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#cfe0f0\"/>"
                  "<rect width=\"2.5\" height=\"6\" fill=\"#1c5d99\"/></pattern>\n"
                  "<pattern id=\"work\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
                  "<rect width=\"5\" height=\"5\" fill=\"#f6e3ee\"/><circle cx=\"2.5\" cy=\"2.5\" r=\"1.3\" "
                  "fill=\"#a0437a\"/></pattern></defs>\n");
    gcut_text title = {.arena = out->arena};
    gcut_text_add(&title, "Memory of a step of @%s", p->m->graph);
    gcut_write_sizes(p->m->at, p->m->nat, " at ", &title);
    gcut_text_add(&title, ", %s, %d thread%s", p->m->policy, p->m->threads, p->m->threads == 1 ? "" : "s");
    gcut_svg_text(out, 32, 30, "head", "start", title.at);
}

void gcut_write_memory_svg(const gcut_memory_profile *m, bool pointed, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    gcut_text t = {.arena = a};
    picture p = {.m = m, .out = &t};
    set_axes(&p);
    put_head(&p);
    put_legend(&p);
    put_grid(&p, &p.bytes, TOP, MIDDLE, "bytes alive");
    put_classes(&p);
    put_cut(&p);
    put_grid(&p, &p.offset, ARENA, BOTTOM, "place in the arena, which the step allocates");
    put_buffers(&p);
    put_marks(&p);
    if (pointed) put_pointed(&p);
    gcut_svg_text(&t, (LEFT + WIDE - RIGHT) / 2.0, BOTTOM + 44, "name", "middle",
                  gcut_printf(a, "predicted time of the step, %s", p.time.name));
    gcut_text_add(&t, "</svg>\n");
    gcut_text_addn(out, t.at, t.n);
    gcut_arena_free(a);
}
