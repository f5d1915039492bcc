/* SPDX-License-Identifier: MIT
 *
 * The instances of micro_kernel.h, and the choice between them and the micro-kernels of BLIS.
 *
 * With 32 registers a block of 14 * 2 vectors leaves room for the two vectors of V, and 28 chains hide the
 * latency of a multiply-add several times.  Blocks of fewer rows and masked columns run at the same rate, so
 * that a product of 256 rows costs no more than these.  With 16 registers BLIS's blocks do the same.
 */
#include "kernels/rt/gemm/micro.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/isa.h"

#ifdef __x86_64__

/* Of the block; steps of k between two pieces of what comes prefetch: as many at once would wait for each
 * other.
 */
enum { ROWS = 14, PREFETCH_STEPS = 8 };

#define T float
#define NAME(x) x##_f32_avx512
#define TARGET AVX512
#define LANES 16
#define ALL(e) (NAME(vec)) _mm512_set1_ps(e)
#define ADD_PRODUCT(a, b, c) (NAME(vec)) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define MASK __mmask16
#define LOAD_PART(mask, p) (NAME(vec)) _mm512_maskz_loadu_ps(mask, p)
#define STORE_PART(mask, p, v) _mm512_mask_storeu_ps(p, mask, (__m512)(v))
#include "kernels/rt/gemm/micro_kernel.h"

#define T double
#define NAME(x) x##_f64_avx512
#define TARGET AVX512
#define LANES 8
#define ALL(e) (NAME(vec)) _mm512_set1_pd(e)
#define ADD_PRODUCT(a, b, c) (NAME(vec)) _mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))
#define MASK __mmask8
#define LOAD_PART(mask, p) (NAME(vec)) _mm512_maskz_loadu_pd(mask, p)
#define STORE_PART(mask, p, v) _mm512_mask_storeu_pd(p, mask, (__m512d)(v))
#include "kernels/rt/gemm/micro_kernel.h"

#define OWN(lanes) ((gcut_rt_micro){ROWS, 2 * (lanes), ROWS, 2 * (lanes), 1, 0})
#define RUN_OWN(type) block_##type##_avx512(m, n, k, s, v, add, c, ldc, prefetch)
static int own_kernel(void)
{
    return gcut_rt_has_avx512() && !gcut_rt_blis_asked();
}

#else

#define OWN(lanes) ((gcut_rt_micro){.mr = 0})
#define RUN_OWN(type) ((void)m, (void)n)
static int own_kernel(void)
{
    return 0;
}

#endif

#define MICRO(type, T)                                                                                       \
    gcut_rt_micro gcut_rt_micro_##type(void)                                                                 \
    {                                                                                                        \
        return own_kernel() ? OWN(64 / (int)sizeof(T)) : gcut_rt_blis_micro_##type();                        \
    }                                                                                                        \
    void gcut_rt_micro_run_##type(const gcut_rt_micro *u, int64_t m, int64_t n, int64_t k, const T *s,       \
                                  const T *v, int add, T *c, int64_t ldc, gcut_rt_prefetch prefetch)         \
    {                                                                                                        \
        if (u->blis) {                                                                                       \
            while (prefetch.n > 0) gcut_rt_prefetch_next(&prefetch);                                         \
            gcut_rt_blis_run_##type(k, s, v, add, c, ldc);                                                   \
        } else {                                                                                             \
            RUN_OWN(type);                                                                                   \
        }                                                                                                    \
    }
MICRO(f32, float)
MICRO(f64, double)

const char *gcut_rt_gemm_name(void)
{
    return own_kernel() ? "avx512" : gcut_rt_blis_name();
}
