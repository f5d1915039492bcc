/* SPDX-License-Identifier: MIT
 *
 * The instances of small_kernel.h and the choice between them.
 */
#include "kernels/rt/small.h"

#include <string.h>

/* Steps of k between two passes over C: a panel is 32 KiB with 64-byte vectors, and fits on any stack. */
enum { KC = 256 };

#define T float
#define NAME(x) base_f32_##x
#define TARGET
#define LANES 4
#define ROWS 4
#include "kernels/rt/small_kernel.h"

#define T double
#define NAME(x) base_f64_##x
#define TARGET
#define LANES 2
#define ROWS 4
#include "kernels/rt/small_kernel.h"

#ifdef __x86_64__

#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))

#define T float
#define NAME(x) avx2_f32_##x
#define TARGET AVX2
#define LANES 8
#define ROWS 6
#include "kernels/rt/small_kernel.h"

#define T double
#define NAME(x) avx2_f64_##x
#define TARGET AVX2
#define LANES 4
#define ROWS 6
#include "kernels/rt/small_kernel.h"

#define T float
#define NAME(x) avx512_f32_##x
#define TARGET AVX512
#define LANES 16
#define ROWS 8
#include "kernels/rt/small_kernel.h"

#define T double
#define NAME(x) avx512_f64_##x
#define TARGET AVX512
#define LANES 8
#define ROWS 8
#include "kernels/rt/small_kernel.h"

static int has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#endif

void gcut_rt_small_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t rsa, int64_t csa,
                       const float *b, int64_t rsb, int64_t csb, int add, float *c, int64_t rsc, int64_t csc)
{
#ifdef __x86_64__
    if (has_avx512()) {
        avx512_f32_gemm(m, n, k, a, rsa, csa, b, rsb, csb, add, c, rsc, csc);
        return;
    }
    if (has_avx2()) {
        avx2_f32_gemm(m, n, k, a, rsa, csa, b, rsb, csb, add, c, rsc, csc);
        return;
    }
#endif
    base_f32_gemm(m, n, k, a, rsa, csa, b, rsb, csb, add, c, rsc, csc);
}

void gcut_rt_small_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t rsa, int64_t csa,
                       const double *b, int64_t rsb, int64_t csb, int add, double *c, int64_t rsc,
                       int64_t csc)
{
#ifdef __x86_64__
    if (has_avx512()) {
        avx512_f64_gemm(m, n, k, a, rsa, csa, b, rsb, csb, add, c, rsc, csc);
        return;
    }
    if (has_avx2()) {
        avx2_f64_gemm(m, n, k, a, rsa, csa, b, rsb, csb, add, c, rsc, csc);
        return;
    }
#endif
    base_f64_gemm(m, n, k, a, rsa, csa, b, rsb, csb, add, c, rsc, csc);
}

void gcut_rt_dots_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t rsa, const float *b,
                      int64_t csb, int add, float *c, int64_t rsc, int64_t csc)
{
#ifdef __x86_64__
    if (has_avx512()) {
        avx512_f32_dots(m, n, k, a, rsa, b, csb, add, c, rsc, csc);
        return;
    }
    if (has_avx2()) {
        avx2_f32_dots(m, n, k, a, rsa, b, csb, add, c, rsc, csc);
        return;
    }
#endif
    base_f32_dots(m, n, k, a, rsa, b, csb, add, c, rsc, csc);
}

void gcut_rt_dots_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t rsa, const double *b,
                      int64_t csb, int add, double *c, int64_t rsc, int64_t csc)
{
#ifdef __x86_64__
    if (has_avx512()) {
        avx512_f64_dots(m, n, k, a, rsa, b, csb, add, c, rsc, csc);
        return;
    }
    if (has_avx2()) {
        avx2_f64_dots(m, n, k, a, rsa, b, csb, add, c, rsc, csc);
        return;
    }
#endif
    base_f64_dots(m, n, k, a, rsa, b, csb, add, c, rsc, csc);
}
