/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For which sizes a plan stays the cheapest.
 */
#ifndef GCUT_PARTITION_QUERY_VALID_RANGE_H
#define GCUT_PARTITION_QUERY_VALID_RANGE_H

#include "partition/cut/decisions.h"

/* The sizes of one symbol around the plan's own, the others as they are, at which no plan is cheaper. */
typedef struct gcut_range {
    gcut_dim sym;
    int64_t lo, hi;          /* it is the cheapest at both, and at every size between them that was tried */
    bool lo_exact, hi_exact; /* the next size is not allowed, or another plan is cheaper there */
    bool unbounded;          /* cheapest as far as was looked, and the symbol has no upper limit */
} gcut_range;

typedef struct gcut_valid_sizes {
    const char *skipped; /* why nothing was searched; NULL */
    bool best;           /* no plan is cheaper at the plan's own sizes */
    double above_ns;     /* else: by how much this one is dearer than the cheapest cut that was found */
    double minimum_ns, bound_ns; /* that cut's cost; no plan costs less than the bound */
    GCUT_VEC(gcut_range) ranges; /* where best: one for each symbol */
} gcut_valid_sizes;

/* Of a plan under the minimum cut's policy, or a plan file of one; its steps of loops must hold as well.  At
 * most some forty cuts for each symbol.  Memory from `arena`. */
gcut_valid_sizes gcut_plan_valid_sizes(const gcut_plan *plan, gcut_arena *arena);

#endif
