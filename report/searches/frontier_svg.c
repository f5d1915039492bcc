/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A frontier as SVG: time over peak; our points joined by the steps that a budget selects, policies as
 * labelled diamonds, of which those at one place share a diamond and a label.  One file without scripts,
 * fonts or links; kinds of marks differ in shape, not in colour alone.
 */
#include <math.h>
#include <string.h>

#include "report/report.h"
#include "report/svg.h"

enum { WIDE = 880, HIGH = 540, LEFT = 84, RIGHT = 36, TOP = 78, BOTTOM = 74 };
#define SAME 1.5 /* pixels: marks closer than that are drawn as one */

typedef struct box {
    double x, y, w, h;
} box;

typedef struct picture {
    const gcut_frontier *s;
    const gcut_frontier_mark *mark; /* NULL: none */
    gcut_text *out;
    gcut_svg_axis x, y;
    GCUT_VEC(box) taken;
    bool *named; /* by point: its name is in the label of an earlier one */
} picture;

/* ---- axes ---- */

static double peak_of(const gcut_frontier_point *p)
{
    return (double)(p->peak_measured >= 0 ? p->peak_measured : p->peak_predicted);
}

static void set_axes(picture *p)
{
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {0, 0};
    for (size_t i = 0; i < p->s->n; i++) {
        double at[2] = {peak_of(p->s->point[i]), gcut_frontier_point_ns(p->s->point[i])};
        for (int k = 0; k < 2; k++) {
            lo[k] = fmin(lo[k], at[k]);
            hi[k] = fmax(hi[k], at[k]);
        }
    }
    if (p->mark) {
        lo[0] = fmin(lo[0], (double)p->mark->peak_bytes), hi[0] = fmax(hi[0], (double)p->mark->peak_bytes);
        lo[1] = fmin(lo[1], p->mark->step_ns), hi[1] = fmax(hi[1], p->mark->step_ns);
    }
    gcut_svg_bytes(&p->x, hi[0]);
    gcut_svg_time(&p->y, hi[1]);
    p->x.from = LEFT, p->x.to = WIDE - RIGHT;
    p->y.from = HIGH - BOTTOM, p->y.to = TOP;
    gcut_svg_range(&p->x, lo[0], hi[0], 8);
    gcut_svg_range(&p->y, lo[1], hi[1], 6);
}

/* ---- pieces ---- */

/* The kind of the points' times. */
static const char *time_kind(const gcut_frontier *s)
{
    if (s->n && !isnan(s->point[0]->step_ns_median)) return "time of the step, measured";
    if (s->n && !isnan(s->point[0]->step_ns_predicted)) return "time of the step, predicted";
    return "saving and recomputing, predicted";
}

static void put_axes(picture *p)
{
    gcut_text *out = p->out;
    for (int i = 0; p->x.lo + i * p->x.step <= p->x.hi + p->x.step / 2; i++) {
        double v = p->x.lo + i * p->x.step, at = gcut_svg_place(&p->x, v * p->x.unit);
        gcut_text_add(out, "<path class=\"grid\" d=\"M%.1f %d V%d\"/>\n", at, TOP, HIGH - BOTTOM);
        gcut_svg_text(out, at, HIGH - BOTTOM + 20, "tick", "middle", gcut_svg_tick(out->arena, v, p->x.step));
    }
    for (int i = 0; p->y.lo + i * p->y.step <= p->y.hi + p->y.step / 2; i++) {
        double v = p->y.lo + i * p->y.step, at = gcut_svg_place(&p->y, v * p->y.unit);
        gcut_text_add(out, "<path class=\"grid\" d=\"M%d %.1f H%d\"/>\n", LEFT, at, WIDE - RIGHT);
        gcut_svg_text(out, LEFT - 10, at + 4, "tick", "end", gcut_svg_tick(out->arena, v, p->y.step));
    }
    gcut_text_add(out, "<path class=\"axis\" d=\"M%d %d V%d H%d\"/>\n", LEFT, TOP, HIGH - BOTTOM,
                  WIDE - RIGHT);
    gcut_svg_text(out, (LEFT + WIDE - RIGHT) / 2.0, HIGH - BOTTOM + 46, "name", "middle",
                  gcut_printf(out->arena, "peak of the step, %s", p->x.name));
    gcut_svg_text(out, LEFT - 52, TOP - 16, "name", "start",
                  gcut_printf(out->arena, "%s, %s", time_kind(p->s), p->y.name));
}

/* A budget takes the point with the largest peak that fits: level from a point to the next larger one, then to
 * that one's time, which may be longer where times were measured.  What lies above and right of the stairs is
 * shaded. */
static void put_stairs(picture *p)
{
    gcut_arena *a = p->out->arena;
    gcut_text steps = {.arena = a};
    double first = 0;
    for (size_t i = p->s->n; i-- > 0;) {
        const gcut_frontier_point *q = p->s->point[i];
        if (q->baseline) continue;
        double x = gcut_svg_place(&p->x, peak_of(q));
        if (!steps.n) first = x;
        gcut_text_add(&steps, " H%.1f V%.1f", x, gcut_svg_place(&p->y, gcut_frontier_point_ns(q)));
    }
    if (!steps.n) return;
    const char *line = gcut_printf(a, "M%.1f %d%s H%d", first, TOP, steps.at, WIDE - RIGHT);
    gcut_text_add(p->out, "<path class=\"reach\" d=\"%s V%dZ\"/>\n", line, TOP);
    gcut_text_add(p->out, "<path class=\"stairs\" d=\"%s\"/>\n", line);
}

static const char *number(gcut_arena *a, double value, const gcut_svg_axis *x)
{
    return gcut_printf(a, "%.*f %s", x->unit > 1 ? 2 : 0, value / x->unit, x->name);
}

/* The tooltip of a mark. */
static void put_title(picture *p, const gcut_frontier_point *q)
{
    gcut_text *out = p->out;
    gcut_text_add(out, "<title>");
    gcut_svg_escaped(out, q->label);
    gcut_text_add(out, ": peak %s, ", number(out->arena, peak_of(q), &p->x));
    gcut_text_add(out, "%s, ", number(out->arena, gcut_frontier_point_ns(q), &p->y));
    gcut_text_add(out, "%lld bytes saved, %zu recomputed</title>", (long long)q->saved_bytes, q->recomputed);
}

static void put_dot(gcut_text *out, double x, double y)
{
    gcut_text_add(out, "<circle class=\"ours\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"", x, y);
}

static void put_diamond(gcut_text *out, double x, double y)
{
    gcut_text_add(out, "<path class=\"other\" transform=\"translate(%.1f %.1f)\" d=\"M0 -8L8 0L0 8L-8 0Z\"",
                  x, y);
}

static void put_mark(picture *p, const gcut_frontier_point *q)
{
    double x = gcut_svg_place(&p->x, peak_of(q)), y = gcut_svg_place(&p->y, gcut_frontier_point_ns(q));
    (q->baseline ? put_diamond : put_dot)(p->out, x, y);
    gcut_text_add(p->out, ">");
    put_title(p, q);
    gcut_text_add(p->out, "</%s>\n", q->baseline ? "path" : "circle");
    *GCUT_PUSH(p->out->arena, &p->taken) = (box){x - 8, y - 8, 16, 16};
}

/* ---- labels ---- */

static bool is_free(const picture *p, const box *b)
{
    if (b->x < LEFT + 2 || b->x + b->w > WIDE - RIGHT || b->y < TOP - 8 || b->y + b->h > HIGH - BOTTOM)
        return false;
    for (uint32_t i = 0; i < p->taken.n; i++) {
        const box *t = &p->taken.at[i];
        if (b->x < t->x + t->w && t->x < b->x + b->w && b->y < t->y + t->h && t->y < b->y + b->h)
            return false;
    }
    return true;
}

static bool are_one(const picture *p, const gcut_frontier_point *a, const gcut_frontier_point *b)
{
    return fabs(gcut_svg_place(&p->x, peak_of(a)) - gcut_svg_place(&p->x, peak_of(b))) <= SAME &&
           fabs(gcut_svg_place(&p->y, gcut_frontier_point_ns(a)) -
                gcut_svg_place(&p->y, gcut_frontier_point_ns(b))) <= SAME;
}

/* The names of all policies at the place of point i that no earlier point has printed; NULL: its own is printed. */
static const char *names_at(picture *p, size_t i)
{
    gcut_text t = {.arena = p->out->arena};
    for (size_t k = i; k < p->s->n && !p->named[i]; k++) {
        const gcut_frontier_point *q = p->s->point[k];
        if (!q->baseline || p->named[k] || !are_one(p, q, p->s->point[i])) continue;
        gcut_text_add(&t, "%s%s", t.n ? ", " : "", q->label);
        if (k > i) p->named[k] = true;
    }
    return t.at;
}

/* Beside the mark at x, y, on the first free place: above or below it to the right or left, then farther away. */
static void put_name(picture *p, double x, double y, const char *name)
{
    const double w = 7.4 * (double)strlen(name);
    box b = {0};
    bool left = false;
    for (int k = 0; k < 40; k++) {
        double away = 13 + 8 * (double)(k / 4);
        left = k % 4 > 1;
        b = (box){left ? x - 8 - w : x + 8, y - 8 + (k % 2 ? away : -away), w, 16};
        if (is_free(p, &b)) break;
    }
    gcut_svg_text(p->out, left ? b.x + w : b.x, b.y + 12, "label", left ? "end" : "start", name);
    *GCUT_PUSH(p->out->arena, &p->taken) = b;
}

static void put_label(picture *p, size_t i)
{
    const gcut_frontier_point *q = p->s->point[i];
    const char *name = q->baseline ? names_at(p, i) : NULL;
    if (name)
        put_name(p, gcut_svg_place(&p->x, peak_of(q)), gcut_svg_place(&p->y, gcut_frontier_point_ns(q)),
                 name);
}

/* A ring around the place of the other plan. */
static void put_here(picture *p)
{
    const double x = gcut_svg_place(&p->x, (double)p->mark->peak_bytes),
                 y = gcut_svg_place(&p->y, p->mark->step_ns);
    gcut_text_add(p->out, "<circle class=\"here\" cx=\"%.1f\" cy=\"%.1f\" r=\"9\"><title>", x, y);
    gcut_svg_escaped(p->out, gcut_printf(p->out->arena, "%s: peak %s, %s", p->mark->label,
                                         number(p->out->arena, (double)p->mark->peak_bytes, &p->x),
                                         number(p->out->arena, p->mark->step_ns, &p->y)));
    gcut_text_add(p->out, "</title></circle>\n");
    *GCUT_PUSH(p->out->arena, &p->taken) = (box){x - 10, y - 10, 20, 20};
    put_name(p, x, y, p->mark->label);
}

/* The legend, at the right end of the line under the title. */
static void put_legend(gcut_text *out)
{
    const double y = 52, dot = WIDE - RIGHT - 442, diamond = WIDE - RIGHT - 256;
    put_dot(out, dot, y);
    gcut_text_add(out, "/>\n");
    gcut_svg_text(out, dot + 12, y + 4, "sub", "start", "what a budget chooses");
    put_diamond(out, diamond, y);
    gcut_text_add(out, "/>\n");
    gcut_svg_text(out, diamond + 14, y + 4, "sub", "start", "what a policy does without a budget");
}

static void put_head(picture *p)
{
    gcut_text *out = p->out;
    gcut_svg_begin(out, WIDE, HIGH,
                   ".label{font-size:13px;fill:#8a3b12;stroke:#fff;stroke-width:3;paint-order:stroke}\n"
                   ".reach{fill:#1c5d99;fill-opacity:.06}.stairs{stroke:#1c5d99;stroke-width:2;fill:none}\n"
                   ".ours{fill:#1c5d99;stroke:#fff;stroke-width:1.5}\n"
                   ".other{fill:#fff;stroke:#b3541e;stroke-width:2}\n"
                   ".here{fill:none;stroke:#222;stroke-width:2.5}\n");
    gcut_text title = {.arena = out->arena};
    gcut_text_add(&title, "@%s", p->s->graph);
    gcut_write_sizes(p->s->at, p->s->nat, " at ", &title);
    gcut_text_add(&title, ", %d thread%s", p->s->threads, p->s->threads == 1 ? "" : "s");
    gcut_svg_text(out, 32, 28, "head", "start", title.at);
    put_legend(out);
}

void gcut_write_frontier_svg(const gcut_frontier *s, const gcut_frontier_mark *mark, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    gcut_text t = {.arena = a};
    picture p = {.s = s, .out = &t};
    p.named = gcut_calloc(a, s->n + 1, sizeof *p.named);
    if (mark && s->n && isnan(s->point[0]->step_ns_median) && !isnan(s->point[0]->step_ns_predicted))
        p.mark = mark;
    set_axes(&p);
    put_head(&p);
    put_axes(&p);
    put_stairs(&p);
    for (size_t i = 0; i < s->n; i++)
        if (s->point[i]->baseline) put_mark(&p, s->point[i]);
    for (size_t i = 0; i < s->n; i++) /* dots last, since they are smaller */
        if (!s->point[i]->baseline) put_mark(&p, s->point[i]);
    if (p.mark) put_here(&p);
    for (size_t i = 0; i < s->n; i++) put_label(&p, i);
    gcut_text_add(&t, "</svg>\n");
    gcut_text_addn(out, t.at, t.n);
    gcut_arena_free(a);
}
