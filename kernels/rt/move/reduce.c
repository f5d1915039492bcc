/* SPDX-License-Identifier: MIT
 *
 * Reductions over any axes.  The elements that become one are numbered in row-major order and taken through
 * a block on the stack, whose element k goes to accumulator k % ACCUMULATORS; these are joined pairwise.
 * So the order of a sum is a function of its length alone, whatever vectors compilers make of it.  Where the last kept axis
 * is contiguous and the last reduced one is not, COLUMNS results are computed at a time, each in that order.
 */
#include <stdbool.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/isa.h"
#include "kernels/rt/move/strided.h"

enum { BLOCK = 256, ACCUMULATORS = 16, LINE = 64, COLUMNS = 64, FEWEST_COLUMNS = 8 };
/* Bytes of a run: a shorter one is not worth finding the next, in a longer one the processor sees itself. */
enum { LEAST_RUN = 512, MOST_RUN = 4096 };

typedef struct job {
    gcut_rt_reduction how;
    int kept, gone; /* how many axes */
    int64_t kdim[GCUT_RT_MAX_RANK], kstride[GCUT_RT_MAX_RANK];
    int64_t gdim[GCUT_RT_MAX_RANK], gstride[GCUT_RT_MAX_RANK];
    int64_t nkept, ngone;
    const void *x;
    void *out;
} job;

/* Another axis of those that become one; part of the one before where elements go on evenly. */
static void add_gone(job *j, int64_t dim, int64_t stride)
{
    j->ngone *= dim;
    if (j->gone > 0 && j->gstride[j->gone - 1] == dim * stride) {
        j->gdim[j->gone - 1] *= dim;
        j->gstride[j->gone - 1] = stride;
        return;
    }
    j->gdim[j->gone] = dim;
    j->gstride[j->gone++] = stride;
}

static job plan(gcut_rt_reduction how, int rank, const int64_t *dim, const int64_t *stride, unsigned mask,
                const void *x, void *out)
{
    job j = {.how = how, .nkept = 1, .ngone = 1, .x = x, .out = out};
    for (int d = 0; d < rank; d++) {
        if (mask >> d & 1) {
            add_gone(&j, dim[d], stride[d]);
        } else {
            j.kdim[j.kept] = dim[d];
            j.kstride[j.kept++] = stride[d];
            j.nkept *= dim[d];
        }
    }
    return j;
}

/* The run of the last axis that element g of those that become one lies in, from there on: its length, and
 * its place in *at. */
static int64_t run_of(const job *j, int64_t g, int64_t *at)
{
    int64_t last = j->gone - 1;
    *at = strided_offset(g, j->gone, j->gdim, j->gstride);
    return j->gdim[last] - g % j->gdim[last];
}

/* Integers wrap: sums and products are taken without sign. */
static inline int64_t add_int64_t(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t mul_int64_t(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline double add_double(double a, double b)
{
    return a + b;
}
static inline double mul_double(double a, double b)
{
    return a * b;
}
/* A NaN wins. */
#define MOST(wide)                                                                                           \
    static inline wide max_##wide(wide a, wide b)                                                            \
    {                                                                                                        \
        return a != a || a > b ? a : b;                                                                      \
    }                                                                                                        \
    static inline wide min_##wide(wide a, wide b)                                                            \
    {                                                                                                        \
        return a != a || a < b ? a : b;                                                                      \
    }
MOST(int64_t)
MOST(double)

/* acc[k % ACCUMULATORS] takes in element k of a block, then the first accumulator the others. */
#define FOLD_(how, type, wide, isa)                                                                          \
    TARGET_##isa static void how##_##type##_##isa(const type *x, int64_t n, wide *acc)                       \
    {                                                                                                        \
        int64_t k = 0;                                                                                       \
        for (; k + ACCUMULATORS <= n; k += ACCUMULATORS)                                                     \
            for (int l = 0; l < ACCUMULATORS; l++) acc[l] = how##_##wide(acc[l], (wide)x[k + l]);            \
        for (int l = 0; k + l < n; l++) acc[l] = how##_##wide(acc[l], (wide)x[k + l]);                       \
    }
#define FOLD(wide, how, type)                                                                                \
    EACH_ISA(FOLD_, how, type, wide)                                                                         \
    static wide how##_##type##_join(wide *acc)                                                               \
    {                                                                                                        \
        for (int w = ACCUMULATORS / 2; w > 0; w /= 2)                                                        \
            for (int l = 0; l < w; l++) acc[l] = how##_##wide(acc[l], acc[l + w]);                           \
        return acc[0];                                                                                       \
    }

/* Reduces n columns from x on into acc[0].  An accumulator without elements holds the neutral element and is not joined. */
#define ACROSS_(how, type, wide, isa)                                                                        \
    TARGET_##isa static void how##_##type##_across_##isa(const job *j, const type *x, int64_t n,             \
                                                         wide(*acc)[COLUMNS])                                \
    {                                                                                                        \
        for (int64_t g = 0; g < j->ngone; g++) {                                                             \
            const type *row = x + strided_offset(g, j->gone, j->gdim, j->gstride);                           \
            wide *const a = acc[g % ACCUMULATORS];                                                           \
            for (int64_t c = 0; c < n; c++) a[c] = how##_##wide(a[c], (wide)row[c]);                         \
        }                                                                                                    \
        for (int w = accumulators_of(j) / 2; w > 0; w /= 2)                                                  \
            for (int l = 0; l < w; l++)                                                                      \
                for (int64_t c = 0; c < n; c++) acc[l][c] = how##_##wide(acc[l][c], acc[l + w][c]);          \
    }
#define ACROSS(wide, how, type) EACH_ISA(ACROSS_, how, type, wide)

/* A power of two, so that the pairs that are joined are those of ACCUMULATORS. */
static int accumulators_of(const job *j)
{
    int n = 1;
    while (n < ACCUMULATORS && n < j->ngone) n *= 2;
    return n;
}

static bool goes_across(const job *j)
{
    return j->kept > 0 && j->kstride[j->kept - 1] == 1 && j->kdim[j->kept - 1] >= FEWEST_COLUMNS &&
           !(j->gone > 0 && j->gstride[j->gone - 1] == 1);
}

/* Prefetches the run of `bytes` bytes that begins at element g. */
static void fetch(const job *j, const char *x, int64_t g, int64_t bytes, size_t size)
{
    int64_t at;
    if (g >= j->ngone || bytes < LEAST_RUN || bytes > MOST_RUN) return;
    run_of(j, g, &at);
    x += at * (int64_t)size;
    for (int64_t b = 0; b < bytes; b += LINE) __builtin_prefetch(x + b);
}

/* clang-format off */
#define REDUCE(name, type, wide, lowest, highest)                                                            \
    FOLD(wide, add, type)                                                                                    \
    FOLD(wide, mul, type)                                                                                    \
    FOLD(wide, max, type)                                                                                    \
    FOLD(wide, min, type)                                                                                    \
    ACROSS(wide, add, type)                                                                                  \
    ACROSS(wide, mul, type)                                                                                  \
    ACROSS(wide, max, type)                                                                                  \
    ACROSS(wide, min, type)                                                                                  \
    /* Takes in elements g.. of those that become one: whole sets of ACCUMULATORS where they lie, if they do so     \
     * side by side, else up to BLOCK of them that are brought together.  Returns how many; a multiple of    \
     * ACCUMULATORS but for the last. */                                                                     \
    static int64_t take_##name(const job *j, const type *x, int64_t g,                                       \
                               void (*block)(const type *, int64_t, wide *), wide *acc)                      \
    {                                                                                                        \
        int64_t at = 0, n = j->gone > 0 ? run_of(j, g, &at) : 1, room = gcut_rt_min(BLOCK, j->ngone - g);    \
        int64_t step = j->gone > 0 ? j->gstride[j->gone - 1] : 0;                                            \
        type b[BLOCK];                                                                                       \
        if (step == 1 && n >= ACCUMULATORS) {                                                                \
            fetch(j, (const char *)x, g + n, n * (int64_t)sizeof(type), sizeof(type));                       \
            n -= n % ACCUMULATORS;                                                                           \
            block(x + at, n, acc);                                                                           \
            return n;                                                                                        \
        }                                                                                                    \
        if (step == 1) room = gcut_rt_min(ACCUMULATORS, room);                                               \
        for (int64_t k = 0; k < room; n = k < room ? run_of(j, g + k, &at) : 0)                              \
            for (int64_t end = gcut_rt_min(k + n, room); k < end; k++, at += step) b[k] = x[at];             \
        block(b, room, acc);                                                                                 \
        return room;                                                                                         \
    }                                                                                                        \
    static void across_##name(const job *j, wide start, int64_t k0, int64_t k1)                              \
    {                                                                                                        \
        static void (*const blocks[][ISAS])(const job *, const type *, int64_t, wide (*)[COLUMNS]) = {       \
            {INSTANCES(add_##type##_across)}, {INSTANCES(mul_##type##_across)},                              \
            {INSTANCES(max_##type##_across)}, {INSTANCES(min_##type##_across)}};                             \
        const int64_t run = j->kdim[j->kept - 1];                                                            \
        wide acc[ACCUMULATORS][COLUMNS];                                                                     \
        for (int64_t k = k0, n; k < k1; k += n) {                                                            \
            n = gcut_rt_min(gcut_rt_min(COLUMNS, run - k % run), k1 - k);                                    \
            const type *x = (const type *)j->x + strided_offset(k, j->kept, j->kdim, j->kstride);            \
            for (int l = 0; l < accumulators_of(j); l++)                                                     \
                for (int64_t c = 0; c < n; c++) acc[l][c] = start;                                           \
            blocks[j->how][gcut_rt_isa()](j, x, n, acc);                                                     \
            for (int64_t c = 0; c < n; c++) ((type *)j->out)[k + c] = (type)acc[0][c];                       \
        }                                                                                                    \
    }                                                                                                        \
    static void part_##name(void *arg, int t, int nt)                                                        \
    {                                                                                                        \
        static void (*const blocks[][ISAS])(const type *, int64_t, wide *) = {                               \
            {INSTANCES(add_##type)}, {INSTANCES(mul_##type)}, {INSTANCES(max_##type)}, {INSTANCES(min_##type)}};     \
        static wide (*const join[])(wide *) = {add_##type##_join, mul_##type##_join, max_##type##_join,      \
                                               min_##type##_join};                                           \
        const job *j = arg;                                                                                  \
        void (*const block)(const type *, int64_t, wide *) = blocks[j->how][gcut_rt_isa()];                  \
        const wide start[] = {0, 1, (wide)(lowest), (wide)(highest)};                                        \
        int64_t k0, k1;                                                                                      \
        gcut_rt_share(j->nkept, 1, t, nt, &k0, &k1);                                                         \
        if (goes_across(j)) {                                                                                \
            across_##name(j, start[j->how], k0, k1);                                                         \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t k = k0; k < k1; k++) {                                                                  \
            const type *x = (const type *)j->x + strided_offset(k, j->kept, j->kdim, j->kstride);                 \
            wide acc[ACCUMULATORS];                                                                          \
            for (int l = 0; l < ACCUMULATORS; l++) acc[l] = start[j->how];                                   \
            for (int64_t g = 0; g < j->ngone;) g += take_##name(j, x, g, block, acc);                        \
            ((type *)j->out)[k] = (type)join[j->how](acc);                                                   \
        }                                                                                                    \
    }                                                                                                        \
    void gcut_rt_reduce_##name(gcut_rt_reduction how, int rank, const int64_t *dim, const int64_t *stride,   \
                               unsigned mask, const type *x, type *out, int threads)                         \
    {                                                                                                        \
        job j = plan(how, rank, dim, stride, mask, x, out);                                                  \
        gcut_rt_parallel(part_##name, &j, gcut_rt_worth(threads, j.nkept *j.ngone, 500));                    \
    }
/* clang-format on */
REDUCE(f32, float, double, -INFINITY, INFINITY)
REDUCE(f64, double, double, -INFINITY, INFINITY)
REDUCE(i8, int8_t, int64_t, INT8_MIN, INT8_MAX)
REDUCE(i16, int16_t, int64_t, INT16_MIN, INT16_MAX)
REDUCE(i32, int32_t, int64_t, INT32_MIN, INT32_MAX)
REDUCE(i64, int64_t, int64_t, INT64_MIN, INT64_MAX)
REDUCE(u8, uint8_t, int64_t, 0, UINT8_MAX)
