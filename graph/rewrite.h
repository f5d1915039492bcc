/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The skeleton of a pass: walk a graph's nodes in order and rebuild them in a
 * new graph of the same module.
 *
 *   gcut_rewrite rw = gcut_rewrite_begin(g, name);
 *   for (uint32_t n = 0; n < g->nodes.n; n++)
 *       ... gcut_rewrite_copy(&rw, n) or gcut_rewrite_use(&rw, n, value)
 *   return gcut_rewrite_end(&rw);
 *
 * begin copies declarations, run-time checks, marks and parameters; end copies the results.  Value names
 * are kept. gcut_rewrite_end frees the memory of the rewrite.
 */
#ifndef GCUT_GRAPH_REWRITE_H
#define GCUT_GRAPH_REWRITE_H

#include "graph/graph.h"

typedef struct gcut_rewrite {
    const gcut_graph *src;
    gcut_graph *dst;
    gcut_arena *scratch;
    gcut_ref *map; /* by value of src: the value of dst that stands for it, 0 = none yet */
    gcut_graph *(*pass)(gcut_graph *g,
                        const char *name); /* applied to bodies of copied nodes; NULL = share them */
} gcut_rewrite;

/* ---- parts of a copy, for code that copies in another order or not everything ----
 *
 * map, by value of src: the value of dst that stands for it. */

/* An empty graph of that name (gcut_graph_like) with the declarations, marks and location of src. */
gcut_graph *gcut_graph_shell(const gcut_graph *src, const char *name);
/* Copies parameter i, node n (its bodies are shared) or result i, with marks; the first two set map. */
void gcut_param_copy(gcut_graph *dst, const gcut_graph *src, uint32_t i, gcut_ref *map);
gcut_ref gcut_node_copy_to(gcut_graph *dst, const gcut_graph *src, uint32_t n, gcut_ref *map);
void gcut_result_copy(gcut_graph *dst, const gcut_graph *src, uint32_t i, const gcut_ref *map);
/* The operands of node n by `map`, in `a`. */
gcut_ref *gcut_args_mapped(gcut_arena *a, const gcut_graph *g, const gcut_node *n, const gcut_ref *map);

gcut_rewrite gcut_rewrite_begin(const gcut_graph *src, const char *name);
/* Copies node n with mapped operands, its regions through rw->pass.  Returns its first result in dst.
 */
gcut_ref gcut_rewrite_copy(gcut_rewrite *rw, uint32_t n);
/* Maps the only result of node n to value v of dst. */
void gcut_rewrite_use(gcut_rewrite *rw, uint32_t n, gcut_ref v);
gcut_graph *gcut_rewrite_end(gcut_rewrite *rw);

/* The value of dst that operand k of node n of src is mapped to. */
static inline gcut_ref gcut_rewrite_arg(const gcut_rewrite *rw, uint32_t n, uint32_t k)
{
    return rw->map[gcut_arg(rw->src, gcut_node_at(rw->src, n), k)];
}

/* Replaces the bodies of the last node of dst, a copy, by what `pass` makes of them; functions that it calls
 * stay. */
void gcut_rewrite_bodies_of_last(gcut_graph *dst, gcut_graph *(*pass)(gcut_graph *g, const char *name));
/* Replaces the regions of the last node of dst, a copy of a node with regions, by others of the same
 * interface. */
void gcut_rewrite_regions_of_last(gcut_graph *dst, const gcut_region *regions);

/* Appends the nodes of src to dst, with their names, locations and bodies, and src's run-time checks. map,
 * by value of src: the caller maps the parameters, the function everything else. */
void gcut_rewrite_append(gcut_graph *dst, const gcut_graph *src, gcut_ref *map);

#endif
