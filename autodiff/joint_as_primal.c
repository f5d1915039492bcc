/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A joint graph as a primal one, so that it can be differentiated again.
 *
 *   in:    JOINT, with `grad` results
 *   out:   PRIMAL: `grad w` is `out dw`; a `cotan` parameter is the constant 1 of its name
 *   keeps: every value's name and location, the order of results
 */
#include "autodiff/joint_as_primal.h"

#include <string.h>

#include "graph/build.h"
#include "graph/rewrite.h"

bool gcut_has_grads(const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_grad) return true;
    return false;
}

/* Parameters and results share one name space: callers bind both by name. */
static bool is_taken(const gcut_graph *g, const char *name)
{
    gcut_ref v = gcut_graph_find(g, name);
    if (v && g->values.at[v].def == GCUT_NONE) return true;
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_out && !strcmp(g->results.at[i].name, name)) return true;
    return false;
}

/* A free name for the result: dw, or dw with a number. */
static const char *out_name(const gcut_graph *g, const gcut_graph *dst, const char *w)
{
    gcut_arena *a = g->module->arena;
    const char *base = gcut_printf(a, "d%s", w), *name = base;
    for (uint32_t i = 1; is_taken(g, name) || is_taken(dst, name); i++)
        name = gcut_printf(a, "%s.%u", base, i);
    return name;
}

static void copy_params(const gcut_graph *g, gcut_graph *dst, gcut_ref *map)
{
    for (uint32_t i = 0; i < g->params.n; i++) {
        if (g->params.at[i].role != GCUT_ROLE_cotan) gcut_param_copy(dst, g, i, map);
    }
    for (uint32_t i = 0; i < g->params.n; i++) {
        gcut_ref v = g->params.at[i].value;
        gcut_build b = {.g = dst, .loc = g->loc, .name = g->values.at[v].name};
        if (!map[v]) map[v] = gcut_bfull(&b, gcut_type_of(g, v), 1);
    }
}

gcut_graph *gcut_joint_as_primal(gcut_graph *g, const char *name)
{
    gcut_module *m = g->module;
    gcut_graph *dst = gcut_graph_shell(g, name);
    gcut_arena *tmp = gcut_arena_new(m->env, m->arena);
    gcut_ref *map = gcut_calloc(tmp, g->values.n, sizeof *map);
    copy_params(g, dst, map);
    gcut_rewrite_append(dst, g, map);
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        bool grad = r->role == GCUT_ROLE_grad;
        gcut_result_new(dst, grad ? GCUT_ROLE_out : r->role, grad ? out_name(g, dst, r->name) : r->name,
                        map[r->value]);
        dst->results.at[i].marks = r->marks;
    }
    gcut_arena_free(tmp);
    return dst;
}
