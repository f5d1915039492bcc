/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pieces of pictures: one file each without scripts, fonts or links, in which names are text whatever they contain, and
 * kinds of marks differ in shape or pattern, not in colour alone.
 */
#ifndef GCUT_REPORT_SVG_H
#define GCUT_REPORT_SVG_H

#include "base/arena.h"

typedef struct gcut_svg_axis {
    double lo, hi, step; /* in units */
    double unit;         /* bytes or ns in one unit */
    const char *name;
    double from, to; /* in the picture */
} gcut_svg_axis;

/* The element, a background, and the style of what pictures share: back, head, sub, name, tick, grid, axis; `style` has
 * the rest, classes of its own, since a page may have several pictures. */
void gcut_svg_begin(gcut_text *out, int wide, int high, const char *style);
/* Where a value is in the picture. */
double gcut_svg_place(const gcut_svg_axis *a, double value);
/* From the least to the largest value with a margin, both ends multiples of the step; `ticks`: how many, about. */
void gcut_svg_range(gcut_svg_axis *a, double lo, double hi, int ticks);
/* The unit in which the largest value has few digits. */
void gcut_svg_bytes(gcut_svg_axis *a, double most);
void gcut_svg_time(gcut_svg_axis *a, double most);
/* A tick needs as many decimals as its step has. */
const char *gcut_svg_tick(gcut_arena *a, double value, double step);
/* Text of a file, whose characters must not be taken for markup. */
void gcut_svg_escaped(gcut_text *out, const char *s);
/* anchor: start, middle, end. */
void gcut_svg_text(gcut_text *out, double x, double y, const char *class, const char *anchor, const char *s);

#endif
