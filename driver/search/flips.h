/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Flips: changes of one decision of a plan.  All other decisions stay, except of values that only this one needs, and
 * the schedule is rebuilt.
 */
#ifndef GCUT_DRIVER_SEARCH_FLIPS_H
#define GCUT_DRIVER_SEARCH_FLIPS_H

#include "driver/search/candidates.h"

typedef enum gcut_flip_kind {
    GCUT_FLIP_VALUE,           /* saved becomes recomputed, recomputed becomes saved */
    GCUT_FLIP_NODE,            /* the same for all results of the node that have this decision */
    GCUT_FLIP_ONE_COPY,        /* of a recomputed value: it is computed once, and waits for all its readers */
    GCUT_FLIP_COPY_PER_READER, /* of a recomputed value: it is computed before each reader */
    GCUT_FLIP_OPERANDS,        /* of a saved value: its operands are saved instead */
    GCUT_FLIP_READERS, /* of a saved value: what is computed from it is saved instead, if it is smaller */
    GCUT_FLIP_FORMAT,  /* of a saved value: its other storage format */
    GCUT_FLIP_SWAP,    /* of a saved value: one other value is saved instead */
    GCUT_NFLIPS
} gcut_flip_kind;

/* Whether values with that decision have flips of that kind. */
bool gcut_flip_applies(gcut_flip_kind kind, gcut_plan_decision decision);
/* Whether v is saved or recomputed in c, may be either, and is not forced. */
bool gcut_is_flippable(const gcut_problem *p, const gcut_choice *c, gcut_ref v);
uint32_t gcut_count_flippable(const gcut_problem *p, const gcut_choice *c);

/* `from` with one flip of all n values, which have one decision; not for GCUT_FLIP_SWAP.  NULL: the flip changes nothing.
 * Memory from `arena`, as for the functions below. */
const gcut_choice *gcut_flipped(const gcut_problem *p, gcut_arena *arena, const gcut_choice *from,
                                const gcut_ref *v, uint32_t n, gcut_flip_kind kind);
/* `from` with `instead` saved in the place of v. */
const gcut_choice *gcut_flip_swapped(const gcut_problem *p, gcut_arena *arena, const gcut_choice *from,
                                     gcut_ref v, gcut_ref instead);
const gcut_choice *gcut_copy_choice(const gcut_problem *p, gcut_arena *arena, const gcut_choice *c);
bool gcut_same_decision(const gcut_choice *x, const gcut_choice *y, gcut_ref v);

/* By value: whether at most `distance` nodes are between it and a value of `from`, along operands and readers. */
bool *gcut_near_values(gcut_arena *arena, const gcut_graph *g, const bool *from, int distance);

/* The bytes alive above the budget, summed over the timeline of x, which was lowered; 0: x fits.  What the peak of x has
 * beside the bytes alive there, such as gaps between buffers, counts at every time. */
double gcut_bytes_above(const gcut_candidates *o, const gcut_candidate *x, int64_t budget);

#endif
