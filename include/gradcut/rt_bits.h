/* SPDX-License-Identifier: MIT
 *
 * Floats as bits, f16 and bf16 too, and the multiply-add that the functions of both precisions are made of.  They come
 * out as a few vector instructions each in a loop.
 */
#ifndef GRADCUT_RT_BITS_H
#define GRADCUT_RT_BITS_H

#include <stdint.h>
#include <string.h>

/* Inlined however large the file is: gcc stops at a file that has grown by two fifths, and a loop over a
 * function that is called is not vectorised. */
#define GCUT_INLINE static inline __attribute__((always_inline))

/* a * b + c; fused where the machine does it in one instruction.  Explicit, so that the bits of a function do
 * not depend on -ffp-contract, which -std=c17 and -std=gnu17 set differently. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMAF)
#define GCUT_HAVE_FMA 1
GCUT_INLINE float gcut_fma_f32(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
GCUT_INLINE double gcut_fma_f64(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}
#else
#define GCUT_HAVE_FMA 0
GCUT_INLINE float gcut_fma_f32(float a, float b, float c)
{
    return a * b + c;
}
GCUT_INLINE double gcut_fma_f64(double a, double b, double c)
{
    return a * b + c;
}
#endif

GCUT_INLINE uint32_t gcut_bits_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
GCUT_INLINE float gcut_float_f32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
GCUT_INLINE uint64_t gcut_bits_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
GCUT_INLINE double gcut_float_f64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}
/* |x| with the sign of s. */
GCUT_INLINE float gcut_copysign_f32(float x, float s)
{
    return gcut_float_f32((gcut_bits_f32(x) & 0x7fffffffu) | (gcut_bits_f32(s) & 0x80000000u));
}

/* The rounding error of p = a * b, exactly unless it underflows. */
GCUT_INLINE float gcut_mulerr_f32(float a, float b, float p)
{
#if GCUT_HAVE_FMA
    return gcut_fma_f32(a, b, -p);
#else
    float ah = gcut_float_f32(gcut_bits_f32(a) & 0xfffff000u), al = a - ah;
    float bh = gcut_float_f32(gcut_bits_f32(b) & 0xfffff000u), bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
}

/* ---- f16 (IEEE binary16) and bf16 (the top of an f32), held as their bits ---- */

/* To f32 is exact; from f32 and f64 is to nearest, ties to even.  A NaN stays one. */
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
