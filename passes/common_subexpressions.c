/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Common subexpression elimination.
 *   in:    any graph; bodies of regions on their own
 *   out:   no two nodes of equal op, operands, attributes, marks and result types;
 *          the first one stays, with its name and location
 *   keeps: parameters, results, run-time checks
 *
 * Every op is a pure function of its operands, so two such nodes have one value; an impure external kernel
 * stays.  Marks must agree because they constrain one node (#must_recompute, #must_save).
 */
#include <string.h>

#include "graph/external.h"
#include "passes/passes.h"
#include "graph/rewrite.h"

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

/* Attributes by key, numbers by bits too (the values of `full`), lists of sizes too (the starts of slices); equal
 * nodes hash equal. */
static uint64_t hash_node(const gcut_rewrite *rw, uint32_t n)
{
    const gcut_node *node = gcut_node_at(rw->src, n);
    const gcut_type *t = gcut_type_of(rw->src, node->res0);
    uint64_t h = mix(node->op, t->dtype);
    for (uint32_t k = 0; k < node->nargs; k++) h = mix(h, gcut_rewrite_arg(rw, n, k));
    for (uint32_t d = 0; d < t->rank; d++) h = mix(h, (uint64_t)t->dim[d]);
    for (uint32_t i = 0; i < node->nattrs; i++) {
        const gcut_attr *a = &rw->src->attrs.at[node->attr0 + i];
        h = mix(h, a->key);
        if (a->kind == GCUT_ATTR_KIND_NUM) {
            uint64_t bits;
            memcpy(&bits, &a->u.num.f, sizeof bits);
            h = mix(h, bits);
        }
        for (uint32_t k = 0; a->kind == GCUT_ATTR_KIND_DIMS && k < a->n; k++)
            h = mix(h, (uint64_t)a->u.dims[k]);
    }
    return h;
}

/* Do the nodes of two equal graphs, bodies included, have equal marks? */
static bool same_marks(const gcut_graph *f, const gcut_graph *g)
{
    for (uint32_t i = 0; i < f->nodes.n; i++) {
        const gcut_node *x = gcut_node_at(f, i), *y = gcut_node_at(g, i);
        if (!gcut_marks_equal(&x->marks, &y->marks)) return false;
        for (uint32_t k = 0; k < x->nregs; k++)
            if (!same_marks(gcut_region_at(f, x, k)->body, gcut_region_at(g, y, k)->body)) return false;
    }
    return true;
}

static bool same_node(const gcut_rewrite *rw, uint32_t a, uint32_t b)
{
    const gcut_graph *g = rw->src;
    const gcut_node *x = gcut_node_at(g, a), *y = gcut_node_at(g, b);
    if (gcut_node_has_effects(g, x)) return false;
    if (x->nargs != y->nargs || !gcut_nodes_alike(g, x, g, y)) return false;
    for (uint32_t k = 0; k < x->nargs; k++)
        if (gcut_rewrite_arg(rw, a, k) != gcut_rewrite_arg(rw, b, k)) return false;
    if (x->nregs != y->nregs || x->ncaptured != y->ncaptured) return false;
    for (uint32_t k = 0; k < x->nregs; k++) {
        const gcut_graph *f = gcut_region_at(g, x, k)->body, *h = gcut_region_at(g, y, k)->body;
        if (f != h && (!gcut_graph_same(f, h) || !same_marks(f, h))) return false;
    }
    return gcut_marks_equal(&x->marks, &y->marks);
}

gcut_graph *gcut_pass_cse(gcut_graph *g, const char *name)
{
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    rw.pass = gcut_pass_cse;
    uint32_t cap = 16;
    while (cap < 2 * g->nodes.n) cap *= 2;
    uint32_t *slot = gcut_calloc(rw.scratch, cap, sizeof *slot); /* node + 1 */
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        uint32_t k = (uint32_t)hash_node(&rw, n) & (cap - 1);
        while (slot[k] && !same_node(&rw, slot[k] - 1, n)) k = (k + 1) & (cap - 1);
        if (slot[k]) {
            const gcut_node *first = gcut_node_at(g, slot[k] - 1);
            for (uint32_t i = 0; i < node->nres; i++) rw.map[node->res0 + i] = rw.map[first->res0 + i];
        } else {
            slot[k] = n + 1;
            gcut_rewrite_copy(&rw, n);
        }
    }
    return gcut_rewrite_end(&rw);
}
