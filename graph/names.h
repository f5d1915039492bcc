/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internal part of value names; gcut_graph_find and gcut_name_fresh are in graph/graph.h.
 */
#ifndef GCUT_GRAPH_NAMES_H
#define GCUT_GRAPH_NAMES_H

#include "graph/graph.h"

/* Adds v, whose name must be unique in g, to the hash table. */
void gcut_name_insert(gcut_graph *g, gcut_ref v);
/* gcut_graph_find of a name that the module has interned. */
gcut_ref gcut_name_find_interned(const gcut_graph *g, const char *name);
/* gcut_name_fresh of a name that the module has interned. */
const char *gcut_name_fresh_interned(gcut_graph *g, const char *base);
/* A generated name for a node of that op, from the scope of its location: "block0.mlp.gelu",
 * "block0.mlp.gelu.2".
 */
const char *gcut_name_make_up(gcut_graph *g, gcut_op op, gcut_locid loc);
/* Numbers the generated names of g, which no other graph copies, again: in the order of nodes, without gaps that nodes have
 * left which are no more. */
void gcut_names_renumber(gcut_graph *g);
/* The prefix of generated names: "block0.mlp." for scope "block0/mlp", "" without a scope. */
const char *gcut_loc_prefix(gcut_module *m, gcut_locid loc);
/* The names of a function, those of its bodies included. */
typedef struct gcut_name_set {
    gcut_arena *arena;
    gcut_names all;
    gcut_map last; /* of a name: the last number appended to it; those up to it are taken */
} gcut_name_set;
/* The names of the values of g, without those of its bodies, in `a`. */
gcut_name_set gcut_name_set_of(gcut_arena *a, const gcut_graph *g);
/* Adds and returns name, or name.1, name.2, …: the first that is not in the set. */
const char *gcut_name_set_add(gcut_name_set *set, const char *name);

/* Frees the name for the user: a value that has it as a generated name gets another one. */
void gcut_name_claim(gcut_graph *g, const char *name);

#endif
