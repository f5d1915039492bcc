/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shape rules of the random ops.  A key is an i64 scalar.
 */
#include <math.h>

#include "graph/ops/shape_rule.h"

static double number(infer *s, gcut_attr_key key)
{
    double v = attr(s, key)->u.num.f;
    if (!isfinite(v)) BAD(s, "'%s': %s must be finite", opname(s), gcut_attr_name(key));
    return v;
}

static void key_operand(infer *s, uint32_t k)
{
    const gcut_type *t = in(s, k);
    if (t->dtype != GCUT_I64 || t->rank != 0)
        BAD(s, "'%s': operand %u is a key and must be i64[], not %s", opname(s), k + 1, show(s, t));
}

void gcut_shape_random(infer *s)
{
    for (uint32_t k = 0; k < 2; k++)
        if (in(s, k)->dtype != GCUT_I64)
            BAD(s, "'random': key and counter must be i64, operand %u is %s", k + 1, show(s, in(s, k)));
    same_shape(s, 0, 1);
    *s->out = *in(s, 0);
    s->out->dtype = dtype_of(s, GCUT_KEY_dtype);
    if (s->out->dtype != GCUT_F32 && s->out->dtype != GCUT_F64 && s->out->dtype != GCUT_I64)
        BAD(s, "'random': dtype must be f32, f64 or i64, not %s", gcut_dtype_name(s->out->dtype));
}

void gcut_shape_draw(infer *s)
{
    key_operand(s, 0);
    *s->out = (gcut_type){.dtype = dtype_of(s, GCUT_KEY_dtype)};
    shape_from(s, GCUT_KEY_shape);
    if (!gcut_dtype_is_float(s->out->dtype))
        BAD(s, "'%s': dtype must be a float, not %s (cast is explicit)", opname(s),
            gcut_dtype_name(s->out->dtype));
    if (s->spec->op == GCUT_OP_uniform && number(s, GCUT_KEY_lo) >= number(s, GCUT_KEY_hi))
        BAD(s, "'uniform': lo=%g must be below hi=%g", number(s, GCUT_KEY_lo), number(s, GCUT_KEY_hi));
    if (s->spec->op == GCUT_OP_normal && (number(s, GCUT_KEY_std) < 0 || !isfinite(number(s, GCUT_KEY_mean))))
        BAD(s, "'normal': std=%g must not be negative", number(s, GCUT_KEY_std));
}

void gcut_shape_key_split(infer *s)
{
    key_operand(s, 0);
    *s->out = (gcut_type){.dtype = GCUT_I64, .rank = 1, .dim = {attr(s, GCUT_KEY_n)->u.dim}};
}

void gcut_shape_dropout(infer *s)
{
    key_operand(s, 1);
    double p = attr(s, GCUT_KEY_p)->u.num.f;
    if (!(p >= 0 && p < 1)) BAD(s, "'dropout': p must be at least 0 and below 1, not %g", p);
    *s->out = *in(s, 0);
}
