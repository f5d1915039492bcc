/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tabu search: the best flip is taken even where it makes the plan slower or too large, and is not taken back soon.
 */
#ifndef GCUT_DRIVER_SEARCH_TABU_SEARCH_H
#define GCUT_DRIVER_SEARCH_TABU_SEARCH_H

#include "driver/search/flips.h"

/* The best plan on the way of a tabu search that begins with `from`: of those that fit the budget the fastest, or, while
 * none does, the one with the fewest bytes alive above it.  It ends after `steps` flips in a row without a better plan, or
 * when the graphs of the plans that it has tried have `nodes` nodes in all.  `from` itself, lowered, where there is no prediction of the step. */
gcut_candidate gcut_candidate_tabu(gcut_candidates *o, const gcut_candidate *from, int64_t budget,
                                   uint32_t steps, uint64_t nodes);
/* Whether its first step may try every flip, but for swaps, within `nodes`. */
bool gcut_tabu_affords(const gcut_candidate *from, uint64_t nodes);

#endif
