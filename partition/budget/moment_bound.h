/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A lower bound of the cost of every plan that fits a budget, from what must be in memory at one moment of the
 * backward graph.
 *
 * The boundary between forward and backward graph bounds a plan by the bytes that cross it
 * (gcut_bound_for_bytes).  The peak is often later.  Take a contraction or a pooling m that depends on a
 * cotangent.  It is a kernel of its own, runs once under every plan, and none of its operands shares memory with
 * its result.  While it runs, these are in memory:
 *
 *   written   its results
 *   kept      whatever the nodes that depend on m read and do not compute again later: contractions, poolings and
 *             nodes with effects on which m depends and that depend on a cotangent (these run once, so before m);
 *             and values of the forward graph, each of them either kept or computed by a copy
 *
 *     bytes kept <= budget - resident bytes - bytes written
 *
 * A minimum cut of the network of partition/cut/network.h, with other values, prices and readers, is the cheapest
 * way to meet that: keeping v costs its bytes times a multiplier, computing it again its price.  Every
 * multiplier gives a lower bound; it is searched for where it is largest.
 *
 * The same plan also pays for what crosses the boundary.  The prices of each value therefore count at one of the
 * two.  What both cuts cost together is a lower bound of the cost of the plan, whichever way the prices are divided
 * (Lagrangian decomposition).
 */
#ifndef GCUT_PARTITION_BUDGET_MOMENT_BOUND_H
#define GCUT_PARTITION_BUDGET_MOMENT_BOUND_H

#include "partition/cut/decisions.h"

/* The bound in ns, of fixed_ns; INFINITY where no plan fits.  room: budget - resident bytes.  Each saved value must
 * have a buffer of its own.  0 where nothing is proved. */
double gcut_moment_bound(const gcut_problem *p, gcut_arena *arena, int64_t room);

#endif
