/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Symbols become numbers.
 *
 *   in:    any graph, numbers for some of its symbols
 *   out:   the same stage; the symbols occur neither in types and attributes nor in the signature
 *   keeps: names, marks and locations; calls; values at these sizes; the data of parameters, which gets their types
 *
 * Every node is built anew by its shape rule, which refuses sizes that do not fit it, at the node's line.
 */
#include "graph/rewrite.h"
#include "passes/inlining.h"
#include "passes/passes.h"

static bool is_fixed(const gcut_call_sizes *sizes, gcut_dim symbol)
{
    for (uint32_t i = 0; i < sizes->n; i++)
        if (sizes->at[i].sym == symbol) return true;
    return false;
}

gcut_graph *gcut_pass_fix(gcut_graph *g, const char *name, gcut_dim_subst *sizes, uint32_t n)
{
    gcut_graph *dst = gcut_graph_like(g, name);
    gcut_arena *scratch = gcut_arena_new(g->module->env, g->module->arena);
    gcut_inliner s = {.dst = dst,
                      .f = g,
                      .sizes = {.at = sizes, .n = n},
                      .calls = GCUT_INLINE_NONE,
                      .what = "fixed size",
                      .loc = g->loc};
    s.map = gcut_calloc(scratch, g->values.n, sizeof *s.map);
    dst->marks = g->marks;
    dst->loc = g->loc;
    dst->copy_of = g;
    for (uint32_t i = 0; i < g->decls.n; i++)
        if (!is_fixed(&s.sizes, g->decls.at[i].sym)) gcut_decl_add(dst, g->decls.at[i]);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_param *p = &g->params.at[i];
        const gcut_type t = gcut_inline_type(&s, *gcut_type_of(g, p->value));
        s.map[p->value] = gcut_param_new(dst, p->role, g->values.at[p->value].name, &t);
        dst->params.at[i].marks = p->marks;
    }
    for (uint32_t i = 0; i < g->module->data.n; i++) {
        gcut_data *d = &g->module->data.at[i];
        if (gcut_data_is_of(d, g)) d->type = *gcut_type_of(dst, gcut_graph_find(dst, d->name));
    }
    gcut_inline_nodes(&s);
    for (uint32_t i = 0; i < g->results.n; i++) gcut_result_copy(dst, g, i, s.map);
    gcut_arena_free(scratch);
    return dst;
}
