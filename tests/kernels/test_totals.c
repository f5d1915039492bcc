/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums of everything that a loop computes, of operands that do not step evenly along it: none of their terms is stored,
 * the results are the interpreter's, and the bits those of a sum that stands alone, for any number of threads.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "api.h"
#include "machine/lower/kernel_sizes.h"
#include "public.h"

/* A product with a bias, and its squared errors; the same elements as images, beside what is repeated along their first,
 * second, and last axes, is transposed, is counted, is stored in 16 bits and as single bits. */
static const char totals[] =
    "func @totals[N in 0..](input %x: f32[N, 16], input %w: f32[16, 240], input %b: f32[240], input %t: "
    "f32[N, "
    "240], input %c: f32[6], input %r: f32[N], input %k: f32[8, 5], input %h: bf16[6, 5], input %m: u8[5]) "
    "-> (out "
    "s: f32[], out u: f32[], out v: f32[], out g: f32[N, 240]) {\n"
    "  %p = matmul(%x, %w)\n  %bb = broadcast(%b, shape=[N, 240], axes=[1])\n  %z = add(%p, %bb)\n"
    "  %d = sub(%z, %t)\n  %q = mul(%d, %d)\n  %s = sum(%q, axes=[0, 1])\n  %g = add(%d, %d)\n"
    "  %e = reshape(%d, shape=[N, 6, 5, 8])\n"
    "  %cc = broadcast(%c, shape=[N, 6, 5, 8], axes=[1])\n  %e1 = mul(%e, %cc)\n"
    "  %rr = broadcast(%r, shape=[N, 6, 5, 8], axes=[0])\n  %e2 = add(%e1, %rr)\n"
    "  %kt = transpose(%k, perm=[1, 0])\n  %kk = broadcast(%kt, shape=[N, 6, 5, 8], axes=[2, 3])\n"
    "  %e3 = add(%e2, %kk)\n"
    "  %i = iota(shape=[6], axis=0, dtype=\"i32\")\n  %ii = broadcast(%i, shape=[N, 6, 5, 8], axes=[1])\n"
    "  %if = cast(%ii, to=\"f32\")\n  %e4 = mul(%e3, %if)\n"
    "  %hf = cast(%h, to=\"f32\")\n  %hh = broadcast(%hf, shape=[N, 6, 5, 8], axes=[1, 2])\n"
    "  %e5 = add(%e4, %hh)\n"
    "  %mb = unpack_bits(%m, shape=[5, 8])\n  %mm = broadcast(%mb, shape=[N, 6, 5, 8], axes=[2, 3])\n"
    "  %e6 = select(%mm, %e5, %e3)\n"
    "  %u = sum(%e6, axes=[0, 1, 2, 3])\n  %v = max_reduce(%e6, axes=[0, 1, 2, 3])\n"
    "  return %s, %u, %v, %g\n}\n";

enum { COLUMNS = 240 };

/* Sums in another order than the interpreter's. */
static void near(gcut_step *want, gcut_step *got, int64_t n)
{
    static const char *const results[] = {"s", "u", "v", "g"};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        gcut_value_info a = {0}, b = {0};
        assert_true(value_of(want, results[i], &a) && value_of(got, results[i], &b));
        const float *x = a.at, *y = b.at;
        for (int64_t k = 0; k < a.bytes / 4; k++)
            if (x[k] != y[k] && !(fabsf(x[k] - y[k]) <= 1e-4f * (1 + fabsf(x[k]))))
                fail_msg("N=%d: %s[%d] is %a, not %a", (int)n, results[i], (int)k, (double)y[k],
                         (double)x[k]);
    }
}

static gcut_step *step_of(gcut_ctx *ctx, gcut_graph *g, gcut_backend backend, int threads, bool unfused,
                          int64_t n)
{
    const gcut_size at = {"N", n};
    gcut_options o = forward_options(backend, threads, &at, 1);
    o.unfused = unfused;
    gcut_step *s = gcut_compile(g, &o);
    if (!s) fail_msg("not compiled: %s", gcut_last_error(ctx));
    must_run(ctx, s);
    return s;
}

/* After the caller's values the arena has the product, which all of it is computed from, and a line for each block of
 * chunks of the three reductions. */
static void stores_no_terms(gcut_step *s, int64_t n)
{
    const int64_t bound =
        4 * (n * 16 + 16 * COLUMNS + COLUMNS + n * COLUMNS + 6 + n + 8 * 5 + 3 + n * COLUMNS) + 2 * 30 + 5;
    const gcut_stats st = *gcut_step_stats(s);
    assert_int_equal(st.peak_bytes, st.predicted_bytes);
    const int64_t chunks = (n * COLUMNS + GCUT_CHUNK - 1) / GCUT_CHUNK,
                  blocks = chunks < GCUT_BLOCKS ? chunks : GCUT_BLOCKS;
    assert_int_equal(st.predicted_bytes - bound, 4 * n * COLUMNS + 3 * 64 * blocks);
}

static void results(void **state)
{
    static const struct {
        int64_t n;
        bool is_long;
    } sizes[] = {{0, false}, {135, false}, {137, true}, {400, true}};
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, totals);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t n = sizes[i].n;
        gcut_step *eager = step_of(ctx, g, GCUT_BACKEND_EAGER, 1, false, n),
                  *alone = step_of(ctx, g, GCUT_BACKEND_COMPILED, 1, true, n);
        size_t size, other;
        unsigned char *want = result_bytes(alone, &size);
        for (int threads = 1; threads <= 3; threads += 2) {
            gcut_step *s = step_of(ctx, g, GCUT_BACKEND_COMPILED, threads, false, n);
            near(eager, s, n);
            unsigned char *got = result_bytes(s, &other);
            assert_int_equal(size, other);
            assert_memory_equal(want, got, size);
            if (sizes[i].is_long) stores_no_terms(s, n);
            free(got);
            gcut_step_free(s);
        }
        free(want);
        gcut_step_free(alone);
        gcut_step_free(eager);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(results)};
    setenv("GRADCUT_MACHINE", "shipped", 1);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
