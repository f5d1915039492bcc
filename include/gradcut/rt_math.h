/* SPDX-License-Identifier: MIT
 *
 * Scalar functions of emitted code, written so that gcc -O3 turns a loop over them into vector code:
 * no branches, no calls, no errno, selects instead of ifs.  They need neither -ffast-math nor a vector
 * library, and treat NaN, infinities, signed zeros and subnormal numbers as libm does unless said otherwise.
 *
 * Errors are in units in the last place of the correctly rounded float ("ulp"), as tests/test_rt_math.c
 * checks them (sampled; over all floats with GCUT_EXHAUSTIVE=1), with FMA / without.  The rounding mode is to
 * nearest.
 *
 * The f64 forms call libm where it has the function (below 1 ulp in glibc): they are not vectorised.
 *
 * Only included by gradcut_rt.h, which has included <math.h>, <stdint.h> and <string.h> before.
 */
#ifndef GRADCUT_RT_MATH_H
#define GRADCUT_RT_MATH_H

/* a * b + c; fused where the machine does it in one instruction.  Explicit, so that the bits of a function do
 * not depend on -ffp-contract, which -std=c17 and -std=gnu17 set differently. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMAF)
#define GCUT_HAVE_FMA 1
static inline float gcut_fma_f32(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
static inline double gcut_fma_f64(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}
#else
#define GCUT_HAVE_FMA 0
static inline float gcut_fma_f32(float a, float b, float c)
{
    return a * b + c;
}
static inline double gcut_fma_f64(double a, double b, double c)
{
    return a * b + c;
}
#endif

static inline uint32_t gcut_bits_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float gcut_float_f32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
static inline uint64_t gcut_bits_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline double gcut_float_f64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}
/* |x| with the sign of s. */
static inline float gcut_copysign_f32(float x, float s)
{
    return gcut_float_f32((gcut_bits_f32(x) & 0x7fffffffu) | (gcut_bits_f32(s) & 0x80000000u));
}

/* The rounding error of p = a * b, exactly unless it underflows. */
static inline float gcut_mulerr_f32(float a, float b, float p)
{
#if GCUT_HAVE_FMA
    return gcut_fma_f32(a, b, -p);
#else
    float ah = gcut_float_f32(gcut_bits_f32(a) & 0xfffff000u), al = a - ah;
    float bh = gcut_float_f32(gcut_bits_f32(b) & 0xfffff000u), bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
}

/* ---- f32: exact and correctly rounded ---- */

static inline float gcut_abs_f32(float x)
{
    return gcut_float_f32(gcut_bits_f32(x) & 0x7fffffffu);
}
static inline float gcut_sign_f32(float x)
{
    return x > 0 ? 1.0f : x < 0 ? -1.0f : x == 0 ? 0.0f : x;
}
static inline float gcut_sqrt_f32(float x)
{
    return __builtin_sqrtf(x);
}
static inline float gcut_div_f32(float a, float b)
{
    return a / b;
}
/* A NaN is not <= 0 and passes; -0 becomes +0. */
static inline float gcut_relu_f32(float x)
{
    return x <= 0 ? 0.0f : x;
}
/* A NaN in either operand wins: b's fails the comparison, a's is asked for. */
static inline float gcut_max_f32(float a, float b)
{
    return a > b || a != a ? a : b;
}
static inline float gcut_min_f32(float a, float b)
{
    return a < b || a != a ? a : b;
}
static inline float gcut_mul_f32(float a, float b)
{
    return a * b;
}
static inline float gcut_clamp_f32(float x, float lo, float hi)
{
    float t = x < lo ? lo : x;
    return t > hi ? hi : t;
}

#if defined(__SSE4_1__) || !(defined(__x86_64__) || defined(__i386__))
static inline float gcut_round_f32(float x)
{
    return __builtin_rintf(x);
}
static inline float gcut_floor_f32(float x)
{
    return __builtin_floorf(x);
}
static inline float gcut_ceil_f32(float x)
{
    return __builtin_ceilf(x);
}
#else
/* Adding 2^23 leaves no bits for a fraction; a float that large has none. */
static inline float gcut_round_f32(float x)
{
    float t = gcut_abs_f32(x), r = (t + 0x1p23f) - 0x1p23f;
    return t < 0x1p23f ? gcut_copysign_f32(r, x) : x;
}
static inline float gcut_floor_f32(float x)
{
    float r = gcut_round_f32(x);
    return gcut_copysign_f32(r > x ? r - 1.0f : r, x);
}
static inline float gcut_ceil_f32(float x)
{
    float r = gcut_round_f32(x);
    return gcut_copysign_f32(r < x ? r + 1.0f : r, x);
}
#endif

/* a - floor(a / b) * b in double, rounded once: floor of a rounded float quotient could be one too large.
 * The result has the sign of b. */
static inline float gcut_mod_f32(float a, float b)
{
    double x = a, y = b;
    return (float)(x - __builtin_floor(x / y) * y);
}

/* 1 / sqrt(x), 1.5 ulp: two roundings. */
static inline float gcut_rsqrt_f32(float x)
{
    return 1.0f / __builtin_sqrtf(x);
}

/* ---- f32: exponentials ---- */

/* (e^r - 1 - r) / r^2 for |r| <= 0.35. */
static inline float gcut_exppoly_f32(float r)
{
    float p = gcut_fma_f32(1.381314236e-03f, r, 8.369419043e-03f);
    p = gcut_fma_f32(p, r, 4.166845683e-02f);
    p = gcut_fma_f32(p, r, 1.666651479e-01f);
    return gcut_fma_f32(p, r, 4.999999305e-01f);
}

/* x = n ln 2 + r: returns r, *n is an integer.  Adding 1.5 * 2^23 rounds to an integer and leaves it in the
 * low bits; ln 2 has a high part of 15 bits, so that n times it is exact even without FMA. */
static inline float gcut_expsplit_f32(float x, int32_t *n)
{
    float t = gcut_fma_f32(x, 1.44269504f, 0x1.8p23f), k = t - 0x1.8p23f;
    *n = (int32_t)(gcut_bits_f32(t) - 0x4b400000u);
    return gcut_fma_f32(k, -0x1.7f7d1cp-20f, gcut_fma_f32(k, -0x1.62e4p-1f, x));
}

static inline float gcut_pow2_f32(int32_t n)
{
    return gcut_float_f32((uint32_t)(n + 127) << 23);
}

/* e^(x + lo) = the result times *scale, for a correction |lo| <= 0.05.  The power of two is in halves, for
 * either half is a float where the whole is not, and a factor can be applied between them without losing bits
 * to a subnormal intermediate result.  A NaN passes both limits, and makes whatever n is irrelevant. */
static inline float gcut_exphalf_f32(float x, float lo, float *scale)
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
static inline float gcut_expsmall_f32(float x)
{
    int32_t n;
    float r = gcut_expsplit_f32(x, &n);
    return (gcut_fma_f32(gcut_exppoly_f32(r), r * r, r) + 1.0f) * gcut_float_f32(((uint32_t)n + 127u) << 23);
}

/* 1.1 ulp */
static inline float gcut_exp_f32(float x)
{
    float s, p = gcut_exphalf_f32(x, 0.0f, &s);
    return p * s;
}

/* 2^n (e^r - 1) + (2^n - 1), in halves because 2^128 is not a float.  1.6 ulp */
static inline float gcut_expm1_f32(float x)
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
static inline float gcut_sigmoid_f32(float x)
{
    float e = gcut_exp_f32(-gcut_abs_f32(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}

/* x / (1 + e^-z) for z of x's sign and |z| = t + lo: the common end of silu and gelu_tanh.  NaN at -inf, as
 * the product of -inf and 0. */
static inline float gcut_gated_f32(float x, float t, float lo)
{
    float s, p = gcut_exphalf_f32(-t, -lo, &s), c = x < -200.0f ? -200.0f : x;
    float r = (x < 0 ? c * p : x) / gcut_fma_f32(p, s, 1.0f);
    r *= x < 0 ? s : 1.0f;
    return x < -0x1.fffffep127f ? NAN : r;
}

/* x sigmoid(x).  3.5 ulp */
static inline float gcut_silu_f32(float x)
{
    return gcut_gated_f32(x, gcut_abs_f32(x), 0.0f);
}

/* A polynomial below 0.55, 1 - 2 / (e^2|x| + 1) above.  2 ulp */
static inline float gcut_tanh_f32(float x)
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
static inline float gcut_erf_f32(float x)
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
static inline float gcut_gelu_f32(float x)
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
static inline float gcut_gelu_tanh_f32(float x)
{
    float t = gcut_abs_f32(x), c = t > 12.0f ? 12.0f : t;
    const float a = 1.595769167e+00f, b = 7.135481387e-02f, alo = -4.534e-08f, blo = 2.399e-09f;
    float s = c * c, bs = b * s, p = a + bs;
    float back = p - bs, plo = (a - back) + (bs - (p - back)) + gcut_mulerr_f32(b, s, bs);
    plo += gcut_fma_f32(b, gcut_mulerr_f32(c, c, s), gcut_fma_f32(blo, s, alo));
    float z = c * p, zlo = gcut_fma_f32(c, plo, gcut_mulerr_f32(c, p, z));
    return gcut_gated_f32(x, z, zlo);
}

/* ---- f32: logarithms ---- */

/* log(1 + m) + e ln 2 for -0.25 <= m < 0.5. */
static inline float gcut_logpoly_f32(float m, float e)
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
static inline float gcut_log_f32(float x)
{
    int tiny = x < 0x1p-126f;
    uint32_t i = gcut_bits_f32(tiny ? x * 0x1p23f : x), e = (i - 0x3f400000u) & 0xff800000u;
    float n = (float)(int32_t)e * 0x1p-23f - (tiny ? 23.0f : 0.0f);
    float r = gcut_logpoly_f32(gcut_float_f32(i - e) - 1.0f, n);
    r = x < INFINITY ? r : x;
    return x > 0 ? r : x == 0 ? -INFINITY : NAN;
}

/* 1 + x = 2^e (1 + m), m = x 2^-e + (2^-e - 1) without the rounding of 1 + x.  1.2 / 1.3 ulp */
static inline float gcut_log1p_f32(float x)
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
static inline float gcut_softplus_f32(float x)
{
    return (x > 0 ? x : 0.0f) + gcut_log1p_f32(gcut_exp_f32(-gcut_abs_f32(x)));
}

/* |x|^y = 2^(y log2 |x|) in double, rounded once: 0.51 ulp.  Special cases as in C's Annex F. */
static inline float gcut_pow_f32(float x, float y)
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

/* ---- f32: sine and cosine ---- */

/* |x| = (q + 2 r / pi) pi / 2 for every finite x.  t - 0x1.8p52 is an integer near p, and q its lowest bits.
 */
#if GCUT_HAVE_FMA
/* For |x| from 2^(27k+23) to 2^(27k+50), |x| 2^-27k is an integer, so that it may be multiplied by 2^27k 2/pi
 * less a multiple of 4 instead, which is 2^27k (hi + lo).  The fused product with hi less the integer, and
 * then with lo, leaves 2^-57 of the quadrant; no float is nearer than 2^-31 of one to a multiple.  No table,
 * which vectors would have to gather from. */
static inline float gcut_quadrant_f32(float x, uint32_t *q)
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
/* (2^(e-150) 2/pi) mod 4 for the biased exponents e = 126..254, in two parts (kernels/rt/trig.c). */
extern const double gcut_rt_two_over_pi[129][2];

/* The significand times 2/pi mod 4 has no rounding that matters. */
static inline float gcut_quadrant_f32(float x, uint32_t *q)
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
static inline float gcut_sinpoly_f32(float r, uint32_t q)
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
static inline float gcut_sin_f32(float x)
{
    uint32_t q;
    float r = gcut_quadrant_f32(x, &q), s = gcut_sinpoly_f32(r, q);
    s = gcut_float_f32(gcut_bits_f32(s) ^ (gcut_bits_f32(x) & 0x80000000u));
    return gcut_abs_f32(x) < INFINITY ? s : x - x;
}

/* 1.7 ulp for every finite x; NaN at infinities */
static inline float gcut_cos_f32(float x)
{
    uint32_t q;
    float r = gcut_quadrant_f32(x, &q), c = gcut_sinpoly_f32(r, q + 1u);
    return gcut_abs_f32(x) < INFINITY ? c : x - x;
}

/* ---- f64 ---- */

static inline double gcut_abs_f64(double x)
{
    return __builtin_fabs(x);
}
static inline double gcut_sign_f64(double x)
{
    return x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : x;
}
static inline double gcut_exp_f64(double x)
{
    return exp(x);
}
static inline double gcut_expm1_f64(double x)
{
    return expm1(x);
}
static inline double gcut_log_f64(double x)
{
    return log(x);
}
static inline double gcut_log1p_f64(double x)
{
    return log1p(x);
}
static inline double gcut_sqrt_f64(double x)
{
    return __builtin_sqrt(x);
}
static inline double gcut_rsqrt_f64(double x)
{
    return 1.0 / __builtin_sqrt(x);
}
static inline double gcut_sin_f64(double x)
{
    return sin(x);
}
static inline double gcut_cos_f64(double x)
{
    return cos(x);
}
static inline double gcut_tanh_f64(double x)
{
    return tanh(x);
}
static inline double gcut_erf_f64(double x)
{
    return erf(x);
}
static inline double gcut_pow_f64(double a, double b)
{
    return pow(a, b);
}
static inline double gcut_div_f64(double a, double b)
{
    return a / b;
}
static inline double gcut_floor_f64(double x)
{
    return __builtin_floor(x);
}
static inline double gcut_ceil_f64(double x)
{
    return __builtin_ceil(x);
}
static inline double gcut_round_f64(double x)
{
    return __builtin_rint(x);
}
static inline double gcut_mod_f64(double a, double b)
{
    return a - __builtin_floor(a / b) * b;
}
static inline double gcut_relu_f64(double x)
{
    return x <= 0 ? 0.0 : x;
}
static inline double gcut_max_f64(double a, double b)
{
    return a > b || a != a ? a : b;
}
static inline double gcut_min_f64(double a, double b)
{
    return a < b || a != a ? a : b;
}
static inline double gcut_mul_f64(double a, double b)
{
    return a * b;
}
static inline double gcut_clamp_f64(double x, double lo, double hi)
{
    double t = x < lo ? lo : x;
    return t > hi ? hi : t;
}
/* 3 ulp */
static inline double gcut_sigmoid_f64(double x)
{
    double e = exp(-__builtin_fabs(x));
    return (x < 0 ? e : 1.0) / (1.0 + e);
}
static inline double gcut_silu_f64(double x)
{
    double e = exp(-__builtin_fabs(x));
    return (x < 0 ? x * e : x) / (1.0 + e);
}
static inline double gcut_softplus_f64(double x)
{
    return (x > 0 ? x : 0.0) + log1p(exp(-__builtin_fabs(x)));
}
/* Relative error (4 + x^2) 2^-53 in the negative tail, from the rounding of erfc's argument. */
static inline double gcut_gelu_f64(double x)
{
    return 0.5 * x * erfc(-0.70710678118654752440 * x);
}
/* Relative error (4 + 4 |u|) 2^-53. */
static inline double gcut_gelu_tanh_f64(double x)
{
    double u = 1.5957691216057307 * __builtin_fabs(x) * (1.0 + 0.044715 * x * x), e = exp(-u);
    return (x < 0 ? x * e : x) / (1.0 + e);
}

/* ---- integers ---- */

/* Arithmetic wraps (in unsigned, so nothing is undefined), division floors, division by zero gives 0. */
#define GCUT_RT_INT(S, T, U)                                                                                 \
    static inline T gcut_abs_##S(T a)                                                                        \
    {                                                                                                        \
        return a < 0 ? (T)(U)((U)0 - (U)a) : a;                                                              \
    }                                                                                                        \
    static inline T gcut_sign_##S(T a)                                                                       \
    {                                                                                                        \
        return (T)((a > 0) - (a < 0));                                                                       \
    }                                                                                                        \
    static inline T gcut_div_##S(T a, T b)                                                                   \
    {                                                                                                        \
        T d = b == 0 || b == -1 ? (T)1 : b;                                                                  \
        T q = (T)(a / d), r = (T)(a % d);                                                                    \
        q = (T)(q - (r != 0 && (r < 0) != (d < 0)));                                                         \
        return b == 0 ? (T)0 : b == -1 ? (T)(U)((U)0 - (U)a) : q;                                            \
    }                                                                                                        \
    static inline T gcut_mod_##S(T a, T b)                                                                   \
    {                                                                                                        \
        T d = b == 0 || b == -1 ? (T)1 : b;                                                                  \
        T r = (T)(a % d);                                                                                    \
        return r != 0 && (r < 0) != (d < 0) ? (T)(r + d) : r;                                                \
    }
#define GCUT_RT_ORDER(S, T)                                                                                  \
    static inline T gcut_relu_##S(T a)                                                                       \
    {                                                                                                        \
        return a > 0 ? a : (T)0;                                                                             \
    }                                                                                                        \
    static inline T gcut_max_##S(T a, T b)                                                                   \
    {                                                                                                        \
        return a > b ? a : b;                                                                                \
    }                                                                                                        \
    static inline T gcut_min_##S(T a, T b)                                                                   \
    {                                                                                                        \
        return a < b ? a : b;                                                                                \
    }                                                                                                        \
    static inline T gcut_mul_##S(T a, T b)                                                                   \
    {                                                                                                        \
        return (T)((uint64_t)a * (uint64_t)b);                                                               \
    }                                                                                                        \
    static inline T gcut_not_##S(T a)                                                                        \
    {                                                                                                        \
        return (T)~a;                                                                                        \
    }                                                                                                        \
    static inline T gcut_clamp_##S(T a, T lo, T hi)                                                          \
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

static inline uint8_t gcut_abs_u8(uint8_t a)
{
    return a;
}
static inline uint8_t gcut_sign_u8(uint8_t a)
{
    return a != 0;
}
static inline uint8_t gcut_div_u8(uint8_t a, uint8_t b)
{
    return (uint8_t)(b == 0 ? 0 : a / b);
}
static inline uint8_t gcut_mod_u8(uint8_t a, uint8_t b)
{
    return (uint8_t)(b == 0 ? 0 : a % b);
}
static inline uint8_t gcut_not_bool(uint8_t a)
{
    return (uint8_t)!a;
}

/* ---- random bits ---- */

/* Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror & Shaw, SC'11) of the counter i under the key: a pure
 * function, in 32-bit operations that vectorise.  A 64-bit number is two words, the high one first. */
#define GCUT_RT_ROUND(by) (a += b, b = (b << (by) | b >> (32 - (by))) ^ a)
static inline void gcut_threefry(int64_t key, int64_t i, uint32_t *hi, uint32_t *lo)
{
    const uint32_t k0 = (uint32_t)((uint64_t)key >> 32), k1 = (uint32_t)(uint64_t)key;
    const uint32_t k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    uint32_t a = (uint32_t)((uint64_t)i >> 32) + k0, b = (uint32_t)(uint64_t)i + k1;
    GCUT_RT_ROUND(13), GCUT_RT_ROUND(15), GCUT_RT_ROUND(26), GCUT_RT_ROUND(6);
    a += k1, b += k2 + 1u;
    GCUT_RT_ROUND(17), GCUT_RT_ROUND(29), GCUT_RT_ROUND(16), GCUT_RT_ROUND(24);
    a += k2, b += k0 + 2u;
    GCUT_RT_ROUND(13), GCUT_RT_ROUND(15), GCUT_RT_ROUND(26), GCUT_RT_ROUND(6);
    a += k0, b += k1 + 3u;
    GCUT_RT_ROUND(17), GCUT_RT_ROUND(29), GCUT_RT_ROUND(16), GCUT_RT_ROUND(24);
    a += k1, b += k2 + 4u;
    GCUT_RT_ROUND(13), GCUT_RT_ROUND(15), GCUT_RT_ROUND(26), GCUT_RT_ROUND(6);
    *hi = a + k2;
    *lo = b + k0 + 5u;
}
#undef GCUT_RT_ROUND

static inline int64_t gcut_random_i64(int64_t key, int64_t i)
{
    uint32_t hi, lo;
    gcut_threefry(key, i, &hi, &lo);
    return (int64_t)((uint64_t)hi << 32 | lo);
}
/* 24 bits in [0, 1). */
static inline float gcut_random_f32(int64_t key, int64_t i)
{
    uint32_t hi, lo;
    gcut_threefry(key, i, &hi, &lo);
    return (float)(int32_t)((hi ^ lo) >> 8) * 0x1p-24f;
}
/* 53 bits in [0, 1): both parts and their sum are exact. */
static inline double gcut_random_f64(int64_t key, int64_t i)
{
    uint32_t hi, lo;
    gcut_threefry(key, i, &hi, &lo);
    return (double)hi * 0x1p-32 + (double)(int32_t)(lo >> 11) * 0x1p-53;
}

/* ---- halves ---- */

/* f16 (IEEE binary16) and bf16 (the top of an f32) are held as their bits.  To f32 is exact; from f32 and f64
 * is to nearest, ties to even.  A NaN stays one. */
static inline float gcut_from_bf16(uint16_t h)
{
    return gcut_float_f32((uint32_t)h << 16);
}
/* Below 0x400 a subnormal number, which counts in 2^-24; from 0x7c00 on an infinity or NaN. */
static inline float gcut_from_f16(uint16_t h)
{
    uint32_t em = h & 0x7fffu, sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t small = gcut_bits_f32((float)(int32_t)em * 0x1p-24f);
    uint32_t u = em < 0x400u ? small : (em << 13) + (em < 0x7c00u ? 112u << 23 : 224u << 23);
    return gcut_float_f32(u | sign);
}
/* Adding just under half of the last place kept, and one more when it is odd, rounds; a carry out of the
 * fraction is the next exponent, at last infinity. */
static inline uint16_t gcut_to_bf16_f32(float x)
{
    uint32_t u = gcut_bits_f32(x), r = u + 0x7fffu + ((u >> 16) & 1u);
    return (uint16_t)(((u & 0x7fffffffu) > 0x7f800000u ? u | 0x400000u : r) >> 16);
}
/* Below 2^-14 the result counts in 2^-24, the last place of 1/2. */
static inline uint16_t gcut_to_f16_f32(float x)
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
static inline float gcut_odd_f32(double x)
{
    float f = (float)x;
    uint32_t u = gcut_bits_f32(f);
    u -= __builtin_fabs((double)f) > __builtin_fabs(x);
    return gcut_float_f32(f == x || f != f ? gcut_bits_f32(f) : u | 1u);
}
/* x in f64 rounded to odd. */
static inline double gcut_odd_f64(int64_t x)
{
    int fits = x < INT64_C(1) << 53 && x > -(INT64_C(1) << 53);
    return fits ? (double)x : (double)(x >> 10 | ((x & 1023) != 0)) * 1024.0;
}
static inline uint16_t gcut_to_bf16_f64(double x)
{
    return gcut_to_bf16_f32(gcut_odd_f32(x));
}
static inline uint16_t gcut_to_f16_f64(double x)
{
    return gcut_to_f16_f32(gcut_odd_f32(x));
}

/* ---- float to integer ---- */

/* Truncated toward zero and saturated; NaN gives 0.  C leaves both undefined.  A float converts to double
 * exactly. */
#define GCUT_RT_TO(NAME, T, LO, HI)                                                                          \
    static inline T gcut_to_##NAME(double x)                                                                 \
    {                                                                                                        \
        return x != x ? 0 : x <= (double)(LO) ? (LO) : x >= (double)(HI) ? (HI) : (T)x;                      \
    }
GCUT_RT_TO(i8, int8_t, INT8_MIN, INT8_MAX)
GCUT_RT_TO(i16, int16_t, INT16_MIN, INT16_MAX)
GCUT_RT_TO(i32, int32_t, INT32_MIN, INT32_MAX)
GCUT_RT_TO(i64, int64_t, INT64_MIN, INT64_MAX)
GCUT_RT_TO(u8, uint8_t, 0, UINT8_MAX)
#undef GCUT_RT_TO

/* ---- reductions over lanes ---- */

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
