/* SPDX-License-Identifier: MIT
 *
 * Scalar functions of emitted code, written so that gcc -O3 turns a loop over them into vector code:
 * no branches, no calls, no errno, selects instead of ifs.  They need neither -ffast-math nor a vector
 * library, and treat NaN, infinities, signed zeros and subnormal numbers as libm does unless said otherwise.
 *
 * Errors are in units in the last place of the correctly rounded float ("ulp"), as tests/rt/test_rt_math.c
 * checks them (sampled; over all floats with GCUT_EXHAUSTIVE=1), with FMA / without.  The rounding mode is to
 * nearest.
 *
 * Every part stands alone; emitted C includes all of them, through gradcut_rt.h.
 */
#ifndef GRADCUT_RT_MATH_H
#define GRADCUT_RT_MATH_H

#include "gradcut/rt_bits.h"
#include "gradcut/rt_integer.h"
#include "gradcut/rt_math_f32.h"
#include "gradcut/rt_math_f64.h"
#include "gradcut/rt_random.h"

/* A row reduction accumulates element i in lane i % 64 and combines the lanes pairwise, in this order: lane i
 * with lane i + 32, then i + 16, ...  The result depends on the row alone. */
#define GCUT_RT_LANES(NAME, T, EXPR)                                                                         \
    static inline T gcut_rt_lanes_##NAME(const T *acc)                                                       \
    {                                                                                                        \
        T v[32];                                                                                             \
        for (int i = 0; i < 32; i++) {                                                                       \
            T a = acc[i], b = acc[i + 32];                                                                   \
            v[i] = EXPR;                                                                                     \
        }                                                                                                    \
        for (int w = 16; w > 0; w /= 2)                                                                      \
            for (int i = 0; i < w; i++) {                                                                    \
                T a = v[i], b = v[i + w];                                                                    \
                v[i] = EXPR;                                                                                 \
            }                                                                                                \
        return v[0];                                                                                         \
    }
GCUT_RT_LANES(sum_f32, float, a + b)
GCUT_RT_LANES(max_f32, float, gcut_max_f32(a, b))
GCUT_RT_LANES(min_f32, float, gcut_min_f32(a, b))
GCUT_RT_LANES(mul_f32, float, a *b)
GCUT_RT_LANES(mul_f64, double, a *b)
GCUT_RT_LANES(sum_f64, double, a + b)
GCUT_RT_LANES(max_f64, double, gcut_max_f64(a, b))
GCUT_RT_LANES(min_f64, double, gcut_min_f64(a, b))
#undef GCUT_RT_LANES

#endif
