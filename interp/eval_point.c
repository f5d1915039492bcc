/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Elementwise evaluators that need more than a scalar expression: attributes,
 * or operands of different classes.
 */
#include "interp/eval.h"

#include <string.h>

#include "graph/build.h"

/* approx="none": x Phi(x) = x (1 + erf(x / sqrt 2)) / 2.  erfc keeps the digits of the negative tail.
 * approx="tanh": x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, Hendrycks & Gimpel 2016. */
void gcut_eval_gelu(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    bool approx = strcmp(gcut_attr_get(e->g, e->node, GCUT_KEY_approx)->u.str, "tanh") == 0;
    for (int64_t k = 0; k < x->n; k++) {
        double a = x->u.f[k];
        e->out.u.f[k] = approx ? 0.5 * a * (1 + tanh(sqrt(2 / M_PI) * (a + 0.044715 * a * a * a)))
                               : 0.5 * a * erfc(-a * M_SQRT1_2);
    }
}

/* i as a double that rounds to 11 significant bits or fewer as i does: beyond 53 bits, the last eleven are
 * reduced to a sticky bit. */
static double sticky(int64_t i)
{
    int64_t low = i % 2048;
    if (i < INT64_C(1) << 53 && i > -(INT64_C(1) << 53)) return (double)i;
    return (double)(i - low) + 1024 * ((low > 0) - (low < 0));
}

/* Float to integer truncates and saturates, anything to bool tests against zero, integer to integer wraps. */
void gcut_eval_cast(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    gcut_dtype to = e->out.dtype;
    bool from_float = gcut_dtype_is_float(x->dtype);
    for (int64_t k = 0; k < x->n; k++) {
        if (to == GCUT_BOOL)
            e->out.u.i[k] = from_float ? x->u.f[k] != 0 : x->u.i[k] != 0;
        else if (!gcut_dtype_is_float(to))
            e->out.u.i[k] = from_float ? gcut_eval_truncate(x->u.f[k], to) : x->u.i[k];
        else if (from_float)
            e->out.u.f[k] = x->u.f[k];
        else if (gcut_dtype_is_16bit_float(to) && e->prec == GCUT_STATED)
            e->out.u.f[k] = sticky(x->u.i[k]);
        else if (to == GCUT_F32 && e->prec == GCUT_STATED)
            e->out.u.f[k] = (double)(float)x->u.i[k]; /* directly: through double it would round twice */
        else
            e->out.u.f[k] = (double)x->u.i[k];
    }
}

void gcut_eval_select(gcut_eval *e)
{
    for (int64_t k = 0; k < e->out.n; k++) gcut_eval_put(&e->out, k, &e->arg[e->arg[0].u.i[k] ? 1 : 2], k);
}

/* min(max(x, lo), hi), each bound optional; NaN stays, because no comparison with it holds. */
void gcut_eval_clamp(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    const gcut_attr *lo = gcut_attr_get(e->g, e->node, GCUT_KEY_lo),
                    *hi = gcut_attr_get(e->g, e->node, GCUT_KEY_hi);
    if (gcut_dtype_is_float(x->dtype)) {
        for (int64_t k = 0; k < x->n; k++) {
            double a = x->u.f[k];
            if (lo && a < lo->u.num.f) a = lo->u.num.f;
            if (hi && a > hi->u.num.f) a = hi->u.num.f;
            e->out.u.f[k] = a;
        }
        return;
    }
    const int64_t l = lo ? gcut_bround_integer(lo->u.num, true, x->dtype) : INT64_MIN,
                  h = hi ? gcut_bround_integer(hi->u.num, false, x->dtype) : INT64_MAX;
    for (int64_t k = 0; k < x->n; k++) {
        int64_t a = x->u.i[k];
        if (a < l) a = l;
        if (a > h) a = h;
        e->out.u.i[k] = a;
    }
}
