/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The shape rules: result types from operand types and attributes.
 */
#ifndef GCUT_GRAPH_OPS_INFER_H
#define GCUT_GRAPH_OPS_INFER_H

#include "graph/graph.h"

#define GCUT_MAX_RESULTS 256

/* Checks operands, attributes and regions of one node-to-be and infers its result types into out; returns how
 * many.  s->types is looked at for `external` alone.  Throws GCUT_ETYPE at s->loc.  Sizes that can be decided
 * only at run time go to g->checks. */
uint32_t gcut_infer(gcut_graph *g, const gcut_node_spec *s, gcut_type out[GCUT_MAX_RESULTS]);

/* The same for ops with regions, whose operands and attributes have passed the op table (shape_region.c). */
uint32_t gcut_infer_region(gcut_graph *g, const gcut_node_spec *s, gcut_type out[GCUT_MAX_RESULTS]);

/* How a call's operands determine the symbols of the function called. */
typedef GCUT_VEC(gcut_dim_subst) gcut_call_sizes;
/* Fills sizes; what cannot be decided becomes run-time checks of g.  Throws GCUT_ETYPE. */
void gcut_call_bind(gcut_graph *g, const gcut_node_spec *s, gcut_call_sizes *sizes);
/* Its two parts, of a call of f at loc on operands of the types x, each of the dtype and rank that f takes:
 * the symbols, and what sizes must be besides. */
void gcut_call_symbols(gcut_graph *g, gcut_locid loc, const gcut_graph *f, const gcut_type *x,
                       gcut_call_sizes *sizes);
void gcut_call_checks(gcut_graph *g, gcut_locid loc, const gcut_graph *f, const gcut_type *x,
                      const gcut_call_sizes *sizes);

#endif
