/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The statistics of a step: its bytes, as predicted and as touched.
 */
#ifndef GCUT_DRIVER_MEASURE_STEP_STATS_H
#define GCUT_DRIVER_MEASURE_STEP_STATS_H

#include "driver/load/step.h"

/* Updates the statistics and returns them; throws. */
const gcut_stats *gcut_step_measure(gcut_step *s);

#endif
