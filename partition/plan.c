/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_plan_make: from options to decisions.
 */
#include "partition/plan.h"

#include <math.h>

#include "partition/cut/frontier.h"
#include "partition/plan_file/plan_file.h"
#include "partition/policies/policy.h"

static const char *const *copy_names(gcut_module *m, const char *const *names, uint32_t n)
{
    const char **copy = gcut_calloc(m->arena, (size_t)n + 1, sizeof *copy);
    for (uint32_t i = 0; i < n; i++) copy[i] = gcut_intern_name(m, names[i]);
    return copy;
}

/* Copies the caller's arrays into the module: reports solve again with the options after the caller is gone.
 */
static gcut_plan_options copy_options(gcut_module *m, const gcut_plan_options *opt)
{
    gcut_plan_options o = *opt;
    o.at = opt->nat ? gcut_memdup(m->arena, opt->at, opt->nat * sizeof *opt->at) : NULL;
    o.save = copy_names(m, opt->save, opt->nsave);
    o.recompute = copy_names(m, opt->recompute, opt->nrecompute);
    return o;
}

static gcut_dim saved_sym(const gcut_graph *g, const gcut_choice *c)
{
    gcut_module *m = g->module;
    gcut_dim sum = 0;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (c->decision[v] != GCUT_PLAN_SAVED) continue;
        gcut_dim bytes = gcut_format_bytes(m, gcut_type_of(g, v), c->format[v]);
        sum = gcut_dim_make(m->dims, GCUT_DIM_ADD, sum, bytes);
    }
    return sum;
}

/* The problem in which what the choice saves has the storage format of the choice: a search may change formats. */
static gcut_problem in_formats_of(const gcut_problem *p, const gcut_choice *c, gcut_arena *arena)
{
    gcut_problem q = *p;
    q.format = gcut_memdup(arena, p->format, p->g->values.n * sizeof *p->format);
    for (gcut_ref v = 1; v < p->g->values.n; v++)
        if (c->decision[v] == GCUT_PLAN_SAVED) q.format[v] = c->format[v];
    return q;
}

static void fill_decisions(gcut_plan *plan, const gcut_problem *of, const gcut_choice *c)
{
    const gcut_graph *g = plan->joint;
    gcut_arena *scratch = gcut_arena_new(g->module->env, g->module->arena);
    const gcut_problem q = in_formats_of(of, c, scratch), *p = &q;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        gcut_decision *d = &plan->value[v];
        const char *why = NULL;
        d->side = p->facts->side[v];
        d->decision = c->decision[v];
        d->format = c->format[v];
        d->grad = d->format == GCUT_FORMAT_GRAD ? p->facts->grad[v] - 1 : 0;
        d->forced = p->force[v] != GCUT_CONSTRAINT_NONE;
        d->bytes = p->facts->base[v] == v ? gcut_value_saved_bytes(p, v, c->format[v]) : 0;
        d->recompute_ns = p->price[v].recompute_ns;
        d->save_ns = d->side == GCUT_SIDE_BACKWARD ? INFINITY : gcut_save_price(p, v, c->lambda, &why);
        d->reason = p->force[v] == GCUT_CONSTRAINT_SAVE ? "must be saved, as asked for"
                    : why                               ? why
                                                        : p->price[v].why;
        if (d->side == GCUT_SIDE_BACKWARD) d->reason = "belongs to the backward graph alone";
        if (p->force[v] == GCUT_CONSTRAINT_SAVE || gcut_value_runs_once(g, v)) d->recompute_ns = INFINITY;
    }
    for (uint32_t k = 0; k < c->backward.n; k++) {
        const gcut_node *n = gcut_node_at(g, c->backward.node[k]);
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
            plan->value[v].copies += plan->value[v].decision == GCUT_PLAN_RECOMPUTED;
    }
    gcut_arena_free(scratch);
}

gcut_plan *gcut_plan_from(const gcut_problem *p, const gcut_plan_options *opt, const gcut_choice *c)
{
    gcut_graph *joint = p->g;
    gcut_module *m = joint->module;
    gcut_plan *plan = gcut_calloc(m->arena, 1, sizeof *plan);
    plan->joint = joint;
    plan->options = copy_options(m, opt);
    plan->value = gcut_calloc(m->arena, joint->values.n, sizeof *plan->value);
    fill_decisions(plan, p, c);
    plan->backward = (gcut_schedule){
        c->backward.n, gcut_memdup(m->arena, c->backward.node, c->backward.n * sizeof *c->backward.node)};
    plan->cost_ns = c->cost_ns;
    plan->lower_bound_ns = c->lower_bound_ns;
    plan->recompute_ns = c->recompute_ns;
    plan->saved_bytes = c->saved_bytes;
    plan->saved_bytes_sym = saved_sym(joint, c);
    plan->cache = gcut_calloc(m->arena, 1, sizeof *plan->cache);
    plan->peak_bytes = -1;
    plan->step_ns = NAN;
    return plan;
}

gcut_plan *gcut_plan_make(gcut_graph *joint, const gcut_plan_options *opt)
{
    gcut_module *m = joint->module;
    GCUT_ASSERT(gcut_is_lambda(opt->lambda) && gcut_policy_get(opt->policy));
    if (opt->file) return gcut_plan_replay(joint, opt, NULL);
    gcut_arena *scratch = gcut_arena_new(m->env, m->arena);
    gcut_problem *p = gcut_problem_new(scratch, joint, opt);
    gcut_plan_options o = *opt;
    if (o.saved_limited) o.lambda = 0;
    gcut_choice *c = o.saved_limited ? gcut_choose_at_most(p, scratch, o.saved_budget)
                                     : gcut_choose(p, scratch, gcut_policy_get(o.policy)->saved, o.lambda);
    gcut_plan *plan = gcut_plan_from(p, &o, c);
    gcut_arena_free(scratch);
    return plan;
}
