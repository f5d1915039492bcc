/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The stages of the compiler, made by the groups of the table of passes (driver/pipeline/pass_table.c), and
 * figures of a step as a whole.
 */
#include "driver/pipeline/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "graph/ops/value_bytes.h"
#include "graph/verify.h"
#include "text/text.h"
#include "partition/policies/policy.h"
#include "partition/query/plan_queries.h"

/* ---- stages ---- */

gcut_pipeline *gcut_pipeline_nested(const gcut_pipeline *p, gcut_graph *planned, gcut_arena *parent)
{
    gcut_arena *a = gcut_arena_new(p->env, parent);
    gcut_pipeline *q = gcut_calloc(a, 1, sizeof *q);
    *q = (gcut_pipeline){.env = p->env,
                         .arena = a,
                         .opt = p->opt,
                         .machine = p->machine,
                         .threads = p->threads,
                         .optimizer = p->optimizer,
                         .at = p->at,
                         .nat = p->nat,
                         .primal = p->primal,
                         .base = p->base,
                         .passes = p->passes,
                         .graphs = GCUT_GRAPHS_NEEDED,
                         .nested = true};
    q->planned = q->joint = gcut_module_clone(planned, a);
    q->module = q->joint->module;
    return q;
}

gcut_graph *gcut_pipeline_make(gcut_pipeline *p, gcut_pass_group group, gcut_graph *g, const char *name)
{
    gcut_graph *pair[2] = {g, NULL};
    gcut_passes_apply(p, group, pair);
    if (pair[0] != g) gcut_graph_rename(pair[0], name);
    return pair[0];
}

bool gcut_pipeline_verifies(const gcut_pipeline *p)
{
    return !p->nested || (p->sampled && getenv("GRADCUT_VERIFY"));
}

bool gcut_pipeline_searches(const gcut_pipeline *p)
{
    gcut_plan_options o = {0};
    return p->opt.budget && gcut_policy_read(p->opt.policy, &o) && o.policy == GCUT_POLICY_MINCUT;
}

gcut_graph *gcut_pipeline_loops(gcut_pipeline *p, const gcut_plan_options *asked)
{
    const gcut_plan_options *const before = p->asked;
    gcut_graph *g[2] = {p->joint, NULL};
    p->asked = asked;
    if (gcut_pipeline_searches(p))
        gcut_passes_apply_aside(p, GCUT_MAKES_PLANNED, g); /* those of a candidate */
    else
        gcut_passes_apply(p, GCUT_MAKES_PLANNED, g);
    if (g[0] != p->joint) gcut_graph_rename(g[0], p->joint->name); /* reports name the joint graph */
    p->asked = before;
    return g[0];
}

void gcut_pipeline_split(gcut_pipeline *p, gcut_plan *plan, const char *base)
{
    gcut_split(plan, base);
    p->plan = plan;
    plan->pipeline = p;
    p->fwd = plan->fwd;
    p->bwd = plan->bwd;
    gcut_bodies_canonical(p->fwd);
    gcut_bodies_canonical(p->bwd);
    if (!gcut_pipeline_verifies(p)) return;
    gcut_verify(p->fwd);
    gcut_verify(p->bwd);
}

gcut_graph *gcut_pipeline_kernel_graph(gcut_pipeline *p, gcut_graph *graph)
{
    gcut_graph *g[2] = {graph, NULL};
    gcut_passes_apply_aside(p, GCUT_MAKES_KERNELS, g);
    return g[0];
}

static int64_t sum(const gcut_pipeline *p, int64_t a, int64_t b)
{
    return gcut_bytes_add(p->env, p->module->file, "the values of a step", a, b);
}

int64_t gcut_pipeline_peak(const gcut_pipeline *p, const gcut_dim_binding *at, uint32_t nat, int threads)
{
    const gcut_memory m = gcut_program_memory(p->program, at, nat, threads);
    int64_t arena = p->opt.apart ? sum(p, m.arena_bytes, m.saved_bytes) : m.arena_bytes;
    return sum(p, arena, gcut_resident_bytes(p->joint, at, nat));
}

/* Of the plan whose forward and backward graph are separate calls, the bytes in memory during each: values that it may
 * read or write, the block of saved values, the part of the arena that it touches. */
static void measure_calls(const gcut_pipeline *p)
{
    const gcut_graph *g = p->joint;
    const gcut_memory m = gcut_program_memory(p->program, p->at, p->nat, p->threads);
    int64_t *call = p->plan->call_bytes;
    p->plan->block_bytes = m.saved_bytes;
    for (int k = 0; k < 2; k++) call[k] = sum(p, m.call_bytes[k], m.saved_bytes);
    for (uint32_t i = 0; i < g->params.n + g->results.n; i++) {
        const gcut_param *in = i < g->params.n ? &g->params.at[i] : NULL;
        const gcut_result *out = in ? NULL : &g->results.at[i - g->params.n];
        if (out && out->role == GCUT_ROLE_next) continue;
        const gcut_marks *marks = in ? &in->marks : &out->marks;
        int64_t bytes = gcut_value_bytes(g, in ? in->value : out->value, p->at, p->nat);
        for (int k = 0; k < 2; k++)
            if (gcut_in_call(in ? in->role : out->role, marks, k)) call[k] = sum(p, call[k], bytes);
    }
}

/* "f.fwd.kernel" or "f.bwd.kernel". */
static const char *kernel_name(const gcut_pipeline *p, int k)
{
    return gcut_printf(p->arena, "%s.%s.kernel", p->base, k ? "bwd" : "fwd");
}

/* Frees the forward and the backward graph, of which there are kernels already. */
static void drop_split(gcut_pipeline *p)
{
    gcut_graph *g[2] = {p->fwd, p->bwd};
    GCUT_ASSERT(p->plan && p->kfwd && p->kbwd);
    for (int k = 0; k < 2; k++)
        if (g[k] != p->kfwd && g[k] != p->kbwd) gcut_graph_drop(g[k]);
    p->fwd = p->bwd = p->plan->fwd = p->plan->bwd = NULL;
}

void gcut_pipeline_lower(gcut_pipeline *p)
{
    gcut_graph *g[2] = {p->fwd, p->bwd};
    gcut_passes_apply(p, GCUT_MAKES_KERNELS, g);
    p->kfwd = g[0];
    p->kbwd = g[1];
    for (int k = 0; k < 2 && g[k]; k++) gcut_graph_rename(g[k], kernel_name(p, k));
    if (p->graphs == GCUT_GRAPHS_NEEDED) drop_split(p);
    gcut_passes_apply(p, GCUT_MAKES_PROGRAM, g);
    p->peak_bytes = gcut_pipeline_peak(p, p->at, p->nat, p->threads);
    if (!p->plan) return;
    p->plan->peak_bytes = p->peak_bytes;
    if (p->opt.apart) measure_calls(p);
    p->plan->step_ns = gcut_program_ns(p->program, p->machine, p->at, p->nat, p->threads);
}

void gcut_stage_check(gcut_env *env, gcut_stage_name stage, const char *call)
{
    if (stage < GCUT_STAGE_PRIMAL || stage > GCUT_STAGE_KERNEL)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, "GCUT_STAGE_PRIMAL to GCUT_STAGE_KERNEL",
                  "%s: there is no stage %d", call, (int)stage);
}

uint32_t gcut_stage_graphs(const gcut_pipeline *p, gcut_stage_name stage, gcut_graph *out[2])
{
    out[0] = p->primal;
    out[1] = NULL;
    switch (stage) {
    case GCUT_STAGE_PRIMAL: return p->opt.forward_only ? 1 : gcut_pair_graphs(p->primal, out);
    case GCUT_STAGE_JOINT: out[0] = p->joint; break;
    case GCUT_STAGE_SPLIT: out[0] = p->fwd, out[1] = p->bwd; break;
    case GCUT_STAGE_KERNEL:
    case GCUT_STAGE_MEMORY: out[0] = p->kfwd, out[1] = p->kbwd; break;
    }
    return out[1] ? 2 : 1;
}

/* As the split or the user's file has it. */
static gcut_pair pair_of(const gcut_pipeline *p)
{
    const char *const step = gcut_printf(p->arena, "%s.step", p->base);
    if (p->given) return p->given->pair;
    for (uint32_t i = 0; i < p->module->pairs.n; i++)
        if (!strcmp(p->module->pairs.at[i].name, step)) return p->module->pairs.at[i];
    GCUT_NEVER("the split has made a pair");
    return (gcut_pair){0};
}

void gcut_pipeline_text_names(const gcut_pipeline *p, const gcut_pass_row *made_by, bool both,
                              gcut_print_options *opt)
{
    const gcut_pass_group group = made_by->makes;
    if (group == GCUT_MAKES_FOLDED)
        opt->name = p->primal->name;
    else if (group > GCUT_MAKES_FOLDED && group < GCUT_MAKES_SPLIT)
        opt->name = gcut_printf(p->arena, "%s.joint", p->base);
    else if (group > GCUT_MAKES_SPLIT && !both)
        opt->name = kernel_name(p, 0), opt->pass = made_by->name;
    if (group == GCUT_MAKES_PLANNED || group == GCUT_MAKES_PLAN) opt->pass = "loops";
    if (!both) return;
    gcut_pair *pair = gcut_calloc(p->arena, 1, sizeof *pair);
    *pair = pair_of(p);
    if (group > GCUT_MAKES_SPLIT) {
        gcut_mark_remove(p->arena, &pair->marks, GCUT_MARK_pass);
        gcut_mark_add(p->arena, &pair->marks,
                      (gcut_mark){GCUT_MARK_pass, 1, {{.text = gcut_intern_name(p->module, made_by->name)}}});
        pair->fwd = kernel_name(p, 0);
        pair->bwd = kernel_name(p, 1);
    }
    opt->pair = pair;
}

void gcut_stage_text(const gcut_pipeline *p, gcut_stage_name stage, bool locations, gcut_text *out)
{
    gcut_graph *graph[2];
    const uint32_t n = gcut_stage_graphs(p, stage, graph);
    gcut_print_options print = {.no_loc = !locations};
    if (stage >= GCUT_STAGE_KERNEL)
        gcut_pipeline_text_names(p, &p->passes.row[p->passes.n - 1], n == 2, &print);
    gcut_print_graphs(graph, n, &print, out);
    for (uint32_t i = 0; i < p->rewritten.n; i++) {
        const gcut_rewritten *r = &p->rewritten.at[i];
        gcut_text_add(out, "// %%%s: %s = %s, %s\n", r->value, r->by->pattern, r->by->becomes,
                      gcut_query_line(p->arena, p->module, r->loc));
    }
}
