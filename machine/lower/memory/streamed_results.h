/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Results of loops that go past the caches where they are large.
 */
#ifndef GCUT_MACHINE_LOWER_MEMORY_STREAMED_RESULTS_H
#define GCUT_MACHINE_LOWER_MEMORY_STREAMED_RESULTS_H

#include "machine/lower/fusion/loop_phases.h"

/* Sets `streams` of the members whose results may. */
void gcut_find_streamed_results(gcut_loop_analysis *l);

#endif
