/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rebuilding a graph node by node.
 */
#include "graph/rewrite.h"

gcut_rewrite gcut_rewrite_begin(const gcut_graph *src, const char *name)
{
    gcut_module *m = src->module;
    gcut_rewrite rw = {.src = src, .dst = gcut_graph_like(src, name)};
    gcut_graph *dst = rw.dst;
    rw.scratch = gcut_arena_new(m->env, m->arena);
    rw.map = gcut_calloc(rw.scratch, src->values.n, sizeof *rw.map);
    dst->marks = src->marks;
    dst->loc = src->loc;
    dst->copy_of = src;
    gcut_decls_copy(dst, src);
    for (uint32_t i = 0; i < src->params.n; i++) {
        const gcut_param *p = &src->params.at[i];
        const gcut_value *v = &src->values.at[p->value];
        rw.map[p->value] = gcut_param_new(dst, p->role, v->name, &v->type);
        dst->params.at[i].marks = p->marks;
    }
    /* Run-time checks stay when the node that requires them is deleted: wrong sizes are still reported. */
    for (uint32_t i = 0; i < src->checks.n; i++) {
        gcut_dim_check check = src->checks.at[i];
        *GCUT_PUSH(m->arena, &dst->checks) = check;
    }
    return rw;
}

gcut_region *gcut_rewrite_regions(const gcut_graph *g, uint32_t n,
                                  gcut_graph *(*pass)(gcut_graph *g, const char *name))
{
    const gcut_node *node = gcut_node_at(g, n);
    gcut_region *out = gcut_calloc(g->module->arena, node->nregs + 1, sizeof *out);
    for (uint32_t k = 0; k < node->nregs; k++) {
        out[k] = *gcut_region_at(g, node, k);
        if (out[k].body->is_body) out[k].body = pass(out[k].body, out[k].body->name);
    }
    return out;
}

void gcut_rewrite_regions_of_last(gcut_graph *dst, const gcut_region *regions)
{
    const gcut_node *n = gcut_node_at(dst, dst->nodes.n - 1);
    for (uint32_t k = 0; k < n->nregs; k++) dst->regions.at[n->reg0 + k] = regions[k];
}

gcut_ref gcut_rewrite_copy(gcut_rewrite *rw, uint32_t n)
{
    const gcut_node *node = gcut_node_at(rw->src, n);
    gcut_ref few[8], *args = few;
    if (node->nargs > 8) args = gcut_alloc(rw->scratch, node->nargs * sizeof *args);
    for (uint32_t k = 0; k < node->nargs; k++) args[k] = gcut_rewrite_arg(rw, n, k);
    gcut_ref r = gcut_node_copy(rw->dst, rw->src, n, args, rw->map, node->loc, NULL);
    if (rw->pass && gcut_node_at(rw->src, n)->nregs)
        gcut_rewrite_regions_of_last(rw->dst, gcut_rewrite_regions(rw->src, n, rw->pass));
    node = gcut_node_at(rw->src, n);
    for (uint32_t k = 0; k < node->nres; k++) rw->map[node->res0 + k] = r + k;
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
    const gcut_graph *src = rw->src;
    for (uint32_t i = 0; i < src->results.n; i++) {
        const gcut_result *r = &src->results.at[i];
        GCUT_ASSERT(rw->map[r->value] != 0);
        gcut_result_new(rw->dst, r->role, r->name, rw->map[r->value]);
        rw->dst->results.at[i].marks = r->marks;
    }
    gcut_arena_free(rw->scratch);
    return rw->dst;
}

void gcut_rewrite_append(gcut_graph *dst, const gcut_graph *src, gcut_ref *map)
{
    gcut_arena *scratch = gcut_arena_new(src->module->env, src->module->arena);
    for (uint32_t n = 0; n < src->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(src, n);
        gcut_ref *args = gcut_alloc(scratch, (node->nargs + 1u) * sizeof *args);
        for (uint32_t k = 0; k < node->nargs; k++) args[k] = map[gcut_arg(src, node, k)];
        gcut_ref r = gcut_node_copy(dst, src, n, args, map, node->loc, NULL);
        for (uint32_t k = 0; k < node->nres; k++) map[node->res0 + k] = r + k;
    }
    for (uint32_t i = 0; i < src->checks.n; i++) {
        gcut_dim_check c = src->checks.at[i];
        gcut_dim_require(dst, c.a, c.b, c.loc, "check");
    }
    gcut_arena_free(scratch);
}

bool *gcut_rewrite_pure(const gcut_graph *g, gcut_arena *a)
{
    bool *pure = gcut_calloc(a, g->nodes.n + 1, sizeof *pure);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        gcut_class c = gcut_op_get((gcut_op)n->op)->class;
        pure[i] = c == GCUT_CLASS_CONSTANT || c == GCUT_CLASS_POINTWISE || c == GCUT_CLASS_VIEW;
        for (uint32_t k = 0; k < n->nargs; k++) {
            uint32_t def = g->values.at[gcut_arg(g, n, k)].def;
            pure[i] = pure[i] && def != GCUT_NONE && pure[def];
        }
    }
    return pure;
}
