/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Small graphs as text, run in every backend through the public API.
 */
#ifndef TESTS_BACKENDS_H
#define TESTS_BACKENDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gradcut/gradcut.h"
#include "public.h"

typedef struct backend_case {
    const char *name;
    gcut_backend backend;
    bool exact;
} backend_case;

static const backend_case backends[] = {{"eager, f64", GCUT_BACKEND_EAGER, true},
                                        {"eager", GCUT_BACKEND_EAGER, false},
                                        {"joint", GCUT_BACKEND_JOINT, false},
                                        {"planned", GCUT_BACKEND_PLANNED, false},
                                        {"compiled", GCUT_BACKEND_COMPILED, false}};
#define NBACKENDS (sizeof backends / sizeof *backends)

/* The last function of a text; NULL when it is wrong. */
static inline gcut_graph *load_text(gcut_ctx *ctx, const char *text)
{
    char path[] = "/tmp/gradcut-backends-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    fprintf(f, "gcut 1\n%s", text);
    assert_int_equal(fclose(f), 0);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    unlink(path);
    return g;
}

static inline gcut_graph *graph_from(gcut_ctx *ctx, const char *text)
{
    gcut_graph *g = load_text(ctx, text);
    if (!g) fail_msg("%s\n%s", gcut_last_error(ctx), text);
    return g;
}

static inline void assert_ok(gcut_ctx *ctx, gcut_status s)
{
    if (s != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
}

static inline gcut_step *step_of(gcut_ctx *ctx, gcut_graph *g, const backend_case *b, bool forward,
                                 const char *optimizer)
{
    gcut_options o = UNREFINED_OPTIONS;
    o.backend = b->backend;
    o.f64 = b->exact;
    o.forward_only = forward;
    o.optimizer = optimizer;
    o.threads = 2;
    gcut_step *s = gcut_compile(g, &o);
    if (!s) fail_msg("%s: %s", b->name, gcut_last_error(ctx));
    return s;
}

static inline gcut_step *forward_step(gcut_ctx *ctx, gcut_graph *g, const backend_case *b)
{
    return step_of(ctx, g, b, true, NULL);
}

#endif
