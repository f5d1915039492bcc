/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Compared steps run in turns, so that load on the machine affects all of them alike; they share the bound
 * values of the first one and one arena, so that memory holds the model once.
 */
#ifndef GCUT_DRIVER_MEASURE_ROUNDS_H
#define GCUT_DRIVER_MEASURE_ROUNDS_H

#include "driver/load/step.h"

typedef struct gcut_rounds {
    gcut_step **step; /* n of them, of one function and one set of bound values; none has run yet */
    size_t n;
    const gcut_feed *feed;
    size_t nfeed;
    int rounds;
} gcut_rounds;

typedef struct gcut_times {
    double best_ns, median_ns, spread_ns; /* spread: half the distance between the quartiles */
} gcut_times;

/* Binds and feeds the values, runs each step once and reads its statistics.  Allocates in `arena`, which
 * must outlive the steps.  Throws. */
void gcut_rounds_begin(const gcut_rounds *r, gcut_stats *stats, gcut_arena *arena);
/* Runs the steps in turn and fills times[].  Throws. */
void gcut_rounds_run(const gcut_rounds *r, gcut_times *times, gcut_arena *arena);

#endif
