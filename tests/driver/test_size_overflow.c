/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sizes at which a value has more bytes than 64 bits count: init refuses them, however small all that the
 * caller owns.
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

/* %b has N^4 elements: at 2^16 as many bytes as 2^66, which wrap to none. */
static const char outer[] = "func @outer[N in 1..](input %x: f32[N]) -> (out y: f32[]) {\n"
                            "  %c = reshape(%x, shape=[N, 1])\n"
                            "  %r = reshape(%x, shape=[1, N])\n"
                            "  %a = matmul(%c, %r)\n"
                            "  %c2 = reshape(%a, shape=[N*N, 1])\n"
                            "  %r2 = reshape(%a, shape=[1, N*N])\n"
                            "  %b = matmul(%c2, %r2)\n"
                            "  %one = reshape(%a, shape=[N*N, 1])\n"
                            "  %p = matmul(%b, %one)\n"
                            "  %y = sum(%p)\n"
                            "  return %y\n"
                            "}\n";

enum { MANY = 1 << 16, FEW = 3 };

static void test_overflow(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_options o = TEST_OPTIONS;
    o.backend = GCUT_BACKEND_COMPILED;
    o.forward_only = true;
    gcut_step *s = gcut_compile(graph_from(ctx, outer), &o);
    if (!s) fail_msg("not compiled: %s", gcut_last_error(ctx));
    float *x = calloc(MANY, sizeof *x), y;
    assert_non_null(x);
    for (int i = 0; i < FEW; i++) x[i] = (float)(i + 1);
    assert_int_equal(gcut_bind(s, "y", &y), GCUT_OK);
    assert_int_equal(gcut_bind(s, "x", x, MANY), GCUT_OK);
    assert_int_equal(gcut_run(s), GCUT_EDIM);
    assert_says(ctx, GCUT_EDIM, "bytes of a value");
    gcut_clear_errors(ctx);
    assert_int_equal(gcut_bind(s, "x", x, FEW), GCUT_OK);
    must_run(ctx, s);
    assert_float_equal(y, 36 * 196, 0); /* the sum of a_i a_j a_j */
    gcut_step_free(s);
    free(x);
    gcut_ctx_free(ctx);
}

static void test_limit(void **state)
{
    (void)state;
    const double bytes[] = {0, 100, 0x1p48 - 1, 0x1p48, 0x1p80, NAN, INFINITY, -5};
    for (int i = 0; i < 8; i++) {
        gcut_rt_error err = {.status = GCUT_RT_OK};
        const gcut_rt_status want = i > 2 && i < 7 ? GCUT_RT_EDIM : GCUT_RT_OK;
        assert_int_equal(gcut_rt_fits(&bytes[i], 1, &err), want);
        assert_int_equal(err.status, want);
        if (i == 3) assert_int_equal(err.found, INT64_C(1) << 48);
    }
    assert_int_equal(gcut_rt_fits(bytes, 3, NULL), GCUT_RT_OK);
    assert_int_equal(gcut_rt_fits(bytes, 4, NULL), GCUT_RT_EDIM);
}

/* On sizes that both hold, the functions of doubles are those of integers. */
static void test_real(void **state)
{
    (void)state;
    for (int a = -20; a <= 20; a++)
        for (int b = 1; b < 8; b++) {
            assert_true(gcut_rt_real_floordiv(a, b) == (double)gcut_rt_floordiv(a, b));
            assert_true(gcut_rt_real_ceildiv(a, b) == (double)gcut_rt_ceildiv(a, b));
            assert_true(gcut_rt_real_mod(a, b) == (double)gcut_rt_mod(a, b));
            assert_true(gcut_rt_real_min(a, b) == (double)gcut_rt_min(a, b));
            assert_true(gcut_rt_real_max(a, b) == (double)gcut_rt_max(a, b));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_real),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
