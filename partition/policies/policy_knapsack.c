/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch's activation_memory_budget, with its defects: the budget is a share of saved bytes and not of the
 * peak, the knapsack assumes independent items, and the last cut is not checked against the budget.
 */
#include "graph/ops/node_facts.h"
#include "partition/policies/policy_torch.h"

#include <math.h>
#include <stdlib.h>

#define UNITS 10000 /* the budget is counted in these by the dynamic program */

/* best[j]: the greatest value of items up to i with sizes of at most j/UNITS in all; took[i][j]: item i is
 * one of them.  Values are summed in f32, as in PyTorch: beside products of 1e8 flops an item of value 1 adds
 * nothing and is not kept. */
bool *gcut_torch_knapsack(gcut_arena *arena, const double *size, const double *value, uint32_t n, double room)
{
    bool *kept = gcut_calloc(arena, (size_t)n + 1, 1);
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    int64_t units = (int64_t)nearbyint(room * UNITS);
    size_t width = (size_t)units + 1;
    float *best = gcut_calloc(scratch, width, sizeof *best);
    bool *took = gcut_calloc(scratch, (n + (size_t)1) * width, 1);
    for (uint32_t i = 0; i < n; i++) {
        double s = nearbyint(size[i] * UNITS);
        for (int64_t j = units; s <= (double)j; j--) {
            float with = best[j - (int64_t)s] + (float)value[i];
            if (with <= best[j]) continue;
            best[j] = with;
            took[i * width + (size_t)j] = true;
        }
    }
    for (uint32_t i = n; i-- > 0;) {
        kept[i] = took[i * width + (size_t)units];
        if (kept[i]) units -= (int64_t)nearbyint(size[i] * UNITS);
    }
    gcut_arena_free(scratch);
    return kept;
}

typedef struct item {
    uint32_t node;
    double bytes;
} item;

static int larger_first(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static double input_bytes(const gcut_problem *p)
{
    const gcut_graph *g = p->g;
    double sum = 0;
    for (uint32_t i = 0; i < g->params.n; i++)
        if (g->params.at[i].role != GCUT_ROLE_cotan) sum += (double)p->price[g->params.at[i].value].bytes;
    return sum;
}

/* The value of an item is its flops, at least one. */
static bool *choose(const gcut_torch_rules *t, const bool *banned, double range, double budget)
{
    const gcut_graph *g = t->g;
    bool *allowed = gcut_calloc(t->arena, (size_t)g->nodes.n + 1, 1);
    item *items = gcut_calloc(t->arena, (size_t)g->nodes.n + 1, sizeof *items);
    double *size = gcut_calloc(t->arena, (size_t)g->nodes.n + 1, sizeof *size);
    double *value = gcut_calloc(t->arena, (size_t)g->nodes.n + 1, sizeof *value);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *x = gcut_node_at(g, i);
        if (!banned[i] || t->p->force[x->res0] == GCUT_CONSTRAINT_SAVE || !gcut_torch_reaches(t, x)) continue;
        items[n].node = i;
        for (gcut_ref v = x->res0; v < x->res0 + x->nres; v++) items[n].bytes += (double)t->p->price[v].bytes;
        n++;
    }
    qsort(items, n, sizeof *items, larger_first);
    for (uint32_t k = 0; k < n; k++) {
        size[k] = items[k].bytes / range;
        value[k] = gcut_node_flops(g, gcut_node_at(g, items[k].node), t->p->opt->at, t->p->opt->nat);
        if (value[k] < 1) value[k] = 1;
    }
    bool *kept = gcut_torch_knapsack(t->arena, size, value, n, budget);
    for (uint32_t k = 0; k < n; k++) allowed[items[k].node] = !kept[k];
    return allowed;
}

bool *gcut_policy_torch_budget(const gcut_problem *p, gcut_arena *arena)
{
    double budget = p->opt->torch_budget, inputs = input_bytes(p);
    if (budget == 0) return gcut_calloc(arena, p->g->values.n, 1);
    const gcut_torch_rules *t = gcut_torch_rules_new(p, arena);
    gcut_torch_cut fast = gcut_torch_solve(t, GCUT_TORCH_FAST, NULL);
    double range = fast.bytes - inputs;
    if (budget == 1 || range <= 0) return fast.saved;
    gcut_torch_cut list = gcut_torch_solve(t, GCUT_TORCH_LIST, NULL);
    if ((list.bytes - inputs) / range < budget) return list.saved;
    gcut_torch_cut deny = gcut_torch_solve(t, GCUT_TORCH_DENY, NULL);
    if ((deny.bytes - inputs) / range < budget) return deny.saved;
    return gcut_torch_solve(t, GCUT_TORCH_DENY, choose(t, deny.banned, range, budget)).saved;
}
