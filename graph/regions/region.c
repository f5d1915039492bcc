/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bodies of regions, and how a body under construction captures values of the graphs around
 * it.
 */
#include <string.h>

#include "graph/graph.h"

/* The arms of an `if` have no arguments: its operand is the condition. */
uint32_t gcut_region_nargs(gcut_op op, uint32_t nargs)
{
    return op == GCUT_OP_if ? 0 : nargs;
}

uint32_t gcut_node_carries(const gcut_graph *g, const gcut_node *n)
{
    const gcut_attr *a = n->op == GCUT_OP_scan ? gcut_attr_get(g, n, GCUT_KEY_carries) : NULL;
    return a ? (uint32_t)a->u.dim : n->nargs - n->ncaptured;
}

gcut_dim gcut_scan_length(const gcut_graph *g, const gcut_node *n)
{
    const gcut_attr *a = gcut_attr_get(g, n, GCUT_KEY_length);
    if (a) return a->u.dim;
    uint32_t axis = (uint32_t)gcut_attr_get(g, n, GCUT_KEY_axis)->u.dim;
    return gcut_type_of(g, gcut_arg(g, n, gcut_node_carries(g, n)))->dim[axis];
}

double gcut_region_runs(const gcut_graph *g, const gcut_node *n, const gcut_dim_binding *at, uint32_t nat)
{
    const gcut_attr *bound = n->op == GCUT_OP_while ? gcut_attr_get(g, n, GCUT_KEY_bound) : NULL;
    if (n->op == GCUT_OP_if) return 0.5;
    if (n->op != GCUT_OP_scan && !bound) return GCUT_WHILE_RUNS;
    return (double)gcut_dim_at(g->module->dims, bound ? bound->u.dim : gcut_scan_length(g, n), at, nat,
                               gcut_loc_place(g->module, n->loc));
}

static gcut_graph *unlisted(gcut_module *m, const char *name)
{
    gcut_graph *body = gcut_calloc(m->arena, 1, sizeof *body);
    body->module = m;
    body->name = name;
    body->is_body = true;
    *GCUT_PUSH(m->arena, &body->values) = (gcut_value){0};
    return body;
}

gcut_graph *gcut_graph_like(const gcut_graph *src, const char *name)
{
    return src->is_body ? unlisted(src->module, src->name) : gcut_graph_create(src->module, name);
}

gcut_graph *gcut_body_new(gcut_graph *outer)
{
    gcut_graph *body = unlisted(outer->module, outer->name);
    body->loc = outer->loc;
    body->outer = outer;
    body->scope = outer->scope;
    gcut_decls_copy(body, outer);
    return body;
}

gcut_ref gcut_body_capture(gcut_graph *body, gcut_ref v)
{
    for (uint32_t i = 0; i < body->captures.n; i++)
        if (body->captures.at[i].outer == v) return body->captures.at[i].inner;
    gcut_value outer = body->outer->values.at[v];
    gcut_ref inner = gcut_param_new(body, GCUT_ROLE_input, gcut_name_fresh(body, outer.name), outer.type);
    *GCUT_PUSH(body->module->arena, &body->captures) = (gcut_capture){v, inner};
    return inner;
}

/* Orders the parameters of body: the arguments, then order[0..n-1], each captured already. */
static void order_params(gcut_graph *body, uint32_t nargs, const gcut_ref *order, uint32_t n)
{
    gcut_param *params = gcut_calloc(body->module->arena, nargs + n + 1, sizeof *params);
    uint32_t have = 0;
    for (uint32_t i = 0; i < body->params.n; i++) {
        bool captured = false;
        for (uint32_t k = 0; k < body->captures.n; k++)
            captured = captured || body->captures.at[k].inner == body->params.at[i].value;
        if (!captured) params[have++] = body->params.at[i];
    }
    GCUT_ASSERT(have == nargs);
    for (uint32_t i = 0; i < n; i++)
        params[have++] = (gcut_param){.role = GCUT_ROLE_input, .value = gcut_body_capture(body, order[i])};
    for (uint32_t i = 0; i < have; i++) {
        body->params.at[i] = params[i];
        body->values.at[params[i].value].index = i;
    }
}

gcut_ref *gcut_bodies_close(gcut_graph *const *bodies, const uint32_t *nargs, uint32_t n, uint32_t *ncaptured)
{
    GCUT_VEC(gcut_ref) all = {0};
    gcut_arena *a = bodies[0]->module->arena;
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t i = 0; i < bodies[b]->captures.n; i++) {
            gcut_ref v = bodies[b]->captures.at[i].outer;
            uint32_t k = 0;
            while (k < all.n && all.at[k] != v) k++;
            if (k == all.n) *GCUT_PUSH(a, &all) = v;
        }
    for (uint32_t b = 0; b < n; b++) {
        for (uint32_t i = 0; i < all.n; i++) gcut_body_capture(bodies[b], all.at[i]);
        order_params(bodies[b], nargs[b], all.at, all.n);
        bodies[b]->outer = NULL;
        bodies[b]->captures.n = 0;
    }
    *ncaptured = all.n;
    return all.at;
}

static bool is_yielded(const gcut_graph *body, const char *name)
{
    for (uint32_t i = 0; i < body->results.n; i++)
        if (!strcmp(body->results.at[i].name, name)) return true;
    return false;
}

void gcut_body_yield(gcut_graph *body, gcut_ref v)
{
    const char *name;
    uint32_t k = body->results.n;
    do name = gcut_printf(body->module->arena, "y%u", k++);
    while (is_yielded(body, name));
    gcut_result_new(body, GCUT_ROLE_out, name, v);
}
