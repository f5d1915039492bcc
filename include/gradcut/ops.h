/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One function for each op, written by tests/graph/test_ops_header.c from graph/ops/ops.def: do not edit.
 *
 * gcut_exp(x) is gcut_exp_at with the caller's file and line.  Attributes are parameters; those with a
 * default are last and may be left out: gcut_gelu(x), gcut_gelu(x, "tanh").  Where there are several they
 * are one struct, whose zeros are the defaults: gcut_cross_entropy(z, t),
 * gcut_cross_entropy(z, t, (gcut_cross_entropy_options){.smooth = 0.1}).
 *
 * Axes below 0 count from the last.  Operands of elementwise ops are broadcast as in NumPy, except that a
 * symbol never broadcasts.  Reductions over no axes are over all: gcut_sum(x); gcut_sum(x, 0, 2);
 * gcut_sum_keep(x, -1) keeps the axis, with size 1.  gcut_reshape(x, N, -1) infers one size.
 * Values drawn from one key and of one shape are the same: a graph that draws twice splits its key.
 * Indices count from 0; one that is outside of its axis is an error of the run, with the line of the op.
 *
 * Each returns a null value when it fails, or is given one: see gcut_val. */
#ifndef GRADCUT_OPS_H
#define GRADCUT_OPS_H

#include "gradcut/value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */

/* neg: -x */
GCUT_API gcut_val gcut_neg_at(gcut_here at, gcut_val x);
#define gcut_neg(...) gcut_neg_at(GCUT_HERE, __VA_ARGS__)

/* abs: |x| */
GCUT_API gcut_val gcut_abs_at(gcut_here at, gcut_val x);
#define gcut_abs(...) gcut_abs_at(GCUT_HERE, __VA_ARGS__)

/* sign: -1, 0 or 1; NaN stays NaN */
GCUT_API gcut_val gcut_sign_at(gcut_here at, gcut_val x);
#define gcut_sign(...) gcut_sign_at(GCUT_HERE, __VA_ARGS__)

/* exp: e^x */
GCUT_API gcut_val gcut_exp_at(gcut_here at, gcut_val x);
#define gcut_exp(...) gcut_exp_at(GCUT_HERE, __VA_ARGS__)

/* expm1: e^x - 1, accurate near 0 */
GCUT_API gcut_val gcut_expm1_at(gcut_here at, gcut_val x);
#define gcut_expm1(...) gcut_expm1_at(GCUT_HERE, __VA_ARGS__)

/* log: natural logarithm */
GCUT_API gcut_val gcut_log_at(gcut_here at, gcut_val x);
#define gcut_log(...) gcut_log_at(GCUT_HERE, __VA_ARGS__)

/* log1p: log(1 + x), accurate near 0 */
GCUT_API gcut_val gcut_log1p_at(gcut_here at, gcut_val x);
#define gcut_log1p(...) gcut_log1p_at(GCUT_HERE, __VA_ARGS__)

/* sqrt: square root */
GCUT_API gcut_val gcut_sqrt_at(gcut_here at, gcut_val x);
#define gcut_sqrt(...) gcut_sqrt_at(GCUT_HERE, __VA_ARGS__)

/* rsqrt: 1 / sqrt(x) */
GCUT_API gcut_val gcut_rsqrt_at(gcut_here at, gcut_val x);
#define gcut_rsqrt(...) gcut_rsqrt_at(GCUT_HERE, __VA_ARGS__)

/* sin: sine */
GCUT_API gcut_val gcut_sin_at(gcut_here at, gcut_val x);
#define gcut_sin(...) gcut_sin_at(GCUT_HERE, __VA_ARGS__)

/* cos: cosine */
GCUT_API gcut_val gcut_cos_at(gcut_here at, gcut_val x);
#define gcut_cos(...) gcut_cos_at(GCUT_HERE, __VA_ARGS__)

/* tanh: hyperbolic tangent */
GCUT_API gcut_val gcut_tanh_at(gcut_here at, gcut_val x);
#define gcut_tanh(...) gcut_tanh_at(GCUT_HERE, __VA_ARGS__)

/* sigmoid: 1 / (1 + e^-x) */
GCUT_API gcut_val gcut_sigmoid_at(gcut_here at, gcut_val x);
#define gcut_sigmoid(...) gcut_sigmoid_at(GCUT_HERE, __VA_ARGS__)

/* erf: error function */
GCUT_API gcut_val gcut_erf_at(gcut_here at, gcut_val x);
#define gcut_erf(...) gcut_erf_at(GCUT_HERE, __VA_ARGS__)

/* relu: max(x, 0); derivative 0 at 0 */
GCUT_API gcut_val gcut_relu_at(gcut_here at, gcut_val x);
#define gcut_relu(...) gcut_relu_at(GCUT_HERE, __VA_ARGS__)

/* gelu: x * Phi(x), or its tanh approximation */
GCUT_API gcut_val gcut_gelu_at(gcut_here at, gcut_val x, const char *approx GCUT_ELSE_("none"));
#define gcut_gelu(...) gcut_gelu_at(GCUT_HERE, GCUT_OPTIONAL_(1, const char *, "none", __VA_ARGS__))

/* silu: x * sigmoid(x) */
GCUT_API gcut_val gcut_silu_at(gcut_here at, gcut_val x);
#define gcut_silu(...) gcut_silu_at(GCUT_HERE, __VA_ARGS__)

/* softplus: log(1 + e^x) */
GCUT_API gcut_val gcut_softplus_at(gcut_here at, gcut_val x);
#define gcut_softplus(...) gcut_softplus_at(GCUT_HERE, __VA_ARGS__)

/* elu: x > 0 ? x : alpha (e^x - 1); derivative alpha at 0 */
GCUT_API gcut_val gcut_elu_at(gcut_here at, gcut_val x, double alpha GCUT_ELSE_(1));
#define gcut_elu(...) gcut_elu_at(GCUT_HERE, GCUT_OPTIONAL_(1, double , 1, __VA_ARGS__))

/* leaky_relu: x > 0 ? x : slope x; derivative slope at 0 */
GCUT_API gcut_val gcut_leaky_relu_at(gcut_here at, gcut_val x, double slope GCUT_ELSE_(0.01));
#define gcut_leaky_relu(...) gcut_leaky_relu_at(GCUT_HERE, GCUT_OPTIONAL_(1, double , 0.01, __VA_ARGS__))

/* prelu: x > 0 ? x : slope * x for x [N, C, ...]; slope is [C], one for each channel, or [1], one for all;
 * the result has x's type */
GCUT_API gcut_val gcut_prelu_at(gcut_here at, gcut_val x, gcut_val slope);
#define gcut_prelu(...) gcut_prelu_at(GCUT_HERE, __VA_ARGS__)

/* hardsigmoid: x / 6 + 1 / 2 in -3 < x < 3, 0 or 1 outside; derivative 0 at -3 and 3 */
GCUT_API gcut_val gcut_hardsigmoid_at(gcut_here at, gcut_val x);
#define gcut_hardsigmoid(...) gcut_hardsigmoid_at(GCUT_HERE, __VA_ARGS__)

/* hardswish: x hardsigmoid(x), 0 at -inf; derivative 0 at -3, 1 at 3 */
GCUT_API gcut_val gcut_hardswish_at(gcut_here at, gcut_val x);
#define gcut_hardswish(...) gcut_hardswish_at(GCUT_HERE, __VA_ARGS__)

/* mish: x tanh(softplus(x)) */
GCUT_API gcut_val gcut_mish_at(gcut_here at, gcut_val x);
#define gcut_mish(...) gcut_mish_at(GCUT_HERE, __VA_ARGS__)

/* tan: sin x / cos x */
GCUT_API gcut_val gcut_tan_at(gcut_here at, gcut_val x);
#define gcut_tan(...) gcut_tan_at(GCUT_HERE, __VA_ARGS__)

/* atan: arc tangent */
GCUT_API gcut_val gcut_atan_at(gcut_here at, gcut_val x);
#define gcut_atan(...) gcut_atan_at(GCUT_HERE, __VA_ARGS__)

/* asin: arc sine; NaN outside of -1 <= x <= 1 */
GCUT_API gcut_val gcut_asin_at(gcut_here at, gcut_val x);
#define gcut_asin(...) gcut_asin_at(GCUT_HERE, __VA_ARGS__)

/* acos: arc cosine; NaN outside of -1 <= x <= 1 */
GCUT_API gcut_val gcut_acos_at(gcut_here at, gcut_val x);
#define gcut_acos(...) gcut_acos_at(GCUT_HERE, __VA_ARGS__)

/* sinh: hyperbolic sine, accurate near 0 */
GCUT_API gcut_val gcut_sinh_at(gcut_here at, gcut_val x);
#define gcut_sinh(...) gcut_sinh_at(GCUT_HERE, __VA_ARGS__)

/* cosh: hyperbolic cosine */
GCUT_API gcut_val gcut_cosh_at(gcut_here at, gcut_val x);
#define gcut_cosh(...) gcut_cosh_at(GCUT_HERE, __VA_ARGS__)

/* asinh: inverse hyperbolic sine, accurate near 0 */
GCUT_API gcut_val gcut_asinh_at(gcut_here at, gcut_val x);
#define gcut_asinh(...) gcut_asinh_at(GCUT_HERE, __VA_ARGS__)

/* acosh: inverse hyperbolic cosine; NaN below 1 */
GCUT_API gcut_val gcut_acosh_at(gcut_here at, gcut_val x);
#define gcut_acosh(...) gcut_acosh_at(GCUT_HERE, __VA_ARGS__)

/* atanh: inverse hyperbolic tangent, accurate near 0; NaN outside of -1 <= x <= 1 */
GCUT_API gcut_val gcut_atanh_at(gcut_here at, gcut_val x);
#define gcut_atanh(...) gcut_atanh_at(GCUT_HERE, __VA_ARGS__)

/* floor: largest integer <= x */
GCUT_API gcut_val gcut_floor_at(gcut_here at, gcut_val x);
#define gcut_floor(...) gcut_floor_at(GCUT_HERE, __VA_ARGS__)

/* ceil: smallest integer >= x */
GCUT_API gcut_val gcut_ceil_at(gcut_here at, gcut_val x);
#define gcut_ceil(...) gcut_ceil_at(GCUT_HERE, __VA_ARGS__)

/* round: nearest integer, ties to even */
GCUT_API gcut_val gcut_round_at(gcut_here at, gcut_val x);
#define gcut_round(...) gcut_round_at(GCUT_HERE, __VA_ARGS__)

/* not: logical (bool) or bitwise (int) complement */
GCUT_API gcut_val gcut_not_at(gcut_here at, gcut_val x);
#define gcut_not(...) gcut_not_at(GCUT_HERE, __VA_ARGS__)

/* isnan: is it NaN */
GCUT_API gcut_val gcut_isnan_at(gcut_here at, gcut_val x);
#define gcut_isnan(...) gcut_isnan_at(GCUT_HERE, __VA_ARGS__)

/* cast: value in another dtype */
GCUT_API gcut_val gcut_cast_at(gcut_here at, gcut_val x, gcut_dtype to);
#define gcut_cast(...) gcut_cast_at(GCUT_HERE, __VA_ARGS__)

/* stop_gradient: x, with derivative 0 */
GCUT_API gcut_val gcut_stop_gradient_at(gcut_here at, gcut_val x);
#define gcut_stop_gradient(...) gcut_stop_gradient_at(GCUT_HERE, __VA_ARGS__)

/* add: a + b */
GCUT_API gcut_val gcut_add_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_add(...) gcut_add_at(GCUT_HERE, __VA_ARGS__)

/* sub: a - b */
GCUT_API gcut_val gcut_sub_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_sub(...) gcut_sub_at(GCUT_HERE, __VA_ARGS__)

/* mul: a * b */
GCUT_API gcut_val gcut_mul_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_mul(...) gcut_mul_at(GCUT_HERE, __VA_ARGS__)

/* div: a / b; integers floor */
GCUT_API gcut_val gcut_div_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_div(...) gcut_div_at(GCUT_HERE, __VA_ARGS__)

/* pow: a^b */
GCUT_API gcut_val gcut_pow_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_pow(...) gcut_pow_at(GCUT_HERE, __VA_ARGS__)

/* max: larger; NaN wins; a tie shares the derivative */
GCUT_API gcut_val gcut_max_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_max(...) gcut_max_at(GCUT_HERE, __VA_ARGS__)

/* min: smaller; NaN wins; a tie shares the derivative */
GCUT_API gcut_val gcut_min_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_min(...) gcut_min_at(GCUT_HERE, __VA_ARGS__)

/* mod: a - floor(a / b) * b */
GCUT_API gcut_val gcut_mod_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_mod(...) gcut_mod_at(GCUT_HERE, __VA_ARGS__)

/* and: logical or bitwise and */
GCUT_API gcut_val gcut_and_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_and(...) gcut_and_at(GCUT_HERE, __VA_ARGS__)

/* or: logical or bitwise or */
GCUT_API gcut_val gcut_or_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_or(...) gcut_or_at(GCUT_HERE, __VA_ARGS__)

/* xor: logical or bitwise exclusive or */
GCUT_API gcut_val gcut_xor_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_xor(...) gcut_xor_at(GCUT_HERE, __VA_ARGS__)

/* eq: a == b */
GCUT_API gcut_val gcut_eq_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_eq(...) gcut_eq_at(GCUT_HERE, __VA_ARGS__)

/* ne: a != b */
GCUT_API gcut_val gcut_ne_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_ne(...) gcut_ne_at(GCUT_HERE, __VA_ARGS__)

/* lt: a < b */
GCUT_API gcut_val gcut_lt_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_lt(...) gcut_lt_at(GCUT_HERE, __VA_ARGS__)

/* le: a <= b */
GCUT_API gcut_val gcut_le_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_le(...) gcut_le_at(GCUT_HERE, __VA_ARGS__)

/* gt: a > b */
GCUT_API gcut_val gcut_gt_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_gt(...) gcut_gt_at(GCUT_HERE, __VA_ARGS__)

/* ge: a >= b */
GCUT_API gcut_val gcut_ge_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_ge(...) gcut_ge_at(GCUT_HERE, __VA_ARGS__)

/* select: p ? a : b, elementwise */
GCUT_API gcut_val gcut_select_at(gcut_here at, gcut_val p, gcut_val a, gcut_val b);
#define gcut_select(...) gcut_select_at(GCUT_HERE, __VA_ARGS__)

/* clamp: min(max(x, lo), hi); derivative passes at the bounds */
GCUT_API gcut_val gcut_clamp_at(gcut_here at, gcut_val x, double lo, double hi);
#define gcut_clamp(...) gcut_clamp_at(GCUT_HERE, __VA_ARGS__)

/* reshape: same elements, another shape, row-major */
GCUT_API gcut_val gcut_reshape_at(gcut_here at, gcut_val x, gcut_shape shape);
#define gcut_reshape(...) gcut_reshape_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)))

/* transpose: result axis k is operand axis perm[k] */
GCUT_API gcut_val gcut_transpose_at(gcut_here at, gcut_val x, gcut_shape perm);
#define gcut_transpose(...) gcut_transpose_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)))

/* broadcast: operand axis k lands on result axis axes[k]; others repeat */
GCUT_API gcut_val gcut_broadcast_at(gcut_here at, gcut_val x, gcut_shape shape, gcut_shape axes);
#define gcut_broadcast(...) gcut_broadcast_at(GCUT_HERE, __VA_ARGS__)

/* slice: elements start, start+step, … below limit */
GCUT_API gcut_val gcut_slice_all_at(gcut_here at, gcut_val x, gcut_shape start, gcut_shape limit, gcut_shape step GCUT_ELSE_(gcut_shape()));
#define gcut_slice_all(...) gcut_slice_all_at(GCUT_HERE, GCUT_OPTIONAL_(3, gcut_shape , {0}, __VA_ARGS__))

/* pad: surround, and space out by interior, with value */
typedef struct gcut_pad_options {
    double value;
    gcut_shape interior; /* {0} = not given */
} gcut_pad_options;
GCUT_API gcut_val gcut_pad_at(gcut_here at, gcut_val x, gcut_shape low, gcut_shape high, gcut_pad_options how GCUT_ELSE_(gcut_pad_options()));
#define gcut_pad(...) gcut_pad_at(GCUT_HERE, GCUT_OPTIONAL_(3, gcut_pad_options, {0}, __VA_ARGS__))

/* flip: reverse along axes */
GCUT_API gcut_val gcut_flip_at(gcut_here at, gcut_val x, gcut_shape axes);
#define gcut_flip(...) gcut_flip_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)))

/* roll: y[.., i, ..] = x[.., (i - shift) mod n, ..] along axis, n being its size: elements move by shift, a
 * constant integer, to higher indices, or to lower ones if it is negative, and those that leave one end enter
 * at the other; the result has x's type */
GCUT_API gcut_val gcut_roll_at(gcut_here at, gcut_val x, int axis, double shift);
#define gcut_roll(...) gcut_roll_at(GCUT_HERE, __VA_ARGS__)

/* triu: x[.., i, j] where j - i >= diagonal, else 0, i and j being the last two of x's axes; diagonal, an
 * integer, is 0 for the main diagonal, the default, and positive above it; the result has x's type */
GCUT_API gcut_val gcut_triu_at(gcut_here at, gcut_val x, double diagonal GCUT_ELSE_(0));
#define gcut_triu(...) gcut_triu_at(GCUT_HERE, GCUT_OPTIONAL_(1, double , 0, __VA_ARGS__))

/* tril: x[.., i, j] where j - i <= diagonal, else 0, i and j being the last two of x's axes; diagonal, an
 * integer, is 0 for the main diagonal, the default, and positive above it; the result has x's type */
GCUT_API gcut_val gcut_tril_at(gcut_here at, gcut_val x, double diagonal GCUT_ELSE_(0));
#define gcut_tril(...) gcut_tril_at(GCUT_HERE, GCUT_OPTIONAL_(1, double , 0, __VA_ARGS__))

/* masked_fill: mask ? value : x, elementwise; mask is bool, of x's shape, and is not broadcast; value is a
 * number, which gets x's dtype; the result has x's type */
GCUT_API gcut_val gcut_masked_fill_at(gcut_here at, gcut_val x, gcut_val mask, double value);
#define gcut_masked_fill(...) gcut_masked_fill_at(GCUT_HERE, __VA_ARGS__)

/* reflection_pad: x with low[d] elements before and high[d] after it on axis d, mirrored at the element at
 * the edge, which is not repeated: 2 1 [0 1 2] 1 0; low and high have an item for each axis of x, each below
 * its size */
GCUT_API gcut_val gcut_reflection_pad_at(gcut_here at, gcut_val x, gcut_shape low, gcut_shape high);
#define gcut_reflection_pad(...) gcut_reflection_pad_at(GCUT_HERE, __VA_ARGS__)

/* replication_pad: x with low[d] copies of its first element before and high[d] of its last one after it on
 * axis d: 0 0 [0 1 2] 2 2; low and high have an item for each axis of x, which must have an element where the
 * item is not 0 */
GCUT_API gcut_val gcut_replication_pad_at(gcut_here at, gcut_val x, gcut_shape low, gcut_shape high);
#define gcut_replication_pad(...) gcut_replication_pad_at(GCUT_HERE, __VA_ARGS__)

/* circular_pad: x with low[d] elements of its end before and high[d] of its start after it on axis d: 1 2 [0
 * 1 2] 0 1; low and high have an item for each axis of x, each at most its size */
GCUT_API gcut_val gcut_circular_pad_at(gcut_here at, gcut_val x, gcut_shape low, gcut_shape high);
#define gcut_circular_pad(...) gcut_circular_pad_at(GCUT_HERE, __VA_ARGS__)

/* dim: the size as an i64 scalar */
GCUT_API gcut_val gcut_dim_of_at(gcut_here at, gcut_graph *g, gcut_dim of);
#define gcut_dim_of(...) gcut_dim_of_at(GCUT_HERE, __VA_ARGS__)

/* full: every element is value */
GCUT_API gcut_val gcut_full_at(gcut_here at, gcut_graph *g, gcut_dtype dtype, gcut_shape shape, double value);
#define gcut_full(...) gcut_full_at(GCUT_HERE, __VA_ARGS__)

/* iota: the element's index along axis */
GCUT_API gcut_val gcut_iota_at(gcut_here at, gcut_graph *g, gcut_dtype dtype, gcut_shape shape, int axis);
#define gcut_iota(...) gcut_iota_at(GCUT_HERE, __VA_ARGS__)

/* sum: sum over axes */
GCUT_API gcut_val gcut_sum_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep);
#define gcut_sum(...) gcut_sum_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), false)
#define gcut_sum_keep(...) gcut_sum_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), true)

/* mean: sum over axes divided by their size */
GCUT_API gcut_val gcut_mean_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep);
#define gcut_mean(...) gcut_mean_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), false)
#define gcut_mean_keep(...) gcut_mean_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), true)

/* var: sum of (x - mean)^2 over axes divided by max(n - correction, 0), n being the number of elements that
 * are summed; correction is 1 unless given; no axes: over all; keep: the axes stay, with size 1 */
typedef struct gcut_var_options {
    bool keep;
    double correction; /* 0 = 1; GCUT_ZERO = 0 */
} gcut_var_options;
GCUT_API gcut_val gcut_var_at(gcut_here at, gcut_val x, gcut_shape axes, gcut_var_options how GCUT_ELSE_(gcut_var_options()));
#define gcut_var(...) gcut_var_at(GCUT_HERE, GCUT_OPTIONAL_(2, gcut_var_options, {0}, __VA_ARGS__))

/* std: square root of var: sqrt(sum of (x - mean)^2 over axes / max(n - correction, 0)), n being the number
 * of elements that are summed; correction is 1 unless given; no axes: over all; keep: the axes stay, with
 * size 1 */
typedef struct gcut_std_options {
    bool keep;
    double correction; /* 0 = 1; GCUT_ZERO = 0 */
} gcut_std_options;
GCUT_API gcut_val gcut_std_at(gcut_here at, gcut_val x, gcut_shape axes, gcut_std_options how GCUT_ELSE_(gcut_std_options()));
#define gcut_std(...) gcut_std_at(GCUT_HERE, GCUT_OPTIONAL_(2, gcut_std_options, {0}, __VA_ARGS__))

/* max_reduce: largest over axes; NaN wins; ties share the derivative */
GCUT_API gcut_val gcut_max_reduce_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep);
#define gcut_max_reduce(...) gcut_max_reduce_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), false)
#define gcut_max_reduce_keep(...) gcut_max_reduce_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), true)

/* min_reduce: smallest over axes; NaN wins; ties share the derivative */
GCUT_API gcut_val gcut_min_reduce_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep);
#define gcut_min_reduce(...) gcut_min_reduce_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), false)
#define gcut_min_reduce_keep(...) gcut_min_reduce_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), true)

/* prod: product over axes */
GCUT_API gcut_val gcut_prod_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep);
#define gcut_prod(...) gcut_prod_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), false)
#define gcut_prod_keep(...) gcut_prod_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), true)

/* argmax: index of the first largest element along axis; NaN wins */
GCUT_API gcut_val gcut_argmax_at(gcut_here at, gcut_val x, int axis);
#define gcut_argmax(...) gcut_argmax_at(GCUT_HERE, __VA_ARGS__)

/* argmin: index of the first smallest element along axis; NaN wins */
GCUT_API gcut_val gcut_argmin_at(gcut_here at, gcut_val x, int axis);
#define gcut_argmin(...) gcut_argmin_at(GCUT_HERE, __VA_ARGS__)

/* cumsum: sum of the elements up to each along axis, or from it on if reverse */
GCUT_API gcut_val gcut_cumsum_at(gcut_here at, gcut_val x, int axis, bool reverse GCUT_ELSE_(false));
#define gcut_cumsum(...) gcut_cumsum_at(GCUT_HERE, GCUT_OPTIONAL_(2, bool , false, __VA_ARGS__))

/* cumprod: product of the elements up to each along axis, or from it on if reverse; takes n^2 steps, and n^3
 * backwards */
GCUT_API gcut_val gcut_cumprod_at(gcut_here at, gcut_val x, int axis, bool reverse GCUT_ELSE_(false));
#define gcut_cumprod(...) gcut_cumprod_at(GCUT_HERE, GCUT_OPTIONAL_(2, bool , false, __VA_ARGS__))

/* conv_nd: conv2d over the 1 to 3 spatial axes of x [N, C, ..], those after C, with w [O, C/groups, ..] of
 * the same rank; the result is [N, O, ..], each spatial size (before + n + after - dilation * (k - 1) - 1)
 * div stride + 1 for k elements of w; stride and dilation have an item for each spatial axis, 1 unless given;
 * pad has the zeros before each spatial axis, then those after each, 0 unless given; groups, 1 unless given,
 * is into how many parts the channels are divided, each with weights of its own */
typedef struct gcut_conv_nd_options {
    gcut_dim groups; /* 0 = 1 */
    gcut_shape stride; /* {0} = not given */
    gcut_shape pad; /* {0} = not given */
    gcut_shape dilation; /* {0} = not given */
} gcut_conv_nd_options;
GCUT_API gcut_val gcut_conv_nd_at(gcut_here at, gcut_val x, gcut_val w, gcut_conv_nd_options how GCUT_ELSE_(gcut_conv_nd_options()));
#define gcut_conv_nd(...) gcut_conv_nd_at(GCUT_HERE, GCUT_OPTIONAL_(2, gcut_conv_nd_options, {0}, __VA_ARGS__))

/* conv_transpose_nd: the transpose of conv_nd: of x [N, C, ..], with 1 to 3 spatial axes after C, and w [C,
 * O/groups, ..] of the same rank it makes [N, O, ..], each spatial size (n - 1) * stride + dilation * (k - 1)
 * + 1 - before - after + output_pad for k elements of w; stride and dilation have an item for each spatial
 * axis, 1 unless given; pad has what is cut off before each spatial axis, then after each, 0 unless given;
 * output_pad has the elements by which each is longer at its end, 0 unless given; groups is that of conv_nd,
 * 1 unless given */
typedef struct gcut_conv_transpose_nd_options {
    gcut_dim groups; /* 0 = 1 */
    gcut_shape stride; /* {0} = not given */
    gcut_shape pad; /* {0} = not given */
    gcut_shape dilation; /* {0} = not given */
    gcut_shape output_pad; /* {0} = not given */
} gcut_conv_transpose_nd_options;
GCUT_API gcut_val gcut_conv_transpose_nd_at(gcut_here at, gcut_val x, gcut_val w, gcut_conv_transpose_nd_options how GCUT_ELSE_(gcut_conv_transpose_nd_options()));
#define gcut_conv_transpose_nd(...) gcut_conv_transpose_nd_at(GCUT_HERE, GCUT_OPTIONAL_(2, gcut_conv_transpose_nd_options, {0}, __VA_ARGS__))

/* max_pool_nd: largest element in each window of x [N, C, ..] over its 1 to 3 spatial axes, those after C;
 * NaN wins, padding never does; window and stride have an item for each spatial axis; stride is the window
 * unless given; pad has the elements before each spatial axis, then those after each, below the window, 0
 * unless given; the result is [N, C, ..], each spatial size (before + n + after - window) div stride + 1;
 * ceil: also a last window that is not full, if it begins in x or in the padding before it, for which n must
 * be a number */
typedef struct gcut_max_pool_nd_options {
    bool ceil;
    gcut_shape stride; /* {0} = not given */
    gcut_shape pad; /* {0} = not given */
} gcut_max_pool_nd_options;
GCUT_API gcut_val gcut_max_pool_nd_at(gcut_here at, gcut_val x, gcut_shape window, gcut_max_pool_nd_options how GCUT_ELSE_(gcut_max_pool_nd_options()));
#define gcut_max_pool_nd(...) gcut_max_pool_nd_at(GCUT_HERE, GCUT_OPTIONAL_(2, gcut_max_pool_nd_options, {0}, __VA_ARGS__))

/* avg_pool_nd: mean of each window of x [N, C, ..]; window, stride, pad, ceil and the result are those of
 * max_pool_nd; padding counts as zeros, or with skip_pad not at all; what ceil adds after the padding does
 * not count */
typedef struct gcut_avg_pool_nd_options {
    bool ceil;
    bool skip_pad;
    gcut_shape stride; /* {0} = not given */
    gcut_shape pad; /* {0} = not given */
} gcut_avg_pool_nd_options;
GCUT_API gcut_val gcut_avg_pool_nd_at(gcut_here at, gcut_val x, gcut_shape window, gcut_avg_pool_nd_options how GCUT_ELSE_(gcut_avg_pool_nd_options()));
#define gcut_avg_pool_nd(...) gcut_avg_pool_nd_at(GCUT_HERE, GCUT_OPTIONAL_(2, gcut_avg_pool_nd_options, {0}, __VA_ARGS__))

/* adaptive_avg_pool: mean of each of shape[k] windows along each of the last axes of x, for which shape has
 * an item each; window i of m over n elements has the elements floor(i n / m) to ceil((i + 1) n / m) - 1; the
 * result has x's other axes, then the sizes of shape: [N, C, H, W] with a shape of [1, 1] becomes [N, C, 1,
 * 1] */
GCUT_API gcut_val gcut_adaptive_avg_pool_at(gcut_here at, gcut_val x, gcut_shape shape);
#define gcut_adaptive_avg_pool(...) gcut_adaptive_avg_pool_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)))

/* adaptive_max_pool: largest element of each window of adaptive_avg_pool, with the same shapes; NaN wins */
GCUT_API gcut_val gcut_adaptive_max_pool_at(gcut_here at, gcut_val x, gcut_shape shape);
#define gcut_adaptive_max_pool(...) gcut_adaptive_max_pool_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)))

/* take: elements of x along axis at the indices i, i32 or i64 of any shape; the result has the shape x[:axis]
 * + i + x[axis+1:] */
GCUT_API gcut_val gcut_take_at(gcut_here at, gcut_val x, gcut_val i, int axis);
#define gcut_take(...) gcut_take_at(GCUT_HERE, __VA_ARGS__)

/* pick: one element of x along axis for each index: i, i32 or i64, has x's shape without axis, and so has the
 * result */
GCUT_API gcut_val gcut_pick_at(gcut_here at, gcut_val x, gcut_val i, int axis);
#define gcut_pick(...) gcut_pick_at(GCUT_HERE, __VA_ARGS__)

/* take_along: y[.., j, ..] = x[.., i[.., j, ..], ..] along axis: i, i32 or i64, has x's rank and its sizes on
 * the other axes; the result has i's shape and x's dtype */
GCUT_API gcut_val gcut_take_along_at(gcut_here at, gcut_val x, gcut_val i, int axis);
#define gcut_take_along(...) gcut_take_along_at(GCUT_HERE, __VA_ARGS__)

/* take_nd: the part of x that each index vector names: i [.., K], i32 or i64, has vectors of K indices along
 * its last axis, for the first K axes of x after the first `batch` ones, which x and i share; batch is 0
 * unless given, K a number; the result has the shape i[:-1] + x[batch+K:] */
GCUT_API gcut_val gcut_take_nd_at(gcut_here at, gcut_val x, gcut_val i, gcut_dim batch GCUT_ELSE_(0));
#define gcut_take_nd(...) gcut_take_nd_at(GCUT_HERE, GCUT_OPTIONAL_(2, gcut_dim , 0, __VA_ARGS__))

/* one_hot: 1 at the index along a new last axis of size n, else 0: for i, i32 or i64, 0 <= i < n, the result
 * has i's shape with n after it, and the given dtype */
GCUT_API gcut_val gcut_one_hot_at(gcut_here at, gcut_val i, gcut_dtype dtype, gcut_dim n);
#define gcut_one_hot(...) gcut_one_hot_at(GCUT_HERE, __VA_ARGS__)

/* argsort: indices of the elements along axis in rising order, or falling if descending; NaN is the largest;
 * equal elements keep their order; the result is i64, of x's shape */
GCUT_API gcut_val gcut_argsort_at(gcut_here at, gcut_val x, int axis, bool descending GCUT_ELSE_(false));
#define gcut_argsort(...) gcut_argsort_at(GCUT_HERE, GCUT_OPTIONAL_(2, bool , false, __VA_ARGS__))

/* sort: elements of x along axis in rising order, or falling if descending; NaN is the largest; equal
 * elements keep their order; the result has x's type */
GCUT_API gcut_val gcut_sort_at(gcut_here at, gcut_val x, int axis, bool descending GCUT_ELSE_(false));
#define gcut_sort(...) gcut_sort_at(GCUT_HERE, GCUT_OPTIONAL_(2, bool , false, __VA_ARGS__))

/* bounded: the index itself; one outside of 0 <= i < of is reported, with its source line */
GCUT_API gcut_val gcut_bounded_at(gcut_here at, gcut_val i, gcut_dim of);
#define gcut_bounded(...) gcut_bounded_at(GCUT_HERE, __VA_ARGS__)

/* scatter_add: x with u added at the indices i along axis, i32 or i64 of any shape: the transpose of take; u
 * has the shape x[:axis] + i + x[axis+1:], the result x's type; equal indices add up */
GCUT_API gcut_val gcut_scatter_add_at(gcut_here at, gcut_val x, gcut_val i, gcut_val u, int axis);
#define gcut_scatter_add(...) gcut_scatter_add_at(GCUT_HERE, __VA_ARGS__)

/* scatter_add_along: x with u[.., j, ..] added to its element [.., i[.., j, ..], ..] along axis, for each j:
 * the transpose of take_along; i, i32 or i64, and u have one shape, with x's sizes on the other axes; the
 * result has x's type; equal indices add up */
GCUT_API gcut_val gcut_scatter_add_along_at(gcut_here at, gcut_val x, gcut_val i, gcut_val u, int axis);
#define gcut_scatter_add_along(...) gcut_scatter_add_along_at(GCUT_HERE, __VA_ARGS__)

/* scatter_add_nd: x with u added at the parts that the index vectors name: i [.., K], i32 or i64, has vectors
 * of K indices along its last axis, for the first K axes of x; K is a number; u has the shape i[:-1] + x[K:],
 * the result x's type; equal vectors add up; the transpose of take_nd where that has batch 0 */
GCUT_API gcut_val gcut_scatter_add_nd_at(gcut_here at, gcut_val x, gcut_val i, gcut_val u);
#define gcut_scatter_add_nd(...) gcut_scatter_add_nd_at(GCUT_HERE, __VA_ARGS__)

/* softmax: exp(x - max) / sum exp(x - max) along axis */
GCUT_API gcut_val gcut_softmax_at(gcut_here at, gcut_val x, int axis);
#define gcut_softmax(...) gcut_softmax_at(GCUT_HERE, __VA_ARGS__)

/* log_softmax: x - logsumexp(x) along axis */
GCUT_API gcut_val gcut_log_softmax_at(gcut_here at, gcut_val x, int axis);
#define gcut_log_softmax(...) gcut_log_softmax_at(GCUT_HERE, __VA_ARGS__)

/* logsumexp: log sum exp over axes, stable */
GCUT_API gcut_val gcut_logsumexp_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep);
#define gcut_logsumexp(...) gcut_logsumexp_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), false)
#define gcut_logsumexp_keep(...) gcut_logsumexp_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0)), true)

/* layer_norm: (x - mean) / sqrt(var + eps) * g + b over the last axis */
GCUT_API gcut_val gcut_layer_norm_at(gcut_here at, gcut_val x, gcut_val gain, gcut_val bias, double eps GCUT_ELSE_(1e-05));
#define gcut_layer_norm(...) gcut_layer_norm_at(GCUT_HERE, GCUT_OPTIONAL_(3, double , 1e-05, __VA_ARGS__))

/* rms_norm: x / sqrt(mean x^2 + eps) * g over the last axis */
GCUT_API gcut_val gcut_rms_norm_at(gcut_here at, gcut_val x, gcut_val gain, double eps GCUT_ELSE_(1e-05));
#define gcut_rms_norm(...) gcut_rms_norm_at(GCUT_HERE, GCUT_OPTIONAL_(2, double , 1e-05, __VA_ARGS__))

/* group_norm: (x - mean) / sqrt(var + eps) * g + b over groups of channels of each sample */
GCUT_API gcut_val gcut_group_norm_at(gcut_here at, gcut_val x, gcut_val gain, gcut_val bias, gcut_dim groups, double eps GCUT_ELSE_(1e-05));
#define gcut_group_norm(...) gcut_group_norm_at(GCUT_HERE, GCUT_OPTIONAL_(4, double , 1e-05, __VA_ARGS__))

/* instance_norm: (x - mean) / sqrt(var + eps) * g + b over each channel of each sample */
GCUT_API gcut_val gcut_instance_norm_at(gcut_here at, gcut_val x, gcut_val gain, gcut_val bias, double eps GCUT_ELSE_(1e-05));
#define gcut_instance_norm(...) gcut_instance_norm_at(GCUT_HERE, GCUT_OPTIONAL_(3, double , 1e-05, __VA_ARGS__))

/* cross_entropy: mean over the rows not ignored of -log softmax(logits)[label] */
typedef struct gcut_cross_entropy_options {
    double ignore; /* 0 = -100; GCUT_ZERO = 0 */
    double smooth;
} gcut_cross_entropy_options;
GCUT_API gcut_val gcut_cross_entropy_at(gcut_here at, gcut_val logits, gcut_val labels, gcut_cross_entropy_options how GCUT_ELSE_(gcut_cross_entropy_options()));
#define gcut_cross_entropy(...) gcut_cross_entropy_at(GCUT_HERE, GCUT_OPTIONAL_(2, gcut_cross_entropy_options, {0}, __VA_ARGS__))

/* mse: mean of (a - b)^2 */
GCUT_API gcut_val gcut_mse_at(gcut_here at, gcut_val a, gcut_val b);
#define gcut_mse(...) gcut_mse_at(GCUT_HERE, __VA_ARGS__)

/* huber: mean of d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), d = a - b */
GCUT_API gcut_val gcut_huber_at(gcut_here at, gcut_val a, gcut_val b, double delta GCUT_ELSE_(1));
#define gcut_huber(...) gcut_huber_at(GCUT_HERE, GCUT_OPTIONAL_(2, double , 1, __VA_ARGS__))

/* bce: binary cross entropy: mean of softplus(x) - x t, where sigmoid(x) is the probability and t the
 * target */
GCUT_API gcut_val gcut_bce_at(gcut_here at, gcut_val logits, gcut_val targets);
#define gcut_bce(...) gcut_bce_at(GCUT_HERE, __VA_ARGS__)

/* nll: mean over the rows not ignored of -p[label], p being logarithms of probabilities */
GCUT_API gcut_val gcut_nll_at(gcut_here at, gcut_val log_probs, gcut_val labels, double ignore GCUT_ELSE_(-100));
#define gcut_nll(...) gcut_nll_at(GCUT_HERE, GCUT_OPTIONAL_(2, double , -100, __VA_ARGS__))

/* attention: softmax(q k' scale + bias) v for q [B,H,T,D], k [B,G,S,D], v [B,G,S,E] and bias [B,H,T,S], where
 * G divides H; scale is 1 / sqrt(D) unless given; causal: query t sees the keys s <= t + S - T; the result is
 * [B,H,T,E] */
typedef struct gcut_attention_options {
    bool causal;
    double scale; /* 0 = not given */
    gcut_val bias; /* {0} = not given */
} gcut_attention_options;
GCUT_API gcut_val gcut_attention_at(gcut_here at, gcut_val q, gcut_val k, gcut_val v, gcut_attention_options how GCUT_ELSE_(gcut_attention_options()));
#define gcut_attention(...) gcut_attention_at(GCUT_HERE, GCUT_OPTIONAL_(3, gcut_attention_options, {0}, __VA_ARGS__))

/* upsample: x [N, C, H, W] enlarged to [N, C, H f, W g] by whole factors, factor = [f, g]; mode "nearest",
 * the default, repeats each pixel, "bilinear" interpolates between the centres of pixels, as PyTorch with
 * align_corners=False */
GCUT_API gcut_val gcut_upsample_at(gcut_here at, gcut_val x, gcut_shape factor, const char *mode GCUT_ELSE_("nearest"));
#define gcut_upsample(...) gcut_upsample_at(GCUT_HERE, GCUT_OPTIONAL_(2, const char *, "nearest", __VA_ARGS__))

/* resize: x with its last axes resampled to the sizes of shape, which has an item for each of them; for
 * element i of m, mode "nearest", the default, takes element floor(i n / m) of n; "linear" and "cubic" (Keys,
 * a = -0.75) interpolate at (i + 1/2) n / m - 1/2 or, with align_corners, at i (n - 1) / (m - 1), so that the
 * first and the last elements of x and of the result are the same */
typedef struct gcut_resize_options {
    const char *mode; /* NULL = "nearest" */
    bool align_corners;
} gcut_resize_options;
GCUT_API gcut_val gcut_resize_at(gcut_here at, gcut_val x, gcut_shape shape, gcut_resize_options how GCUT_ELSE_(gcut_resize_options()));
#define gcut_resize(...) gcut_resize_at(GCUT_HERE, GCUT_OPTIONAL_(2, gcut_resize_options, {0}, __VA_ARGS__))

/* random: bits of Threefry-2x32 of the counter i under the key: f32, f64 in [0, 1); i64 all of them */
GCUT_API gcut_val gcut_random_at(gcut_here at, gcut_val key, gcut_val counter, gcut_dtype dtype);
#define gcut_random(...) gcut_random_at(GCUT_HERE, __VA_ARGS__)

/* uniform: uniform in [lo, hi) */
GCUT_API gcut_val gcut_uniform_at(gcut_here at, gcut_val key, gcut_dtype dtype, gcut_shape shape, double lo, double hi);
#define gcut_uniform(...) gcut_uniform_at(GCUT_HERE, __VA_ARGS__)

/* normal: normally distributed */
GCUT_API gcut_val gcut_normal_at(gcut_here at, gcut_val key, gcut_dtype dtype, gcut_shape shape, double mean, double std);
#define gcut_normal(...) gcut_normal_at(GCUT_HERE, __VA_ARGS__)

/* key_split: n keys of one */
GCUT_API gcut_val gcut_key_split_at(gcut_here at, gcut_val key, gcut_dim n);
#define gcut_key_split(...) gcut_key_split_at(GCUT_HERE, __VA_ARGS__)

/* dropout: x / (1 - p), or 0 with probability p */
GCUT_API gcut_val gcut_dropout_at(gcut_here at, gcut_val x, gcut_val key, double p);
#define gcut_dropout(...) gcut_dropout_at(GCUT_HERE, __VA_ARGS__)

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
