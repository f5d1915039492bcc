/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Questions about a graph that several rooms ask.
 */
#include <string.h>

#include "graph/graph.h"

/* ---- one value or function ---- */

const gcut_param *gcut_param_find(const gcut_graph *g, const char *name)
{
    const gcut_ref v = gcut_graph_find(g, name);
    const uint32_t i = v && g->values.at[v].def == GCUT_NONE ? g->values.at[v].index : GCUT_NONE;
    return i < g->params.n && g->params.at[i].value == v ? &g->params.at[i] : NULL;
}

const char *gcut_maker_name(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    return n ? gcut_op_get((gcut_op)n->op)->name : gcut_role_name(g->params.at[g->values.at[v].index].role);
}

bool gcut_is_zero(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    while (n && gcut_op_get((gcut_op)n->op)->class == GCUT_CLASS_VIEW && n->nargs)
        n = gcut_def(g, gcut_arg(g, n, 0));
    return n && n->op == GCUT_OP_full && gcut_attr_num(g, n, GCUT_KEY_value) == 0;
}

bool gcut_takes_saved(const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->params.n; i++)
        if (g->params.at[i].role == GCUT_ROLE_saved) return true;
    return false;
}

static const gcut_graph *function_of(const gcut_graph *g)
{
    while (g->outer) g = g->outer;
    return g;
}

bool gcut_is_forward(const gcut_graph *g)
{
    const gcut_graph *f = function_of(g);
    for (uint32_t i = 0; i < f->results.n; i++)
        if (f->results.at[i].role == GCUT_ROLE_saved) return true;
    for (uint32_t i = 0; i < f->module->pairs.n; i++)
        if (!strcmp(f->module->pairs.at[i].fwd, f->name)) return true;
    return gcut_mark_find(&f->marks, GCUT_MARK_fwd);
}

const gcut_pair *gcut_pair_of(const gcut_graph *g)
{
    const gcut_module *m = g->module;
    for (uint32_t i = 0; i < m->pairs.n; i++)
        if (!strcmp(m->pairs.at[i].bwd, g->name)) return &m->pairs.at[i];
    return NULL;
}

uint32_t gcut_pair_graphs(gcut_graph *g, gcut_graph *out[2])
{
    const gcut_pair *pair = gcut_pair_of(g);
    gcut_graph *fwd = pair ? gcut_module_find(g->module, pair->fwd) : NULL;
    out[0] = fwd ? fwd : g;
    out[1] = fwd ? g : NULL;
    return fwd ? 2 : 1;
}

bool gcut_is_backward(const gcut_graph *g)
{
    const gcut_graph *f = function_of(g);
    return gcut_pair_of(f) || gcut_takes_saved(f) || gcut_mark_find(&f->marks, GCUT_MARK_bwd);
}

/* ---- sets of values and nodes ---- */

void gcut_add_dependents(const gcut_graph *g, bool *in)
{
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        bool any = gcut_any_arg(g, n, in);
        for (uint32_t k = 0; any && k < n->nres; k++) in[n->res0 + k] = true;
    }
}

void gcut_add_dependences(const gcut_graph *g, bool *in)
{
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!gcut_any_result(n, in)) continue;
        for (uint32_t k = 0; k < n->nargs; k++) in[gcut_arg(g, n, k)] = true;
    }
}

uint32_t *gcut_count_uses(const gcut_graph *g, gcut_arena *a)
{
    uint32_t *uses = gcut_calloc(a, g->values.n, sizeof *uses);
    for (uint32_t i = 0; i < g->args.n; i++) uses[g->args.at[i]]++;
    for (uint32_t i = 0; i < g->results.n; i++) uses[g->results.at[i].value]++;
    return uses;
}

bool *gcut_sizes_only(const gcut_graph *g, gcut_arena *a)
{
    bool *only = gcut_calloc(a, g->nodes.n + 1, sizeof *only);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        gcut_class c = gcut_op_get((gcut_op)n->op)->class;
        only[i] = c == GCUT_CLASS_CONSTANT || c == GCUT_CLASS_POINTWISE || c == GCUT_CLASS_VIEW;
        for (uint32_t k = 0; k < n->nargs; k++) {
            uint32_t def = g->values.at[gcut_arg(g, n, k)].def;
            only[i] = only[i] && def != GCUT_NONE && only[def];
        }
    }
    return only;
}

/* ---- equality ---- */

/* Are a and b, of f and g, equal nodes, with operands and results of equal ids? */
static bool same_node(const gcut_graph *f, const gcut_node *a, const gcut_graph *g, const gcut_node *b)
{
    if (a->res0 != b->res0 || a->nargs != b->nargs || a->ncaptured != b->ncaptured || a->nregs != b->nregs ||
        !gcut_nodes_alike(f, a, g, b))
        return false;
    for (uint32_t k = 0; k < a->nargs; k++)
        if (gcut_arg(f, a, k) != gcut_arg(g, b, k)) return false;
    for (uint32_t k = 0; k < a->nregs; k++)
        if (!gcut_graph_same(gcut_region_at(f, a, k)->body, gcut_region_at(g, b, k)->body)) return false;
    return true;
}

bool gcut_graph_same_nodes(const gcut_graph *f, const gcut_graph *g)
{
    if (f == g) return true;
    if (f->params.n != g->params.n || f->nodes.n != g->nodes.n) return false;
    for (uint32_t k = 0; k < f->params.n; k++) {
        gcut_ref v = f->params.at[k].value;
        if (v != g->params.at[k].value || !gcut_type_equal(gcut_type_of(f, v), gcut_type_of(g, v)))
            return false;
    }
    for (uint32_t n = 0; n < f->nodes.n; n++)
        if (!same_node(f, gcut_node_at(f, n), g, gcut_node_at(g, n))) return false;
    return true;
}

bool gcut_graph_same(const gcut_graph *f, const gcut_graph *g)
{
    if (!gcut_graph_same_nodes(f, g) || f->results.n != g->results.n) return false;
    for (uint32_t k = 0; k < f->results.n; k++)
        if (f->results.at[k].value != g->results.at[k].value) return false;
    return true;
}
