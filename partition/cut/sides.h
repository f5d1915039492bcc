/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The side of each value of a joint graph: the forward graph must compute it, the backward graph must, or
 * either can.  Uses the graph alone, no prices.
 */
#ifndef GCUT_PARTITION_CUT_SIDES_H
#define GCUT_PARTITION_CUT_SIDES_H

#include "partition/partition.h"

typedef struct gcut_facts {
    gcut_graph *g;
    gcut_value_side *side; /* by value */
    gcut_ref *base;        /* by value: the value whose storage it is, itself unless made by a VIEW op */
    bool *out;             /* by value: a primal result of the forward graph */
    bool *kept; /* by value: such a result, not #transient: its memory is unchanged in the backward call */
    bool *read; /* by value, FORWARD and EITHER: the backward graph reads it directly, or returns it */
    bool *live; /* by node: some result depends on it */
    uint32_t *grad; /* by value: 1 + the `grad` result in whose memory it may be saved; 0: none */
    /* gcut_backward_order, found once by gcut_problem_new; NULL before. */
    const uint32_t *order;
    uint32_t norder;
} gcut_facts;

/* in: JOINT.  Memory from `arena`.  Throws GCUT_EPLAN when an `out` result depends on a cotangent. */
gcut_facts *gcut_sides_of(gcut_arena *arena, gcut_graph *joint);

/* Made by an external kernel that is not pure: the backward graph must not recompute it. */
bool gcut_value_runs_once(const gcut_graph *g, gcut_ref v);

/* A parameter whose contents are gone when the backward graph runs, unless it is saved: a #transient one; in
 * the joint graph of a loop iteration, a value that the forward loop carries. */
bool gcut_value_is_lost(const gcut_graph *g, gcut_ref v);

#endif
