/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The shape rules: result types from operand types and attributes.
 */
#ifndef GCUT_GRAPH_SHAPE_H
#define GCUT_GRAPH_SHAPE_H

#include "graph/graph.h"

#define GCUT_MAX_RESULTS 4

/* Checks operands and attributes of one node-to-be and infers its result types into out; returns how many.
 * Throws GCUT_ETYPE at loc.  Sizes that can be decided only at run time go to g->checks. */
uint32_t gcut_infer(gcut_graph *g, gcut_op op, const gcut_ref *args, uint32_t nargs, const gcut_attr *attrs,
                    uint32_t nattrs, gcut_locid loc, gcut_type out[GCUT_MAX_RESULTS]);

#endif
