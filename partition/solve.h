/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Minimum cut of a network, with certified error and deterministic ties.
 */
#ifndef GCUT_PARTITION_SOLVE_H
#define GCUT_PARTITION_SOLVE_H

#include "partition/network.h"

typedef struct gcut_cut {
    bool *source_side; /* by vertex */
    double cost;       /* sum of the prices of the cut arcs, in doubles */
    double quantum;    /* one unit of integer capacity */
    double error;      /* cost <= minimum + error, and minimum >= lower_bound */
    double lower_bound;
    int64_t flow; /* in quanta; equals the cut's integer capacity */
} gcut_cut;

/* Throws GCUT_EPLAN when every cut contains an infinite arc, GCUT_ENOMEM.  Of the cuts of equal integer
 * capacity it takes the one with the fewest saved bytes, then the fewest saved tensors, then the smallest
 * source side. */
gcut_cut gcut_solve(const gcut_network *net, gcut_arena *arena);

#endif
