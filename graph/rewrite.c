/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rebuilding a graph node by node.
 */
#include "graph/rewrite.h"

#include <string.h>

gcut_graph *gcut_graph_shell(const gcut_graph *src, const char *name)
{
    gcut_graph *dst = gcut_graph_like(src, name);
    dst->marks = src->marks;
    dst->loc = src->loc;
    dst->copy_of = src;
    gcut_decls_copy(dst, src);
    return dst;
}

void gcut_param_copy(gcut_graph *dst, const gcut_graph *src, uint32_t i, gcut_ref *map)
{
    const gcut_param *p = &src->params.at[i];
    const gcut_value *v = &src->values.at[p->value];
    map[p->value] = gcut_param_new(dst, p->role, v->name, v->type);
    dst->params.at[dst->params.n - 1].marks = p->marks;
}

gcut_ref *gcut_args_mapped(gcut_arena *a, const gcut_graph *g, const gcut_node *n, const gcut_ref *map)
{
    gcut_ref *args = gcut_alloc(a, (n->nargs + 1u) * sizeof *args);
    for (uint32_t k = 0; k < n->nargs; k++) args[k] = map[gcut_arg(g, n, k)];
    return args;
}

gcut_ref gcut_node_copy_to(gcut_graph *dst, const gcut_graph *src, uint32_t n, gcut_ref *map)
{
    const gcut_node node = *gcut_node_at(src, n);
    gcut_ref few[8], *args = few;
    if (node.nargs > 8) args = gcut_alloc(dst->module->arena, node.nargs * sizeof *args);
    for (uint32_t k = 0; k < node.nargs; k++) args[k] = map[gcut_arg(src, &node, k)];
    gcut_ref r = gcut_node_copy(dst, src, n, args, map, node.loc, NULL);
    for (uint32_t k = 0; k < node.nres; k++) map[node.res0 + k] = r + k;
    return r;
}

void gcut_result_copy(gcut_graph *dst, const gcut_graph *src, uint32_t i, const gcut_ref *map)
{
    const gcut_result *r = &src->results.at[i];
    GCUT_ASSERT(map[r->value] != 0);
    gcut_result_new(dst, r->role, r->name, map[r->value]);
    dst->results.at[dst->results.n - 1].marks = r->marks;
}

/* Room for as many elements as `like` has and a few more: a list that grows leaves its former memory behind. */
#define RESERVE(arena, list, like)                                                                           \
    ((list)->at = gcut_alloc(arena, ((like)->n + 8) * sizeof *(list)->at), (list)->cap = (like)->n + 8)

static void reserve(gcut_graph *dst, const gcut_graph *src)
{
    gcut_arena *a = dst->module->arena;
    gcut_value none = dst->values.at[0];
    RESERVE(a, &dst->values, &src->values);
    dst->values.at[0] = none;
    RESERVE(a, &dst->nodes, &src->nodes);
    RESERVE(a, &dst->args, &src->args);
    RESERVE(a, &dst->attrs, &src->attrs);
}

/* Gives back the room of a list that much smaller than what it was made from. */
#define TRIM(arena, list)                                                                                    \
    ((list)->cap > 2 * (list)->n + 8                                                                         \
         ? (void)((list)->at = trimmed(arena, (list)->at, (list)->n, &(list)->cap, sizeof *(list)->at))      \
         : (void)0)

static void *trimmed(gcut_arena *a, void *at, uint32_t n, uint32_t *cap, size_t item)
{
    void *out = gcut_alloc(a, ((size_t)n + 1) * item);
    memcpy(out, at, n * item);
    gcut_release(a, at, *cap * item);
    *cap = n + 1;
    return out;
}

static void trim(gcut_graph *g)
{
    gcut_arena *a = g->module->arena;
    TRIM(a, &g->values);
    TRIM(a, &g->nodes);
    TRIM(a, &g->args);
    TRIM(a, &g->attrs);
}

gcut_rewrite gcut_rewrite_begin(const gcut_graph *src, const char *name)
{
    gcut_module *m = src->module;
    gcut_rewrite rw = {.src = src, .dst = gcut_graph_shell(src, name)};
    gcut_graph *dst = rw.dst;
    reserve(dst, src);
    rw.scratch = gcut_arena_new(m->env, m->arena);
    rw.map = gcut_calloc(rw.scratch, src->values.n, sizeof *rw.map);
    for (uint32_t i = 0; i < src->params.n; i++) gcut_param_copy(dst, src, i, rw.map);
    /* Run-time checks stay when the node that requires them is deleted: wrong sizes are still reported. */
    for (uint32_t i = 0; i < src->checks.n; i++) {
        gcut_dim_check check = src->checks.at[i];
        *GCUT_PUSH(m->arena, &dst->checks) = check;
    }
    return rw;
}

void gcut_rewrite_bodies_of_last(gcut_graph *dst, gcut_graph *(*pass)(gcut_graph *g, const char *name))
{
    const gcut_node *n = gcut_node_at(dst, dst->nodes.n - 1);
    for (uint32_t k = 0; k < n->nregs; k++) {
        gcut_graph **body = &dst->regions.at[n->reg0 + k].body;
        if (!(*body)->is_body) continue;
        *body = pass(*body, (*body)->name);
        gcut_checks_copy(dst, *body); /* two reshapes that became one may need another check */
    }
}

void gcut_rewrite_regions_of_last(gcut_graph *dst, const gcut_region *regions)
{
    const gcut_node *n = gcut_node_at(dst, dst->nodes.n - 1);
    for (uint32_t k = 0; k < n->nregs; k++) dst->regions.at[n->reg0 + k] = regions[k];
}

gcut_ref gcut_rewrite_copy(gcut_rewrite *rw, uint32_t n)
{
    gcut_ref r = gcut_node_copy_to(rw->dst, rw->src, n, rw->map);
    if (rw->pass) gcut_rewrite_bodies_of_last(rw->dst, rw->pass);
    return r;
}

void gcut_rewrite_use(gcut_rewrite *rw, uint32_t n, gcut_ref v)
{
    const gcut_node *node = gcut_node_at(rw->src, n);
    GCUT_ASSERT(node->nres == 1 && v != 0);
    rw->map[node->res0] = v;
}

gcut_graph *gcut_rewrite_end(gcut_rewrite *rw)
{
    for (uint32_t i = 0; i < rw->src->results.n; i++) gcut_result_copy(rw->dst, rw->src, i, rw->map);
    gcut_arena_free(rw->scratch);
    trim(rw->dst);
    return rw->dst;
}

void gcut_rewrite_append(gcut_graph *dst, const gcut_graph *src, gcut_ref *map)
{
    for (uint32_t n = 0; n < src->nodes.n; n++) gcut_node_copy_to(dst, src, n, map);
    gcut_checks_copy(dst, src);
}
