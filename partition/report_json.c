/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The plan as JSON; the keys are a promise to other programs.
 */
#include "partition/report.h"

#include <math.h>

#include "base/json.h"
#include "partition/holds.h"
#include "partition/plan_lists.h"
#include "partition/policy.h"

static void json_readers(gcut_json *j, const gcut_report_ctx *r, const char *key, gcut_ref v)
{
    gcut_refs who = gcut_report_readers(r, v);
    gcut_json_key(j, key);
    gcut_json_array(j);
    for (uint32_t i = 0; i < who.n; i++) gcut_json_str(j, r->g->values.at[who.at[i]].name);
    gcut_json_end(j);
}

static void json_saved(gcut_json *j, const gcut_report_ctx *r, gcut_ref v)
{
    const gcut_flips *f = &r->flips[v];
    gcut_json_object(j);
    gcut_json_key_str(j, "value", r->g->values.at[v].name);
    gcut_json_key_int(j, "bytes", r->plan->value[v].bytes);
    gcut_json_key_str(j, "type", gcut_report_type(r, v));
    gcut_form form = r->plan->value[v].form;
    gcut_json_key_str(j, "stored",
                      form == GCUT_FORM_PLAIN ? gcut_dtype_name(gcut_type_of(r->g, v)->dtype)
                                              : gcut_form_name(form));
    gcut_json_key_real(j, "relative_error", form == GCUT_FORM_BF16 ? GCUT_BF16_ERROR : 0);
    gcut_json_key_str(j, "op", gcut_maker_name(r->g, v));
    gcut_json_key_str(j, "loc", gcut_report_at(r, v));
    json_readers(j, r, "readers", v);
    gcut_json_key(j, "flip_ns_per_byte");
    if (!f->saved && r->p->force[v] == GCUT_FORCE_NONE)
        gcut_json_real(j, 0);
    else if (f->n)
        gcut_json_real(j, f->at[0]);
    else
        gcut_json_null(j); /* never */
    gcut_json_key_bool(j, "forced", r->plan->value[v].forced);
    gcut_json_end(j);
}

static void json_recomputed(gcut_json *j, const gcut_report_ctx *r, gcut_ref v)
{
    gcut_json_object(j);
    gcut_json_key_str(j, "value", r->g->values.at[v].name);
    gcut_json_key_str(j, "op", gcut_maker_name(r->g, v));
    gcut_json_key_real(j, "ns", r->plan->value[v].recompute_ns);
    json_readers(j, r, "into", v);
    gcut_json_key_int(j, "copies", r->plan->value[v].copies);
    gcut_json_end(j);
}

static void json_totals(gcut_json *j, const gcut_report_ctx *r)
{
    const gcut_plan *plan = r->plan;
    gcut_json_key_str(j, "graph_hash", gcut_graph_hash(r->g, r->arena));
    gcut_json_key_str(j, "nodes_hash", gcut_nodes_hash(r->g, r->arena));
    gcut_json_key_str(j, "policy", gcut_policy_text(r->arena, &plan->options));
    gcut_json_key_real(j, "lambda", plan->options.lambda);
    gcut_json_key(j, "budget");
    if (plan->budget)
        gcut_json_int(j, plan->budget);
    else
        gcut_json_null(j);
    gcut_json_key(j, "saved_budget");
    if (plan->options.saved_limited)
        gcut_json_int(j, plan->options.saved_budget);
    else
        gcut_json_null(j);
    gcut_json_key(j, "at");
    gcut_json_object(j);
    for (uint32_t i = 0; i < plan->options.nat; i++)
        gcut_json_key_int(j, gcut_report_sym(r, plan->options.at[i].sym), plan->options.at[i].value);
    gcut_json_end(j);
    gcut_json_key_str(j, "save_dtype",
                      plan->options.save_dtype ? gcut_dtype_name(plan->options.save_dtype) : NULL);
    gcut_json_key_int(j, "saved_bytes", plan->saved_bytes);
    gcut_json_key(j, "peak_bytes");
    if (plan->peak_bytes >= 0)
        gcut_json_int(j, plan->peak_bytes);
    else
        gcut_json_null(j);
    gcut_json_key_real(j, "recompute_ns", plan->recompute_ns);
    gcut_json_key_real(j, "step_ns", plan->step_ns);
    gcut_json_key_real(j, "cost_ns", plan->cost_ns);
    gcut_json_key_real(j, "lower_bound", plan->lower_bound_ns);
    gcut_json_key_real(j, "gap", plan->cost_ns - plan->lower_bound_ns);
}

/* [lowest, highest] of the sizes around the plan's own at which no other plan is cheaper, of those that were
 * tried; a highest of null: no end was found.  null: not searched. */
static void json_holds(gcut_json *j, const gcut_report_ctx *r)
{
    gcut_holds h = gcut_plan_holds(r->plan, r->arena);
    gcut_json_key(j, "holds");
    if (!h.best || h.skipped) {
        gcut_json_null(j);
    } else {
        gcut_json_object(j);
        for (uint32_t i = 0; i < h.ranges.n; i++) {
            gcut_json_key(j, gcut_report_sym(r, h.ranges.at[i].sym));
            gcut_json_array(j);
            gcut_json_int(j, h.ranges.at[i].lo);
            if (h.ranges.at[i].unbounded)
                gcut_json_null(j);
            else
                gcut_json_int(j, h.ranges.at[i].hi);
            gcut_json_end(j);
        }
        gcut_json_end(j);
    }
    gcut_json_key_real(j, "above_minimum_ns", h.best ? 0 : h.minimum_ns > 0 ? h.above_ns : NAN);
}

static void json_loop(gcut_json *j, const gcut_report_ctx *r, const gcut_report_loop *l)
{
    int64_t bytes = 0;
    gcut_dim_eval(r->g->module->dims, l->bytes, r->plan->options.at, r->plan->options.nat, &bytes);
    gcut_json_object(j);
    gcut_json_key_str(j, "value", r->g->values.at[l->loop].name);
    gcut_json_key_str(j, "loc", gcut_report_at(r, l->loop));
    gcut_json_key_int(j, "step_bytes", bytes);
    gcut_json_key(j, "saved");
    gcut_json_array(j);
    for (uint32_t k = 0; k < l->saved.n; k++) gcut_json_str(j, r->g->values.at[l->saved.at[k]].name);
    gcut_json_end(j);
    gcut_json_key(j, "recomputed");
    gcut_json_array(j);
    for (uint32_t k = 0; k < l->body->nodes.n; k++) {
        const gcut_node *n = gcut_node_at(l->body, k);
        if (gcut_mark_find(&n->marks, "recomputed")) gcut_json_str(j, l->body->values.at[n->res0].name);
    }
    gcut_json_end(j);
    gcut_json_end(j);
}

/* A plan without loops has no such key. */
static void json_loops(gcut_json *j, const gcut_report_ctx *r)
{
    gcut_report_loops loops = gcut_report_loops_of(r);
    if (!loops.n) return;
    gcut_json_key(j, "loops");
    gcut_json_array(j);
    for (uint32_t i = 0; i < loops.n; i++) json_loop(j, r, &loops.at[i]);
    gcut_json_end(j);
}

/* The plans of the steps of loops, for whoever follows this one. */
static void json_steps(gcut_json *j, const gcut_plan *plan, gcut_arena *arena)
{
    const gcut_loop_plans *loops = plan->options.loops;
    if (!loops || !loops->all.n) return;
    gcut_json_key(j, "steps");
    gcut_json_array(j);
    for (uint32_t i = 0; i < loops->all.n; i++) {
        gcut_plan *step = loops->all.at[i].step;
        gcut_json_object(j);
        gcut_json_key_str(j, "loop", loops->all.at[i].loop);
        gcut_plan_file_write(step, gcut_problem_of(arena, step), j, arena);
        gcut_json_end(j);
    }
    gcut_json_end(j);
}

void gcut_report_json(const gcut_plan *plan, gcut_text *out)
{
    gcut_arena *scratch = gcut_arena_new(plan->joint->module->env, plan->joint->module->arena);
    gcut_report_ctx r = gcut_report_open(plan, scratch);
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    json_totals(&j, &r);
    json_holds(&j, &r);
    gcut_json_key(&j, "saved");
    gcut_json_array(&j);
    gcut_refs s = gcut_report_saved(&r);
    for (uint32_t i = 0; i < s.n; i++) json_saved(&j, &r, s.at[i]);
    gcut_json_end(&j);
    gcut_json_key(&j, "recomputed");
    gcut_json_array(&j);
    gcut_refs again = {0};
    for (gcut_ref v = 1; v < r.g->values.n; v++) {
        if (!gcut_report_recomputed(&r, v)) continue;
        *GCUT_PUSH(scratch, &again) = v;
        json_recomputed(&j, &r, v);
    }
    gcut_json_end(&j);
    gcut_json_key_str(&j, "lists_hash", gcut_plan_lists_hash(r.g, &s, &again, plan->value, scratch));
    json_loops(&j, &r);
    gcut_plan_file_write(plan, r.p, &j, scratch);
    json_steps(&j, plan, scratch);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
    gcut_arena_free(scratch);
}
