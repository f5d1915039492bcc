/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What tests of the public API share; after cmocka.h, with _GNU_SOURCE.
 */
#ifndef GCUT_TESTS_API_H
#define GCUT_TESTS_API_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "gradcut/gradcut.h"
#include "nightly.h"
#include "public.h"

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
    gcut_options o = TEST_OPTIONS;
    o.backend = b;
    o.optimizer = optimizer;
    return gcut_compile(g, &o);
}

/* Of a forward graph alone. */
static inline gcut_options forward_options(gcut_backend backend, int threads, const gcut_size *at, size_t nat)
{
    gcut_options o = TEST_OPTIONS;
    o.backend = backend;
    o.forward_only = true;
    o.threads = threads;
    o.at = at;
    o.nat = nat;
    return o;
}

/* The C of a step, to be freed. */
static inline char *emitted(gcut_ctx *ctx, gcut_graph *g, const gcut_options *o)
{
    enum { MOST = 1 << 20 };
    char *text = calloc(1, MOST);
    assert_non_null(text);
    if (gcut_emit_files(g, o, in_tmp("emitted"), false) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    FILE *f = fopen(in_tmp("emitted.c"), "r");
    assert_non_null(f);
    assert_true(fread(text, 1, MOST - 1, f) < MOST - 1);
    fclose(f);
    return text;
}

/* Every value of two steps, all of them f32: |x - y| is at most allowed(its name, x). */
static inline void assert_near(gcut_step *want, gcut_step *got, int64_t n,
                               float (*allowed)(const char *name, float x))
{
    for (size_t i = 0; i < gcut_step_value_count(want); i++) {
        gcut_value_info a = *gcut_step_value_at(want, i), b;
        assert_true(value_of(got, a.name, &b));
        assert_int_equal(a.bytes, b.bytes);
        const float *x = a.at, *y = b.at;
        for (int64_t k = 0; k < a.bytes / 4; k++)
            if (x[k] != y[k] && !(fabsf(x[k] - y[k]) <= allowed(a.name, x[k])))
                fail_msg("N=%d: %s[%d] is %g, not %g", (int)n, a.name, (int)k, (double)y[k], (double)x[k]);
    }
}

/* Results, gradients and what is updated of a step that has run, one after the other; to be freed. */
static inline unsigned char *result_bytes(gcut_step *s, size_t *size)
{
    unsigned char *all = NULL;
    *size = 0;
    for (size_t i = 0; i < gcut_step_value_count(s); i++) {
        gcut_value_info v = *gcut_step_value_at(s, i);
        if (strcmp(v.role, "out") != 0 && strcmp(v.role, "grad") != 0 && !v.updated) continue;
        all = realloc(all, *size + (size_t)v.bytes);
        assert_non_null(all);
        memcpy(all + *size, v.at, (size_t)v.bytes);
        *size += (size_t)v.bytes;
    }
    return all;
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
