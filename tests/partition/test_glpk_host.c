/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A program that uses GLPK itself.  After a maximum flow, and after one that GLPK has no memory for, its environment
 * prints what it printed before: GLPK's own errors turn the terminal on.
 *
 * The source is included, not its header: no other file includes glpk.h.
 */
#include "harness.h"

#include "partition/cut/glpk.c"

/* A chain that takes more than the mebibyte of `host_keeps_its_terminal`. */
static void flow(void *arg)
{
    enum { N = 50000 };
    gcut_env *env = arg;
    gcut_pipe *pipes = gcut_calloc(env->arena, N, sizeof *pipes);
    for (uint32_t i = 0; i + 1 < N; i++) pipes[i] = (gcut_pipe){.from = i, .to = i + 1, .cap = 1};
    assert_int_equal(gcut_glpk_flow(env->arena, N, pipes, N - 1, 0, N - 1), 1);
}

static void host_keeps_its_terminal(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    assert_int_equal(glp_init_env(), 0);
    glp_term_out(GLP_OFF);
    must(env, flow, env);
    assert_int_equal(glp_term_out(GLP_OFF), GLP_OFF);
    glp_mem_limit(1);
    assert_int_equal(gcut_protect(env, flow, env), GCUT_ENOMEM);
    assert_int_equal(glp_term_out(GLP_OFF), GLP_OFF);
    glp_free_env();
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(host_keeps_its_terminal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
