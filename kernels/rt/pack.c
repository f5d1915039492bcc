/* SPDX-License-Identifier: MIT
 *
 * The instances of pack_kernel.h and the choice between them.
 */
#include "kernels/rt/pack.h"

#include <string.h>

#include "kernels/rt/isa.h"

/* Steps of k that all panels take before the next ones, when an operand is contiguous along its panels:
 * neighbours share cache lines and pages. */
enum { STEPS = 32 };

/* The first and the second halves of a and b, their elements in turn. */
#define LOW_2(a, b) __builtin_shufflevector(a, b, 0, 2)
#define HIGH_2(a, b) __builtin_shufflevector(a, b, 1, 3)
#define LOW_4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW_8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_16(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_16(a, b)                                                                                        \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

#define T float
#define NAME(x) x##_f32_base
#define TARGET
#define LANES 4
#define LOW LOW_4
#define HIGH HIGH_4
#define WIDTH_S 4
#define WIDTH_V 16
#include "kernels/rt/pack_kernel.h"

#define T double
#define NAME(x) x##_f64_base
#define TARGET
#define LANES 2
#define LOW LOW_2
#define HIGH HIGH_2
#define WIDTH_S 4
#define WIDTH_V 8
#include "kernels/rt/pack_kernel.h"

#ifdef __x86_64__

#define T float
#define NAME(x) x##_f32_avx2
#define TARGET AVX2
#define LANES 8
#define LOW LOW_8
#define HIGH HIGH_8
#define WIDTH_S 6
#define WIDTH_V 16
#include "kernels/rt/pack_kernel.h"

#define T double
#define NAME(x) x##_f64_avx2
#define TARGET AVX2
#define LANES 4
#define LOW LOW_4
#define HIGH HIGH_4
#define WIDTH_S 6
#define WIDTH_V 8
#include "kernels/rt/pack_kernel.h"

#define T float
#define NAME(x) x##_f32_avx512
#define TARGET AVX512
#define LANES 16
#define LOW LOW_16
#define HIGH HIGH_16
#define WIDTH_S 12
#define WIDTH_V 32
#include "kernels/rt/pack_kernel.h"

#define T double
#define NAME(x) x##_f64_avx512
#define TARGET AVX512
#define LANES 8
#define LOW LOW_8
#define HIGH HIGH_8
#define WIDTH_S 14
#define WIDTH_V 16
#include "kernels/rt/pack_kernel.h"

#endif

void gcut_rt_pack_f32(int64_t n, int64_t k, const float *x, int64_t is, int64_t ks, int width, int ld,
                      float *out)
{
    WIDEST(pack_f32)(n, k, x, is, ks, width, ld, out);
}

void gcut_rt_pack_f64(int64_t n, int64_t k, const double *x, int64_t is, int64_t ks, int width, int ld,
                      double *out)
{
    WIDEST(pack_f64)(n, k, x, is, ks, width, ld, out);
}
