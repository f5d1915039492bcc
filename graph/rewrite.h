/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The skeleton of a pass: walk a graph's nodes in order and rebuild them in a
 * new graph of the same module.
 *
 *   gcut_rewrite rw = gcut_rewrite_begin(g, name);
 *   for (uint32_t n = 0; n < g->nodes.n; n++) ... gcut_rewrite_copy(&rw, n) or gcut_rewrite_use(&rw, n,
 * value) return gcut_rewrite_end(&rw);
 *
 * begin takes over declarations, run-time checks, marks and parameters, end the
 * results.  Value names are kept.  Memory of its own is freed by end.
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
                        const char *name); /* what copies do to bodies of regions; NULL = share */
} gcut_rewrite;

gcut_rewrite gcut_rewrite_begin(const gcut_graph *src, const char *name);
/* Node n again, on what its operands became, its regions through rw->pass. Returns its first result in dst.
 */
gcut_ref gcut_rewrite_copy(gcut_rewrite *rw, uint32_t n);
/* Value v of dst stands for the only result of node n. */
void gcut_rewrite_use(gcut_rewrite *rw, uint32_t n, gcut_ref v);
gcut_graph *gcut_rewrite_end(gcut_rewrite *rw);

/* What operand k of node n of src became. */
static inline gcut_ref gcut_rewrite_arg(const gcut_rewrite *rw, uint32_t n, uint32_t k)
{
    return rw->map[gcut_arg(rw->src, gcut_node_at(rw->src, n), k)];
}

/* The regions of node n through a pass, in the arena of the module. */
gcut_region *gcut_rewrite_regions(const gcut_graph *g, uint32_t n,
                                  gcut_graph *(*pass)(gcut_graph *g, const char *name));
/* Other regions, of the same interface, for the last node of dst, which is a copy of one with regions. */
void gcut_rewrite_regions_of_last(gcut_graph *dst, const gcut_region *regions);

/* The nodes of src again behind those of dst, with their names, locations and bodies, and its run-time
 * checks. map, by value of src: says what the parameters are in dst, and gets everything else. */
void gcut_rewrite_append(gcut_graph *dst, const gcut_graph *src, gcut_ref *map);

/* By node of g: do sizes alone decide it (a constant, or elementwise arithmetic and views of such)?  In `a`.
 */
bool *gcut_rewrite_pure(const gcut_graph *g, gcut_arena *a);

#endif
