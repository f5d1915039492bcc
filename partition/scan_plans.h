/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A forward scan and its backward scan as the joint graph of a single iteration: shared by scan_plans.c,
 * which plans the iteration, and iteration_graph.c, which builds its graph.
 */
#ifndef GCUT_PARTITION_SCAN_PLANS_H
#define GCUT_PARTITION_SCAN_PLANS_H

#include "partition/partition.h"

/* Where the backward scan gets a value of an iteration's joint graph from. */
typedef enum gcut_scan_kind {
    GCUT_SCAN_INNER, /* computed by an iteration */
    GCUT_SCAN_CARRY, /* carried by the backward scan */
    GCUT_SCAN_X,     /* a slice of a value of the enclosing graph */
    GCUT_SCAN_CAPTURED
} gcut_scan_kind;

typedef struct gcut_scan_origin {
    gcut_scan_kind kind;
    gcut_ref operand; /* X, CAPTURED: the value of the enclosing graph */
    gcut_ref forward; /* the same value in the forward body, 0 = none */
} gcut_scan_origin;

typedef struct gcut_scan_pair {
    gcut_graph *g; /* the enclosing graph */
    uint32_t fwd, bwd;
    gcut_graph *fbody, *bbody; /* the bodies; inner loops may be planned already */
    const bool *late;          /* by value of g: depends on a cotangent */
} gcut_scan_pair;

typedef struct gcut_scan_joint {
    gcut_graph
        *g; /* JOINT: the forward body, then those nodes of the backward body that depend on a cotangent */
    gcut_scan_origin *origin; /* by value */
} gcut_scan_joint;

/* Memory from `arena`, the graph from the module. */
gcut_scan_joint gcut_scan_joint_new(const gcut_scan_pair *p, gcut_arena *arena);

/* By value of g: true where it depends on a parameter p with from[p].  Memory from `arena`. */
bool *gcut_scan_late(const gcut_graph *g, const bool *from, gcut_arena *arena);

static inline const gcut_node *gcut_scan_fwd(const gcut_scan_pair *p)
{
    return gcut_node_at(p->g, p->fwd);
}
static inline const gcut_node *gcut_scan_bwd(const gcut_scan_pair *p)
{
    return gcut_node_at(p->g, p->bwd);
}

#endif
