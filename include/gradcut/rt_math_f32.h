/* SPDX-License-Identifier: MIT
 *
 * The functions of f32: no branches, no calls, so that a loop over them vectorises
 * (rt_math.h).  Bounds are in units in the last place of the correctly rounded float, with FMA / without.
 */
#ifndef GRADCUT_RT_MATH_F32_H
#define GRADCUT_RT_MATH_F32_H

#include <math.h>
#include <stdint.h>

#include "gradcut/rt_bits.h"

/* ---- exact and correctly rounded ---- */

GCUT_INLINE float gcut_abs_f32(float x)
{
    return gcut_float_f32(gcut_bits_f32(x) & 0x7fffffffu);
}
GCUT_INLINE float gcut_sign_f32(float x)
{
    return x > 0 ? 1.0f : x < 0 ? -1.0f : x == 0 ? 0.0f : x;
}
GCUT_INLINE float gcut_sqrt_f32(float x)
{
    return __builtin_sqrtf(x);
}
GCUT_INLINE float gcut_div_f32(float a, float b)
{
    return a / b;
}
/* A NaN is not <= 0 and passes; -0 becomes +0. */
GCUT_INLINE float gcut_relu_f32(float x)
{
    return x <= 0 ? 0.0f : x;
}
/* A NaN in either operand wins: b's fails the comparison, a's is asked for. */
GCUT_INLINE float gcut_max_f32(float a, float b)
{
    return a > b || a != a ? a : b;
}
GCUT_INLINE float gcut_min_f32(float a, float b)
{
    return a < b || a != a ? a : b;
}
GCUT_INLINE float gcut_mul_f32(float a, float b)
{
    return a * b;
}
GCUT_INLINE float gcut_clamp_f32(float x, float lo, float hi)
{
    float t = x < lo ? lo : x;
    return t > hi ? hi : t;
}

#if defined(__SSE4_1__) || !(defined(__x86_64__) || defined(__i386__))
GCUT_INLINE float gcut_round_f32(float x)
{
    return __builtin_rintf(x);
}
GCUT_INLINE float gcut_floor_f32(float x)
{
    return __builtin_floorf(x);
}
GCUT_INLINE float gcut_ceil_f32(float x)
{
    return __builtin_ceilf(x);
}
#else
/* Adding 2^23 leaves no bits for a fraction; a float that large has none. */
GCUT_INLINE float gcut_round_f32(float x)
{
    float t = gcut_abs_f32(x), r = (t + 0x1p23f) - 0x1p23f;
    return t < 0x1p23f ? gcut_copysign_f32(r, x) : x;
}
GCUT_INLINE float gcut_floor_f32(float x)
{
    float r = gcut_round_f32(x);
    return gcut_copysign_f32(r > x ? r - 1.0f : r, x);
}
GCUT_INLINE float gcut_ceil_f32(float x)
{
    float r = gcut_round_f32(x);
    return gcut_copysign_f32(r < x ? r + 1.0f : r, x);
}
#endif

/* a - floor(a / b) * b in double, rounded once: floor of a rounded float quotient could be one too large.
 * The result has the sign of b. */
GCUT_INLINE float gcut_mod_f32(float a, float b)
{
    double x = a, y = b;
    return (float)(x - __builtin_floor(x / y) * y);
}

/* 1 / sqrt(x), 1.5 ulp: two roundings. */
GCUT_INLINE float gcut_rsqrt_f32(float x)
{
    return 1.0f / __builtin_sqrtf(x);
}

/* ---- exponentials ---- */

/* (e^r - 1 - r) / r^2 for |r| <= 0.35. */
GCUT_INLINE float gcut_exppoly_f32(float r)
{
    float p = gcut_fma_f32(1.381314236e-03f, r, 8.369419043e-03f);
    p = gcut_fma_f32(p, r, 4.166845683e-02f);
    p = gcut_fma_f32(p, r, 1.666651479e-01f);
    return gcut_fma_f32(p, r, 4.999999305e-01f);
}

/* x = n ln 2 + r: returns r, *n is an integer.  Adding 1.5 * 2^23 rounds to an integer and leaves it in the
 * low bits; ln 2 has a high part of 15 bits, so that n times it is exact even without FMA. */
GCUT_INLINE float gcut_expsplit_f32(float x, int32_t *n)
{
    float t = gcut_fma_f32(x, 1.44269504f, 0x1.8p23f), k = t - 0x1.8p23f;
    *n = (int32_t)(gcut_bits_f32(t) - 0x4b400000u);
    return gcut_fma_f32(k, -0x1.7f7d1cp-20f, gcut_fma_f32(k, -0x1.62e4p-1f, x));
}

GCUT_INLINE float gcut_pow2_f32(int32_t n)
{
    return gcut_float_f32((uint32_t)(n + 127) << 23);
}

/* e^(x + lo) = the result times *scale, for a correction |lo| <= 0.05.  The power of two is in halves, for
 * either half is a float where the whole is not, and a factor can be applied between them without losing bits
 * to a subnormal intermediate result.  A NaN passes both limits, and makes whatever n is irrelevant. */
GCUT_INLINE float gcut_exphalf_f32(float x, float lo, float *scale)
{
    x = x > 89.0f ? 89.0f : x;
    x = x < -125.0f ? -125.0f : x;
    int32_t n;
    float r = gcut_expsplit_f32(x, &n) + lo;
    float p = gcut_fma_f32(gcut_exppoly_f32(r), r * r, r) + 1.0f;
    int32_t h = n >> 1;
    *scale = gcut_pow2_f32(n - h);
    return p * gcut_pow2_f32(h);
}

/* e^x for -87 <= x <= 88. */
GCUT_INLINE float gcut_expsmall_f32(float x)
{
    int32_t n;
    float r = gcut_expsplit_f32(x, &n);
    return (gcut_fma_f32(gcut_exppoly_f32(r), r * r, r) + 1.0f) * gcut_float_f32(((uint32_t)n + 127u) << 23);
}

/* 1.1 ulp */
GCUT_INLINE float gcut_exp_f32(float x)
{
    float s, p = gcut_exphalf_f32(x, 0.0f, &s);
    return p * s;
}

/* 2^n (e^r - 1) + (2^n - 1), in halves because 2^128 is not a float.  1.6 ulp */
GCUT_INLINE float gcut_expm1_f32(float x)
{
    float y = x > 89.0f ? 89.0f : x;
    y = y < -20.0f ? -20.0f : y;
    int32_t n;
    float r = gcut_expsplit_f32(y, &n), s = gcut_float_f32(((uint32_t)n + 126u) << 23);
    float p = gcut_fma_f32(gcut_exppoly_f32(r), r * r, r);
    p = gcut_fma_f32(s, p, s - 0.5f);
    return gcut_abs_f32(x) < 0x1p-25f ? x : p + p;
}

/* Either branch of the select has only exponentiated a negative number.  2.5 ulp */
GCUT_INLINE float gcut_sigmoid_f32(float x)
{
    float e = gcut_exp_f32(-gcut_abs_f32(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}

/* x / (1 + e^-z) for z of x's sign and |z| = t + lo: the common end of silu and gelu_tanh.  NaN at -inf, as
 * the product of -inf and 0. */
GCUT_INLINE float gcut_gated_f32(float x, float t, float lo)
{
    float s, p = gcut_exphalf_f32(-t, -lo, &s), c = x < -200.0f ? -200.0f : x;
    float r = (x < 0 ? c * p : x) / gcut_fma_f32(p, s, 1.0f);
    r *= x < 0 ? s : 1.0f;
    return x < -0x1.fffffep127f ? NAN : r;
}

/* x sigmoid(x).  3.5 ulp */
GCUT_INLINE float gcut_silu_f32(float x)
{
    return gcut_gated_f32(x, gcut_abs_f32(x), 0.0f);
}

/* A polynomial below 0.55, 1 - 2 / (e^2|x| + 1) above.  2 ulp */
GCUT_INLINE float gcut_tanh_f32(float x)
{
    float t = gcut_abs_f32(x), s = x * x;
    float big = 1.0f - 2.0f / (gcut_expsmall_f32(t > 10.0f ? 20.0f : t + t) + 1.0f);
    float p = gcut_fma_f32(1.57394409e-2f, s, -5.23025580e-2f);
    p = gcut_fma_f32(p, s, 1.33152470e-1f);
    p = gcut_fma_f32(p, s, -3.33327681e-1f);
    p = gcut_fma_f32(p * s, t, t);
    return gcut_copysign_f32(t >= 0.55f ? big : p, x);
}

/* A polynomial below 0.93, 1 - e^(a polynomial of |x|) above.  1.1 / 1.3 ulp */
GCUT_INLINE float gcut_erf_f32(float x)
{
    float t = gcut_abs_f32(x), s = x * x;
    float c = t > 4.0f ? 4.0f : t, c2 = c * c;
    float q = gcut_fma_f32(gcut_fma_f32(-1.72853470e-5f, c, 3.83197126e-4f), c2,
                           gcut_fma_f32(-3.88396438e-3f, c, 2.42546219e-2f));
    q = gcut_fma_f32(q, c, -1.06777877e-1f);
    q = gcut_fma_f32(q, c, -6.34846687e-1f);
    q = gcut_fma_f32(q, c, -1.28717512e-1f);
    float big = 1.0f - gcut_expsmall_f32(gcut_fma_f32(q, c, -c));
    float p = gcut_fma_f32(-5.96761703e-4f, s, 4.99119423e-3f);
    p = gcut_fma_f32(p, s, -2.67681349e-2f);
    p = gcut_fma_f32(p, s, 1.12819925e-1f);
    p = gcut_fma_f32(p, s, -3.76125336e-1f);
    p = gcut_fma_f32(p, s, 1.28379166e-1f);
    p = gcut_fma_f32(p, x, x);
    return t > 0.927734375f ? gcut_copysign_f32(big, x) : p;
}

/* x Phi(x).  Phi(-t) = e^(-t^2 / 2) Q(1 / (1 + 0.3 t)): no cancellation in the negative tail, and the
 * rounding error of t^2 is carried into the exponential; a power series about 0, where u hardly tells t from
 * 0.  NaN at -inf, as the product.  7 / 9 ulp */
GCUT_INLINE float gcut_gelu_f32(float x)
{
    float t = gcut_abs_f32(x);
    t = t > 15.0f ? 15.0f : t;
    float s = t * t, scale, e = gcut_exphalf_f32(-0.5f * s, -0.5f * gcut_mulerr_f32(t, t, s), &scale);
    float u = 1.0f / gcut_fma_f32(0.3f, t, 1.0f);
    float q = gcut_fma_f32(-2.001946748e-02f, u, 1.088887669e-01f);
    q = gcut_fma_f32(q, u, -2.190843143e-01f);
    q = gcut_fma_f32(q, u, 1.782486126e-01f);
    q = gcut_fma_f32(q, u, -6.664754599e-02f);
    q = gcut_fma_f32(q, u, 8.815309894e-02f);
    q = gcut_fma_f32(q, u, 8.175290849e-02f);
    q = gcut_fma_f32(q, u, 1.093012294e-01f);
    q = gcut_fma_f32(q, u, 1.197356838e-01f);
    q = gcut_fma_f32(q, u, 1.196703195e-01f);
    q = gcut_fma_f32(q, u, 7.066849315e-07f);
    float r = (t * q * e) * scale;
    r = x < 0 ? -r : x - r;
    float z = x * x, p = gcut_fma_f32(1.000831807e-04f, z, -1.177775419e-03f);
    p = gcut_fma_f32(p, z, 9.970922287e-03f);
    p = gcut_fma_f32(p, z, -6.649008203e-02f);
    p = gcut_fma_f32(p, z, 3.989422709e-01f);
    r = t < 0.8f ? x * gcut_fma_f32(p, x, 0.5f) : r;
    return x < -0x1.fffffep127f ? NAN : r;
}

/* x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3), with the rounding errors of u carried into the
 * exponential.  NaN at -inf, as the product.  3.5 ulp */
GCUT_INLINE float gcut_gelu_tanh_f32(float x)
{
    float t = gcut_abs_f32(x), c = t > 12.0f ? 12.0f : t;
    const float a = 1.595769167e+00f, b = 7.135481387e-02f, alo = -4.534e-08f, blo = 2.399e-09f;
    float s = c * c, bs = b * s, p = a + bs;
    float back = p - bs, plo = (a - back) + (bs - (p - back)) + gcut_mulerr_f32(b, s, bs);
    plo += gcut_fma_f32(b, gcut_mulerr_f32(c, c, s), gcut_fma_f32(blo, s, alo));
    float z = c * p, zlo = gcut_fma_f32(c, plo, gcut_mulerr_f32(c, p, z));
    return gcut_gated_f32(x, z, zlo);
}

/* ---- logarithms ---- */

/* log(1 + m) + e ln 2 for -0.25 <= m < 0.5. */
GCUT_INLINE float gcut_logpoly_f32(float m, float e)
{
    float s = m * m;
    float r = gcut_fma_f32(-4.53948975e-2f, s, -1.32274792e-1f);
    float t = gcut_fma_f32(1.05468750e-1f, s, 1.44911826e-1f);
    r = gcut_fma_f32(r, s, -1.66412741e-1f);
    t = gcut_fma_f32(t, s, 1.99887201e-1f);
    r = gcut_fma_f32(r, s, -2.50002742e-1f);
    r = gcut_fma_f32(t, m, r);
    r = gcut_fma_f32(r, m, 3.33335280e-1f);
    r = gcut_fma_f32(r, m, -5.00000000e-1f);
    r = gcut_fma_f32(r, s, m);
    return gcut_fma_f32(e, 0.693147182f, r);
}

/* 1.2 / 1.3 ulp */
GCUT_INLINE float gcut_log_f32(float x)
{
    int tiny = x < 0x1p-126f;
    uint32_t i = gcut_bits_f32(tiny ? x * 0x1p23f : x), e = (i - 0x3f400000u) & 0xff800000u;
    float n = (float)(int32_t)e * 0x1p-23f - (tiny ? 23.0f : 0.0f);
    float r = gcut_logpoly_f32(gcut_float_f32(i - e) - 1.0f, n);
    r = x < INFINITY ? r : x;
    return x > 0 ? r : x == 0 ? -INFINITY : NAN;
}

/* 1 + x = 2^e (1 + m), m = x 2^-e + (2^-e - 1) without the rounding of 1 + x.  1.2 / 1.3 ulp */
GCUT_INLINE float gcut_log1p_f32(float x)
{
    uint32_t e = (gcut_bits_f32(x + 1.0f) - 0x3f400000u) & 0xff800000u;
    float m = gcut_float_f32(gcut_bits_f32(x) - e);
    m += gcut_fma_f32(0.25f, gcut_float_f32(0x40800000u - e), -1.0f);
    float r = gcut_logpoly_f32(m, (float)(int32_t)e * 0x1p-23f);
    r = x < INFINITY ? r : x;
    r = gcut_abs_f32(x) < 0x1p-25f ? x : r;
    return x > -1.0f ? r : x == -1.0f ? -INFINITY : NAN;
}

/* max(x, 0) + log(1 + e^-|x|).  2.5 ulp */
GCUT_INLINE float gcut_softplus_f32(float x)
{
    return (x > 0 ? x : 0.0f) + gcut_log1p_f32(gcut_exp_f32(-gcut_abs_f32(x)));
}

/* |x|^y = 2^(y log2 |x|) in double, rounded once: 0.51 ulp.  Special cases as in C's Annex F. */
GCUT_INLINE float gcut_pow_f32(float x, float y)
{
    float ax = gcut_abs_f32(x);
    int tiny = ax < 0x1p-126f;
    uint32_t i = gcut_bits_f32(tiny ? ax * 0x1p24f : ax);
    int32_t e = (int32_t)(i - 0x3f3504f3u) >> 23;
    double m = gcut_float_f32(i - ((uint32_t)e << 23)), s = (m - 1.0) / (m + 1.0), s2 = s * s;
    double p = gcut_fma_f64(2.82915990611258772e-01, s2, 3.19904588844331317e-01);
    p = gcut_fma_f64(p, s2, 4.12209279444590015e-01);
    p = gcut_fma_f64(p, s2, 5.77077942097045771e-01);
    p = gcut_fma_f64(p, s2, 9.61796694114235184e-01);
    p = gcut_fma_f64(p, s2, 2.88539008177785083e+00);
    double l = gcut_fma_f64(p, s, (double)(e - (tiny ? 24 : 0)));
    l = ax == 0 ? -(double)INFINITY : l;
    l = ax < INFINITY ? l : (double)ax;
    double z = (double)y * l;
    z = z > 200.0 ? 200.0 : z;
    z = z < -200.0 ? -200.0 : z;
    double t = z + 0x1.8p52, f = z - (t - 0x1.8p52);
    double g = gcut_fma_f64(1.53164597255330702e-05, f, 1.54697316985954954e-04);
    g = gcut_fma_f64(g, f, 1.33334226534723654e-03);
    g = gcut_fma_f64(g, f, 9.61802560398188240e-03);
    g = gcut_fma_f64(g, f, 5.55041097609964076e-02);
    g = gcut_fma_f64(g, f, 2.40226512135858855e-01);
    g = gcut_fma_f64(g, f, 6.93147180535029217e-01);
    g = gcut_fma_f64(g, f, 9.99999999959548025e-01);
    float r = (float)(g * gcut_float_f64((gcut_bits_f64(t) + 1023u) << 52));
    r = ax == 1.0f && y == y ? 1.0f : r;
    float h = 0.5f * y;
    int whole = gcut_round_f32(y) == y, odd = whole & (gcut_round_f32(h) != h);
    uint32_t sign = gcut_bits_f32(x) & (odd ? 0x80000000u : 0u);
    r = gcut_float_f32(gcut_bits_f32(r) ^ sign);
    int invalid = (x < 0) & (ax < INFINITY) & !whole & (y == y), one = (x == 1.0f) | (y == 0);
    r = invalid ? NAN : r;
    return one ? 1.0f : r;
}

/* ---- sine and cosine, exactly reduced for every finite argument; a loop over them vectorises ---- */

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

/* A polynomial of |x|, or pi / 2 less that of 1 / |x| where |x| > 1.  1.3 / 1.4 ulp */
GCUT_INLINE float gcut_atan_f32(float x)
{
    float t = gcut_abs_f32(x), inverse = 1.0f / t;
    float r = t > 1.0f ? inverse : t, s = r * r;
    float p = gcut_fma_f32(-1.793622351e-03f, s, 1.091460881e-02f);
    p = gcut_fma_f32(p, s, -3.117785198e-02f);
    p = gcut_fma_f32(p, s, 5.795760021e-02f);
    p = gcut_fma_f32(p, s, -8.403450751e-02f);
    p = gcut_fma_f32(p, s, 1.095218593e-01f);
    p = gcut_fma_f32(p, s, -1.426424171e-01f);
    p = gcut_fma_f32(p, s, 1.999854829e-01f);
    p = gcut_fma_f32(p, s, -3.333329909e-01f);
    float d = p * s * r, big = (1.57079637f - r) - (d + 4.37113883e-08f);
    return gcut_copysign_f32(t > 1.0f ? big : r + d, x);
}

#endif
