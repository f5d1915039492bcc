/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A sweep and its four forms.
 */
#ifndef GCUT_DRIVER_SWEEP_H
#define GCUT_DRIVER_SWEEP_H

#include "driver/offers.h"

/* What the forms say beside the points. */
typedef struct gcut_sweep_info {
    const char *graph; /* its name */
    const char *at;    /* "N=4, T=256", or "" */
    int threads, rounds;
    bool measured;
} gcut_sweep_info;

/* The best time there is of a point: the best of those measured, since other programs lengthen the others,
 * else predicted, else what saving and recomputing costs. */
double gcut_sweep_point_ns(const gcut_sweep_point *p);
/* "time of the step, measured", the same predicted, or "saving and recomputing, predicted". */
const char *gcut_sweep_time_kind(const gcut_sweep *s);

/* driver/sweep_text.c */
void gcut_sweep_text(const gcut_sweep *s, const gcut_sweep_info *info, gcut_text *out);
void gcut_sweep_csv(const gcut_sweep *s, gcut_text *out);
void gcut_sweep_json(const gcut_sweep *s, const gcut_sweep_info *info, gcut_text *out);
/* driver/sweep_svg.c: the same bytes for the same numbers. */
void gcut_sweep_svg(const gcut_sweep *s, const gcut_sweep_info *info, gcut_text *out);

/* driver/sweep_measure.c: runs the compiled steps of n pipelines in turn; point[i] gets its measured fields.
 * Throws. */
void gcut_sweep_measure(gcut_pipeline **p, gcut_sweep_point *point, size_t n, const gcut_sweep_options *how,
                        gcut_arena *arena);

#endif
