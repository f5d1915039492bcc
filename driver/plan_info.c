/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan as data: gcut_plan_look.
 */
#include <string.h>

#include "driver/ctx.h"
#include "partition/form.h"
#include "partition/policy.h"
#include "partition/report.h"

typedef struct job {
    const gcut_plan *plan;
    gcut_arena *a; /* of the plan */
    gcut_report_ctx r;
    GCUT_VEC(gcut_plan_value) all;
    gcut_plan_info *out;
} job;

static const char *name_of(const job *j, gcut_ref v)
{
    return j->r.g->values.at[v].name;
}

static void add_readers(const job *j, gcut_ref v, gcut_plan_value *out)
{
    gcut_refs who = gcut_report_readers(&j->r, v);
    gcut_plan_reader *at = gcut_calloc(j->a, who.n + 1, sizeof *at);
    for (uint32_t i = 0; i < who.n; i++)
        at[i] = (gcut_plan_reader){name_of(j, who.at[i]), gcut_maker_name(j->r.g, who.at[i]),
                                   gcut_report_recomputed(&j->r, who.at[i])};
    out->readers = at;
    out->nreaders = who.n;
}

static void add(job *j, gcut_ref v, gcut_plan_decision decision)
{
    const gcut_decision *d = &j->plan->value[v];
    const gcut_flips *f = &j->r.flips[v];
    gcut_plan_value *out = GCUT_PUSH(j->a, &j->all);
    *out = (gcut_plan_value){.name = name_of(j, v),
                             .type = gcut_report_type(&j->r, v),
                             .op = gcut_maker_name(j->r.g, v),
                             .where = gcut_report_at(&j->r, v),
                             .decision = decision,
                             .storage = gcut_form_name(d->form),
                             .forced = d->forced,
                             .copies = decision == GCUT_PLAN_RECOMPUTED ? (int)d->copies : 0,
                             .bytes = decision == GCUT_PLAN_SAVED ? d->bytes : j->r.p->price[v].bytes,
                             .save_ns = d->save_ns,
                             .recompute_ns = d->recompute_ns,
                             .flips = f->at,
                             .nflips = f->n};
    add_readers(j, v, out);
}

static bool is_alive(const job *j, gcut_ref v)
{
    if (j->plan->value[v].fate != GCUT_F_FREE || gcut_value_is(j->r.g, v, GCUT_CLASS_CONSTANT)) return false;
    return j->r.p->facts->read[v] || gcut_report_readers(&j->r, v).n;
}

static const gcut_size *sizes_of(const job *j)
{
    const gcut_plan_options *o = &j->plan->options;
    gcut_size *at = gcut_calloc(j->a, (size_t)o->nat + 1, sizeof *at);
    for (uint32_t i = 0; i < o->nat; i++)
        at[i] = (gcut_size){gcut_report_sym(&j->r, o->at[i].sym), o->at[i].value};
    return at;
}

static void look(void *arg)
{
    job *j = arg;
    const gcut_plan *p = j->plan;
    j->r = gcut_report_open(p, j->a);
    gcut_refs saved = gcut_report_saved(&j->r);
    for (uint32_t i = 0; i < saved.n; i++) add(j, saved.at[i], GCUT_PLAN_SAVED);
    for (gcut_ref v = 1; v < j->r.g->values.n; v++)
        if (gcut_report_recomputed(&j->r, v)) add(j, v, GCUT_PLAN_RECOMPUTED);
    for (gcut_ref v = 1; v < j->r.g->values.n; v++)
        if (is_alive(j, v)) add(j, v, GCUT_PLAN_ALIVE);
    j->out = gcut_calloc(j->a, 1, sizeof *j->out);
    *j->out = (gcut_plan_info){.graph = j->r.g->name,
                               .policy = gcut_policy_text(j->a, &p->options),
                               .lambda = p->options.lambda,
                               .budget = p->budget,
                               .saved_budget = p->options.saved_limited ? p->options.saved_budget : -1,
                               .at = sizes_of(j),
                               .nat = p->options.nat,
                               .saved_bytes = p->saved_bytes,
                               .peak_bytes = p->peak_bytes,
                               .step_ns = p->step_ns,
                               .recompute_ns = p->recompute_ns,
                               .cost_ns = p->cost_ns,
                               .lower_bound_ns = p->lower_bound_ns,
                               .value = j->all.at,
                               .n = j->all.n};
}

const gcut_plan_info *gcut_plan_look(const gcut_plan *plan)
{
    GCUT_NEED(NULL, plan, NULL);
    if (plan->info) return plan->info;
    gcut_module *m = plan->joint->module;
    job j = {.plan = plan, .a = m->arena};
    if (!gcut_guard(m->env, look, &j)) return NULL;
    /* What is kept answers questions; the plan itself stays as it is. */
    ((gcut_plan *)(uintptr_t)plan)->info = j.out;
    return j.out;
}
