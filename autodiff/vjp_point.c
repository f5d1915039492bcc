/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * VJP rules of the elementwise ops.  Conventions at kinks are PyTorch's.
 */
#include "autodiff/vjp.h"

#include <math.h>
#include <string.h>

#define B (&c->b)

static gcut_ref mul(gcut_vjp *c, gcut_ref a, gcut_ref b)
{
    return gcut_b2(B, GCUT_OP_mul, a, b);
}
static gcut_ref neg(gcut_vjp *c, gcut_ref a)
{
    return gcut_b1(B, GCUT_OP_neg, a);
}

static gcut_ref divide(gcut_vjp *c, gcut_ref a, gcut_ref b)
{
    return gcut_b2(B, GCUT_OP_div, a, b);
}

/* 1 - a */
static gcut_ref one_minus(gcut_vjp *c, gcut_ref a)
{
    return gcut_b2(B, GCUT_OP_sub, gcut_bconst(B, a, 1), a);
}

/* 1 - a^2 = (1 - a)(1 + a), which loses no bits where |a| is near 1 */
static gcut_ref within_one(gcut_vjp *c, gcut_ref a)
{
    gcut_ref below = one_minus(c, a);
    return mul(c, below, gcut_baddc(B, a, 1));
}

/* a compared with the constant value */
static gcut_ref test(gcut_vjp *c, gcut_op op, gcut_ref a, double value)
{
    return gcut_b2(B, op, a, gcut_bconst(B, a, value));
}

void gcut_vjp_zero(gcut_vjp *c)
{
    (void)c;
}

void gcut_vjp_meaning(gcut_vjp *c)
{
    (void)c;
    gcut_bug(__FILE__, __LINE__, "a composite without a rule of its own reached the reverse pass");
}

void gcut_vjp_unfold(gcut_vjp *c)
{
    (void)c;
    gcut_bug(__FILE__, __LINE__, "control flow without a rule of its own reached the reverse pass");
}

/* ---- unary ---- */

/* The rules of vjp_unary.def. */
#define VJP(rule, dx)                                                                                        \
    void gcut_vjp_##rule(gcut_vjp *c)                                                                        \
    {                                                                                                        \
        const gcut_ref x = c->x[0], y = c->y, dy = c->dy;                                                    \
        (void)x, (void)y;                                                                                    \
        gcut_vjp_give(c, 0, dx);                                                                             \
    }
#include "autodiff/vjp_unary.def"
#undef VJP

/* y = x^(-1/2): dx = -1/2 * dy * y^3 */
void gcut_vjp_rsqrt(gcut_vjp *c)
{
    gcut_ref cube = mul(c, mul(c, c->y, c->y), c->y);
    gcut_vjp_give(c, 0, mul(c, gcut_bscale(B, c->dy, -0.5), cube));
}

/* y = sigmoid x: dx = dy * y * (1 - y) */
void gcut_vjp_sigmoid(gcut_vjp *c)
{
    gcut_ref rest = one_minus(c, c->y);
    gcut_vjp_give(c, 0, mul(c, mul(c, c->dy, c->y), rest));
}

/* y = max(x, 0): dx = y > 0 ? dy : 0 */
void gcut_vjp_relu(gcut_vjp *c)
{
    gcut_ref zero = gcut_bconst(B, c->dy, 0);
    gcut_vjp_give(c, 0, gcut_bselect(B, gcut_b2(B, GCUT_OP_gt, c->y, zero), c->dy, zero));
}

/* y = x Phi(x), Phi(x) = (1 + erf(x / sqrt 2)) / 2, phi = Phi': y' = Phi(x) + x phi(x) */
static gcut_ref gelu_erf(gcut_vjp *c, gcut_ref x)
{
    gcut_ref erf = gcut_b1(B, GCUT_OP_erf, gcut_bscale(B, x, M_SQRT1_2));
    gcut_ref cdf = gcut_bscale(B, gcut_baddc(B, erf, 1), 0.5);
    gcut_ref bell = gcut_b1(B, GCUT_OP_exp, gcut_bscale(B, mul(c, x, x), -0.5));
    gcut_ref pdf = gcut_bscale(B, bell, 0.5 * M_2_SQRTPI * M_SQRT1_2);
    return gcut_b2(B, GCUT_OP_add, cdf, mul(c, x, pdf));
}

/* y = x (1 + t) / 2, t = tanh u, u = k (x + a x^3), k = sqrt(2/pi), a = 0.044715:
 * y' = (1 + t) / 2 + x (1 - t^2) / 2 * k (1 + 3 a x^2) */
static gcut_ref gelu_tanh(gcut_vjp *c, gcut_ref x)
{
    const double k = M_2_SQRTPI * M_SQRT1_2, a = 0.044715;
    gcut_ref xx = mul(c, x, x);
    gcut_ref cube = gcut_baddc(B, gcut_bscale(B, xx, a), 1), u = mul(c, gcut_bscale(B, x, k), cube);
    gcut_ref t = gcut_b1(B, GCUT_OP_tanh, u);
    gcut_ref half = gcut_bscale(B, gcut_baddc(B, t, 1), 0.5);
    gcut_ref du = gcut_baddc(B, gcut_bscale(B, xx, 3 * a * k), k);
    gcut_ref dt = mul(c, one_minus(c, mul(c, t, t)), du);
    return gcut_b2(B, GCUT_OP_add, half, mul(c, gcut_bscale(B, x, 0.5), dt));
}

void gcut_vjp_gelu(gcut_vjp *c)
{
    const gcut_attr *approx = gcut_vjp_attr(c, GCUT_KEY_approx);
    bool by_tanh = !strcmp(approx->u.str, "tanh");
    gcut_vjp_give(c, 0, mul(c, c->dy, by_tanh ? gelu_tanh(c, c->x[0]) : gelu_erf(c, c->x[0])));
}

/* y = x s, s = sigmoid x: dx = dy * s * (1 + x (1 - s)) */
void gcut_vjp_silu(gcut_vjp *c)
{
    gcut_ref s = gcut_b1(B, GCUT_OP_sigmoid, c->x[0]);
    gcut_ref slope = mul(c, s, gcut_baddc(B, mul(c, c->x[0], one_minus(c, s)), 1));
    gcut_vjp_give(c, 0, mul(c, c->dy, slope));
}

/* y = x in another float dtype: dx = dy in x's */
void gcut_vjp_cast(gcut_vjp *c)
{
    gcut_vjp_give(c, 0, gcut_bconvert(B, c->dy, gcut_vjp_type(c, c->x[0])->dtype));
}

/* ---- binary and ternary ---- */

/* y = a + b: da = db = dy */
void gcut_vjp_add(gcut_vjp *c)
{
    if (gcut_vjp_wants(c, 0)) gcut_vjp_give(c, 0, c->dy);
    if (gcut_vjp_wants(c, 1)) gcut_vjp_give(c, 1, c->dy);
}

/* y = a - b: da = dy, db = -dy */
void gcut_vjp_sub(gcut_vjp *c)
{
    if (gcut_vjp_wants(c, 0)) gcut_vjp_give(c, 0, c->dy);
    if (gcut_vjp_wants(c, 1)) gcut_vjp_give(c, 1, neg(c, c->dy));
}

/* y = a b: da = dy * b, db = dy * a */
void gcut_vjp_mul(gcut_vjp *c)
{
    if (gcut_vjp_wants(c, 0)) gcut_vjp_give(c, 0, mul(c, c->dy, c->x[1]));
    if (gcut_vjp_wants(c, 1)) gcut_vjp_give(c, 1, mul(c, c->dy, c->x[0]));
}

/* y = a / b: da = dy / b, db = -da * y */
void gcut_vjp_div(gcut_vjp *c)
{
    gcut_ref da = divide(c, c->dy, c->x[1]);
    if (gcut_vjp_wants(c, 0)) gcut_vjp_give(c, 0, da);
    if (gcut_vjp_wants(c, 1)) gcut_vjp_give(c, 1, neg(c, mul(c, da, c->y)));
}

/* y = a^b: da = b == 0 ? 0 : dy * b * a^(b-1);  db = a == 0 and b >= 0 ? 0 : dy * y * log a */
void gcut_vjp_pow(gcut_vjp *c)
{
    gcut_ref a = c->x[0], b = c->x[1];
    if (gcut_vjp_wants(c, 0)) {
        gcut_ref slope = mul(c, b, gcut_b2(B, GCUT_OP_pow, a, gcut_baddc(B, b, -1)));
        gcut_ref da = mul(c, c->dy, slope);
        gcut_ref zero = gcut_bconst(B, da, 0);
        gcut_vjp_give(c, 0, gcut_bselect(B, test(c, GCUT_OP_eq, b, 0), zero, da));
    }
    if (gcut_vjp_wants(c, 1)) {
        gcut_ref db = mul(c, c->dy, mul(c, c->y, gcut_b1(B, GCUT_OP_log, a)));
        gcut_ref power = test(c, GCUT_OP_ge, b, 0);
        gcut_ref flat = gcut_b2(B, GCUT_OP_and, test(c, GCUT_OP_eq, a, 0), power);
        gcut_vjp_give(c, 1, gcut_bselect(B, flat, gcut_bconst(B, db, 0), db));
    }
}

/* y = max(a, b): da = a < b ? 0 : a == b ? dy/2 : dy, and db with a and b exchanged; `loses` is lt for
 * max and gt for min.  A NaN on either side compares false twice and passes dy on, as in PyTorch. */
static void extremum(gcut_vjp *c, gcut_op loses)
{
    gcut_ref tie = gcut_b2(B, GCUT_OP_eq, c->x[0], c->x[1]);
    gcut_ref share = gcut_bselect(B, tie, gcut_bscale(B, c->dy, 0.5), c->dy);
    gcut_ref none = gcut_bconst(B, c->dy, 0);
    for (uint32_t k = 0; k < 2; k++)
        if (gcut_vjp_wants(c, k))
            gcut_vjp_give(c, k, gcut_bselect(B, gcut_b2(B, loses, c->x[k], c->x[1 - k]), none, share));
}

void gcut_vjp_max(gcut_vjp *c)
{
    extremum(c, GCUT_OP_lt);
}
void gcut_vjp_min(gcut_vjp *c)
{
    extremum(c, GCUT_OP_gt);
}

/* y = a - floor(a/b) b: da = dy, db = -dy * floor(a/b) */
void gcut_vjp_mod(gcut_vjp *c)
{
    if (gcut_vjp_wants(c, 0)) gcut_vjp_give(c, 0, c->dy);
    if (gcut_vjp_wants(c, 1)) {
        gcut_ref times = gcut_b1(B, GCUT_OP_floor, divide(c, c->x[0], c->x[1]));
        gcut_vjp_give(c, 1, neg(c, mul(c, c->dy, times)));
    }
}

/* y = p ? a : b: da = p ? dy : 0, db = p ? 0 : dy */
void gcut_vjp_select(gcut_vjp *c)
{
    gcut_ref none = gcut_bconst(B, c->dy, 0);
    if (gcut_vjp_wants(c, 1)) gcut_vjp_give(c, 1, gcut_bselect(B, c->x[0], c->dy, none));
    if (gcut_vjp_wants(c, 2)) gcut_vjp_give(c, 2, gcut_bselect(B, c->x[0], none, c->dy));
}

/* y = min(max(x, lo), hi): dx = lo <= x <= hi ? dy : 0; either bound may be absent */
void gcut_vjp_clamp(gcut_vjp *c)
{
    const gcut_attr *lo = gcut_vjp_attr(c, GCUT_KEY_lo), *hi = gcut_vjp_attr(c, GCUT_KEY_hi);
    bool has_lo = lo != NULL, has_hi = hi != NULL;
    double bottom = has_lo ? lo->u.num.f : 0, top = has_hi ? hi->u.num.f : 0;
    gcut_ref inside = has_lo ? test(c, GCUT_OP_ge, c->x[0], bottom) : 0;
    if (has_hi) {
        gcut_ref below = test(c, GCUT_OP_le, c->x[0], top);
        inside = inside ? gcut_b2(B, GCUT_OP_and, inside, below) : below;
    }
    gcut_vjp_give(c, 0, inside ? gcut_vjp_where(c, inside) : c->dy);
}
