/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Elementwise ops.
 */
#include "import/onnx/rules.h"

#include <math.h>
#include <string.h>

static gcut_ref unary(gcut_onnx_node *n, gcut_op op, gcut_ref x)
{
    return gcut_b1(&n->b, op, x);
}

static gcut_ref with_number(gcut_onnx_node *n, gcut_op op, gcut_ref x, gcut_attr_key key, double value)
{
    const gcut_attr a = gcut_attr_real(key, value);
    return gcut_onnx_node_new(n, op, &x, 1, &a, 1);
}

/* op(x, number) */
static gcut_ref by(gcut_onnx_node *n, gcut_op op, gcut_ref x, double number)
{
    return gcut_b2(&n->b, op, x, gcut_bconst(&n->b, x, number));
}

void gcut_onnx_unary(gcut_onnx_node *n)
{
    gcut_onnx_set(n, 0, unary(n, n->op, gcut_onnx_in(n, 0)));
}

void gcut_onnx_identity(gcut_onnx_node *n)
{
    const gcut_array *x = gcut_onnx_known(n, 0);
    if (x)
        gcut_onnx_set_known(n, 0, x);
    else
        gcut_onnx_set(n, 0, gcut_onnx_in(n, 0));
}

/* ---- two operands ---- */

/* Before version 7 the second operand repeats only where the attribute `broadcast` says so, its first axis being `axis`
 * of the first operand. */
static gcut_ref aligned(gcut_onnx_node *n, gcut_ref x, gcut_ref y)
{
    const gcut_type tx = gcut_onnx_type(n, x), ty = gcut_onnx_type(n, y);
    if (n->opset >= 7 || !gcut_onnx_attr(n, "axis") || ty.rank == 0) return y;
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", 0), tx.rank);
    gcut_dim dim[GCUT_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t r = 0; r < ty.rank; r++) dim[rank++] = ty.dim[r];
    while (axis + rank < tx.rank) dim[rank++] = 1;
    return gcut_onnx_reshape(n, y, dim, rank);
}

void gcut_onnx_pointwise(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), y = aligned(n, x, gcut_onnx_in(n, 1));
    gcut_onnx_set(n, 0, gcut_onnx_binary(n, n->op, x, y));
}

static bool may_be_negative(const gcut_onnx_node *n, const gcut_array *x)
{
    for (int64_t k = 0; x && k < x->n; k++)
        if (gcut_onnx_lowest(n, x->u.i[k]) < 0) return true;
    return !x;
}

/* The remainder that has the sign of x, of integers; that of the op `mod` has the sign of y. */
static gcut_ref remainder_of(gcut_onnx_node *n, gcut_ref x, gcut_ref y)
{
    gcut_ref v[] = {x, y};
    gcut_bbroadcast_all(&n->b, n->p->op_type, v, 2);
    gcut_ref r = gcut_b2(&n->b, GCUT_OP_mod, v[0], v[1]);
    if (gcut_onnx_type(n, x).dtype == GCUT_U8) return r;
    gcut_ref opposite = gcut_b2(&n->b, GCUT_OP_ne, by(n, GCUT_OP_lt, v[0], 0), by(n, GCUT_OP_lt, r, 0));
    gcut_ref moved = gcut_b2(&n->b, GCUT_OP_and, opposite, by(n, GCUT_OP_ne, r, 0));
    return gcut_bselect(&n->b, moved, gcut_b2(&n->b, GCUT_OP_sub, r, v[1]), r);
}

/* Integers are divided toward zero, by the op `div` toward minus infinity. */
void gcut_onnx_div(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), y = aligned(n, x, gcut_onnx_in(n, 1));
    const gcut_dtype t = gcut_onnx_type(n, x).dtype;
    const gcut_array *kx = gcut_onnx_known(n, 0), *ky = gcut_onnx_known(n, 1);
    if (gcut_dtype_is_float(t) || t == GCUT_U8 || (!may_be_negative(n, kx) && !may_be_negative(n, ky))) {
        gcut_onnx_set(n, 0, gcut_onnx_binary(n, GCUT_OP_div, x, y));
        return;
    }
    if (kx && gcut_onnx_has_symbols(kx) &&
        !may_be_negative(n, ky)) { /* symbolic remainders are not compared */
        gcut_ref zero = gcut_bconst(&n->b, x, 0), less = gcut_b2(&n->b, GCUT_OP_sub, zero, x);
        gcut_ref above = gcut_onnx_binary(n, GCUT_OP_div, gcut_b2(&n->b, GCUT_OP_max, x, zero), y);
        gcut_ref below = gcut_onnx_binary(n, GCUT_OP_div, gcut_b2(&n->b, GCUT_OP_max, less, zero), y);
        gcut_onnx_set(n, 0, gcut_b2(&n->b, GCUT_OP_sub, above, below));
        return;
    }
    gcut_ref divisible = gcut_onnx_binary(n, GCUT_OP_sub, x, remainder_of(n, x, y));
    gcut_onnx_set(n, 0, gcut_onnx_binary(n, GCUT_OP_div, divisible, y));
}

void gcut_onnx_mod(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), y = gcut_onnx_in(n, 1);
    if (!gcut_onnx_int(n, "fmod", 0)) {
        gcut_onnx_set(n, 0, gcut_onnx_binary(n, GCUT_OP_mod, x, y));
        return;
    }
    if (!gcut_dtype_is_float(gcut_onnx_type(n, x).dtype)) {
        gcut_onnx_set(n, 0, remainder_of(n, x, y));
        return;
    }
    /* x mod infinity is x. */
    gcut_ref v[] = {unary(n, GCUT_OP_abs, x), unary(n, GCUT_OP_abs, y)};
    gcut_bbroadcast_all(&n->b, n->p->op_type, v, 2);
    gcut_ref size = gcut_bselect(&n->b, gcut_b2(&n->b, GCUT_OP_lt, v[0], v[1]), v[0],
                                 gcut_b2(&n->b, GCUT_OP_mod, v[0], v[1]));
    gcut_onnx_set(n, 0, gcut_onnx_binary(n, GCUT_OP_mul, size, unary(n, GCUT_OP_sign, x)));
}

/* The result has the dtype of the base. */
void gcut_onnx_pow(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), y = aligned(n, x, gcut_onnx_in(n, 1));
    const gcut_dtype t = gcut_onnx_type(n, x).dtype, work = gcut_dtype_is_float(t) ? t : GCUT_F64;
    const gcut_array *exponent = gcut_onnx_known(n, 1);
    x = gcut_bconvert(&n->b, x, work);
    /* The usual exponents are cheaper, and have a derivative at a negative base. */
    if (!n->folding && exponent && exponent->n == 1 && exponent->rank == 0) {
        const double e = gcut_array_number(exponent, 0).f;
        gcut_ref square = e == 2 || e == 3 ? gcut_b2(&n->b, GCUT_OP_mul, x, x) : 0;
        gcut_ref z = e == 1 ? x : e == 2 ? square : e == 3 ? gcut_b2(&n->b, GCUT_OP_mul, square, x) : 0;
        if (e == 0.5) z = unary(n, GCUT_OP_sqrt, x);
        if (e == -0.5) z = unary(n, GCUT_OP_rsqrt, x);
        if (z) {
            gcut_onnx_set(n, 0, gcut_bconvert(&n->b, z, t));
            return;
        }
    }
    gcut_ref z = gcut_onnx_binary(n, GCUT_OP_pow, x, gcut_bconvert(&n->b, y, work));
    gcut_onnx_set(n, 0, gcut_bconvert(&n->b, z, t));
}

void gcut_onnx_bit_shift(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), y = gcut_bconvert(&n->b, gcut_onnx_in(n, 1), GCUT_F64);
    const gcut_type t = gcut_onnx_type(n, y);
    gcut_ref power = gcut_b2(&n->b, GCUT_OP_pow, gcut_onnx_number(n, GCUT_F64, &t, 2), y);
    const bool left = !strcmp(gcut_onnx_text(n, "direction", ""), "LEFT");
    power = gcut_bconvert(&n->b, power, gcut_onnx_type(n, x).dtype);
    gcut_onnx_set(n, 0, gcut_onnx_binary(n, left ? GCUT_OP_mul : GCUT_OP_div, x, power));
}

/* ---- any number of operands ---- */

static gcut_ref all_of(gcut_onnx_node *n, gcut_op op)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    for (uint32_t i = 1; i < gcut_onnx_inputs(n); i++) x = gcut_onnx_binary(n, op, x, gcut_onnx_in(n, i));
    return x;
}

void gcut_onnx_variadic(gcut_onnx_node *n)
{
    gcut_onnx_set(n, 0, all_of(n, n->op));
}

void gcut_onnx_mean_of(gcut_onnx_node *n)
{
    gcut_onnx_set(n, 0, by(n, GCUT_OP_div, all_of(n, GCUT_OP_add), gcut_onnx_inputs(n)));
}

void gcut_onnx_where(gcut_onnx_node *n)
{
    gcut_ref v[] = {gcut_onnx_in(n, 0), gcut_onnx_in(n, 1), gcut_onnx_in(n, 2)};
    gcut_bbroadcast_all(&n->b, n->p->op_type, v, 3);
    gcut_onnx_set(n, 0, gcut_bselect(&n->b, v[0], v[1], v[2]));
}

/* ---- activations ---- */

void gcut_onnx_elu(gcut_onnx_node *n)
{
    gcut_onnx_set(
        n, 0,
        with_number(n, GCUT_OP_elu, gcut_onnx_in(n, 0), GCUT_KEY_alpha, gcut_onnx_float(n, "alpha", 1)));
}

void gcut_onnx_selu(gcut_onnx_node *n)
{
    const double alpha = gcut_onnx_float(n, "alpha", 1.67326319217681884765625),
                 gamma = gcut_onnx_float(n, "gamma", 1.05070102214813232421875);
    gcut_onnx_set(
        n, 0,
        gcut_bscale(&n->b, with_number(n, GCUT_OP_elu, gcut_onnx_in(n, 0), GCUT_KEY_alpha, alpha), gamma));
}

void gcut_onnx_celu(gcut_onnx_node *n)
{
    const double alpha = gcut_onnx_float(n, "alpha", 1);
    gcut_ref x = gcut_onnx_in(n, 0), below = gcut_bscale(&n->b, by(n, GCUT_OP_min, x, 0), 1 / alpha);
    below = gcut_bscale(&n->b, unary(n, GCUT_OP_expm1, below), alpha);
    gcut_onnx_set(n, 0, gcut_b2(&n->b, GCUT_OP_add, unary(n, GCUT_OP_relu, x), below));
}

void gcut_onnx_leaky_relu(gcut_onnx_node *n)
{
    gcut_onnx_set(n, 0,
                  with_number(n, GCUT_OP_leaky_relu, gcut_onnx_in(n, 0), GCUT_KEY_slope,
                              gcut_onnx_float(n, "alpha", 0.01)));
}

/* Before version 7 a slope of one axis is one for each channel. */
void gcut_onnx_prelu(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), slope = gcut_onnx_in(n, 1);
    const gcut_type t = gcut_onnx_type(n, x), ts = gcut_onnx_type(n, slope);
    if (n->opset < 7 && ts.rank == 1 && t.rank > 1) {
        gcut_dim dim[GCUT_MAX_RANK] = {ts.dim[0]};
        for (uint32_t r = 1; r < t.rank - 1u; r++) dim[r] = 1;
        slope = gcut_onnx_reshape(n, slope, dim, t.rank - 1u);
    }
    gcut_ref positive = gcut_b2(&n->b, GCUT_OP_gt, x, gcut_bconst(&n->b, x, 0));
    gcut_onnx_set(n, 0, gcut_bselect(&n->b, positive, x, gcut_onnx_binary(n, GCUT_OP_mul, x, slope)));
}

void gcut_onnx_hard_sigmoid(gcut_onnx_node *n)
{
    gcut_ref x = gcut_bscale(&n->b, gcut_onnx_in(n, 0), gcut_onnx_float(n, "alpha", 0.2));
    gcut_onnx_set(n, 0, gcut_onnx_clamp_node(n, gcut_baddc(&n->b, x, gcut_onnx_float(n, "beta", 0.5)), 0, 1));
}

void gcut_onnx_thresholded_relu(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    gcut_onnx_set(n, 0,
                  gcut_bselect(&n->b, by(n, GCUT_OP_gt, x, gcut_onnx_float(n, "alpha", 1)), x,
                               gcut_bconst(&n->b, x, 0)));
}

void gcut_onnx_softsign(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    gcut_onnx_set(n, 0, gcut_b2(&n->b, GCUT_OP_div, x, gcut_baddc(&n->b, unary(n, GCUT_OP_abs, x), 1)));
}

void gcut_onnx_shrink(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_dtype t = gcut_onnx_type(n, x).dtype;
    if (!gcut_dtype_is_float(t)) x = gcut_bconvert(&n->b, x, GCUT_F64); /* as the attributes are floats */
    gcut_ref zero = gcut_bconst(&n->b, x, 0);
    const double lambda = gcut_onnx_float(n, "lambd", 0.5), bias = gcut_onnx_float(n, "bias", 0);
    gcut_ref upper = gcut_bselect(&n->b, by(n, GCUT_OP_gt, x, lambda), gcut_baddc(&n->b, x, -bias), zero);
    gcut_ref y = gcut_bselect(&n->b, by(n, GCUT_OP_lt, x, -lambda), gcut_baddc(&n->b, x, bias), upper);
    gcut_onnx_set(n, 0, gcut_bconvert(&n->b, y, t));
}

void gcut_onnx_gelu(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_attr a =
        gcut_attr_str(n->b.g->module, GCUT_KEY_approx, gcut_onnx_text(n, "approximate", "none"));
    gcut_onnx_set(n, 0, gcut_onnx_node_new(n, GCUT_OP_gelu, &x, 1, &a, 1));
}

void gcut_onnx_reciprocal(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    gcut_onnx_set(n, 0, gcut_b2(&n->b, GCUT_OP_div, gcut_bconst(&n->b, x, 1), x));
}

void gcut_onnx_is_inf(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_ref no = gcut_onnx_number(n, GCUT_BOOL, &t, 0);
    gcut_ref above = gcut_onnx_int(n, "detect_positive", 1) ? by(n, GCUT_OP_eq, x, INFINITY) : no;
    gcut_ref below = gcut_onnx_int(n, "detect_negative", 1) ? by(n, GCUT_OP_eq, x, -INFINITY) : no;
    gcut_onnx_set(n, 0, gcut_b2(&n->b, GCUT_OP_or, above, below));
}

/* A bound is an attribute, a constant or, from version 11 on, a value. */
static gcut_ref bound(gcut_onnx_node *n, gcut_ref x, uint32_t i, const char *attr, gcut_op op)
{
    if (gcut_onnx_has(n, i)) return gcut_onnx_binary(n, op, x, gcut_onnx_in(n, i));
    return n->opset < 11 && gcut_onnx_attr(n, attr) ? by(n, op, x, gcut_onnx_float(n, attr, 0)) : x;
}

void gcut_onnx_clip(gcut_onnx_node *n)
{
    gcut_ref x = bound(n, gcut_onnx_in(n, 0), 1, "min", GCUT_OP_max);
    gcut_onnx_set(n, 0, bound(n, x, 2, "max", GCUT_OP_min));
}

/* ---- dtypes ---- */

/* Whatever is not 0 is true. */
gcut_ref gcut_onnx_convert(gcut_onnx_node *n, gcut_ref x, gcut_dtype to)
{
    if (to == GCUT_BOOL && gcut_onnx_type(n, x).dtype != GCUT_BOOL) return by(n, GCUT_OP_ne, x, 0);
    return gcut_bconvert(&n->b, x, to);
}

gcut_dtype gcut_onnx_dtype_attr(const gcut_onnx_node *n, const char *name, int64_t otherwise)
{
    const int64_t number = gcut_onnx_int(n, name, otherwise);
    const gcut_dtype t = gcut_onnx_dtype((int32_t)number);
    if (t == GCUT_NO_DTYPE)
        GCUT_ONNX_UNSUPPORTED(n, "gradcut has no dtype for %s", gcut_onnx_dtype_name((int32_t)number));
    return t;
}

void gcut_onnx_cast(gcut_onnx_node *n)
{
    /* Version 1 had the name of the dtype. */
    const gcut_dtype to = gcut_onnx_dtype_attr(n, "to", 0);
    gcut_onnx_set(n, 0, gcut_onnx_convert(n, gcut_onnx_in(n, 0), to));
}

void gcut_onnx_cast_like(gcut_onnx_node *n)
{
    const gcut_array *like = gcut_onnx_known(n, 1);
    const gcut_dtype to = like ? like->dtype : gcut_onnx_type(n, gcut_onnx_in(n, 1)).dtype;
    gcut_onnx_set(n, 0, gcut_onnx_convert(n, gcut_onnx_in(n, 0), to));
}

/* ---- dropout ---- */

static void no_dropout(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_onnx_set(n, 0, x);
    if (gcut_onnx_wants(n, 1))
        gcut_onnx_set(n, 1, gcut_onnx_number(n, n->opset < 10 ? t.dtype : GCUT_BOOL, &t, 1));
}

/* Before version 7 and since version 12 the model says whether it drops; one in training draws with a key of its own. */
void gcut_onnx_dropout(gcut_onnx_node *n)
{
    double p = n->opset < 12 ? gcut_onnx_float(n, "ratio", 0.5) : 0.5;
    bool trains = n->opset < 7 && !gcut_onnx_int(n, "is_test", 0);
    if (gcut_onnx_has(n, 1)) p = gcut_onnx_need_number(n, 1, "the ratio of a dropout").f;
    if (gcut_onnx_has(n, 2)) trains = gcut_onnx_need_number(n, 2, "whether a dropout is in training").f != 0;
    gcut_onnx_count_mode(n, trains);
    if (!trains || p == 0) {
        no_dropout(n);
        return;
    }
    gcut_ref x = gcut_onnx_in(n, 0), v[] = {x, gcut_onnx_key(n)};
    const gcut_type t = gcut_onnx_type(n, x);
    const gcut_attr a = gcut_attr_real(GCUT_KEY_p, p);
    gcut_onnx_set(n, 0, gcut_onnx_node_new(n, GCUT_OP_dropout, v, 2, &a, 1));
    if (!gcut_onnx_wants(n, 1)) return;
    gcut_ref ones[] = {gcut_bfull(&n->b, &t, 1), v[1]};
    gcut_ref kept = gcut_onnx_node_new(n, GCUT_OP_dropout, ones, 2, &a, 1); /* with the same key */
    gcut_onnx_set(n, 1, by(n, GCUT_OP_ne, kept, 0));
}
