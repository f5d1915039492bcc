/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The shape rules: result types from operand types and attributes.
 */
#ifndef GCUT_GRAPH_OPS_INFER_H
#define GCUT_GRAPH_OPS_INFER_H

#include "graph/graph.h"

#define GCUT_MAX_RESULTS 256

/* Checks operands, attributes and regions of a node before it is created, infers its result types into out
 * and returns their number.  Reads s->types for `external` only.  Throws GCUT_ETYPE at s->loc.  Equalities
 * that can be decided only at run time go to g->checks. */
uint32_t gcut_infer(gcut_graph *g, const gcut_node_spec *s, gcut_type out[GCUT_MAX_RESULTS]);

/* The callee's symbols in terms of the caller's sizes. */
typedef GCUT_VEC(gcut_dim_subst) gcut_call_sizes;
/* Fills sizes; undecided equalities become run-time checks of g.  Throws GCUT_ETYPE. */
void gcut_call_bind(gcut_graph *g, const gcut_node_spec *s, gcut_call_sizes *sizes);
/* The two parts of gcut_call_bind, for a call of f at loc on operands of types x, each of the dtype and
 * rank that f takes: the symbols, and the other requirements on sizes. */
void gcut_call_symbols(gcut_graph *g, gcut_locid loc, const gcut_graph *f, const gcut_type *x,
                       gcut_call_sizes *sizes);
void gcut_call_checks(gcut_graph *g, gcut_locid loc, const gcut_graph *f, const gcut_type *x,
                      const gcut_call_sizes *sizes);

#endif
