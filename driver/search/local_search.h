/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Local search: a plan is changed by one decision at a time while its lowered step gets better.
 */
#ifndef GCUT_DRIVER_SEARCH_LOCAL_SEARCH_H
#define GCUT_DRIVER_SEARCH_LOCAL_SEARCH_H

#include "driver/search/flips.h"

/* A flip that saves less than this share of the step's time is not worth a change. */
#define GCUT_FLIP_WORTH 1e-3

/* `from` after flips and exchanges, each of which makes the step's time + lambda * saved bytes less by more than
 * GCUT_FLIP_WORTH of that time and keeps the budget (INT64_MAX: none).  Where `from` does not fit, flips first reduce the
 * bytes alive above the budget, for as little time as possible.  `from` itself, lowered, where nothing is better.  The
 * search ends when the graphs of the plans that it has tried have `nodes` nodes in all.  Without a prediction of the
 * step it does not begin. */
gcut_candidate gcut_candidate_refined(gcut_candidates *o, const gcut_candidate *from, int64_t budget,
                                      double lambda, uint64_t nodes);

/* p->plan, which the minimum cut has made at a price of a saved byte, after flips; the bound stays that of the cut. */
void gcut_plan_refine(gcut_pipeline *p);

/* `from`, which fits, after flips that change the storage formats of saved values alone. */
gcut_candidate gcut_candidate_reformatted(gcut_candidates *o, const gcut_candidate *from, int64_t budget,
                                          uint64_t nodes);

#endif
