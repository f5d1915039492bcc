/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of values, where they are made; gcut_graph_find and gcut_name_fresh are in graph/graph.h.
 */
#ifndef GCUT_GRAPH_NAMES_H
#define GCUT_GRAPH_NAMES_H

#include "graph/graph.h"

/* Value v of g, which has a name that no other has, can be found by it. */
void gcut_name_insert(gcut_graph *g, gcut_ref v);
/* For a node of op that nobody named, from the scope of its location: "block0.mlp.gelu", "block0.mlp.gelu.2".
 */
const char *gcut_name_make_up(gcut_graph *g, gcut_op op, gcut_locid loc);
/* "block0.mlp." of scope "block0/mlp", "" without a scope: with what such names begin. */
const char *gcut_loc_prefix(gcut_module *m, gcut_locid loc);
/* The user asks for that name: a value that was given it by gcut_name_make_up gets another one. */
void gcut_name_claim(gcut_graph *g, const char *name);

#endif
