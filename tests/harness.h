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
#include "graph/text.h"

/* Runs body in env, prints the diagnostics and fails the test when it throws. */
static inline void must(gcut_env *env, void (*body)(void *), void *arg)
{
    gcut_status s = gcut_protect(env, body, arg);
    if (s == GCUT_OK) return;
    for (uint32_t i = 0; i < env->ndiags; i++) fputs(gcut_diag_text(env->arena, &env->diags[i]), stderr);
    fail_msg("unexpected status %d", (int)s);
}

#endif
