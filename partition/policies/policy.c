/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of policies, and the policies that decide each value on its own.
 */
#include "partition/policies/policy.h"

#include "graph/ops/node_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_forward(const gcut_problem *p, gcut_ref v)
{
    return p->facts->side[v] == GCUT_SIDE_FORWARD;
}

/* Saves every forward value that the backward graph reads, as eager frameworks do.  The backward graph
 * computes either values and views. */
static bool *save_all(const gcut_problem *p, gcut_arena *arena)
{
    bool *saved = gcut_calloc(arena, p->g->values.n, 1);
    for (gcut_ref v = 1; v < p->g->values.n; v++)
        saved[v] = p->facts->side[v] != GCUT_SIDE_EITHER && !gcut_value_is(p->g, v, GCUT_CLASS_VIEW);
    return saved;
}

static bool *recompute_all(const gcut_problem *p, gcut_arena *arena)
{
    return gcut_calloc(arena, p->g->values.n, 1);
}

/* Selective activation checkpointing as torchtitan does it: of the contractions of the forward graph, in the
 * order of the graph, the first, third, fifth … are saved; all other values are recomputed. */
static bool *every_2nd_matmul(const gcut_problem *p, gcut_arena *arena)
{
    const gcut_graph *g = p->g;
    bool *saved = gcut_calloc(arena, g->values.n, 1);
    bool odd = false;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (gcut_node_class(n) != GCUT_CLASS_CONTRACTION || !is_forward(p, n->res0)) continue;
        odd = !odd;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) saved[v] = odd;
    }
    return saved;
}

/* By value: it depends on an input or a state, not on parameters alone. */
static bool *activations(const gcut_problem *p, gcut_arena *arena)
{
    const gcut_graph *g = p->g;
    bool *data = gcut_calloc(arena, g->values.n, 1);
    for (uint32_t i = 0; i < g->params.n; i++)
        data[g->params.at[i].value] = g->params.at[i].role != GCUT_ROLE_param;
    gcut_add_dependents(g, data);
    return data;
}

/* A product of two activations, such as q k' or scores v, but not x w. */
static bool mixes(const gcut_problem *p, const gcut_node *n, const bool *data)
{
    return gcut_node_class(n) == GCUT_CLASS_CONTRACTION && n->nargs >= 2 && is_forward(p, n->res0) &&
           data[gcut_arg(p->g, n, 0)] && data[gcut_arg(p->g, n, 1)];
}

/* The selective recomputation of Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
 * Models" (2022), section 5: all is saved except the core of attention, which is large and cheap to compute
 * again: q k', the softmax and its dropout.  q, k and v are saved, and so is the result of the core, because
 * the output projection reads it.
 *
 * The core is what lies between two products of activations: the result of the first, and what leads from
 * there to an operand of the second by anything but a product.  The op `attention` never stores its core, and
 * its derivative recomputes it in any case, so for that op this policy equals save-all. */
static bool *attention_only(const gcut_problem *p, gcut_arena *arena)
{
    const gcut_graph *g = p->g;
    bool *saved = save_all(p, arena), *data = activations(p, arena);
    bool *after = gcut_calloc(arena, g->values.n, 1), *before = gcut_calloc(arena, g->values.n, 1);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        bool product = gcut_node_class(n) == GCUT_CLASS_CONTRACTION;
        bool from = mixes(p, n, data) || (!product && gcut_any_arg(g, n, after));
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) after[v] = from && is_forward(p, v);
    }
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        bool product = gcut_node_class(n) == GCUT_CLASS_CONTRACTION;
        bool to = mixes(p, n, data) || (!product && gcut_any_result(n, before));
        for (uint32_t k = 0; to && k < n->nargs; k++) before[gcut_arg(g, n, k)] = true;
    }
    for (gcut_ref v = 1; v < g->values.n; v++) saved[v] &= !(after[v] && before[v]);
    return saved;
}

/* ---- the table ---- */

static const gcut_policy_info policies[] = {
    [GCUT_POLICY_MINCUT] = {"mincut", "the cheapest plan at the price of --lambda", NULL},
    [GCUT_POLICY_SAVE_ALL] = {"save-all", "whatever the backward graph reads is saved", save_all},
    [GCUT_POLICY_RECOMPUTE_ALL] = {"recompute-all", "nothing is saved", recompute_all},
    [GCUT_POLICY_TORCH] = {"torch", "the rules of PyTorch's partitioner", gcut_policy_torch},
    [GCUT_POLICY_TORCH_BUDGET] = {"torch:B", "PyTorch's, with an activation_memory_budget B of 0 to 1",
                                  gcut_policy_torch_budget},
    [GCUT_POLICY_SQRT] = {"sqrt", "only the ends of about sqrt(n) segments are saved", gcut_policy_sqrt},
    [GCUT_POLICY_EVERY_2ND_MATMUL] = {"every-2nd-matmul",
                                      "every second contraction is saved, and nothing else",
                                      every_2nd_matmul},
    [GCUT_POLICY_ATTENTION_ONLY] = {"attention-only", "all but the core of attention is saved",
                                    attention_only},
};
#define NPOLICIES (sizeof policies / sizeof *policies)
_Static_assert(NPOLICIES == GCUT_NPOLICIES, "a row for each policy");

const gcut_policy_info *gcut_policy_get(gcut_policy p)
{
    return (unsigned)p < NPOLICIES ? &policies[p] : NULL;
}

const char *gcut_policy_name(gcut_policy p)
{
    return policies[p].name;
}

static bool parse_name(const char *s, gcut_policy *out)
{
    for (size_t i = 0; i < NPOLICIES; i++)
        if (i != GCUT_POLICY_TORCH_BUDGET && !strcmp(s, policies[i].name)) {
            *out = (gcut_policy)i;
            return true;
        }
    return false;
}

bool gcut_policy_read(const char *s, gcut_plan_options *opt)
{
    static const char prefix[] = "torch:";
    if (strncmp(s, prefix, strlen(prefix)) != 0) return parse_name(s, &opt->policy);
    char *end;
    const char *number = s + strlen(prefix);
    double b = strtod(number, &end);
    if (end == number || *end || !(b >= 0 && b <= 1)) return false;
    opt->policy = GCUT_POLICY_TORCH_BUDGET;
    opt->torch_budget = b;
    return true;
}

const char *gcut_policy_text(gcut_arena *arena, const gcut_plan_options *opt)
{
    if (opt->policy == GCUT_POLICY_TORCH_BUDGET) return gcut_printf(arena, "torch:%g", opt->torch_budget);
    return gcut_policy_name(opt->policy);
}

const char *gcut_policy_list(gcut_arena *arena)
{
    gcut_text t = {.arena = arena};
    for (size_t i = 0; i < NPOLICIES; i++) gcut_text_add(&t, "%s%s", i ? ", " : "", policies[i].name);
    return t.at;
}
