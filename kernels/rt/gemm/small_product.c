/* SPDX-License-Identifier: MIT
 *
 * The instances of small_product_kernel.h and the choice between them.
 */
#include "kernels/rt/gemm/small_product.h"

#include <string.h>

#include "kernels/rt/gemm/partial_vector.h"

/* Steps of k between two passes over C: a panel is 32 KiB with 64-byte vectors, and fits on any stack. */
enum { KC = 256 };

#define KERNEL "kernels/rt/gemm/small_product_kernel.h"
#include "kernels/rt/each_kernel.h"

/* Both operands contiguous along k: one of them must be packed, and the one that is streamed need not.  Few
 * rows, in whole vectors, are the cheaper panel, and C is then transposed as it is stored, once for every KC
 * steps.
 */
static int turns(int64_t m, int64_t n, int64_t k, int64_t csa, int64_t rsb, int64_t csb, int64_t csc)
{
    return csb != 1 && rsb == 1 && csa == 1 && csc == 1 && m % 16 == 0 && 2 * m <= n && k >= 64;
}

#define SMALL(type, T)                                                                                       \
    OVERRIDES(gemm_##type);                                                                                  \
    OVERRIDES(dots_##type);                                                                                  \
    void gcut_rt_small_##type(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, int64_t csa,         \
                              const T *b, int64_t rsb, int64_t csb, int add, T *c, int64_t rsc, int64_t csc) \
    {                                                                                                        \
        if (turns(m, n, k, csa, rsb, csb, csc))                                                              \
            gemm_##type[gcut_rt_isa()](n, m, k, b, csb, rsb, a, csa, rsa, add, c, csc, rsc);                 \
        else                                                                                                 \
            gemm_##type[gcut_rt_isa()](m, n, k, a, rsa, csa, b, rsb, csb, add, c, rsc, csc);                 \
    }                                                                                                        \
    void gcut_rt_dots_##type(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, const T *b,           \
                             int64_t csb, int add, T *c, int64_t rsc, int64_t csc)                           \
    {                                                                                                        \
        dots_##type[gcut_rt_isa()](m, n, k, a, rsa, b, csb, add, c, rsc, csc);                               \
    }
SMALL(f32, float)
SMALL(f64, double)
