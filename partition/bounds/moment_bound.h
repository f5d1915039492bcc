/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A lower bound of the cost of every plan that fits a budget, from what must be in memory at one moment.
 *
 * The boundary between forward and backward graph bounds a plan by the bytes that cross it
 * (gcut_bound_for_bytes).  The peak is often elsewhere.  Take a contraction or a pooling m and its run in the
 * forward graph, which needs it, or in the backward graph, where it depends on a cotangent; there also a loop
 * or a branch.  It is a kernel of its own, runs there once under every plan, and none of its operands shares
 * memory with its result, except what a loop carries, which is copied there first.  While it runs, these are in
 * memory:
 *
 *   written   its results
 *   read      in the forward graph: the least from which its operands can be computed (gcut_least_read); of a loop or
 *             a branch: its operands but for what it carries, or what they are views of.  Values that may be among
 *             it count nothing as kept
 *   kept      whatever the nodes that run later read and do not compute again: those that depend on m, in the backward
 *             graph m itself where nothing counts as read, and in the forward graph all of the backward graph
 *
 *     bytes kept <= budget - resident bytes - bytes written - bytes read
 *
 * What has run in any case must be kept or paid for again.  In the backward graph these are all values of the
 * forward graph; contractions, poolings and nodes with effects on which m depends and that depend on a cotangent
 * cannot run again.  In the forward graph these are the contractions, poolings and nodes with effects on which m
 * depends.  All else may run after m as well as before, at no cost.
 *
 * A minimum cut of the network of partition/cut/network.h, with other values, prices and readers, is the cheapest
 * way to meet that: keeping v costs its bytes times a multiplier, computing it again its price.  Every
 * multiplier gives a lower bound; it is searched for where it is largest.
 *
 * The same plan also pays for what crosses the boundary.  The price of each value is therefore divided between the
 * two.  What both cuts cost together is a lower bound of the cost of the plan, whichever way prices are divided
 * (Lagrangian decomposition); the division is searched for that gives the largest.  In the forward graph a value may be kept
 * without being saved, so the price of saving it counts at the boundary.
 */
#ifndef GCUT_PARTITION_BOUNDS_MOMENT_BOUND_H
#define GCUT_PARTITION_BOUNDS_MOMENT_BOUND_H

#include "partition/cut/decisions.h"

/* The bound in ns, of fixed_ns; INFINITY where no plan fits.  room: budget - resident bytes.  Each saved value must
 * have a buffer of its own.  0 where nothing is proved. */
double gcut_moment_bound(const gcut_problem *p, gcut_arena *arena, int64_t room);

#endif
