/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A forward scan and its backward scan as the joint graph of a single iteration: shared by scan_plans.c,
 * which plans the iteration, and iteration_graph.c, which builds its graph.
 */
#ifndef GCUT_PARTITION_SCAN_PLANS_H
#define GCUT_PARTITION_SCAN_PLANS_H

#include "partition/partition.h"

/* Where the backward scan gets a value of an iteration's joint graph from. */
typedef enum gcut_loop_kind {
    GCUT_LOOP_INNER, /* computed by an iteration */
    GCUT_LOOP_CARRY, /* carried by the backward scan */
    GCUT_LOOP_X,     /* a slice of a value of the enclosing graph */
    GCUT_LOOP_CAPTURED
} gcut_loop_kind;

typedef struct gcut_loop_origin {
    gcut_loop_kind kind;
    gcut_ref operand; /* X, CAPTURED: the value of the enclosing graph */
    gcut_ref forward; /* the same value in the forward body, 0 = none */
} gcut_loop_origin;

typedef struct gcut_loop_pair {
    gcut_graph *g; /* the enclosing graph */
    uint32_t fwd, bwd;
    gcut_graph *fbody, *bbody; /* the bodies; inner loops may be planned already */
    const bool *adjoint;       /* by value of g: depends on a cotangent */
} gcut_loop_pair;

typedef struct gcut_loop_joint {
    gcut_graph
        *g; /* JOINT: the forward body, then those nodes of the backward body that depend on a cotangent */
    gcut_loop_origin *origin; /* by value */
} gcut_loop_joint;

/* Memory from `arena`, the graph from the module. */
gcut_loop_joint gcut_loop_joint_new(const gcut_loop_pair *p, gcut_arena *arena);

/* By value of g: true where it depends on a parameter p with from[p].  Memory from `arena`. */
bool *gcut_loop_adjoint(const gcut_graph *g, const bool *from, gcut_arena *arena);

static inline const gcut_node *gcut_loop_fwd(const gcut_loop_pair *p)
{
    return gcut_node_at(p->g, p->fwd);
}
static inline const gcut_node *gcut_loop_bwd(const gcut_loop_pair *p)
{
    return gcut_node_at(p->g, p->bwd);
}

#endif
