/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Schedules: which nodes the backward graph computes, in which order, and how often.
 *
 * A schedule lists nodes of the joint graph.  A node of the forward graph occurs once for each copy that the
 * backward graph makes of its results; a reader gets the latest copy before it, so a copy is live from its
 * place to its last reader before the next copy.  Nested checkpoints need nothing else: a checkpoint of an
 * inner level is a copy that is made early and read late.
 *
 * Invariants (tests/harness/schedule_check.h):
 *   S1  every live BACKWARD node occurs exactly once, in the order of gcut_backward_order
 *   S2  between two of them, other nodes stand in the graph's order, each at most once
 *   S3  an operand crosses from the forward graph, or was computed before in the list
 */
#ifndef GCUT_PARTITION_CUT_SCHEDULE_H
#define GCUT_PARTITION_CUT_SCHEDULE_H

#include "partition/cut/sides.h"

/* The order of the BACKWARD nodes under any plan: the joint graph's, except that nodes which serve `next` and `grad`
 * results alone (the products that make gradients of parameters, the optimizer, running statistics) run as soon
 * as their operands are computed, so that these and the gradient are dead early.  Memory from `arena`, or of the
 * facts; *n = how many. */
const uint32_t *gcut_backward_order(gcut_arena *arena, const gcut_facts *f, uint32_t *n);

/* True when a value v of that decision is a `saved` or other parameter of the backward graph. */
bool gcut_crosses(const gcut_graph *g, gcut_ref v, gcut_plan_decision decision);

/* By node: it must run so that the values `need` exist where those of `given` do (by value; NULL: none).
 * Adds the operands of these nodes to `need`. */
bool *gcut_needed_nodes(gcut_arena *arena, const gcut_graph *g, bool *need, const bool *given);

/* A schedule with further copies.  copies[i], i < n of gcut_backward_order, lists the nodes to copy before the
 * i-th BACKWARD node even if a copy exists; copies[n] those to copy before the results.  All other recomputed
 * nodes are placed just before their first reader; copies == NULL is the lazy schedule, each node at most
 * once. Nodes need not be sorted; a node of which no result has the decision RECOMPUTED is ignored. */
typedef GCUT_VEC(uint32_t) gcut_recomputations;
gcut_schedule gcut_schedule_with(gcut_arena *arena, const gcut_facts *f, const gcut_plan_decision *decision,
                                 const gcut_recomputations *copies);

/* The same nodes in the same order. */
bool gcut_schedule_equal(const gcut_schedule *x, const gcut_schedule *y);

/* Extends copies[i], given as `copies`, by the recomputed elementwise nodes from which its elementwise nodes compute each
 * element.  One loop computes such a chain where it is copied.  A node that is copied without its chain joins the loop
 * that computes its operand first, if that operand is not stored, and so is computed as early as the first copy. */
void gcut_schedule_add_chains(gcut_arena *arena, const gcut_facts *f, const gcut_plan_decision *decision,
                              gcut_recomputations *copies);

/* The smallest lists from which gcut_schedule_with reproduces s: recomputations placed earlier than their
 * first reader, and second copies.  n + 1 lists, n of gcut_backward_order. */
gcut_recomputations *gcut_schedule_recomputations(gcut_arena *arena, const gcut_facts *f,
                                                  const gcut_plan_decision *decision, const gcut_schedule *s);

#endif
