/* SPDX-License-Identifier: MIT
 *
 * Integers: arithmetic without undefined results, and floats converted to them.
 */
#ifndef GRADCUT_RT_INTEGER_H
#define GRADCUT_RT_INTEGER_H

#include <stdint.h>

#include "gradcut/rt_bits.h"

/* Arithmetic wraps (in unsigned, so nothing is undefined), division floors, division by zero gives 0. */
#define GCUT_RT_INT(S, T, U)                                                                                 \
    GCUT_INLINE T gcut_abs_##S(T a)                                                                          \
    {                                                                                                        \
        return a < 0 ? (T)(U)((U)0 - (U)a) : a;                                                              \
    }                                                                                                        \
    GCUT_INLINE T gcut_sign_##S(T a)                                                                         \
    {                                                                                                        \
        return (T)((a > 0) - (a < 0));                                                                       \
    }                                                                                                        \
    GCUT_INLINE T gcut_div_##S(T a, T b)                                                                     \
    {                                                                                                        \
        T d = b == 0 || b == -1 ? (T)1 : b;                                                                  \
        T q = (T)(a / d), r = (T)(a % d);                                                                    \
        q = (T)(q - (r != 0 && (r < 0) != (d < 0)));                                                         \
        return b == 0 ? (T)0 : b == -1 ? (T)(U)((U)0 - (U)a) : q;                                            \
    }                                                                                                        \
    GCUT_INLINE T gcut_mod_##S(T a, T b)                                                                     \
    {                                                                                                        \
        T d = b == 0 || b == -1 ? (T)1 : b;                                                                  \
        T r = (T)(a % d);                                                                                    \
        return r != 0 && (r < 0) != (d < 0) ? (T)(r + d) : r;                                                \
    }
#define GCUT_RT_ORDER(S, T)                                                                                  \
    GCUT_INLINE T gcut_relu_##S(T a)                                                                         \
    {                                                                                                        \
        return a > 0 ? a : (T)0;                                                                             \
    }                                                                                                        \
    GCUT_INLINE T gcut_max_##S(T a, T b)                                                                     \
    {                                                                                                        \
        return a > b ? a : b;                                                                                \
    }                                                                                                        \
    GCUT_INLINE T gcut_min_##S(T a, T b)                                                                     \
    {                                                                                                        \
        return a < b ? a : b;                                                                                \
    }                                                                                                        \
    GCUT_INLINE T gcut_mul_##S(T a, T b)                                                                     \
    {                                                                                                        \
        return (T)((uint64_t)a * (uint64_t)b);                                                               \
    }                                                                                                        \
    GCUT_INLINE T gcut_not_##S(T a)                                                                          \
    {                                                                                                        \
        return (T)~a;                                                                                        \
    }                                                                                                        \
    GCUT_INLINE T gcut_clamp_##S(T a, T lo, T hi)                                                            \
    {                                                                                                        \
        T t = a < lo ? lo : a;                                                                               \
        return t > hi ? hi : t;                                                                              \
    }
GCUT_RT_INT(i8, int8_t, uint8_t)
GCUT_RT_INT(i16, int16_t, uint16_t)
GCUT_RT_INT(i32, int32_t, uint32_t)
GCUT_RT_INT(i64, int64_t, uint64_t)
GCUT_RT_ORDER(i8, int8_t)
GCUT_RT_ORDER(i16, int16_t)
GCUT_RT_ORDER(i32, int32_t)
GCUT_RT_ORDER(i64, int64_t)
GCUT_RT_ORDER(u8, uint8_t)
#undef GCUT_RT_INT
#undef GCUT_RT_ORDER

GCUT_INLINE uint8_t gcut_abs_u8(uint8_t a)
{
    return a;
}
GCUT_INLINE uint8_t gcut_sign_u8(uint8_t a)
{
    return a != 0;
}
GCUT_INLINE uint8_t gcut_div_u8(uint8_t a, uint8_t b)
{
    return (uint8_t)(b == 0 ? 0 : a / b);
}
GCUT_INLINE uint8_t gcut_mod_u8(uint8_t a, uint8_t b)
{
    return (uint8_t)(b == 0 ? 0 : a % b);
}
GCUT_INLINE uint8_t gcut_not_bool(uint8_t a)
{
    return (uint8_t)!a;
}

/* Truncated toward zero and saturated; NaN gives 0.  C leaves both undefined.  A float converts to double
 * exactly. */
#define GCUT_RT_TO(NAME, T, LO, HI)                                                                          \
    GCUT_INLINE T gcut_to_##NAME(double x)                                                                   \
    {                                                                                                        \
        return x != x ? 0 : x <= (double)(LO) ? (LO) : x >= (double)(HI) ? (HI) : (T)x;                      \
    }
GCUT_RT_TO(i8, int8_t, INT8_MIN, INT8_MAX)
GCUT_RT_TO(i16, int16_t, INT16_MIN, INT16_MAX)
GCUT_RT_TO(i32, int32_t, INT32_MIN, INT32_MAX)
GCUT_RT_TO(i64, int64_t, INT64_MIN, INT64_MAX)
GCUT_RT_TO(u8, uint8_t, 0, UINT8_MAX)
#undef GCUT_RT_TO

#endif
