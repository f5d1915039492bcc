/* SPDX-License-Identifier: MIT
 *
 * Convolutions of groups of one channel (depthwise ones): every row of a result is a sum of shifted rows.
 */
#include "kernels/rt/taps.h"

/* Picoseconds of a multiply-add, for the choice of threads. */
enum { TAP_PS = 150 };
/* Shifted rows that are added up in one pass over a row. */
enum { PASS = 64 };

#define T float
#define NAME(x) x##_f32_base
#define TARGET
#define LANES 4
#include "kernels/rt/rows_kernel.h"

#define T double
#define NAME(x) x##_f64_base
#define TARGET
#define LANES 2
#include "kernels/rt/rows_kernel.h"

#ifdef __x86_64__

#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))

#define T float
#define NAME(x) x##_f32_avx2
#define TARGET AVX2
#define LANES 8
#include "kernels/rt/rows_kernel.h"

#define T double
#define NAME(x) x##_f64_avx2
#define TARGET AVX2
#define LANES 4
#include "kernels/rt/rows_kernel.h"

#define T float
#define NAME(x) x##_f32_avx512
#define TARGET AVX512
#define LANES 16
#include "kernels/rt/rows_kernel.h"

#define T double
#define NAME(x) x##_f64_avx512
#define TARGET AVX512
#define LANES 8
#include "kernels/rt/rows_kernel.h"

#endif

/* What the processor has: the widest of the instances above. */
#ifdef __x86_64__
#define WIDEST_(f)                                                                                           \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&                              \
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")                        \
         ? f##_avx512                                                                                        \
     : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? f##_avx2                            \
                                                                       : f##_base)
#else
#define WIDEST_(f) f##_base
#endif

#define WIDEST(f) WIDEST_(f)

#define T float
#define TYPE f32
#include "kernels/rt/taps_type.h"

#define T double
#define TYPE f64
#include "kernels/rt/taps_type.h"
