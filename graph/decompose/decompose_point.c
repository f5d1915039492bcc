/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of elementwise ops.  The operand of a branch that select does not take is clamped into
 * the branch's range first: an infinity in its derivative times 0 would be NaN.
 */
#include "graph/decompose/decompose_rule.h"

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
