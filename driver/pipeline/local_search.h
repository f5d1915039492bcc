/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Local search: a plan is changed by one decision at a time while its lowered step gets better.
 */
#ifndef GCUT_DRIVER_PIPELINE_LOCAL_SEARCH_H
#define GCUT_DRIVER_PIPELINE_LOCAL_SEARCH_H

#include "driver/pipeline/candidates.h"

/* A flip that saves less than this share of the step's time is not worth a change. */
#define GCUT_FLIP_WORTH 1e-3

/* What is better: a lower step_ns + lambda * saved bytes, among plans with at most this peak. */
typedef struct gcut_goal {
    int64_t budget; /* INT64_MAX: any peak */
    double lambda;
} gcut_goal;

/* `from` after flips, each of which lowers the goal by more than GCUT_FLIP_WORTH of the step; where `from` does
 * not fit, flips first lower its peak for as little time as possible.  `from` itself, lowered, where no flip does.
 * The search ends when it has lowered graphs of so many nodes.  Without a prediction of the step it does not
 * begin. */
gcut_candidate gcut_candidate_refined(gcut_candidates *o, const gcut_candidate *from, const gcut_goal *goal,
                                      uint64_t nodes);

/* `from` with the other decision for v, and the same recomputations otherwise; NULL where that is no other
 * plan.  Not lowered. */
const gcut_choice *gcut_choice_flipped(const gcut_problem *p, gcut_arena *arena, const gcut_choice *from,
                                       gcut_ref v);

#endif
