/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What tests of the public API share; after cmocka.h, with _GNU_SOURCE.
 */
#ifndef GCUT_TESTS_API_H
#define GCUT_TESTS_API_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gradcut/gradcut.h"

static char tmp[] = "/tmp/gradcut-api-XXXXXX"; /* of the program */

static inline gcut_ctx *new_ctx(void)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    assert_non_null(ctx);
    return ctx;
}

static inline const char *in_tmp(const char *name)
{
    static char path[4][128];
    static int k;
    k = (k + 1) % 4;
    snprintf(path[k], sizeof path[k], "%s/%s", tmp, name);
    return path[k];
}

static inline gcut_graph *graph_from(gcut_ctx *ctx, const char *text)
{
    const char *path = in_tmp("graph.gcut");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "gcut 1\n%s", text);
    assert_int_equal(fclose(f), 0);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) print_error("%s", gcut_last_error(ctx));
    assert_non_null(g);
    return g;
}

static inline void assert_says(gcut_ctx *ctx, gcut_status status, const char *what)
{
    const char *e = gcut_last_error(ctx);
    if (!strstr(e, what)) fail_msg("expected '%s' in: %s", what, e);
    assert_int_equal(gcut_last_status(ctx), status);
}

static inline void must_run(gcut_ctx *ctx, gcut_step *s)
{
    if (!s || gcut_run(s) != GCUT_OK) fail_msg("not run: %s", gcut_last_error(ctx));
}

static inline gcut_step *compile_as(gcut_graph *g, gcut_backend b, const char *optimizer)
{
    gcut_options o = GCUT_OPTIONS_DEFAULT;
    o.backend = b;
    o.optimizer = optimizer;
    return gcut_compile(g, &o);
}

/* Group fixtures: the folder of in_tmp. */
static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(tmp) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", tmp);
    return system(cmd);
}

/* Least squares, with a size to choose. */
#define LINE_FIT                                                                                             \
    "func @line[N in 1..64 mult 1](param %w: f32[3], input %x: f32[N, 3], input %y: f32[N]) -> (out loss: "  \
    "f32[]) {\n"                                                                                             \
    "  %w2 = reshape(%w, shape=[3, 1])\n"                                                                    \
    "  %p = matmul(%x, %w2)\n"                                                                               \
    "  %q = reshape(%p, shape=[N])\n"                                                                        \
    "  %loss = mse(%q, %y)\n"                                                                                \
    "  return %loss\n"                                                                                       \
    "}\n"

#endif
