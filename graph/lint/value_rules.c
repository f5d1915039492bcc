/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lint by values: what nobody reads, and states that nobody updates.
 */
#include <string.h>

#include "graph/lint/lint.h"
#include "graph/ops/node_facts.h"

const gcut_lint_words gcut_lint_rules[GCUT_NLINT_RULES] = {
#define RULE(id, means, instead) [GCUT_LINT_##id] = {#id, means, instead},
#include "graph/lint/rules.def"
#undef RULE
};

/* By value: an op reads it, or it is a result. */
static bool *find_read(const gcut_graph *g, gcut_arena *a)
{
    bool *read = gcut_calloc(a, g->values.n, sizeof *read);
    for (uint32_t i = 0; i < g->nodes.n; i++)
        for (uint32_t k = 0; k < g->nodes.at[i].nargs; k++) read[gcut_arg(g, &g->nodes.at[i], k)] = true;
    for (uint32_t i = 0; i < g->results.n; i++) read[g->results.at[i].value] = true;
    return read;
}

static bool is_updated(const gcut_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_next && !strcmp(g->results.at[i].name, name)) return true;
    return false;
}

static bool are_updated(const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_next) return true;
    return false;
}

void gcut_lint_values(const gcut_graph *g, gcut_findings *out)
{
    const bool *read = find_read(g, out->arena);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_param *p = &g->params.at[i];
        const char *name = g->values.at[p->value].name;
        if (!read[p->value])
            gcut_lint_add(out, GCUT_LINT_unread_input, g, p->value, gcut_role_name(p->role), 0);
        /* A graph of evaluation updates nothing. */
        if (read[p->value] && p->role == GCUT_ROLE_state && !is_updated(g, name))
            gcut_lint_add(out, GCUT_LINT_stale_state, g, p->value,
                          are_updated(g) ? "others are updated" : "no state is updated", 0);
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = &g->nodes.at[i];
        if (!n->nres || gcut_any_result(n, read)) continue;
        gcut_lint_add(out, GCUT_LINT_unused_value, g, n->res0, gcut_op_get((gcut_op)n->op)->name, 0);
    }
}
