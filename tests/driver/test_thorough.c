/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Thorough searches for plans of budgets: what a search under a constraint finds is what the caller finds under the same
 * constraint, and where a thorough search ends, no constraint leads to a better plan.
 */
#define _GNU_SOURCE
#include "driver/search/constrained_candidates.h"
#include "runs.h"

#include "budgets.h"
#include "driver/options/options.h"
#include "driver/pipeline/compile.h"
#include "driver/search/budget_search.h"
#include "driver/search/tabu_search.h"
#include "nightly.h"

static const char mlp[] = "gcut 1\n"
                          "func @mlp(input %x: f32[64, 64], param %w1: f32[64, 96], param %w2: f32[96, 64])\n"
                          "    -> (out loss: f32[]) {\n"
                          "  %a1 = matmul(%x, %w1)\n"
                          "  %h1 = tanh(%a1)\n"
                          "  %s = softplus(%h1)\n"
                          "  %a2 = matmul(%s, %w2)\n"
                          "  %h2 = gelu(%a2)\n"
                          "  %m = mul(%h2, %x)\n"
                          "  %loss = mean(%m)\n"
                          "  return %loss\n"
                          "}\n";

static gcut_graph *parsed(gcut_ctx *ctx, const char *text)
{
    gcut_graph *g = gcut_parse(ctx, text, strlen(text), "graph", NULL);
    assert_non_null(g);
    return g;
}

/* ---- the parts ---- */

typedef struct searching {
    gcut_graph *g;
    int64_t budget;
    uint32_t constrained; /* plans compared */
} searching;

static void check_value(searching *s, gcut_candidates *o, const gcut_candidate *best, gcut_ref v)
{
    const char *name = best->base->planned->values.at[v].name;
    const gcut_plan_decision decision = best->choice->decision[v];
    TRY("%%%s, whose decision is %d", name, (int)decision);
    const gcut_candidate found =
                             gcut_budget_best(gcut_candidates_constrained(o, best, v, o->arena), s->budget),
                         x = gcut_candidate_adopted(o, &found),
                         y = gcut_candidate_tabu_after_flip(o, best, s->budget, v, 5);
    gcut_options with = TEST_OPTIONS;
    with.budget = s->budget;
    constrain(&with, &name, decision);
    gcut_plan *plan = gcut_plan_new(s->g, &with);
    /* A value that nothing needs is saved under the constraint alone. */
    if (plan && x.choice->decision[v] != GCUT_PLAN_UNUSED) {
        const gcut_plan_info *p = gcut_plan_look(plan);
        assert_int_not_equal(x.choice->decision[v], decision);
        assert_true(x.step_ns == p->step_ns && x.peak_bytes == p->peak_bytes);
        s->constrained++;
    }
    gcut_plan_free(plan);
    assert_true(y.peak_bytes <= s->budget && y.step_ns <= best->step_ns);
}

static void compare_all(void *arg)
{
    searching *s = arg;
    gcut_options asked = TEST_OPTIONS;
    gcut_settings opt = gcut_settings_of(NULL, &asked, sizeof asked);
    gcut_pipeline *p = gcut_pipeline_new(s->g, &opt, GCUT_STAGE_JOINT, s->g->module->env->arena);
    gcut_candidates *o = gcut_candidates_of(p, gcut_arena_new(p->env, p->arena));
    const gcut_candidate best = gcut_budget_best(o, s->budget);
    assert_true(best.peak_bytes <= s->budget);
    for (gcut_ref v = 1; v < best.base->planned->values.n; v++)
        if (gcut_is_flippable(best.base->problem, best.choice, v)) check_value(s, o, &best, v);
}

static void constrained_plans_are_those_of_the_caller(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    searching s = {.g = parsed(ctx, mlp)};
    s.budget = budget_at(s.g, 0.5);
    must(s.g->module->env, compare_all, &s);
    assert_that(s.constrained, >, 2);
    gcut_ctx_free(ctx);
}

/* ---- the whole ---- */

static void check_constraints(gcut_ctx *ctx, gcut_graph *g, gcut_options o)
{
    o.thorough = true;
    gcut_plan *plan = plan_of(g, &o);
    o.thorough = false;
    no_constraint_is_faster(ctx, "thorough", g, gcut_plan_look(plan), &o, 1);
    gcut_plan_free(plan);
}

static void it_ends_where_no_constraint_is_better(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = parsed(ctx, mlp);
    gcut_options o = TEST_OPTIONS;
    for (int k = 0; k < 2; k++) {
        o.budget = budget_at(g, 0.4 * k);
        check_constraints(ctx, g, o);
    }
    gcut_ctx_free(ctx);
}

/* A random graph: seven constraints make the plan of the budget 0.8 to 1 % faster, a thorough search 1.4 %. */
static const char random_graph[] =
    "gcut 1\n"
    "func @f[N in 1..](param %w1: f32[64, 64], param %w2: f32[64, 64], param %b: f32[64],\n"
    "    param %g: f32[64], input %x: f32[N, 64]) -> (out loss: f32[]) {\n"
    "  %v1 = tanh(%x)\n"
    "  %v2 = add(%v1, %v1)\n"
    "  %v3 = mul(%v1, %v1)\n"
    "  %v4 = tanh(%v1)\n"
    "  %v5 = matmul(%v2, %w2)\n"
    "  %v6 = rms_norm(%v4, %g)\n"
    "  %v7 = gelu(%v4)\n"
    "  %v8 = max(%v4, %v5)\n"
    "  %v9 = add(%v5, %v5)\n"
    "  %v10 = layer_norm(%v8, %g, %b)\n"
    "  %v11 = max(%v8, %v8)\n"
    "  %v12 = tanh(%v11)\n"
    "  %v13 = softplus(%v12)\n"
    "  %v14 = add(%v13, 0.5:f32)\n"
    "  %v15 = div(%v9, %v14)\n"
    "  %v16 = rms_norm(%v12, %g)\n"
    "  %v17 = mean(%v3)\n"
    "  %v18 = mean(%v6)\n"
    "  %v19 = add(%v17, %v18)\n"
    "  %v20 = mean(%v7)\n"
    "  %v21 = add(%v19, %v20)\n"
    "  %v22 = mean(%v10)\n"
    "  %v23 = add(%v21, %v22)\n"
    "  %v24 = mean(%v15)\n"
    "  %v25 = add(%v23, %v24)\n"
    "  %v26 = mean(%v16)\n"
    "  %v27 = add(%v25, %v26)\n"
    "  return %v27\n"
    "}\n";

static void it_finds_what_constraints_find(void **state)
{
    (void)state;
    if (!nightly()) skip();
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = parsed(ctx, random_graph);
    const gcut_size at[] = {{"N", 256}};
    gcut_options o = TEST_OPTIONS;
    o.at = at;
    o.nat = 1;
    o.budget = 657345;
    gcut_plan *quick = plan_of(g, &o);
    o.thorough = true;
    gcut_plan *thorough = plan_of(g, &o);
    assert_that(gcut_plan_look(thorough)->step_ns, <, 0.992 * gcut_plan_look(quick)->step_ns);
    assert_true(gcut_plan_look(thorough)->peak_bytes <= o.budget);
    gcut_plan_free(quick);
    gcut_plan_free(thorough);
    check_constraints(ctx, g, o);
    gcut_ctx_free(ctx);
}

/* Constraints of the caller hold; without a budget there is nothing to search for. */
static void it_keeps_what_is_asked(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = parsed(ctx, mlp);
    static const char *const name = "h1";
    gcut_options o = TEST_OPTIONS;
    gcut_plan *plan[2];
    char *json[2];
    o.recompute = &name;
    o.nrecompute = 1;
    for (int k = 0; k < 2; k++) {
        o.thorough = k;
        plan[k] = plan_of(g, &o);
        json[k] = gcut_plan_json(plan[k]);
        gcut_plan_free(plan[k]);
    }
    assert_string_equal(json[0], json[1]);
    gcut_free(json[0]);
    gcut_free(json[1]);
    o.budget = budget_at(g, 0.5);
    plan[0] = plan_of(g, &o);
    const gcut_plan_info *p = gcut_plan_look(plan[0]);
    bool found = false;
    for (size_t i = 0; i < p->n; i++) {
        if (strcmp(p->value[i]->name, name) != 0) continue;
        found = true;
        assert_int_equal(p->value[i]->decision, GCUT_PLAN_RECOMPUTED);
        assert_true(p->value[i]->forced);
    }
    assert_true(found && p->peak_bytes <= o.budget);
    gcut_plan_free(plan[0]);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(constrained_plans_are_those_of_the_caller),
                                       cmocka_unit_test(it_ends_where_no_constraint_is_better),
                                       cmocka_unit_test(it_finds_what_constraints_find),
                                       cmocka_unit_test(it_keeps_what_is_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
