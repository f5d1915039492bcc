/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every test program shares: cmocka, an environment, and graphs from text.
 */
#ifndef GCUT_TESTS_HARNESS_H
#define GCUT_TESTS_HARNESS_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cases.h"
#include "text/text.h"
#include "nightly.h"

/* What calibrate may have written on this machine must not change what tests expect. */
__attribute__((constructor)) static inline void use_the_shipped_machine(void)
{
    setenv("GRADCUT_MACHINE", "shipped", 1);
}

/* Runs body in env, prints the diagnostics and fails the test when it throws. */
static inline void must(gcut_env *env, void (*body)(void *), void *arg)
{
    gcut_status s = gcut_protect(env, body, arg);
    if (s == GCUT_OK) return;
    for (uint32_t i = 0; i < env->ndiags; i++) fputs(gcut_diag_text(env->arena, &env->diags[i]), stderr);
    fail_msg("unexpected status %d", (int)s);
}

/* Runs body in env and fails the test unless it throws that status, with one diagnostic, whose text contains `words`. */
static inline void must_refuse(gcut_env *env, void (*body)(void *), void *arg, gcut_status status,
                               const char *words)
{
    const gcut_status got = gcut_protect(env, body, arg);
    const char *said = env->ndiags ? gcut_diag_text(env->arena, &env->diags[0]) : "";
    if (got != status || env->ndiags != 1 || !strstr(said, words))
        fail_msg("expected the status %d and '%s', found %d and %u diagnostics: %s", (int)status, words,
                 (int)got, (unsigned)env->ndiags, said);
    gcut_diags_clear(env);
}

/* A fixture whose first member is a gcut_env *: cmocka's state is a zeroed one with an environment of its
 * own. FIXTURE(world) defines its setup and teardown, WITH_FIXTURE(f) names a test that has one. */
#define FIXTURE(type)                                                                                        \
    static int setup(void **state)                                                                           \
    {                                                                                                        \
        type *w = calloc(1, sizeof *w);                                                                      \
        *state = w;                                                                                          \
        return w && (w->env = gcut_env_new(NULL, NULL)) ? 0 : -1;                                            \
    }                                                                                                        \
    static int teardown(void **state)                                                                        \
    {                                                                                                        \
        type *w = *state;                                                                                    \
        gcut_env_free(w->env);                                                                               \
        free(w);                                                                                             \
        return 0;                                                                                            \
    }
#define WITH_FIXTURE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* Optimising a step takes most of a test's time.  Quick: steps compiled from now on are not optimised, unless
 * GRADCUT_STEP_FLAGS is set from outside, as it is for most tests (cmake/GradcutTest.cmake). */
static inline void compile_quickly(bool quick)
{
    static bool ours;
    if (quick && !getenv("GRADCUT_STEP_FLAGS")) {
        setenv("GRADCUT_STEP_FLAGS", STEP_FLAGS " -O0", 1);
        ours = true;
    }
    if (!quick && ours) {
        unsetenv("GRADCUT_STEP_FLAGS");
        ours = false;
    }
}

/* "add neg": the ops in order. */
static inline const char *ops_of(gcut_arena *a, const gcut_graph *g)
{
    gcut_text t = {.arena = a};
    gcut_text_addn(&t, "", 0);
    for (uint32_t n = 0; n < g->nodes.n; n++)
        gcut_text_add(&t, "%s%s", n ? " " : "", gcut_op_get((gcut_op)g->nodes.at[n].op)->name);
    return t.at;
}

#endif
