/* SPDX-License-Identifier: MIT
 *
 * The instances of small_product_kernel.h and the choice between them.
 */
#include "kernels/rt/gemm/small_product.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/rt/isa.h"

/* Steps of k between two passes over C: a panel is 32 KiB with 64-byte vectors, and fits on any stack. */
enum { KC = 256 };

#define T float
#define NAME(x) x##_f32_base
#define TARGET
#define LANES 4
#define ROWS 4
#define DOTS 2
#define PART_BY_ELEMENT
#include "kernels/rt/gemm/small_product_kernel.h"

#define T double
#define NAME(x) x##_f64_base
#define TARGET
#define LANES 2
#define ROWS 4
#define DOTS 2
#define PART_BY_ELEMENT
#include "kernels/rt/gemm/small_product_kernel.h"

#ifdef __x86_64__

/* The window of LANES elements that begins LANES - n in has n ones in front. */
static const int32_t ones_32[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t ones_64[8] = {-1, -1, -1, -1};

#define T float
#define NAME(x) x##_f32_avx2
#define TARGET AVX2
#define LANES 8
#define ROWS 6
#define DOTS 2
#define MASK __m256i
#define MASK_OF(n) _mm256_loadu_si256((const __m256i *)(ones_32 + LANES - (n)))
#define LOAD_PART(mask, p) (NAME(vec)) _mm256_maskload_ps(p, mask)
#define STORE_PART(mask, p, v) _mm256_maskstore_ps(p, mask, (__m256)(v))
#include "kernels/rt/gemm/small_product_kernel.h"

#define T double
#define NAME(x) x##_f64_avx2
#define TARGET AVX2
#define LANES 4
#define ROWS 6
#define DOTS 2
#define MASK __m256i
#define MASK_OF(n) _mm256_loadu_si256((const __m256i *)(ones_64 + LANES - (n)))
#define LOAD_PART(mask, p) (NAME(vec)) _mm256_maskload_pd(p, mask)
#define STORE_PART(mask, p, v) _mm256_maskstore_pd(p, mask, (__m256d)(v))
#include "kernels/rt/gemm/small_product_kernel.h"

#define T float
#define NAME(x) x##_f32_avx512
#define TARGET AVX512
#define LANES 16
#define ROWS 8
#define DOTS 4
#define MASK __mmask16
#define MASK_OF(n) ((__mmask16)((1u << (n)) - 1))
#define LOAD_PART(mask, p) (NAME(vec)) _mm512_maskz_loadu_ps(mask, p)
#define STORE_PART(mask, p, v) _mm512_mask_storeu_ps(p, mask, (__m512)(v))
#include "kernels/rt/gemm/small_product_kernel.h"

#define T double
#define NAME(x) x##_f64_avx512
#define TARGET AVX512
#define LANES 8
#define ROWS 8
#define DOTS 4
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)((1u << (n)) - 1))
#define LOAD_PART(mask, p) (NAME(vec)) _mm512_maskz_loadu_pd(mask, p)
#define STORE_PART(mask, p, v) _mm512_mask_storeu_pd(p, mask, (__m512d)(v))
#include "kernels/rt/gemm/small_product_kernel.h"

#endif

/* Both operands contiguous along k: one of them must be packed, and the one that is streamed need not.  Few
 * rows, in whole vectors, are the cheaper panel, and C is then transposed as it is stored, once for every KC
 * steps.
 */
static int turns(int64_t m, int64_t n, int64_t k, int64_t csa, int64_t rsb, int64_t csb, int64_t csc)
{
    return csb != 1 && rsb == 1 && csa == 1 && csc == 1 && m % 16 == 0 && 2 * m <= n && k >= 64;
}

#define SMALL(type, T)                                                                                       \
    void gcut_rt_small_##type(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, int64_t csa,         \
                              const T *b, int64_t rsb, int64_t csb, int add, T *c, int64_t rsc, int64_t csc) \
    {                                                                                                        \
        if (turns(m, n, k, csa, rsb, csb, csc))                                                              \
            WIDEST(gemm_##type)(n, m, k, b, csb, rsb, a, csa, rsa, add, c, csc, rsc);                        \
        else                                                                                                 \
            WIDEST(gemm_##type)(m, n, k, a, rsa, csa, b, rsb, csb, add, c, rsc, csc);                        \
    }                                                                                                        \
    void gcut_rt_dots_##type(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, const T *b,           \
                             int64_t csb, int add, T *c, int64_t rsc, int64_t csc)                           \
    {                                                                                                        \
        WIDEST(dots_##type)(m, n, k, a, rsa, b, csb, add, c, rsc, csc);                                      \
    }
SMALL(f32, float)
SMALL(f64, double)
