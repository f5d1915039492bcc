/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The candidate plans for a budget on the peak.
 *
 * The candidates depend on the problem alone, not on the budget: taking the first one that fits gives plans
 * whose cost and peak are monotone in the budget.
 *
 *   save-all, the frontier of minimum cuts (its corners, and points between them)      one copy, lazily
 *   nested checkpoints over the blocks of the forward graph, for many sizes of memory   checkpoint_levels.c
 *   those of both with the lowest peaks, with second copies at the peak                 second_copies.c
 *
 * A member that the simulator finds clearly larger than a cheaper one is left out; of more than
 * GCUT_MAX_MEMBERS those go whose neighbours cost nearly the same.
 */
#ifndef GCUT_PARTITION_BUDGET_CANDIDATE_PLANS_H
#define GCUT_PARTITION_BUDGET_CANDIDATE_PLANS_H

#include "partition/cut/decisions.h"

#define GCUT_MAX_MEMBERS 120

typedef struct gcut_family_plan {
    gcut_choice *choice;
    const char *label;  /* where it comes from: "lambda 0.31", "levels 12" */
    int64_t model_peak; /* as simulated (simulator.h) */
} gcut_family_plan;

typedef struct gcut_family {
    GCUT_VEC(gcut_family_plan)
    by_cost; /* rising cost at lambda 0 (fixed_ns), then falling saved bytes, then peak */
} gcut_family;

/* Memory from `arena`. */
gcut_family *gcut_family_of(const gcut_problem *p, gcut_arena *arena);

#endif
