/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_rt_argsort against insertion into a list: along every axis, with equal elements, zeros of both signs, NaN and
 * infinities, for any number of threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "gradcut/gradcut_rt.h"

enum { MOST = 4096, THREADS = 3 };

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % below);
}

static double any_real(void)
{
    static const double special[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-40, -1e-40};
    return draw(4) ? (double)draw(41) - 20 : special[draw(8)];
}

static bool is_before(double a, double b, bool descending)
{
    const double p = descending ? b : a, q = descending ? a : b;
    return p < q || (isnan(q) && !isnan(p));
}

/* The indices of n elements, step apart, each inserted after all that are not after it. */
static void insert_all(const double *x, int64_t n, int64_t step, bool descending, int64_t *at)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i;
        for (; k > 0 && is_before(x[i * step], x[at[k - 1] * step], descending); k--) at[k] = at[k - 1];
        at[k] = i;
    }
}

static double real[MOST];
static int64_t want[MOST], got[MOST];
static char work[THREADS * GCUT_RT_ARGSORT_BYTES * MOST] __attribute__((aligned(64)));

static void expect(int64_t outer, int64_t n, int64_t inner, bool descending)
{
    int64_t at[MOST];
    for (int64_t o = 0; o < outer; o++)
        for (int64_t in = 0; in < inner; in++) {
            const int64_t first = o * n * inner + in;
            insert_all(real + first, n, inner, descending, at);
            for (int64_t i = 0; i < n; i++) want[first + i * inner] = at[i];
        }
}

typedef struct call {
    int64_t outer, n, inner;
    int descending, threads;
    const void *x;
} call;

/* Elements of a type: any for floats, of few values for integers. */
#define CHECK(name, type, value)                                                                             \
    static void run_##name(void *arg)                                                                        \
    {                                                                                                        \
        const call *c = arg;                                                                                 \
        gcut_rt_argsort_##name(c->outer, c->n, c->inner, c->descending, c->x, got, work, c->threads);        \
    }                                                                                                        \
    static void check_##name(int64_t outer, int64_t n, int64_t inner, bool descending)                       \
    {                                                                                                        \
        static type x[MOST];                                                                                 \
        for (int64_t i = 0; i < outer * n * inner; i++) real[i] = (double)(x[i] = (type)(value));            \
        expect(outer, n, inner, descending);                                                                 \
        for (int threads = 1; threads <= THREADS && threads <= outer * inner; threads++) {                   \
            call c = {outer, n, inner, descending, threads, x};                                              \
            memset(got, 255, sizeof got);                                                                    \
            gcut_rt_team(run_##name, &c, threads);                                                           \
            assert_memory_equal(got, want, (size_t)(outer * n * inner) * sizeof *got);                       \
        }                                                                                                    \
    }
CHECK(f32, float, any_real())
CHECK(f64, double, any_real())
CHECK(i8, int8_t, draw(256))
CHECK(i16, int16_t, (int)draw(65536) - 32768)
CHECK(i32, int32_t, draw(3) ? (int)draw(20) - 10 : INT32_MIN + (int)draw(2))
CHECK(i64, int64_t, (int64_t)draw(100) << 40)
CHECK(u8, uint8_t, draw(256))

static void every_type(void **state)
{
    (void)state;
    static void (*const check[])(int64_t, int64_t, int64_t, bool) = {
        check_f32, check_f64, check_i8, check_i16, check_i32, check_i64, check_u8};
    static const int64_t sizes[][3] = {{1, 1, 1},  {3, 2, 1},    {2, 12, 3}, {1, 13, 5},
                                       {7, 25, 2}, {1, 4096, 1}, {4, 97, 4}, {2, 513, 2}};
    for (size_t k = 0; k < sizeof check / sizeof *check; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int descending = 0; descending < 2; descending++) {
                TRY("type %zu, sizes %zu, descending %d", k, i, descending);
                check[k](sizes[i][0], sizes[i][1], sizes[i][2], descending);
            }
}

/* No elements, and no lines. */
static void empty(void **state)
{
    (void)state;
    const float x = 1;
    int64_t out = 7;
    gcut_rt_argsort_f32(3, 0, 2, 0, &x, &out, NULL, 1);
    gcut_rt_argsort_f32(0, 5, 2, 0, &x, &out, work, 1);
    assert_int_equal(out, 7);
}

/* The predicted peak counts it: of an odd number of elements too, whose lines end within a cache line. */
static void last_bytes_of_workspaces_are_touched(void **state)
{
    (void)state;
    static float x[10];
    call c = {2, 5, 1, 0, 2, x};
    const size_t each = 192; /* 5 * GCUT_RT_ARGSORT_BYTES, rounded up to 64 bytes */
    memset(work, 170, sizeof work);
    gcut_rt_team(run_f32, &c, 2);
    for (size_t t = 1; t <= 2; t++) assert_int_not_equal((unsigned char)work[t * each - 1], 170);
    assert_int_equal((unsigned char)work[2 * each], 170);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_type),
                                       cmocka_unit_test(last_bytes_of_workspaces_are_touched),
                                       cmocka_unit_test(empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
