/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Elementwise composites in f32, interpreted and compiled, against libm in double, for floats of every size.
 */
#include "backends.h"

#include <float.h>

typedef struct function {
    const char *op;
    double (*exact)(double x);
} function;

static const function functions[] = {{"asin", asin},   {"acos", acos},   {"sinh", sinh},  {"cosh", cosh},
                                     {"asinh", asinh}, {"acosh", acosh}, {"atanh", atanh}};
enum { NFUNCTIONS = sizeof functions / sizeof *functions, MAX_POINTS = 1 << 15 };

/* A stride of all bit patterns, NaN and infinities among them, and what is next to 0, 1, 2^60 and where e^x and e^(2x)
 * overflow. */
static int64_t points(float *x)
{
    int64_t n = 0;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 200003) {
        const uint32_t b = (uint32_t)bits;
        memcpy(&x[n++], &b, sizeof b);
    }
    static const float near[] = {0, 1, 0x1p60f, 44.3f, 88.72f, 89.41f, FLT_MAX, INFINITY};
    for (size_t k = 0; k < sizeof near / sizeof *near; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            float up = near[k], down = near[k];
            for (int i = 0; i < 100; i++) {
                x[n++] = (float)sign * up;
                x[n++] = (float)sign * down;
                up = nextafterf(up, INFINITY);
                down = nextafterf(down, 0);
            }
        }
    assert_true(n <= MAX_POINTS);
    return n;
}

static bool agrees(float got, double want)
{
    if (isnan(want)) return isnan(got);
    if (isinf(got)) return fabs(want) > FLT_MAX * (1 - 1e-6) && (got > 0) == (want > 0);
    return fabs(got - want) <= 1e-6 * fabs(want) + 0x1p-148;
}

static void check_function(gcut_ctx *ctx, const backend_case *b, const function *f, float *x, int64_t n)
{
    static float y[MAX_POINTS];
    char text[256];
    snprintf(text, sizeof text,
             "func @f[N in 1..](input %%x: f32[N]) -> (out y: f32[N]) {\n  %%y = %s(%%x)\n  return %%y\n}\n",
             f->op);
    gcut_step *s = step_of(ctx, graph_from(ctx, text), b, true, NULL);
    gcut_bind(s, "x", x, n);
    gcut_bind(s, "y", y, n);
    assert_ok(ctx, gcut_run(s));
    for (int64_t i = 0; i < n; i++) {
        const double want = f->exact(x[i]);
        if (!agrees(y[i], want))
            fail_msg("%s: %s(%.9g) is %.9g, expected %.9g", b->name, f->op, x[i], y[i], want);
    }
    gcut_step_free(s);
}

static void six_digits(void **state)
{
    (void)state;
    static float x[MAX_POINTS];
    const int64_t n = points(x);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    for (int k = 0; k < NFUNCTIONS; k++) {
        check_function(ctx, &backends[1], &functions[k], x, n);
        check_function(ctx, &backends[NBACKENDS - 1], &functions[k], x, n);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(six_digits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
