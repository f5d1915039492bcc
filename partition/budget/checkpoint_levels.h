/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recomputation on several levels: the best nesting of checkpoints over a chain of blocks, for every amount
 * of memory at once.  After Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova, "Optimal checkpointing for
 * heterogeneous chains" (2019); on chains of equal blocks it is Griewank and Walther's revolve.
 */
#ifndef GCUT_PARTITION_BUDGET_CHECKPOINT_LEVELS_H
#define GCUT_PARTITION_BUDGET_CHECKPOINT_LEVELS_H

#include "partition/budget/block_costs.h"

typedef struct gcut_level_plan {
    gcut_choice *choice;
    int64_t bytes;  /* the memory that the program was given, beyond what lives anyway */
    uint32_t saved; /* cuts kept by the forward graph */
} gcut_level_plan;

typedef struct gcut_level_plans {
    GCUT_VEC(gcut_level_plan) at; /* from tables of up to three scales, the finest first */
} gcut_level_plans;

/* At most `most` of them.  Memory from `arena`. */
gcut_level_plans gcut_levels_of(const gcut_chain *c, gcut_arena *arena, uint32_t most);

#endif
