/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Equal-cost cuts: the minimum cuts between two minimum cuts of a network.
 */
#ifndef GCUT_PARTITION_CUT_EQUAL_CUTS_H
#define GCUT_PARTITION_CUT_EQUAL_CUTS_H

#include "partition/cut/min_cut.h"

typedef GCUT_VEC(const bool *) gcut_sides; /* source sides, each by vertex */

/* `cut` is a minimum cut of `net` at its current prices, `from` and `to` are the source sides of two others
 * of equal cost up to rounding.  Returns a longest chain of minimum cuts from the first over their union to
 * the second, without these two and without cuts that save as many bytes as another.  Memory from `arena`. */
gcut_sides gcut_ties_between(gcut_arena *arena, const gcut_network *net, const gcut_cut *cut,
                             const bool *from, const bool *to);

#endif
