/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public API as those who run steps meet it: binding, run-time errors, threads, profiles, and what
 * happens when a folder or a compiler is missing.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>

#include "api.h"
#include "public.h"

static const gcut_backend backends[] = {GCUT_BACKEND_EAGER, GCUT_BACKEND_JOINT, GCUT_BACKEND_PLANNED,
                                        GCUT_BACKEND_COMPILED};

/* ---- binding ---- */

/* The loss, by hand. */
static double line_loss(const float *w, float (*x)[3], const float *y, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double e = (double)w[0] * x[i][0] + (double)w[1] * x[i][1] + (double)w[2] * x[i][2] - y[i];
        s += e * e;
    }
    return s / n;
}

static void binding(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, LINE_FIT);
    static float x[2][64][3], y[64], w[3] = {0.5f, -1, 2}, loss;
    for (int i = 0; i < 64 * 3; i++)
        x[0][i / 3][i % 3] = (float)(i % 7) - 3, x[1][i / 3][i % 3] = (float)(i % 5) / 4;
    for (int i = 0; i < 64; i++) y[i] = (float)(i % 3);
    for (size_t k = 0; k < 4; k++) {
        gcut_step *s = compile_as(g, backends[k], NULL);
        assert_int_equal(gcut_bind(s, "nobody", x, 4, 3), GCUT_EUSAGE);
        assert_says(ctx, GCUT_EUSAGE, "'nobody'");
        assert_int_equal(gcut_bind(s, "x", x, 4), GCUT_EDIM);
        assert_int_equal(gcut_bind(s, "x", x, 4, 4), GCUT_EDIM);
        assert_int_equal(gcut_bind(s, "w", w, 4), GCUT_EDIM);
        gcut_clear_errors(ctx);
        assert_int_equal(gcut_bind(s, "x", x[0], 4, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "y", y, 5), GCUT_OK);
        assert_int_equal(gcut_run(s), GCUT_EDIM); /* N is 4 and 5 */
        gcut_clear_errors(ctx);
        assert_int_equal(gcut_bind(s, "w", w, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "loss", &loss), GCUT_OK);
        /* Other sizes back and forth, then the same size at another address. */
        static const int sizes[] = {4, 64, 1, 33, 4};
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(gcut_bind(s, "x", x[0], sizes[i], 3), GCUT_OK);
            assert_int_equal(gcut_bind(s, "y", y, sizes[i]), GCUT_OK);
            must_run(ctx, s);
            assert_float_equal(loss, line_loss(w, x[0], y, sizes[i]), 1e-4);
        }
        assert_int_equal(gcut_bind(s, "x", x[1], 4, 3), GCUT_OK);
        must_run(ctx, s);
        assert_float_equal(loss, line_loss(w, x[1], y, 4), 1e-5);
        /* A result elsewhere, and forward alone. */
        float elsewhere = -1, before = loss;
        assert_int_equal(gcut_bind(s, "loss", &elsewhere), GCUT_OK);
        loss = 77;
        assert_int_equal(gcut_run_forward(s), GCUT_OK);
        assert_float_equal(elsewhere, before, 0);
        assert_float_equal(loss, 77, 0);
        /* Beyond the declaration. */
        assert_int_equal(gcut_bind(s, "x", x[0], 65, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "y", y, 65), GCUT_OK);
        assert_int_equal(gcut_run(s), GCUT_EDIM);
        gcut_clear_errors(ctx);
        assert_int_equal(gcut_bind(s, "x", x[0], -1, 3), GCUT_EDIM);
        gcut_clear_errors(ctx);
        gcut_value_info v;
        assert_false(value_of(s, "nobody", &v));
        assert_true(value_of(s, "w", &v));
        assert_ptr_equal(v.at, w);
        assert_true(v.bound);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* What is refused changes nothing: neither sizes nor address. */
static void refused_binding(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, LINE_FIT);
    static float large[64][4], w[3] = {0.5f, -1, 2};
    for (size_t k = 0; k < 4; k++) {
        float x[2][3] = {{1, 2, 3}, {-1, 0, 4}}, y[2] = {1, 2}, loss = -1;
        gcut_step *s = compile_as(g, backends[k], NULL);
        assert_int_equal(gcut_bind(s, "x", x, 2, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "y", y, 2), GCUT_OK);
        assert_int_equal(gcut_bind(s, "w", w, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "loss", &loss), GCUT_OK);
        for (int i = 0; i < 4; i++) {
            if (i == 1) assert_int_equal(gcut_bind_input(s, "x", large, 64, 4), GCUT_EDIM);
            if (i == 2) assert_int_equal(gcut_bind(s, "x", large, 1, 4), GCUT_EDIM);
            if (i == 3) assert_int_equal(gcut_set(s, "x", large, 64, 4), GCUT_EDIM);
            const gcut_value_info *v = gcut_step_value(s, "x");
            assert_int_equal(v->dim[0], 2);
            assert_ptr_equal(v->at, x);
            loss = -1;
            must_run(ctx, s);
            assert_float_equal(loss, line_loss(w, x, y, 2), 1e-5);
        }
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* An input and a value of symbolic sizes start with the contents of their data until the caller binds them.  The result
 * is the sum of (w + 2) m x over N x 3 elements, for w = 1, m = 0.5, x = -4 and N = 5, then 2. */
static void contents_of_inputs_and_any_sizes(void **state)
{
    (void)state;
    static const char text[] =
        "data @w: f32[N, 3] = splat(1)\n"
        "data @m: f32[] = splat(0.5)\n"
        "data @x: f32[N, 3] = splat(-4)\n"
        "func @f[N in 1..](param %w: f32[N, 3], input %m: f32[], input %x: f32[N, 3]) -> (out loss: f32[]) "
        "{\n"
        "  %two = full(shape=[N, 3], value=2)\n  %v = add(%w, %two)\n  %mb = broadcast(%m, shape=[N, 3], "
        "axes=[])\n  %p = mul(%v, %mb)\n"
        "  %q = mul(%p, %x)\n  %loss = sum(%q)\n  return %loss\n}\n";
    static const gcut_size at[] = {{"N", 5}}, fixed[] = {{"N", 2}};
    gcut_options any = {.at = at, .nat = 1}, two = {.fix = fixed, .nfix = 1};
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, text);
    for (size_t k = 0; k < 4; k++) {
        float loss, m = 1;
        any.backend = two.backend = backends[k];
        gcut_step *s = gcut_compile(g, &any);
        assert_non_null(s);
        assert_int_equal(gcut_bind(s, "loss", &loss), GCUT_OK);
        must_run(ctx, s);
        assert_float_equal(loss, 5 * 3 * 3 * 0.5f * -4, 0);
        assert_int_equal(gcut_bind(s, "m", &m), GCUT_OK);
        must_run(ctx, s);
        assert_float_equal(loss, 5 * 3 * 3 * -4, 0);
        gcut_step_free(s);
        s = gcut_compile(g, &two);
        assert_non_null(s);
        assert_int_equal(gcut_bind(s, "loss", &loss), GCUT_OK);
        must_run(ctx, s);
        assert_float_equal(loss, 2 * 3 * 3 * 0.5f * -4, 0);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* A value that could not be filled is none: each run says so until there is one, and what was there stays. */
static void missing_contents(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, "data @w: f32[3] = file(\"w.npy\")\n"
                                    "func @f(param %w: f32[3], input %x: f32[3]) -> (out y: f32[]) {\n"
                                    "  %p = mul(%w, %x)\n"
                                    "  %y = sum(%p, axes=[0])\n"
                                    "  return %y\n"
                                    "}\n");
    float x[3] = {1, 1, 1};
    for (size_t k = 0; k < 4; k++) {
        gcut_step *s = compile_as(g, backends[k], NULL);
        assert_int_equal(gcut_bind(s, "x", x, 3), GCUT_OK);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(gcut_run(s), GCUT_EIO);
            assert_null(gcut_step_value(s, "w")->at);
            assert_int_equal(gcut_step_value_save(s, "w", in_tmp("saved.npy")), GCUT_EUSAGE);
            gcut_clear_errors(ctx);
        }
        assert_int_equal(gcut_set(s, "w", ((float[]){1, 2, 3}), 3), GCUT_OK);
        must_run(ctx, s);
        assert_float_equal(*(float *)gcut_step_value(s, "y")->at, 6, 0);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

static void options_are_checked(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, LINE_FIT);
    const char *none[] = {"nothing*"};
    const gcut_size unknown = {"K", 4}, large = {"N", 65};
    gcut_options bad[9];
    for (size_t i = 0; i < 9; i++) bad[i] = TEST_OPTIONS;
    bad[0].policy = "best";
    bad[1].lambda = -2;
    bad[2].optimizer = "adam(";
    bad[3].optimizer = "adamw(learning=1)";
    bad[4].loss = "nobody";
    bad[5].wrt = none, bad[5].nwrt = 1;
    bad[6].at = &unknown, bad[6].nat = 1;
    bad[7].at = &large, bad[7].nat = 1;
    bad[8].save = none, bad[8].nsave = 1;
    for (size_t i = 0; i < 9; i++) {
        gcut_clear_errors(ctx);
        if (gcut_compile(g, &bad[i])) fail_msg("options %zu accepted", i);
        if (!strstr(gcut_last_error(ctx), "error: ")) fail_msg("options %zu: '%s'", i, gcut_last_error(ctx));
    }
    bad[1].lambda = (double)NAN;
    assert_null(gcut_compile(g, &bad[1]));
    gcut_ctx_free(ctx);
}

/* ---- values at run time ---- */

static void indices_out_of_range(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(
        ctx, "func @lookup[N in 1..](param %table: f32[5, 3], input %i: i32[N]) -> (out loss: f32[]) {\n"
             "  %e = take(%table, %i) !1\n"
             "  %s = mul(%e, %e) !1\n"
             "  %loss = sum(%s) !1\n"
             "  return %loss\n"
             "}\n"
             "loc !1 = \"lookup.c\":42:7\n");
    static const int32_t wrong[] = {5, -1, INT32_MAX, INT32_MIN};
    for (size_t k = 0; k < 4; k++) {
        gcut_step *s = compile_as(g, backends[k], "sgd(lr=0.1)");
        float table[5][3], before[5][3];
        for (int i = 0; i < 15; i++) table[i / 3][i % 3] = (float)i / 4;
        memcpy(before, table, sizeof table);
        int32_t i[4] = {0, 4, 2, 0};
        assert_int_equal(gcut_bind(s, "table", table, 5, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "i", i, 4), GCUT_OK);
        for (size_t w = 0; w < 4; w++) {
            char number[32];
            i[w] = wrong[w];
            gcut_clear_errors(ctx);
            assert_int_equal(gcut_run(s), GCUT_EINDEX);
            snprintf(number, sizeof number, "%d", wrong[w]);
            assert_says(ctx, GCUT_EINDEX, number);
            assert_says(ctx, GCUT_EINDEX, "lookup.c:42");
            assert_says(ctx, GCUT_EINDEX, "take");
            bool range = strstr(gcut_last_error(ctx), "[0, 5)") || strstr(gcut_last_error(ctx), "0..4");
            assert_true(range);
            assert_memory_equal(table, before, sizeof table);
            i[w] = 1;
        }
        gcut_clear_errors(ctx);
        must_run(ctx, s); /* the step is as good as new */
        assert_true(memcmp(table, before, sizeof table) != 0);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

static void not_numbers_survive(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(
        ctx,
        "func @nan(param %x: f32[6, 5]) -> (out loss: f32[], out soft: f32[6, 5], out top: f32[6], out low: "
        "f32[6],\n"
        "    out sum: f32[6], out relu: f32[6, 5], out gelu: f32[6, 5], out lse: f32[6], out log: f32[6, "
        "5],\n"
        "    out clamp: f32[6, 5], out root: f32[6, 5], out column: f32[5], out prod: f32[6, 6]) {\n"
        "  %soft = softmax(%x, axis=1)\n"
        "  %top = max_reduce(%x, axes=[1])\n"
        "  %low = min_reduce(%x, axes=[1])\n"
        "  %sum = sum(%x, axes=[1])\n"
        "  %relu = relu(%x)\n"
        "  %gelu = gelu(%x)\n"
        "  %lse = logsumexp(%x, axes=[1])\n"
        "  %log = log(%x)\n"
        "  %clamp = clamp(%x, lo=-1, hi=1)\n"
        "  %root = sqrt(%x)\n"
        "  %column = max_reduce(%x, axes=[0])\n"
        "  %prod = matmul(%x, %x, tb=true)\n"
        "  %loss = sum(%soft)\n"
        "  return %loss, %soft, %top, %low, %sum, %relu, %gelu, %lse, %log, %clamp, %root, %column, %prod\n"
        "}\n");
    const float inf = (float)INFINITY, nan = (float)NAN;
    float x[6][5] = {{0, 1, -1, 2, 0.5f},   {nan, 1, 2, 3, 4},
                     {-inf, 1, 2, -inf, 0}, {-inf, -inf, -inf, -inf, -inf},
                     {inf, 1, -inf, 2, 0},  {1, 2, 3, -0.0f, nan}};
    gcut_step *ref = compile_as(g, GCUT_BACKEND_EAGER, NULL);
    assert_int_equal(gcut_bind(ref, "x", x, 6, 5), GCUT_OK);
    must_run(ctx, ref);
    for (size_t k = 1; k < 4; k++) {
        gcut_step *s = compile_as(g, backends[k], NULL);
        assert_int_equal(gcut_bind(s, "x", x, 6, 5), GCUT_OK);
        must_run(ctx, s);
        for (size_t i = 0; i < gcut_step_value_count(ref); i++) {
            gcut_value_info want = *gcut_step_value_at(ref, i), got;
            assert_true(value_of(s, want.name, &got));
            for (int64_t e = 0; e < want.bytes / 4; e++) {
                float a = ((float *)got.at)[e], b = ((float *)want.at)[e];
                bool same = isnan(b)   ? isnan(a)
                            : isinf(b) ? a == b
                                       : fabsf(a - b) <= 1e-5f * fmaxf(1, fabsf(b));
                if (!same)
                    fail_msg("backend %zu: %s[%lld] is %g, expected %g", k, want.name, (long long)e,
                             (double)a, (double)b);
            }
        }
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* More sizes than fit anywhere by chance. */
static void seventy_sizes(void **state)
{
    enum { SIZES = 70 };
    static char text[1 << 14];
    size_t n = 0;
    (void)state;
#define ADD(...) n += (size_t)snprintf(text + n, sizeof text - n, __VA_ARGS__)
    ADD("func @many[S0 in 1..8");
    for (int i = 1; i < SIZES; i++) ADD(", S%d in 1..8", i);
    ADD("](param %%a0: f32[]");
    for (int i = 0; i < SIZES; i++) ADD(", input %%x%d: f32[S%d]", i, i);
    ADD(") -> (out loss: f32[]) {\n");
    for (int i = 0; i < SIZES; i++)
        ADD("  %%s%d = sum(%%x%d)\n  %%a%d = mul(%%a%d, %%s%d)\n", i, i, i + 1, i, i);
    ADD("  return %%a%d\n}\n", SIZES);
#undef ADD
    assert_true(n < sizeof text);
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, text);
    gcut_step *s = gcut_compile(g, NULL);
    assert_non_null(s);
    float w = 3, x[2] = {0.5f, 0.5f};
    gcut_bind(s, "a0", &w);
    for (int i = 0; i < SIZES; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        gcut_bind(s, name, x, 2);
    }
    must_run(ctx, s);
    gcut_value_info loss;
    assert_true(value_of(s, "loss", &loss));
    assert_true(*(float *)loss.at == 3);
    gcut_ctx_free(ctx);
}

/* ---- surroundings ---- */

static void missing_tools_and_folders(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, LINE_FIT);
    assert_int_equal(gcut_emit_files(g, NULL, in_tmp("no/such/folder/step"), false), GCUT_EIO);
    assert_says(ctx, GCUT_EIO, "no/such/folder");
    gcut_clear_errors(ctx);
    assert_int_equal(gcut_emit_files(g, NULL, in_tmp("not-a-name"), false), GCUT_EUSAGE);
    assert_int_equal(gcut_emit_files(g, NULL, in_tmp(""), false), GCUT_EUSAGE);
    gcut_clear_errors(ctx);
    gcut_options o = TEST_OPTIONS;
    o.dump = in_tmp("no/such/folder");
    assert_null(gcut_compile(g, &o));
    assert_int_equal(gcut_last_status(ctx), GCUT_EIO);
    static const char *const compilers[] = {"/nonexistent", "false", "/"};
    for (size_t i = 0; i < 3; i++) {
        gcut_clear_errors(ctx);
        setenv("GRADCUT_CC", compilers[i], 1);
        assert_null(gcut_compile(g, NULL));
        assert_int_equal(gcut_emit_files(g, NULL, in_tmp("shared"), true), GCUT_ETOOL);
        assert_says(ctx, GCUT_ETOOL, i == 1 ? "compiler" : compilers[i]);
    }
    unsetenv("GRADCUT_CC");
    gcut_clear_errors(ctx);
    /* Nothing of ours needs a temporary folder. */
    setenv("TMPDIR", "/nonexistent", 1);
    assert_non_null(gcut_compile(g, NULL));
    setenv("TMPDIR", "-x", 1);
    assert_non_null(gcut_compile(g, NULL));
    unsetenv("TMPDIR");
    assert_int_equal(gcut_error_count(ctx), 0);
    gcut_ctx_free(ctx);
}

/* Which command failed, how, and what it said, line by line. */
static void compilers_that_fail(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, LINE_FIT);
    setenv("GRADCUT_CC", "false", 1);
    assert_null(gcut_compile(g, NULL));
    assert_says(ctx, GCUT_ETOOL, "the C compiler failed on the emitted step: false exited with status 1\n");
    assert_says(ctx, GCUT_ETOOL, "said nothing\n");
    gcut_clear_errors(ctx);
    unsetenv("GRADCUT_CC");
    setenv("GRADCUT_RT_LIBRARY", "/nonexistent/librt.a", 1);
    setenv("GRADCUT_KEEP", in_tmp("kept"), 1);
    assert_int_equal(mkdir(in_tmp("kept"), 0777), 0);
    assert_null(gcut_compile(g, NULL));
    assert_says(ctx, GCUT_ETOOL, " exited with status 1\n");
    assert_says(ctx, GCUT_ETOOL, " -shared ");
    assert_says(ctx, GCUT_ETOOL, "cannot find /nonexistent/librt.a");
    assert_null(strchr(gcut_last_error(ctx), '?'));
    const char *kept = strstr(gcut_last_error(ctx), "the source is kept as ");
    assert_non_null(kept);
    char path[256];
    assert_int_equal(sscanf(kept, "the source is kept as %255s", path), 1);
    assert_int_equal(access(path, R_OK), 0);
    unsetenv("GRADCUT_RT_LIBRARY");
    unsetenv("GRADCUT_KEEP");
    gcut_ctx_free(ctx);
}

/* Temporary files go with what made them, also after errors. */
static int entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = -2;
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static void nothing_is_left_behind(void **state)
{
    (void)state;
    char dir[128];
    snprintf(dir, sizeof dir, "%s/left", tmp);
    assert_int_equal(mkdir(dir, 0777), 0);
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, LINE_FIT);
    setenv("TMPDIR", dir, 1);
    gcut_step *s = gcut_compile(g, &TEST_OPTIONS);
    must_run(ctx, s);
    gcut_step_free(s);
    assert_int_equal(entries(dir), 0);
    setenv("GRADCUT_CC", "false", 1);
    assert_null(gcut_compile(g, NULL));
    unsetenv("GRADCUT_CC");
    gcut_ctx_free(ctx);
    assert_int_equal(entries(dir), 0);
    unsetenv("TMPDIR");
}

typedef struct worker {
    pthread_t thread;
    const char *file;
    float loss[3];
    int64_t saved;
    bool ok;
} worker;

/* No cmocka here: its assertions jump on the thread that runs the test. */
static void *work(void *arg)
{
    worker *w = arg;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = ctx ? gcut_load(ctx, w->file, NULL) : NULL;
    gcut_options o = TEST_OPTIONS;
    o.optimizer = "adamw(lr=0.01)";
    o.threads = 2;
    for (int i = 0; g && i < 10; i++) w->saved = gcut_plan_look(gcut_plan_new(g, &o))->saved_bytes;
    gcut_step *s = g ? gcut_compile(g, &o) : NULL;
    w->ok = s != NULL;
    for (int i = 0; s && i < 3; i++) {
        gcut_value_info v;
        w->ok = w->ok && gcut_run(s) == GCUT_OK && value_of(s, "loss", &v);
        if (w->ok) w->loss[i] = *(float *)v.at;
    }
    gcut_ctx_free(ctx);
    return NULL;
}

/* Launches of a body are timed as often as they run; a step that was not compiled for it has no clock. */
static void profiled(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g =
        graph_from(ctx, "func @f(param %w: f32[8, 8], input %x: f32[5, 3, 8]) -> (out l: f32[]) {\n"
                        "  %h0 = full(shape=[3, 8], value=0)\n"
                        "  %h: f32[3, 8] = scan(%h0, %x, carries=1) body(%a: f32[3, 8], %e: f32[3, 8]) {\n"
                        "    %p = matmul(%a, %w)\n    %q = add(%p, %e)\n    %r = tanh(%q)\n"
                        "    yield %r\n  }\n"
                        "  %l = sum(%h)\n  return %l\n}\n");
    gcut_options o = TEST_OPTIONS;
    gcut_step *plain = gcut_compile(g, &o);
    must_run(ctx, plain);
    assert_null(gcut_step_profile(plain, 2));
    assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
    gcut_clear_errors(ctx);
    o.profile = true;
    gcut_step *s = gcut_compile(g, &o);
    assert_non_null(s);
    assert_null(gcut_step_profile(s, -1));
    assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
    gcut_clear_errors(ctx);
    gcut_profile *open = gcut_step_profile(s, 0);
    assert_non_null(open);
    assert_in_range(open->steps, 20, 5000);
    assert_int_equal(open->nsamples, open->steps);
    gcut_free(open);
    gcut_profile *made = gcut_step_profile(s, 3);
    assert_non_null(made);
    gcut_profile p = *made;
    assert_int_equal(p.steps, 3);
    assert_that(p.n, >, 0);
    assert_that(p.best_ns, >, 0);
    assert_that(p.median_ns, >=, p.best_ns);
    assert_that(p.p90_ns, >=, p.median_ns);
    assert_that(p.predicted_ns, >, 0);
    double flops = 0;
    bool inside = false;
    for (size_t i = 0; i < p.n; i++) {
        assert_true(p.at[i]->measured_ns >= 0);
        inside = inside || p.at[i]->runs == 5;
        flops += p.at[i]->flops;
    }
    assert_true(inside);
    assert_that(flops, ==, p.flops);
    assert_that(flops, >=, 5 * 2.0 * 3 * 8 * 8);
    must_run(ctx, s);
    gcut_value_info a, b;
    assert_true(value_of(plain, "grad.w", &a));
    assert_true(value_of(s, "grad.w", &b));
    assert_memory_equal(a.at, b.at, (size_t)a.bytes);
    gcut_ctx_free(ctx);
}

/* A backward graph is a function like any other: its saved values are bound like inputs. */
static void a_backward_graph_alone(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options opt = TEST_OPTIONS;
    opt.forward_only = true;
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/corpus/split.gcut", "scale.bwd");
    gcut_check_report r = crosscheck(g, &opt, NULL, 0, 0);
    if (!r.ok) fail_msg("%s%s", r.text ? r.text : "", gcut_last_error(ctx));
    gcut_ctx_free(ctx);
}

static void two_contexts_in_two_threads(void **state)
{
    (void)state;
    static const char *const files[] = {GCUT_SOURCE_DIR "/tests/corpus/mlp_small.gcut",
                                        GCUT_SOURCE_DIR "/tests/corpus/softmax_regression.gcut"};
    worker w[4], alone[2];
    memset(w, 0, sizeof w);
    memset(alone, 0, sizeof alone);
    for (int k = 0; k < 2; k++) {
        alone[k].file = files[k];
        work(&alone[k]);
        assert_true(alone[k].ok);
    }
    for (int k = 0; k < 4; k++) {
        w[k].file = files[k % 2];
        assert_int_equal(pthread_create(&w[k].thread, NULL, work, &w[k]), 0);
    }
    for (int k = 0; k < 4; k++) pthread_join(w[k].thread, NULL);
    for (int k = 0; k < 4; k++) {
        assert_true(w[k].ok);
        assert_int_equal(w[k].saved, alone[k % 2].saved);
        assert_memory_equal(w[k].loss, alone[k % 2].loss, sizeof w[k].loss);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binding),
        cmocka_unit_test(refused_binding),
        cmocka_unit_test(contents_of_inputs_and_any_sizes),
        cmocka_unit_test(missing_contents),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(indices_out_of_range),
        cmocka_unit_test(not_numbers_survive),
        cmocka_unit_test(seventy_sizes),
        cmocka_unit_test(missing_tools_and_folders),
        cmocka_unit_test(compilers_that_fail),
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(profiled),
        cmocka_unit_test(a_backward_graph_alone),
        cmocka_unit_test(two_contexts_in_two_threads),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
