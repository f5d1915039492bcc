/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums over rows that products of these rows make: which ones do, and that every result is the interpreter's,
 * of no rows, of few and of many; a sum has the bits of one that stays a loop, for any number of threads.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "api.h"
#include "gradcut/gradcut_rt.h"
#include "public.h"

static const char sums[] =
    "func @sums[N in 0..](input %x: f32[N, 40], input %d: f32[N, 24], input %e: f32[N, 3, 24], input %z: "
    "f32[N, 3, 40], input %v: f32[24], input %y: f32[24, 5]) -> (out p0: f32[40, 24], out s0: f32[24], out "
    "p1: f32[24, 40], out s1: f32[24], out p2: f32[40, 24], out u2: f32[24], out p3: f32[40, 48], out s3: "
    "f32[48], out p4: f32[40, 24], out s4: f32[24], out u5: f32[40, 24], out s5: f32[24], out p10: f32[40, "
    "24], out s10: f32[24], out t10: f32[24], out p11: f32[40, 24], out s11: f32[24], out p12: f32[40, 24], "
    "out s12: f32[24], out p13: f32[40, 24], out s13: f32[12], out p14: f32[N, 40, 24], out s14: f32[3, 24], "
    "out p15: f32[N, 5], out s15: f32[24], out p16: f32[5, N], out s16: f32[N], out s17: f32[24], out p17: "
    "f32[4, 40, 24]) {\n"
    /* part of a product: its right operand, its left one, of several axes, of what no loop makes, of an
     * input, and under what would be an epilogue but for reading the sum */
    "  %d0 = relu(%d)\n  %p0 = matmul(%x, %d0, ta=true)\n  %s0 = sum(%d0, axes=[0])\n"
    "  %d1 = abs(%d)\n  %s1 = sum(%d1, axes=[0])\n  %p1 = matmul(%d1, %x, ta=true)\n"
    "  %d2 = neg(%e)\n  %s2 = sum(%d2, axes=[0, 1])\n  %f2 = reshape(%d2, shape=[3*N, 24])\n"
    "  %z2 = reshape(%z, shape=[3*N, 40])\n  %p2 = matmul(%z2, %f2, ta=true)\n  %u2 = mul(%s2, %v)\n"
    "  %c3 = concat(%d, %d, axis=1)\n  %p3 = matmul(%x, %c3, ta=true)\n  %s3 = sum(%c3, axes=[0])\n"
    "  %x4 = neg(%x)\n  %p4 = matmul(%x4, %d, ta=true)\n  %s4 = sum(%d, axes=[0])\n"
    "  %d5 = exp(%d)\n  %s5 = sum(%d5, axes=[0])\n  %p5 = matmul(%x, %d5, ta=true)\n"
    "  %b5 = broadcast(%s5, shape=[40, 24], axes=[1])\n  %u5 = add(%p5, %b5)\n"
    /* not: beside another sum, */
    "  %o10 = full(shape=[N, 24], value=0.0)\n  %d10 = max(%d, %o10)\n  %e10 = mul(%d10, %d)\n  %s10 = "
    "sum(%d10, axes=[0])\n  %t10 = sum(%e10, axes=[0])\n"
    "  %p10 = matmul(%x, %d10, ta=true)\n"
    /* that the product waits for, */
    "  %d11 = mul(%d, %d)\n  %s11 = sum(%d11, axes=[0])\n  %b11 = sum(%s11, axes=[0])\n"
    "  %k11 = tanh(%b11)\n  %y11 = broadcast(%k11, shape=[N, 40], axes=[])\n  %x11 = mul(%x, %y11)\n"
    "  %p11 = matmul(%x11, %d11, ta=true)\n"
    /* no sum, */
    "  %d12 = sigmoid(%d)\n  %s12 = max_reduce(%d12, axes=[0])\n  %p12 = matmul(%x, %d12, ta=true)\n"
    /* of some of the columns, */
    "  %d13 = tanh(%d)\n  %f13 = slice(%d13, start=[0, 0], limit=[N, 12])\n  %s13 = sum(%f13, axes=[0])\n"
    "  %p13 = matmul(%x, %d13, ta=true)\n"
    /* of what a product for each n multiplies, */
    "  %d14 = abs(%e)\n  %s14 = sum(%d14, axes=[0])\n  %p14 = matmul(%z, %d14, ta=true)\n"
    /* of rows that the product keeps, */
    "  %d15 = silu(%d)\n  %s15 = sum(%d15, axes=[0])\n  %p15 = matmul(%d15, %y)\n"
    /* of columns that lie in memory as rows, */
    "  %t16 = transpose(%d, perm=[1, 0])\n  %p16 = matmul(%y, %t16, ta=true)\n  %s16 = sum(%t16, axes=[0])\n"
    /* and in loops. */
    "  %i17 = iota(shape=[4], axis=0, dtype=\"i32\")\n"
    "  %s17, %p17 = scan(%v, %i17, carries=1) body(%h: f32[24], %i: i32[]) {\n"
    "    %b = broadcast(%h, shape=[N, 24], axes=[1])\n    %d17 = mul(%d, %b)\n"
    "    %k17 = sum(%d17, axes=[0])\n    %l17 = matmul(%x, %d17, ta=true)\n"
    "    %m17 = tanh(%k17)\n    yield %m17, %l17\n  }\n"
    "  return %p0, %s0, %p1, %s1, %p2, %u2, %p3, %s3, %p4, %s4, %u5, %s5, %p10, %s10, %t10, %p11, %s11, "
    "%p12, %s12, %p13, %s13, %p14, %s14, %p15, %s15, %p16, %s16, %s17, %p17\n"
    "}\n";

static const char *const moved[] = {"s0", "s1", "s2", "s3", "s4", "s5"};
static const char *const stays[] = {"s10", "s11", "s12", "s13", "s14", "s15", "s16", "k17"};

/* The launch whose comment names the value is a matrix product's: "k3: matrix product: p0 s0, …". */
static bool is_moved(const char *table, const char *name)
{
    for (const char *p = table; (p = strstr(p, "/* k")) != NULL; p++) {
        const char *kind = strchr(p, ':') + 2, *end = strchr(p, '\n');
        for (const char *at = kind; (at = strstr(at, name)) != NULL && at < end; at++)
            if (at[-1] == ' ' && strchr(" ,;", at[strlen(name)])) /* after a ';' is its epilogue */
                return !strncmp(kind, "matrix product: ", 16) && !memchr(kind, ';', (size_t)(at - kind));
    }
    fail_msg("%s is not made", name);
    return false;
}

static void which_are_moved(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_size at = {"N", 200};
    gcut_options o = forward_options(GCUT_BACKEND_COMPILED, 2, &at, 1);
    char *text = emitted(ctx, graph_from(ctx, sums), &o);
    const char *launches = strstr(text, "emitted_code[]");
    assert_non_null(launches);
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
        if (!is_moved(launches, moved[i])) fail_msg("%s is a loop's", moved[i]);
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++)
        if (is_moved(launches, stays[i])) fail_msg("%s is a product's", stays[i]);
    free(text);
    gcut_ctx_free(ctx);
}

/* Sums and products in another order than the interpreter's. */
static float allowed(const char *name, float x)
{
    (void)name;
    return 1e-4f * (1 + fabsf(x));
}

static void compare(gcut_ctx *ctx, gcut_graph *g, gcut_step *compiled, const gcut_size *at)
{
    gcut_options o = forward_options(GCUT_BACKEND_EAGER, 1, at, 1);
    gcut_step *s = gcut_compile(g, &o);
    must_run(ctx, s);
    must_run(ctx, compiled);
    assert_near(s, compiled, at->value, allowed);
    gcut_step_free(s);
}

/* s0 adds up what s10, which stays a loop, does. */
static void same_bits(gcut_step *s, int64_t n)
{
    gcut_value_info a = {0}, b = {0}, d = {0};
    assert_true(value_of(s, "s0", &a));
    assert_true(value_of(s, "s10", &b));
    assert_true(value_of(s, "d", &d));
    for (int c = 0; c < 24; c++) {
        float all = 0, product = ((const float *)a.at)[c], loop = ((const float *)b.at)[c];
        for (int k = 0; k < GCUT_RT_SUM_BLOCKS; k++) {
            int64_t r, end;
            float one = 0;
            for (gcut_rt_share(n, 1, k, GCUT_RT_SUM_BLOCKS, &r, &end); r < end; r++)
                one += fmaxf(((const float *)d.at)[24 * r + c], 0);
            all += one;
        }
        if (product != all || loop != all)
            fail_msg("N=%d: s0[%d] is %a, s10 %a, not %a", (int)n, c, (double)product, (double)loop,
                     (double)all);
    }
}

static void results(void **state)
{
    static const int64_t sizes[] = {0, 1, 37, 300, 5500};
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, sums);
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        gcut_size at = {"N", sizes[i]};
        gcut_options o = forward_options(GCUT_BACKEND_COMPILED, 1 + i % 3, &at, 1);
        gcut_step *s = gcut_compile(g, &o);
        if (!s) fail_msg("not compiled: %s", gcut_last_error(ctx));
        compare(ctx, g, s, &at);
        same_bits(s, sizes[i]);
        gcut_stats st = *gcut_step_stats(s);
        assert_int_equal(st.peak_bytes, st.predicted_bytes);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(which_are_moved), cmocka_unit_test(results)};
    setenv("GRADCUT_MACHINE", "shipped", 1);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
