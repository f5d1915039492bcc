/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A function as it is evaluated.
 *
 *   in:    a primal or joint graph
 *   out:   without dropout, whose result is its operand; without batch_norm, which normalises by its running statistics;
 *          without next values and gradients, what these alone need, and keys that are not read
 *   keeps: the other parameters and results; names and locations; marks, but for those of dropout and batch_norm; values
 *          that depend on neither
 */
#include "graph/decompose/decompose.h"
#include "graph/rewrite.h"
#include "passes/passes.h"

static void normalise(gcut_rewrite *rw, uint32_t n)
{
    const gcut_node *node = gcut_node_at(rw->src, n);
    gcut_build b = {.g = rw->dst, .loc = node->loc, .name = rw->src->values.at[node->res0].name};
    gcut_ref x[5];
    for (uint32_t k = 0; k < 5; k++) x[k] = gcut_rewrite_arg(rw, n, k);
    rw->map[node->res0] = gcut_batch_norm_by_statistics(&b, x, gcut_attr_num(rw->src, node, GCUT_KEY_eps));
    rw->map[node->res0 + 1] = x[3];
    rw->map[node->res0 + 2] = x[4];
}

static gcut_graph *evaluated(gcut_graph *g, const char *name)
{
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    rw.pass = evaluated;
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_op op = (gcut_op)gcut_node_at(g, n)->op;
        if (op == GCUT_OP_dropout)
            gcut_rewrite_use(&rw, n, gcut_rewrite_arg(&rw, n, 0));
        else if (op == GCUT_OP_batch_norm)
            normalise(&rw, n);
        else
            gcut_rewrite_copy(&rw, n);
    }
    return gcut_rewrite_end(&rw);
}

static bool is_evaluated(const gcut_result *r)
{
    return r->role != GCUT_ROLE_next && r->role != GCUT_ROLE_grad;
}

/* A copy without results that are updates or gradients, and without keys that nothing reads. */
static gcut_graph *reduced(gcut_graph *g, const char *name)
{
    gcut_graph *dst = gcut_graph_shell(g, name);
    gcut_arena *scratch = gcut_arena_new(g->module->env, g->module->arena);
    gcut_ref *map = gcut_calloc(scratch, g->values.n, sizeof *map);
    const uint32_t *uses = gcut_count_uses(g, scratch);
    for (uint32_t i = 0; i < g->params.n; i++)
        if (g->params.at[i].role != GCUT_ROLE_rng || uses[g->params.at[i].value])
            gcut_param_copy(dst, g, i, map);
    gcut_rewrite_append(dst, g, map);
    for (uint32_t i = 0; i < g->results.n; i++)
        if (is_evaluated(&g->results.at[i])) gcut_result_copy(dst, g, i, map);
    gcut_arena_free(scratch);
    return dst;
}

gcut_graph *gcut_pass_evaluation(gcut_graph *g, const char *name)
{
    static gcut_graph *(*const parts[])(gcut_graph *,
                                        const char *) = {gcut_pass_inline, evaluated, reduced, gcut_pass_dce,
                                                         reduced}; /* keys are unread once updates are gone */
    enum { N = sizeof parts / sizeof *parts };
    gcut_module *m = g->module;
    gcut_graph *made = g;
    bool any = false;
    for (uint32_t i = 0; i < g->results.n; i++) any |= is_evaluated(&g->results.at[i]);
    if (!any)
        gcut_fail(m->env, GCUT_ETYPE, gcut_loc_place(m, g->loc), "return what is to be evaluated as `out`",
                  "@%s has nothing to evaluate: its results are updates and gradients", g->name);
    for (int i = 0; i < N; i++) {
        gcut_graph *next = parts[i](made, i + 1 < N ? gcut_module_unused(m, name, "part") : name);
        if (made != g && made != next) gcut_module_unlist(m, made);
        made = next;
    }
    return made;
}
