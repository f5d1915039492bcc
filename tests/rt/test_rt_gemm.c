/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Matrix products against a triple loop in double (for f32) and long double (for f64), and against
 * themselves: the same bits for any number of threads, and with a function on tiles.
 *
 * Bound: a dot product of length k summed in any order, in blocks or with FMA, has an error of at most
 * k eps / (1 - k eps) times the sum of |a b|, eps = 2^-24 or 2^-53; accumulation onto C adds one rounding and
 * |c|.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"
#include "gradcut/gradcut_rt.h"
#include "nightly.h"

static uint64_t seed = 7;
static int random_below(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)n);
}
static double uniform(void)
{
    return random_below(1 << 24) / (double)(1 << 23) - 1;
}

/* An operand of `batches` matrices of r x c; how: 0 row-major, 1 column-major, 2 general, 3 repeated, 4
 * reversed. */
typedef struct operand {
    int64_t rs, cs, bs[4], origin, size;
} operand;

static operand layout(int64_t r, int64_t c, int nbatch, const int64_t *batch, int how, int repeat_batch)
{
    operand o = {.rs = c + random_below(3), .cs = 1, .size = 1};
    if (how == 1) {
        o.rs = 1;
        o.cs = r + random_below(3);
    }
    if (how == 2) {
        o.rs = 2 * c + random_below(3);
        o.cs = 2;
    }
    int64_t one = (r > 0 ? r - 1 : 0) * o.rs + (c > 0 ? c - 1 : 0) * o.cs + 1;
    if (how == 3) *(random_below(2) ? &o.rs : &o.cs) = 0;
    for (int i = nbatch - 1; i >= 0; i--) {
        o.bs[i] = repeat_batch ? 0 : one;
        one *= batch[i] > 0 ? batch[i] : 1;
    }
    o.size = one;
    if (how == 4) {
        o.origin = (r > 0 ? r - 1 : 0) * o.rs;
        o.rs = -o.rs;
    }
    return o;
}

typedef struct problem {
    gcut_rt_gemm g;
    operand a, b, c;
    int64_t batches;
} problem;

static problem make(int64_t m, int64_t n, int64_t k, int nbatch, int ha, int hb, int hc, int accumulate)
{
    problem p = {.g = {.m = m, .n = n, .k = k, .nbatch = nbatch, .accumulate = accumulate}, .batches = 1};
    for (int i = 0; i < nbatch; i++) p.batches *= p.g.batch[i] = 1 + random_below(3);
    p.a = layout(m, k, nbatch, p.g.batch, ha, random_below(4) == 0);
    p.b = layout(k, n, nbatch, p.g.batch, hb, random_below(2) == 0);
    p.c = layout(m, n, nbatch, p.g.batch, hc, 0);
    p.g.rsa = p.a.rs, p.g.csa = p.a.cs, p.g.rsb = p.b.rs, p.g.csb = p.b.cs, p.g.rsc = p.c.rs,
    p.g.csc = p.c.cs;
    /* Half of the contiguous ones have no gap between rows, so that batches can continue each other. */
    if (ha == 0 && hc == 0 && random_below(2)) {
        p.g.rsa = k > 0 ? k : 1;
        p.g.rsc = n > 0 ? n : 1;
        int64_t sa = m * p.g.rsa, sc = m * p.g.rsc;
        for (int i = nbatch - 1; i >= 0; i--) {
            p.a.bs[i] = sa, p.c.bs[i] = sc;
            sa *= p.g.batch[i], sc *= p.g.batch[i];
        }
    }
    for (int i = 0; i < nbatch; i++) p.g.sa[i] = p.a.bs[i], p.g.sb[i] = p.b.bs[i], p.g.sc[i] = p.c.bs[i];
    return p;
}

static int64_t at(const problem *p, const int64_t *stride, int64_t batch)
{
    int64_t sum = 0;
    for (int i = p->g.nbatch - 1; i >= 0; i--) {
        sum += batch % p->g.batch[i] * stride[i];
        batch /= p->g.batch[i];
    }
    return sum;
}

/* A tile function that counts its visits to each element and keeps what it found there. */
typedef struct visits {
    const problem *p;
    const char *c;
    char *found;
    size_t size;
    unsigned char *times;
    int threads, whole_rows;
    _Atomic int bad; /* of tiles that threads visit side by side */
} visits;

static void visit(void *arg, int t, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    visits *v = arg;
    const gcut_rt_gemm *g = &v->p->g;
    v->bad |= t < 0 || t >= v->threads || r0 < 0 || r1 > g->m * v->p->batches || r0 >= r1;
    v->bad |= c0 < 0 || c1 > g->n;
    v->bad |= v->whole_rows && (c0 != 0 || c1 != g->n);
    for (int64_t i = r0; i < r1; i++)
        for (int64_t j = c0; j < c1; j++) {
            size_t o = (size_t)(at(v->p, g->sc, i / g->m) + i % g->m * g->rsc + j * g->csc);
            v->times[i * g->n + j]++;
            memcpy(v->found + o * v->size, v->c + o * v->size, v->size);
        }
}

/* Every element is visited once, and has its final bits by then: those of the plain product, c. */
#define CHECK_TILED(T, SUFFIX)                                                                               \
    static void check_tiled_##SUFFIX(const problem *p, const T *pa, const T *pb, const T *c0, const T *c)    \
    {                                                                                                        \
        const gcut_rt_gemm *g = &p->g;                                                                       \
        size_t nc = (size_t)p->c.size;                                                                       \
        T *d = malloc(nc * sizeof *d), *found = malloc(nc * sizeof *found);                                  \
        const int64_t all = p->batches * g->m * g->n;                                                        \
        unsigned char *times = malloc((size_t)all + 1);                                                      \
        for (int k = 0; k < 6; k++) {                                                                        \
            if (k % 4 % 3 && !nightly()) continue;                                                           \
            visits v = {p, (const char *)d, (char *)found, sizeof(T), times, 1 + k / 2, k % 2, 0};           \
            memset(times, 0, (size_t)all + 1);                                                               \
            memcpy(d, c0, nc * sizeof *d);                                                                   \
            memcpy(found, c0, nc * sizeof *d);                                                               \
            gcut_rt_gemm_tiled_##SUFFIX(g, pa, pb, d, visit, &v, v.whole_rows, v.threads);                   \
            assert_false(v.bad);                                                                             \
            for (int64_t i = 0; i < all; i++) v.bad |= times[i] != 1;                                        \
            assert_false(v.bad);                                                                             \
            assert_memory_equal(c, d, nc * sizeof *c);                                                       \
            assert_memory_equal(c, found, nc * sizeof *c);                                                   \
        }                                                                                                    \
        free(d), free(found), free(times);                                                                   \
    }

CHECK_TILED(float, f32)
CHECK_TILED(double, f64)

/* Elements of C that no product may touch stay as they were: compared as bits, with everything else. */
#define CHECK(T, WIDE, SUFFIX, EPS)                                                                          \
    REFERENCE static void check_##SUFFIX(const problem *p)                                                   \
    {                                                                                                        \
        const gcut_rt_gemm *g = &p->g;                                                                       \
        size_t na = (size_t)p->a.size, nb = (size_t)p->b.size, nc = (size_t)p->c.size;                       \
        T *a = malloc(na * sizeof *a), *b = malloc(nb * sizeof *b), *c0 = malloc(nc * sizeof *c0);           \
        T *c = malloc(nc * sizeof *c), *d = malloc(nc * sizeof *d);                                          \
        char *seen = calloc(nc, 1);                                                                          \
        for (size_t i = 0; i < na; i++) a[i] = (T)uniform();                                                 \
        for (size_t i = 0; i < nb; i++) b[i] = (T)uniform();                                                 \
        /* C = A B must not read C: 0 * NaN would be seen. */                                                \
        for (size_t i = 0; i < nc; i++) c0[i] = g->accumulate ? (T)uniform() : (T)NAN;                       \
        const T *pa = a + p->a.origin, *pb = b + p->b.origin;                                                \
        memcpy(c, c0, nc * sizeof *c);                                                                       \
        gcut_rt_gemm_##SUFFIX(g, pa, pb, c, 1);                                                              \
        for (int64_t t = 0; t < p->batches; t++) {                                                           \
            const T *ta = pa + at(p, g->sa, t), *tb = pb + at(p, g->sb, t);                                  \
            int64_t tc = at(p, g->sc, t);                                                                    \
            for (int64_t i = 0; i < g->m; i++)                                                               \
                for (int64_t j = 0; j < g->n; j++) {                                                         \
                    int64_t o = tc + i * g->rsc + j * g->csc;                                                \
                    WIDE sum = g->accumulate ? (WIDE)c0[o] : 0, size = sum < 0 ? -sum : sum;                 \
                    for (int64_t k = 0; k < g->k; k++) {                                                     \
                        WIDE x = (WIDE)ta[i * g->rsa + k * g->csa] * (WIDE)tb[k * g->rsb + j * g->csb];      \
                        sum += x;                                                                            \
                        size += x < 0 ? -x : x;                                                              \
                    }                                                                                        \
                    WIDE e = sum - (WIDE)c[o];                                                               \
                    seen[o] = 1;                                                                             \
                    if (!((e < 0 ? -e : e) <= (WIDE)(g->k + 2) * (EPS)*1.01 * size))                         \
                        fail_msg("%d x %d x %d: C[%d, %d] is %.17g, expected %.17g", (int)g->m, (int)g->n,   \
                                 (int)g->k, (int)i, (int)j, (double)c[o], (double)sum);                      \
                }                                                                                            \
        }                                                                                                    \
        for (size_t i = 0; i < nc; i++)                                                                      \
            if (!seen[i]) assert_memory_equal(&c[i], &c0[i], sizeof *c);                                     \
        for (int threads = 2; threads <= 4; threads += nightly() ? 1 : 2) {                                  \
            memcpy(d, c0, nc * sizeof *c);                                                                   \
            gcut_rt_gemm_##SUFFIX(g, pa, pb, d, threads);                                                    \
            assert_memory_equal(c, d, nc * sizeof *c);                                                       \
        }                                                                                                    \
        check_tiled_##SUFFIX(p, pa, pb, c0, c);                                                              \
        free(a), free(b), free(c0), free(c), free(d), free(seen);                                            \
    }

CHECK(float, double, f32, 0x1p-24)
CHECK(double, long double, f64, 0x1p-53L)

static void check(const problem *p)
{
    check_f32(p);
    check_f64(p);
}

static void test_small(void **state)
{
    (void)state;
    for (int r = 0, n = rounds(100); r < n; r++) {
        TRY("round %d", (int)r);
        int big = r % 3 == 0 ? 70 : r % 3 == 1 ? 20 : 6;
        problem p = make(1 + random_below(big), 1 + random_below(big), 1 + random_below(r % 7 ? big : 600),
                         random_below(5) ? random_below(3) : 4, random_below(5), random_below(4),
                         random_below(3), random_below(2));
        check(&p);
    }
}

/* Sizes beyond the small kernel's: packing and edges, whatever orientation. */
static void test_large(void **state)
{
    (void)state;
    for (int r = nightly() ? 0 : 1; r < 12; r += nightly() ? 1 : 2) {
        if (!in_turn((size_t)r / 2, 3)) continue;
        problem p = make(40 + random_below(60), 520 + random_below(60), 520 + random_below(30), r % 6 == 5,
                         r % 3, r / 3 % 3, r % 5 % 3, r / 2 & 1);
        check_f32(&p);
    }
    problem p = make(101, 517, 300, 0, 0, 1, 0, 1);
    check_f64(&p);
    p = make(517, 101, 300, 0, 1, 0, 1, 0);
    check_f64(&p);
    /* Long and thin ones, and repeated or reversed operands. */
    p = make(1, 700, 900, 0, 0, 0, 0, 0);
    check(&p);
    p = make(700, 1, 900, 0, 0, 0, 0, 1);
    check(&p);
    p = make(17, 700, 600, 0, 3, 0, 0, 0);
    check(&p);
    p = make(30, 600, 600, 0, 4, 3, 0, 0);
    check(&p);
}

/* Around the sizes of a block, of a step of k and of a register block: more than one of each, with edges. */
static void test_blocks(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{35, 1201, 513},  {1201, 35, 513}, {1549, 33, 70},  {33, 1549, 65},
                                       {24, 8193, 64},   {300, 320, 900}, {17, 32, 16385}, {97, 289, 1025},
                                       {200, 1025, 257}, {20, 600, 513}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int how = (int)i & 1;
        problem p = make(sizes[i][0], sizes[i][1], sizes[i][2], 0, how, !how, random_below(3), how);
        check_f32(&p);
    }
    problem p = make(35, 1201, 513, 0, 1, 1, 0, 1);
    check_f64(&p);
    p = make(601, 35, 513, 0, 0, 0, 1, 0);
    check_f64(&p);
    p = make(90, 300, 520, 0, 2, 2, 2, 1);
    check_f64(&p);
    /* Strides that repeat or reverse an operand that is packed. */
    p = make(40, 600, 600, 0, 3, 4, 0, 0);
    check(&p);
    p = make(600, 40, 600, 0, 4, 3, 1, 1);
    check(&p);
}

/* More than 128 rows and 1 MiB on the right, whichever way C is turned: packed operands of any strides, C in
 * rows, in columns and neither. */
static void test_packed(void **state)
{
    (void)state;
    for (int hc = 0; hc < 3; hc++)
        for (int how = 0; how < 5; how++) {
            int64_t k = (how + hc) % 2 ? 2010 : 1010;
            problem p = make(131, 133, k, k < 2000 && hc == 1, how, (how + hc) % 5, hc, how & 1);
            if (k > 2000)
                check_f32(&p);
            else
                check_f64(&p);
        }
}

/* C and its transpose in memory have the same bits, for sizes on both sides of every rule. */
static void test_either_way_round(void **state)
{
    static const int64_t sizes[][3] = {{100, 2000, 600}, {2000, 100, 600}, {200, 300, 1000}, {5, 400, 512},
                                       {400, 5, 512},    {129, 512, 513},  {512, 129, 513}};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        gcut_rt_gemm g = {.m = m, .n = n, .k = k, .rsa = k, .csa = 1, .rsb = n, .csb = 1, .rsc = n, .csc = 1};
        float *a = test_malloc((size_t)(m * k) * sizeof *a), *b = test_malloc((size_t)(k * n) * sizeof *b);
        float *c = test_malloc((size_t)(m * n) * sizeof *c), *d = test_malloc((size_t)(m * n) * sizeof *d);
        for (int64_t i = 0; i < m * k; i++) a[i] = (float)random_below(2001) / 1000 - 1;
        for (int64_t i = 0; i < k * n; i++) b[i] = (float)random_below(2001) / 1000 - 1;
        gcut_rt_gemm_f32(&g, a, b, c, 2);
        g.rsc = 1, g.csc = m;
        gcut_rt_gemm_f32(&g, a, b, d, 2);
        int64_t differ = 0;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) differ += memcmp(&c[i * n + j], &d[i + j * m], sizeof *c) != 0;
        if (differ) fail_msg("%d x %d x %d: %d elements differ", (int)m, (int)n, (int)k, (int)differ);
        test_free(a), test_free(b), test_free(c), test_free(d);
    }
}

static void count(void *arg, int t, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    (void)t;
    int64_t *rows = arg;
    rows[0] += r1 - r0;
    rows[1] += c1 - c0;
}

/* Rows without columns are complete at once, for who wants whole rows. */
static void test_no_columns(void **state)
{
    (void)state;
    gcut_rt_gemm g = {.m = 5, .n = 0, .k = 3, .rsa = 3, .csa = 1, .rsb = 1, .csb = 1, .rsc = 1, .csc = 1};
    float a[15] = {0}, b[1] = {0}, c[1] = {7};
    int64_t rows[2] = {0, 0};
    gcut_rt_gemm_tiled_f32(&g, a, b, c, count, rows, 1, 1);
    assert_that(rows[0], ==, 5);
    assert_that(rows[1], ==, 0);
    assert_that(c[0], ==, 7);
    gcut_rt_gemm_tiled_f32(&g, a, b, c, count, rows, 0, 1);
    assert_true(rows[0] == 5);
}

static void test_degenerate(void **state)
{
    (void)state;
    for (int bits = 1; bits < 8; bits++)
        for (int acc = 0; acc < 2; acc++) {
            problem p = make(bits & 1 ? 0 : 5, bits & 2 ? 0 : 6, bits & 4 ? 0 : 7, bits % 2, 0, 0, 0, acc);
            p.a.size += 64, p.b.size += 64, p.c.size += 64;
            check(&p);
        }
    float a[2] = {1, 2}, b[2] = {3, 4}, c[4] = {NAN, NAN, NAN, 9};
    gcut_rt_gemm g = {.m = 1, .n = 3, .k = 0, .rsa = 1, .csa = 1, .rsb = 1, .csb = 1, .rsc = 3, .csc = 1};
    gcut_rt_gemm_f32(&g, a, b, c, 1);
    assert_that(c[0], ==, 0);
    assert_that(c[1], ==, 0);
    assert_that(c[2], ==, 0);
    assert_that(c[3], ==, 9);
    g = (gcut_rt_gemm){.m = 1, .n = 1, .k = 2, .csa = 1, .rsb = 1, .nbatch = 1, .batch = {0}};
    c[0] = 5;
    gcut_rt_gemm_f32(&g, a, b, c, 1);
    assert_true(c[0] == 5);
}

/* NaN and infinity go through every kernel. */
static void test_nan(void **state)
{
    (void)state;
    for (int n = 8; n <= 640; n += 632) {
        float *a = calloc((size_t)n * n, sizeof *a), *b = calloc((size_t)n * n, sizeof *b);
        float *c = calloc((size_t)n * n, sizeof *c);
        a[0] = INFINITY, b[1] = 1, a[n] = NAN;
        gcut_rt_gemm g = {.m = n, .n = n, .k = n, .rsa = n, .csa = 1, .rsb = n, .csb = 1, .rsc = n, .csc = 1};
        gcut_rt_gemm_f32(&g, a, b, c, 2);
        assert_true(isnan(c[0]));
        assert_true(isinf(c[1]));
        assert_true(isnan(c[n]));
        assert_that(c[2 * n], ==, 0);
        free(a), free(b), free(c);
    }
}

static void test_name(void **state)
{
    (void)state;
    const char *name = gcut_rt_blis_name();
    assert_true(name);
    assert_true(*name);
    assert_ptr_equal(name, gcut_rt_blis_name());
#if defined __x86_64__ && !defined GCUT_RT_WIDEST
    const int fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
              wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    const char *user = getenv("BLIS_ARCH_TYPE");
    const struct {
        const char *name;
        int runs;
    } known[] = {{"skx", wide}, {"haswell", fused}, {"zen3", fused}, {"generic", 1}};
    int asked = 0;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (!strcmp(name, known[k].name)) assert_true(known[k].runs);
        asked |= user && !strcmp(user, known[k].name) && known[k].runs;
    }
    if (asked) assert_string_equal(name, user);
    if (wide && !asked) assert_string_equal(name, "skx");
    assert_string_equal(gcut_rt_gemm_name(), wide && !asked ? "avx512" : name);
#else
    assert_string_equal(gcut_rt_gemm_name(), name);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_either_way_round),
        cmocka_unit_test(test_no_columns),
        cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
