/* SPDX-License-Identifier: MIT
 *
 * The instances of pool_2x2_kernel.h and the choice between them: the longest vectors that a row fills.
 */
#include "kernels/rt/pool/pool_2x2.h"

#include <string.h>

#include "kernels/rt/paste.h"
#include "kernels/rt/isa.h"

/* Every second element of a and b; their first and their second halves in turn. */
#define EVEN_2(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ODD_2(a, b) __builtin_shufflevector(a, b, 1, 3)
#define LOW_2(a, b) EVEN_2(a, b)
#define HIGH_2(a, b) ODD_2(a, b)
#define EVEN_4(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define ODD_4(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#define LOW_4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define EVEN_8(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD_8(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define LOW_8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define EVEN_16(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD_16(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define LOW_16(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_16(a, b)                                                                                        \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define EVEN(lanes) PASTE(EVEN, lanes)
#define ODD(lanes) PASTE(ODD, lanes)
#define LOW(lanes) PASTE(LOW, lanes)
#define HIGH(lanes) PASTE(HIGH, lanes)

#define T float
#define MASK int32_t
#define TYPE f32
#define TARGET
#define NAME(x) x##_f32_1
#define LANES 1
#include "kernels/rt/pool/pool_2x2_kernel.h"
#define NAME(x) x##_f32_4_base
#define LANES 4
#include "kernels/rt/pool/pool_2x2_kernel.h"

#undef T
#undef MASK
#undef TYPE
#define T double
#define MASK int64_t
#define TYPE f64
#define NAME(x) x##_f64_1
#define LANES 1
#include "kernels/rt/pool/pool_2x2_kernel.h"
#define NAME(x) x##_f64_2_base
#define LANES 2
#include "kernels/rt/pool/pool_2x2_kernel.h"
#undef TARGET

#ifdef __x86_64__

#define TARGET AVX2
#define NAME(x) x##_f64_2_avx2
#define LANES 2
#include "kernels/rt/pool/pool_2x2_kernel.h"
#define NAME(x) x##_f64_4_avx2
#define LANES 4
#include "kernels/rt/pool/pool_2x2_kernel.h"
#undef TARGET

#define TARGET AVX512
#define NAME(x) x##_f64_2_avx512
#define LANES 2
#include "kernels/rt/pool/pool_2x2_kernel.h"
#define NAME(x) x##_f64_4_avx512
#define LANES 4
#include "kernels/rt/pool/pool_2x2_kernel.h"
#define NAME(x) x##_f64_8_avx512
#define LANES 8
#include "kernels/rt/pool/pool_2x2_kernel.h"
#undef TARGET

#undef T
#undef MASK
#undef TYPE
#define T float
#define MASK int32_t
#define TYPE f32
#define TARGET AVX2
#define NAME(x) x##_f32_4_avx2
#define LANES 4
#include "kernels/rt/pool/pool_2x2_kernel.h"
#define NAME(x) x##_f32_8_avx2
#define LANES 8
#include "kernels/rt/pool/pool_2x2_kernel.h"
#undef TARGET

#define TARGET AVX512
#define NAME(x) x##_f32_4_avx512
#define LANES 4
#include "kernels/rt/pool/pool_2x2_kernel.h"
#define NAME(x) x##_f32_8_avx512
#define LANES 8
#include "kernels/rt/pool/pool_2x2_kernel.h"
#define NAME(x) x##_f32_16_avx512
#define LANES 16
#include "kernels/rt/pool/pool_2x2_kernel.h"

#endif

const gcut_rt_pool_2x2_f32 *gcut_rt_pool_2x2_of_f32(int64_t n)
{
#ifdef __x86_64__
    if (n >= 16 && gcut_rt_has_avx512()) return rows_f32_16_avx512;
    if (n >= 8 && gcut_rt_has_avx2()) return gcut_rt_has_avx512() ? rows_f32_8_avx512 : rows_f32_8_avx2;
#endif
    return n >= 4 ? WIDEST(rows_f32_4) : rows_f32_1;
}

const gcut_rt_pool_2x2_f64 *gcut_rt_pool_2x2_of_f64(int64_t n)
{
#ifdef __x86_64__
    if (n >= 8 && gcut_rt_has_avx512()) return rows_f64_8_avx512;
    if (n >= 4 && gcut_rt_has_avx2()) return gcut_rt_has_avx512() ? rows_f64_4_avx512 : rows_f64_4_avx2;
#endif
    return n >= 2 ? WIDEST(rows_f64_2) : rows_f64_1;
}
