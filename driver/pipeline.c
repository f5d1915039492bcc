/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pass pipeline.
 *
 *   user's graph ─copy─▶ primal ─gather, simplify─▶ ─joint─▶ ─optimize─▶ raw ─head─▶ ─simplify─▶
 *     ─products─▶ joint ─loops─▶ ─plan─▶ ─split─▶ fwd, bwd ─expand, simplify─▶ kfwd, kbwd ─lower─▶ program
 */
#include "driver/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "driver/budget.h"
#include "driver/machine.h"
#include "driver/options.h"
#include "gradcut/gradcut_rt.h"
#include "graph/custom.h"
#include "graph/passes.h"
#include "graph/verify.h"
#include "graph/text.h"
#include "partition/policy.h"

static gcut_graph *rename_to(gcut_graph *g, const char *name)
{
    gcut_graph *old = gcut_module_find(g->module, name);
    if (old && old != g)
        old->name = gcut_intern_name(g->module, gcut_printf(g->module->arena, "%s.was", name));
    g->name = gcut_intern_name(g->module, name);
    return g;
}

/* fold, cse, merge and dce keep results and names; each is verified. */
static gcut_graph *simplify(gcut_graph *g, const char *name)
{
    static gcut_graph *(*const passes[])(gcut_graph *, const char *) = {gcut_pass_fold, gcut_pass_cse,
                                                                        gcut_pass_merge, gcut_pass_dce};
    static const char *const names[] = {"fold", "cse", "merge", "dce"};
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        g = passes[i](g, gcut_printf(g->module->arena, "%s.%s", name, names[i]));
        gcut_verify(g);
    }
    return rename_to(g, name);
}

static bool has_regions(const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (gcut_node_at(g, i)->nregs) return true;
    return false;
}

/* In bodies too.  A graph without calls is left as it is: inlining would copy bodies that nodes share. */
static bool has_calls(const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (n->op == GCUT_OP_call) return true;
        for (uint32_t k = 0; k < n->nregs; k++)
            if (has_calls(gcut_region_at(g, n, k)->body)) return true;
    }
    return false;
}

/* ---- stages ---- */

/* The user's graph in a module of our own, by way of its text: what can be printed can be compiled. */
static gcut_graph *clone(gcut_graph *user, gcut_arena *a)
{
    gcut_text t = {.arena = a};
    gcut_print_graph(user, &(gcut_print_options){0}, &t);
    /* Under a name of its own: diagnostics quote the user's file from the user's text. */
    gcut_module *m =
        gcut_parse_module(user->module->env, a, gcut_printf(a, "@%s, printed", user->name), t.at, t.n);
    m->file = user->module->file ? gcut_intern_name(m, user->module->file) : NULL;
    gcut_graph *g = gcut_module_find(m, user->name);
    GCUT_ASSERT(g != NULL);
    return g;
}

static bool lost(const gcut_graph *before, const gcut_graph *after, const char *value)
{
    value += *value == '%';
    return gcut_graph_find(before, value) && !gcut_graph_find(after, value);
}

/* Whoever names a value to be saved or recomputed gets the graph that has it, be it by a plan file. */
static bool keeps_named(const gcut_pipeline *p, const gcut_graph *before, const gcut_graph *after)
{
    for (uint32_t i = 0; p->file && i < p->file->whole.lines.n; i++)
        if (lost(before, after, p->file->whole.lines.at[i].value)) return false;
    for (size_t i = 0; i < p->opt.nsave; i++)
        if (lost(before, after, p->opt.save[i])) return false;
    for (size_t i = 0; i < p->opt.nrecompute; i++)
        if (lost(before, after, p->opt.recompute[i])) return false;
    return true;
}

/* A plan is of the graph that its own sizes made, whatever those of the run are. */
static gcut_graph *gather(gcut_pipeline *p, gcut_graph *g)
{
    const char *base = p->primal->name;
    const gcut_dim_binding *at = p->file ? gcut_pipeline_planned_sizes(p) : p->at;
    gcut_graph *out = gcut_pass_gather(g, gcut_printf(p->arena, "%s.gathered", base), at, p->nat);
    gcut_verify(out);
    out = simplify(out, gcut_printf(p->arena, "%s.folded", base));
    return keeps_named(p, g, out) ? out : simplify(g, gcut_printf(p->arena, "%s.named", base));
}

/* A graph with cotangents, or with gradients that are given something late, is a joint graph already, unless
 * it is to be differentiated again: what by, or which result, is named. */
static bool is_joint(const gcut_pipeline *p)
{
    bool cotan = false, late = false, grad = false;
    if (p->opt.loss || p->opt.ncotan || p->opt.nwrt) return false;
    for (uint32_t i = 0; i < p->primal->params.n; i++) {
        if (p->primal->params.at[i].role == GCUT_ROLE_saved) return false; /* the backward graph of a step */
        cotan = cotan || p->primal->params.at[i].role == GCUT_ROLE_cotan;
        late = late || gcut_param_is_late(&p->primal->params.at[i]);
    }
    for (uint32_t i = 0; i < p->primal->results.n; i++)
        grad = grad || p->primal->results.at[i].role == GCUT_ROLE_grad;
    return cotan || (late && grad);
}

static gcut_graph *differentiate(gcut_pipeline *p)
{
    if (is_joint(p)) return p->folded;
    gcut_joint_options jo = {.loss = p->opt.loss,
                             .cotan = p->opt.cotan,
                             .ncotan = (uint32_t)p->opt.ncotan,
                             .minimised = p->optimizer.kind != GCUT_OPT_NONE,
                             .wrt = p->opt.nwrt ? p->opt.wrt : NULL,
                             .nwrt = (uint32_t)p->opt.nwrt,
                             .strict = true};
    return gcut_joint(p->folded, &jo, gcut_printf(p->arena, "%s.raw", p->primal->name));
}

static void to_joint(gcut_pipeline *p)
{
    gcut_arena *a = p->arena;
    const char *base = p->primal->name;
    /* The sweep inlines calls itself, and names what it makes after what the user called.  It leaves those
     * that state their derivative, and calls of these derivatives. */
    gcut_graph *g = p->opt.forward_only || is_joint(p)
                        ? gcut_pass_inline(p->primal, gcut_printf(a, "%s.whole", base))
                        : p->primal;
    p->folded = gather(p, g);
    p->folded->name = p->primal->name; /* messages and dumps speak of the user's function */
    if (p->opt.forward_only) {
        p->raw = p->primal;
        p->joint = p->folded;
        return;
    }
    p->raw = differentiate(p);
    if (has_calls(p->raw)) p->raw = gcut_pass_inline(p->raw, gcut_printf(a, "%s.flat", base));
    if (p->optimizer.kind != GCUT_OPT_NONE)
        p->raw = gcut_optimize(p->raw, &p->optimizer, gcut_printf(a, "%s.opt", base));
    gcut_verify(p->raw);
    g = gcut_pass_head(p->raw, gcut_printf(a, "%s.head", base));
    gcut_verify(g);
    if (has_regions(g)) { /* sums of products leave their loops before anyone plans what loops save */
        g = simplify(g, gcut_printf(a, "%s.steps", base));
        g = gcut_pass_products(g, gcut_printf(a, "%s.products", base));
        gcut_verify(g);
    }
    p->joint = simplify(g, gcut_printf(a, "%s.joint", base));
}

static void to_split(gcut_pipeline *p)
{
    if (p->opt.forward_only) {
        p->fwd = p->joint;
        return;
    }
    if (p->opt.budget > 0 && !strcmp(p->opt.policy, gcut_policy_name(GCUT_POLICY_MINCUT))) {
        gcut_budget_plan(p);
    } else {
        gcut_plan_options po = gcut_pipeline_plan_options(p);
        p->planned = gcut_pipeline_loops(p, &po, "");
        p->plan = gcut_plan_make(p->planned, &po);
    }
    gcut_pipeline_split(p, p->plan, p->primal->name);
}

gcut_graph *gcut_pipeline_loops(gcut_pipeline *p, const gcut_plan_options *po, const char *suffix)
{
    const char *base = p->primal->name;
    gcut_graph *g = gcut_plan_loops(p->joint, po, gcut_printf(p->arena, "%s.loops%s", base, suffix));
    if (g == p->joint) return g;
    gcut_verify(g);
    g = simplify(g, gcut_printf(p->arena, "%s.planned%s", base, suffix));
    g->name = p->joint->name; /* reports speak of the joint graph */
    return g;
}

void gcut_pipeline_split(gcut_pipeline *p, gcut_plan *plan, const char *base)
{
    gcut_split(plan, base);
    p->plan = plan;
    p->fwd = plan->fwd;
    p->bwd = plan->bwd;
    gcut_verify(p->fwd);
    gcut_verify(p->bwd);
}

static bool has_no_kernel(gcut_op op)
{
    return gcut_op_get(op)->emit == GCUT_EMIT_EXPAND;
}

gcut_graph *gcut_pipeline_kernel_graph(gcut_pipeline *p, gcut_graph *graph, const char *name)
{
    gcut_graph *g = gcut_pass_expand(graph, gcut_printf(p->arena, "%s.wide", name), has_no_kernel);
    g = gcut_pass_sink(g, gcut_printf(p->arena, "%s.sunk", name));
    g = simplify(g, gcut_printf(p->arena, "%s.simple", name));
    g = gcut_widen(g, gcut_printf(p->arena, "%s.f32", name));
    g = p->opt.unfused ? rename_to(g, name) : gcut_localize(g, name);
    gcut_verify(g);
    return g;
}

static gcut_graph *for_kernels(gcut_pipeline *p, gcut_graph *split)
{
    const char *name = gcut_printf(p->arena, p->bwd ? "%s.kernel" : "%s.fwd.kernel", split->name);
    return gcut_pipeline_kernel_graph(p, split, name);
}

int64_t gcut_pipeline_bytes(const gcut_pipeline *p, const gcut_type *t, const gcut_dim_binding *at,
                            uint32_t nat)
{
    int64_t n = gcut_dtype_bytes(t->dtype);
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t k = 0;
        if (!gcut_dim_eval(p->module->dims, t->dim[d], at, nat, &k) || __builtin_mul_overflow(n, k, &n))
            gcut_fail(p->env, GCUT_EDIM, (gcut_place){.file = p->module->file}, NULL, "%s has no size here",
                      gcut_type_text(p->arena, p->module, t));
    }
    return n;
}

static int64_t sum(const gcut_pipeline *p, int64_t a, int64_t b)
{
    return gcut_bytes_add(p->env, p->module->file, "the values of a step", a, b);
}

int64_t gcut_pipeline_resident(const gcut_pipeline *p, const gcut_dim_binding *at, uint32_t nat)
{
    const gcut_graph *g = p->joint;
    int64_t n = 0;
    for (uint32_t i = 0; i < g->params.n; i++)
        n = sum(p, n, gcut_pipeline_bytes(p, gcut_type_of(g, g->params.at[i].value), at, nat));
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role != GCUT_ROLE_next)
            n = sum(p, n, gcut_pipeline_bytes(p, gcut_type_of(g, g->results.at[i].value), at, nat));
    return n;
}

int64_t gcut_pipeline_peak(const gcut_pipeline *p, const gcut_dim_binding *at, uint32_t nat, int threads)
{
    const gcut_memory m = gcut_program_memory(p->program, at, nat, threads);
    int64_t arena = p->opt.apart ? sum(p, m.arena_bytes, m.saved_bytes) : m.arena_bytes;
    return sum(p, arena, gcut_pipeline_resident(p, at, nat));
}

void gcut_pipeline_calls(const gcut_pipeline *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                         int64_t call[2], int64_t *block)
{
    const gcut_graph *g = p->joint;
    const gcut_memory m = gcut_program_memory(p->program, at, nat, threads);
    *block = m.saved_bytes;
    for (int k = 0; k < 2; k++) call[k] = sum(p, m.call_bytes[k], m.saved_bytes);
    for (uint32_t i = 0; i < g->params.n + g->results.n; i++) {
        const gcut_param *in = i < g->params.n ? &g->params.at[i] : NULL;
        const gcut_result *out = in ? NULL : &g->results.at[i - g->params.n];
        if (out && out->role == GCUT_ROLE_next) continue;
        bool late = in ? gcut_param_is_late(in) : out->role == GCUT_ROLE_grad;
        bool over = gcut_is_transient(in ? &in->marks : &out->marks);
        int64_t bytes = gcut_pipeline_bytes(p, gcut_type_of(g, in ? in->value : out->value), at, nat);
        if (!late) call[0] = sum(p, call[0], bytes);
        if (!over) call[1] = sum(p, call[1], bytes);
    }
}

double gcut_pipeline_ns(const gcut_pipeline *p, const gcut_dim_binding *at, uint32_t nat, int threads)
{
    return gcut_program_ns(p->program, p->machine, at, nat, threads);
}

gcut_costs gcut_pipeline_costs(const gcut_pipeline *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                               gcut_arena *a)
{
    return gcut_program_costs(p->program, p->machine, at, nat, threads, a);
}

void gcut_pipeline_limits(const gcut_pipeline *p, int threads, double *flops, double *bytes)
{
    const gcut_machine m = gcut_machine_at(p->machine, threads);
    const double n = 2048; /* of a large product */
    *flops = 1e9 * 2 * n * n * n / gcut_machine_gemm_ns(&m, GCUT_F32, n, n, n, 1);
    *bytes = 1e9 / m.read_ns_per_byte[GCUT_DRAM];
}

void gcut_pipeline_lower(gcut_pipeline *p)
{
    p->kfwd = for_kernels(p, p->fwd);
    if (p->bwd) p->kbwd = for_kernels(p, p->bwd);
    unsigned how = (p->opt.unfused ? GCUT_LOWER_UNFUSED : 0) | (p->opt.apart ? GCUT_LOWER_APART : 0);
    p->program = gcut_lower(p->kfwd, p->kbwd, p->at, p->nat, p->opt.threads, how);
    p->peak_bytes = gcut_pipeline_peak(p, p->at, p->nat, gcut_rt_threads(p->opt.threads));
    if (!p->plan) return;
    p->plan->peak_bytes = p->peak_bytes;
    if (p->opt.apart)
        gcut_pipeline_calls(p, p->at, p->nat, gcut_rt_threads(p->opt.threads), p->plan->call_bytes,
                            &p->plan->block_bytes);
    p->plan->step_ns = gcut_pipeline_ns(p, p->at, p->nat, p->opt.threads);
}

static void to_kernel(gcut_pipeline *p)
{
    gcut_pipeline_lower(p);
    gcut_program_mark(p->program);
    if (p->opt.budget > 0) gcut_budget_check(p);
}

gcut_pipeline *gcut_pipeline_new(gcut_graph *user, const gcut_settings *opt, gcut_goal goal,
                                 gcut_arena *parent)
{
    return gcut_pipeline_flipped(user, opt, goal, parent, NULL);
}

static gcut_pipeline *begin(gcut_graph *user, const gcut_settings *opt, gcut_arena *parent)
{
    gcut_env *env = user->module->env;
    const gcut_diag *why = user->failure;
    if (why)
        gcut_fail(env, why->status, why->at, why->hint, "@%s was not built: %s", user->name, why->message);
    if (user->failed)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "@%s was not built: a call on it failed before",
                  user->name);
    gcut_arena *a = gcut_arena_new(env, parent);
    gcut_pipeline *p = gcut_calloc(a, 1, sizeof *p);
    p->env = env;
    p->arena = a;
    p->opt = gcut_settings_copy(a, opt);
    p->primal = clone(user, a);
    p->module = p->primal->module;
    p->machine = gcut_machine_find(a, p->opt.machine);
    if (p->opt.optimizer) p->optimizer = gcut_optimizer_parse(env, p->opt.optimizer);
    p->optimizer.keep_grads = p->opt.keep_grads;
    return p;
}

gcut_pipeline *gcut_pipeline_restore(gcut_graph *user, const gcut_settings *opt, gcut_arena *parent,
                                     const char *joint, size_t n)
{
    gcut_pipeline *p = begin(user, opt, parent);
    const char *name = gcut_printf(p->arena, "@%s, stored", user->name);
    gcut_module *m = gcut_parse_module(p->env, p->arena, name, joint, n);
    m->file = user->module->file ? gcut_intern_name(m, user->module->file) : NULL;
    GCUT_ASSERT(m->graphs.n > 0);
    p->module = m;
    p->joint = m->graphs.at[m->graphs.n - 1];
    p->at = gcut_default_sizes(p->arena, p->joint, p->opt.at, p->opt.nat, &p->nat);
    return p;
}

/* A derivative that a call states gives gradients by parameters of another function. */
static void refuse_derivative(const gcut_graph *g)
{
    for (uint32_t r = 0; gcut_is_derivative(g) && r < g->results.n; r++) {
        const char *name = g->results.at[r].name;
        gcut_ref v = gcut_graph_find(g, name);
        if (v && g->values.at[v].def == GCUT_NONE) continue;
        gcut_fail(
            g->module->env, GCUT_EUSAGE, gcut_loc_place(g->module, g->loc),
            "take the function whose call states it, vjp=@…",
            "@%s is a derivative of another function, and no step: 'grad %s' is of none of its parameters",
            g->name, name);
    }
}

gcut_pipeline *gcut_pipeline_flipped(gcut_graph *user, const gcut_settings *opt, gcut_goal goal,
                                     gcut_arena *parent, const char *flip)
{
    gcut_pipeline *p = begin(user, opt, parent);
    gcut_arena *a = p->arena;
    gcut_pipeline_read_plan(p, flip);
    p->at = gcut_default_sizes(a, p->primal, p->opt.at, p->opt.nat, &p->nat);
    gcut_verify_module(p->module);
    gcut_refuse_lost_statistics(p->primal);
    refuse_derivative(p->primal);
    static const struct {
        const char *what;
        void (*run)(gcut_pipeline *p);
    } parts[] = {[GCUT_TO_JOINT] = {"differentiating", to_joint},
                 [GCUT_TO_SPLIT] = {"planning", to_split},
                 [GCUT_TO_KERNEL] = {"lowering", to_kernel}};
    for (gcut_goal k = GCUT_TO_JOINT; k <= goal; k++) {
        gcut_env_progress(p->env, parts[k].what, k - GCUT_TO_JOINT, goal);
        parts[k].run(p);
    }
    const char *dump = p->opt.dump ? p->opt.dump : getenv("GRADCUT_DUMP");
    if (dump && *dump) gcut_dump(p, dump);
    return p;
}

gcut_goal gcut_stage_goal(gcut_env *env, gcut_stage_name stage, const char *call)
{
    static const gcut_goal goals[] = {GCUT_TO_PRIMAL, GCUT_TO_JOINT, GCUT_TO_SPLIT, GCUT_TO_KERNEL};
    if (stage < GCUT_STAGE_PRIMAL || stage > GCUT_STAGE_KERNEL)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, "GCUT_STAGE_PRIMAL to GCUT_STAGE_KERNEL",
                  "%s: there is no stage %d", call, (int)stage);
    return goals[stage];
}

uint32_t gcut_stage_graphs(const gcut_pipeline *p, gcut_stage_name stage, gcut_graph *out[2])
{
    out[1] = NULL;
    switch (stage) {
    case GCUT_STAGE_PRIMAL: out[0] = p->primal; break;
    case GCUT_STAGE_JOINT: out[0] = p->joint; break;
    case GCUT_STAGE_SPLIT: out[0] = p->fwd, out[1] = p->bwd; break;
    case GCUT_STAGE_KERNEL: out[0] = p->kfwd, out[1] = p->kbwd; break;
    }
    return out[1] ? 2 : 1;
}

void gcut_stage_text(const gcut_pipeline *p, gcut_stage_name stage, bool locations, gcut_text *out)
{
    gcut_graph *graph[2];
    const uint32_t n = gcut_stage_graphs(p, stage, graph);
    if (stage <= GCUT_STAGE_JOINT) {
        gcut_print_graph(graph[0], &(gcut_print_options){.no_loc = !locations}, out);
        return;
    }
    /* A module of just these graphs and, for the split, their pair. */
    gcut_module view = *p->module;
    view.graphs.at = graph;
    view.graphs.n = n;
    if (stage != GCUT_STAGE_SPLIT) view.pairs.n = 0;
    gcut_print_module(&view, &(gcut_print_options){.no_loc = !locations}, out);
}
