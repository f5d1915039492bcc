/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Flips: changes of one decision of a plan.  All other decisions stay, except of values that only this one needs, and
 * the schedule is rebuilt.
 */
#ifndef GCUT_DRIVER_SEARCH_FLIPS_H
#define GCUT_DRIVER_SEARCH_FLIPS_H

#include "driver/search/candidates.h"

/* A value that is recomputed has four flips: it becomes saved, alone or with the other results of its node; it loses its
 * further copies and waits for all readers; or it is copied before each reader.  One that is saved has six: it becomes
 * recomputed, alone or with the other results; or its operands, its readers or one other value are saved in its place;
 * or it stays saved in its other storage format. */
typedef enum gcut_flip_kind {
    GCUT_FLIP_VALUE,
    GCUT_FLIP_NODE,
    GCUT_FLIP_COPIES,
    GCUT_FLIP_AGAIN,
    GCUT_FLIP_OPERANDS,
    GCUT_FLIP_READERS,
    GCUT_FLIP_FORMAT,
    GCUT_FLIP_SWAP,
    GCUT_NFLIPS
} gcut_flip_kind;

/* Whether v has a choice: no constraint, view, or value that must run once. */
bool gcut_is_flippable(const gcut_problem *p, const gcut_choice *c, gcut_ref v);
/* The values that have a choice. */
uint32_t gcut_count_flippable(const gcut_problem *p, const gcut_choice *c);
/* Whether that kind changes what is saved, or what is recomputed. */
bool gcut_flip_fits(gcut_flip_kind kind, gcut_plan_decision decision);

/* All n values flipped alike, which have one decision; not for GCUT_FLIP_SWAP.  NULL: it changes nothing.  Readers are
 * saved in the place of a value only where they are smaller: masks, instead of what they are computed from.  Memory from
 * `arena`, also for what follows. */
const gcut_choice *gcut_flipped(const gcut_problem *p, gcut_arena *arena, const gcut_choice *from,
                                const gcut_ref *v, uint32_t n, gcut_flip_kind kind);
/* `instead` is saved in the place of v. */
const gcut_choice *gcut_flip_swapped(const gcut_problem *p, gcut_arena *arena, const gcut_choice *from,
                                     gcut_ref v, gcut_ref instead);
/* The same choice, formats as in c. */
const gcut_choice *gcut_flip_kept(const gcut_problem *p, gcut_arena *arena, const gcut_choice *c);
bool gcut_same_decision(const gcut_choice *x, const gcut_choice *y, gcut_ref v);

/* By value: within that many nodes of one of `from`, whatever the direction. */
bool *gcut_near_values(gcut_arena *arena, const gcut_graph *g, const bool *from, int steps);

/* The bytes alive above the budget, summed over the steps of x, which is lowered; 0: it fits.  What the peak has beside
 * what is alive, counts at every step. */
double gcut_bytes_above(const gcut_candidates *o, const gcut_candidate *x, int64_t budget);

#endif
