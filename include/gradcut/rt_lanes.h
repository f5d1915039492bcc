/* SPDX-License-Identifier: MIT
 *
 * Reductions over the lanes that a row was accumulated in.
 */
#ifndef GRADCUT_RT_LANES_H
#define GRADCUT_RT_LANES_H

#include "gradcut/rt_math_f32.h"
#include "gradcut/rt_math_f64.h"

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
