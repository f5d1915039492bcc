/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Strided copies of the run-time library against loops over the definition, for any number of threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "gradcut/gradcut_rt.h"
#include "nightly.h"

static uint64_t seed = 11;
static int below(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)n);
}

typedef struct array {
    int rank;
    int64_t dim[GCUT_RT_MAX_RANK], from[GCUT_RT_MAX_RANK], to[GCUT_RT_MAX_RANK];
} array;

/* Strides of an array whose axes lie in this order, some with gaps; the number of elements it spans. */
static int64_t lay_out(const array *a, const int *order, bool gaps, int64_t *stride)
{
    int64_t n = 1;
    for (int k = a->rank - 1; k >= 0; k--) {
        stride[order[k]] = n;
        n *= a->dim[order[k]] + (gaps && below(3) == 0 ? below(3) : 0);
    }
    return n;
}

static void shuffle(int *order, int n)
{
    for (int k = 0; k < n; k++) order[k] = k;
    for (int k = n - 1; k > 0; k--) {
        const int with = below(k + 1), t = order[k];
        order[k] = order[with], order[with] = t;
    }
}

static void same_elements(const array *a, size_t size, const char *src, const char *before, const char *dst,
                          int64_t all)
{
    char *want = malloc((size_t)all * size + 1);
    int64_t n = 1;
    memcpy(want, before, (size_t)all * size);
    for (int d = 0; d < a->rank; d++) n *= a->dim[d];
    for (int64_t k = 0; k < n; k++) {
        int64_t q = k, from = 0, to = 0;
        for (int d = a->rank - 1; d >= 0; d--) {
            from += q % a->dim[d] * a->from[d];
            to += q % a->dim[d] * a->to[d];
            q /= a->dim[d];
        }
        memcpy(want + (size_t)to * size, src + (size_t)from * size, size);
    }
    assert_memory_equal(dst, want, (size_t)all * size);
    free(want);
}

static void check(const array *a, size_t size, int64_t nfrom, int64_t nto)
{
    const size_t most = (size_t)(nfrom > nto ? nfrom : nto) * size + 1;
    char *src = malloc(most), *before = malloc(most), *dst = malloc(most);
    for (size_t k = 0; k < most; k++) src[k] = (char)below(256), before[k] = (char)below(256);
    for (int threads = 1; threads <= 3; threads++) {
        memcpy(dst, before, most);
        gcut_rt_copy(a->rank, a->dim, size, src, a->from, dst, a->to, threads);
        same_elements(a, size, src, before, dst, nto);
    }
    free(src);
    free(before);
    free(dst);
}

static void any_strides(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 4, 8};
    for (int round = 0, n = rounds(400); round < n; round++) {
        TRY("round %d", round);
        array a = {.rank = below(6)};
        int order[GCUT_RT_MAX_RANK];
        for (int d = 0; d < a.rank; d++) a.dim[d] = below(12) == 0 ? 0 : 1 + below(6);
        shuffle(order, a.rank);
        if (below(2))
            for (int d = 0; d < a.rank; d++) order[d] = d;
        const int64_t nfrom = lay_out(&a, order, below(2), a.from);
        if (below(2)) shuffle(order, a.rank);
        const int64_t nto = lay_out(&a, order, below(2), a.to);
        for (int d = 0; d < a.rank; d++)
            if (below(8) == 0) a.from[d] = 0; /* repeated */
        check(&a, sizes[below(4)], nfrom, nto);
    }
}

/* Few long rows, which threads take in parts. */
static void long_rows(void **state)
{
    (void)state;
    const array cases[] = {
        {1, {300001}, {1}, {1}},
        {2, {3, 50000}, {50000, 1}, {50010, 1}},
        {4, {2, 30, 40, 50}, {60000, 2000, 50, 1}, {70000, 2000, 50, 1}},
        {2, {2, 100000}, {1, 2}, {100000, 1}},
        {3, {1, 200000, 1}, {7, 0, 3}, {5, 1, 9}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY("case %zu", i);
        check(&cases[i], 4, 400000, 400000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_strides),
        cmocka_unit_test(long_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
