/* SPDX-License-Identifier: MIT
 *
 * The order of elements along an axis, by merge sort: an item is an element's index with a key, an integer of 64 bits
 * that compares as the element does.
 */
#include <string.h>

#include "gradcut/gradcut_rt.h"

enum { RUN = 12 }; /* items that are inserted one by one, before runs are merged */

typedef struct item {
    uint64_t key;
    int64_t at;
} item;

_Static_assert(2 * sizeof(item) == GCUT_RT_ARGSORT_BYTES, "what a thread needs for each element");

typedef struct argsort_job {
    int64_t outer, n, inner;
    uint64_t flip; /* exclusive-ored with keys: all ones for falling order */
    const void *x;
    int64_t *out;
    item *work;
    void (*load)(const void *x, int64_t first, int64_t step, int64_t n, uint64_t flip, item *to);
} argsort_job;

/* Bits of floats compare as integers of sign and magnitude; -0 is 0, and NaN the largest. */
static inline uint64_t float_key(double x)
{
    const uint64_t b = gcut_bits_f64(x == 0 ? 0.0 : x);
    return x != x ? UINT64_MAX : b ^ (b >> 63 ? UINT64_MAX : UINT64_C(1) << 63);
}
static inline uint64_t int_key(int64_t x)
{
    return (uint64_t)x ^ UINT64_C(1) << 63;
}

static void sort_runs(item *x, int64_t n)
{
    for (int64_t r = 0; r < n; r += RUN)
        for (int64_t i = r + 1; i < gcut_rt_min(r + RUN, n); i++) {
            const item v = x[i];
            int64_t k = i;
            for (; k > r && x[k - 1].key > v.key; k--) x[k] = x[k - 1];
            x[k] = v;
        }
}

/* Of two runs of `from`, which are na and nb long; of equal keys those of the first run come first. */
static void merge(const item *from, int64_t na, int64_t nb, item *to)
{
    const item *a = from, *const enda = from + na, *b = enda, *const endb = enda + nb;
    while (a < enda && b < endb) {
        const int second = b->key < a->key;
        *to++ = second ? *b : *a;
        b += second;
        a += !second;
    }
    memcpy(to, a, (size_t)(enda - a) * sizeof *to);
    memcpy(to + (enda - a), b, (size_t)(endb - b) * sizeof *to);
}

/* The n items of x in order, in x or in y. */
static const item *sort(item *x, item *y, int64_t n)
{
    sort_runs(x, n);
    for (int64_t run = RUN; run < n; run *= 2) {
        for (int64_t r = 0; r < n; r += 2 * run) {
            const int64_t na = gcut_rt_min(run, n - r), nb = gcut_rt_min(run, n - r - na);
            merge(x + r, na, nb, y + r);
        }
        item *const sorted = y;
        y = x;
        x = sorted;
    }
    return x;
}

/* Workspaces of threads begin at cache lines, of four items.  The items are loaded to the end of the thread's own, so that its
 * last byte is always touched. */
static void argsort_part(void *arg, int t, int nt)
{
    const argsort_job *j = arg;
    const int64_t each = 2 * (j->n + j->n % 2);
    item *const first = j->work + each * t, *const second = first + each - j->n;
    int64_t l0, l1;
    gcut_rt_share(j->outer * j->inner, 1, t, nt, &l0, &l1);
    for (int64_t l = l0; l < l1; l++) {
        const int64_t at = l / j->inner * j->n * j->inner + l % j->inner;
        j->load(j->x, at, j->inner, j->n, j->flip, second);
        const item *const sorted = sort(second, first, j->n);
        for (int64_t i = 0; i < j->n; i++) j->out[at + i * j->inner] = sorted[i].at;
    }
}

#define ARGSORT(name, type, key_of)                                                                          \
    static void load_##name(const void *x, int64_t first, int64_t step, int64_t n, uint64_t flip, item *to)  \
    {                                                                                                        \
        const type *const at = (const type *)x + first;                                                      \
        for (int64_t i = 0; i < n; i++) to[i] = (item){key_of(at[i * step]) ^ flip, i};                      \
    }                                                                                                        \
    void gcut_rt_argsort_##name(int64_t outer, int64_t n, int64_t inner, int descending, const type *x,      \
                                int64_t *out, void *work, int threads)                                       \
    {                                                                                                        \
        argsort_job j = {outer, n, inner, descending ? UINT64_MAX : 0, x, out, work, load_##name};           \
        if (n > 0) gcut_rt_parallel(argsort_part, &j, threads);                                              \
    }
ARGSORT(f32, float, float_key)
ARGSORT(f64, double, float_key)
ARGSORT(i8, int8_t, int_key)
ARGSORT(i16, int16_t, int_key)
ARGSORT(i32, int32_t, int_key)
ARGSORT(i64, int64_t, int_key)
ARGSORT(u8, uint8_t, int_key)
