/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The f32 functions of rt_math.h against libm in double, over the bit patterns of float: a stride of them and
 * the neighbourhood of every power of two by default, all 2^32 with GCUT_EXHAUSTIVE=1.  They are applied in
 * loops that the compiler vectorises, as in emitted code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"
#include "gradcut/gradcut_rt.h"
#include "nightly.h"

#ifdef __FMA__
#define BOUND(fma, plain) (fma)
#else
#define BOUND(fma, plain) (plain)
#endif

enum { CHUNK = 4096 };

typedef struct unary {
    const char *name;
    void (*run)(const float *x, float *y);
    double (*ref)(double x);
    double bound; /* ulp, as promised in the header, and rounded up */
} unary;

static double ref_sign(double x)
{
    return isnan(x) ? x : (x > 0) - (x < 0);
}
static double ref_rsqrt(double x)
{
    return 1 / sqrt(x);
}
static double ref_sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}
static double ref_relu(double x)
{
    return isnan(x) ? x : x > 0 ? x : 0;
}
static double ref_gelu(double x)
{
    return 0.5 * x * erfc(-x * M_SQRT1_2);
}
static double ref_silu(double x)
{
    return x * ref_sigmoid(x);
}
static double ref_softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}
static double ref_gelu_tanh(double x)
{
    return x * ref_sigmoid(2 * sqrt(M_2_PI) * (x + 0.044715 * x * x * x));
}

#define UNARY(X)                                                                                             \
    X(abs, fabs, 0)                                                                                          \
    X(sign, ref_sign, 0)                                                                                     \
    X(exp, exp, 1.1)                                                                                         \
    X(expm1, expm1, 1.6)                                                                                     \
    X(log, log, BOUND(1.2, 1.3))                                                                             \
    X(log1p, log1p, BOUND(1.2, 1.3))                                                                         \
    X(sqrt, sqrt, 0.5)                                                                                       \
    X(rsqrt, ref_rsqrt, 1.5)                                                                                 \
    X(sin, sin, 1.7)                                                                                         \
    X(cos, cos, 1.7)                                                                                         \
    X(atan, atan, BOUND(1.3, 1.4))                                                                           \
    X(tanh, tanh, 2)                                                                                         \
    X(sigmoid, ref_sigmoid, 2.5)                                                                             \
    X(erf, erf, BOUND(1.1, 1.3))                                                                             \
    X(relu, ref_relu, 0)                                                                                     \
    X(gelu, ref_gelu, BOUND(7, 9))                                                                           \
    X(gelu_tanh, ref_gelu_tanh, 3.5)                                                                         \
    X(silu, ref_silu, 3.5)                                                                                   \
    X(softplus, ref_softplus, 2.5)                                                                           \
    X(floor, floor, 0)                                                                                       \
    X(ceil, ceil, 0)                                                                                         \
    X(round, nearbyint, 0)

#define X(name, ref, bound)                                                                                  \
    static void run_##name(const float *x, float *y)                                                         \
    {                                                                                                        \
        for (int i = 0; i < CHUNK; i++) y[i] = gcut_##name##_f32(x[i]);                                      \
    }
UNARY(X)
#undef X
#define X(name, ref, bound) {#name, run_##name, ref, bound},
static const unary unaries[] = {UNARY(X)};
#undef X

/* |got - want| in ulps of want; 0 where both are NaN or the same infinity, and infinite where only one is. */
static double ulps(float got, double want)
{
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want) ? 0 : INFINITY;
    if (fabs(want) >= 0x1.ffffffp127) return isinf(got) && (got > 0) == (want > 0) ? 0 : INFINITY;
    if (got == want) return !signbit(got) == !signbit(want) ? 0 : INFINITY;
    int e = want == 0 ? -126 : ilogb(want);
    /* An overflow of a finite value is the next float after FLT_MAX. */
    double g = isinf(got) ? copysign(0x1p128, got) : got;
    return fabs(g - want) / ldexp(1, (e < -126 ? -126 : e) - 23);
}

typedef struct sweep {
    const unary *f;
    double worst;
    float at;
    int n;
    float x[CHUNK], y[CHUNK];
} sweep;

static void flush(sweep *s)
{
    for (int i = s->n; i < CHUNK; i++) s->x[i] = 1;
    s->f->run(s->x, s->y);
    for (int i = 0; i < s->n; i++) {
        double u = ulps(s->y[i], s->f->ref(s->x[i]));
        if (u > s->worst) {
            s->worst = u;
            s->at = s->x[i];
        }
    }
    s->n = 0;
}

static void try_bits(sweep *s, uint32_t bits)
{
    memcpy(&s->x[s->n++], &bits, sizeof bits);
    if (s->n == CHUNK) flush(s);
}

static void test_unary(void **state)
{
    (void)state;
    uint64_t stride = 1031;
    if (getenv("GCUT_EXHAUSTIVE"))
        stride = 1;
    else if (getenv("GCUT_STRIDE"))
        stride = strtoull(getenv("GCUT_STRIDE"), NULL, 10);
    int bad = 0;
    for (size_t k = 0; k < sizeof unaries / sizeof *unaries; k++) {
        static sweep s;
        s = (sweep){.f = &unaries[k]};
        for (uint64_t b = 0; b < UINT64_C(1) << 32; b += stride) try_bits(&s, (uint32_t)b);
        for (uint32_t e = 0; e < 512; e++)
            for (uint32_t d = 0; d < 64; d++) try_bits(&s, (e << 23) + d - 32);
        flush(&s);
        printf("%-10s %6.3f ulp (bound %.2f) at %.9g\n", s.f->name, s.worst, s.f->bound, s.at);
        bad += !(s.worst <= s.f->bound);
    }
    assert_int_equal(bad, 0);
}

static float random_float(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint32_t b = (uint32_t)(*seed >> 32);
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static const float special[] = {0,        -0.0f,  1,        -1,        2,        -2,     3,      -3,
                                0.5f,     -0.5f,  INFINITY, -INFINITY, NAN,      1e30f,  -1e30f, 0x1p24f,
                                -0x1p24f, 1e-40f, -1e-40f,  FLT_MAX,   -FLT_MAX, FLT_MIN};
enum { NSPECIAL = sizeof special / sizeof *special };

/* Every pair of special values, then random pairs whose result is mostly neither 0 nor infinity. */
static void pair(int i, uint64_t *seed, float *x, float *y)
{
    if (i < NSPECIAL * NSPECIAL) {
        *x = special[i / NSPECIAL];
        *y = special[i % NSPECIAL];
    } else if (i % 3 == 0) {
        *x = random_float(seed);
        *y = random_float(seed);
    } else {
        *x = fabsf(random_float(seed));
        *y = (float)(150 * (random_float(seed) > 0 ? 1 : -1) / (0.1 + fabs(log2(*x)))) * (float)(i % 4096) /
             4096;
        if (i % 7 == 0) {
            *x = -*x;
            *y = rintf(*y);
        }
    }
}

static void test_binary(void **state)
{
    (void)state;
    static float x[CHUNK], y[CHUNK], p[CHUNK], mx[CHUNK], mn[CHUNK], md[CHUNK];
    uint64_t seed = 1;
    double worst = 0;
    for (int r = 0, n = nightly() ? 100 : 30; r < n; r++) {
        TRY("round %d", (int)r);
        for (int i = 0; i < CHUNK; i++) pair(r * CHUNK + i, &seed, &x[i], &y[i]);
        for (int i = 0; i < CHUNK; i++) p[i] = gcut_pow_f32(x[i], y[i]);
        for (int i = 0; i < CHUNK; i++) mx[i] = gcut_max_f32(x[i], y[i]);
        for (int i = 0; i < CHUNK; i++) mn[i] = gcut_min_f32(x[i], y[i]);
        for (int i = 0; i < CHUNK; i++) md[i] = gcut_mod_f32(x[i], y[i]);
        for (int i = 0; i < CHUNK; i++) {
            double u = ulps(p[i], pow((double)x[i], (double)y[i]));
            if (!(u <= 0.51))
                fail_msg("pow(%a, %a) = %a, not %a", x[i], y[i], p[i], pow((double)x[i], (double)y[i]));
            if (u > worst) worst = u;
            int nan = isnan(x[i]) || isnan(y[i]);
            assert_true(nan ? isnan(mx[i]) : mx[i] == (x[i] > y[i] ? x[i] : y[i]));
            assert_true(nan ? isnan(mn[i]) : mn[i] == (x[i] < y[i] ? x[i] : y[i]));
            double a = x[i], b = y[i], want = a - floor(a / b) * b;
            assert_true(isnan(want) ? isnan(md[i]) : md[i] == (float)want);
        }
    }
    printf("pow        %6.3f ulp\n", worst);
}

static void test_clamp_and_select(void **state)
{
    (void)state;
    for (int i = 0; i < NSPECIAL; i++) {
        float x = special[i], c = gcut_clamp_f32(x, -1.5f, 2.5f);
        assert_true(isnan(x) ? isnan(c) : c == fminf(fmaxf(x, -1.5f), 2.5f));
        double d = gcut_clamp_f64(x, -1.5, 2.5);
        assert_true(isnan(x) ? isnan(d) : d == fmin(fmax(x, -1.5), 2.5));
        assert_true(isnan(x) ? isnan(gcut_relu_f64(x)) : gcut_relu_f64(x) == fmax(x, 0));
        assert_false(signbit(gcut_relu_f32(-0.0f)));
        assert_true(isnan(x) ? isnan(gcut_sign_f64(x)) : gcut_sign_f64(x) == ref_sign(x));
    }
    assert_true(isnan(gcut_max_f64(NAN, 1)));
    assert_true(isnan(gcut_max_f64(1, NAN)));
    assert_that(gcut_max_f64(1, 2), ==, 2);
    assert_true(isnan(gcut_min_f64(NAN, 1)));
    assert_true(isnan(gcut_min_f64(1, NAN)));
    assert_that(gcut_min_f64(1, 2), ==, 1);
    assert_that(gcut_clamp_f32(-7, -INFINITY, 3), ==, -7);
    assert_that(gcut_clamp_f32(7, -3, INFINITY), ==, 7);
}

static double relative(double got, double want)
{
    return got == want ? 0 : fabs(got - want) / fabs(want);
}

/* Composites of libm in double against the same in long double, with the bounds of their comments. */
static void test_f64(void **state)
{
    (void)state;
    const double eps = 0x1p-53;
    for (double x = -36; x < 36; x += 0.0137) {
        long double l = x, s = 1 / (1 + expl(-l));
        assert_true(relative(gcut_sigmoid_f64(x), (double)s) <= 6 * eps);
        assert_true(relative(gcut_silu_f64(x), (double)(l * s)) <= 6 * eps);
        assert_true(relative(gcut_softplus_f64(x), (double)log1pl(expl(l))) <= 6 * eps);
        long double g = 0.5L * l * erfcl(-l * 0.70710678118654752440084436210484904L);
        assert_true(relative(gcut_gelu_f64(x), (double)g) <= (8 + 2 * x * x) * eps);
        long double u = 1.59576912160573071175978423973752L * (l + 0.044715L * l * l * l);
        long double t = l / (1 + expl(-u));
        if (fabsl(u) < 600)
            assert_true(relative(gcut_gelu_tanh_f64(x), (double)t) <= (8 + 4 * fabsl(u)) * eps);
        assert_that(gcut_mod_f64(x, 0.75), >=, 0);
        assert_that(gcut_mod_f64(x, -0.75), <=, 0);
        assert_true(gcut_rsqrt_f64(x * x) == 1 / sqrt(x * x));
    }
}

static int64_t floordiv(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

/* Every pair of 8-bit values, in 8 bits and wider; the widest type's edges apart. */
static void test_integers(void **state)
{
    (void)state;
    for (int a = -128; a < 128; a++) {
        assert_int_equal(gcut_abs_i8((int8_t)a), (int8_t)(a < 0 ? -a : a));
        assert_int_equal(gcut_sign_i8((int8_t)a), (a > 0) - (a < 0));
        assert_int_equal(gcut_relu_i16((int16_t)a), a > 0 ? a : 0);
        assert_int_equal(gcut_not_i32(a), -1 - a);
        assert_int_equal(gcut_clamp_i64(a, -3, 5), a < -3 ? -3 : a > 5 ? 5 : a);
        for (int b = -128; b < 128; b++) {
            int64_t q = b ? floordiv(a, b) : 0, m = b ? a - q * b : 0;
            assert_int_equal(gcut_div_i8((int8_t)a, (int8_t)b), (int8_t)q);
            assert_int_equal(gcut_mod_i8((int8_t)a, (int8_t)b), (int8_t)m);
            assert_int_equal(gcut_div_i16((int16_t)a, (int16_t)b), q);
            assert_int_equal(gcut_mod_i16((int16_t)a, (int16_t)b), m);
            assert_int_equal(gcut_div_i32(a, b), q);
            assert_int_equal(gcut_mod_i32(a, b), m);
            assert_int_equal(gcut_div_i64(a, b), q);
            assert_int_equal(gcut_mod_i64(a, b), m);
            assert_int_equal(gcut_max_i8((int8_t)a, (int8_t)b), a > b ? a : b);
            assert_int_equal(gcut_min_i8((int8_t)a, (int8_t)b), a < b ? a : b);
            uint8_t ua = (uint8_t)(a + 128), ub = (uint8_t)(b + 128);
            assert_int_equal(gcut_div_u8(ua, ub), ub ? ua / ub : 0);
            assert_int_equal(gcut_mod_u8(ua, ub), ub ? ua % ub : 0);
            assert_int_equal(gcut_max_u8(ua, ub), ua > ub ? ua : ub);
            assert_int_equal(gcut_min_u8(ua, ub), ua < ub ? ua : ub);
        }
    }
    assert_that(gcut_abs_i32(INT32_MIN), ==, INT32_MIN);
    assert_that(gcut_abs_i64(INT64_MIN), ==, INT64_MIN);
    assert_that(gcut_div_i32(INT32_MIN, -1), ==, INT32_MIN);
    assert_that(gcut_div_i64(INT64_MIN, -1), ==, INT64_MIN);
    assert_that(gcut_mod_i32(INT32_MIN, -1), ==, 0);
    assert_that(gcut_mod_i64(INT64_MIN, -1), ==, 0);
    assert_that(gcut_div_i64(INT64_MIN, 3), ==, INT64_MIN / 3 - 1);
    assert_that(gcut_div_i64(INT64_MIN, 0), ==, 0);
    assert_that(gcut_not_bool(0), ==, 1);
    assert_that(gcut_not_bool(1), ==, 0);
    assert_that(gcut_not_u8(0x0f), ==, 0xf0);
}

static void test_lanes(void **state)
{
    (void)state;
    float f[64];
    double d[64];
    uint64_t seed = 3;
    for (int r = 0; r < 1000; r++) {
        TRY("round %d", (int)r);
        double sum = 0, most = -INFINITY, least = INFINITY;
        for (int i = 0; i < 64; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1;
            f[i] = (float)(int32_t)(seed >> 44) - 0x1p19f; /* sums of these are exact in a double */
            d[i] = f[i];
            sum += f[i];
            most = fmax(most, f[i]);
            least = fmin(least, f[i]);
        }
        assert_true(fabs(gcut_rt_lanes_sum_f32(f) - sum) <= 6 * 0x1p-24 * 64 * 0x1p19);
        assert_true(gcut_rt_lanes_sum_f64(d) == sum);
        assert_that(gcut_rt_lanes_max_f32(f), ==, most);
        assert_that(gcut_rt_lanes_max_f64(d), ==, most);
        assert_that(gcut_rt_lanes_min_f32(f), ==, least);
        assert_that(gcut_rt_lanes_min_f64(d), ==, least);
        f[r % 64] = NAN;
        d[r % 64] = NAN;
        assert_true(isnan(gcut_rt_lanes_max_f32(f)));
        assert_true(isnan(gcut_rt_lanes_min_f64(d)));
    }
}

/* ---- halves ---- */

/* The value of a half from its definition. */
static double half_value(unsigned bits, int fraction_bits, int bias)
{
    int e = (int)(bits & 0x7fff) >> fraction_bits, f = (int)(bits & ((1u << fraction_bits) - 1));
    double sign = bits & 0x8000 ? -1 : 1;
    if (e == 0x7fff >> fraction_bits) return f ? (double)NAN : sign * (double)INFINITY;
    return sign * ldexp(ldexp((double)f, -fraction_bits) + (e > 0), (e > 0 ? e : 1) - bias);
}

typedef struct half {
    int fraction_bits, bias;
    float (*from)(uint16_t h);
    uint16_t (*to_f32)(float x);
    uint16_t (*to_f64)(double x);
    double value[0x8000]; /* of every positive one */
} half;

/* x >= 0 to the nearest half by search over all of them, ties to the even one. */
static unsigned nearest_half(const half *h, double x)
{
    unsigned top = 0x7fffu >> h->fraction_bits << h->fraction_bits, lo = 0, hi = top;
    while (hi - lo > 1) { /* value[lo] <= x < value[hi] */
        unsigned mid = (lo + hi) / 2;
        *(h->value[mid] <= x ? &lo : &hi) = mid;
    }
    double above = hi == top ? ldexp(1, h->bias + 1) : h->value[hi], middle = (h->value[lo] + above) / 2;
    return x > middle || (x == middle && (lo & 1)) ? hi : lo;
}

/* Is half number k the nearest to x >= 0, the even one of two?  Beside the largest lies 2^(emax + 1). */
static int is_nearest(const half *h, double x, unsigned k)
{
    unsigned top = 0x7fffu >> h->fraction_bits << h->fraction_bits;
    double overflow = ldexp(1, h->bias + 1);
    if (k > top) return 0;
    double here = k == top ? overflow : h->value[k], above = k + 1 >= top ? overflow : h->value[k + 1];
    double low = k ? (h->value[k - 1] + here) / 2 : 0, high = (here + above) / 2;
    int even = !(k & 1);
    return (even ? x >= low : x > low) && (k == top || (even ? x <= high : x < high));
}

static void check_half_f32(const half *h, uint32_t bits)
{
    float x = gcut_float_f32(bits);
    unsigned got = h->to_f32(x), sign = bits >> 31 << 15;
    int ok = isnan(x) ? isnan(h->from((uint16_t)got))
                      : (got & 0x8000) == sign && is_nearest(h, fabs((double)x), got & 0x7fff);
    if (!ok || h->to_f64((double)x) != got) fail_msg("%a becomes %#x", (double)x, got);
}

/* Every half, every midpoint between two, and the floats and doubles beside it. */
static void check_halves(half *h)
{
    unsigned top = 0x7fffu >> h->fraction_bits << h->fraction_bits;
    for (unsigned b = 0; b < 0x8000; b++) h->value[b] = half_value(b, h->fraction_bits, h->bias);
    for (unsigned b = 0; b < 0x10000; b++) {
        double v = half_value(b, h->fraction_bits, h->bias), x = (double)h->from((uint16_t)b);
        assert_true(isnan(v) ? isnan(x) : x == v && !signbit(x) == !signbit(v));
        if (isnan(v)) continue;
        assert_int_equal(h->to_f32((float)v), b);
        assert_int_equal(h->to_f64(v), b);
        if ((b & 0x7fff) >= top) continue;
        double above = (b & 0x7fff) + 1 == top ? ldexp(1, h->bias + 1) : h->value[(b & 0x7fff) + 1];
        double middle = fabs(v) / 2 + above / 2;
        double near[] = {middle, nextafter(middle, 0), nextafter(middle, INFINITY), nextafter(fabs(v), 0),
                         nextafter(fabs(v), INFINITY)};
        for (size_t k = 0; k < sizeof near / sizeof *near; k++)
            assert_int_equal(h->to_f64(copysign(near[k], v)), (b & 0x8000) | nearest_half(h, near[k]));
        for (int k = -1; k <= 1; k++)
            check_half_f32(h, gcut_bits_f32((float)copysign(middle, v)) + (uint32_t)k);
    }
    assert_true(isnan(h->from(h->to_f64(NAN))));
    assert_int_equal(h->to_f64(1e300), top);
    assert_int_equal(h->to_f64(-1e-300), 0x8000);
    uint32_t step = getenv("GCUT_EXHAUSTIVE") ? 1 : 9973;
    for (uint64_t b = 0; b <= UINT32_MAX; b += step) check_half_f32(h, (uint32_t)b);
}

/* An i64 through gcut_odd_f64 rounds once. */
static void test_halves(void **state)
{
    (void)state;
    static half f16 = {10, 15, gcut_from_f16, gcut_to_f16_f32, gcut_to_f16_f64, {0}};
    static half bf16 = {7, 127, gcut_from_bf16, gcut_to_bf16_f32, gcut_to_bf16_f64, {0}};
    check_halves(&f16);
    check_halves(&bf16);
    for (int sign = -1; sign <= 1; sign += 2)
        for (int e = 9; e < 63; e++) {
            int64_t one = INT64_C(1) << e, tie = sign * (one + (one >> 8));
            for (int k = -1; k <= 1; k++) {
                double want = k * sign > 0 ? (double)one * (1 + 0x1p-7) : (double)one; /* ties to even */
                assert_true(gcut_from_bf16(gcut_to_bf16_f64(gcut_odd_f64(tie + k))) == sign * want);
            }
        }
    assert_true(gcut_from_bf16(gcut_to_bf16_f64(gcut_odd_f64(INT64_MIN))) == -0x1p63);
    assert_true(gcut_from_bf16(gcut_to_bf16_f64(gcut_odd_f64(INT64_MAX))) == 0x1p63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_clamp_and_select),
        cmocka_unit_test(test_f64),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
