/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Folding rules of elementwise ops; c, d are constants.  The requirements they
 * meet are in passes/folding.c.
 */
#include <math.h>

#include "interp/eval.h"
#include "passes/folding.h"

static bool is_float(const gcut_fold *f)
{
    return gcut_dtype_is_float(gcut_fold_type_of(f, gcut_fold_arg(f, 0))->dtype);
}

/* Is operand k a constant equal to x, the sign of a zero included? */
static bool is_number(const gcut_fold *f, uint32_t k, double x)
{
    gcut_num c;
    if (!gcut_fold_constant(f, gcut_fold_arg(f, k), &c)) return false;
    if (c.is_int) return c.i == (int64_t)x;
    return c.f == x && !signbit(c.f) == !signbit(x);
}

/* The operand of v's node if that is an `op`, else 0. */
static gcut_ref under(const gcut_fold *f, gcut_ref v, gcut_op op)
{
    const gcut_node *n = gcut_fold_is(f, v, op);
    return n ? gcut_arg(f->rw.dst, n, 0) : 0;
}

static gcut_ref make1(gcut_fold *f, gcut_op op, gcut_ref x)
{
    return gcut_fold_make(f, op, &x, 1, NULL, 0);
}

static gcut_ref make2(gcut_fold *f, gcut_op op, gcut_ref x, gcut_ref y)
{
    return gcut_fold_make(f, op, (gcut_ref[]){x, y}, 2, NULL, 0);
}

static gcut_ref real(gcut_fold *f, double x)
{
    return gcut_fold_full(f, (gcut_num){.f = x});
}
static gcut_ref integer(gcut_fold *f, int64_t x)
{
    return gcut_fold_full(f, (gcut_num){true, x, (double)x});
}

/* Both operands constant. */
static bool two(const gcut_fold *f, gcut_num *c, gcut_num *d)
{
    return gcut_fold_constant(f, gcut_fold_arg(f, 0), c) && gcut_fold_constant(f, gcut_fold_arg(f, 1), d);
}

/* ---- unary ---- */

/* -(-x) = x   -c */
gcut_ref gcut_fold_neg(gcut_fold *f)
{
    gcut_num c;
    gcut_ref x = under(f, gcut_fold_arg(f, 0), GCUT_OP_neg);
    if (x) return gcut_fold_same(f, x);
    if (!gcut_fold_constant(f, gcut_fold_arg(f, 0), &c)) return 0;
    return c.is_int ? integer(f, gcut_ref_wrap_sub(0, c.i)) : real(f, -c.f);
}

/* ||x|| = |x|   |-x| = |x|: of integers too, where -(-128) is -128 again in 8 bits and so is its magnitude */
gcut_ref gcut_fold_abs(gcut_fold *f)
{
    gcut_ref x = under(f, gcut_fold_arg(f, 0), GCUT_OP_neg);
    if (!x) return gcut_fold_idempotent(f);
    return gcut_fold_is(f, x, GCUT_OP_abs) ? gcut_fold_same(f, x) : make1(f, GCUT_OP_abs, x);
}

/* f(f(x)) = f(x) */
gcut_ref gcut_fold_idempotent(gcut_fold *f)
{
    gcut_ref x = gcut_fold_arg(f, 0);
    return gcut_fold_is(f, x, (gcut_op)gcut_fold_node(f)->op) ? gcut_fold_same(f, x) : 0;
}

/* !!x = x */
gcut_ref gcut_fold_not(gcut_fold *f)
{
    gcut_ref x = under(f, gcut_fold_arg(f, 0), GCUT_OP_not);
    return x ? gcut_fold_same(f, x) : 0;
}

/* Is every value of `narrow` a value of `wide`, both floats or both integers? */
static bool holds(gcut_dtype wide, gcut_dtype narrow)
{
    int64_t a = gcut_dtype_bytes(wide), b = gcut_dtype_bytes(narrow);
    if (wide == narrow) return true;
    if (gcut_dtype_is_float(wide)) return gcut_dtype_is_float(narrow) && a > b;
    return gcut_dtype_is_int(wide) && gcut_dtype_is_int(narrow) && a > b && wide != GCUT_U8;
}

/* The interpreter's conversions.  An integer beyond 2^53 is not folded: it would be rounded twice. */
static gcut_ref cast_constant(gcut_fold *f, gcut_num c)
{
    gcut_dtype to = gcut_fold_type(f)->dtype;
    if (gcut_dtype_is_float(to)) {
        bool exact = !c.is_int || (c.i >= -(INT64_C(1) << 53) && c.i <= INT64_C(1) << 53);
        return exact ? real(f, c.f) : 0;
    }
    if (to == GCUT_BOOL) return integer(f, c.is_int ? c.i != 0 : c.f != 0);
    return integer(f, c.is_int ? c.i : gcut_eval_truncate(c.f, to));
}

/* x: t to t = x   x: t to w to u = x to u where w holds every t   c */
gcut_ref gcut_fold_cast(gcut_fold *f)
{
    gcut_num c;
    gcut_ref x = gcut_fold_arg(f, 0);
    if (gcut_fold_same(f, x)) return x;
    if (gcut_fold_constant(f, x, &c)) return cast_constant(f, c);
    gcut_ref from = under(f, x, GCUT_OP_cast);
    if (!from || !holds(gcut_fold_type_of(f, x)->dtype, gcut_fold_type_of(f, from)->dtype)) return 0;
    if (gcut_fold_same(f, from)) return from;
    if (gcut_fold_type_of(f, from)->dtype == gcut_fold_type(f)->dtype) return 0; /* only the order differs */
    return gcut_fold_make(f, GCUT_OP_cast, &from, 1, gcut_fold_attr(f, GCUT_KEY_to), 1);
}

/* ---- binary ---- */

/* x + -0 = x (x + 0 turns -0 into 0)   integers: x + 0 = x   x + -y = x - y   -x + y = y - x   c + d */
gcut_ref gcut_fold_add(gcut_fold *f)
{
    gcut_num c, d;
    gcut_ref x = gcut_fold_arg(f, 0), y = gcut_fold_arg(f, 1), z;
    double zero = is_float(f) ? -0.0 : 0.0;
    if (two(f, &c, &d)) return c.is_int ? integer(f, gcut_ref_wrap_add(c.i, d.i)) : real(f, c.f + d.f);
    if (is_number(f, 1, zero)) return gcut_fold_same(f, x);
    if (is_number(f, 0, zero)) return gcut_fold_same(f, y);
    if ((z = under(f, y, GCUT_OP_neg)) != 0) return make2(f, GCUT_OP_sub, x, z);
    if ((z = under(f, x, GCUT_OP_neg)) != 0) return make2(f, GCUT_OP_sub, y, z);
    return 0;
}

/* x - 0 = x   x - -y = x + y   c - d */
gcut_ref gcut_fold_sub(gcut_fold *f)
{
    gcut_num c, d;
    gcut_ref x = gcut_fold_arg(f, 0), z;
    if (two(f, &c, &d)) return c.is_int ? integer(f, gcut_ref_wrap_sub(c.i, d.i)) : real(f, c.f - d.f);
    if (is_number(f, 1, 0.0)) return gcut_fold_same(f, x);
    if ((z = under(f, gcut_fold_arg(f, 1), GCUT_OP_neg)) != 0) return make2(f, GCUT_OP_add, x, z);
    return 0;
}

/* (-x) op (-y) = x op y, for products and quotients */
static gcut_ref without_signs(gcut_fold *f)
{
    gcut_ref x = under(f, gcut_fold_arg(f, 0), GCUT_OP_neg), y = under(f, gcut_fold_arg(f, 1), GCUT_OP_neg);
    return x && y ? make2(f, (gcut_op)gcut_fold_node(f)->op, x, y) : 0;
}

/* x * 1 = x   x * -1 = -x   integers: x * 0 = 0   (-x) * (-y) = x * y   c * d */
gcut_ref gcut_fold_mul(gcut_fold *f)
{
    gcut_num c, d;
    if (two(f, &c, &d)) return c.is_int ? integer(f, gcut_ref_wrap_mul(c.i, d.i)) : real(f, c.f * d.f);
    for (uint32_t k = 0; k < 2; k++) {
        gcut_ref x = gcut_fold_arg(f, 1 - k);
        gcut_ref negated = under(f, x, GCUT_OP_neg);
        if (is_number(f, k, 1)) return gcut_fold_same(f, x);
        if (is_number(f, k, -1)) return negated ? gcut_fold_same(f, negated) : make1(f, GCUT_OP_neg, x);
        if (!is_float(f) && is_number(f, k, 0)) return integer(f, 0);
    }
    return without_signs(f);
}

/* x / 1 = x   floats: (-x) / (-y) = x / y, c / d.  Integers may divide by 0, which is an error at run time.
 */
gcut_ref gcut_fold_div(gcut_fold *f)
{
    gcut_num c, d;
    if (is_number(f, 1, 1)) return gcut_fold_same(f, gcut_fold_arg(f, 0));
    if (!is_float(f)) return two(f, &c, &d) && d.i != 0 ? integer(f, gcut_ref_floordiv(c.i, d.i)) : 0;
    return two(f, &c, &d) ? real(f, c.f / d.f) : without_signs(f);
}

/* x ^ 1 = x   x ^ 0 = 1, of NaN too: C17 F.10.4.4 */
gcut_ref gcut_fold_pow(gcut_fold *f)
{
    if (is_number(f, 1, 1)) return gcut_fold_same(f, gcut_fold_arg(f, 0));
    return is_number(f, 1, 0.0) || is_number(f, 1, -0.0) ? real(f, 1) : 0;
}

/* max(x, x) = x, and so min, and, or */
gcut_ref gcut_fold_either(gcut_fold *f)
{
    return gcut_fold_arg(f, 0) == gcut_fold_arg(f, 1) ? gcut_fold_same(f, gcut_fold_arg(f, 0)) : 0;
}

/* x == x, x <= x and x >= x hold, but for NaN */
gcut_ref gcut_fold_reflexive(gcut_fold *f)
{
    bool holds = gcut_fold_arg(f, 0) == gcut_fold_arg(f, 1) &&
                 !gcut_dtype_is_float(gcut_fold_type_of(f, gcut_fold_arg(f, 0))->dtype);
    return holds ? gcut_fold_full(f, (gcut_num){true, 1, 1}) : 0;
}

/* x < x and x > x never hold */
gcut_ref gcut_fold_strict(gcut_fold *f)
{
    return gcut_fold_arg(f, 0) == gcut_fold_arg(f, 1) ? gcut_fold_full(f, (gcut_num){true, 0, 0}) : 0;
}

/* x != x holds for NaN alone */
gcut_ref gcut_fold_ne(gcut_fold *f)
{
    bool is_float = gcut_dtype_is_float(gcut_fold_type_of(f, gcut_fold_arg(f, 0))->dtype);
    return is_float ? 0 : gcut_fold_strict(f);
}

/* true ? x : y = x   false ? x : y = y   p ? x : x = x   !p ? x : y = p ? y : x */
gcut_ref gcut_fold_select(gcut_fold *f)
{
    gcut_num c;
    gcut_ref x = gcut_fold_arg(f, 1), y = gcut_fold_arg(f, 2);
    if (x == y) return gcut_fold_same(f, x);
    if (gcut_fold_constant(f, gcut_fold_arg(f, 0), &c)) return gcut_fold_same(f, c.i ? x : y);
    gcut_ref p = under(f, gcut_fold_arg(f, 0), GCUT_OP_not);
    return p ? gcut_fold_make(f, GCUT_OP_select, (gcut_ref[]){p, y, x}, 3, NULL, 0) : 0;
}

/* without bounds = x */
gcut_ref gcut_fold_clamp(gcut_fold *f)
{
    return gcut_fold_node(f)->nattrs == 0 ? gcut_fold_same(f, gcut_fold_arg(f, 0)) : 0;
}
