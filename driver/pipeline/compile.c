/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The compiler from end to end: a user's graph and options become a pipeline with every stage up to a goal.
 */
#include "driver/pipeline/compile.h"

#include "driver/options/default_sizes.h"
#include "driver/options/machine_choice.h"
#include "driver/options/plan_options.h"
#include "driver/search/budget_search.h"
#include "driver/dump/dump.h"
#include "driver/pipeline/given_pair.h"
#include "graph/custom.h"
#include "graph/verify.h"
#include "passes/passes.h"
#include "text/text.h"

/* ---- stages ---- */

/* Frees the graphs that the joint graph was made from. */
static void drop_raw(gcut_pipeline *p)
{
    gcut_graph *const from[] = {p->raw, p->folded != p->raw ? p->folded : NULL};
    for (int k = 0; k < 2; k++)
        if (from[k] && from[k] != p->joint && from[k] != p->primal) gcut_graph_drop(from[k]);
    p->raw = p->folded = NULL;
}

static void to_joint(gcut_pipeline *p)
{
    const char *base = p->base;
    if (p->given) {
        p->folded = p->raw = p->joint = p->primal;
        return;
    }
    p->folded = gcut_pipeline_make(p, GCUT_MAKES_FOLDED, p->primal,
                                   p->primal->name); /* under the user's name, for messages */
    if (p->opt.forward_only) {
        p->raw = p->primal;
        p->joint = p->folded;
        return;
    }
    p->raw = gcut_pipeline_make(p, GCUT_MAKES_RAW, p->folded, gcut_printf(p->arena, "%s.raw", base));
    p->joint = gcut_pipeline_make(p, GCUT_MAKES_JOINT, p->raw, gcut_printf(p->arena, "%s.joint", base));
    if (p->graphs == GCUT_GRAPHS_NEEDED) drop_raw(p);
}

static void to_split(gcut_pipeline *p)
{
    if (p->given) {
        p->fwd = p->given->fwd;
        p->bwd = p->given->bwd;
        return;
    }
    p->fwd = p->joint;
    if (p->opt.forward_only) return;
    if (!gcut_pipeline_searches(p)) {
        gcut_plan_options *asked = gcut_calloc(p->arena, 1, sizeof *asked);
        *asked = gcut_pipeline_plan_options(p);
        p->asked = asked;
        p->planned = gcut_pipeline_loops(p, asked);
    }
    gcut_graph *g[2] = {p->planned ? p->planned : p->joint, NULL};
    gcut_passes_apply(p, GCUT_MAKES_PLAN, g);
    gcut_passes_apply(p, GCUT_MAKES_SPLIT, g);
}

static void to_kernel(gcut_pipeline *p)
{
    gcut_pipeline_lower(p);
    if (p->opt.budget > 0) gcut_budget_check(p);
}

gcut_pipeline *gcut_pipeline_new(gcut_graph *user, const gcut_settings *opt, gcut_stage_name goal,
                                 gcut_arena *parent)
{
    return gcut_pipeline_replay(user, opt, goal, parent, NULL);
}

/* Removes the marks of kernels that a dump has: lowering writes them. */
static void unmark_kernels(gcut_graph *g)
{
    static const gcut_mark_name of_kernels[] = {GCUT_MARK_kernel, GCUT_MARK_prologue, GCUT_MARK_epilogue};
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        gcut_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < sizeof of_kernels / sizeof *of_kernels; k++)
            gcut_mark_remove(g->module->arena, &n->marks, of_kernels[k]);
        for (uint32_t k = 0; k < n->nregs; k++) unmark_kernels(gcut_region_at(g, n, k)->body);
    }
}

/* Reads and removes the mark #pass of a function: passes before the plan of loops are skipped for a joint graph that has
 * one, passes before the named one for a dump of a forward graph alone.  On other graphs the mark has no effect. */
static void resume(gcut_pipeline *p)
{
    static const char loops[] = "loops";
    const bool forward = p->opt.forward_only;
    gcut_marks *marks = &p->primal->marks;
    const gcut_mark *m = gcut_mark_find(marks, GCUT_MARK_pass);
    if (!m) return;
    const gcut_pass_row *kernels = gcut_passes_named(p, GCUT_MAKES_KERNELS, m->arg[0].text);
    if (strcmp(m->arg[0].text, loops) != 0 && !(kernels && forward))
        gcut_fail(p->env, GCUT_EUSAGE, gcut_loc_place(p->module, p->primal->loc),
                  kernels ? "--forward (options.forward_only) runs it" : NULL,
                  kernels ? "@%s is marked #pass(\"%s\"): it is a forward graph alone"
                          : "@%s is marked #pass(\"%s\"), which is no pass that a dump names",
                  p->primal->name, m->arg[0].text);
    if (forward)
        p->made_by = kernels;
    else if (p->optimizer.kind == GCUT_OPT_NONE && gcut_passes_is_joint(p))
        p->made_by = gcut_passes_named(p, GCUT_MAKES_PLANNED, loops);
    gcut_mark_remove(p->module->arena, marks, GCUT_MARK_pass);
}

static gcut_pipeline *begin(const gcut_pass_table *passes, gcut_graphs_kept graphs, gcut_graph *user,
                            const gcut_settings *opt, gcut_arena *parent)
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
    p->passes = *passes;
    p->graphs = graphs;
    p->opt = gcut_settings_copy(a, opt);
    gcut_passes_check_without(p);
    p->dump = gcut_dump_new(p);
    gcut_graph *g[2] = {user, NULL};
    gcut_inline_check(user);
    gcut_passes_apply(p, GCUT_MAKES_PRIMAL, g);
    p->primal = g[0];
    for (uint32_t i = 0; i < p->module->graphs.n; i++) unmark_kernels(p->module->graphs.at[i]);
    p->base = gcut_without_ending(a, p->primal->name, p->opt.forward_only ? ".fwd.kernel" : ".joint");
    p->machine = gcut_machine_find(a, p->opt.machine);
    p->threads = p->opt.threads > 0 ? p->opt.threads : p->machine->default_threads;
    if (p->opt.optimizer) p->optimizer = gcut_optimizer_parse(env, p->opt.optimizer);
    p->optimizer.keep_grads = p->opt.keep_grads;
    resume(p);
    return p;
}

gcut_pipeline *gcut_pipeline_restore(gcut_graph *user, const gcut_settings *opt, gcut_arena *parent,
                                     const char *joint, size_t n)
{
    gcut_given_check(user, opt);
    gcut_pipeline *p = begin(&gcut_passes, GCUT_GRAPHS_OF_STAGES, user, opt, parent);
    gcut_given_take(p);
    const char *name = gcut_printf(p->arena, "@%s, stored", user->name);
    gcut_module *m = gcut_parse_module(p->env, p->arena, name, joint, n);
    m->file = user->module->file ? gcut_intern_name(m, user->module->file) : NULL;
    GCUT_ASSERT(m->graphs.n > 0);
    p->module = m;
    p->joint = m->graphs.at[m->graphs.n - 1];
    p->at = gcut_default_sizes(p->arena, p->joint, p->opt.at, p->opt.nat, &p->nat);
    return p;
}

/* Refuses a graph that is the stated derivative of a call: its gradients are those of another function's
 * parameters. */
static void refuse_derivative(const gcut_pipeline *p)
{
    const gcut_graph *g = p->primal;
    if (gcut_pair_of(g)) return; /* a backward graph, alone */
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

/* Refuses one graph of a split: the other one would have to be made again. */
static void refuse_half(const gcut_pipeline *p)
{
    const gcut_graph *g = p->primal;
    if (p->opt.forward_only || p->given || !(gcut_takes_saved(g) || gcut_is_forward(g))) return;
    gcut_fail(p->env, GCUT_EUSAGE, gcut_loc_place(g->module, g->loc),
              "name the pair; --forward (options.forward_only) runs the graph alone",
              "@%s is the %s graph of a step, and no function to be differentiated", g->name,
              gcut_takes_saved(g) ? "backward" : "forward");
}

/* The last stage that is made. */
static gcut_stage_name made(const gcut_pipeline *p)
{
    return p->program ? GCUT_STAGE_KERNEL
           : p->fwd   ? GCUT_STAGE_SPLIT
           : p->joint ? GCUT_STAGE_JOINT
                      : GCUT_STAGE_PRIMAL;
}

void gcut_pipeline_continue(gcut_pipeline *p, gcut_stage_name goal)
{
    static const struct {
        const char *what;
        void (*run)(gcut_pipeline *p);
    } parts[] = {[GCUT_STAGE_JOINT] = {"differentiating", to_joint},
                 [GCUT_STAGE_SPLIT] = {"planning", to_split},
                 [GCUT_STAGE_KERNEL] = {"lowering", to_kernel}};
    for (gcut_stage_name k = made(p) + 1; k <= goal; k++) {
        gcut_env_progress(p->env, parts[k].what, k - GCUT_STAGE_JOINT, goal);
        parts[k].run(p);
    }
}

static gcut_pipeline *run(const gcut_pass_table *passes, gcut_graphs_kept graphs, gcut_graph *user,
                          const gcut_settings *opt, gcut_stage_name goal, gcut_arena *parent,
                          gcut_plan_file *file)
{
    if (goal > GCUT_STAGE_PRIMAL || opt->nfix) gcut_given_check(user, opt);
    gcut_pipeline *p = begin(passes, graphs, user, opt, parent);
    gcut_arena *a = p->arena;
    gcut_pipeline_read_plan(p, file);
    if (goal > GCUT_STAGE_PRIMAL) gcut_given_take(p);
    p->at = gcut_default_sizes(a, p->primal, p->opt.at, p->opt.nat, &p->nat);
    gcut_verify_module(p->module);
    gcut_refuse_lost_statistics(p->primal);
    if (goal > GCUT_STAGE_PRIMAL) refuse_half(p), refuse_derivative(p);
    gcut_pipeline_continue(p, goal);
    gcut_dump_rest(p);
    return p;
}

gcut_pipeline *gcut_pipeline_replay(gcut_graph *user, const gcut_settings *opt, gcut_stage_name goal,
                                    gcut_arena *parent, gcut_plan_file *file)
{
    return run(&gcut_passes, GCUT_GRAPHS_OF_STAGES, user, opt, goal, parent, file);
}

gcut_pipeline *gcut_pipeline_by(const gcut_pass_table *passes, gcut_graph *user, const gcut_settings *opt,
                                gcut_stage_name goal, gcut_arena *parent)
{
    return run(passes, GCUT_GRAPHS_OF_PASSES, user, opt, goal, parent, NULL);
}

gcut_pipeline *gcut_pipeline_planned(gcut_graph *user, const gcut_settings *opt, gcut_arena *parent)
{
    gcut_given_refuse(user);
    return gcut_pipeline_new(user, opt, GCUT_STAGE_KERNEL, parent);
}

gcut_pipeline *gcut_pipeline_of_plan(gcut_graph *user, const gcut_settings *opt, gcut_arena *parent)
{
    gcut_given_refuse(user);
    return run(&gcut_passes, GCUT_GRAPHS_NEEDED, user, opt, GCUT_STAGE_KERNEL, parent, NULL);
}
