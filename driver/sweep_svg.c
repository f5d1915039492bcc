/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A sweep as a picture: time over peak, our points joined by the stairs that a budget walks down, every other
 * policy as a labelled mark.  One file without scripts, fonts or links; marks differ in shape, not in colour
 * alone.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "driver/sweep.h"
#include "graph/text.h"

enum { WIDE = 880, HIGH = 540, LEFT = 84, RIGHT = 36, TOP = 78, BOTTOM = 74, LABELS = 64 };

typedef struct axis {
    double lo, hi, step; /* in units */
    double unit;         /* bytes or ns in one unit */
    const char *name;
    double from, to; /* in the picture */
} axis;

typedef struct box {
    double x, y, w, h;
} box;

typedef struct picture {
    const gcut_sweep *s;
    gcut_text *out;
    axis x, y;
    box taken[LABELS];
    int ntaken;
} picture;

/* ---- axes ---- */

static double place(const axis *a, double value)
{
    return a->from + (value / a->unit - a->lo) / (a->hi - a->lo) * (a->to - a->from);
}

/* 1, 2 or 5 times a power of ten, such that about n of them make up the range. */
static double nice_step(double range, int n)
{
    double power = pow(10, floor(log10(range / n))), rest = range / n / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

/* Around the values with some air, from one multiple of the step to another. */
static void set_range(axis *a, double lo, double hi, int ticks)
{
    lo /= a->unit;
    hi /= a->unit;
    double air = hi > lo ? (hi - lo) * 0.06 : fmax(fabs(hi) * 0.1, 1e-3);
    lo = fmax(lo - air, 0);
    hi += air;
    a->step = nice_step(hi - lo, ticks);
    a->lo = floor(lo / a->step) * a->step;
    a->hi = ceil(hi / a->step) * a->step;
}

static void unit_of_bytes(axis *a, double most)
{
    static const char *const names[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;
    for (a->unit = 1; u < 4 && most / a->unit >= 4096; u++) a->unit *= 1024;
    a->name = names[u];
}

static void unit_of_time(axis *a, double most)
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    int u = 0;
    for (a->unit = 1; u < 3 && most / a->unit >= 2000; u++) a->unit *= 1000;
    a->name = names[u];
}

static double peak_of(const gcut_sweep_point *p)
{
    return (double)(p->peak_measured >= 0 ? p->peak_measured : p->peak_predicted);
}

static void set_axes(picture *p)
{
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {0, 0};
    for (size_t i = 0; i < p->s->n; i++) {
        double at[2] = {peak_of(&p->s->point[i]), gcut_sweep_point_ns(&p->s->point[i])};
        for (int k = 0; k < 2; k++) {
            lo[k] = fmin(lo[k], at[k]);
            hi[k] = fmax(hi[k], at[k]);
        }
    }
    unit_of_bytes(&p->x, hi[0]);
    unit_of_time(&p->y, hi[1]);
    p->x.from = LEFT, p->x.to = WIDE - RIGHT;
    p->y.from = HIGH - BOTTOM, p->y.to = TOP;
    set_range(&p->x, lo[0], hi[0], 8);
    set_range(&p->y, lo[1], hi[1], 6);
}

/* ---- pieces ---- */

static void escaped(gcut_text *out, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '&': gcut_text_add(out, "&amp;"); break;
        case '<': gcut_text_add(out, "&lt;"); break;
        case '>': gcut_text_add(out, "&gt;"); break;
        case '"': gcut_text_add(out, "&quot;"); break;
        default: gcut_text_addn(out, (unsigned char)*s < 32 ? "?" : s, 1);
        }
    }
}

static void put_text(gcut_text *out, double x, double y, const char *class, const char *anchor, const char *s)
{
    gcut_text_add(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class, anchor);
    escaped(out, s);
    gcut_text_add(out, "</text>\n");
}

/* A tick needs as many decimals as its step has. */
static const char *tick_text(gcut_arena *a, double value, double step)
{
    int digits = 0;
    for (double s = step; digits < 6 && fabs(s - round(s)) > 1e-6 * s; digits++) s *= 10;
    return gcut_printf(a, "%.*f", digits, value);
}

static void put_axes(picture *p)
{
    gcut_text *out = p->out;
    for (int i = 0; p->x.lo + i * p->x.step <= p->x.hi + p->x.step / 2; i++) {
        double v = p->x.lo + i * p->x.step, at = place(&p->x, v * p->x.unit);
        gcut_text_add(out, "<path class=\"grid\" d=\"M%.1f %d V%d\"/>\n", at, TOP, HIGH - BOTTOM);
        put_text(out, at, HIGH - BOTTOM + 20, "tick", "middle", tick_text(out->arena, v, p->x.step));
    }
    for (int i = 0; p->y.lo + i * p->y.step <= p->y.hi + p->y.step / 2; i++) {
        double v = p->y.lo + i * p->y.step, at = place(&p->y, v * p->y.unit);
        gcut_text_add(out, "<path class=\"grid\" d=\"M%d %.1f H%d\"/>\n", LEFT, at, WIDE - RIGHT);
        put_text(out, LEFT - 10, at + 4, "tick", "end", tick_text(out->arena, v, p->y.step));
    }
    gcut_text_add(out, "<path class=\"axis\" d=\"M%d %d V%d H%d\"/>\n", LEFT, TOP, HIGH - BOTTOM,
                  WIDE - RIGHT);
    put_text(out, (LEFT + WIDE - RIGHT) / 2.0, HIGH - BOTTOM + 46, "name", "middle",
             gcut_printf(out->arena, "peak of the step, %s", p->x.name));
    put_text(out, LEFT - 52, TOP - 16, "name", "start",
             gcut_printf(out->arena, "%s, %s", gcut_sweep_time_kind(p->s), p->y.name));
}

/* A budget takes the fastest point that fits: level from a point to the next larger one, then down. */
static void put_stairs(picture *p)
{
    gcut_text *out = p->out;
    double low = INFINITY;
    bool begun = false;
    for (size_t i = p->s->n; i-- > 0;) {
        const gcut_sweep_point *q = &p->s->point[i];
        if (q->baseline) continue;
        double x = place(&p->x, peak_of(q)), ns = gcut_sweep_point_ns(q);
        if (!begun) gcut_text_add(out, "<path class=\"stairs\" d=\"M%.1f %d", x, TOP);
        begun = true;
        low = fmin(low, ns); /* measured points may lie above the stairs */
        gcut_text_add(out, " H%.1f V%.1f", x, place(&p->y, low));
    }
    if (begun) gcut_text_add(out, " H%d\"/>\n", WIDE - RIGHT);
}

static const char *number(gcut_arena *a, double value, const axis *x)
{
    return gcut_printf(a, "%.*f %s", x->unit > 1 ? 2 : 0, value / x->unit, x->name);
}

/* What a pointer that rests on a mark is told. */
static void put_title(picture *p, const gcut_sweep_point *q)
{
    gcut_text *out = p->out;
    gcut_text_add(out, "<title>");
    escaped(out, q->label);
    gcut_text_add(out, ": peak %s, ", number(out->arena, peak_of(q), &p->x));
    gcut_text_add(out, "%s, ", number(out->arena, gcut_sweep_point_ns(q), &p->y));
    gcut_text_add(out, "%lld bytes saved, %zu recomputed</title>", (long long)q->saved_bytes, q->recomputed);
}

static void put_mark(picture *p, const gcut_sweep_point *q, size_t shape)
{
    static const char *const shapes[] = {"M-6 -6H6V6H-6Z", "M0 -7L7 6H-7Z", "M0 -8L8 0L0 8L-8 0Z",
                                         "M0 8L7 -5H-7Z", "M-6 -2V2H-2V6H2V2H6V-2H2V-6H-2V-2Z"};
    double x = place(&p->x, peak_of(q)), y = place(&p->y, gcut_sweep_point_ns(q));
    if (q->baseline)
        gcut_text_add(p->out, "<path class=\"other\" transform=\"translate(%.1f %.1f)\" d=\"%s\">", x, y,
                      shapes[shape % (sizeof shapes / sizeof *shapes)]);
    else
        gcut_text_add(p->out, "<circle class=\"ours\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\">", x, y);
    put_title(p, q);
    gcut_text_add(p->out, "</%s>\n", q->baseline ? "path" : "circle");
    if (p->ntaken < LABELS) p->taken[p->ntaken++] = (box){x - 8, y - 8, 16, 16};
}

/* ---- labels ---- */

static bool is_free(const picture *p, const box *b)
{
    if (b->x < LEFT + 2 || b->x + b->w > WIDE - RIGHT || b->y < TOP - 8 || b->y + b->h > HIGH - BOTTOM)
        return false;
    for (int i = 0; i < p->ntaken; i++) {
        const box *t = &p->taken[i];
        if (b->x < t->x + t->w && t->x < b->x + b->w && b->y < t->y + t->h && t->y < b->y + b->h)
            return false;
    }
    return true;
}

/* Beside its mark, on the first free place: above or below it to the right or left, then farther away. */
static void put_label(picture *p, const gcut_sweep_point *q)
{
    double x = place(&p->x, peak_of(q)), y = place(&p->y, gcut_sweep_point_ns(q)),
           w = 7.4 * (double)strlen(q->label);
    box b = {0};
    bool left = false;
    for (int k = 0; k < 40; k++) {
        double away = 13 + 8 * (double)(k / 4);
        left = k % 4 > 1;
        b = (box){left ? x - 8 - w : x + 8, y - 8 + (k % 2 ? away : -away), w, 16};
        if (is_free(p, &b)) break;
    }
    put_text(p->out, left ? b.x + w : b.x, b.y + 12, "label", left ? "end" : "start", q->label);
    if (p->ntaken < LABELS) p->taken[p->ntaken++] = b;
}

static void put_head(picture *p, const gcut_sweep_info *info)
{
    gcut_text *out = p->out;
    gcut_text_add(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
        "role=\"img\">\n<style>\n"
        "text{font-family:system-ui,sans-serif;fill:#222}\n"
        ".head{font-size:18px;font-weight:600}.sub,.name{font-size:13px;fill:#555}\n"
        ".tick{font-size:12px;fill:#555}\n"
        ".label{font-size:13px;fill:#8a3b12;stroke:#fff;stroke-width:3;paint-order:stroke}\n"
        ".grid{stroke:#e8e8e8}.axis{stroke:#777;fill:none}\n"
        ".stairs{stroke:#1c5d99;stroke-width:2;fill:none}\n"
        ".ours{fill:#1c5d99;stroke:#fff;stroke-width:1.5}\n"
        ".other{fill:#fff;stroke:#b3541e;stroke-width:2}\n</style>\n"
        "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
        WIDE, HIGH, WIDE, HIGH, WIDE, HIGH);
    put_text(out, 32, 28, "head", "start",
             gcut_printf(out->arena, "@%s%s%s, %d thread%s", info->graph, *info->at ? " at " : "", info->at,
                         info->threads, info->threads == 1 ? "" : "s"));
    put_text(out, WIDE - RIGHT, 28, "sub", "end",
             gcut_printf(out->arena, "dots: a budget's choice; other marks: policies without one%s",
                         info->measured ? "" : "; predicted"));
}

void gcut_sweep_svg(const gcut_sweep *s, const gcut_sweep_info *info, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    gcut_text t = {.arena = a};
    picture p = {.s = s, .out = &t};
    size_t shape = 0;
    set_axes(&p);
    put_head(&p, info);
    put_axes(&p);
    put_stairs(&p);
    for (size_t i = 0; i < s->n; i++)
        if (s->point[i].baseline) put_mark(&p, &s->point[i], shape++);
    for (size_t i = 0; i < s->n; i++) /* on top: a dot is smaller */
        if (!s->point[i].baseline) put_mark(&p, &s->point[i], 0);
    for (size_t i = 0; i < s->n; i++)
        if (s->point[i].baseline) put_label(&p, &s->point[i]);
    gcut_text_add(&t, "</svg>\n");
    gcut_text_addn(out, t.at, t.n);
    gcut_arena_free(a);
}
