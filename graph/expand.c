/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Composite ops become their meaning.
 *
 *   in:    any stage
 *   out:   the same stage; no composite left for which want() holds
 *   keeps: names, types, marks and locations of every value of the input graph
 */
#include "graph/passes.h"

#include <string.h>

#include "graph/rewrite.h"

typedef struct expander {
    const gcut_graph *src; /* the input graph: its names are taken */
    gcut_graph *dst;
    bool (*want)(gcut_op);
} expander;

static bool wanted(const expander *s, uint32_t op)
{
    return gcut_op_get((gcut_op)op)->composite && (!s->want || s->want((gcut_op)op));
}

/* "<value>.<op>", not the name of anything in the input or so far in the output. */
static const char *inner_name(expander *s, const char *value, uint32_t op)
{
    gcut_arena *a = s->dst->module->arena;
    const char *base = gcut_printf(a, "%s.%s", value, gcut_op_get((gcut_op)op)->name), *name = base;
    for (uint32_t i = 1; gcut_graph_find(s->src, name) || gcut_graph_find(s->dst, name); i++)
        name = gcut_printf(a, "%s.%u", base, (unsigned)i);
    return name;
}

/* A graph beside the others that holds the meaning of node n of g; the caller unlists it. */
static gcut_graph *meaning_graph(expander *s, const gcut_graph *g, uint32_t n, gcut_ref *result)
{
    gcut_module *m = s->dst->module;
    const char *name = "expand";
    for (uint32_t i = 1; gcut_module_find(m, name); i++)
        name = gcut_printf(m->arena, "expand.%u", (unsigned)i);
    gcut_graph *scratch = gcut_graph_create(m, name);
    gcut_decls_copy(scratch, s->src);
    const gcut_node *node = gcut_node_at(g, n);
    gcut_ref *args = gcut_calloc(m->arena, node->nargs + 1, sizeof *args);
    for (uint32_t k = 0; k < node->nargs; k++)
        args[k] = gcut_param_new(scratch, GCUT_ROLE_input, gcut_printf(m->arena, "x%u", (unsigned)k),
                                 gcut_type_of(g, gcut_arg(g, node, k)));
    gcut_build b = {.g = scratch, .loc = node->loc};
    *result = gcut_meaning(&b, g, n, args);
    return scratch;
}

static gcut_ref emit(expander *s, const gcut_graph *g, uint32_t n, const gcut_ref *args, const char *name);

/* Composites may mean composites, so the nodes of the meaning go through emit again. */
static gcut_ref emit_meaning(expander *s, const gcut_graph *g, uint32_t n, const gcut_ref *args,
                             const char *name)
{
    gcut_module *m = s->dst->module;
    gcut_ref result;
    gcut_marks marks = gcut_node_at(g, n)->marks;
    gcut_graph *scratch = meaning_graph(s, g, n, &result);
    m->graphs.n--;
    gcut_ref *map = gcut_calloc(m->arena, scratch->values.n, sizeof *map);
    for (uint32_t k = 0; k < scratch->params.n; k++) map[scratch->params.at[k].value] = args[k];
    for (uint32_t k = 0; k < scratch->nodes.n; k++) {
        const gcut_node *node = gcut_node_at(scratch, k);
        gcut_ref *in = gcut_calloc(m->arena, node->nargs + 1, sizeof *in);
        for (uint32_t j = 0; j < node->nargs; j++) in[j] = map[gcut_arg(scratch, node, j)];
        map[node->res0] =
            emit(s, scratch, k, in, node->res0 == result ? name : inner_name(s, name, node->op));
    }
    gcut_ref out = map[result];
    gcut_marks *to = &s->dst->nodes.at[s->dst->values.at[out].def].marks;
    for (uint32_t k = 0; k < marks.n; k++)
        gcut_mark_add(m, to, marks.at[k].name, marks.at[k].nargs, marks.at[k].args);
    return out;
}

static gcut_region *expanded_regions(expander *s, const gcut_graph *g, uint32_t n)
{
    const gcut_node *node = gcut_node_at(g, n);
    gcut_region *out = gcut_calloc(g->module->arena, node->nregs + 1, sizeof *out);
    for (uint32_t k = 0; k < node->nregs; k++) {
        out[k] = *gcut_region_at(g, node, k);
        if (out[k].body->is_body) out[k].body = gcut_pass_expand(out[k].body, out[k].body->name, s->want);
    }
    return out;
}

static gcut_ref emit(expander *s, const gcut_graph *g, uint32_t n, const gcut_ref *args, const char *name)
{
    const gcut_node *node = gcut_node_at(g, n);
    if (wanted(s, node->op)) return emit_meaning(s, g, n, args, name);
    if (node->nregs) return gcut_rewrite_with(s->dst, g, n, args, expanded_regions(s, g, n));
    return gcut_node_copy(s->dst, g, n, args, node->loc, name);
}

gcut_graph *gcut_pass_expand(gcut_graph *g, const char *name, bool (*want)(gcut_op))
{
    gcut_module *m = g->module;
    expander s = {g, gcut_graph_like(g, name), want};
    gcut_ref *map = gcut_calloc(m->arena, g->values.n, sizeof *map);
    s.dst->marks = g->marks;
    s.dst->loc = g->loc;
    gcut_decls_copy(s.dst, g);
    for (uint32_t k = 0; k < g->params.n; k++) {
        const gcut_param *p = &g->params.at[k];
        map[p->value] =
            gcut_param_new(s.dst, p->role, g->values.at[p->value].name, gcut_type_of(g, p->value));
        s.dst->params.at[k].marks = p->marks;
    }
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        gcut_ref *args = gcut_calloc(m->arena, node->nargs + 1, sizeof *args);
        for (uint32_t k = 0; k < node->nargs; k++) args[k] = map[gcut_arg(g, node, k)];
        gcut_ref out = emit(&s, g, n, args, g->values.at[node->res0].name);
        for (uint32_t k = 0; k < node->nres; k++) map[node->res0 + k] = out + k;
    }
    for (uint32_t k = 0; k < g->results.n; k++) {
        const gcut_result *r = &g->results.at[k];
        gcut_result_new(s.dst, r->role, r->name, map[r->value]);
        s.dst->results.at[k].marks = r->marks;
    }
    for (uint32_t k = 0; k < g->checks.n; k++)
        gcut_dim_require(s.dst, g->checks.at[k].a, g->checks.at[k].b, g->checks.at[k].loc, "expand");
    return s.dst;
}
