/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lint: the rules of the graph, then those that need its derivative and its kernels.
 */
#include <stdlib.h>
#include <string.h>

#include "driver/inspect/of_pipeline.h"
#include "driver/inspect/table_text.h"
#include "driver/options/default_sizes.h"
#include "driver/options/options.h"
#include "gradcut/inspect.h"
#include "graph/lint/lint.h"
#include "graph/ops/node_facts.h"
#include "partition/query/plan_queries.h"
#include "report/report.h"

/* A kernel that moves less is not worth a finding. */
#define MOVED_BYTES (1 << 20)

typedef struct linting {
    gcut_arena *keep, *a; /* of the result; scratch */
    const gcut_pipeline *p;
    gcut_findings found;
} linting;

/* ---- gradients ---- */

static void check_gradients(linting *j)
{
    const gcut_graph *joint = j->p->raw;
    for (uint32_t i = 0; i < joint->results.n; i++) {
        const gcut_result *r = &joint->results.at[i];
        if (r->role != GCUT_ROLE_grad || !gcut_is_zero(joint, r->value)) continue;
        const gcut_param *x = gcut_param_find(j->p->primal, r->name);
        if (x)
            gcut_lint_add(&j->found, GCUT_LINT_no_gradient, j->p->primal, x->value, gcut_role_name(x->role),
                          0);
    }
}

/* ---- layout ---- */

/* Does the node only move what its operands have? */
static bool moves(const gcut_node *n)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    return info->class == GCUT_CLASS_VIEW || n->op == GCUT_OP_concat || n->op == GCUT_OP_flip;
}

/* Launches of which every op moves, by launch. */
static void check_layout(linting *j)
{
    const gcut_pipeline *p = j->p;
    const gcut_launches l = gcut_program_fusions(p->program, j->a);
    const gcut_costs costs = gcut_program_costs(p->program, p->machine, p->at, p->nat, p->threads, j->a);
    const int n = costs.n ? costs.at[costs.n - 1].launch + 1 : 0;
    const gcut_launch_op **last = gcut_calloc(j->a, (size_t)n + 1, sizeof(*last));
    bool *computes = gcut_calloc(j->a, (size_t)n + 1, sizeof *computes);
    for (uint32_t i = 0; i < l.nops; i++) {
        if (l.op[i].launch >= n) continue;
        last[l.op[i].launch] = &l.op[i];
        computes[l.op[i].launch] |= !moves(gcut_node_at(l.op[i].graph, l.op[i].node));
    }
    for (uint32_t i = 0; i < costs.n; i++) {
        const gcut_cost *c = &costs.at[i];
        const gcut_launch_op *x = last[c->launch];
        if (!x || computes[c->launch] || c->read + c->written < MOVED_BYTES) continue;
        gcut_lint_add(&j->found, GCUT_LINT_layout_change, x->graph, gcut_node_at(x->graph, x->node)->res0,
                      gcut_printf(j->a, "%s, %s graph",
                                  gcut_op_get((gcut_op)gcut_node_at(x->graph, x->node)->op)->name,
                                  c->graph ? "backward" : "forward"),
                      c->read + c->written);
    }
}

/* ---- the report ---- */

static const gcut_lint_finding *finding_of(const linting *j, const gcut_finding *x)
{
    const gcut_node *n = gcut_def(x->graph, x->value);
    const gcut_lint_words *words = &gcut_lint_rules[x->rule];
    const gcut_query q = {.g = x->graph, .arena = j->keep};
    const char *line = n ? gcut_query_line(j->keep, x->graph->module, n->loc) : gcut_query_at(&q, x->value);
    return GCUT_NEW(j->keep, gcut_lint_finding, .rule = words->name, .means = words->means,
                    .instead = words->instead,
                    .value = gcut_keep(j->keep, x->graph->values.at[x->value].name),
                    .where = line && strcmp(line, "-") != 0 ? gcut_keep(j->keep, line) : "",
                    .says = gcut_keep(j->keep, x->says), .bytes = x->bytes);
}

static int by_rule(const void *a, const void *b)
{
    const gcut_finding *x = *(const gcut_finding *const *)a, *y = *(const gcut_finding *const *)b;
    if (x->rule != y->rule) return x->rule < y->rule ? -1 : 1;
    return (x > y) - (x < y);
}

static void fill(linting *j, gcut_lint_report *out)
{
    const uint32_t n = j->found.list.n;
    const gcut_finding **sorted = gcut_calloc(j->a, n + 1u, sizeof(*sorted));
    for (uint32_t i = 0; i < n; i++) sorted[i] = &j->found.list.at[i];
    if (n) qsort(sorted, n, sizeof *sorted, by_rule);
    out->graph = gcut_keep(j->keep, j->p->primal->name);
    out->at = gcut_sizes_named(j->keep, j->p->module, j->p->at, j->p->nat);
    out->nat = j->p->nat;
    GCUT_LIST(j->keep, out->finding, n, finding_of(j, sorted[i]));
    out->n = n;
}

void gcut_lint_of(const gcut_pipeline *p, gcut_arena *keep, gcut_arena *scratch, gcut_lint_report *out)
{
    linting j = {.keep = keep, .a = scratch, .p = p};
    j.found = (gcut_findings){.arena = scratch, .at = p->at, .nat = p->nat};
    gcut_lint_values(p->primal, &j.found);
    gcut_lint_ops(p->primal, &j.found);
    if (p->plan) check_gradients(&j);
    check_layout(&j);
    fill(&j, out);
}

static void fill_whole(const gcut_pipeline *p, const gcut_made *m)
{
    gcut_lint_report *out = m->object;
    gcut_text json = {.arena = m->keep};
    gcut_lint_of(p, m->keep, m->scratch, out);
    gcut_write_lint_json(out, &json);
    out->json = json.at;
}

gcut_lint_report *gcut_lint_sized(size_t size, gcut_graph *g, const gcut_options *opt)
{
    GCUT_NEED(NULL, g, NULL);
    return gcut_made_of_graph(g, opt, size, sizeof(gcut_lint_report), fill_whole);
}

static void write_text(const void *r, const gcut_table_options *o, gcut_text *out)
{
    gcut_write_lint_text(r, o, out);
}

char *gcut_lint_text_sized(size_t size, gcut_ctx *ctx, const gcut_lint_report *r,
                           const gcut_table_options *table)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, r, NULL);
    return gcut_table_text(ctx->env, write_text, r, table, size);
}
