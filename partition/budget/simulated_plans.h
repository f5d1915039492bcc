/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The plans among which a budget on the peak chooses, with their simulated peaks.  The driver lowers them to
 * learn their exact ones (driver/search/candidates.h).
 *
 *   save-all, the frontier of minimum cuts (its corners, and points between them)      one copy, lazily
 *   nested checkpoints over the blocks of the forward graph, for many sizes of memory   checkpoint_levels.c
 *   those of both with the lowest peaks, with second copies at the peak                 second_copies.c
 *
 * A plan that the simulator finds clearly larger than a cheaper one is left out; of more than
 * GCUT_MAX_SIMULATED those go whose neighbours cost nearly the same.
 */
#ifndef GCUT_PARTITION_BUDGET_SIMULATED_PLANS_H
#define GCUT_PARTITION_BUDGET_SIMULATED_PLANS_H

#include "partition/cut/frontier.h"

#define GCUT_MAX_SIMULATED 120

typedef struct gcut_simulated_plan {
    gcut_choice *choice;
    const char *label;      /* where it comes from: "lambda 0.31", "levels 3 of 12, 4096 bytes" */
    int64_t simulated_peak; /* simulator.h */
} gcut_simulated_plan;

typedef struct gcut_simulated_plans {
    GCUT_VEC(gcut_simulated_plan)
    by_cost; /* rising cost at lambda 0 (fixed_ns), then falling saved bytes, then peak */
    const gcut_cut_frontier *frontier; /* all minimum cuts of the problem */
} gcut_simulated_plans;

/* Memory from `arena`. */
gcut_simulated_plans *gcut_simulated_plans_of(const gcut_problem *p, gcut_arena *arena);

#endif
