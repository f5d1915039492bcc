/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bodies in the form in which the text of their graph reads back.
 *
 * Passes share bodies between nodes, copy them with their names, and capture values in any order; the text of a
 * graph does not show this.
 * A canonical body
 *   - belongs to one node;
 *   - has value names that are unique in the function, except that a captured value has the name of the outer value;
 *   - captures the values that its nodes read, each once, in the order of the first use.
 */
#include "graph/names.h"
#include "graph/node_draft.h"

/* A graph whose bodies are made canonical, or a body that is read and its canonical copy. */
typedef struct level {
    struct level *outer; /* NULL: a function, which is its own copy */
    const gcut_graph *src;
    gcut_graph *dst;
    const gcut_node *owner; /* of outer->src */
    gcut_ref *map;          /* by value of src: that of dst, 0 = none yet; NULL: a function */
} level;

typedef struct canonical {
    gcut_arena *scratch;
    gcut_name_set names;
} canonical;

/* The value of l->dst that stands for v of l->src; a captured one is captured where it is read first. */
static gcut_ref value_of(level *l, gcut_ref v)
{
    if (!l->outer) return v;
    if (!l->map[v]) {
        const uint32_t k = gcut_region_operand(l->owner, l->src, l->src->values.at[v].index);
        l->map[v] = gcut_body_capture(l->dst, value_of(l->outer, gcut_arg(l->outer->src, l->owner, k)));
    }
    return l->map[v];
}

static void copy_nodes(canonical *c, level *l, const char *const *names);

/* The canonical copy of region k of node n, which still captures. */
static gcut_graph *copy_body(canonical *c, level *outer, const gcut_node *n, uint32_t k)
{
    const gcut_graph *src = gcut_region_at(outer->src, n, k)->body;
    const char **names = gcut_calloc(c->scratch, src->values.n, sizeof *names);
    level l = {.outer = outer, .src = src, .dst = gcut_body_new(outer->dst), .owner = n};
    l.map = gcut_calloc(c->scratch, src->values.n, sizeof *l.map);
    for (uint32_t i = 0; i < src->params.n - n->ncaptured; i++) {
        const gcut_ref v = src->params.at[i].value;
        l.map[v] = gcut_param_new(l.dst, GCUT_ROLE_input,
                                  gcut_name_set_add(&c->names, src->values.at[v].name), gcut_type_of(src, v));
    }
    for (uint32_t i = 0; i < src->nodes.n; i++) {
        const gcut_node *node = gcut_node_at(src, i);
        for (gcut_ref v = node->res0; v < node->res0 + node->nres; v++)
            names[v] = gcut_name_set_add(&c->names, src->values.at[v].name);
    }
    copy_nodes(c, &l, names);
    for (uint32_t i = 0; i < src->results.n; i++)
        gcut_body_yield(l.dst, value_of(&l, src->results.at[i].value));
    return l.dst;
}

/* Canonical copies of the bodies of node n into regions[]; the values of l->dst that they capture, *captured of
 * them. */
static gcut_ref *copy_bodies(canonical *c, level *l, const gcut_node *n, gcut_region *regions,
                             uint32_t *captured)
{
    gcut_graph **bodies = gcut_calloc(c->scratch, n->nregs, sizeof *bodies);
    uint32_t *given = gcut_calloc(c->scratch, n->nregs, sizeof *given);
    for (uint32_t k = 0; k < n->nregs; k++) {
        regions[k].body = bodies[k] = copy_body(c, l, n, k);
        given[k] = gcut_region_at(l->src, n, k)->body->params.n - n->ncaptured;
    }
    return gcut_bodies_close(bodies, given, n->nregs, captured);
}

static bool has_bodies(const gcut_graph *g, const gcut_node *n)
{
    return n->nregs && gcut_region_at(g, n, 0)->body->is_body;
}

static void copy_nodes(canonical *c, level *l, const char *const *names)
{
    for (uint32_t i = 0; i < l->src->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(l->src, i);
        gcut_draft d = gcut_draft_of(c->scratch, l->src, i, NULL, 0);
        for (uint32_t k = 0; k < n->nres; k++) d.names[k] = names[n->res0 + k];
        for (uint32_t k = 0; k < n->nargs - n->ncaptured; k++)
            d.args[k] = value_of(l, gcut_arg(l->src, n, k));
        if (has_bodies(l->src, n)) {
            const gcut_ref *captured = copy_bodies(c, l, n, d.regions, &d.spec.ncaptured);
            d.spec.nargs = n->nargs - n->ncaptured + d.spec.ncaptured;
            for (uint32_t k = 0; k < d.spec.ncaptured; k++) d.args[n->nargs - n->ncaptured + k] = captured[k];
        }
        const gcut_ref r = gcut_draft_make(l->dst, &d, l->map);
        for (uint32_t k = 0; k < n->nres; k++) l->map[n->res0 + k] = r + k;
    }
}

/* Closes the gaps between the operands of nodes that have lost some. */
static void close_operands(gcut_graph *g)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        gcut_node *n = &g->nodes.at[i];
        for (uint32_t k = 0; k < n->nargs; k++) g->args.at[at + k] = g->args.at[n->arg0 + k];
        n->arg0 = at;
        at += n->nargs;
    }
    g->args.n = at;
}

void gcut_bodies_canonical(gcut_graph *g)
{
    gcut_module *m = g->module;
    uint32_t first = 0;
    while (first < g->nodes.n && !has_bodies(g, gcut_node_at(g, first))) first++;
    if (first == g->nodes.n) return;
    canonical c = {.scratch = gcut_arena_new(m->env, m->arena)};
    level l = {.src = g, .dst = g};
    c.names = gcut_name_set_of(c.scratch, g);
    for (uint32_t i = first; i < g->nodes.n; i++) {
        gcut_node *n = &g->nodes.at[i];
        if (!has_bodies(g, n)) continue;
        const uint32_t own = n->nargs - n->ncaptured;
        gcut_region *regions = gcut_calloc(c.scratch, n->nregs, sizeof *regions);
        uint32_t ncaptured;
        const gcut_ref *captured = copy_bodies(&c, &l, n, regions, &ncaptured);
        for (uint32_t k = 0; k < n->nregs; k++) g->regions.at[n->reg0 + k] = regions[k];
        GCUT_ASSERT(ncaptured <= n->ncaptured);
        for (uint32_t k = 0; k < ncaptured; k++) g->args.at[n->arg0 + own + k] = captured[k];
        n->ncaptured = ncaptured;
        n->nargs = own + ncaptured;
    }
    close_operands(g);
    gcut_arena_free(c.scratch);
}
