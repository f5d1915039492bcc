/* SPDX-License-Identifier: MIT
 *
 * Sine and cosine of f32, exactly reduced for every finite argument; a loop over them vectorises.
 */
#ifndef GRADCUT_RT_TRIG_F32_H
#define GRADCUT_RT_TRIG_F32_H

#include <math.h>
#include <stdint.h>

#include "gradcut/rt_bits.h"
#include "gradcut/rt_math_f32.h"

/* |x| = (q + 2 r / pi) pi / 2 for every finite x.  t - 0x1.8p52 is an integer near 2 |x| / pi, and q its
 * lowest bits. */
#if GCUT_HAVE_FMA
/* For |x| from 2^(27k+23) to 2^(27k+50), |x| 2^-27k is an integer, so that it may be multiplied by 2^27k 2/pi
 * less a multiple of 4 instead, which is 2^27k (hi + lo).  The fused product with hi less the integer, and
 * then with lo, leaves 2^-57 of the quadrant; no float is nearer than 2^-31 of one to a multiple.  No table,
 * which vectors would have to gather from. */
GCUT_INLINE float gcut_quadrant_f32(float x, uint32_t *q)
{
    uint32_t b = gcut_bits_f32(x) & 0x7fffffffu;
    double d = (double)gcut_float_f32(b), hi = 0x1.45f306dc9c883p-1, lo = -0x1.6b01ec5417056p-55;
    hi = d >= 0x1p50 ? -0x1.1b1bbead603d9p-28 : hi;
    lo = d >= 0x1p50 ? 0x1.5f47d4d377037p-82 : lo;
    hi = d >= 0x1p77 ? 0x1.4a7f09d5f47d5p-54 : hi;
    lo = d >= 0x1p77 ? -0x1.6447e493ad4cep-109 : lo;
    hi = d >= 0x1p104 ? -0x1.505c1596447e5p-81 : hi;
    lo = d >= 0x1p104 ? 0x1.b14acc9e21c82p-135 : lo;
    double t = gcut_fma_f64(d, hi, 0x1.8p52);
    double f = gcut_fma_f64(d, lo, gcut_fma_f64(d, hi, -(t - 0x1.8p52)));
    int small = b < 0x3f000000u;
    *q = small ? 0u : (uint32_t)gcut_bits_f64(t);
    return small ? gcut_float_f32(b) : (float)(f * 1.5707963267948966);
}
#else
/* (2^(e-150) 2/pi) mod 4 for the biased exponents e = 126..254, in two parts
 * (kernels/rt/step/range_reduction.c). */
#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
extern const double gcut_rt_two_over_pi[129][2];
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

/* The significand times 2/pi mod 4 has no rounding that matters. */
GCUT_INLINE float gcut_quadrant_f32(float x, uint32_t *q)
{
    uint32_t b = gcut_bits_f32(x) & 0x7fffffffu;
    int32_t e = (int32_t)(b >> 23) - 126;
    e = e < 0 ? 0 : e;
    e = e > 128 ? 128 : e;
    double m = (double)(int32_t)((b & 0x7fffffu) | 0x800000u);
    double p = m * gcut_rt_two_over_pi[e][0], t = p + 0x1.8p52;
    double f = gcut_fma_f64(m, gcut_rt_two_over_pi[e][1], p - (t - 0x1.8p52));
    int small = b < 0x3f000000u;
    *q = small ? 0u : (uint32_t)gcut_bits_f64(t);
    return small ? gcut_float_f32(b) : (float)(f * 1.5707963267948966);
}
#endif

/* sin(r + q pi/2), |r| <= 0.9. */
GCUT_INLINE float gcut_sinpoly_f32(float r, uint32_t q)
{
    float z = r * r;
    float s = gcut_fma_f32(2.706694252e-06f, z, -1.983794248e-04f);
    s = gcut_fma_f32(s, z, 8.333324423e-03f);
    s = gcut_fma_f32(s, z, -1.666666659e-01f);
    s = gcut_fma_f32(s * z, r, r);
    float c = gcut_fma_f32(-2.710241635e-07f, z, 2.479803169e-05f);
    c = gcut_fma_f32(c, z, -1.388887729e-03f);
    c = gcut_fma_f32(c, z, 4.166666654e-02f);
    c = gcut_fma_f32(c * z, z, gcut_fma_f32(z, -0.5f, 1.0f));
    float v = q & 1u ? c : s;
    return gcut_float_f32(gcut_bits_f32(v) ^ ((q & 2u) << 30));
}

/* 1.7 ulp for every finite x; NaN at infinities */
GCUT_INLINE float gcut_sin_f32(float x)
{
    uint32_t q;
    float r = gcut_quadrant_f32(x, &q), s = gcut_sinpoly_f32(r, q);
    s = gcut_float_f32(gcut_bits_f32(s) ^ (gcut_bits_f32(x) & 0x80000000u));
    return gcut_abs_f32(x) < INFINITY ? s : x - x;
}

/* 1.7 ulp for every finite x; NaN at infinities */
GCUT_INLINE float gcut_cos_f32(float x)
{
    uint32_t q;
    float r = gcut_quadrant_f32(x, &q), c = gcut_sinpoly_f32(r, q + 1u);
    return gcut_abs_f32(x) < INFINITY ? c : x - x;
}

#endif
