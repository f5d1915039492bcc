/* SPDX-License-Identifier: MIT
 *
 * The functions of f64.  They call libm where it has the function (below 1 ulp in glibc), and are not
 * vectorised there.
 */
#ifndef GRADCUT_RT_MATH_F64_H
#define GRADCUT_RT_MATH_F64_H

#include <math.h>

#include "gradcut/rt_bits.h"

GCUT_INLINE double gcut_abs_f64(double x)
{
    return __builtin_fabs(x);
}
GCUT_INLINE double gcut_sign_f64(double x)
{
    return x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : x;
}
GCUT_INLINE double gcut_exp_f64(double x)
{
    return exp(x);
}
GCUT_INLINE double gcut_expm1_f64(double x)
{
    return expm1(x);
}
GCUT_INLINE double gcut_log_f64(double x)
{
    return log(x);
}
GCUT_INLINE double gcut_log1p_f64(double x)
{
    return log1p(x);
}
GCUT_INLINE double gcut_sqrt_f64(double x)
{
    return __builtin_sqrt(x);
}
GCUT_INLINE double gcut_rsqrt_f64(double x)
{
    return 1.0 / __builtin_sqrt(x);
}
GCUT_INLINE double gcut_sin_f64(double x)
{
    return sin(x);
}
GCUT_INLINE double gcut_cos_f64(double x)
{
    return cos(x);
}
GCUT_INLINE double gcut_atan_f64(double x)
{
    return atan(x);
}
GCUT_INLINE double gcut_tanh_f64(double x)
{
    return tanh(x);
}
GCUT_INLINE double gcut_erf_f64(double x)
{
    return erf(x);
}
GCUT_INLINE double gcut_pow_f64(double a, double b)
{
    return pow(a, b);
}
GCUT_INLINE double gcut_div_f64(double a, double b)
{
    return a / b;
}
GCUT_INLINE double gcut_floor_f64(double x)
{
    return __builtin_floor(x);
}
GCUT_INLINE double gcut_ceil_f64(double x)
{
    return __builtin_ceil(x);
}
GCUT_INLINE double gcut_round_f64(double x)
{
    return __builtin_rint(x);
}
GCUT_INLINE double gcut_mod_f64(double a, double b)
{
    return a - __builtin_floor(a / b) * b;
}
GCUT_INLINE double gcut_relu_f64(double x)
{
    return x <= 0 ? 0.0 : x;
}
GCUT_INLINE double gcut_max_f64(double a, double b)
{
    return a > b || a != a ? a : b;
}
GCUT_INLINE double gcut_min_f64(double a, double b)
{
    return a < b || a != a ? a : b;
}
GCUT_INLINE double gcut_mul_f64(double a, double b)
{
    return a * b;
}
GCUT_INLINE double gcut_clamp_f64(double x, double lo, double hi)
{
    double t = x < lo ? lo : x;
    return t > hi ? hi : t;
}
/* 3 ulp */
GCUT_INLINE double gcut_sigmoid_f64(double x)
{
    double e = exp(-__builtin_fabs(x));
    return (x < 0 ? e : 1.0) / (1.0 + e);
}
GCUT_INLINE double gcut_silu_f64(double x)
{
    double e = exp(-__builtin_fabs(x));
    return (x < 0 ? x * e : x) / (1.0 + e);
}
GCUT_INLINE double gcut_softplus_f64(double x)
{
    return (x > 0 ? x : 0.0) + log1p(exp(-__builtin_fabs(x)));
}
/* Relative error (4 + x^2) 2^-53 in the negative tail, from the rounding of erfc's argument. */
GCUT_INLINE double gcut_gelu_f64(double x)
{
    return 0.5 * x * erfc(-0.70710678118654752440 * x);
}
/* Relative error (4 + 4 |u|) 2^-53. */
GCUT_INLINE double gcut_gelu_tanh_f64(double x)
{
    double u = 1.5957691216057307 * __builtin_fabs(x) * (1.0 + 0.044715 * x * x), e = exp(-u);
    return (x < 0 ? x * e : x) / (1.0 + e);
}

#endif
