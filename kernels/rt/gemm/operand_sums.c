/* SPDX-License-Identifier: MIT
 *
 * The instances of operand_sums_kernel.h and the choice between them.
 */
#include "kernels/rt/gemm/operand_sums.h"

#include <string.h>

#include "gradcut/gradcut_rt.h"

/* Vectors that are added up side by side: additions take as long as several of them need to be loaded. */
enum { STRIP = 8 };

/* Steps p0..p1 of k. */
typedef struct span {
    int64_t p0, p1, k;
} span;

/* Where block b of k steps begins: the longer ones come first. */
static inline int64_t edge(int64_t k, int64_t b)
{
    return k / GCUT_RT_SUM_BLOCKS * b + gcut_rt_min(b, k % GCUT_RT_SUM_BLOCKS);
}

/* The block that step p < k is in; the first one of none. */
static inline int64_t block_of(int64_t k, int64_t p)
{
    int64_t b = 0;
    while (p > 0 && edge(k, b + 1) <= p) b++;
    return b;
}

#define KERNEL "kernels/rt/gemm/operand_sums_kernel.h"
#include "kernels/rt/each_kernel.h"

#define SUMS(type, T)                                                                                        \
    OVERRIDES(sums_##type);                                                                                  \
    OVERRIDES(side_by_side_##type);                                                                          \
    void gcut_rt_sums_##type(int64_t n, int64_t k, const T *x, int64_t is, int64_t ps, T *sum)               \
    {                                                                                                        \
        sums_##type[gcut_rt_isa()](n, k, x, is, ps, sum);                                                    \
    }                                                                                                        \
    void gcut_rt_sums_panel_##type(int64_t n, int64_t p0, int64_t p1, int64_t k, const T *panel, int64_t ld, \
                                   T *sum, T *part)                                                          \
    {                                                                                                        \
        side_by_side_##type[gcut_rt_isa()](n, (span){p0, p1, k}, panel, ld, sum, part);                      \
    }
SUMS(f32, float)
SUMS(f64, double)
