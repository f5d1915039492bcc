/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lint: what is correct in a graph, and probably not meant or slower than it needs to be.
 *
 *   in: a graph of the user's, verified; sizes of its symbols.   out: findings.   keeps: the graph.
 */
#ifndef GCUT_GRAPH_LINT_LINT_H
#define GCUT_GRAPH_LINT_LINT_H

#include "graph/graph.h"

typedef enum gcut_lint_rule {
#define RULE(id, means, instead) GCUT_LINT_##id,
#include "graph/lint/rules.def"
#undef RULE
    GCUT_NLINT_RULES
} gcut_lint_rule;

typedef struct gcut_lint_words {
    const char *name, *means, *instead;
} gcut_lint_words;
extern const gcut_lint_words gcut_lint_rules[GCUT_NLINT_RULES];

typedef struct gcut_finding {
    gcut_lint_rule rule;
    const gcut_graph *graph; /* the function, or a body */
    gcut_ref value;
    const char *says; /* of this value: "1,048,576 elements out of 1,024 and 1,024" */
    double bytes;     /* that it is about; 0: none */
} gcut_finding;

typedef struct gcut_findings {
    gcut_arena *arena;
    const gcut_dim_binding *at; /* a size for every symbol */
    uint32_t nat;
    GCUT_VEC(gcut_finding) list;
} gcut_findings;

/* By the rules of values: unread_input, unused_value, stale_state; of a function alone. */
void gcut_lint_values(const gcut_graph *g, gcut_findings *out);
/* By those of ops, bodies of loops and branches included: all others but no_gradient and layout_change, which need the
 * joint graph and kernels. */
void gcut_lint_ops(const gcut_graph *g, gcut_findings *out);

static inline void gcut_lint_add(gcut_findings *out, gcut_lint_rule rule, const gcut_graph *g, gcut_ref v,
                                 const char *says, double bytes)
{
    *GCUT_PUSH(out->arena, &out->list) =
        (gcut_finding){.rule = rule, .graph = g, .value = v, .says = says, .bytes = bytes};
}

#endif
