/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan as JSON, which is its plan file; the keys are stable.
 */
#include <math.h>
#include <string.h>

#include "report/report.h"

static void json_readers(gcut_json *j, const char *key, const gcut_plan_value *v)
{
    gcut_json_key_array(j, key);
    for (size_t i = 0; i < v->nreaders; i++) gcut_json_str(j, v->readers[i].name);
    gcut_json_end(j);
}

static void json_saved(gcut_json *j, const gcut_plan_value *v)
{
    gcut_json_object(j);
    gcut_json_members(j, "value:s bytes:i type:s", v->name, v->bytes, v->type);
    gcut_json_key(j, "stored");
    if (strcmp(v->storage, "plain") != 0)
        gcut_json_str(j, v->storage);
    else
        gcut_json_strn(j, v->type, strcspn(v->type, "[")); /* its own dtype */
    gcut_json_members(j, "relative_error:r op:s loc:s", v->relative_error, v->op, v->where);
    json_readers(j, "readers", v);
    gcut_json_key(j, "flip_ns_per_byte");
    if (!v->flips_saved && !v->forced)
        gcut_json_real(j, 0);
    else if (v->nflips)
        gcut_json_real(j, v->flips[0]);
    else
        gcut_json_null(j); /* never */
    gcut_json_key_bool(j, "forced", v->forced);
    gcut_json_end(j);
}

static void json_recomputed(gcut_json *j, const gcut_plan_value *v)
{
    gcut_json_object(j);
    gcut_json_members(j, "value:s op:s ns:r", v->name, v->op, v->recompute_ns);
    json_readers(j, "into", v);
    gcut_json_key_int(j, "copies", v->copies);
    gcut_json_end(j);
}

static void json_values(gcut_json *j, const char *key, const gcut_plan_info *p, gcut_plan_decision d,
                        void (*write)(gcut_json *, const gcut_plan_value *))
{
    gcut_json_key_array(j, key);
    for (size_t i = 0; i < p->n; i++)
        if (p->value[i]->decision == d) write(j, p->value[i]);
    gcut_json_end(j);
}

static void json_totals(gcut_json *j, const gcut_plan_info *p)
{
    gcut_json_members(j, "format:i machine:s machine_hash:s threads:i priced_threads:i",
                      (int64_t)GCUT_PLAN_FORMAT, p->machine, p->machine_hash, (int64_t)p->threads,
                      (int64_t)p->priced_threads);
    if (p->file_budget) gcut_json_members(j, "replayed_budget:i", p->file_budget);
    if (p->file_saved_budget)
        gcut_json_members(j, "replayed_saved_budget:i", gcut_plan_saved_limit(p->file_saved_budget));
    if (p->file_machine_hash)
        gcut_json_members(j, "replayed_machine:s replayed_machine_hash:s", p->file_machine,
                          p->file_machine_hash);
    gcut_json_members(j, "graph_hash:s nodes_hash:s policy:s lambda:r budget:k saved_budget:k", p->graph_hash,
                      p->nodes_hash, p->policy, gcut_plan_price(p), p->budget ? p->budget : -1,
                      gcut_plan_saved_limit(p->saved_budget));
    gcut_json_key_object(j, "at");
    for (size_t i = 0; i < p->nat; i++) gcut_json_key_int(j, p->at[i].name, p->at[i].value);
    gcut_json_end(j);
    gcut_json_members(j, "save_dtype:s saved_bytes:i peak_bytes:k", p->save_dtype, p->saved_bytes,
                      p->peak_bytes);
    if (p->block_bytes) {
        gcut_json_members(j, "block_bytes:i forward_bytes:i backward_bytes:i", p->block_bytes,
                          p->forward_bytes, p->backward_bytes);
    }
    gcut_json_members(j, "recompute_ns:r step_ns:r cost_ns:r lower_bound:r gap:r", p->recompute_ns,
                      p->step_ns, p->cost_ns, p->lower_bound_ns, p->cost_ns - p->lower_bound_ns);
}

/* [lowest, highest] size around the plan's own at which no tried plan is cheaper; highest null: no end was
 * found. null: not searched. */
static void json_validity(gcut_json *j, const gcut_plan_validity *v)
{
    gcut_json_key(j, "holds");
    if (!v->best || v->skipped) {
        gcut_json_null(j);
    } else {
        gcut_json_object(j);
        for (size_t i = 0; i < v->n; i++) {
            gcut_json_key_array(j, v->range[i]->symbol);
            gcut_json_int(j, v->range[i]->lo);
            if (v->range[i]->unbounded)
                gcut_json_null(j);
            else
                gcut_json_int(j, v->range[i]->hi);
            gcut_json_end(j);
        }
        gcut_json_end(j);
    }
    gcut_json_key_real(j, "above_minimum_ns", v->best ? 0 : v->minimum_ns > 0 ? v->above_ns : NAN);
}

static void json_loop(gcut_json *j, const gcut_plan_loop *l)
{
    gcut_json_object(j);
    gcut_json_members(j, "value:s loc:s step_bytes:i", l->name, l->where, l->step_bytes);
    gcut_json_key_array(j, "saved");
    for (size_t k = 0; k < l->nsaved; k++) gcut_json_str(j, l->saved[k]);
    gcut_json_end(j);
    gcut_json_key_array(j, "recomputed");
    for (size_t k = 0; k < l->nrecomputed; k++) gcut_json_str(j, l->recomputed[k].name);
    gcut_json_end(j);
    gcut_json_end(j);
}

/* A plan without loops has no such key. */
static void json_loops(gcut_json *j, const gcut_plan_info *p)
{
    if (!p->nloops) return;
    gcut_json_key_array(j, "loops");
    for (size_t i = 0; i < p->nloops; i++) json_loop(j, p->loop[i]);
    gcut_json_end(j);
}

/* ---- for replay ---- */

static void json_line(gcut_json *j, const gcut_replay_line *l)
{
    gcut_json_object(j);
    j->compact = true; /* one line for each value */
    gcut_json_members(j, "value:s op:s type:s bytes:i fate:s", l->name, l->op, l->type, l->bytes,
                      gcut_decision_word(l->decision));
    if (l->storage) gcut_json_key_str(j, "form", l->storage);
    gcut_json_key_real(j, "ns", l->ns);
    if (l->forced) gcut_json_key_bool(j, "forced", true);
    if (l->nbefore) {
        gcut_json_key_array(j, "before");
        for (size_t k = 0; k < l->nbefore; k++)
            gcut_json_str(j, l->before[k] ? gcut_printf(j->out->arena, "%%%s", l->before[k]) : "results");
        gcut_json_end(j);
    }
    gcut_json_end(j);
    j->compact = false;
}

static void json_part(gcut_json *j, const gcut_replay_part *part)
{
    gcut_json_key_array(j, "values");
    for (size_t i = 0; i < part->n; i++) json_line(j, part->line[i]);
    gcut_json_end(j);
}

/* The plans of loop iterations. */
static void json_steps(gcut_json *j, const gcut_plan_info *p)
{
    if (p->nparts < 2) return;
    gcut_json_key_array(j, "steps");
    for (size_t i = 1; i < p->nparts; i++) {
        gcut_json_object(j);
        gcut_json_key_str(j, "loop", p->part[i]->loop);
        json_part(j, p->part[i]);
        gcut_json_end(j);
    }
    gcut_json_end(j);
}

void gcut_write_plan_json(const gcut_plan_info *p, const gcut_plan_validity *v, const char *certificate,
                          gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    json_totals(&j, p);
    json_validity(&j, v);
    json_values(&j, "saved", p, GCUT_PLAN_SAVED, json_saved);
    json_values(&j, "recomputed", p, GCUT_PLAN_RECOMPUTED, json_recomputed);
    gcut_json_key_str(&j, "lists_hash", p->lists_hash);
    json_loops(&j, p);
    json_part(&j, p->part[0]);
    if (p->nless_workspace) gcut_json_names(&j, "less_workspace", p->less_workspace, p->nless_workspace);
    json_steps(&j, p);
    if (certificate) {
        gcut_json_key(&j, "certificate");
        gcut_json_raw(&j, certificate);
    }
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
