/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Localize: what is computed from sizes alone (constants, iotas, elementwise
 * arithmetic and views of them: a causal mask, say) is repeated for each node
 * that reads it.  It costs no memory traffic there, while one shared copy would
 * tie kernels together that have nothing else in common.
 *
 * in: a graph.   out: the same values.   keeps: names of everything else.
 */
#include "graph/rewrite.h"
#include "machine/program.h"

typedef struct local {
    gcut_rewrite rw;
    bool *sizes_only; /* by node */
    gcut_ref *copy;   /* by value: its copy for the reader at hand */
    uint32_t *for_reader;
    uint32_t reader;
} local;

/* Value v of the source as the present reader sees it. */
static gcut_ref see(local *l, gcut_ref v)
{
    const gcut_graph *g = l->rw.src;
    uint32_t def = g->values.at[v].def;
    if (def == GCUT_NONE || !l->sizes_only[def]) return l->rw.map[v];
    if (l->for_reader[v] == l->reader) return l->copy[v];
    const gcut_node *n = gcut_node_at(g, def);
    gcut_ref args[3] = {0};
    GCUT_ASSERT(n->nargs <= 3);
    for (uint32_t k = 0; k < n->nargs; k++) args[k] = see(l, gcut_arg(g, n, k));
    gcut_ref r = gcut_node_copy(l->rw.dst, g, def, args, l->rw.map, n->loc, NULL);
    for (uint32_t k = 0; k < n->nres; k++) {
        l->for_reader[n->res0 + k] = l->reader;
        l->copy[n->res0 + k] = r + k;
    }
    return l->copy[v];
}

gcut_graph *gcut_pass_localize(gcut_graph *g, const char *name)
{
    gcut_arena *a = gcut_arena_new(g->module->env, g->module->arena);
    local l = {.rw = gcut_rewrite_begin(g, name)};
    l.sizes_only = gcut_sizes_only(g, a);
    l.copy = gcut_calloc(a, g->values.n, sizeof *l.copy);
    l.for_reader = gcut_calloc(a, g->values.n, sizeof *l.for_reader);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (l.sizes_only[i]) continue;
        l.reader = i + 1;
        gcut_ref *args = gcut_calloc(a, n->nargs + 1, sizeof *args);
        for (uint32_t k = 0; k < n->nargs; k++) args[k] = see(&l, gcut_arg(g, n, k));
        gcut_ref r = gcut_node_copy(l.rw.dst, g, i, args, l.rw.map, n->loc, NULL);
        gcut_rewrite_bodies_of_last(l.rw.dst, gcut_pass_localize);
        for (uint32_t k = 0; k < n->nres; k++) l.rw.map[n->res0 + k] = r + k;
    }
    l.reader = g->nodes.n + 1;
    for (uint32_t i = 0; i < g->results.n; i++) {
        gcut_ref v = g->results.at[i].value;
        l.rw.map[v] = see(&l, v);
    }
    gcut_graph *out = gcut_rewrite_end(&l.rw);
    gcut_arena_free(a);
    return out;
}
