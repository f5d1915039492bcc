/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Any schedule computes the same: random saved sets, random further copies of what is recomputed, on random
 * graphs, in the interpreter and compiled, against the plan that saves everything, to the last bit.
 *
 * GCUT_GRAPHS=n compiles n graphs, GCUT_SEED=k starts at the k-th.
 */
#include "driver/pipeline/compile.h"
#include "oracle.h"

#include "driver/options/options.h"
#include "driver/load/step.h"
#include "graph_gen.h"
#include "joint_gen.h"
#include "graph/ops/node_facts.h"
#include "partition/plan.h"
#include "public.h"
#include "schedule_check.h"

typedef struct world {
    gcut_env *env;
    gcut_arena *arena; /* of one case */
    uint64_t seed;
    uint32_t index;
} world;

FIXTURE(world)

static uint32_t below(world *w, uint32_t n)
{
    return (uint32_t)(next_unit(&w->seed) * n);
}

/* ---- random plans ---- */

static bool is_elementwise(const gcut_node *n)
{
    return gcut_node_class(n) == GCUT_CLASS_POINTWISE || gcut_node_class(n) == GCUT_CLASS_VIEW;
}

/* Asserts that the list keeps its nodes, and that with each elementwise node it has the recomputed elementwise nodes of
 * as many elements that this one reads. */
static void add_chains(world *w, const gcut_facts *f, const gcut_plan_decision *decision,
                       gcut_recomputations *list)
{
    const gcut_graph *g = f->g;
    const uint32_t before = list->n;
    bool *there = gcut_calloc(w->arena, (size_t)g->nodes.n + 1, 1);
    gcut_schedule_add_chains(w->arena, f, decision, list);
    assert_that(list->n, >=, before);
    for (uint32_t k = 0; k < list->n; k++) there[list->at[k]] = true;
    for (uint32_t k = 0; k < list->n; k++) {
        const gcut_node *n = gcut_node_at(g, list->at[k]);
        for (uint32_t j = 0; is_elementwise(n) && j < n->nargs; j++) {
            const gcut_ref v = gcut_arg(g, n, j);
            const gcut_node *x = gcut_def(g, v);
            if (x && is_elementwise(x) && decision[v] == GCUT_PLAN_RECOMPUTED &&
                gcut_type_numel(g->module, gcut_type_of(g, v)) ==
                    gcut_type_numel(g->module, gcut_type_of(g, n->res0)))
                assert_true(there[g->values.at[v].def]);
        }
    }
}

/* A random part of all values saved, and further copies of some recomputed nodes in random places, with their chains in
 * half of the plans that have many. */
static gcut_plan *random_plan(world *w, const gcut_problem *p)
{
    const gcut_graph *g = p->g;
    uint32_t n, of_four = below(w, 5), often = below(w, 4);
    bool *saved = gcut_calloc(w->arena, g->values.n, 1);
    for (gcut_ref v = 1; v < g->values.n; v++) saved[v] = below(w, 4) < of_four;
    gcut_backward_order(w->arena, p->facts, &n);
    gcut_recomputations *again = gcut_calloc(w->arena, (size_t)n + 1, sizeof *again);
    for (uint32_t i = 0; i <= n; i++)
        for (uint32_t k = below(w, 4) < often ? below(w, 4) : 0; k-- > 0;) {
            uint32_t node = below(w, g->nodes.n);
            if (p->facts->side[gcut_node_at(g, node)->res0] != GCUT_SIDE_BACKWARD)
                *GCUT_PUSH(w->arena, &again[i]) = node;
        }
    gcut_choice *c = gcut_choice_saving(p, w->arena, saved, often ? again : NULL, 0.05);
    schedule_check(w->arena, p->facts, c->decision, &c->backward);
    if (often > 1) {
        for (uint32_t i = 0; i <= n; i++) add_chains(w, p->facts, c->decision, &again[i]);
        c = gcut_choice_saving(p, w->arena, saved, again, 0.05);
        schedule_check(w->arena, p->facts, c->decision, &c->backward);
    }
    return gcut_plan_from(p, p->opt, c);
}

/* An alias class has at most one member that is saved, and takes memory once. */
static void check_aliases(const gcut_problem *p, const gcut_plan *plan)
{
    int64_t bytes = 0;
    bool *counted = calloc(plan->joint->values.n, 1);
    for (gcut_ref v = 1; v < plan->joint->values.n; v++) {
        if (plan->value[v].decision != GCUT_PLAN_SAVED) continue;
        assert_int_equal(p->facts->base[v], v);
        assert_false(counted[p->facts->base[v]]);
        assert_true(gcut_def(plan->joint, v) || gcut_value_is_lost(plan->joint, v));
        counted[p->facts->base[v]] = true;
        bytes += plan->value[v].bytes;
    }
    assert_int_equal(bytes, plan->saved_bytes);
    free(counted);
}

/* Each copy of a node says which it is; the first of what the forward graph has says that it is one. */
static void check_copies(const gcut_plan *plan)
{
    const gcut_graph *b = plan->bwd;
    for (gcut_ref v = 1; v < plan->joint->values.n; v++) {
        const gcut_decision *d = &plan->value[v];
        if (d->decision != GCUT_PLAN_RECOMPUTED) {
            assert_int_equal(d->copies, 0);
            continue;
        }
        uint32_t last = 0;
        for (uint32_t i = 0; i < b->nodes.n; i++) {
            const gcut_mark *m = gcut_mark_find(&b->nodes.at[i].marks, GCUT_MARK_recomputed);
            if (!m || !m->nargs || b->nodes.at[i].op != gcut_def(plan->joint, v)->op) continue;
            uint32_t k = (uint32_t)m->arg[0].i;
            assert_that(k, >=, 2);
            if (k > last) last = k;
        }
        assert_that(d->copies, >=, 1);
        assert_true(d->copies == 1 || last >= d->copies);
    }
}

/* ---- interpreted ---- */

static const gcut_array *by_name(const gcut_graph *g, gcut_role role, const char *name, const gcut_array *at)
{
    for (uint32_t k = 0; k < g->results.n; k++)
        if (g->results.at[k].role == role && !strcmp(g->results.at[k].name, name)) return &at[k];
    return NULL;
}

/* The graph on the joint graph's arrays and what the forward graph saved. */
static gcut_array *run_part(world *w, const gcut_graph *part, const gcut_graph *joint, const gcut_array *in,
                            const gcut_graph *fwd, const gcut_array *fwd_out)
{
    gcut_array *args = gcut_calloc(w->arena, (size_t)part->params.n + 1, sizeof *args);
    for (uint32_t i = 0; i < part->params.n; i++) {
        const char *name = part->values.at[part->params.at[i].value].name;
        const gcut_array *x = part->params.at[i].role == GCUT_ROLE_saved
                                  ? by_name(fwd, GCUT_ROLE_saved, name, fwd_out)
                                  : &in[find_param(joint, name)];
        assert_non_null(x);
        args[i] = *x;
    }
    return run_graph(w->arena, part, GCUT_STATED, args);
}

static void compare_interpreted(world *w, const gcut_plan *plan, const gcut_array *in, const gcut_array *want)
{
    const gcut_graph *joint = plan->joint;
    gcut_array *f = run_part(w, plan->fwd, joint, in, NULL, NULL);
    gcut_array *b = run_part(w, plan->bwd, joint, in, plan->fwd, f);
    for (uint32_t i = 0; i < joint->results.n; i++) {
        const gcut_result *r = &joint->results.at[i];
        bool out = r->role == GCUT_ROLE_out;
        const gcut_array *x = by_name(out ? plan->fwd : plan->bwd, r->role, r->name, out ? f : b);
        assert_non_null(x);
        assert_int_equal(x->n, want[i].n);
        assert_memory_equal(x->u.at, want[i].u.at, (size_t)x->n * 8);
    }
}

static void interpreted_case(world *w, uint64_t seed)
{
    w->arena = gcut_arena_new(w->env, w->env->arena);
    gcut_module *m = gcut_module_new(w->env, w->arena);
    gcut_graph *g = joint_random(m, seed, 4 + (uint32_t)(seed % 17), 0, 4, "j");
    gcut_dim_binding at = {gcut_dim_symbol(m->dims, "N"), 100};
    gcut_plan_options opt = {
        .lambda = 0.05, .at = &at, .nat = 1, .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
    gcut_problem *p = gcut_problem_new(w->arena, g, &opt);
    gcut_array *in = gcut_calloc(w->arena, (size_t)g->params.n + 1, sizeof *in);
    for (uint32_t k = 0; k < g->params.n; k++) {
        in[k] = array_for(w->arena, g, gcut_type_of(g, g->params.at[k].value), seed % 7 ? 5 : 1);
        for (int64_t i = 0; i < in[k].n; i++) in[k].u.f[i] = (double)below(w, 256) / 128 - 1;
    }
    gcut_array *want = run_graph(w->arena, g, GCUT_STATED, in);
    for (uint32_t k = 0; k < 4; k++) {
        gcut_plan *plan = random_plan(w, p);
        gcut_split(plan, gcut_printf(w->arena, "j%u", k));
        gcut_verify_module(m);
        check_aliases(p, plan);
        check_copies(plan);
        compare_interpreted(w, plan, in, want);
    }
    gcut_arena_free(w->arena);
}

static void interpreted_body(void *arg)
{
    world *w = arg;
    for (uint64_t seed = 1, last = nightly() ? 150 : 60; seed <= last; seed++) {
        TRY("seed %d", (int)seed);
        w->seed = seed;
        interpreted_case(w, seed);
    }
}

static void interpreted(void **state)
{
    world *w = *state;
    must(w->env, interpreted_body, w);
}

/* ---- through the whole pipeline ---- */

enum { SIZE_N = 7, SIZE_M = 4 };

static gcut_settings options_of(const world *w, const gcut_size *at, gcut_backend backend)
{
    gcut_settings o = gcut_settings_of(NULL, NULL, 0);
    o.backend = backend;
    o.policy = "save-all";
    o.at = at;
    o.nat = 2;
    o.threads = 1 + (int)(w->index % 2);
    o.optimizer = w->index % 3 == 0 ? "adamw(lr=0.01)" : w->index % 3 == 1 ? "sgd(lr=0.1)" : NULL;
    o.keep_grads = true;
    return o;
}

/* Every leaf as the generator promised its graph, then so many runs: two update states twice. */
static void run_step(const graph_gen *gen, gcut_step *s, int runs)
{
    gcut_step_prepare(s);
    const gcut_dim_binding at[2] = {{gen->sym[0], s->p->opt.at[0].value},
                                    {gen->sym[1], s->p->opt.at[1].value}};
    for (uint32_t k = 0; k < s->nparams; k++) {
        gcut_slot *x = &s->slot[k];
        const gen_bound *b = graph_bound(gen, x->name);
        int64_t hi = 0;
        if (!gcut_graph_find(gen->b.g, x->name)) continue; /* the optimizer's, or a cotangent */
        if (b) assert_true(gcut_dim_eval(gen->b.g->module->dims, b->hi, at, 2, &hi));
        gcut_array a = gcut_array_new(s->memory, x->type.dtype, x->type.rank, x->dim);
        uint64_t seed = x->name[0] + 31u * k;
        for (int64_t i = 0; i < a.n; i++)
            if (gcut_dtype_is_float(a.dtype))
                a.u.f[i] = (floor(next_unit(&seed) * 128) + 0.5) / 64 - 1;
            else
                a.u.i[i] = b ? b->lo + (int64_t)(next_unit(&seed) * (double)(hi - b->lo)) : 0;
        gcut_array_store(&a, x->at);
    }
    while (runs-- > 0) gcut_step_run(s, GCUT_RT_STEP);
}

static bool is_nan_at(const gcut_slot *x, int64_t i)
{
    if (x->type.dtype == GCUT_F64) return isnan(((const double *)x->at)[i]) != 0;
    if (x->type.dtype == GCUT_F32) return isnan(((const float *)x->at)[i]) != 0;
    return gcut_dtype_is_float(x->type.dtype); /* of halves by their bits: not told apart here */
}

/* The same bits, but for which NaN it is, which no op defines. */
static void same_bits(const world *w, gcut_step *want, gcut_step *got, const char *what)
{
    for (uint32_t k = 0; k < want->nslots; k++) {
        const gcut_slot *x = &want->slot[k], *y = &got->slot[k];
        bool result = x->role == GCUT_ROLE_out || x->role == GCUT_ROLE_grad || x->updated;
        if (!result || x->bytes == 0 || !memcmp(x->at, y->at, (size_t)x->bytes)) continue;
        int64_t size = gcut_dtype_bytes(x->type.dtype);
        for (int64_t i = 0; i < x->bytes / size; i++)
            if (memcmp((char *)x->at + i * size, (char *)y->at + i * size, (size_t)size) != 0 &&
                !(is_nan_at(x, i) && is_nan_at(y, i)))
                fail_msg("graph %u, %s: %s[%lld] differs from save-all", w->index, what, x->name,
                         (long long)i);
    }
}

/* A step of the same graph under a random plan. */
static gcut_step *random_step(world *w, gcut_graph *g, const gcut_settings *o, const char *base,
                              uint64_t seed)
{
    gcut_arena *a = gcut_arena_new(w->env, w->arena);
    gcut_pipeline *p = gcut_pipeline_new(g, o, GCUT_STAGE_SPLIT, a);
    w->seed = seed;
    gcut_plan *plan = random_plan(w, gcut_problem_new(a, p->planned, &p->plan->options));
    gcut_pipeline_split(p, plan, gcut_printf(a, "%s.%s", p->primal->name, base));
    if (o->backend == GCUT_BACKEND_COMPILED) gcut_pipeline_lower(p);
    return gcut_step_of_pipeline(p, a);
}

static void make(world *w, graph_gen *gen)
{
    gcut_op first[3];
    for (uint32_t k = 0; k < 3; k++) first[k] = (gcut_op)((w->index * 3 + k) % GEN_OPS);
    graph_random(gen, gcut_module_new(w->env, w->arena), "random", w->index, 4 + w->index % 8, first, 3);
}

static void compiled_case(void *arg)
{
    world *w = arg;
    TRY("graph %u", w->index);
    static graph_gen gen;
    static const gcut_size at[] = {{"N", SIZE_N}, {"M", SIZE_M}};
    make(w, &gen);
    for (int backend = 0; backend < 2; backend++) {
        gcut_settings o = options_of(w, at, backend ? GCUT_BACKEND_COMPILED : GCUT_BACKEND_PLANNED);
        gcut_arena *a = gcut_arena_new(w->env, w->arena);
        gcut_step *want = gcut_step_of_pipeline(
            gcut_pipeline_new(gen.b.g, &o, backend ? GCUT_STAGE_KERNEL : GCUT_STAGE_SPLIT, a), a);
        run_step(&gen, want, 2);
        for (uint32_t k = 0; k < (backend ? 2 : 6); k++) {
            gcut_step *got = random_step(w, gen.b.g, &o, "again", w->index * 8 + k);
            run_step(&gen, got, 2);
            same_bits(w, want, got, backend ? "compiled" : "planned");
            gcut_stats st = *gcut_step_stats(got);
            if (backend) assert_int_equal(st.peak_bytes, st.predicted_bytes);
            gcut_arena_free(got->arena);
        }
    }
}

/* What is saved rounded is for the backward graph alone: results of the forward graph keep their bits. */
static void rounded_case(void *arg)
{
    world *w = arg;
    TRY("graph %u", w->index);
    static graph_gen gen;
    static const gcut_size at[] = {{"N", 40}, {"M", SIZE_M}};
    make(w, &gen);
    gcut_settings o = options_of(w, at, GCUT_BACKEND_PLANNED);
    gcut_arena *a = gcut_arena_new(w->env, w->arena);
    gcut_step *want = gcut_step_of_pipeline(gcut_pipeline_new(gen.b.g, &o, GCUT_STAGE_SPLIT, a), a);
    run_step(&gen, want, 1);
    o.save_dtype = "bf16";
    for (uint32_t k = 0; k < 4; k++) {
        gcut_step *got = random_step(w, gen.b.g, &o, "again", w->index * 8 + k);
        run_step(&gen, got, 1);
        for (uint32_t i = 0; i < want->nslots; i++) {
            const gcut_slot *x = &want->slot[i], *y = &got->slot[i];
            if (x->role != GCUT_ROLE_out || x->bytes == 0) continue;
            if (memcmp(x->at, y->at, (size_t)x->bytes) != 0)
                fail_msg("graph %u, rounded: %s differs from save-all", w->index, x->name);
        }
        gcut_arena_free(got->arena);
    }
}

static void rounded(void **state)
{
    world *w = *state;
    for (w->index = 0; w->index < (nightly() ? 60 : 25); w->index++) {
        w->arena = gcut_arena_new(w->env, w->env->arena);
        must(w->env, rounded_case, w);
        gcut_arena_free(w->arena);
    }
}

static uint32_t setting(const char *name, uint32_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? (uint32_t)strtoul(s, NULL, 10) : otherwise;
}

static void compiled(void **state)
{
    world *w = *state;
    uint32_t from = setting("GCUT_SEED", 0), n = setting("GCUT_GRAPHS", nightly() ? 12 : 5);
    for (uint32_t i = from; i < from + n; i++) {
        w->index = i * 5 % 300; /* the first few begin with ops from all over the table */
        w->arena = gcut_arena_new(w->env, w->env->arena);
        must(w->env, compiled_case, w);
        gcut_arena_free(w->arena);
    }
}

/* ---- gradients of parameters early ---- */

/* Of each layer, the product that makes its weight's gradient reads the same cotangent as the one that goes on
 * downwards; under mean_square the derivative of the loss waits for no cotangent. */
static const char layers[] =
    "gcut 1\n"
    "func @f(input %x: f32[32, 16], param %w1: f32[16, 64], param %w2: f32[64, 48],\n"
    "        param %w3: f32[48, 8]) -> (out loss: f32[]) {\n"
    "  %a1 = matmul(%x, %w1)\n"
    "  %h1 = tanh(%a1)\n"
    "  %a2 = matmul(%h1, %w2)\n"
    "  %h2 = tanh(%a2)\n"
    "  %a3 = matmul(%h2, %w3)\n"
    "  %sq = mul(%a3, %a3)\n"
    "  %loss = sum(%sq)\n"
    "  return %loss\n"
    "}\n";

static uint32_t position(const gcut_graph *g, const gcut_schedule *s, const char *result)
{
    for (uint32_t k = 0; k < g->results.n; k++) {
        const gcut_ref v = g->results.at[k].value;
        for (uint32_t i = 0; !strcmp(g->results.at[k].name, result) && i < s->n; i++)
            if (s->node[i] == g->values.at[v].def) return i;
    }
    fail_msg("no result %s", result);
    return 0;
}

/* Where the schedule multiplies by the transpose of parameter w. */
static uint32_t downwards(const gcut_graph *g, const gcut_schedule *s, const char *w)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < s->n; i++) {
        const gcut_node *n = gcut_node_at(g, s->node[i]);
        if (n->op == GCUT_OP_matmul && gcut_attr_flag(g, n, GCUT_KEY_tb) &&
            !strcmp(g->values.at[gcut_arg(g, n, 1)].name, w))
            found = i;
    }
    assert_that(found, !=, UINT32_MAX);
    return found;
}

static void early_body(void *arg)
{
    world *w = arg;
    gcut_settings opt = gcut_settings_of(NULL, NULL, 0);
    opt.policy = "save-all";
    gcut_graph *user =
        gcut_parse_module(w->env, w->env->arena, "layers", layers, strlen(layers))->graphs.at[0];
    const gcut_pipeline *p = gcut_pipeline_new(user, &opt, GCUT_STAGE_SPLIT, w->env->arena);
    const gcut_graph *g = p->plan->joint;
    const gcut_schedule *s = &p->plan->backward;
    assert_that(position(g, s, "w3"), <, downwards(g, s, "w3"));
    assert_that(position(g, s, "w2"), <, downwards(g, s, "w2"));
}

static void gradients_of_parameters_come_early(void **state)
{
    must(((world *)*state)->env, early_body, *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_FIXTURE(interpreted), WITH_FIXTURE(compiled),
                                       WITH_FIXTURE(rounded),
                                       WITH_FIXTURE(gradients_of_parameters_come_early)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
