/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tabu search: local search that also takes flips that make a plan slower or too large, to leave local optima.
 */
#ifndef GCUT_DRIVER_SEARCH_TABU_SEARCH_H
#define GCUT_DRIVER_SEARCH_TABU_SEARCH_H

#include "driver/search/flips.h"

/* The best plan that a tabu search from `from` finds: the fastest that fits the budget (gcut_candidate_is_faster), or,
 * where none fits, the one with the fewest bytes alive above it.  The search ends after `patience` iterations in a row
 * without a better plan, or when the graphs of the plans that it has tried have `nodes` nodes in all.  Returns `from`,
 * lowered, where there is no prediction of the step. */
gcut_candidate gcut_candidate_tabu(gcut_candidates *o, const gcut_candidate *from, int64_t budget,
                                   uint32_t patience, uint64_t nodes);
/* The same with a flip of v first, without a limit of nodes.  v keeps its new decision, unless another flip of it leads to the
 * best plan so far. */
gcut_candidate gcut_candidate_tabu_after_flip(gcut_candidates *o, const gcut_candidate *from, int64_t budget,
                                              gcut_ref v, uint32_t patience);
/* Whether one flip of each value that has a choice can be tried within `nodes`. */
bool gcut_tabu_affords(const gcut_candidate *from, uint64_t nodes);

#endif
