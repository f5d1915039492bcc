/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of elementwise ops.  The operand of a branch that select does not take is clamped into
 * the branch's range first: an infinity in its derivative times 0 would be NaN.
 */
#include "graph/decompose/decompose_rule.h"

#include <math.h>

/* x compared with a constant */
static gcut_ref test(gcut_build *b, gcut_op op, gcut_ref x, double value)
{
    return gcut_b2(b, op, x, gcut_bconst(b, x, value));
}

static gcut_ref clamped(gcut_build *b, gcut_ref x, const gcut_attr *bounds, uint32_t n)
{
    return gcut_node_new(b->g, GCUT_OP_clamp, &x, 1, bounds, n, b->loc, b->name);
}

/* y = x > 0 ? x : alpha (e^min(x, 0) - 1) (Clevert, Unterthiner & Hochreiter 2016) */
gcut_ref gcut_decompose_elu(composite *c)
{
    gcut_attr hi = gcut_attr_int(GCUT_KEY_hi, 0);
    gcut_ref e = gcut_b1(B, GCUT_OP_expm1, clamped(B, c->x[0], &hi, 1));
    double alpha = number(c, GCUT_KEY_alpha);
    if (alpha != 1) e = gcut_bscale(B, e, alpha);
    return gcut_bselect(B, test(B, GCUT_OP_gt, c->x[0], 0), c->x[0], e);
}

/* y = x > 0 ? x : slope x */
gcut_ref gcut_decompose_leaky_relu(composite *c)
{
    gcut_ref less = gcut_bscale(B, c->x[0], number(c, GCUT_KEY_slope));
    return gcut_bselect(B, test(B, GCUT_OP_gt, c->x[0], 0), c->x[0], less);
}

/* y = x > 0 ? x : slope x, with a slope for each channel, or one for all */
gcut_ref gcut_decompose_prelu(composite *c)
{
    const gcut_type t = type_of(B, c->x[0]), ts = type_of(B, c->x[1]);
    gcut_ref slope = t.rank > 1 && ts.dim[0] != 1
                         ? gcut_bbroadcast(B, c->x[1], t.dim, t.rank, (gcut_dim[]){1})
                         : gcut_bbroadcast(B, gcut_breshape(B, c->x[1], NULL, 0), t.dim, t.rank, NULL);
    gcut_ref less = gcut_b2(B, GCUT_OP_mul, c->x[0], slope);
    return gcut_bselect(B, test(B, GCUT_OP_gt, c->x[0], 0), c->x[0], less);
}

/* x <= -3 ? 0 : x >= 3 ? top : middle */
static gcut_ref between(gcut_build *b, gcut_ref x, gcut_ref top, gcut_ref middle)
{
    gcut_ref upper = gcut_bselect(b, test(b, GCUT_OP_ge, x, 3), top, middle);
    gcut_ref zero = gcut_bconst(b, x, 0);
    return gcut_bselect(b, test(b, GCUT_OP_le, x, -3), zero, upper);
}

/* x / 6 + 1 / 2 */
static gcut_ref ramp(gcut_build *b, gcut_ref x)
{
    gcut_ref six = gcut_bconst(b, x, 6);
    return gcut_b2(b, GCUT_OP_div, gcut_baddc(b, x, 3), six);
}

/* y = x / 6 + 1 / 2 between 0 and 1 (Courbariaux, Bengio & David 2015, with this slope) */
gcut_ref gcut_decompose_hardsigmoid(composite *c)
{
    gcut_ref middle = ramp(B, c->x[0]);
    return between(B, c->x[0], gcut_bconst(B, c->x[0], 1), middle);
}

/* y = x hardsigmoid(x) (Howard et al. 2019) */
gcut_ref gcut_decompose_hardswish(composite *c)
{
    gcut_attr range[] = {gcut_attr_int(GCUT_KEY_lo, -3), gcut_attr_int(GCUT_KEY_hi, 3)};
    gcut_ref inner = clamped(B, c->x[0], range, 2);
    return between(B, c->x[0], c->x[0], gcut_b2(B, GCUT_OP_mul, inner, ramp(B, inner)));
}

/* y = x tanh(log(1 + e^x)) (Misra 2020) */
gcut_ref gcut_decompose_mish(composite *c)
{
    gcut_ref t = gcut_b1(B, GCUT_OP_tanh, gcut_b1(B, GCUT_OP_softplus, c->x[0]));
    return gcut_b2(B, GCUT_OP_mul, c->x[0], t);
}

/* y = sin x / cos x */
gcut_ref gcut_decompose_tan(composite *c)
{
    gcut_ref cosine = gcut_b1(B, GCUT_OP_cos, c->x[0]);
    return gcut_b2(B, GCUT_OP_div, gcut_b1(B, GCUT_OP_sin, c->x[0]), cosine);
}

/* y = x / sqrt((1 - x)(1 + x)), whose arc tangent is the arc sine of x: infinite at the ends, NaN outside. */
gcut_ref gcut_decompose_asin(composite *c)
{
    const gcut_ref x = c->x[0], one = gcut_bconst(B, x, 1);
    gcut_ref below = gcut_b2(B, GCUT_OP_sub, one, x), above = gcut_b2(B, GCUT_OP_add, one, x);
    gcut_ref s = gcut_b1(B, GCUT_OP_sqrt, gcut_b2(B, GCUT_OP_mul, below, above));
    return gcut_b1(B, GCUT_OP_atan, gcut_b2(B, GCUT_OP_div, x, s));
}

/* y = 2 atan sqrt((1 - x) / (1 + x)), accurate at 1, where y is 0 */
gcut_ref gcut_decompose_acos(composite *c)
{
    const gcut_ref x = c->x[0], one = gcut_bconst(B, x, 1);
    gcut_ref below = gcut_b2(B, GCUT_OP_sub, one, x), above = gcut_b2(B, GCUT_OP_add, one, x);
    gcut_ref s = gcut_b1(B, GCUT_OP_sqrt, gcut_b2(B, GCUT_OP_div, below, above));
    return gcut_bscale(B, gcut_b1(B, GCUT_OP_atan, s), 2);
}

/* y = 2 sinh(x / 2) cosh(x / 2) = (p - q)((p + q) / 2 + 1), p = e^(x / 2) - 1, q = e^(-x / 2) - 1.  p and q have
 * different signs, so that p - q cancels nothing, and neither overflows before y does. */
gcut_ref gcut_decompose_sinh(composite *c)
{
    gcut_ref half = gcut_bscale(B, c->x[0], 0.5);
    gcut_ref p = gcut_b1(B, GCUT_OP_expm1, half);
    gcut_ref q = gcut_b1(B, GCUT_OP_expm1, gcut_b1(B, GCUT_OP_neg, half));
    gcut_ref even = gcut_bscale(B, gcut_b2(B, GCUT_OP_add, p, q), 0.5);
    gcut_ref odd = gcut_b2(B, GCUT_OP_sub, p, q);
    return gcut_b2(B, GCUT_OP_mul, odd, gcut_baddc(B, even, 1));
}

/* y = (p^2 + 1 / p^2) / 2, p = e^(|x| / 2), which does not overflow before y does */
gcut_ref gcut_decompose_cosh(composite *c)
{
    gcut_ref half = gcut_bscale(B, gcut_b1(B, GCUT_OP_abs, c->x[0]), 0.5);
    gcut_ref p = gcut_b1(B, GCUT_OP_exp, half), q = gcut_b2(B, GCUT_OP_div, gcut_bconst(B, p, 1), p);
    gcut_ref large = gcut_b2(B, GCUT_OP_mul, gcut_bscale(B, p, 0.5), p);
    gcut_ref small = gcut_b2(B, GCUT_OP_mul, gcut_bscale(B, q, 0.5), q);
    return gcut_b2(B, GCUT_OP_add, large, small);
}

/* log(1 + a + r), where r is a where a > 2^60, to more bits than a double has */
static gcut_ref log_of_sum(gcut_build *b, gcut_ref a, gcut_ref r)
{
    gcut_ref large = test(b, GCUT_OP_gt, a, 0x1p60);
    gcut_ref sum = gcut_bselect(b, large, a, gcut_b2(b, GCUT_OP_add, a, r));
    gcut_ref y = gcut_b1(b, GCUT_OP_log1p, sum);
    return gcut_bselect(b, large, gcut_baddc(b, y, M_LN2), y);
}

/* |y| = log(a + sqrt(a^2 + 1)) = log(1 + a + a^2 / (1 + sqrt(a^2 + 1))), a = |x|; y has the sign of x. */
gcut_ref gcut_decompose_asinh(composite *c)
{
    gcut_ref a = gcut_b1(B, GCUT_OP_abs, c->x[0]);
    gcut_attr hi = gcut_attr_real(GCUT_KEY_hi, 0x1p60);
    gcut_ref limited = clamped(B, a, &hi, 1), square = gcut_b2(B, GCUT_OP_mul, limited, limited);
    gcut_ref root = gcut_b1(B, GCUT_OP_sqrt, gcut_baddc(B, square, 1));
    gcut_ref y = log_of_sum(B, a, gcut_b2(B, GCUT_OP_div, square, gcut_baddc(B, root, 1)));
    return gcut_bselect(B, test(B, GCUT_OP_lt, c->x[0], 0), gcut_b1(B, GCUT_OP_neg, y), y);
}

/* y = log(x + sqrt(x^2 - 1)) = log(1 + t + sqrt(t) sqrt(t + 2)), t = x - 1: accurate at 1, where y is 0.  A single
 * root of t (t + 2) would be no NaN at x < -1. */
gcut_ref gcut_decompose_acosh(composite *c)
{
    gcut_ref t = gcut_baddc(B, c->x[0], -1), root = gcut_b1(B, GCUT_OP_sqrt, t);
    gcut_ref other = gcut_b1(B, GCUT_OP_sqrt, gcut_baddc(B, t, 2));
    return log_of_sum(B, t, gcut_b2(B, GCUT_OP_mul, root, other));
}

/* y = (log(1 + x) - log(1 - x)) / 2, which cancels nothing, since the logarithms have different signs */
gcut_ref gcut_decompose_atanh(composite *c)
{
    gcut_ref above = gcut_b1(B, GCUT_OP_log1p, c->x[0]);
    gcut_ref below = gcut_b1(B, GCUT_OP_log1p, gcut_b1(B, GCUT_OP_neg, c->x[0]));
    return gcut_bscale(B, gcut_b2(B, GCUT_OP_sub, above, below), 0.5);
}
