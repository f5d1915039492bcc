/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Refuses running statistics of batch_norm that are never updated.
 *
 * The running mean or variance of a batch_norm is a `state` of the function, and its new value reaches no
 * result of the function; the batch_norm may be in a function that it calls or in the body of a loop or
 * branch.  Then no call of the function updates the state, which is an error in the model.  Forward and
 * backward graphs of a split are not checked: a backward graph recomputes batch_norm for its first result
 * alone.
 */
#include <string.h>

#include "passes/passes.h"

/* ---- what results depend on ---- */

/* For one graph and some of its results: the values on which these depend. */
typedef struct demand {
    const gcut_graph *g;
    const bool *result; /* by result */
    bool *value;        /* by value */
    struct demand *next;
} demand;

/* A graph that was checked for these results, with states for these parameters. */
typedef struct visit {
    const gcut_graph *g;
    const bool *result, *state;
    struct visit *next;
} visit;

typedef struct search {
    gcut_arena *arena;
    const gcut_graph *top;
    demand *demands; /* functions are checked once, not 2^depth times where each calls another twice */
    visit *visits;
} search;

static const bool *demand_of(search *s, const gcut_graph *g, const bool *result);

/* The derivative of a call is no part of the function. */
static uint32_t run_regions(const gcut_node *n)
{
    return n->op == GCUT_OP_call ? 1 : n->nregs;
}

/* By result of region r: is it wanted?  A carried value is also where the next iteration needs it. */
static bool *wanted_of_region(search *s, const gcut_graph *g, const gcut_node *n, uint32_t r,
                              const bool *wanted)
{
    const gcut_graph *body = gcut_region_at(g, n, r)->body;
    bool *result = gcut_calloc(s->arena, body->results.n + 1, sizeof *result);
    bool loop = n->op == GCUT_OP_scan || n->op == GCUT_OP_while;
    uint32_t carries = loop ? gcut_node_carries(g, n) : 0;
    bool condition = n->op == GCUT_OP_while && r == 0;
    for (uint32_t k = 0; k < body->results.n; k++)
        result[k] = condition || k >= n->nres || wanted[n->res0 + k];
    for (bool changed = carries && !condition; changed;) {
        const bool *value = demand_of(s, body, result), *first = NULL;
        const gcut_graph *before = n->op == GCUT_OP_while ? gcut_region_at(g, n, 0)->body : NULL;
        if (before) first = demand_of(s, before, wanted_of_region(s, g, n, 0, wanted));
        changed = false;
        for (uint32_t k = 0; k < carries && k < body->results.n; k++) {
            bool read = value[body->params.at[k].value] || (first && first[before->params.at[k].value]);
            changed |= read && !result[k];
            result[k] |= read;
        }
        if (changed) result = gcut_memdup(s->arena, result, (body->results.n + 1) * sizeof *result);
    }
    return result;
}

/* Marks the operands of node n, which has a wanted result, that it depends on. */
static void want_operands(search *s, const gcut_graph *g, const gcut_node *n, bool *wanted)
{
    for (uint32_t k = 0; k < n->nargs; k++) {
        /* Only the new statistics depend on the old ones. */
        bool statistic = n->op == GCUT_OP_batch_norm && k >= 3;
        bool own = !n->nregs || (n->op == GCUT_OP_if && k == 0);
        if (own && (!statistic || wanted[n->res0 + 1 + (k - 3)])) wanted[gcut_arg(g, n, k)] = true;
    }
    for (uint32_t r = 0; r < run_regions(n); r++) {
        const gcut_graph *body = gcut_region_at(g, n, r)->body;
        const bool *inside = demand_of(s, body, wanted_of_region(s, g, n, r, wanted));
        for (uint32_t k = 0; k < body->params.n; k++)
            if (inside[body->params.at[k].value])
                wanted[gcut_arg(g, n, gcut_region_operand(n, body, k))] = true;
    }
}

static const bool *demand_of(search *s, const gcut_graph *g, const bool *result)
{
    for (const demand *d = s->demands; d; d = d->next)
        if (d->g == g && !memcmp(d->result, result, g->results.n * sizeof *result)) return d->value;
    bool *wanted = gcut_calloc(s->arena, g->values.n + 1, sizeof *wanted);
    for (uint32_t i = 0; i < g->results.n; i++) wanted[g->results.at[i].value] |= result[i];
    for (uint32_t i = g->nodes.n; i-- > 0;)
        if (gcut_any_result(gcut_node_at(g, i), wanted)) want_operands(s, g, gcut_node_at(g, i), wanted);
    demand *d = gcut_calloc(s->arena, 1, sizeof *d);
    *d = (demand){g, gcut_memdup(s->arena, result, (g->results.n + 1) * sizeof *result), wanted, s->demands};
    s->demands = d;
    return wanted;
}

/* ---- the statistics ---- */

static _Noreturn void fail_lost(const search *s, const gcut_graph *g, const gcut_node *n, uint32_t k,
                                const char *state)
{
    static const char *const what[] = {"mean", "variance"};
    gcut_arena *a = g->module->arena;
    gcut_fail(
        g->module->env, GCUT_ETYPE, gcut_loc_place(g->module, n->loc),
        g == s->top
            ? gcut_printf(a,
                          "gcut_next(g, \"%s\", next[%u]) in C, the result `next %s` in the text; or make "
                          "it an input, which stays as it is",
                          state, k, state)
            : gcut_printf(
                  a,
                  "make the new value a result of the functions and loops around batch_norm, and `next "
                  "%s` of @%s; or make it an input, which stays as it is",
                  state, s->top->name),
        "the running %s %%%s of batch_norm is never updated", what[k], state);
}

/* state: by parameter of g, the state of the function that it holds, or NULL. */
static void look(search *s, const gcut_graph *g, const bool *result, const char *const *state)
{
    bool *holds = gcut_calloc(s->arena, g->params.n + 1, sizeof *holds), any = false;
    for (uint32_t i = 0; i < g->params.n; i++) any |= holds[i] = state[i] != NULL;
    if (!any) return;
    for (const visit *v = s->visits; v; v = v->next)
        if (v->g == g && !memcmp(v->result, result, g->results.n * sizeof *result) &&
            !memcmp(v->state, holds, g->params.n * sizeof *holds))
            return;
    const bool *wanted = demand_of(s, g, result);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!gcut_any_result(n, wanted)) continue;
        for (uint32_t k = 0; n->op == GCUT_OP_batch_norm && k < 2; k++) {
            const gcut_value *old = &g->values.at[gcut_arg(g, n, 3 + k)];
            if (old->def == GCUT_NONE && state[old->index] && !wanted[n->res0 + 1 + k])
                fail_lost(s, g, n, k, state[old->index]);
        }
        for (uint32_t r = 0; r < run_regions(n); r++) {
            const gcut_graph *body = gcut_region_at(g, n, r)->body;
            const char **inner = gcut_calloc(s->arena, body->params.n + 1, sizeof *inner);
            for (uint32_t k = 0; k < body->params.n; k++) {
                const gcut_value *x = &g->values.at[gcut_arg(g, n, gcut_region_operand(n, body, k))];
                inner[k] = x->def == GCUT_NONE ? state[x->index] : NULL;
            }
            look(s, body, wanted_of_region(s, g, n, r, wanted), inner);
        }
    }
    visit *v = gcut_calloc(s->arena, 1, sizeof *v);
    *v = (visit){g, gcut_memdup(s->arena, result, (g->results.n + 1) * sizeof *result), holds, s->visits};
    s->visits = v;
}

void gcut_refuse_lost_statistics(const gcut_graph *g)
{
    if (gcut_is_forward(g) || gcut_is_backward(g)) return;
    gcut_arena *scratch = gcut_arena_new(g->module->env, g->module->arena);
    search s = {.arena = scratch, .top = g};
    bool *all = gcut_calloc(scratch, g->results.n + 1, sizeof *all);
    const char **state = gcut_calloc(scratch, g->params.n + 1, sizeof *state);
    memset(all, true, g->results.n);
    for (uint32_t i = 0; i < g->params.n; i++)
        if (g->params.at[i].role == GCUT_ROLE_state) state[i] = g->values.at[g->params.at[i].value].name;
    look(&s, g, all, state);
    gcut_arena_free(scratch);
}
