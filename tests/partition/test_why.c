/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reasons: every claim of `gradcut why` against another way to find it.
 */
#include "joint_gen.h"

#include <jansson.h>
#include <unistd.h>

#include "graph/ops/node_facts.h"
#include "gradcut/gradcut.h"
#include "partition/query/explanation.h"
#include "public.h"

static gcut_plan_options options(double lambda)
{
    return (gcut_plan_options){.lambda = lambda, .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
}

static bool saveable(const gcut_problem *p, gcut_ref v)
{
    return gcut_def(p->g, v) && p->facts->side[v] != GCUT_SIDE_BACKWARD && !p->facts->out[v] &&
           !gcut_value_is(p->g, v, GCUT_CLASS_VIEW) && !gcut_value_is(p->g, v, GCUT_CLASS_CONSTANT);
}

/* The cheapest of all plans in which v has that decision, by trying every set of saved values. */
static double cheapest_with(const gcut_problem *p, gcut_ref v, gcut_plan_decision decision, double lambda,
                            gcut_arena *a)
{
    gcut_ref can[16];
    uint32_t n = 0;
    double best = INFINITY;
    gcut_problem q = *p;
    q.force = gcut_memdup(a, p->force, p->g->values.n * sizeof *p->force);
    q.force[v] = decision == GCUT_PLAN_SAVED ? GCUT_CONSTRAINT_SAVE : GCUT_CONSTRAINT_RECOMPUTE;
    for (gcut_ref u = 1; u < p->g->values.n; u++)
        if (saveable(p, u) && n < 16) can[n++] = u;
    if (n > 9) return -1;
    for (uint32_t mask = 0; mask < 1u << n; mask++) {
        gcut_arena *scratch = gcut_arena_new(gcut_arena_env(a), a);
        bool *saved = gcut_calloc(scratch, p->g->values.n, 1);
        for (uint32_t i = 0; i < n; i++) saved[can[i]] = mask >> i & 1;
        gcut_choice *c = gcut_choice_saving(&q, scratch, saved, NULL, lambda);
        if (c->decision[v] == decision && c->cost_ns < best) best = c->cost_ns;
        gcut_arena_free(scratch);
    }
    return best;
}

static gcut_plan_decision decision_at(gcut_graph *g, gcut_ref v, double lambda)
{
    gcut_plan_options o = options(lambda);
    return gcut_plan_make(g, &o)->value[v].decision;
}

static void check_flips(const gcut_why *w, gcut_graph *g)
{
    const gcut_flips *f = &w->r.flips[w->v];
    assert_int_equal(f->saved, decision_at(g, w->v, 0) == GCUT_PLAN_SAVED);
    for (uint32_t i = 0; i < f->n; i++) {
        assert_int_equal(decision_at(g, w->v, f->at[i] * (1 - 1e-4)) == GCUT_PLAN_SAVED,
                         (i % 2 == 0) == f->saved);
        assert_int_equal(decision_at(g, w->v, f->at[i] * (1 + 1e-4)) == GCUT_PLAN_SAVED,
                         (i % 2 == 1) == f->saved);
    }
}

/* What runs to compute v again is computed again, once, and adds up. */
static void check_chain(const gcut_why *w)
{
    const gcut_choice *c = w->now->decision[w->v] == GCUT_PLAN_RECOMPUTED ? w->now : w->other;
    double sum = 0;
    for (uint32_t i = 0; i < w->chain.n; i++) {
        assert_int_equal(c->decision[w->chain.at[i]], GCUT_PLAN_RECOMPUTED);
        if (i) assert_that(w->chain.at[i - 1], <, w->chain.at[i]);
        sum += w->r.p->price[w->chain.at[i]].recompute_ns;
    }
    assert_true(w->chain.n);
    assert_within(sum, w->chain_ns, 1e-9 * sum);
}

static uint32_t check_value(gcut_plan *plan, gcut_ref v, gcut_arena *a)
{
    const gcut_graph *g = plan->joint;
    gcut_why *w = gcut_why_of(plan, g->values.at[v].name, a);
    gcut_plan_decision decision = plan->value[w->v].decision;
    bool decided = decision == GCUT_PLAN_SAVED || decision == GCUT_PLAN_RECOMPUTED;
    assert_int_equal(w->asked, v);
    assert_int_equal(!w->fixed, decided);
    assert_true(!w->forced_by);
    assert_within(w->now->cost_ns, plan->cost_ns, 1e-9 * plan->cost_ns + 1e-9);
    if (!decided) return 0;
    assert_int_equal(w->other->decision[w->v], gcut_why_flip(w));
    assert_that(w->other->cost_ns, >=, plan->lower_bound_ns - 1e-9 * plan->cost_ns);
    check_flips(w, plan->joint);
    if (!gcut_value_is(g, w->v, GCUT_CLASS_VIEW)) check_chain(w);
    double best = cheapest_with(w->r.p, w->v, gcut_why_flip(w), plan->options.lambda, a);
    if (best < 0) return 0;
    double slack = w->other->cost_ns - w->other->lower_bound_ns + 1e-9 * best + 1e-9;
    assert_that(w->other->cost_ns, >=, best - 1e-9 * best - 1e-9);
    assert_that(w->other->cost_ns, <=, best + slack);
    return 1;
}

static void random_body(void *arg)
{
    gcut_env *env = arg;
    static const double lambdas[] = {0, 0.05, 0.4, 3};
    uint32_t checked = 0;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        TRY("seed %d", (int)seed);
        gcut_arena *a = gcut_arena_new(env, NULL);
        gcut_graph *g = joint_random(gcut_module_new(env, a), seed, 3 + (uint32_t)(seed % 4), 500, 128, "j");
        gcut_plan_options o = options(lambdas[seed % 4]);
        gcut_plan *plan = gcut_plan_make(g, &o);
        for (gcut_ref v = 1; v < g->values.n; v++) checked += check_value(plan, v, a);
        gcut_arena_free(a);
    }
    assert_that(checked, >, 60);
}

static void the_other_plan_is_the_cheapest_of_its_kind(void **state)
{
    gcut_env *env = gcut_env_new(NULL, NULL);
    (void)state;
    must(env, random_body, env);
    gcut_env_free(env);
}

/* A constraint says who made it and what would be without it. */
static void forced_body(void *arg)
{
    gcut_env *env = arg;
    uint32_t checked = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        TRY("seed %d", (int)seed);
        gcut_arena *a = gcut_arena_new(env, NULL);
        gcut_graph *g = joint_random(gcut_module_new(env, a), seed, 6, 500, 128, "j");
        gcut_plan_options o = options(0.05);
        gcut_plan *free = gcut_plan_make(g, &o);
        for (gcut_ref v = 1; v < g->values.n; v++) {
            gcut_plan_decision decision = free->value[v].decision;
            if ((decision != GCUT_PLAN_SAVED && decision != GCUT_PLAN_RECOMPUTED) ||
                gcut_value_is(g, v, GCUT_CLASS_VIEW))
                continue;
            gcut_plan_options forced = o;
            if (decision == GCUT_PLAN_SAVED)
                forced.recompute = &g->values.at[v].name, forced.nrecompute = 1;
            else
                forced.save = &g->values.at[v].name, forced.nsave = 1;
            gcut_plan *plan = gcut_plan_make(g, &forced);
            gcut_why *w = gcut_why_of(plan, g->values.at[v].name, a);
            assert_non_null(strstr(w->forced_by, decision == GCUT_PLAN_SAVED ? "--recompute %" : "--save %"));
            assert_int_equal(w->unforced, decision);
            assert_within(w->other->cost_ns, free->cost_ns, 1e-6 * free->cost_ns + 1e-6);
            checked++;
        }
        gcut_arena_free(a);
    }
    assert_that(checked, >, 20);
}

static void constraints_are_named(void **state)
{
    gcut_env *env = gcut_env_new(NULL, NULL);
    (void)state;
    must(env, forced_body, env);
    gcut_env_free(env);
}

/* ---- constraints that no plan meets ---- */

typedef struct asking {
    gcut_problem *p;
    gcut_arena *a;
} asking;

static void choose(void *arg)
{
    asking *q = arg;
    gcut_choose(q->p, q->a, NULL, 0.05);
}

/* Any constraints on distinct values can be met together; a price that forbids one names it alone. */
static void feasible_body(void *arg)
{
    gcut_env *env = arg;
    uint32_t refused = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        TRY("seed %d", (int)seed);
        gcut_arena *a = gcut_arena_new(env, NULL);
        gcut_graph *g = joint_random(gcut_module_new(env, a), seed, 8, 500, 128, "j");
        const char *save[64], *recompute[64];
        gcut_plan_options o = options(0.05);
        gcut_plan *plan = gcut_plan_make(g, &o);
        for (gcut_ref v = 1; v < g->values.n; v++) {
            if (plan->value[v].side == GCUT_SIDE_BACKWARD || !gcut_def(g, v)) continue;
            if (gcut_value_is(g, v, GCUT_CLASS_VIEW)) continue;
            if ((seed * 31 + v * 7) % 3 == 0) save[o.nsave++] = g->values.at[v].name;
            if ((seed * 31 + v * 7) % 3 == 1) recompute[o.nrecompute++] = g->values.at[v].name;
        }
        o.save = save, o.recompute = recompute;
        gcut_problem *p = gcut_problem_new(a, g, &o);
        gcut_choice *c = gcut_choose(p, a, NULL, 0.05);
        gcut_ref bad = 0;
        for (gcut_ref v = 1; v < g->values.n; v++)
            if (p->force[v] == GCUT_CONSTRAINT_RECOMPUTE && c->decision[v] == GCUT_PLAN_RECOMPUTED &&
                p->facts->read[v])
                bad = v;
        if (bad) {
            gcut_diags_clear(env);
            p->price[bad].recompute_ns = INFINITY;
            asking q = {p, a};
            assert_int_equal(gcut_protect(env, choose, &q), GCUT_EPLAN);
            assert_string_equal(env->diags[0].message,
                                gcut_printf(a, "no plan meets --recompute %%%s", g->values.at[bad].name));
            refused++;
        }
        gcut_arena_free(a);
    }
    assert_that(refused, >, 10);
}

static void constraints_that_conflict_are_sifted(void **state)
{
    gcut_env *env = gcut_env_new(NULL, NULL);
    (void)state;
    must(env, feasible_body, env);
    gcut_env_free(env);
}

/* Every pair is named, each once. */
static void pairs_body(void *arg)
{
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, env->arena);
    gcut_graph *g = joint_random(gcut_module_new(env, a), 3, 8, 500, 128, "j");
    const char *names[2] = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nodes.n && n < 2; i++)
        if (gcut_node_class(gcut_node_at(g, i)) == GCUT_CLASS_POINTWISE)
            names[n++] = g->values.at[gcut_node_at(g, i)->res0].name;
    gcut_plan_options o = options(0.05);
    o.save = o.recompute = names, o.nsave = o.nrecompute = n;
    gcut_plan_make(g, &o);
}

static void every_pair_is_named(void **state)
{
    gcut_env *env = gcut_env_new(NULL, NULL);
    (void)state;
    assert_int_equal(gcut_protect(env, pairs_body, env), GCUT_EPLAN);
    assert_int_equal(env->ndiags, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_non_null(strstr(env->diags[i].message, "cannot be both saved and recomputed: --save %"));
    gcut_env_free(env);
}

/* ---- through the public API ---- */

static json_t *explain(gcut_graph *g, const gcut_options *o, const char *value)
{
    gcut_explanation *e = gcut_explain(g, o, value);
    assert_non_null(e);
    json_t *j = json_loads(e->json, 0, NULL);
    gcut_free(e);
    assert_non_null(j);
    return j;
}

/* Replaces the decision of a value in the text of a plan file. */
static void write_flipped(const char *path, const char *json, const char *value)
{
    json_t *plan = json_loads(json, 0, NULL), *line;
    size_t i;
    bool found = false;
    json_array_foreach(json_object_get(plan, "values"), i, line)
    {
        if (strcmp(json_string_value(json_object_get(line, "value")), value)) continue;
        bool saved = !strcmp(json_string_value(json_object_get(line, "fate")), "saved");
        json_object_set_new(line, "fate", json_string(saved ? "recomputed" : "saved"));
        json_object_del(line, "form");
        found = true;
    }
    assert_true(found);
    assert_int_equal(json_dump_file(plan, path, 0), 0);
    json_decref(plan);
}

/* Of the plan of a price, without that of bytes. */
static double prices_of(const gcut_plan_info *p)
{
    return p->cost_ns - (p->lambda == GCUT_LAMBDA_FASTEST ? 0 : p->lambda * (double)p->saved_bytes);
}

/* The predicted time of the kernels of that family that end in the value, in the graph; 0: there is none. */
static double kernels_ns(gcut_graph *g, const gcut_options *o, const gcut_kernel_change *like)
{
    gcut_cost_explanation *c = gcut_explain_cost(g, o, like->value);
    double ns = 0;
    for (size_t i = 0; c && i < c->nkernels; i++)
        if (!strcmp(c->kernel[i]->value, like->value) && !strcmp(c->kernel[i]->family, like->family) &&
            c->kernel[i]->backward == like->backward)
            ns += c->kernel[i]->ns;
    gcut_free(c);
    return ns;
}

/* The listed kernels take the times that --explain-cost states for the two plans, and their differences add up. */
static void check_kernels(gcut_graph *g, const gcut_options *now, const gcut_options *flipped,
                          const char *value)
{
    gcut_explanation *e = gcut_explain(g, now, value);
    double sum = 0, before = INFINITY;
    assert_true(e && e->nkernels > 0);
    for (size_t i = 0; i < e->nkernels; i++) {
        const gcut_kernel_change *k = e->kernel[i];
        TRY("%s: %s of %s", value, k->family, k->value);
        const double change = k->flipped_ns - k->now_ns;
        sum += change;
        assert_true(change != 0 && fabs(change) <= before);
        before = fabs(change);
        assert_true(kernels_ns(g, now, k) == k->now_ns);
        assert_true(kernels_ns(g, flipped, k) == k->flipped_ns);
    }
    assert_within(sum, e->flipped->time_ns - e->now->time_ns, 1e-9 * e->now->time_ns);
    gcut_free(e);
}

/* The flipped step is that of the plan's file in which this one value has the other decision. */
static void check_effect(gcut_graph *g, int64_t budget, const char *value)
{
    char path[] = "/tmp/gcut_why_XXXXXX";
    gcut_options o = TEST_OPTIONS, edited = o;
    o.budget = budget;
    json_t *j = explain(g, &o, value), *flipped = json_object_get(j, "flipped");
    gcut_plan *plan = gcut_plan_new(g, &o);
    char *json = gcut_plan_json(plan);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    write_flipped(path, json, value);
    edited.plan = path;
    const gcut_plan_info *now = gcut_plan_look(plan);
    gcut_plan *other = gcut_plan_new(g, &edited);
    if (!other) fail_msg("%s: %s", value, "no plan");
    const gcut_plan_info *then = gcut_plan_look(other);
    assert_int_equal(json_integer_value(json_object_get(flipped, "peak_bytes")), then->peak_bytes);
    assert_int_equal(json_integer_value(json_object_get(flipped, "peak_change")),
                     then->peak_bytes - now->peak_bytes);
    assert_int_equal(json_integer_value(json_object_get(flipped, "saved_bytes")), then->saved_bytes);
    assert_true(json_real_value(json_object_get(flipped, "time_change_ns")) == then->step_ns - now->step_ns);
    assert_within(json_real_value(json_object_get(flipped, "price_change_ns")),
                  prices_of(then) - prices_of(now), 1e-9 * then->cost_ns);
    assert_within(json_real_value(json_object_get(j, "cost_ns")), now->cost_ns, 1e-9 * now->cost_ns);
    assert_true(now->cost_ns == prices_of(now) || !budget);
    check_kernels(g, &o, &edited, value);
    gcut_plan_free(other);
    gcut_plan_free(plan);
    gcut_free(json);
    close(fd);
    unlink(path);
    json_decref(j);
}

/* The rival of a minimum cut is the plan under that constraint. */
static void check_rival(gcut_graph *g, const char *value)
{
    gcut_options o = TEST_OPTIONS;
    o.without = refine_pass, o.nwithout = 1;
    json_t *j = explain(g, &o, value), *rival = json_object_get(j, "other");
    if (!strcmp(json_string_value(json_object_get(j, "state")), "saved"))
        o.recompute = &value, o.nrecompute = 1;
    else
        o.save = &value, o.nsave = 1;
    gcut_plan *other = gcut_plan_new(g, &o);
    assert_non_null(other);
    assert_int_equal(json_integer_value(json_object_get(rival, "saved_bytes")),
                     gcut_plan_look(other)->saved_bytes);
    gcut_plan_free(other);
    json_decref(j);
}

static void the_effect_is_that_of_the_other_step(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *gpt = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/models/gpt2.gcut", NULL);
    gcut_graph *mlp = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/models/mlp.gcut", NULL);
    static const char *const values[] = {"block0.ln1.layer_norm", "block0.gelu", "block0.ln1.layer_norm.sub"};
    for (size_t i = 0; i < 3; i++) {
        check_effect(gpt, 0, values[i]);
        check_rival(gpt, values[i]);
    }
    check_effect(mlp, 0, "layer0.relu");
    check_rival(mlp, "layer0.relu");
    check_effect(gpt, 24000, "block0.gelu");
    gcut_ctx_free(ctx);
}

static void write_plan(const gcut_plan *plan, const char *path)
{
    char *json = gcut_plan_json(plan);
    FILE *f = fopen(path, "w");
    assert_true(f && fputs(json, f) >= 0 && fclose(f) == 0);
    gcut_free(json);
}

/* Bytes have no price under a budget, nor where its plan is replayed: the two files differ in nothing. */
static void a_budget_s_plan_costs_the_same_replayed(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/models/gpt2.gcut", NULL);
    char path[2][24] = {"/tmp/gcut_why_XXXXXX", "/tmp/gcut_why_XXXXXX"};
    gcut_options o = TEST_OPTIONS;
    o.budget = 24000;
    gcut_plan *plan[2];
    for (int i = 0; i < 2; i++) {
        plan[i] = gcut_plan_new(g, &o);
        assert_non_null(plan[i]);
        int fd = mkstemp(path[i]);
        assert_true(fd >= 0);
        close(fd);
        write_plan(plan[i], path[i]);
        o.budget = 0;
        o.plan = path[0];
    }
    const gcut_plan_info *first = gcut_plan_look(plan[0]), *again = gcut_plan_look(plan[1]);
    assert_true(first->cost_ns == again->cost_ns && first->step_ns == again->step_ns);
    assert_true(again->file_budget == 24000 && !first->file_budget && !again->budget);
    char *text = gcut_plan_text(plan[1], NULL);
    assert_non_null(strstr(text, "mincut, replayed, made for a budget of 24,000 bytes"));
    assert_null(strstr(text, "not the cheapest here"));
    gcut_free(text);
    gcut_plan_diff *d = gcut_diff_plans(ctx, path[0], path[1]);
    assert_non_null(d);
    assert_true(d->equal && d->a->cost_ns == d->b->cost_ns && d->a->lambda == d->b->lambda);
    assert_true(d->a->budget == 24000 && d->b->budget == -1 && d->a->saved_budget == -1);
    gcut_free(d);
    o.plan = NULL;
    gcut_plan_free(plan[1]);
    plan[1] = gcut_plan_new(g, &o);
    write_plan(plan[1], path[1]);
    d = gcut_diff_plans(ctx, path[0], path[1]);
    text = gcut_diff_text(ctx, d, NULL);
    assert_non_null(strstr(text, "\ncost without the price of saved bytes: "));
    gcut_free(text);
    gcut_free(d);
    for (int i = 0; i < 2; i++) gcut_plan_free(plan[i]), unlink(path[i]);
    gcut_ctx_free(ctx);
}

static void expect(gcut_graph *g, const gcut_options *o, const char *value, const char *const *say)
{
    gcut_explanation *e = gcut_explain(g, o, value);
    assert_non_null(e);
    for (; *say; say++)
        if (!strstr(e->text, *say)) fail_msg("'%s' is not in:\n%s", *say, e->text);
    gcut_free(e);
}
#define SAYS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void it_names_readers_and_their_rules(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options o = TEST_OPTIONS;
    gcut_graph *six = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/plans/six.gcut", NULL);
    expect(six, &o, "a",
           SAYS("%a: ", "%b mul, computed again there\n", "%db.1 mul, for the derivative of %b mul"));
    expect(six, &o, "%w", SAYS("%w: free", "param of @six.joint", "given by the caller: alive anyway"));
    expect(six, &o, "loss", SAYS("%loss: free", "a result of the forward graph: alive anyway"));
    expect(six, &o, "db.1", SAYS("%db.1: backward", "depends on a gradient"));
    o.save = SAYS("b"), o.nsave = 1;
    expect(six, &o, "b",
           SAYS("%b: saved", "forced by --save %b",
                "without that constraint the minimum cut has it recomputed"));
    gcut_graph *lstm = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/loops/lstm.gcut", NULL);
    o = TEST_OPTIONS;
    expect(lstm, &o, "gi", SAYS("in each iteration of %h:\n%gi: recomputed", "if saved: peak "));
    assert_null(gcut_explain(six, &o, "aa"));
    assert_non_null(strstr(gcut_last_error(ctx), "there is no value %aa"));
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_other_plan_is_the_cheapest_of_its_kind),
        cmocka_unit_test(constraints_are_named),
        cmocka_unit_test(constraints_that_conflict_are_sifted),
        cmocka_unit_test(every_pair_is_named),
        cmocka_unit_test(the_effect_is_that_of_the_other_step),
        cmocka_unit_test(a_budget_s_plan_costs_the_same_replayed),
        cmocka_unit_test(it_names_readers_and_their_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
