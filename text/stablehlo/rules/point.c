/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Elementwise ops.
 */
#include <math.h>
#include <string.h>

#include "text/stablehlo/writer.h"

/* One operation of StableHLO. */
void gcut_hlo_plain1(gcut_hlo *w, const char *as)
{
    const gcut_type t = gcut_hlo_result_type(w, 0);
    gcut_hlo_unary(w, gcut_hlo_own(w, 0), as, gcut_hlo_operand(w, 0), &t);
}

void gcut_hlo_plain2(gcut_hlo *w, const char *as)
{
    const gcut_type t = gcut_hlo_result_type(w, 0);
    gcut_hlo_binary(w, gcut_hlo_own(w, 0), as, gcut_hlo_operand(w, 0), gcut_hlo_operand(w, 1), &t);
}

void gcut_hlo_same(gcut_hlo *w, const char *as)
{
    (void)as;
    gcut_hlo_set(w, 0, gcut_hlo_operand(w, 0));
}

/* Of the dialect CHLO, which the compilers of StableHLO take too. */
void gcut_hlo_erf(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    const char *type = gcut_hlo_type(w, &t);
    gcut_hlo_let(w, gcut_hlo_own(w, 0), "chlo.erf %s : %s -> %s", gcut_hlo_operand(w, 0), type, type);
}

void gcut_hlo_relu(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    gcut_hlo_binary(w, gcut_hlo_own(w, 0), "stablehlo.maximum", gcut_hlo_operand(w, 0),
                    gcut_hlo_number(w, 0, &t), &t);
}

/* x times a function of x. */
static void times_operand(gcut_hlo *w, const char *factor, const gcut_type *t)
{
    gcut_hlo_binary(w, gcut_hlo_own(w, 0), "stablehlo.multiply", gcut_hlo_operand(w, 0), factor, t);
}

static const char *times(gcut_hlo *w, const char *x, double by, const gcut_type *t)
{
    return gcut_hlo_binary(w, NULL, "stablehlo.multiply", x, gcut_hlo_number(w, by, t), t);
}

/* x Phi(x), Phi by erf or by tanh (Hendrycks & Gimpel 2016). */
void gcut_hlo_gelu(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    const char *x = gcut_hlo_operand(w, 0), *type = gcut_hlo_type(w, &t), *y;
    if (!strcmp(gcut_attr_get(w->g, w->n, GCUT_KEY_approx)->u.str, "none")) {
        y = times(w, x, sqrt(0.5), &t);
        y = gcut_hlo_let(w, NULL, "chlo.erf %s : %s -> %s", y, type, type);
    } else {
        y = gcut_hlo_binary(w, NULL, "stablehlo.multiply", x, x, &t);
        y = gcut_hlo_binary(w, NULL, "stablehlo.multiply", x, y, &t);
        y = gcut_hlo_binary(w, NULL, "stablehlo.add", x, times(w, y, 0.044715, &t), &t);
        y = gcut_hlo_unary(w, NULL, "stablehlo.tanh", times(w, y, sqrt(2 / acos(-1)), &t), &t);
    }
    y = gcut_hlo_binary(w, NULL, "stablehlo.add", y, gcut_hlo_number(w, 1, &t), &t);
    times_operand(w, times(w, y, 0.5, &t), &t);
}

void gcut_hlo_silu(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    times_operand(w, gcut_hlo_unary(w, NULL, "stablehlo.logistic", gcut_hlo_operand(w, 0), &t), &t);
}

/* max(x, 0) + log(1 + e^-|x|) */
void gcut_hlo_softplus(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    const char *x = gcut_hlo_operand(w, 0), *y = gcut_hlo_unary(w, NULL, "stablehlo.abs", x, &t);
    y = gcut_hlo_unary(w, NULL, "stablehlo.negate", y, &t);
    y = gcut_hlo_unary(w, NULL, "stablehlo.exponential", y, &t);
    y = gcut_hlo_unary(w, NULL, "stablehlo.log_plus_one", y, &t);
    x = gcut_hlo_binary(w, NULL, "stablehlo.maximum", x, gcut_hlo_number(w, 0, &t), &t);
    gcut_hlo_binary(w, gcut_hlo_own(w, 0), "stablehlo.add", x, y, &t);
}

void gcut_hlo_atan(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    gcut_hlo_binary(w, gcut_hlo_own(w, 0), "stablehlo.atan2", gcut_hlo_operand(w, 0),
                    gcut_hlo_number(w, 1, &t), &t);
}

void gcut_hlo_isnan(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_operand_type(w, 0);
    const char *x = gcut_hlo_operand(w, 0);
    gcut_hlo_compare(w, gcut_hlo_own(w, 0), "NE", x, x, &t);
}

void gcut_hlo_cast(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type from = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0);
    gcut_hlo_convert(w, gcut_hlo_own(w, 0), gcut_hlo_operand(w, 0), &from, &to);
}

/* Of integers: is the remainder of a by b not 0, and has another sign than b?  Then quotients rounded to 0 are one more than
 * those rounded down, and remainders are b less. */
static const char *is_off(gcut_hlo *w, const char *rest, const char *b, const gcut_type *t)
{
    gcut_type flag = *t;
    flag.dtype = GCUT_BOOL;
    const char *zero = gcut_hlo_number(w, 0, t);
    const char *differ =
        gcut_hlo_binary(w, NULL, "stablehlo.xor", gcut_hlo_compare(w, NULL, "LT", rest, zero, t),
                        gcut_hlo_compare(w, NULL, "LT", b, zero, t), &flag);
    return gcut_hlo_binary(w, NULL, "stablehlo.and", differ, gcut_hlo_compare(w, NULL, "NE", rest, zero, t),
                           &flag);
}

void gcut_hlo_div(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    const char *a = gcut_hlo_operand(w, 0), *b = gcut_hlo_operand(w, 1), *own = gcut_hlo_own(w, 0);
    if (gcut_dtype_is_float(t.dtype)) {
        gcut_hlo_binary(w, own, "stablehlo.divide", a, b, &t);
        return;
    }
    const char *q = gcut_hlo_binary(w, NULL, "stablehlo.divide", a, b, &t),
               *rest = gcut_hlo_binary(w, NULL, "stablehlo.remainder", a, b, &t),
               *less = gcut_hlo_binary(w, NULL, "stablehlo.subtract", q, gcut_hlo_number(w, 1, &t), &t);
    gcut_hlo_select(w, own, is_off(w, rest, b, &t), less, q, &t);
}

/* a - floor(a / b) b */
void gcut_hlo_mod(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    const char *a = gcut_hlo_operand(w, 0), *b = gcut_hlo_operand(w, 1), *own = gcut_hlo_own(w, 0);
    if (gcut_dtype_is_float(t.dtype)) {
        const char *q = gcut_hlo_binary(w, NULL, "stablehlo.divide", a, b, &t);
        q = gcut_hlo_unary(w, NULL, "stablehlo.floor", q, &t);
        q = gcut_hlo_binary(w, NULL, "stablehlo.multiply", q, b, &t);
        gcut_hlo_binary(w, own, "stablehlo.subtract", a, q, &t);
        return;
    }
    const char *rest = gcut_hlo_binary(w, NULL, "stablehlo.remainder", a, b, &t),
               *more = gcut_hlo_binary(w, NULL, "stablehlo.add", rest, b, &t);
    gcut_hlo_select(w, own, is_off(w, rest, b, &t), more, rest, &t);
}

void gcut_hlo_compare_op(gcut_hlo *w, const char *as)
{
    const gcut_type t = gcut_hlo_operand_type(w, 0);
    gcut_hlo_compare(w, gcut_hlo_own(w, 0), as, gcut_hlo_operand(w, 0), gcut_hlo_operand(w, 1), &t);
}

void gcut_hlo_select_op(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    gcut_hlo_select(w, gcut_hlo_own(w, 0), gcut_hlo_operand(w, 0), gcut_hlo_operand(w, 1),
                    gcut_hlo_operand(w, 2), &t);
}

void gcut_hlo_clamp(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    const gcut_attr *lo = gcut_attr_get(w->g, w->n, GCUT_KEY_lo),
                    *hi = gcut_attr_get(w->g, w->n, GCUT_KEY_hi);
    const char *x = gcut_hlo_operand(w, 0);
    if (lo)
        x = gcut_hlo_binary(w, hi ? NULL : gcut_hlo_own(w, 0), "stablehlo.maximum", x,
                            gcut_hlo_full(w, NULL, lo->u.num, &t), &t);
    if (hi)
        x = gcut_hlo_binary(w, gcut_hlo_own(w, 0), "stablehlo.minimum", x,
                            gcut_hlo_full(w, NULL, hi->u.num, &t), &t);
    gcut_hlo_set(w, 0, x);
}
