/* SPDX-License-Identifier: MIT
 *
 * The instances of conv_tile_kernel.h and the choice between them.
 */
#include "kernels/rt/conv/conv_tile.h"

#include <string.h>

#include "kernels/rt/isa.h"

typedef float few_f32 __attribute__((vector_size(16)));
typedef double few_f64 __attribute__((vector_size(16)));

/* out[r] = the sum of the elements of v[r], for four of them. */
static inline void fold_f32(const few_f32 *v, float *out)
{
    few_f32 a =
        __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6) + __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
    few_f32 b =
        __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6) + __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);
    a = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
    memcpy(out, &a, sizeof a);
}
static inline void fold_f64(const few_f64 *v, double *out)
{
    few_f64 a = __builtin_shufflevector(v[0], v[1], 0, 2) + __builtin_shufflevector(v[0], v[1], 1, 3);
    few_f64 b = __builtin_shufflevector(v[2], v[3], 0, 2) + __builtin_shufflevector(v[2], v[3], 1, 3);
    memcpy(out, &a, sizeof a);
    memcpy(out + 2, &b, sizeof b);
}

/* out = the elements of a and b in turns. */
static inline void zip_f32(few_f32 a, few_f32 b, float *out)
{
    few_f32 low = __builtin_shufflevector(a, b, 0, 4, 1, 5), high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    memcpy(out, &low, sizeof low);
    memcpy(out + 4, &high, sizeof high);
}
static inline void zip_f64(few_f64 a, few_f64 b, double *out)
{
    few_f64 low = __builtin_shufflevector(a, b, 0, 2), high = __builtin_shufflevector(a, b, 1, 3);
    memcpy(out, &low, sizeof low);
    memcpy(out + 2, &high, sizeof high);
}

#define T float
#define FEW few_f32
#define FOLD fold_f32
#define ZIP zip_f32
#define MASK int32_t
#define TYPE f32
#define NAME(x) x##_f32_base
#define TARGET
#define LANES 4
#define ROWS 4
#define TAPS 2
#include "kernels/rt/conv/conv_tile_kernel.h"

#ifdef __x86_64__

#define NAME(x) x##_f32_avx2
#define TARGET AVX2
#define LANES 8
#define ROWS 6
#define TAPS 3
#include "kernels/rt/conv/conv_tile_kernel.h"

#define NAME(x) x##_f32_avx512
#define TARGET AVX512
#define LANES 16
#define ROWS 14
#define TAPS 6
#include "kernels/rt/conv/conv_tile_kernel.h"

#endif

#undef T
#undef FEW
#undef FOLD
#undef ZIP
#undef MASK
#undef TYPE
#define T double
#define FEW few_f64
#define FOLD fold_f64
#define ZIP zip_f64
#define MASK int64_t
#define TYPE f64
#define NAME(x) x##_f64_base
#define TARGET
#define LANES 2
#define ROWS 4
#define TAPS 2
#include "kernels/rt/conv/conv_tile_kernel.h"

#ifdef __x86_64__

#define NAME(x) x##_f64_avx2
#define TARGET AVX2
#define LANES 4
#define ROWS 6
#define TAPS 3
#include "kernels/rt/conv/conv_tile_kernel.h"

#define NAME(x) x##_f64_avx512
#define TARGET AVX512
#define LANES 8
#define ROWS 14
#define TAPS 6
#include "kernels/rt/conv/conv_tile_kernel.h"

#endif

const gcut_rt_tile_f32 *gcut_rt_tile_of_f32(void)
{
    return WIDEST(tiles_f32);
}

const gcut_rt_tile_f64 *gcut_rt_tile_of_f64(void)
{
    return WIDEST(tiles_f64);
}
