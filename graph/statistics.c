/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running statistics that no step would move.
 *
 * A batch_norm of the function itself whose running mean or variance is a `state`, and whose new value for it
 * reaches no result, leaves that state what it was, in training as in forward steps.  That is a mistake of
 * the function, whatever is done with it.  Forward and backward graphs of a split are left out: a backward
 * graph computes batch_norm again for its first result alone.
 */
#include <string.h>

#include "graph/passes.h"

static bool is_half(const gcut_graph *g)
{
    const gcut_module *m = g->module;
    for (uint32_t i = 0; i < m->pairs.n; i++)
        if (!strcmp(m->pairs.at[i].fwd, g->name) || !strcmp(m->pairs.at[i].bwd, g->name)) return true;
    for (uint32_t i = 0; i < g->params.n; i++)
        if (g->params.at[i].role == GCUT_ROLE_saved) return true;
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_saved) return true;
    return false;
}

static bool is_wanted(const gcut_node *n, const bool *wanted)
{
    for (uint32_t k = 0; k < n->nres; k++)
        if (wanted[n->res0 + k]) return true;
    return false;
}

/* By value: some result depends on it. */
static bool *find_wanted(const gcut_graph *g, gcut_arena *a)
{
    bool *wanted = gcut_calloc(a, g->values.n, sizeof *wanted);
    for (uint32_t i = 0; i < g->results.n; i++) wanted[g->results.at[i].value] = true;
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = &g->nodes.at[i];
        for (uint32_t k = 0; is_wanted(n, wanted) && k < n->nargs; k++) wanted[gcut_arg(g, n, k)] = true;
    }
    return wanted;
}

static void look(const gcut_graph *g, const gcut_node *n, const bool *wanted)
{
    static const char *const what[] = {"mean", "variance"};
    for (uint32_t k = 0; k < 2; k++) {
        const gcut_value *old = &g->values.at[gcut_arg(g, n, 3 + k)];
        if (old->def != GCUT_NONE || g->params.at[old->index].role != GCUT_ROLE_state) continue;
        if (wanted[n->res0 + 1 + k]) continue;
        gcut_fail(
            g->module->env, GCUT_ETYPE, gcut_loc_place(g->module, n->loc),
            gcut_printf(g->module->arena,
                        "gcut_next(g, \"%s\", next[%u]) in C, the result `next %s` in the text; or make "
                        "it an input, which stays as it is",
                        old->name, k, old->name),
            "the running %s %%%s of batch_norm is never updated", what[k], old->name);
    }
}

void gcut_refuse_lost_statistics(const gcut_graph *g)
{
    if (is_half(g)) return;
    gcut_arena *scratch = gcut_arena_new(g->module->env, g->module->arena);
    const bool *wanted = NULL;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = &g->nodes.at[i];
        if (n->op != GCUT_OP_batch_norm) continue;
        if (!wanted) wanted = find_wanted(g, scratch);
        if (is_wanted(n, wanted)) look(g, n, wanted);
    }
    gcut_arena_free(scratch);
}
