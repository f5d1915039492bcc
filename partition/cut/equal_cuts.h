/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The minimum cuts between two minimum cuts of a network.
 */
#ifndef GCUT_PARTITION_CUT_EQUAL_CUTS_H
#define GCUT_PARTITION_CUT_EQUAL_CUTS_H

#include "partition/cut/min_cut.h"

typedef GCUT_VEC(const bool *) gcut_sides; /* source sides, each by vertex */

/* `cut` is a minimum cut of `net` at its present prices, `from` and `to` the source sides of two others that
 * cost the same but for rounding.  A longest chain of cuts from the one over their union to the other,
 * without the two; those that save as many bytes as another are left out.  Memory from `arena`. */
gcut_sides gcut_ties_between(gcut_arena *arena, const gcut_network *net, const gcut_cut *cut,
                             const bool *from, const bool *to);

#endif
