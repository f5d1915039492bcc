/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_join: makes a joint graph of a forward and a backward graph, the inverse of gcut_split.
 *
 *   in:    the two graphs of a pair (G9)
 *   out:   one graph: the nodes of the forward graph, then those of the backward graph, which read the values
 *          that were saved; the parameters and results of both, without the saved ones
 *   keeps: the bits of every value; the names of the forward graph, and those of the backward graph that the
 *          forward graph does not have: what is computed again has a name of its own
 */
#include "graph/rewrite.h"
#include "partition/plan.h"

static void add_sizes(gcut_graph *dst, const gcut_graph *src)
{
    for (uint32_t i = 0; i < src->decls.n; i++)
        if (!gcut_decl_find(dst, src->decls.at[i].sym)) gcut_decl_add(dst, src->decls.at[i]);
}

static void take_params(gcut_graph *dst, const gcut_graph *src, gcut_ref *map)
{
    for (uint32_t i = 0; i < src->params.n; i++) {
        const gcut_param *x = &src->params.at[i];
        const gcut_param *known = gcut_param_find(dst, src->values.at[x->value].name);
        if (x->role == GCUT_ROLE_saved) continue;
        if (known)
            map[x->value] = known->value;
        else
            gcut_param_copy(dst, src, i, map);
    }
}

/* What the backward graph gets is what the forward graph gives under that name. */
static void connect(const gcut_graph *fwd, const gcut_ref *from, const gcut_graph *bwd, gcut_ref *map)
{
    for (uint32_t i = 0; i < fwd->results.n; i++) {
        const gcut_result *r = &fwd->results.at[i];
        const gcut_param *x = r->role == GCUT_ROLE_saved ? gcut_param_find(bwd, r->name) : NULL;
        if (x) map[x->value] = from[r->value];
    }
}

static void give_results(gcut_graph *dst, const gcut_graph *src, const gcut_ref *map)
{
    for (uint32_t i = 0; i < src->results.n; i++)
        if (src->results.at[i].role != GCUT_ROLE_saved) gcut_result_copy(dst, src, i, map);
}

/* Marks of the split, which say nothing of one graph.  Bodies are shared with the pair, and keep theirs. */
static void unmark(gcut_graph *g)
{
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        gcut_mark_remove(g->module->arena, &g->nodes.at[n].marks, GCUT_MARK_saved);
        gcut_mark_remove(g->module->arena, &g->nodes.at[n].marks, GCUT_MARK_recomputed);
    }
}

gcut_graph *gcut_join(const gcut_graph *fwd, const gcut_graph *bwd, const char *name)
{
    gcut_module *m = fwd->module;
    gcut_arena *a = gcut_arena_new(m->env, m->arena);
    gcut_graph *dst = gcut_graph_like(fwd, name);
    gcut_ref *first = gcut_calloc(a, fwd->values.n, sizeof *first),
             *second = gcut_calloc(a, bwd->values.n, sizeof *second);
    dst->loc = fwd->loc;
    add_sizes(dst, fwd);
    add_sizes(dst, bwd);
    take_params(dst, fwd, first);
    take_params(dst, bwd, second);
    gcut_rewrite_append(dst, fwd, first);
    connect(fwd, first, bwd, second);
    gcut_rewrite_append(dst, bwd, second);
    give_results(dst, fwd, first);
    give_results(dst, bwd, second);
    unmark(dst);
    gcut_arena_free(a);
    return dst;
}
