/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pieces of pictures.
 */
#include "report/svg.h"

#include <math.h>
#include <string.h>

#include "base/quote.h"

double gcut_svg_place(const gcut_svg_axis *a, double value)
{
    return a->from + (value / a->unit - a->lo) / (a->hi - a->lo) * (a->to - a->from);
}

/* 1, 2 or 5 times a power of ten, such that about n of them make up the range. */
static double nice_step(double range, int n)
{
    double power = pow(10, floor(log10(range / n))), rest = range / n / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

void gcut_svg_range(gcut_svg_axis *a, double lo, double hi, int ticks)
{
    lo /= a->unit;
    hi /= a->unit;
    const double margin = hi > lo ? (hi - lo) * 0.06 : fmax(fabs(hi) * 0.1, 1e-3);
    lo = fmax(lo - margin, 0);
    hi += margin;
    a->step = nice_step(hi - lo, ticks);
    a->lo = floor(lo / a->step) * a->step;
    a->hi = ceil(hi / a->step) * a->step;
}

void gcut_svg_bytes(gcut_svg_axis *a, double most)
{
    static const char *const names[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;
    for (a->unit = 1; u < 4 && most / a->unit >= 4096; u++) a->unit *= 1024;
    a->name = names[u];
}

void gcut_svg_time(gcut_svg_axis *a, double most)
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    int u = 0;
    for (a->unit = 1; u < 3 && most / a->unit >= 2000; u++) a->unit *= 1000;
    a->name = names[u];
}

void gcut_svg_escaped(gcut_text *out, const char *s)
{
    const char *const end = s + strlen(s);
    for (size_t n; *s; s += n ? n : 1) {
        n = gcut_utf8_length(s, end);
        if (n != 1) { /* a byte outside well-formed UTF-8 becomes U+FFFD */
            gcut_text_addn(out, n ? s : "\xEF\xBF\xBD", n ? n : 3);
            continue;
        }
        switch (*s) {
        case '&': gcut_text_add(out, "&amp;"); break;
        case '<': gcut_text_add(out, "&lt;"); break;
        case '>': gcut_text_add(out, "&gt;"); break;
        case '"': gcut_text_add(out, "&quot;"); break;
        default: gcut_text_addn(out, (unsigned char)*s < 32 ? "?" : s, 1);
        }
    }
}

void gcut_svg_begin(gcut_text *out, int wide, int high, const char *style)
{
    gcut_text_add(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
        "role=\"img\">\n<style>\n"
        "text{font-family:system-ui,sans-serif;fill:#222}\n"
        ".head{font-size:18px;font-weight:600}.sub,.name{font-size:13px;fill:#555}\n"
        ".tick{font-size:12px;fill:#555}.grid{stroke:#e4e4e4}.axis{stroke:#777;fill:none}\n"
        "%s</style>\n<rect class=\"back\" width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
        wide, high, wide, high, style, wide, high);
}

void gcut_svg_text(gcut_text *out, double x, double y, const char *class, const char *anchor, const char *s)
{
    gcut_text_add(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class, anchor);
    gcut_svg_escaped(out, s);
    gcut_text_add(out, "</text>\n");
}

const char *gcut_svg_tick(gcut_arena *a, double value, double step)
{
    int digits = 0;
    for (double s = step; digits < 6 && fabs(s - round(s)) > 1e-6 * s; digits++) s *= 10;
    return gcut_printf(a, "%.*f", digits, value);
}
