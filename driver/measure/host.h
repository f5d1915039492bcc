/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The host: its processor and caches, what its threads take for each other, and whether one had a processor.
 */
#ifndef GCUT_DRIVER_MEASURE_HOST_H
#define GCUT_DRIVER_MEASURE_HOST_H

#include "driver/measure/spread.h"
#include "machine/machine.h"

const char *gcut_host_name(gcut_arena *arena);  /* of the processor */
void gcut_host_caches(double bytes[GCUT_DRAM]); /* of one core's L2, and of L3 */
/* The time to hand a kernel to the threads of a step and to wait for them; 0 for one thread. */
double gcut_host_handing_ns(int threads);
/* The time that a cache line takes from the thread that leads a step to another thread and back: the longest to any of the
 * first 64 threads; 0 for one thread, INFINITY where one of them has no processor. */
double gcut_host_line_ns(int threads);
gcut_presence gcut_host_presence(void); /* of the calling thread since some time */
/* The time of one call of the smallest product of the grid. */
double gcut_host_call_ns(void);

#endif
