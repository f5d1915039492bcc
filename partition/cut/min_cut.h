/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Minimum cut of a network, with certified error and deterministic ties.
 */
#ifndef GCUT_PARTITION_CUT_MIN_CUT_H
#define GCUT_PARTITION_CUT_MIN_CUT_H

#include "partition/cut/network.h"

/* A residual arc: more could flow from `from` to `to`, so a minimum cut with `from` on the source side has
 * `to` there too. */
typedef struct gcut_residual_arc {
    uint32_t from, to;
    double by; /* residual capacity; INFINITY where the arc must not be cut */
} gcut_residual_arc;
typedef GCUT_VEC(gcut_residual_arc) gcut_residual;

typedef struct gcut_cut {
    bool *source_side;      /* by vertex */
    double cost;            /* sum of the prices of the cut arcs, in doubles */
    double flow;            /* value of a flow that the prices allow, rounded: within tolerance of cost */
    double lower_bound;     /* <= minimum: the flow less what rounding may have added */
    double error;           /* cost - lower_bound */
    double tolerance;       /* residual capacities up to this count as 0 */
    gcut_residual residual; /* of the first key; arcs of capacity > 0, in the order of the network's arcs */
} gcut_cut;

/* Some cut contains no infinite arc. */
bool gcut_network_feasible(const gcut_network *net, gcut_arena *arena);

/* Throws GCUT_EPLAN when every cut contains an infinite arc, GCUT_ENOMEM.  Of the cuts of equal cost it takes
 * the one with the fewest saved bytes, then the fewest saved tensors, then the smallest source side. */
gcut_cut gcut_solve(const gcut_network *net, gcut_arena *arena);

/* By arc: a maximum flow, within the precision of gcut_solve, which starts from the same one. */
double *gcut_flow_of(const gcut_network *net, gcut_arena *arena);

/* The same with bytes as the first key and cost as the second: the limit for lambda to infinity.  `cost` is
 * in prices, `flow` and `lower_bound` are in bytes. */
gcut_cut gcut_solve_smallest(const gcut_network *net, gcut_arena *arena);

#endif
