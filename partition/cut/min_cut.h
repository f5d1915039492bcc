/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Minimum cut of a network, with certified error and deterministic ties.
 */
#ifndef GCUT_PARTITION_CUT_MIN_CUT_H
#define GCUT_PARTITION_CUT_MIN_CUT_H

#include "partition/cut/network.h"

/* From `from` more could flow to `to`: a minimum cut that has `from` on the source's side has `to` there. */
typedef struct gcut_open {
    uint32_t from, to;
    double by; /* as much; INFINITY along what must not be cut */
} gcut_open;
typedef GCUT_VEC(gcut_open) gcut_residual;

typedef struct gcut_cut {
    bool *source_side;  /* by vertex */
    double cost;        /* sum of the prices of the cut arcs, in doubles */
    double flow;        /* value of a flow that the prices allow, rounded: within tolerance of cost */
    double lower_bound; /* <= minimum: the flow less what rounding may have added; 0 for the smallest cut */
    double error;       /* cost - lower_bound */
    double quantum;     /* one unit of capacity in the last round */
    double tolerance;   /* residual capacities up to this count as none */
    gcut_residual residual; /* of the first key; what is more than 0, in the order of the arcs */
} gcut_cut;

/* Some cut contains no infinite arc. */
bool gcut_network_feasible(const gcut_network *net, gcut_arena *arena);

/* Throws GCUT_EPLAN when every cut contains an infinite arc, GCUT_ENOMEM.  Of the cuts of equal cost it takes
 * the one with the fewest saved bytes, then the fewest saved tensors, then the smallest source side. */
gcut_cut gcut_solve(const gcut_network *net, gcut_arena *arena);

/* The same with bytes before cost: what lambda tends to when it grows.  `cost` is in prices, `flow` and
 * `lower_bound` are in bytes. */
gcut_cut gcut_solve_smallest(const gcut_network *net, gcut_arena *arena);

#endif
