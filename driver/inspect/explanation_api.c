/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One decision explained: the plan, the value's part in it, and the step lowered and placed again with the other
 * decision for that value.
 */
#include <math.h>
#include <string.h>

#include "driver/inspect/kernel_changes.h"
#include "driver/options/options.h"
#include "driver/pipeline/compile.h"
#include "driver/pipeline/plan_info.h"
#include "partition/query/explanation.h"
#include "report/report.h"

typedef struct explaining {
    gcut_env *env;
    gcut_arena *keep, *arena; /* of the explanation; scratch */
    gcut_graph *g;
    const gcut_options *asked; /* the caller's, of `size` bytes */
    size_t size;
    gcut_settings opt;
    const char *value;
    const gcut_pipeline *planned, *flipped; /* flipped: NULL until there is one */
    gcut_why *why;
    const char *refused;
    uint32_t ndiags; /* before the flip */
} explaining;

static void explain(explaining *e)
{
    e->opt = gcut_settings_of(e->env, e->asked, e->size);
    e->opt.forward_only = false;
    e->planned = gcut_pipeline_planned(e->g, &e->opt, e->arena);
    e->why = gcut_why_of(e->planned->plan, e->value, e->arena);
}

static bool is_named(const char *name, const char *bare)
{
    return !strcmp(name + (name[0] == '%'), bare);
}

/* The names of the list but that one. */
static const char **without(const explaining *e, const char *const *list, size_t *n, const char *name)
{
    const char **out = gcut_calloc(e->arena, *n + 1, sizeof *out);
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++)
        if (!is_named(list[i], name)) out[kept++] = list[i];
    *n = kept;
    return out;
}

/* The plan with the other decision for this value: all others stay, except of values that only this one needs,
 * and the step is lowered and placed again. */
static void flip(void *arg)
{
    explaining *e = arg;
    gcut_settings o = e->opt;
    const char *name = e->why->r.g->values.at[e->why->v].name;
    gcut_text text = {.arena = e->arena};
    gcut_plan_file_text(e->planned->plan, &text);
    gcut_plan_file *file = gcut_plan_file_parse(e->arena, "the plan", text.at, text.n);
    gcut_plan_file_flip(file, name, e->arena);
    o.save = without(e, o.save, &o.nsave, name);
    o.recompute = without(e, o.recompute, &o.nrecompute, name);
    o.plan = NULL;
    o.budget = o.saved_budget = 0;
    e->flipped = gcut_pipeline_replay(e->g, &o, GCUT_STAGE_KERNEL, e->arena, file);
}

/* The message of a failed flip becomes part of the answer; the call itself succeeds. */
static void take_refusal(explaining *e)
{
    gcut_env *env = e->env;
    if (env->status == GCUT_ENOMEM || env->status == GCUT_ECANCELLED) gcut_throw(env, env->status);
    e->refused =
        env->ndiags > e->ndiags ? gcut_printf(e->keep, "%s", env->diags[env->ndiags - 1].message) : NULL;
    gcut_diags_drop(env, e->ndiags);
}

/* ---- results ---- */

static const char *copy(const explaining *e, const char *s)
{
    return gcut_keep(e->keep, s);
}

static const char *name_of(const explaining *e, gcut_ref v)
{
    return v ? copy(e, e->why->r.g->values.at[v].name) : NULL;
}

static const gcut_explained_reader *reader_of(const explaining *e, const gcut_why_reader *x)
{
    const gcut_query *r = &e->why->r;
    return GCUT_NEW(e->keep, gcut_explained_reader, .name = name_of(e, x->value),
                    .op = gcut_maker_name(r->g, x->value), .recomputed = x->recomputed,
                    .rule_of = name_of(e, x->rule_of),
                    .rule_op = x->rule_of ? gcut_maker_name(r->g, x->rule_of) : NULL,
                    .rule_where = x->rule_of ? copy(e, gcut_query_at(r, x->rule_of)) : NULL);
}

static const gcut_explained_op *op_of(const explaining *e, gcut_ref v)
{
    const gcut_query *r = &e->why->r;
    return GCUT_NEW(e->keep, gcut_explained_op, name_of(e, v), gcut_maker_name(r->g, v),
                    r->p->price[v].recompute_ns);
}

static const gcut_explained_change *change_of(const explaining *e, gcut_ref v)
{
    const gcut_why *w = e->why;
    return GCUT_NEW(e->keep, gcut_explained_change, name_of(e, v), w->now->decision[v],
                    w->other->decision[v]);
}

static const gcut_explained_other *other_of(const explaining *e)
{
    const gcut_why *w = e->why;
    if (!w->other) return NULL;
    gcut_refs c = gcut_why_changes(w);
    gcut_explained_other *out = GCUT_NEW(e->keep, gcut_explained_other, .decision = gcut_why_flip(w),
                                         .cost_ns = w->other->cost_ns, .recompute_ns = w->other->recompute_ns,
                                         .saved_bytes = w->other->saved_bytes, .nchanges = c.n);
    GCUT_LIST(e->keep, out->change, c.n, change_of(e, c.at[i]));
    return out;
}

static const gcut_explained_step *step_of(const explaining *e, const gcut_pipeline *of)
{
    if (!of) return NULL;
    const gcut_plan *p = of->plan;
    return GCUT_NEW(e->keep, gcut_explained_step, p->peak_bytes, p->saved_bytes, p->step_ns);
}

/* By prices, the time of the plan with the flip, less that of the plan. */
static double flip_price(const explaining *e)
{
    if (!e->flipped || e->why->loop) return NAN;
    const gcut_problem *p = gcut_problem_of(e->arena, e->flipped->plan);
    return gcut_choice_of(p, e->arena, e->flipped->plan)->fixed_ns - e->why->now->fixed_ns;
}

static void describe(const explaining *e, gcut_explanation *out)
{
    const gcut_why *w = e->why;
    const gcut_graph *g = w->r.g;
    const gcut_decision *d = &w->r.plan->value[w->v];
    const gcut_flips *f = &w->r.flips[w->v];
    *out = (gcut_explanation){.asked = name_of(e, w->asked),
                              .name = name_of(e, w->v),
                              .graph = copy(e, g->name),
                              .loop = copy(e, w->loop),
                              .type = copy(e, gcut_query_type(&w->r, w->v, false)),
                              .op = gcut_maker_name(g, w->v),
                              .where = copy(e, gcut_query_at(&w->r, w->v)),
                              .made = gcut_def(g, w->v) != NULL,
                              .decision = d->decision,
                              .storage = d->decision == GCUT_PLAN_SAVED ? gcut_format_name(d->format) : NULL,
                              .copies = d->decision == GCUT_PLAN_RECOMPUTED ? (int)d->copies : 0,
                              .bytes = gcut_why_bytes(w),
                              .fixed = w->fixed,
                              .reason = d->reason,
                              .forced_by = copy(e, w->forced_by),
                              .unforced = w->unforced,
                              .flips_saved = f->saved,
                              .flips = f->n ? gcut_memdup(e->keep, f->at, f->n * sizeof *f->at) : NULL,
                              .nflips = f->n,
                              .save_ns = d->save_ns,
                              .recompute_ns = d->recompute_ns,
                              .arc_ns = w->fixed ? NAN : gcut_why_arc(w),
                              .budget = e->opt.budget > 0 ? e->opt.budget : 0,
                              .minimum = gcut_why_is_minimum(w->r.plan),
                              .cost_ns = w->now->cost_ns,
                              .all_recompute_ns = w->now->recompute_ns,
                              .saved_bytes = w->now->saved_bytes,
                              .other = other_of(e),
                              .nchain = w->chain.n,
                              .chain_ns = w->chain_ns,
                              .nreaders = w->readers.n,
                              .now = step_of(e, e->planned),
                              .flipped = step_of(e, e->flipped),
                              .refused = e->refused,
                              .changed = gcut_why_is_changed(w),
                              .cut_decision = w->cut ? w->cut->decision[w->v] : d->decision,
                              .cut_ns = w->cut ? w->cut->cost_ns : NAN,
                              .flip_price_ns = flip_price(e)};
    GCUT_LIST(e->keep, out->chain, w->chain.n, op_of(e, w->chain.at[i]));
    GCUT_LIST(e->keep, out->reader, w->readers.n, reader_of(e, &w->readers.at[i]));
    if (e->flipped)
        out->kernel = gcut_kernel_changes(e->planned, e->flipped, e->keep, e->arena, &out->nkernels);
}

static void explain_and_flip(void *arg, const gcut_made *m)
{
    explaining *e = arg;
    gcut_explanation *out = m->object;
    gcut_text text = {.arena = m->keep}, json = text;
    e->keep = m->keep;
    e->arena = m->scratch;
    explain(e);
    e->ndiags = e->env->ndiags;
    if (!e->why->fixed && !gcut_guard(e->env, flip, e)) take_refusal(e);
    describe(e, out);
    gcut_write_explanation_text(out, &text);
    gcut_write_explanation_json(out, &json);
    out->text = text.at;
    out->json = json.at;
}

gcut_explanation *gcut_explain_sized(size_t size, gcut_graph *g, const gcut_options *opt, const char *value)
{
    GCUT_NEED(NULL, g, NULL);
    gcut_env *env = g->module->env;
    GCUT_NEED(env, value, NULL);
    explaining e = {.env = env, .g = g, .asked = opt, .size = size, .value = value};
    return gcut_made_by(env, sizeof(gcut_explanation), explain_and_flip, &e);
}
