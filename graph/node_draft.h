/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A copy of a node that differs from it in some operands, attributes, regions or results.
 *
 *   gcut_draft d = gcut_draft_of(arena, g, n, map, 0);
 *   ... change d.args, d.spec.nargs, gcut_draft_set(&d, attribute), d.regions[0].body, ...
 *   gcut_ref first = gcut_draft_make(dst, &d, map);
 */
#ifndef GCUT_GRAPH_NODE_DRAFT_H
#define GCUT_GRAPH_NODE_DRAFT_H

#include "graph/graph.h"

/* The lists are the draft's own, and those of the spec: types and names by result, as in the original. */
typedef struct gcut_draft {
    gcut_node_spec spec; /* its counts say how much of the lists is in use */
    gcut_ref *args;
    gcut_attr *attrs;
    gcut_region *regions;
    gcut_type *types;
    const char **names;
    const gcut_graph *src;
    uint32_t node; /* of src */
} gcut_draft;

/* Node n of src with the operands that `map`, by value of src, gives; map NULL: with its own.  Types and
 * names have room for `more` further results.  In `a`. */
gcut_draft gcut_draft_of(gcut_arena *a, const gcut_graph *src, uint32_t n, const gcut_ref *map,
                         uint32_t more);
/* Sets an attribute; the draft has room for two that the node does not have. */
void gcut_draft_set(gcut_draft *d, gcut_attr attr);
/* Adds a result, of the room for more. */
void gcut_draft_result(gcut_draft *d, gcut_type type, const char *name);
/* Drops the operands and the results that are not kept; NULL keeps all. */
void gcut_draft_keep(gcut_draft *d, const bool *operand, const bool *result);
/* Appends the node to dst, with the marks that gcut_marks_carry gives for `map`; returns its first result. */
gcut_ref gcut_draft_make(gcut_graph *dst, const gcut_draft *d, const gcut_ref *map);

#endif
