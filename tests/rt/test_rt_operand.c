/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products whose operands are computed as they are packed, against the same products of operands that are in
 * memory: the same bits, for any number of threads, either way round, with and without rooms, tiles and
 * batches; and each element is asked for as often as gcut_rt_gemm_packings says.
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

#include "gradcut/gradcut_rt.h"
#include "nightly.h"

/* Lines of `length` elements of `size` bytes; counts what it is asked for. */
typedef struct source {
    const char *x;
    int64_t lines, length;
    size_t size;
    int64_t asked;
} source;

static void fill(void *arg, int t, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void *out, int64_t ld)
{
    source *s = arg;
    if (t < 0 || i0 < 0 || i1 > s->lines || j0 < 0 || j1 > s->length || i0 >= i1 || j0 >= j1) abort();
    for (int64_t i = i0; i < i1; i++)
        memcpy((char *)out + (size_t)((i - i0) * ld) * s->size, s->x + (size_t)(i * s->length + j0) * s->size,
               (size_t)(j1 - j0) * s->size);
    __atomic_fetch_add(&s->asked, (i1 - i0) * (j1 - j0), __ATOMIC_RELAXED);
}

static void tile(void *arg, int t, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    (void)t;
    __atomic_fetch_add((int64_t *)arg, (r1 - r0) * (c1 - c0), __ATOMIC_RELAXED);
}

/* Numbers, a NaN and both infinities. */
static void *operand(int64_t n, size_t size)
{
    void *x = malloc((size_t)n * size);
    assert_non_null(x);
    uint64_t seed = (uint64_t)n;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double v = (double)(seed >> 40) / (1 << 23) - 1;
        if (i == n / 3) v = NAN;
        if (i == n / 2) v = INFINITY;
        if (i == n / 5) v = -INFINITY;
        if (size == 4)
            ((float *)x)[i] = (float)v;
        else
            ((double *)x)[i] = v;
    }
    return x;
}

typedef struct shape {
    int64_t m, n, k;
    int ta, tb, turned;
    int64_t batches; /* 0: none */
    int repeated;    /* bits: operands that all batches have in common */
} shape;

/* Matrices of operand i in memory. */
static int64_t stored(const shape *s, int i)
{
    return s->repeated >> i & 1 ? 1 : gcut_rt_max(s->batches, 1);
}

typedef struct matrices {
    shape s;
    size_t size;
    void *a, *b;
} matrices;

static int64_t packings(const shape *s, size_t size, int threads, int of_b)
{
    return gcut_rt_gemm_packings(s->m, s->n, s->k, s->ta ? s->m : 1, (int64_t)size, threads, 1, of_b);
}

/* The product, `filled` saying in bits which operands are computed, and which of them have a room. */
static void *product(const matrices *x, int filled, int rooms, int tiles, int threads)
{
    const shape *s = &x->s;
    source from[2] = {{x->a, (s->ta ? s->k : s->m) * stored(s, 0), s->ta ? s->m : s->k, x->size, 0},
                      {x->b, (s->tb ? s->n : s->k) * stored(s, 1), s->tb ? s->k : s->n, x->size, 0}};
    const int64_t elements = s->m * s->n * gcut_rt_max(s->batches, 1);
    void *room[2] = {NULL, NULL}, *c = malloc((size_t)elements * x->size);
    assert_non_null(c);
    int64_t tiled = 0;
    for (int i = 0; i < 2; i++)
        if (rooms & filled & 1 << i) room[i] = malloc((size_t)(from[i].lines * from[i].length) * x->size);
    gcut_rt_gemm g = {.m = s->m, .n = s->n, .k = s->k};
    g.rsa = s->ta ? 1 : s->k, g.csa = s->ta ? s->m : 1;
    g.rsb = s->tb ? 1 : s->n, g.csb = s->tb ? s->k : 1;
    g.rsc = s->turned ? 1 : s->n, g.csc = s->turned ? s->m : 1;
    if (s->batches) {
        g.nbatch = 1, g.batch[0] = s->batches, g.sc[0] = s->m * s->n;
        g.sa[0] = s->repeated & 1 ? 0 : s->m * s->k;
        g.sb[0] = s->repeated & 2 ? 0 : s->k * s->n;
    }
    if (filled & 1) g.from_a = (gcut_rt_operand){fill, &from[0], !s->ta, room[0]};
    if (filled & 2) g.from_b = (gcut_rt_operand){fill, &from[1], s->tb, room[1]};
    const void *a = filled & 1 ? NULL : x->a, *b = filled & 2 ? NULL : x->b;
    if (tiles && x->size == 4)
        gcut_rt_gemm_tiled_f32(&g, a, b, c, tile, &tiled, 0, threads);
    else if (tiles)
        gcut_rt_gemm_tiled_f64(&g, a, b, c, tile, &tiled, 0, threads);
    else if (x->size == 4)
        gcut_rt_gemm_f32(&g, a, b, c, threads);
    else
        gcut_rt_gemm_f64(&g, a, b, c, threads);
    assert_int_equal(tiled, tiles ? elements : 0);
    for (int i = 0; i < 2; i++) {
        const int64_t all = from[i].lines * from[i].length;
        int64_t times = from[i].asked / all;
        if (room[i]) assert_int_equal(times, 1);
        /* More threads than that: about so often; and of two, one streams. */
        if (filled == 1 << i && !room[i] && threads <= 2 && !s->batches)
            assert_int_equal(times, packings(s, x->size, threads, i));
        /* Threads that share batches out pack no more; what all batches have in common is packed for each. */
        if (filled == 1 << i && !room[i] && threads <= 2 && s->batches && !(s->repeated >> i & 1))
            assert_true(times <= packings(s, x->size, threads, i));
        assert_int_equal(from[i].asked, times * all);
        assert_int_equal(times > 0, filled >> i & 1);
        free(room[i]);
    }
    return c;
}

static void check(const shape *s, size_t size)
{
    const size_t bytes = (size_t)(s->m * s->n * gcut_rt_max(s->batches, 1)) * size;
    matrices x = {*s, size, operand(s->m * s->k * stored(s, 0), size),
                  operand(s->k * s->n * stored(s, 1), size)};
    void *want = product(&x, 0, 0, 0, 1);
    bool packs = packings(s, size, 1, 0) > 0;
    for (int filled = 1; filled < 4; filled++)
        for (int threads = 1; threads < 5; threads++) {
            if (threads == 2 && filled == 3 && !nightly()) continue;
            int rooms = packs ? threads % 2 * filled & 2 : filled;
            void *got = product(&x, filled, rooms, threads % 3 == 0, threads);
            assert_memory_equal(want, got, bytes);
            free(got);
        }
    free(want);
    free(x.a);
    free(x.b);
}

/* Sizes that pack, whole panels and parts of them; beyond a step and a stripe; and such as do not pack. */
static const int64_t sizes[][3] = {{256, 576, 512}, {193, 401, 701}, {3200, 96, 2800},
                                   {150, 2800, 97}, {130, 40, 33},   {3, 65, 70}};

static void test_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int how = 0; how < 8; how++) {
            if (sizes[i][0] == 3200 && how % (nightly() ? 3 : 6) != 0) continue;
            if (!in_turn(i + (size_t)how, 3)) continue;
            shape s = {sizes[i][0], sizes[i][1], sizes[i][2], how & 1, how >> 1 & 1, how >> 2, 0, 0};
            check(&s, how % 3 == 1 ? 8 : 4);
        }
}

/* Matrices of either operand one after the other, or one for all batches; a B for all makes one product of many
 * rows. */
static void test_batches(void **state)
{
    (void)state;
    static const int64_t some[][3] = {{193, 401, 701}, {131, 400, 701}, {90, 400, 701}, {20, 40, 33}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        for (int how = 0; how < 12; how++) {
            if (!in_turn(i + (size_t)how, 3)) continue;
            shape s = {some[i][0],   some[i][1], some[i][2],      how & 1,
                       how >> 1 & 1, 0,          how % 2 ? 2 : 5, how / 4};
            check(&s, 4);
        }
}

/* Split the longer way, the operand along it is packed by one thread, and the other one by both. */
static void test_packings(void **state)
{
    (void)state;
    assert_int_equal(gcut_rt_gemm_packings(1024, 768, 3072, 1, 4, 2, 1, 0), 1);
    assert_int_equal(gcut_rt_gemm_packings(1024, 768, 3072, 1, 4, 2, 1, 1), 2);
    assert_int_equal(gcut_rt_gemm_packings(256, 768, 3072, 1, 4, 2, 1, 0), 2);
    assert_int_equal(gcut_rt_gemm_packings(6144, 768, 768, 1, 4, 1, 1, 1), 1);
    assert_int_equal(gcut_rt_gemm_packings(48, 768, 3072, 1, 4, 2, 1, 0), 0);
    assert_int_equal(gcut_rt_gemm_packings(1024, 768, 0, 1, 4, 2, 1, 0), 0);
    /* An A that is not contiguous along k is packed sooner. */
    assert_int_equal(gcut_rt_gemm_packings(256, 256, 256, 1, 4, 1, 1, 0), 0);
    assert_int_equal(gcut_rt_gemm_packings(256, 300, 256, 256, 4, 1, 1, 0), 1);
    /* B stays where it fits. */
    assert_int_equal(gcut_rt_gemm_packings(3072, 768, 256, 3072, 4, 2, 0, 0), 0);
    assert_int_equal(gcut_rt_gemm_packings(3072, 768, 1024, 3072, 4, 2, 0, 0), 1);
    assert_true(gcut_rt_gemm_fills(256, 768, 3072, 1, 4, 2, 1, 0, 2));
    assert_false(gcut_rt_gemm_fills(256, 768, 3072, 1, 4, 2, 1, 0, 1));
    assert_false(gcut_rt_gemm_fills(48, 768, 3072, 1, 4, 2, 1, 0, 64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits), cmocka_unit_test(test_batches),
                                       cmocka_unit_test(test_packings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
