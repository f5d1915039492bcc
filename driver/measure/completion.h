/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a calibration derives for a model: figures that were not measured, and properties that hold whatever was measured.
 */
#ifndef GCUT_DRIVER_MEASURE_COMPLETION_H
#define GCUT_DRIVER_MEASURE_COMPLETION_H

#include "machine/machine.h"

/* Gives what was not measured, and is 0, the figure of `like`, times the geometric
 * mean of measured figures over those of `like` in its class.  The classes are: elementwise and similar ops with
 * op_scale; products; convolutions; attention.  f64_factor, of which there is one, is that of `like`. */
void gcut_machine_complete(gcut_machine *m, const gcut_machine *like);

/* Raises the time of each product of the grid to at least that of its smaller neighbours. */
void gcut_machine_monotone_products(gcut_machine *m);
/* Lowers the times of m to those of `fewer`, a section with fewer threads: a longer time means
 * that another program had a core. */
void gcut_machine_monotone_threads(gcut_machine *m, const gcut_machine *fewer);

/* The capacity of a cache.  bytes: n > 0 working sets of rising sizes, of which it holds
 * the first and not the last; ns: the time of a byte in each.  It is the size at which half of the difference between the
 * first and the last time is passed, where machine/machine.c prices that half; INFINITY where the last time is less than
 * 1.2 times the first. */
double gcut_cache_bytes(const double *bytes, const double *ns, uint32_t n);

#endif
