/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether each value of a joint graph belongs to the forward graph, to the backward graph or to either,
 * before any price is asked: facts of the graph alone.
 */
#ifndef GCUT_PARTITION_CUT_CLASSES_H
#define GCUT_PARTITION_CUT_CLASSES_H

#include "partition/partition.h"

typedef struct gcut_facts {
    gcut_graph *g;
    gcut_side *where; /* by value */
    gcut_ref *base;   /* by value: the value whose storage it is, itself unless made by a VIEW op */
    bool *out;        /* by value: a primal result of the forward graph */
    bool *kept;       /* by value: such a result that the caller keeps for the backward graph */
    bool *read;       /* by value, FORWARD and EITHER: the backward graph reads it directly, or returns it */
    bool *live;       /* by node: some result depends on it */
    uint32_t *grad;   /* by value: 1 + the `grad` result whose memory it may have between forward and backward
                         graph; 0: none */
} gcut_facts;

/* in: JOINT.  Memory from `arena`.  Throws GCUT_EPLAN when an `out` result depends on a cotangent. */
gcut_facts *gcut_classify(gcut_arena *arena, gcut_graph *joint);

static inline gcut_class gcut_node_class(const gcut_node *n)
{
    return gcut_op_get((gcut_op)n->op)->class;
}
/* A value that is never worth storage of its own: a constant or a view. */
bool gcut_value_is(const gcut_graph *g, gcut_ref v, gcut_class c);

/* Made by an external kernel that is not pure: the backward graph does not compute it again. */
bool gcut_value_runs_once(const gcut_graph *g, gcut_ref v);

/* A parameter that is gone when the backward graph runs, unless it is saved: a #transient one; in the joint
 * graph of a loop's iteration, what the forward loop carries. */
bool gcut_value_is_lost(const gcut_graph *g, gcut_ref v);

#endif
