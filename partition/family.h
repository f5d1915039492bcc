/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The plans worth trying for a budget on the peak.
 *
 * The family is a function of the problem alone, not of any budget: whoever takes its first member that fits
 * gets plans whose cost and peak are monotone in the budget.
 */
#ifndef GCUT_PARTITION_FAMILY_H
#define GCUT_PARTITION_FAMILY_H

#include "partition/decide.h"

typedef struct gcut_member {
    gcut_choice *choice;
    const char *label; /* where it comes from: "lambda 0.31", "levels 12" */
} gcut_member;

typedef struct gcut_family {
    GCUT_VEC(gcut_member) by_cost; /* rising cost at lambda 0 (fixed_ns), then falling saved bytes */
} gcut_family;

/* Memory from `arena`. */
gcut_family *gcut_family_of(const gcut_problem *p, gcut_arena *arena);

#endif
