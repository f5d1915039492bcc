/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Second copies where they lower the peak, on any graph.
 */
#ifndef GCUT_PARTITION_BUDGET_SECOND_COPIES_H
#define GCUT_PARTITION_BUDGET_SECOND_COPIES_H

#include "partition/cut/decisions.h"

typedef GCUT_VEC(gcut_choice *) gcut_choices;

/* As c, with further copies of what it recomputes: as long as there is one that lowers the simulated peak, of
 * a value that waits through the peak between two readers, made again for the second one; of several the one
 * that lowers it most for its cost.  Adds to `out` each plan on the way that is clearly smaller than the one
 * before it.  Memory from `arena`. */
void gcut_second_copies(const gcut_problem *p, gcut_arena *arena, const gcut_choice *c, gcut_choices *out);

/* As c, with the whole chain of elementwise nodes copied where c copies its end (gcut_schedule_add_chains).  Memory
 * from `arena`. */
gcut_choice *gcut_chains_copied(const gcut_problem *p, gcut_arena *arena, const gcut_choice *c);

#endif
