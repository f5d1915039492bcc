/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Graphs with gradients of their own, which gcut_grad has appended, as joint graphs.
 *
 *   in:    PRIMAL, in which constants marked #cotan(%y) are where the gradients of y begin
 *   out:   JOINT: these constants are one `cotan %dy` for each y, and y is an `out` result; `out` results that
 *          depend on a cotangent are #late; loops and composites that were differentiated through a stacked scan
 *          or a decomposition are replaced by it, as gcut_joint does
 *   keeps: names, locations, the order of results; the constants of inner gradients, on which another y depends,
 *          without the mark
 *
 * The gradient of a function of a gradient has two such constants.  What is split is the outer one; the inner
 * gradient is part of the value that the outer one differentiates.
 */
#include <string.h>

#include "autodiff/autodiff.h"
#include "autodiff/reverse.h"
#include "autodiff/stacked_scans.h"
#include "graph/build.h"
#include "graph/rewrite.h"
#include "passes/passes.h"

void gcut_loss_gradient(gcut_graph *g, gcut_ref loss, gcut_locid loc, const gcut_ref *x, uint32_t nx,
                        gcut_ref *dx)
{
    gcut_build b = {.g = g, .loc = loc};
    gcut_ref one = gcut_bconst(&b, loss, 1);
    if (!g->is_body)
        gcut_mark_add(g->module->arena, &g->nodes.at[g->values.at[one].def].marks,
                      (gcut_mark){GCUT_MARK_cotan, 1, {{.i = loss}}});
    gcut_reverse_mode(g, &loss, &one, 1, x, nx, dx);
}

/* The y of a node marked #cotan(%y); 0 = none. */
static gcut_ref target_of(const gcut_node *n)
{
    const gcut_mark *mark = gcut_mark_find(&n->marks, GCUT_MARK_cotan);
    return mark ? (gcut_ref)mark->arg[0].i : 0;
}

bool gcut_has_own_gradient(const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (target_of(gcut_node_at(g, i))) return true;
    return false;
}

/* By value: it is the constant of an outermost gradient that some result needs, or with `late` depends on one. */
static bool *outermost(const gcut_graph *g, gcut_arena *a, bool late)
{
    bool *live = gcut_calloc(a, g->values.n, sizeof *live),
         *inner = gcut_calloc(a, g->values.n, sizeof *inner);
    bool *in = gcut_calloc(a, g->values.n, sizeof *in);
    for (uint32_t i = 0; i < g->results.n; i++) live[g->results.at[i].value] = true;
    gcut_add_dependences(g, live);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (live[n->res0]) inner[target_of(n)] = true;
    }
    gcut_add_dependences(g, inner);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        in[n->res0] = target_of(n) && live[n->res0] && !inner[n->res0];
    }
    if (late) gcut_add_dependents(g, in);
    return in;
}

bool gcut_is_own_joint(const gcut_graph *g, bool next)
{
    gcut_arena *tmp = gcut_arena_new(g->module->env, g->module->arena);
    const bool *late = outermost(g, tmp, true);
    bool any = false;
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        any |= late[r->value] && (r->role == GCUT_ROLE_grad || (next && r->role == GCUT_ROLE_next));
    }
    gcut_arena_free(tmp);
    return any;
}

/* ---- the joint graph ---- */

typedef struct conversion {
    gcut_graph *g;
    gcut_graph *dst;
    gcut_ref *map;
    gcut_ref *cotan; /* by value of g: its cotangent, a parameter of dst; 0 = none */
} conversion;

static bool is_taken(const gcut_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_out && !strcmp(g->results.at[i].name, name)) return true;
    return gcut_param_find(g, name) != NULL;
}

/* The name of the `out` result that y is; of one that is new, where it is none, if *add is set. */
static const char *result_name(const conversion *c, gcut_ref y, bool *add)
{
    const gcut_graph *g = c->g;
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].value == y && g->results.at[i].role == GCUT_ROLE_out)
            return g->results.at[i].name;
    const char *base = g->values.at[y].name, *name = base;
    for (uint32_t k = 2; is_taken(g, name) || is_taken(c->dst, name); k++)
        name = gcut_printf(c->dst->module->arena, "%s.%u", base, k);
    *add = true;
    return name;
}

static void add_cotangents(conversion *c, const bool *begins)
{
    const gcut_graph *g = c->g;
    for (uint32_t i = 0; i < g->params.n; i++) gcut_param_copy(c->dst, g, i, c->map);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        const gcut_ref y = target_of(n);
        bool add = false;
        if (!begins[n->res0]) continue;
        if (!c->cotan[y]) {
            const char *base = gcut_printf(g->module->arena, "d%s", result_name(c, y, &add));
            const char *name = gcut_name_fresh(c->g, base);
            for (uint32_t k = 2; gcut_graph_find(c->dst, name); k++)
                name = gcut_name_fresh(c->g, gcut_printf(g->module->arena, "%s.%u", base, k));
            c->cotan[y] = gcut_param_new(c->dst, GCUT_ROLE_cotan, name, gcut_type_of(g, y));
        }
        c->map[n->res0] = c->cotan[y];
    }
}

static void copy_nodes(conversion *c)
{
    const gcut_graph *g = c->g;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (c->map[n->res0]) continue;
        gcut_node_copy_to(c->dst, g, i, c->map);
        gcut_mark_remove(g->module->arena, &c->dst->nodes.at[c->dst->nodes.n - 1].marks, GCUT_MARK_cotan);
    }
    gcut_checks_copy(c->dst, g);
}

static void add_results(conversion *c, const bool *late)
{
    const gcut_graph *g = c->g;
    gcut_arena *a = g->module->arena;
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        gcut_result_copy(c->dst, g, i, c->map);
        gcut_marks *marks = &c->dst->results.at[i].marks;
        if (!late[r->value] || gcut_result_is_late(r)) continue;
        gcut_mark_remove(a, marks, GCUT_MARK_transient);
        gcut_mark_add(a, marks, (gcut_mark){.name = GCUT_MARK_late});
    }
    for (gcut_ref y = 1; y < g->values.n; y++) {
        bool add = false;
        const char *name = c->cotan[y] ? result_name(c, y, &add) : NULL;
        if (add) gcut_result_new(c->dst, GCUT_ROLE_out, name, c->map[y]);
    }
}

/* ---- what was differentiated, as gcut_joint has it ---- */

static bool *late_values(const gcut_graph *g, gcut_arena *tmp)
{
    bool *late = gcut_calloc(tmp, g->values.n, sizeof *late);
    for (uint32_t i = 0; i < g->params.n; i++)
        late[g->params.at[i].value] = g->params.at[i].role == GCUT_ROLE_cotan;
    gcut_add_dependents(g, late);
    return late;
}

/* By value: it is no late one, and depends differentiably on a parameter with a gradient or an update. */
static bool *differentiated(const gcut_graph *g, gcut_arena *tmp, const bool *late)
{
    gcut_ref *x = gcut_calloc(tmp, g->results.n + 1u, sizeof *x);
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        const gcut_param *p = r->role == GCUT_ROLE_out ? NULL : gcut_param_find(g, r->name);
        if (p && late[r->value]) x[i] = p->value;
    }
    bool *in = gcut_wanted(g, tmp, x, g->results.n);
    for (gcut_ref v = 1; v < g->values.n; v++) in[v] = in[v] && !late[v];
    return in;
}

/* gcut_grad leaves a loop or composite as it is and appends what it differentiates instead: a stacked scan, a
 * decomposition.  Both replace the original here, and later passes make the two one. */
static gcut_graph *replaced(gcut_graph *g, gcut_arena *tmp, const char *name)
{
    gcut_module *m = g->module;
    gcut_graph *scans = gcut_stacked_scans(g, gcut_module_unused(m, g->name, "stacked"),
                                           differentiated(g, tmp, late_values(g, tmp)));
    const bool *late = late_values(scans, tmp);
    bool *keep = gcut_calloc(tmp, scans->nodes.n + 1, sizeof *keep); /* what rules have made */
    for (uint32_t i = 0; i < scans->nodes.n; i++) keep[i] = gcut_any_result(gcut_node_at(scans, i), late);
    gcut_graph *out = gcut_expand_but(scans, name, gcut_vjp_by_meaning, keep);
    gcut_graph_drop(g);
    gcut_graph_drop(scans);
    return out;
}

gcut_graph *gcut_own_joint(gcut_graph *g, bool joint, const char *name)
{
    gcut_module *m = g->module;
    gcut_arena *tmp = gcut_arena_new(m->env, m->arena);
    conversion c = {.g = g, .dst = gcut_graph_shell(g, joint ? gcut_module_unused(m, g->name, "own") : name)};
    c.map = gcut_calloc(tmp, g->values.n, sizeof *c.map);
    c.cotan = gcut_calloc(tmp, g->values.n, sizeof *c.cotan);
    const bool *none = gcut_calloc(tmp, g->values.n, sizeof *none);
    add_cotangents(&c, joint ? outermost(g, tmp, false) : none);
    copy_nodes(&c);
    add_results(&c, joint ? outermost(g, tmp, true) : none);
    gcut_graph *out = joint ? replaced(c.dst, tmp, name) : c.dst;
    gcut_arena_free(tmp);
    return out;
}
