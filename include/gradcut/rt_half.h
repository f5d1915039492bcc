/* SPDX-License-Identifier: MIT
 *
 * f16 (IEEE binary16) and bf16 (the top of an f32) are held as their bits.  To f32 is exact; from f32 and f64
 * is to nearest, ties to even.  A NaN stays one.
 */
#ifndef GRADCUT_RT_HALF_H
#define GRADCUT_RT_HALF_H

#include <stdint.h>

#include "gradcut/rt_bits.h"

GCUT_INLINE float gcut_from_bf16(uint16_t h)
{
    return gcut_float_f32((uint32_t)h << 16);
}
/* Below 0x400 a subnormal number, which counts in 2^-24; from 0x7c00 on an infinity or NaN. */
GCUT_INLINE float gcut_from_f16(uint16_t h)
{
    uint32_t em = h & 0x7fffu, sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t small = gcut_bits_f32((float)(int32_t)em * 0x1p-24f);
    uint32_t u = em < 0x400u ? small : (em << 13) + (em < 0x7c00u ? 112u << 23 : 224u << 23);
    return gcut_float_f32(u | sign);
}
/* Adding just under half of the last place kept, and one more when it is odd, rounds; a carry out of the
 * fraction is the next exponent, at last infinity. */
GCUT_INLINE uint16_t gcut_to_bf16_f32(float x)
{
    uint32_t u = gcut_bits_f32(x), r = u + 0x7fffu + ((u >> 16) & 1u);
    return (uint16_t)(((u & 0x7fffffffu) > 0x7f800000u ? u | 0x400000u : r) >> 16);
}
/* Below 2^-14 the result counts in 2^-24, the last place of 1/2. */
GCUT_INLINE uint16_t gcut_to_f16_f32(float x)
{
    uint32_t u = gcut_bits_f32(x), a = u & 0x7fffffffu;
    uint32_t small = gcut_bits_f32(gcut_float_f32(a) + 0.5f) - 0x3f000000u;
    uint32_t normal = (a - (112u << 23) + 0xfffu + ((a >> 13) & 1u)) >> 13;
    uint32_t r = a < 0x38800000u ? small : normal;
    r = a >= 0x47800000u ? 0x7c00u : r;
    r = a > 0x7f800000u ? 0x7e00u : r;
    return (uint16_t)(r | (u >> 16 & 0x8000u));
}
/* x in f32 rounded to odd: what is not exact is made odd, so that rounding once more, to at most 22 bits, is
 * rounding x. */
GCUT_INLINE float gcut_odd_f32(double x)
{
    float f = (float)x;
    uint32_t u = gcut_bits_f32(f);
    u -= __builtin_fabs((double)f) > __builtin_fabs(x);
    return gcut_float_f32(f == x || f != f ? gcut_bits_f32(f) : u | 1u);
}
/* x in f64 rounded to odd. */
GCUT_INLINE double gcut_odd_f64(int64_t x)
{
    int fits = x < INT64_C(1) << 53 && x > -(INT64_C(1) << 53);
    return fits ? (double)x : (double)(x >> 10 | ((x & 1023) != 0)) * 1024.0;
}
GCUT_INLINE uint16_t gcut_to_bf16_f64(double x)
{
    return gcut_to_bf16_f32(gcut_odd_f32(x));
}
GCUT_INLINE uint16_t gcut_to_f16_f64(double x)
{
    return gcut_to_f16_f32(gcut_odd_f32(x));
}

#endif
