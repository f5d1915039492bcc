/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reductions over any axes, against the stated order: the elements that become one in row-major order,
 * element k to accumulator k % 16, these joined pairwise; floats in double, integers wrapping.  To the last
 * bit, for any number of threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"

enum { RANK = 4, LANES = 16, MOST = 1 << 17 };

static uint64_t seed = 5;
static int random_below(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)n);
}

typedef struct layout {
    int64_t dim[RANK], stride[RANK], size;
    unsigned mask; /* axes that go */
} layout;

/* Rows one after the other, with gaps or without, or every second element. */
static layout lay(int64_t a, int64_t b, int64_t c, int64_t d, unsigned mask, int how)
{
    layout l = {.dim = {a, b, c, d}, .mask = mask, .size = how == 2 ? 2 : 1};
    for (int i = RANK - 1; i >= 0; i--) {
        l.stride[i] = l.size;
        l.size *= l.dim[i] > 0 ? l.dim[i] : 1;
        if (how == 1) l.size += 3;
    }
    assert_true(l.size <= MOST);
    return l;
}

/* The offsets of what becomes result r, in their order. */
static int64_t members(const layout *l, int64_t r, int64_t *at)
{
    int64_t n = 1, base = 0;
    for (int i = RANK - 1; i >= 0; i--) {
        if (l->mask >> i & 1) {
            n *= l->dim[i];
            continue;
        }
        base += r % l->dim[i] * l->stride[i];
        r /= l->dim[i];
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t q = k;
        at[k] = base;
        for (int i = RANK - 1; i >= 0; i--) {
            if (!(l->mask >> i & 1)) continue;
            at[k] += q % l->dim[i] * l->stride[i];
            q /= l->dim[i];
        }
    }
    return n;
}

static double combine(gcut_rt_reduction how, double a, double b)
{
    switch (how) {
    case GCUT_RT_add: return a + b;
    case GCUT_RT_mul: return a * b;
    case GCUT_RT_max: return isnan(a) || a > b ? a : b;
    case GCUT_RT_min: return isnan(a) || a < b ? a : b;
    }
    return 0;
}

static double one(gcut_rt_reduction how, const double *x, const int64_t *at, int64_t n)
{
    static const double start[] = {0, 1, -INFINITY, INFINITY};
    double acc[LANES];
    for (int k = 0; k < LANES; k++) acc[k] = start[how];
    for (int64_t k = 0; k < n; k++) acc[k % LANES] = combine(how, acc[k % LANES], x[at[k]]);
    for (int w = LANES / 2; w > 0; w /= 2)
        for (int k = 0; k < w; k++) acc[k] = combine(how, acc[k], acc[k + w]);
    return acc[0];
}

static float x[MOST], y[MOST];
static double xd[MOST], yd[MOST], wide[MOST]; /* wide: x */
static int32_t xi[MOST], yi[MOST];
static int64_t at[MOST];

static void check(const layout *l)
{
    int64_t results = 1;
    for (int i = 0; i < RANK; i++)
        if (!(l->mask >> i & 1)) results *= l->dim[i];
    for (int how = GCUT_RT_add; how <= GCUT_RT_min; how++)
        for (int threads = 1; threads <= 3; threads += 2) {
            memset(y, 0x55, sizeof y);
            gcut_rt_reduce_f32((gcut_rt_reduction)how, RANK, l->dim, l->stride, l->mask, x, y, threads);
            for (int64_t r = 0; r < results; r++) {
                float want = (float)one((gcut_rt_reduction)how, wide, at, members(l, r, at));
                if (memcmp(&y[r], &want, sizeof want) != 0 && !(isnan(want) && isnan(y[r])))
                    fail_msg("%d of %dx%dx%dx%d over %u: [%d] is %a, not %a", how, (int)l->dim[0],
                             (int)l->dim[1], (int)l->dim[2], (int)l->dim[3], l->mask, (int)r, (double)y[r],
                             (double)want);
            }
            /* Rounding to f32 hides most orders, in f64 each shows. */
            gcut_rt_reduce_f64((gcut_rt_reduction)how, RANK, l->dim, l->stride, l->mask, xd, yd, threads);
            for (int64_t r = 0; r < results; r++)
                assert_true(yd[r] == one((gcut_rt_reduction)how, xd, at, members(l, r, at)));
        }
    gcut_rt_reduce_i32(GCUT_RT_add, RANK, l->dim, l->stride, l->mask, xi, yi, 2);
    for (int64_t r = 0; r < results; r++) {
        uint32_t want = 0;
        for (int64_t k = members(l, r, at); k-- > 0;) want += (uint32_t)xi[at[k]];
        assert_int_equal((uint32_t)yi[r], want);
    }
}

/* Runs of every length around that of the accumulators, and longer ones than are fetched ahead. */
static void orders(void **state)
{
    (void)state;
    for (int k = 0; k < MOST; k++) {
        x[k] = (float)(random_below(4000) - 2000) / 1024;
        wide[k] = (double)x[k];
        xd[k] = 1 + random_below(4000) / 3000.0;
        xi[k] = random_below(1 << 30) - (1 << 29);
    }
    for (unsigned mask = 0; mask < 1u << RANK; mask++)
        for (int how = 0; how < 3; how++) {
            layout l = lay(1 + random_below(4), 1 + random_below(5), 1 + random_below(20),
                           1 + random_below(40), mask, how);
            check(&l);
        }
    static const int64_t runs[] = {1, 15, 16, 17, 31, 33, 784, 1025, 2100};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        layout l = lay(5, 3, 1, runs[i], 0xD, 0); /* all but the second axis */
        check(&l);
    }
    for (int64_t gone = 1; gone <= 40; gone += 3) { /* results side by side, of elements that are not */
        layout l = lay(3, gone, 2, 150, 0x2, 0);
        check(&l);
    }
    layout none = lay(0, 3, 2, 2, 0x5, 0);
    check(&none);
    x[40] = NAN;
    wide[40] = NAN;
    layout l = lay(3, 4, 1, 50, 0xD, 0);
    check(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
