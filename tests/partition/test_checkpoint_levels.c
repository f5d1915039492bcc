/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recomputation on several levels against optima from elsewhere.
 *
 * On a uniform chain h[i+1] = cos(h[i]), i = 0..l-1, loss = sum(h[l]), step i of the backward graph needs
 * h[i]. Revolve (Griewank and Walther 2000) reverses l steps with c checkpoints, one of them the initial
 * state, in t(l, c) = r l - C(c + r, c + 1) evaluations of steps, r minimal with C(c + r, c) >= l.  It counts
 * the evaluations that lead to the last step, but not the last step's own, and it does not count the place of
 * the state at hand.  Here h[0] is a parameter, so c checkpoints are h[0] and c - 1 more; with the state at
 * hand never more than c values of h[1..l-1] are there at once.  The forward graph computes h[1..l], of which
 * l - 1 are revolve's first sweep: what the backward graph computes again is t(l, c) - (l - 1).
 */
#include "driver/pipeline/compile.h"
#include "graph/ops/node_facts.h"
#include "oracle.h"

#include "autodiff/autodiff.h"
#include "driver/options/options.h"
#include "driver/load/step.h"
#include "joint_gen.h"
#include "nightly.h"
#include "partition/budget/simulated_plans.h"
#include "partition/cut/frontier.h"
#include "partition/budget/checkpoint_levels.h"
#include "partition/budget/simulator.h"
#include "partition/plan.h"
#include "partition/policies/policy.h"
#include "stage_program.h"
#include "public.h"
#include "schedule_check.h"

static gcut_graph *chain_of(gcut_env *env, gcut_arena *a, uint32_t l)
{
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "gcut 1\nfunc @f(param %%h0: f32[1024]) -> (out loss: f32[]) {\n");
    for (uint32_t i = 0; i < l; i++) gcut_text_add(&t, "  %%h%u = cos(%%h%u)\n", i + 1, i);
    gcut_text_add(&t, "  %%loss = sum(%%h%u)\n  return %%loss\n}\n", l);
    return gcut_joint(gcut_parse_module(env, a, "chain", t.at, t.n)->graphs.at[0], NULL, "joint");
}

static uint64_t binomial(uint64_t n, uint64_t k)
{
    uint64_t r = 1;
    for (uint64_t i = 1; i <= k; i++) r = r * (n - k + i) / i;
    return r;
}

static uint64_t revolve(uint64_t l, uint64_t c)
{
    uint64_t r = 0;
    while (binomial(c + r, c) < l) r++;
    return r * l - binomial(c + r, c + 1);
}

static bool is_state(const gcut_problem *p, gcut_ref v)
{
    const gcut_node *n = gcut_def(p->g, v);
    return n && n->op == GCUT_OP_cos && p->facts->side[v] == GCUT_SIDE_FORWARD;
}

/* How often the backward graph computes states again, and how many of them are there at most at the end of a
 * gap, counted from the schedule alone. */
static void count(const gcut_problem *p, gcut_arena *a, const gcut_choice *c, uint32_t *again, uint32_t *most)
{
    const gcut_graph *g = p->g;
    uint32_t n = c->backward.n;
    uint32_t *until = gcut_calloc(a, g->values.n, sizeof *until); /* last read of the copy at hand */
    int *live = gcut_calloc(a, (size_t)n + 1, sizeof *live);
    *again = *most = 0;
    for (uint32_t t = n; t-- > 0;) {
        const gcut_node *x = gcut_node_at(g, c->backward.node[t]);
        bool state = is_state(p, x->res0);
        *again += state;
        if (state) {
            for (uint32_t k = t; k < until[x->res0]; k++) live[k]++;
            until[x->res0] = 0;
        }
        for (uint32_t k = 0; k < x->nargs; k++)
            if (until[gcut_arg(g, x, k)] == 0) until[gcut_arg(g, x, k)] = t + 1;
    }
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (is_state(p, v))
            for (uint32_t k = 0; k < until[v]; k++) live[k]++;
    for (uint32_t t = 0; t < n; t++) {
        gcut_ref v = gcut_node_at(g, c->backward.node[t])->res0;
        if (!is_state(p, v) && (uint32_t)live[t] > *most) *most = (uint32_t)live[t];
    }
}

/* Revolve's memory is free: only its size is limited. */
static gcut_plan_options options(void)
{
    gcut_plan_options opt = {.policy = GCUT_POLICY_MINCUT,
                             .lambda = 0.05,
                             .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
    opt.machine.read_ns_per_byte[GCUT_DRAM] = opt.machine.write_ns_per_byte[GCUT_DRAM] = 0;
    return opt;
}

/* best[c]: the fewest evaluations again of plans with at most c states at once. */
static void find_best(const gcut_problem *p, gcut_arena *a, const gcut_level_plans *plans, uint32_t best[9])
{
    for (uint32_t i = 0; i <= 8; i++) best[i] = UINT32_MAX;
    for (uint32_t i = 0; i < plans->at.n; i++) {
        uint32_t again, most;
        count(p, a, plans->at.at[i].choice, &again, &most);
        for (uint32_t j = most; j <= 8; j++)
            if (again < best[j]) best[j] = again;
    }
}

/* The bound of the cost in the memory of j states is below what revolve takes there. */
static void check_bound(const gcut_problem *p, gcut_arena *a, uint32_t l)
{
    const gcut_cut_frontier *f = gcut_cut_frontier_of(p, a);
    double unit = 0; /* the dearest state */
    for (gcut_ref v = 1; v < p->g->values.n; v++)
        if (is_state(p, v)) unit = fmax(unit, p->price[v].recompute_ns);
    for (uint32_t j = 1; j <= 8 && j < l; j++) {
        double least = (double)(revolve(l, j) - (l - 1)) * unit;
        double bound = gcut_bound_for_bytes(f, j * INT64_C(4096));
        assert_that(bound, <=, least * (1 + 1e-12));
        assert_true(bound > 0 || j + 1 >= l);
    }
}

static void body_revolve(void *arg)
{
    gcut_env *env = arg;
    static const uint32_t lengths[] = {4, 5, 7, 10, 16, 21, 32, 45, 64, 100};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        TRY("length %zu", i);
        if (!in_turn(i + 2, 3)) continue;
        uint32_t l = lengths[i], best[9];
        gcut_arena *a = gcut_arena_new(env, NULL);
        gcut_plan_options opt = options();
        gcut_problem *p = gcut_problem_new(a, chain_of(env, a, l), &opt);
        const gcut_choice *all = gcut_choose(p, a, gcut_policy_get(GCUT_POLICY_SAVE_ALL)->saved, 0);
        gcut_chain *c = gcut_chain_of(p, a, &all, 1);
        assert_int_equal(c->b.n, l);
        /* Revolve has states alone, no gradients. */
        for (uint32_t k = 0; k < l; k++)
            for (uint32_t o = 0; o < c->at[k].nopt; o++) c->at[k].opt[o].work = 0;
        gcut_level_plans plans = gcut_levels_of(c, a, 128);
        find_best(p, a, &plans, best);
        for (uint32_t j = 1; j <= 8 && j < l; j++) assert_int_equal(best[j], revolve(l, j) - (l - 1));
        check_bound(p, a, l);
        gcut_arena_free(a);
    }
}

/* Of a long uniform chain those cuts stay whose two blocks are longest: no block that was merged is longer than two
 * that are left. */
static void body_long_chain(void *arg)
{
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, NULL);
    const gcut_plan_options opt = {.machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
    const gcut_problem *p = gcut_problem_new(a, chain_of(env, a, 100000), &opt);
    const gcut_blocks b = gcut_blocks_of(p, a);
    uint32_t longest = 0, least = UINT32_MAX, before = 0;
    assert_int_equal(b.n, GCUT_MAX_BLOCKS);
    for (uint32_t k = 0; k + 1 < b.n; k++) { /* the last ends with the backward graph */
        const uint32_t n = b.end[k] + 1 - (k ? b.end[k - 1] + 1 : 0);
        if (n > longest) longest = n;
        if (k && n + before < least) least = n + before;
        before = n;
    }
    assert_that(longest, <=, least);
    gcut_arena_free(a);
}

static void long_chains_have_even_blocks(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, body_long_chain, env);
    gcut_env_free(env);
}

static void uniform_chains_reach_revolve(void **state)
{
    (void)state;
    assert_int_equal(revolve(16, 2), 45);
    assert_int_equal(revolve(16, 4), 27);
    assert_int_equal(revolve(16, 8), 22);
    assert_int_equal(revolve(64, 3), 258);
    assert_int_equal(revolve(64, 8), 137);
    assert_int_equal(revolve(100, 4), 374);
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, body_revolve, env);
    gcut_env_free(env);
}

/* ---- Checkmate ---- */

#define SOLVED_HERE 6 /* states: larger programs are left to the reference */

typedef struct checkmate_row {
    uint32_t l, memory; /* in states */
    double cost[32];    /* of h[1..l-1] */
    double least;       /* cost of what is computed again */
} checkmate_row;

static bool read_row(FILE *f, checkmate_row *r)
{
    char costs[512];
    if (fscanf(f, "%u %u %511s %lf", &r->l, &r->memory, costs, &r->least) != 4) return false;
    char *at = costs;
    assert_that(r->l, >=, 2);
    assert_that(r->l, <=, 32);
    for (uint32_t i = 1; i < r->l; i++) r->cost[i] = strtod(at + (i > 1), &at);
    assert_int_equal(*at, 0);
    return true;
}

/* The cost of the states that the backward graph computes again, from the schedule alone. */
static double cost_again(const gcut_problem *p, const gcut_choice *c, const checkmate_row *r)
{
    double sum = 0;
    for (uint32_t t = 0; t < c->backward.n; t++) {
        gcut_ref v = gcut_node_at(p->g, c->backward.node[t])->res0;
        if (is_state(p, v)) sum += r->cost[strtoul(p->g->values.at[v].name + 1, NULL, 10)];
    }
    return sum;
}

/* With memory as Checkmate counts it: a state takes a unit, so does a gradient, and before an operand is
 * freed what is made of it is there.  (Kernels write a gradient over the one before it.) */
static void check_row(gcut_env *env, const checkmate_row *r)
{
    gcut_arena *a = gcut_arena_new(env, NULL);
    gcut_plan_options opt = options();
    gcut_problem *p = gcut_problem_new(a, chain_of(env, a, r->l), &opt);
    const gcut_choice *all = gcut_choose(p, a, gcut_policy_get(GCUT_POLICY_SAVE_ALL)->saved, 0);
    gcut_chain *c = gcut_chain_of(p, a, &all, 1);
    assert_int_equal(c->b.n, r->l);
    bool equal = true;
    for (uint32_t k = 0; k < r->l; k++) {
        uint32_t gradients =
            k == 0 || k + 1 == r->l ? 1 : 2; /* the last comes from a scalar, g[0] is a result */
        for (uint32_t o = 0; o < c->at[k].nopt; o++) c->at[k].opt[o].work = gradients * INT64_C(4096);
        c->at[k].advance_ns = k + 1 < r->l ? r->cost[k + 1] : 0;
        equal &= k + 1 == r->l || r->cost[k + 1] == 1;
    }
    gcut_level_plans plans = gcut_levels_of(c, a, 128);
    double best = INFINITY;
    uint32_t again = 0, most;
    for (uint32_t i = 0; i < plans.at.n; i++) {
        const gcut_level_plan *x = &plans.at.at[i];
        double cost = cost_again(p, x->choice, r);
        if (x->bytes > r->memory * INT64_C(4096) || cost >= best) continue;
        best = cost;
        count(p, a, x->choice, &again, &most);
    }
    if (fabs(best - r->least) > 1e-9)
        fail_msg("%u states in %u: %g, Checkmate %g", r->l, r->memory, best, r->least);
    if (equal) assert_int_equal(again, (uint32_t)r->least);
    if (r->l <= SOLVED_HERE) assert_within(stage_program(a, r->l, r->memory, r->cost), r->least, 1e-6);
    gcut_arena_free(a);
}

static void body_checkmate(void *arg)
{
    gcut_env *env = arg;
    FILE *f = fopen(GCUT_SOURCE_DIR "/tests/reference/checkmate.txt", "r");
    assert_non_null(f);
    checkmate_row r;
    uint32_t n = 0;
    for (; read_row(f, &r); n++) check_row(env, &r);
    fclose(f);
    assert_that(n, >=, 12);
}

static void linear_graphs_reach_the_stage_program(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, body_checkmate, env);
    gcut_env_free(env);
}

typedef struct text_job {
    gcut_env *env;
    const char *text;
    gcut_graph **out;
} text_job;

static void body_parse(void *arg)
{
    const text_job *j = arg;
    *j->out = gcut_parse_module(j->env, j->env->arena, "text", j->text, strlen(j->text))->graphs.at[0];
}

typedef struct bits_job {
    gcut_env *env;
    gcut_graph *user;
    const char *name;
    bool deep; /* some plan on several levels is worth it */
} bits_job;

/* ---- a deep transformer ---- */

/* GPT-2's layers, 16 wide, on 64 sequences of 16. */
static const char *transformer_text(gcut_arena *a, int layers)
{
    gcut_text t = {.arena = a};
    static const char *const shapes[][2] = {{"g", "16"},  {"b", "16"},  {"qkv", "16, 48"}, {"o", "16, 16"},
                                            {"g2", "16"}, {"b2", "16"}, {"fc", "16, 64"},  {"pr", "64, 16"}};
    gcut_text_add(&t, "gcut 1\nfunc @t(input %%x0: f32[1024, 16]");
    for (int i = 0; i < layers; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            gcut_text_add(&t, ", param %%%s.%d: f32[%s]", shapes[k][0], i, shapes[k][1]);
    gcut_text_add(&t, ") -> (out loss: f32[]) {\n");
    for (int i = 0; i < layers; i++) {
        gcut_text_add(&t, " %%n%d = layer_norm(%%x%d, %%g.%d, %%b.%d)\n %%h%d = matmul(%%n%d, %%qkv.%d)\n", i,
                      i, i, i, i, i, i);
        for (int k = 0; k < 3; k++)
            gcut_text_add(&t,
                          " %%s%d.%d = slice(%%h%d, start=[0, %d], limit=[1024, %d])\n"
                          " %%r%d.%d = reshape(%%s%d.%d, shape=[64, 16, 2, 8])\n"
                          " %%q%d.%d = transpose(%%r%d.%d, perm=[0, 2, 1, 3])\n",
                          k, i, i, 16 * k, 16 * k + 16, k, i, k, i, k, i, k, i);
        gcut_text_add(
            &t,
            " %%a%d = attention(%%q0.%d, %%q1.%d, %%q2.%d, causal=true)\n"
            " %%at%d = transpose(%%a%d, perm=[0, 2, 1, 3])\n %%ar%d = reshape(%%at%d, shape=[1024, 16])\n"
            " %%ao%d = matmul(%%ar%d, %%o.%d)\n %%y%d = add(%%x%d, %%ao%d)\n",
            i, i, i, i, i, i, i, i, i, i, i, i, i, i);
        gcut_text_add(&t,
                      " %%m%d = layer_norm(%%y%d, %%g2.%d, %%b2.%d)\n %%f%d = matmul(%%m%d, %%fc.%d)\n"
                      " %%e%d = gelu(%%f%d)\n %%p%d = matmul(%%e%d, %%pr.%d)\n %%x%d = add(%%y%d, %%p%d)\n",
                      i, i, i, i, i, i, i, i, i, i, i, i, i + 1, i, i);
    }
    gcut_text_add(&t, " %%sq = mul(%%x%d, %%x%d)\n %%loss = sum(%%sq)\n return %%loss\n}\n", layers, layers);
    return t.at;
}

/* The arena of a plan as its kernels place it. */
static int64_t placed(const gcut_pipeline *p, gcut_graph *user, const gcut_choice *c, gcut_arena *parent)
{
    gcut_arena *a = gcut_arena_new(p->env, parent);
    gcut_pipeline *q = gcut_pipeline_new(user, &p->opt, GCUT_STAGE_SPLIT, a);
    gcut_plan *plan =
        gcut_plan_from(gcut_problem_new(a, q->planned, &q->plan->options), &q->plan->options, c);
    gcut_pipeline_split(q, plan, gcut_printf(a, "%s.member", q->primal->name));
    gcut_pipeline_lower(q);
    int64_t bytes = gcut_program_memory(q->program, q->at, q->nat, 1).arena_bytes;
    gcut_arena_free(a);
    return bytes;
}

/* The smallest peak is far under that of any plan with one copy. */
static void body_transformer(void *arg)
{
    bits_job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_settings o = gcut_settings_of(NULL, NULL, 0);
    gcut_pipeline *pl = gcut_pipeline_new(j->user, &o, GCUT_STAGE_SPLIT, a);
    gcut_problem *p = gcut_problem_new(a, pl->planned, &pl->plan->options);
    gcut_simulated_plans *f = gcut_simulated_plans_of(p, a);
    const gcut_cut_frontier *h = gcut_cut_frontier_of(p, a);
    const gcut_simulated_plan *best = NULL;
    const gcut_choice *flat = NULL;
    int64_t one = INT64_MAX;
    for (uint32_t i = 0; i < h->points.n; i++) {
        gcut_choice *c = gcut_cut_point_choice(h, a, &h->points.at[i]);
        int64_t peak = gcut_live_peak(p, c);
        if (peak < one) one = peak, flat = c;
    }
    for (uint32_t i = 0; i < f->by_cost.n; i++) {
        const gcut_simulated_plan *m = &f->by_cost.at[i];
        if (!best || m->simulated_peak < best->simulated_peak) best = m;
        assert_int_equal(m->simulated_peak, gcut_live_peak(p, m->choice));
        assert_true(i == 0 || m[-1].choice->fixed_ns <= m->choice->fixed_ns);
        if (getenv("GCUT_VERBOSE"))
            printf("%-40s cost %.0f peak %lld\n", m->label, m->choice->fixed_ns,
                   (long long)m->simulated_peak);
    }
    assert_that(f->by_cost.n, <=, GCUT_MAX_SIMULATED);
    int64_t deep = placed(pl, j->user, best->choice, a), shallow = placed(pl, j->user, flat, a);
    if (getenv("GCUT_VERBOSE"))
        printf("placed: %lld, with one copy %lld\n", (long long)deep, (long long)shallow);
    assert_that(2 * deep, <, shallow);
    gcut_arena_free(a);
}

/* PyTorch's issue 197838: there a smaller budget may peak higher, since one copy is made early of whatever is
 * not saved. The same transformer under budgets from what the fastest plan needs down to half of it: each
 * is kept, and less memory never takes more, nor less time. */
static void body_budgets(void *arg)
{
    const bits_job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_settings o = gcut_settings_of(NULL, NULL, 0);
    o.threads = 1;
    o.lambda = 0;
    const gcut_pipeline *fast = gcut_pipeline_new(j->user, &o, GCUT_STAGE_KERNEL, a);
    int64_t peak = fast->plan->peak_bytes, largest = peak;
    double ns = 0;
    for (int part = 6; part >= 3; part--) {
        if (!in_turn((size_t)part + 2, 4)) continue;
        o.budget = largest * part / 6;
        const gcut_pipeline *p = gcut_pipeline_new(j->user, &o, GCUT_STAGE_KERNEL, a);
        assert_that(p->plan->peak_bytes, <=, o.budget);
        assert_that(p->plan->peak_bytes, <=, peak);
        assert_that(p->plan->step_ns, >=, ns);
        peak = p->plan->peak_bytes;
        ns = p->plan->step_ns;
    }
    gcut_arena_free(a);
}

static void load_text(bits_job *j, gcut_env *env, const char *text)
{
    text_job parse = {env, text, &j->user};
    j->env = env;
    must(env, body_parse, &parse);
}

/* Families take time by the square of layers, and budgets plan the whole again and again. */
static void a_deep_transformer(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    const bool all = in_turn(1, 2);
    bits_job deep = {.name = "deep transformer"}, budgets = {.name = "transformer under budgets"};
    load_text(&deep, env, transformer_text(env->arena, nightly() ? 32 : all ? 16 : 12));
    must(env, body_transformer, &deep);
    load_text(&budgets, env, transformer_text(env->arena, nightly() ? 32 : all ? 8 : 6));
    must(env, body_budgets, &budgets);
    gcut_env_free(env);
}

/* ---- the same bits ---- */

static gcut_step *ran(gcut_pipeline *p, gcut_arena *a)
{
    gcut_step *s = gcut_step_of_pipeline(p, a);
    gcut_step_prepare(s);
    gcut_step_run(s, GCUT_RT_STEP);
    return s;
}

static void same_bits(const bits_job *j, const char *label, gcut_step *want, gcut_step *got)
{
    for (uint32_t k = 0; k < want->nslots; k++) {
        const gcut_slot *x = &want->slot[k];
        if (x->role != GCUT_ROLE_out && x->role != GCUT_ROLE_grad && !x->updated) continue;
        if (memcmp(x->at, got->slot[k].at, (size_t)x->bytes) != 0)
            fail_msg("%s, %s: %s differs from save-all", j->name, label, x->name);
    }
}

/* Every plan interpreted, the last one compiled. */
static void body_bits(void *arg)
{
    const bits_job *j = arg;
    gcut_step *want[2];
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_settings o = gcut_settings_of(NULL, NULL, 0);
    o.policy = "save-all";
    o.optimizer = "sgd(lr=0.1)";
    o.keep_grads = true;
    o.threads = 2;
    uint32_t several = 0;
    for (int backend = 0; backend < 2; backend++) {
        o.backend = backend ? GCUT_BACKEND_COMPILED : GCUT_BACKEND_PLANNED;
        want[backend] =
            ran(gcut_pipeline_new(j->user, &o, backend ? GCUT_STAGE_KERNEL : GCUT_STAGE_SPLIT, a), a);
    }
    o.backend = GCUT_BACKEND_PLANNED;
    gcut_pipeline *p = gcut_pipeline_new(j->user, &o, GCUT_STAGE_SPLIT, a);
    gcut_simulated_plans *f = gcut_simulated_plans_of(gcut_problem_new(a, p->planned, &p->plan->options), a);
    uint32_t n = f->by_cost.n;
    for (uint32_t i = 0; i < n; i++)
        for (int backend = 0; backend < (i == n - 1 ? 2 : 1); backend++) {
            if (i != n - 1 && !in_turn(i, 4)) continue;
            const gcut_simulated_plan *m = &f->by_cost.at[i];
            if (getenv("GCUT_VERBOSE") && !backend)
                printf("%-40s cost %.0f peak %lld\n", m->label, m->choice->fixed_ns,
                       (long long)m->simulated_peak);
            gcut_arena *b = gcut_arena_new(j->env, a);
            o.backend = backend ? GCUT_BACKEND_COMPILED : GCUT_BACKEND_PLANNED;
            gcut_pipeline *q = gcut_pipeline_new(j->user, &o, GCUT_STAGE_SPLIT, b);
            gcut_problem *mine = gcut_problem_new(b, q->planned, &q->plan->options);
            schedule_check(b, mine->facts, m->choice->decision, &m->choice->backward);
            gcut_plan *plan = gcut_plan_from(mine, &q->plan->options, m->choice);
            for (gcut_ref v = 1; v < q->planned->values.n; v++) several += plan->value[v].copies > 1;
            gcut_pipeline_split(q, plan, gcut_printf(b, "%s.member", q->primal->name));
            if (backend) gcut_pipeline_lower(q);
            same_bits(j, m->label, want[backend], ran(q, b));
            gcut_arena_free(b);
        }
    if (getenv("GCUT_VERBOSE"))
        printf("%s: %u plans, %u values copied more than once\n", j->name, n, several);
    assert_true(several > 0 || !j->deep);
    gcut_arena_free(a);
}

/* tanh layers with a skip connection around all that is inside, as in a U-Net: the forward graph itself holds
 * all of them at once, so that one level is enough. */
static void nested_skips(gcut_text *t, int depth)
{
    gcut_text_add(t, "func @skips(param %%w: f32[8, 8], input %%d0: f32[128, 8]) -> (out loss: f32[]) {\n");
    for (int i = 0; i < depth; i++)
        gcut_text_add(t, " %%a%d = matmul(%%d%d, %%w)\n %%d%d = tanh(%%a%d)\n", i, i, i + 1, i);
    gcut_text_add(t, " %%u%d = mul(%%d%d, %%d%d)\n", depth, depth, depth);
    for (int i = depth; i-- > 0;)
        gcut_text_add(t, " %%b%d = matmul(%%u%d, %%w)\n %%c%d = tanh(%%b%d)\n %%u%d = add(%%c%d, %%d%d)\n", i,
                      i + 1, i, i, i, i, i);
    gcut_text_add(t, " %%loss = sum(%%u0)\n return %%loss\n}\n");
}

static void layers_in_a_row(gcut_text *t, int n)
{
    gcut_text_add(t, "func @row(param %%w: f32[8, 8], input %%h0: f32[128, 8]) -> (out loss: f32[]) {\n");
    for (int i = 0; i < n; i++)
        gcut_text_add(t, " %%a%d = matmul(%%h%d, %%w)\n %%h%d = tanh(%%a%d)\n", i, i, i + 1, i);
    gcut_text_add(t, " %%loss = sum(%%h%d)\n return %%loss\n}\n", n);
}

static void simulated_plans_compute_what_save_all_computes(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        gcut_env *env = gcut_env_new(NULL, NULL);
        gcut_text t = {.arena = env->arena};
        bits_job j = {env, NULL, (const char *[]){"skips", "row", "transformer"}[k], k > 0};
        gcut_text_add(&t, "gcut 1\n");
        if (k == 0) nested_skips(&t, 6);
        if (k == 1) layers_in_a_row(&t, 20);
        load_text(&j, env, k == 2 ? transformer_text(env->arena, 2) : t.at);
        must(env, body_bits, &j);
        gcut_env_free(env);
    }
}

/* ---- random graphs ---- */

/* No chains, forced values here and there: every plan is a schedule, in the order of costs. */
static void body_random(void *arg)
{
    gcut_env *env = arg;
    for (uint64_t seed = 1, last = (uint64_t)rounds(40); seed <= last; seed++) {
        TRY("seed %d", (int)seed);
        gcut_arena *a = gcut_arena_new(env, NULL);
        gcut_module *m = gcut_module_new(env, a);
        gcut_graph *g = joint_random(m, seed, (uint32_t)(seed % 40), 0, 4, "j");
        gcut_dim_binding at = {gcut_dim_symbol(m->dims, "N"), seed % 10 ? 100 : 0};
        gcut_plan_options opt = {
            .lambda = 0.05, .at = &at, .nat = 1, .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
        gcut_problem *p = gcut_problem_new(a, g, &opt);
        for (gcut_ref v = 1; v < g->values.n; v++)
            if (seed % 3 == 0 && v % 7 == 0 && gcut_def(g, v) && p->facts->side[v] == GCUT_SIDE_FORWARD &&
                p->facts->base[v] == v && !p->facts->out[v] && !gcut_value_is(g, v, GCUT_CLASS_CONSTANT))
                p->force[v] = v % 2 ? GCUT_CONSTRAINT_SAVE : GCUT_CONSTRAINT_RECOMPUTE;
        gcut_simulated_plans *f = gcut_simulated_plans_of(p, a);
        assert_that(f->by_cost.n, >=, 1);
        assert_that(f->by_cost.n, <=, GCUT_MAX_SIMULATED);
        for (uint32_t i = 0; i < f->by_cost.n; i++) {
            const gcut_simulated_plan *x = &f->by_cost.at[i];
            schedule_check(a, p->facts, x->choice->decision, &x->choice->backward);
            assert_true(i == 0 || x[-1].choice->fixed_ns <= x->choice->fixed_ns);
            gcut_live l = gcut_live_of(p, x->choice, a);
            assert_that(l.peak_bytes, ==, x->simulated_peak);
            assert_that(l.resident_bytes, <=, l.peak_bytes);
        }
        gcut_arena_free(a);
    }
}

static void families_of_random_graphs_are_sound(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, body_random, env);
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(uniform_chains_reach_revolve),
                                       cmocka_unit_test(long_chains_have_even_blocks),
                                       cmocka_unit_test(linear_graphs_reach_the_stage_program),
                                       cmocka_unit_test(a_deep_transformer),
                                       cmocka_unit_test(simulated_plans_compute_what_save_all_computes),
                                       cmocka_unit_test(families_of_random_graphs_are_sound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
