/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Results of loops that are written past the caches: which are, and that each has the interpreter's bits, for
 * numbers of every width, wherever lines begin and end, with stores of every width.  256
 * bytes are large here.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"
#include "public.h"

/* In a build for the thread sanitizer the emitted code has it too. */
#ifndef SANITIZED
#define SANITIZED ""
#endif

/* ---- which are ---- */

static const struct {
    const char *text;
    bool streams;
} facts[] = {
    {"func @f[N in 1..](input %x: f32[N]) -> (out y: f32[N]) {\n  %y = relu(%x)\n  return %y\n}\n", true},
    {"func @f[N in 1..](input %x: f32[N, 3001]) -> (out y: f32[N, 3001]) {\n"
     "  %y = softmax(%x, axis=1)\n  return %y\n}\n",
     true},
    /* in place */
    {"func @f[N in 1..](state %w: f32[N], input %x: f32[N]) -> (next w: f32[N]) {\n"
     "  %y = add(%w, %x)\n  return %y\n}\n",
     false},
    /* small */
    {"func @f(input %x: f32[1000]) -> (out y: f32[1000]) {\n  %y = relu(%x)\n  return %y\n}\n", false},
    /* short rows */
    {"func @f[N in 1..](input %x: f32[N, 300]) -> (out y: f32[N, 300]) {\n"
     "  %y = softmax(%x, axis=1)\n  return %y\n}\n",
     false},
    /* a long function */
    {"func @f[N in 1..](input %x: f32[N]) -> (out y: f32[N]) {\n  %y = tanh(%x)\n  return %y\n}\n", false},
    /* read by a later phase */
    {"func @f[N in 1..](input %x: f32[N, 3001], input %z: f32[N, 3001]) -> (out y: f32[N, 3001], out s: "
     "f32[N]) {\n  %y = mul(%x, %z)\n  %s = sum(%y, axes=[1])\n  return %y, %s\n}\n",
     false},
    /* summed up as it is stored */
    {"func @f[N in 1..](input %x: f32[N, 30]) -> (out y: f32[N, 30], out s: f32[30]) {\n"
     "  %y = relu(%x)\n  %s = sum(%y, axes=[0])\n  return %y, %s\n}\n",
     false},
};

static bool streams(const char *text)
{
    gcut_ctx *ctx = new_ctx();
    gcut_options o = forward_options(GCUT_BACKEND_COMPILED, 2, NULL, 0);
    char *c = emitted(ctx, graph_from(ctx, text), &o);
    bool does = strstr(c, "gcut_rt_line(") != NULL;
    free(c);
    gcut_ctx_free(ctx);
    return does;
}

static void which(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (streams(facts[i].text) != facts[i].streams) fail_msg("graph %d", (int)i);
}

/* ---- what they hold ---- */

/* Operands of a concat begin anywhere in a line; two results of one loop there at different places. */
static const char all[] =
    "func @all[N in 1.., C in 1..](input %x: f32[N], input %z: f32[N], input %d: f64[N], input %i: i32[N], "
    "input %r: f32[N, C], input %b: f32[C]) -> (out f32: f32[N], out f64: f64[N], out bf16: bf16[N], out "
    "f16: "
    "f16[N], out i32: i32[N], out i8: i8[N], out bool: bool[N], out sum: f32[N], out product: f32[N], out "
    "far: f32[3*N], out rows: f32[N, C], out scaled: f32[N, C], out mixed: f32[N], out mask: bool[N]) {\n"
    "  %f32 = relu(%x)\n  %f64 = mul(%d, %d)\n  %bf16 = cast(%x, to=\"bf16\")\n"
    "  %f16 = cast(%z, to=\"f16\")\n  %i32 = add(%i, %i)\n  %i8 = cast(%i, to=\"i8\")\n"
    "  %bool = gt(%x, %z)\n"
    "  %sum = add(%x, %z)\n  %product = mul(%sum, %z)\n"
    "  %u = sub(%x, %z)\n  %v = mul(%u, %z)\n  %w = neg(%v)\n  %cat = concat(%u, %v, %w, axis=0)\n"
    "  %far = neg(%cat)\n"
    "  %most = max_reduce(%r, axes=[1], keep=true)\n  %wide = broadcast(%most, shape=[N, C], axes=[0, 1])\n"
    "  %rows = sub(%r, %wide)\n"
    "  %bias = broadcast(%b, shape=[N, C], axes=[1])\n  %scaled = mul(%r, %bias)\n"
    "  %mixed = max(%x, %z)\n  %mask = lt(%mixed, %z)\n"
    "  return %f32, %f64, %bf16, %f16, %i32, %i8, %bool, %sum, %product, %far, %rows, %scaled, %mixed, "
    "%mask\n"
    "}\n";

static void compare(gcut_step *want, gcut_step *got, int64_t n, int threads)
{
    for (size_t i = 0; i < gcut_step_value_count(want); i++) {
        gcut_value_info a = *gcut_step_value_at(want, i), b;
        assert_true(value_of(got, a.name, &b));
        assert_int_equal(a.bytes, b.bytes);
        if (memcmp(a.at, b.at, (size_t)a.bytes) != 0)
            fail_msg("N=%d, %d threads: %s", (int)n, threads, a.name);
    }
}

/* Narrow vectors and wide ones. */
#define OTHER_FLAGS "-fno-math-errno -fno-trapping-math -ffp-contract=off -fwrapv" SANITIZED
static const char *const flags[] = {
    STEP_FLAGS,
#ifdef __x86_64__
    "-march=x86-64-v3",
    "-march=x86-64",
#endif
};

static void try_sizes(gcut_ctx *ctx, gcut_graph *g, int64_t n, int64_t c, int threads)
{
    gcut_size at[] = {{"N", n}, {"C", c}};
    gcut_options o = forward_options(GCUT_BACKEND_EAGER, 1, at, 2),
                 k = forward_options(GCUT_BACKEND_COMPILED, threads, at, 2);
    gcut_step *want = gcut_compile(g, &o), *got = gcut_compile(g, &k);
    must_run(ctx, want);
    must_run(ctx, got);
    compare(want, got, n, threads);
    gcut_step_free(want);
    gcut_step_free(got);
}

static void same_bits(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, all);
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
        char text[1024];
        snprintf(text, sizeof text, "%s -O1 -ftree-vectorize %s", flags[f], OTHER_FLAGS);
        setenv("GRADCUT_STEP_FLAGS", text, 1);
        try_sizes(ctx, g, 4099, 517, 3);
        if (f > 0) continue;
        try_sizes(ctx, g, 1, 1030, 1);
        try_sizes(ctx, g, 101, 61, 1);
        try_sizes(ctx, g, 20011, 3, 2);
    }
    unsetenv("GRADCUT_STEP_FLAGS");
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(which), cmocka_unit_test(same_bits)};
    setenv("GRADCUT_MACHINE", "shipped", 1);
    setenv("GRADCUT_STREAM_BYTES", "256", 1);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
