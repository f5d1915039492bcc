/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the steps of a comparison execute.
 */
#ifndef GCUT_DRIVER_API_COMPARISON_COUNTS_H
#define GCUT_DRIVER_API_COMPARISON_COUNTS_H

#include "driver/load/step.h"

/* driver/api/comparison_counts.c: counts what a prepared step executes at its sizes; to[0] for the forward,
 * to[1] for the backward graph.  Scratch from `a`. */
void gcut_count_step(const gcut_step *s, gcut_variant_graph to[2], gcut_arena *a);

#endif
