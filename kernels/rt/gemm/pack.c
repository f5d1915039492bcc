/* SPDX-License-Identifier: MIT
 *
 * The instances of pack_kernel.h and the choice between them.
 */
#include "kernels/rt/gemm/pack.h"

#include <string.h>

#include "kernels/rt/isa.h"

/* Steps of k that all panels take before the next ones, when an operand is contiguous along its panels:
 * neighbours share cache lines and pages. */
enum { STEPS = 32 };

#define T float
#define NAME(x) x##_f32_base
#define TARGET
#define LANES 4
#define WIDTH_S 4
#define WIDTH_V 16
#include "kernels/rt/gemm/pack_kernel.h"

#define T double
#define NAME(x) x##_f64_base
#define TARGET
#define LANES 2
#define WIDTH_S 4
#define WIDTH_V 8
#include "kernels/rt/gemm/pack_kernel.h"

#ifdef __x86_64__

#define T float
#define NAME(x) x##_f32_avx2
#define TARGET AVX2
#define LANES 8
#define WIDTH_S 6
#define WIDTH_V 16
#include "kernels/rt/gemm/pack_kernel.h"

#define T double
#define NAME(x) x##_f64_avx2
#define TARGET AVX2
#define LANES 4
#define WIDTH_S 6
#define WIDTH_V 8
#include "kernels/rt/gemm/pack_kernel.h"

#define T float
#define NAME(x) x##_f32_avx512
#define TARGET AVX512
#define LANES 16
#define WIDTH_S 14
#define WIDTH_V 32
#include "kernels/rt/gemm/pack_kernel.h"

#define T double
#define NAME(x) x##_f64_avx512
#define TARGET AVX512
#define LANES 8
#define WIDTH_S 14
#define WIDTH_V 16
#include "kernels/rt/gemm/pack_kernel.h"

#endif

#define DEFINE(type, T)                                                                                      \
    void gcut_rt_pack_part_##type(int64_t n, int64_t k, const T *x, int64_t is, int64_t ks, int width,       \
                                  int ld, int64_t panel, T *out)                                             \
    {                                                                                                        \
        WIDEST(pack_##type)(n, k, x, is, ks, width, ld, panel, out);                                         \
    }                                                                                                        \
    void gcut_rt_pack_##type(int64_t n, int64_t k, const T *x, int64_t is, int64_t ks, int width, int ld,    \
                             T *out)                                                                         \
    {                                                                                                        \
        WIDEST(pack_##type)(n, k, x, is, ks, width, ld, ld * k, out);                                        \
    }
DEFINE(f32, float)
DEFINE(f64, double)
