/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums of the operands of a product, made beside it, against loops in the stated order: k in 16 blocks, the
 * elements of a block one after the other, then the blocks.  To the last bit, for any number of threads, on
 * tiles and not, by kernels that pack and that do not; the product has the bits it has alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "cases.h"
#include "gradcut/gradcut_rt.h"
#include "nightly.h"

static uint64_t seed = 11;
static int random_below(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)n);
}

/* Strides of an r x c matrix; how: 0 rows, 1 columns side by side, 2 neither, 3 rows are repeated, 4 from the
 * last row on. */
typedef struct layout {
    int64_t rs, cs, origin, size;
} layout;

static layout lay(int64_t r, int64_t c, int how)
{
    layout l = {.rs = c + 3, .cs = 1};
    if (how == 1) l.rs = 1, l.cs = r + 2;
    if (how == 2) l.rs = 2 * c + 1, l.cs = 2;
    if (how == 3) l.rs = 0;
    l.size = (r > 0 ? r - 1 : 0) * l.rs + (c > 0 ? c - 1 : 0) * l.cs + 1;
    if (how == 4) l.origin = (r > 0 ? r - 1 : 0) * l.rs, l.rs = -l.rs;
    return l;
}

static void nothing(void *arg, int t, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    (void)arg, (void)t, (void)r0, (void)r1, (void)c0, (void)c1;
}

/* odd: some elements are NaN, infinite or -0. */
#define CHECK(T, SUFFIX)                                                                                     \
    static T any_##SUFFIX(int odd)                                                                           \
    {                                                                                                        \
        static const T odds[] = {(T)NAN, (T)INFINITY, (T)-INFINITY, (T)-0.0};                                \
        return odd && random_below(200) == 0 ? odds[random_below(4)]                                         \
                                             : (T)random_below(1 << 24) / (1 << 23) - 1;                     \
    }                                                                                                        \
    REFERENCE static T sum_##SUFFIX(int64_t k, const T *x, int64_t stride)                                   \
    {                                                                                                        \
        T all = 0;                                                                                           \
        for (int b = 0; b < 16; b++) {                                                                       \
            int64_t p, end;                                                                                  \
            T one = 0;                                                                                       \
            gcut_rt_share(k, 1, b, 16, &p, &end);                                                            \
            for (; p < end; p++) one += x[p * stride];                                                       \
            all += one;                                                                                      \
        }                                                                                                    \
        return all;                                                                                          \
    }                                                                                                        \
    static void check_##SUFFIX(gcut_rt_gemm g, layout la, layout lb, layout lc, int odd)                     \
    {                                                                                                        \
        T *const a = malloc((size_t)la.size * sizeof *a), *const b = malloc((size_t)lb.size * sizeof *b);    \
        T *const c = malloc((size_t)lc.size * sizeof *c), *const d = malloc((size_t)lc.size * sizeof *d);    \
        for (int64_t i = 0; i < la.size; i++) a[i] = any_##SUFFIX(odd);                                      \
        for (int64_t i = 0; i < lb.size; i++) b[i] = any_##SUFFIX(odd);                                      \
        memset(c, 0, (size_t)lc.size * sizeof *c);                                                           \
        const T *const pa = a + la.origin, *const pb = b + lb.origin;                                        \
        g.sums = 0;                                                                                          \
        gcut_rt_gemm_##SUFFIX(&g, pa, pb, c, 1);                                                             \
        for (g.sums = 1; g.sums <= 2; g.sums++) {                                                            \
            const int of_a = g.sums == GCUT_RT_SUMS_A;                                                       \
            const int64_t n = of_a ? g.m : g.n;                                                              \
            T *const sum = malloc((size_t)(n + 1) * sizeof *sum);                                            \
            g.sum = sum;                                                                                     \
            for (int how = 0; how < 10; how++) {                                                             \
                if (how % 4 && how < 9 && !nightly()) continue;                                              \
                const int threads = how < 9 ? 1 + how / 3 : 17;                                              \
                memset(sum, 0x55, (size_t)(n + 1) * sizeof *sum);                                            \
                memset(d, 0, (size_t)lc.size * sizeof *d);                                                   \
                if (how % 3 == 0)                                                                            \
                    gcut_rt_gemm_##SUFFIX(&g, pa, pb, d, threads);                                           \
                else                                                                                         \
                    gcut_rt_gemm_tiled_##SUFFIX(&g, pa, pb, d, nothing, NULL, how % 3 == 2, threads);        \
                if (!odd) assert_memory_equal(c, d, (size_t)lc.size * sizeof *c);                            \
                for (int64_t i = 0; i < n; i++) {                                                            \
                    const T want = of_a ? sum_##SUFFIX(g.k, pa + i * g.rsa, g.csa)                           \
                                        : sum_##SUFFIX(g.k, pb + i * g.csb, g.rsb);                          \
                    if (!(isnan(want) && isnan(sum[i]))) assert_memory_equal(&want, &sum[i], sizeof want);   \
                }                                                                                            \
                T beyond;                                                                                    \
                memset(&beyond, 0x55, sizeof beyond);                                                        \
                assert_memory_equal(&beyond, &sum[n], sizeof beyond);                                        \
            }                                                                                                \
            free(sum);                                                                                       \
        }                                                                                                    \
        free(a), free(b), free(c), free(d);                                                                  \
    }

CHECK(float, f32)
CHECK(double, f64)

static void check(int64_t m, int64_t n, int64_t k, int ha, int hb, int hc, int odd, int only_f32)
{
    TRY("%d x %d x %d, layouts %d %d %d", (int)m, (int)n, (int)k, ha, hb, hc);
    layout a = lay(m, k, ha), b = lay(k, n, hb), c = lay(m, n, hc);
    gcut_rt_gemm g = {.m = m, .n = n, .k = k};
    g.rsa = a.rs, g.csa = a.cs, g.rsb = b.rs, g.csb = b.cs, g.rsc = c.rs, g.csc = c.cs;
    g.accumulate = odd == 0 && random_below(2);
    check_f32(g, a, b, c, odd);
    if (!only_f32) check_f64(g, a, b, c, odd);
}

/* Nothing is packed; k of 0, fewer steps than blocks, single rows and columns, none. */
static void test_unpacked(void **state)
{
    (void)state;
    for (int r = 0; r < 60; r++)
        check(random_below(r % 4 ? 40 : 3), random_below(r % 3 ? 150 : 3), random_below(r % 5 ? 90 : 20),
              r % 5, r / 5 % 5, r % 3, r % 7 == 6, 0);
    check(8, 300, 200, 0, 1, 0, 0, 0); /* dot products */
    check(0, 37, 50, 0, 0, 0, 0, 0);
    check(37, 0, 50, 1, 0, 0, 0, 0);
    check(5, 6, 0, 0, 0, 0, 0, 0);
}

/* Panels of either operand, which stay or stream, in one group of steps or several. */
static void test_packed(void **state)
{
    (void)state;
    for (int r = 0; r < 15; r++)
        check(131 + random_below(40), 260 + random_below(40), 530 + random_below(40), r % 5, (r + r / 5) % 5,
              r / 5, r % 4 == 3, r % 3);
    static const int64_t sizes[][3] = {{1549, 33, 2070}, {140, 1500, 513}, {140, 24, 6400}, {300, 17, 8209}};
    for (int r = 0; r < 8; r++)
        check(sizes[r / 2][0], sizes[r / 2][1], sizes[r / 2][2], r & 1, 0, r / 2 & 1, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unpacked),
        cmocka_unit_test(test_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
