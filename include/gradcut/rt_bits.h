/* SPDX-License-Identifier: MIT
 *
 * Floats as bits, and the multiply-add that the functions of both precisions are made of.  They come out as a
 * few vector instructions each in a loop.
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

#endif
