/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Candidates under one more constraint.
 */
#ifndef GCUT_DRIVER_SEARCH_CONSTRAINED_CANDIDATES_H
#define GCUT_DRIVER_SEARCH_CONSTRAINED_CANDIDATES_H

#include "driver/search/candidates.h"

/* The candidates that there would be if the options of o also forced v to have another decision than in `of`, and did not
 * ask for a thorough search.  They allocate in `arena`, a child of that of *o. */
gcut_candidates *gcut_candidates_constrained(gcut_candidates *o, const gcut_candidate *of, gcut_ref v,
                                             gcut_arena *arena);
/* x, which was found among these candidates, as one of *o, lowered: a plan without that constraint.  Its peak is INT64_MAX
 * where *o has no plan of the loops that x has. */
gcut_candidate gcut_candidate_adopted(gcut_candidates *o, const gcut_candidate *x);

#endif
