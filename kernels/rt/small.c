/* SPDX-License-Identifier: MIT
 *
 * The instances of small_kernel.h and the choice between them.
 */
#include "kernels/rt/small.h"

#include <string.h>

#include "kernels/rt/isa.h"

/* Steps of k between two passes over C: a panel is 32 KiB with 64-byte vectors, and fits on any stack. */
enum { KC = 256 };

#define T float
#define NAME(x) x##_f32_base
#define TARGET
#define LANES 4
#define ROWS 4
#include "kernels/rt/small_kernel.h"

#define T double
#define NAME(x) x##_f64_base
#define TARGET
#define LANES 2
#define ROWS 4
#include "kernels/rt/small_kernel.h"

#ifdef __x86_64__

#define T float
#define NAME(x) x##_f32_avx2
#define TARGET AVX2
#define LANES 8
#define ROWS 6
#include "kernels/rt/small_kernel.h"

#define T double
#define NAME(x) x##_f64_avx2
#define TARGET AVX2
#define LANES 4
#define ROWS 6
#include "kernels/rt/small_kernel.h"

#define T float
#define NAME(x) x##_f32_avx512
#define TARGET AVX512
#define LANES 16
#define ROWS 8
#include "kernels/rt/small_kernel.h"

#define T double
#define NAME(x) x##_f64_avx512
#define TARGET AVX512
#define LANES 8
#define ROWS 8
#include "kernels/rt/small_kernel.h"

#endif

#define SMALL(type, T)                                                                                       \
    void gcut_rt_small_##type(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, int64_t csa,         \
                              const T *b, int64_t rsb, int64_t csb, int add, T *c, int64_t rsc, int64_t csc) \
    {                                                                                                        \
        WIDEST(gemm_##type)(m, n, k, a, rsa, csa, b, rsb, csb, add, c, rsc, csc);                            \
    }                                                                                                        \
    void gcut_rt_dots_##type(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, const T *b,           \
                             int64_t csb, int add, T *c, int64_t rsc, int64_t csc)                           \
    {                                                                                                        \
        WIDEST(dots_##type)(m, n, k, a, rsa, b, csb, add, c, rsc, csc);                                      \
    }
SMALL(f32, float)
SMALL(f64, double)
