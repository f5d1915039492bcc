/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * C leaves open in which order qsort leaves elements that compare equal.  The qsort of this program refuses them where
 * they differ, while frontiers and plans within a number of saved bytes are made.
 */
#include "harness.h"

#include "graph/ops/node_facts.h"
#include "joint_gen.h"
#include "partition/cut/frontier.h"

static uint64_t sorted; /* elements */

/* By insertion. */
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    char *at = base, one[256];
    assert_that(size, <=, sizeof one);
    sorted += n;
    for (size_t i = 1; i < n; i++) {
        size_t to = i;
        memcpy(one, at + i * size, size);
        while (to > 0 && compare(at + (to - 1) * size, one) > 0) to--;
        if (to > 0 && compare(at + (to - 1) * size, one) == 0)
            assert_memory_equal(at + (to - 1) * size, one, size);
        memmove(at + (to + 1) * size, at + to * size, (i - to) * size);
        memcpy(at + to * size, one, size);
    }
}

static gcut_problem *problem_of(gcut_env *env, gcut_arena *a, uint64_t seed)
{
    static const int64_t rows[] = {1, 1000, 100000000};
    gcut_graph *g = joint_random(gcut_module_new(env, a), seed, 20 + (uint32_t)seed / 2, rows[seed % 3],
                                 seed % 5 ? 64 : 0, "j");
    gcut_plan_options opt = {.lambda = 0.05, .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
    return gcut_problem_new(a, g, gcut_memdup(a, &opt, sizeof opt));
}

static void body(void *arg)
{
    gcut_env *env = arg;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        TRY("seed %d", (int)seed);
        gcut_arena *a = gcut_arena_new(env, NULL);
        const gcut_problem *p = problem_of(env, a, seed);
        const gcut_cut_frontier *f = gcut_cut_frontier_of(p, a);
        const int64_t most = f->points.at[0].saved_bytes, least = f->points.at[f->points.n - 1].saved_bytes;
        for (int64_t part = 0; part < 8; part++)
            gcut_frontier_at_most(f, a, least + (most - least) / 8 * part);
        gcut_arena_free(a);
    }
    assert_that(sorted, >, 1000);
}

static void no_keys_are_equal(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, body, env);
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_keys_are_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
