/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measuring the points of a frontier.
 */
#ifndef GCUT_DRIVER_MEASURE_FRONTIER_MEASURE_H
#define GCUT_DRIVER_MEASURE_FRONTIER_MEASURE_H

#include "driver/pipeline/candidates.h"

/* driver/measure/frontier_measure.c: runs the compiled steps of n pipelines in turn and fills the measured
 * fields of each point. Throws. */
void gcut_frontier_measure(gcut_pipeline **p, gcut_frontier_point *point, size_t n,
                           const gcut_frontier_options *how, gcut_arena *arena);

#endif
