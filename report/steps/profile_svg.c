/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A profile as SVG, a roofline (Williams, Waterman, Patterson 2009): kernels by the flops that they do for a byte and their
 * rate, both on logarithmic axes, below the limits of memory and of arithmetic.  Kernels without flops, loops and moves,
 * are in a strip of their own, by the bytes that they move in a second.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/report.h"
#include "report/svg.h"

enum { WIDE = 880, HIGH = 620, LEFT = 84, RIGHT = 30, TOP = 88, BOTTOM = 420, STRIP = 478, STRIP_END = 546 };

typedef struct picture {
    const gcut_profile *p;
    gcut_text *out;
    double least_x, most_x, least_y, most_y; /* flops a byte; flops a second: decades */
    double longest;                          /* ns of a kernel */
} picture;

/* The strip has the horizontal axis of bytes a second, in decades. */
enum { STRIP_LEAST = 8, STRIP_MOST = 12 };

static double x_of(const picture *p, double intensity)
{
    return LEFT + (log10(intensity) - p->least_x) / (p->most_x - p->least_x) * (WIDE - RIGHT - LEFT);
}

static double y_of(const picture *p, double rate)
{
    return BOTTOM - (log10(rate) - p->least_y) / (p->most_y - p->least_y) * (BOTTOM - TOP);
}

static double strip_x(double rate)
{
    const double x = fmin(fmax(log10(fmax(rate, 1)), STRIP_LEAST), STRIP_MOST);
    return LEFT + (x - STRIP_LEAST) / (STRIP_MOST - STRIP_LEAST) * (WIDE - RIGHT - LEFT);
}

static bool has_flops(const gcut_kernel_time *k)
{
    return k->flops > 0 && k->bytes > 0 && k->measured_ns > 0;
}

static void set_axes(picture *p)
{
    const gcut_profile *s = p->p;
    double lo = 0.1, hi = 100, low = s->peak_flops_per_second / 100;
    for (size_t i = 0; i < s->n; i++) {
        const gcut_kernel_time *k = s->at[i];
        p->longest = fmax(p->longest, k->measured_ns);
        if (!has_flops(k)) continue;
        lo = fmin(lo, k->flops / k->bytes);
        hi = fmax(hi, k->flops / k->bytes);
        low = fmin(low, gcut_kernel_flops_rate(k));
    }
    p->least_x = floor(log10(lo)), p->most_x = ceil(log10(hi));
    p->least_y = floor(log10(low)), p->most_y = ceil(log10(s->peak_flops_per_second * 1.2));
}

static const char *power_text(gcut_arena *a, double x)
{
    return x >= 1 ? gcut_printf(a, "%.0f", x) : gcut_printf(a, "%g", x);
}

static void put_axes(const picture *p)
{
    gcut_text *out = p->out;
    for (double d = p->least_x; d <= p->most_x; d++) {
        const double x = x_of(p, pow(10, d));
        gcut_text_add(out, "<path class=\"grid\" d=\"M%.1f %d V%d\"/>\n", x, TOP, BOTTOM);
        gcut_svg_text(out, x, BOTTOM + 19, "tick", "middle", power_text(out->arena, pow(10, d)));
    }
    for (double d = p->least_y; d <= p->most_y; d++) {
        const double y = y_of(p, pow(10, d));
        gcut_text_add(out, "<path class=\"grid\" d=\"M%d %.1f H%d\"/>\n", LEFT, y, WIDE - RIGHT);
        gcut_svg_text(out, LEFT - 10, y + 4, "tick", "end", power_text(out->arena, pow(10, d - 9)));
    }
    gcut_svg_text(out, LEFT - 60, TOP - 14, "name", "start", "GFLOP/s");
    gcut_svg_text(out, WIDE - RIGHT, BOTTOM + 36, "name", "end", "flops for each byte read or written");
    for (int d = STRIP_LEAST; d <= STRIP_MOST; d++) {
        const double x = strip_x(pow(10, d));
        gcut_text_add(out, "<path class=\"grid\" d=\"M%.1f %d V%d\"/>\n", x, STRIP, STRIP_END);
        gcut_svg_text(out, x, STRIP_END + 19, "tick", "middle", power_text(out->arena, pow(10, d - 9)));
    }
    gcut_svg_text(out, LEFT - 60, STRIP - 10, "name", "start", "kernels that do no products, by GB/s");
}

/* Both roofs, and in the strip that of memory. */
static void put_limits(const picture *p)
{
    const gcut_profile *s = p->p;
    gcut_text *out = p->out;
    const double ridge = s->peak_flops_per_second / s->peak_bytes_per_second,
                 least = fmax(pow(10, p->least_x), pow(10, p->least_y) / s->peak_bytes_per_second);
    gcut_text_add(out, "<path class=\"roof\" d=\"M%.1f %.1f L%.1f %.1f H%d\"/>\n", x_of(p, least),
                  y_of(p, least * s->peak_bytes_per_second), x_of(p, ridge),
                  y_of(p, s->peak_flops_per_second), WIDE - RIGHT);
    const double x = strip_x(s->peak_bytes_per_second);
    gcut_text_add(out, "<path class=\"roof\" d=\"M%.1f %d V%d\"/>\n", x, STRIP, STRIP_END);
    gcut_svg_text(out, x, STRIP_END + 38, "sub", "middle",
                  gcut_printf(out->arena, "memory, %.3g GB/s", s->peak_bytes_per_second / 1e9));
}

/* Behind the kernels, which would hide it. */
static void put_limit_name(const picture *p)
{
    const gcut_profile *s = p->p;
    gcut_svg_text(p->out, WIDE - RIGHT, y_of(p, s->peak_flops_per_second) - 24, "limit", "end",
                  gcut_printf(p->out->arena, "large products, %.3g GFLOP/s", s->peak_flops_per_second / 1e9));
}

/* An area in proportion to the time. */
static double radius(const picture *p, const gcut_kernel_time *k)
{
    return p->longest > 0 ? fmax(2, 16 * sqrt(k->measured_ns / p->longest)) : 2;
}

static void put_kernel(const picture *p, const gcut_kernel_time *k)
{
    gcut_text *out = p->out;
    const bool product = has_flops(k);
    const double x = product ? x_of(p, k->flops / k->bytes) : strip_x(gcut_kernel_bytes_rate(k)),
                 y = product ? y_of(p, gcut_kernel_flops_rate(k)) : (STRIP + STRIP_END) / 2.0,
                 r = radius(p, k);
    if (!product && !(gcut_kernel_bytes_rate(k) > 0)) return;
    if (k->backward)
        gcut_text_add(out, "<rect class=\"backward\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
                      x - r, y - r, 2 * r, 2 * r);
    else
        gcut_text_add(out, "<circle class=\"forward\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">", x, y, r);
    gcut_text_add(out, "<title>k%d ", k->launch);
    gcut_svg_escaped(out, k->family);
    gcut_text_add(out, " %%");
    gcut_svg_escaped(out, k->value);
    gcut_text_add(out, ": %s, %.3g GFLOP/s, %.3g GB/s</title></%s>\n",
                  gcut_time_text(out->arena, k->measured_ns), gcut_kernel_flops_rate(k) / 1e9,
                  gcut_kernel_bytes_rate(k) / 1e9, k->backward ? "rect" : "circle");
}

void gcut_write_profile_svg(const gcut_profile *s, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    gcut_text t = {.arena = a};
    picture p = {.p = s, .out = &t};
    set_axes(&p);
    gcut_svg_begin(&t, WIDE, HIGH,
                   ".limit{font-size:13px;fill:#555;stroke:#fff;stroke-width:3;paint-order:stroke}\n"
                   ".roof{stroke:#222;stroke-width:1.5;fill:none}\n"
                   ".forward{fill:#1c5d99;fill-opacity:.55;stroke:#fff}\n"
                   ".backward{fill:#e59a33;fill-opacity:.55;stroke:#fff}\n");
    gcut_svg_text(&t, 32, 30, "head", "start",
                  gcut_printf(a, "Kernels of a step of %s, %d thread%s", gcut_time_text(a, s->median_ns),
                              s->threads, s->threads == 1 ? "" : "s"));
    gcut_text_add(&t, "<circle class=\"forward\" cx=\"40\" cy=\"51\" r=\"6\"/>\n");
    gcut_svg_text(&t, 52, 55, "sub", "start", "forward");
    gcut_text_add(&t, "<rect class=\"backward\" x=\"116\" y=\"45\" width=\"12\" height=\"12\"/>\n");
    gcut_svg_text(&t, 134, 55, "sub", "start", "backward; areas are measured times");
    put_axes(&p);
    put_limits(&p);
    for (size_t i = 0; i < s->n; i++) put_kernel(&p, s->at[i]);
    put_limit_name(&p);
    gcut_text_add(&t, "</svg>\n");
    gcut_text_addn(out, t.at, t.n);
    gcut_arena_free(a);
}
