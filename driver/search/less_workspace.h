/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolutions that take the algorithm with less workspace, so that a plan fits a budget.
 */
#ifndef GCUT_DRIVER_SEARCH_LESS_WORKSPACE_H
#define GCUT_DRIVER_SEARCH_LESS_WORKSPACE_H

#include "driver/search/candidates.h"

/* `from` with less workspace where its peak is above the budget for the workspace of convolutions: a peak no
 * larger than before, at the budget or below it where that can be.  `from` itself, lowered, where nothing is
 * gained. */
gcut_candidate gcut_candidate_with_less_workspace(gcut_candidates *o, const gcut_candidate *from,
                                                  int64_t budget);

#endif
