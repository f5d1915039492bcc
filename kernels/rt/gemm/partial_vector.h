/* SPDX-License-Identifier: MIT
 *
 * The first elements of a vector: what the reference kernels of products do where rows end.
 */
#ifndef GCUT_KERNELS_RT_GEMM_PARTIAL_VECTOR_H
#define GCUT_KERNELS_RT_GEMM_PARTIAL_VECTOR_H

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/rt/isa.h"

/* MASK of the first n, 0 < n <= LANES; what LOAD_PART does not load is 0, what STORE_PART does not store is
 * not touched.  base has no instructions for it, and goes element by element. */
#define MASK PASTE(PASTE(MASK, TYPE), ISA)
#define MASK_OF PASTE(PASTE(MASK_OF, TYPE), ISA)
#define LOAD_PART(mask, p) ((NAME(vec))PASTE(PASTE(LOAD_PART, TYPE), ISA)(mask, p))
#define STORE_PART(mask, p, v) PASTE(PASTE(STORE_PART, TYPE), ISA)(mask, p, v)

#define PART_BY_ELEMENT(type, T)                                                                             \
    typedef int64_t MASK_##type##_base;                                                                      \
    typedef T PART_##type __attribute__((vector_size(16)));                                                  \
    static inline int64_t MASK_OF_##type##_base(int64_t n)                                                   \
    {                                                                                                        \
        return n;                                                                                            \
    }                                                                                                        \
    static inline PART_##type LOAD_PART_##type##_base(int64_t n, const T *p)                                 \
    {                                                                                                        \
        PART_##type v = {0};                                                                                 \
        for (int64_t i = 0; i < n; i++) v[i] = p[i];                                                         \
        return v;                                                                                            \
    }                                                                                                        \
    static inline void STORE_PART_##type##_base(int64_t n, T *p, PART_##type v)                              \
    {                                                                                                        \
        for (int64_t i = 0; i < n; i++) p[i] = v[i];                                                         \
    }
PART_BY_ELEMENT(f32, float)
PART_BY_ELEMENT(f64, double)

#ifdef __x86_64__
/* The window of LANES elements that begins LANES - n in has n ones in front. */
TARGET_avx2 static inline __m256i MASK_OF_f32_avx2(int64_t n)
{
    static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(ones + 8 - n));
}
TARGET_avx2 static inline __m256i MASK_OF_f64_avx2(int64_t n)
{
    static const int64_t ones[8] = {-1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(ones + 4 - n));
}

#define MASK_f32_avx2 __m256i
#define LOAD_PART_f32_avx2(mask, p) _mm256_maskload_ps(p, mask)
#define STORE_PART_f32_avx2(mask, p, v) _mm256_maskstore_ps(p, mask, (__m256)(v))

#define MASK_f64_avx2 __m256i
#define LOAD_PART_f64_avx2(mask, p) _mm256_maskload_pd(p, mask)
#define STORE_PART_f64_avx2(mask, p, v) _mm256_maskstore_pd(p, mask, (__m256d)(v))

#define MASK_f32_avx512 __mmask16
#define MASK_OF_f32_avx512(n) ((__mmask16)((1u << (n)) - 1))
#define LOAD_PART_f32_avx512(mask, p) _mm512_maskz_loadu_ps(mask, p)
#define STORE_PART_f32_avx512(mask, p, v) _mm512_mask_storeu_ps(p, mask, (__m512)(v))

#define MASK_f64_avx512 __mmask8
#define MASK_OF_f64_avx512(n) ((__mmask8)((1u << (n)) - 1))
#define LOAD_PART_f64_avx512(mask, p) _mm512_maskz_loadu_pd(mask, p)
#define STORE_PART_f64_avx512(mask, p, v) _mm512_mask_storeu_pd(p, mask, (__m512d)(v))
#endif

#endif
