/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One forward scan and the backward scan that belongs to it, as one joint graph
 * of a single iteration, shared by loops.c and loop_joint.c.
 */
#ifndef GCUT_PARTITION_SCAN_PLANS_H
#define GCUT_PARTITION_SCAN_PLANS_H

#include "partition/partition.h"

/* What a value of the joint graph of an iteration is to the backward scan. */
typedef enum gcut_loop_kind {
    GCUT_LOOP_INNER, /* computed by an iteration */
    GCUT_LOOP_CARRY, /* carried by the backward scan */
    GCUT_LOOP_X,     /* a slice of a value of the graph around */
    GCUT_LOOP_CAPTURED
} gcut_loop_kind;

typedef struct gcut_loop_origin {
    gcut_loop_kind kind;
    gcut_ref operand; /* X, CAPTURED: the value of the graph around */
    gcut_ref forward; /* the value of the forward body that it is, 0 = none */
} gcut_loop_origin;

typedef struct gcut_loop_pair {
    gcut_graph *g; /* the graph around */
    uint32_t fwd, bwd;
    gcut_graph *fbody, *bbody; /* the bodies, which may be planned already */
    const bool *tainted;       /* by value of g: depends on a cotangent */
} gcut_loop_pair;

typedef struct gcut_loop_joint {
    gcut_graph *g; /* JOINT: the forward body, then what of the backward body depends on a cotangent */
    gcut_loop_origin *origin; /* by value */
} gcut_loop_joint;

/* Memory from `arena`, the graph from the module. */
gcut_loop_joint gcut_loop_joint_new(const gcut_loop_pair *p, gcut_arena *arena);

/* By value of g: does it depend on a parameter for which from[] holds?  In `arena`. */
bool *gcut_loop_tainted(const gcut_graph *g, const bool *from, gcut_arena *arena);

static inline const gcut_node *gcut_loop_fwd(const gcut_loop_pair *p)
{
    return gcut_node_at(p->g, p->fwd);
}
static inline const gcut_node *gcut_loop_bwd(const gcut_loop_pair *p)
{
    return gcut_node_at(p->g, p->bwd);
}

#endif
