/* SPDX-License-Identifier: MIT
 *
 * The instances of micro_kernel.h, and the choice between them and the micro-kernels of BLIS.
 *
 * With 32 registers a block of 14 * 2 vectors leaves room for the two of the right panel, and 28 chains
 * hide the latency of a multiply-add several times.  Blocks of fewer rows and masked columns run at the
 * same rate, so that a product of 256 rows costs no more than these.  With 16 registers BLIS's blocks do
 * the same.
 */
#include "kernels/rt/gemm/micro.h"

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/gemm/partial_vector.h"

#ifdef __x86_64__

/* Steps of k between two prefetches of what comes next: all at once would wait for each other. */
enum { PREFETCH_STEPS = 8 };

#define ISA avx512
#define KERNEL "kernels/rt/gemm/micro_kernel.h"
#include "kernels/rt/each_kernel.h"
#undef ISA

#define RUN_OWN(type) block_##type##_avx512(m, n, k, a, b, add, c, ldc, prefetch)
#else
#define RUN_OWN(type) ((void)m, (void)n)
#endif

static int own_kernel(void)
{
    return gcut_rt_isa() == ISA_AVX512 && !gcut_rt_blis_asked();
}

gcut_rt_micro gcut_rt_micro_of(size_t size)
{
    const int nr = 2 * 64 / (int)size;
    if (!own_kernel()) return gcut_rt_blis_micro_of(size);
    return (gcut_rt_micro){MICRO_MR_avx512, nr, MICRO_MR_avx512, nr, .partial = 1};
}

#define MICRO(type, T)                                                                                       \
    void gcut_rt_micro_run_##type(const gcut_rt_micro *u, int64_t m, int64_t n, int64_t k, const T *a,       \
                                  const T *b, int add, T *c, int64_t ldc, gcut_rt_prefetch prefetch)         \
    {                                                                                                        \
        if (u->blis) {                                                                                       \
            while (prefetch.n > 0) gcut_rt_prefetch_next(&prefetch);                                         \
            gcut_rt_blis_run_##type(k, a, b, add, c, ldc);                                                   \
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
