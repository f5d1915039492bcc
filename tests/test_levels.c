/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recomputation on several levels against optima from elsewhere.
 *
 * On a uniform chain h[i+1] = cos(h[i]), i = 0..l-1, loss = sum(h[l]), step i of the backward half needs
 * h[i]. Revolve (Griewank and Walther 2000) reverses l steps with c checkpoints, one of them the initial
 * state, in t(l, c) = r l - C(c + r, c + 1) evaluations of steps, r minimal with C(c + r, c) >= l.  It counts
 * the evaluations that lead to the last step, but not the last step's own, and it does not count the place of
 * the state at hand.  Here h[0] is a parameter, so c checkpoints are h[0] and c - 1 more; with the state at
 * hand never more than c values of h[1..l-1] are there at once.  The forward half computes h[1..l], of which
 * l - 1 are revolve's first sweep: what the backward half computes again is t(l, c) - (l - 1).
 */
#include "oracle.h"

#include "autodiff/autodiff.h"
#include "partition/family.h"
#include "partition/levels.h"
#include "partition/live.h"

static gcut_graph *chain_of(gcut_env *env, gcut_arena *a, uint32_t l)
{
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "gcut 1\nfunc @f(param %%h0: f32[1024]) -> (out loss: f32[]) {\n");
    for (uint32_t i = 0; i < l; i++) gcut_text_add(&t, "  %%h%u = cos(%%h%u)\n", i + 1, i);
    gcut_text_add(&t, "  %%loss = sum(%%h%u)\n  return %%loss\n}\n", l);
    return gcut_joint(gcut_parse(env, a, "chain", t.at, t.n)->graphs.at[0], NULL, "joint");
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
    return n && n->op == GCUT_OP_cos && p->facts->where[v] == GCUT_W_FORWARD;
}

/* How often the backward half computes states again, and how many of them are there at most at the end of a
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
    gcut_plan_options opt = {.policy = GCUT_POLICY_MINCUT, .lambda = 0.05, .machine = gcut_machine_shipped()};
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

static void body_revolve(void *arg)
{
    gcut_env *env = arg;
    static const uint32_t lengths[] = {4, 5, 7, 10, 16, 21, 32, 45, 64, 100};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint32_t l = lengths[i], best[9];
        gcut_arena *a = gcut_arena_new(env, NULL);
        gcut_plan_options opt = options();
        gcut_problem *p = gcut_problem_new(a, chain_of(env, a, l), &opt);
        const gcut_choice *all = gcut_choose(p, a, GCUT_POLICY_SAVE_ALL, 0);
        gcut_chain *c = gcut_chain_of(p, a, &all, 1);
        assert_int_equal(c->b.n, l);
        /* Revolve has states alone, no gradients. */
        for (uint32_t k = 0; k < l; k++)
            for (uint32_t o = 0; o < c->at[k].nopt; o++) c->at[k].opt[o].work = 0;
        gcut_level_plans plans = gcut_levels_of(c, a, 128);
        find_best(p, a, &plans, best);
        for (uint32_t j = 1; j <= 8 && j < l; j++) assert_int_equal(best[j], revolve(l, j) - (l - 1));
        gcut_arena_free(a);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(uniform_chains_reach_revolve)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
