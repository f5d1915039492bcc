/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan as data.
 */
#include "driver/pipeline/plan_info.h"

#include <string.h>

#include "driver/options/default_sizes.h"
#include "driver/pipeline/pipeline.h"
#include "graph/ops/node_facts.h"
#include "partition/query/valid_range.h"
#include "partition/plan_file/plan_file.h"
#include "partition/policies/policy.h"
#include "report/report.h"

/* Lists of pointers are filled from vectors of them. */
typedef GCUT_VEC(const gcut_plan_value *) values;
typedef GCUT_VEC(const gcut_replay_part *) parts;
typedef GCUT_VEC(const char *) names;

typedef struct looking {
    const gcut_plan *plan;
    gcut_arena *a, *scratch; /* the plan's arena; scratch */
    gcut_query r;
    gcut_refs saved, recomputed;
    values all;
    gcut_query_loops loops;
    parts parts;
    names less_workspace;
} looking;

static const char *name_of(const looking *j, gcut_ref v)
{
    return j->r.g->values.at[v].name;
}

/* ---- values ---- */

static void add_readers(const looking *j, gcut_ref v, gcut_plan_value *out)
{
    gcut_refs who = j->r.readers[v];
    gcut_plan_reader *at = gcut_calloc(j->a, who.n + 1, sizeof *at);
    for (uint32_t i = 0; i < who.n; i++)
        at[i] = (gcut_plan_reader){name_of(j, who.at[i]), gcut_maker_name(j->r.g, who.at[i]),
                                   gcut_query_recomputed(&j->r, who.at[i])};
    out->readers = at;
    out->nreaders = who.n;
}

static void add_instead(const looking *j, gcut_ref v, gcut_plan_value *out)
{
    const gcut_plan_options *o = &j->plan->options;
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(j->a), j->scratch);
    gcut_query_chain i = gcut_query_instead(&j->r, v, scratch);
    gcut_arena_free(scratch);
    out->instead_op = gcut_op_get((gcut_op)i.slowest->op)->name;
    out->instead_flops = gcut_node_flops(j->r.g, i.slowest, o->at, o->nat);
    out->instead_ns = i.ns;
}

static void add(looking *j, gcut_ref v)
{
    const gcut_graph *g = j->r.g;
    const gcut_decision *d = &j->plan->value[v];
    const gcut_flips *f = &j->r.flips[v];
    bool saved = d->decision == GCUT_PLAN_SAVED;
    gcut_plan_value *out = gcut_calloc(j->a, 1, sizeof *out);
    *out = (gcut_plan_value){
        .name = name_of(j, v),
        .type = gcut_query_type(&j->r, v, false),
        .op = gcut_maker_name(g, v),
        .type_formula = gcut_query_type(&j->r, v, true),
        .where = gcut_query_at(&j->r, v),
        .decision = d->decision,
        .result = d->decision == GCUT_PLAN_ALIVE && gcut_def(g, v),
        .storage = gcut_format_name(d->format),
        .relative_error = d->format == GCUT_FORMAT_BF16 ? GCUT_BF16_ERROR : 0,
        .forced = d->forced,
        .copies = d->decision == GCUT_PLAN_RECOMPUTED ? (int)d->copies : 0,
        .bytes = saved ? d->bytes : j->r.p->price[v].bytes,
        .bytes_formula = gcut_query_sym(&j->r, gcut_format_bytes(g->module, gcut_type_of(g, v), d->format)),
        .plain_bytes = j->r.p->price[v].bytes,
        .save_ns = d->save_ns,
        .recompute_ns = d->recompute_ns,
        .flips_saved = f->saved,
        .flips = f->n ? gcut_memdup(j->a, f->at, f->n * sizeof *f->at) : NULL,
        .nflips = f->n};
    if (saved && !d->forced && gcut_def(g, v)) add_instead(j, v, out);
    add_readers(j, v, out);
    *GCUT_PUSH(j->a, &j->all) = out;
}

static bool is_alive(const looking *j, gcut_ref v)
{
    if (j->plan->value[v].decision != GCUT_PLAN_ALIVE || gcut_value_is(j->r.g, v, GCUT_CLASS_CONSTANT))
        return false;
    return j->r.p->facts->read[v] || j->r.readers[v].n;
}

static void add_values(looking *j)
{
    j->saved = gcut_query_saved(&j->r);
    for (uint32_t i = 0; i < j->saved.n; i++) add(j, j->saved.at[i]);
    for (gcut_ref v = 1; v < j->r.g->values.n; v++) {
        if (!gcut_query_recomputed(&j->r, v)) continue;
        *GCUT_PUSH(j->a, &j->recomputed) = v;
        add(j, v);
    }
    for (gcut_ref v = 1; v < j->r.g->values.n; v++)
        if (is_alive(j, v)) add(j, v);
}

/* ---- plan files ---- */

static void add_part(looking *j, const char *loop, const gcut_plan *plan, const gcut_problem *p)
{
    gcut_plan_lines l =
        loop ? gcut_plan_lines_of_iteration(plan, p, j->a) : gcut_plan_lines_of(plan, p, j->a);
    gcut_replay_part *out = gcut_calloc(j->a, 1, sizeof *out);
    *out = (gcut_replay_part){.loop = loop, .line = l.at, .n = l.n};
    *GCUT_PUSH(j->a, &j->parts) = out;
}

static void add_parts(looking *j)
{
    const gcut_scan_plans *of = j->plan->options.scans;
    add_part(j, NULL, j->plan, j->r.p);
    for (uint32_t i = 0; of && i < of->all.n; i++)
        add_part(j, of->all.at[i].scan, of->all.at[i].iteration,
                 gcut_problem_of(j->scratch, of->all.at[i].iteration));
}

/* ---- the plan ---- */

static void add_less_workspace(looking *j)
{
    for (gcut_ref v = 1; v < j->r.g->values.n; v++)
        if (j->plan->value[v].less_workspace) *GCUT_PUSH(j->a, &j->less_workspace) = name_of(j, v);
}

static const char *hash_of(const gcut_machine_model *machine, gcut_arena *a)
{
    gcut_text t = {.arena = a};
    gcut_machine_json(machine, &t);
    return gcut_plan_hash(t.at, t.n, a);
}

/* The limit of a plan file as gcut_options has it. */
static int64_t limit_given(int64_t saved_bytes)
{
    return saved_bytes ? saved_bytes : GCUT_SAVE_NOTHING;
}

/* What the prices are for; and of a replayed plan file, what its prices were for. */
static void add_machine(const looking *j, gcut_plan_info *out)
{
    const gcut_pipeline *p = j->plan->pipeline;
    out->threads = out->priced_threads = (int)j->plan->options.machine.threads;
    if (!p) return;
    out->machine = p->machine->made;
    out->machine_hash = hash_of(p->machine, j->a);
    out->threads = p->threads;
    const gcut_plan_side *file = p->file ? &p->file->head : NULL;
    if (!file) return;
    if (file->budget >= 0) out->file_budget = file->budget;
    if (file->saved_budget >= 0) out->file_saved_budget = limit_given(file->saved_budget);
    if (!file->machine_hash || !strcmp(file->machine_hash, out->machine_hash)) return;
    out->file_machine = file->machine;
    out->file_machine_hash = file->machine_hash;
}

static gcut_plan_info info_of(const looking *j)
{
    const gcut_plan *p = j->plan;
    return (gcut_plan_info){
        .graph = j->r.g->name,
        .policy = gcut_policy_text(j->a, &p->options),
        .lambda = p->options.lambda == 0 ? GCUT_LAMBDA_FASTEST : p->options.lambda,
        .budget = p->budget,
        .label = p->label,
        .saved_budget = p->options.saved_limited ? limit_given(p->options.saved_budget) : 0,
        .at = gcut_sizes_named(j->a, j->r.g->module, p->options.at, p->options.nat),
        .nat = p->options.nat,
        .save_dtype = p->options.save_dtype ? gcut_dtype_name(p->options.save_dtype) : NULL,
        .saved_bytes = p->saved_bytes,
        .peak_bytes = p->peak_bytes,
        .block_bytes = p->block_bytes,
        .forward_bytes = p->call_bytes[0],
        .backward_bytes = p->call_bytes[1],
        .saved_bytes_formula =
            gcut_dim_known(p->saved_bytes_sym) ? NULL : gcut_query_sym(&j->r, p->saved_bytes_sym),
        .step_ns = p->step_ns,
        .recompute_ns = p->recompute_ns,
        .cost_ns = p->cost_ns,
        .lower_bound_ns = p->lower_bound_ns,
        .graph_hash = gcut_graph_hash(j->r.g, j->scratch),
        .nodes_hash = gcut_nodes_hash(j->r.g, j->a),
        .lists_hash = gcut_plan_lists_hash(j->r.g, &j->saved, &j->recomputed, p->value, j->a),
        .value = j->all.at,
        .n = j->all.n,
        .loop = j->loops.at,
        .nloops = j->loops.n,
        .part = j->parts.at,
        .nparts = j->parts.n,
        .less_workspace = j->less_workspace.at,
        .nless_workspace = j->less_workspace.n};
}

const gcut_plan_info *gcut_plan_info_of(const gcut_plan *plan)
{
    if (plan->cache->info) return plan->cache->info;
    gcut_arena *a = plan->joint->module->arena;
    looking j = {.plan = plan, .a = a, .scratch = gcut_arena_new(gcut_arena_env(a), a)};
    j.r = gcut_query_open(plan, j.scratch);
    j.r.arena = a;
    add_values(&j);
    j.loops = gcut_query_loops_of(&j.r);
    add_parts(&j);
    add_less_workspace(&j);
    gcut_plan_info *out = gcut_calloc(a, 1, sizeof *out);
    *out = info_of(&j);
    add_machine(&j, out);
    out->graph_hash = gcut_strndup(a, out->graph_hash, strlen(out->graph_hash));
    gcut_arena_free(j.scratch);
    return plan->cache->info = out;
}

const gcut_plan_validity *gcut_plan_validity_of(const gcut_plan *plan)
{
    gcut_plan_cache *c = plan->cache;
    if (!c->validity) c->validity = gcut_plan_valid_sizes(plan, plan->joint->module->arena);
    return c->validity;
}

void gcut_plan_file_text(const gcut_plan *plan, gcut_text *out)
{
    gcut_write_plan_json(gcut_plan_info_of(plan), gcut_plan_validity_of(plan), NULL, out);
}
