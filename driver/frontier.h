/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A sweep and its four forms.
 */
#ifndef GCUT_DRIVER_FRONTIER_H
#define GCUT_DRIVER_FRONTIER_H

#include "driver/offers.h"

/* What the forms say beside the points. */
typedef struct gcut_frontier_info {
    const char *graph; /* its name */
    const char *at;    /* "N=4, T=256", or "" */
    int threads, rounds;
    bool measured;
} gcut_frontier_info;

/* The best time there is of a point: the best of those measured, since other programs lengthen the others,
 * else predicted, else what saving and recomputing costs. */
double gcut_frontier_point_ns(const gcut_frontier_point *p);
/* "time of the step, measured", the same predicted, or "saving and recomputing, predicted". */
const char *gcut_frontier_time_kind(const gcut_frontier *s);

/* driver/frontier_text.c */
void gcut_frontier_text(const gcut_frontier *s, const gcut_frontier_info *info, gcut_text *out);
void gcut_frontier_csv(const gcut_frontier *s, gcut_text *out);
void gcut_frontier_json(const gcut_frontier *s, const gcut_frontier_info *info, gcut_text *out);
/* driver/frontier_svg.c: the same bytes for the same numbers. */
void gcut_frontier_svg(const gcut_frontier *s, const gcut_frontier_info *info, gcut_text *out);

/* driver/frontier_measure.c: runs the compiled steps of n pipelines in turn; point[i] gets its measured
 * fields. Throws. */
void gcut_frontier_measure(gcut_pipeline **p, gcut_frontier_point *point, size_t n,
                           const gcut_frontier_options *how, gcut_arena *arena);

#endif
