/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The brief calibration, and where its model is kept.
 */
#ifndef GCUT_DRIVER_MEASURE_CALIBRATE_H
#define GCUT_DRIVER_MEASURE_CALIBRATE_H

#include "driver/ctx.h"

/* Fills the report m->object with a model of this machine from fewer measurements, in fewer
 * rounds: of products with their sides in one order, of a few ops, with one thread and with all.  The rest comes from
 * the shipped model (gcut_machine_complete).  Takes about two seconds; throws where probes do not compile. */
void gcut_calibrate_briefly(gcut_env *env, const gcut_made *m);

/* The key of this machine's model in the cache (driver/measure/machine_here.c). */
const char *gcut_machine_here_key(gcut_arena *arena);

#endif
