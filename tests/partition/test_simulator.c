/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The memory simulator against the truth: the arena as the kernels of each plan place it.
 */
#include "harness.h"

#include "driver/options/options.h"
#include "driver/pipeline/compile.h"
#include "passes/passes.h"
#include "partition/budget/simulated_plans.h"
#include "partition/budget/simulator.h"
#include "partition/plan.h"
#include "public.h"

typedef struct job {
    gcut_env *env;
    gcut_graph *user;
    const char *name;
} job;

static bool expanded(gcut_op op)
{
    return gcut_op_get(op)->emit == GCUT_EMIT_EXPAND;
}

static gcut_graph *simplify(gcut_graph *g, const char *name)
{
    static gcut_graph *(*const passes[])(gcut_graph *, const char *) = {gcut_pass_fold, gcut_pass_cse,
                                                                        gcut_pass_merge, gcut_pass_dce};
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        g = passes[i](g, gcut_printf(g->module->arena, "%s.%d", name, (int)i));
    return g;
}

static gcut_graph *for_kernels(gcut_graph *g, const char *name)
{
    gcut_arena *a = g->module->arena;
    g = gcut_pass_expand(g, gcut_printf(a, "%s.wide", name), expanded);
    g = simplify(gcut_pass_sink(g, gcut_printf(a, "%s.sunk", name)), name);
    return gcut_pass_localize(gcut_pass_widen(g, gcut_printf(a, "%s.f32", name)),
                              gcut_printf(a, "%s.kernel", name));
}

/* The arena of a choice, as placed for one thread. */
static gcut_memory exact(const gcut_problem *p, const gcut_choice *c, const char *name)
{
    gcut_plan *plan = gcut_plan_from(p, p->opt, c);
    gcut_split(plan, name);
    gcut_graph *fwd = for_kernels(plan->fwd, gcut_printf(p->g->module->arena, "%s.f", name));
    gcut_graph *bwd = for_kernels(plan->bwd, gcut_printf(p->g->module->arena, "%s.b", name));
    return gcut_program_memory(
        gcut_lower(fwd, bwd, p->opt->at, p->opt->nat, 1, gcut_machine_model_shipped(), 0), p->opt->at,
        p->opt->nat, 1);
}

static void compare(void *arg)
{
    const job *j = arg;
    gcut_settings opt = gcut_settings_of(NULL, NULL, 0);
    gcut_size at[8];
    for (uint32_t i = 0; i < j->user->decls.n && i < 8; i++) {
        const char *sym = gcut_dim_symbol_name(j->user->module->dims, j->user->decls.at[i].sym);
        at[opt.nat++] = (gcut_size){sym, strcmp(sym, "N") ? 16 : 256};
    }
    opt.at = at;
    gcut_pipeline *pl = gcut_pipeline_new(j->user, &opt, GCUT_STAGE_SPLIT, j->env->arena);
    gcut_problem *p = gcut_problem_new(pl->arena, pl->planned, &pl->plan->options);
    gcut_simulated_plans *f = gcut_simulated_plans_of(p, pl->arena);
    double worst = 0;
    for (uint32_t i = 0; i < f->by_cost.n; i++) {
        const gcut_simulated_plan *m = &f->by_cost.at[i];
        gcut_memory truth = exact(p, m->choice, gcut_printf(pl->arena, "try%u", i));
        gcut_live l = gcut_live_of(p, m->choice, pl->arena);
        int64_t model = l.peak_bytes - l.resident_bytes;
        double off = ((double)model - (double)truth.arena_bytes) / (double)(truth.arena_bytes + 1);
        if (getenv("GCUT_VERBOSE"))
            printf("%-12s %-14s exact %9lld model %9lld %+.1f%%\n", j->name, m->label,
                   (long long)truth.arena_bytes, (long long)model, 100 * off);
        if (fabs(off) > worst) worst = fabs(off);
    }
    printf("%-12s %2u plans, worst error %.1f%%\n", j->name, f->by_cost.n, 100 * worst);
    assert_that(worst, <, 0.6);
    gcut_arena_free(pl->arena);
}

static void the_model_is_near_the_placement(void **state)
{
    (void)state;
    static const char *const names[] = {"mlp",  "autoencoder", "vae",  "lenet", "resnet", "mobilenet",
                                        "unet", "vit",         "gpt2", "bert",  "llama"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        char path[512];
        snprintf(path, sizeof path, "%s/tests/models/%s.gcut", GCUT_SOURCE_DIR, names[i]);
        gcut_graph *g = gcut_load(ctx, path, NULL);
        if (!g) fail_msg("%s", gcut_last_error(ctx));
        job j = {g->module->env, g, names[i]};
        must(j.env, compare, &j);
        gcut_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_model_is_near_the_placement)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
