/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Stacks of a scan: a value of the body, yielded by every iteration, is a result of the scan with one more
 * axis.  Passes that add stacks to a scan record them here and then copy the body and the scan.
 */
#ifndef GCUT_GRAPH_REGIONS_SCAN_STACK_H
#define GCUT_GRAPH_REGIONS_SCAN_STACK_H

#include "graph/node_draft.h"

/* What a scan with this body stacks: results `carries` and later of the body, then the values in `more`. */
typedef struct gcut_stacks {
    gcut_graph *body;
    uint32_t carries;
    GCUT_VEC(gcut_ref) more; /* values of the body */
} gcut_stacks;

/* Those of node n of g, a scan; nothing in `more`. */
gcut_stacks gcut_stacks_of(const gcut_graph *g, uint32_t n);
/* The index of the result of the scan that stacks v, a value of the body; GCUT_NONE = there is none. */
uint32_t gcut_stack_find(const gcut_stacks *s, gcut_ref v);
/* The same; adds v to `more`, in `a`, when there is none. */
uint32_t gcut_stack_add(gcut_stacks *s, gcut_arena *a, gcut_ref v);
/* A copy of the body that yields `more` too. */
gcut_graph *gcut_stacks_body(const gcut_stacks *s);

/* The stack of values of type t: a new axis `axis` of the length of the scan. */
gcut_type gcut_stack_type(gcut_type t, uint32_t axis, gcut_dim length);

#endif
