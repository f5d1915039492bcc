/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Second copies where they lower the peak, on any graph.
 */
#ifndef GCUT_PARTITION_LATER_H
#define GCUT_PARTITION_LATER_H

#include "partition/decide.h"

/* As c, with further copies of what it recomputes: as long as there is one that lowers the simulated peak, of
 * a value that waits through the peak between two readers, made again for the second one.  NULL when there
 * is none.  Memory from `arena`. */
gcut_choice *gcut_later(const gcut_problem *p, gcut_arena *arena, const gcut_choice *c);

#endif
