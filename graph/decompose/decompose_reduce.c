/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of reductions and of ops along an axis that are built on them.
 */
#include "graph/decompose/decompose_rule.h"

#include <math.h>

/* y = sum(x) / n */
gcut_ref gcut_decompose_mean(composite *c)
{
    uint32_t mask = axes_attr(c);
    gcut_ref s = gcut_breduce(B, GCUT_OP_sum, c->x[0], mask);
    return kept(c, gcut_b2(B, GCUT_OP_div, s, gcut_bcount(B, c->x[0], mask, s)), mask);
}

/* y = sum((x - mean x)^2) / max(n - correction, 0) */
gcut_ref gcut_decompose_var(composite *c)
{
    uint32_t mask = axes_attr(c);
    const gcut_ref x = c->x[0];
    gcut_ref mean = gcut_breduce(B, GCUT_OP_mean, x, mask);
    gcut_ref d = gcut_b2(B, GCUT_OP_sub, x, gcut_bexpand(B, mean, x, mask));
    gcut_ref s = gcut_breduce(B, GCUT_OP_sum, gcut_b2(B, GCUT_OP_mul, d, d), mask);
    gcut_ref n = gcut_bcount(B, x, mask, s);
    const double correction = number(c, GCUT_KEY_correction);
    if (correction != 0) n = gcut_b2(B, GCUT_OP_max, gcut_baddc(B, n, -correction), gcut_bconst(B, n, 0));
    return kept(c, gcut_b2(B, GCUT_OP_div, s, n), mask);
}

/* y = sqrt(var x) */
gcut_ref gcut_decompose_std(composite *c)
{
    gcut_ref v = gcut_node_new(B->g, GCUT_OP_var, c->x, 1, &c->src->attrs.at[c->node.attr0], c->node.nattrs,
                               B->loc, B->name);
    return gcut_b1(B, GCUT_OP_sqrt, v);
}

/* y = sum over c of (c == i ? x[.., c, ..] : 0).  An index out of range would pick 0, hence `bounded`. */
gcut_ref gcut_decompose_pick(composite *c)
{
    uint32_t mask = axis_attr(c);
    gcut_dim axis = attr(c, GCUT_KEY_axis)->u.dim;
    gcut_type t = type_of(B, c->x[0]);
    t.dtype = type_of(B, c->x[1]).dtype;
    gcut_ref wanted = gcut_bexpand(B, gcut_bbounded(B, c->x[1], t.dim[axis]), c->x[0], mask);
    gcut_ref here = gcut_b2(B, GCUT_OP_eq, gcut_biota(B, &t, (int)axis), wanted);
    return gcut_breduce(B, GCUT_OP_sum, gcut_bselect(B, here, c->x[0], gcut_bconst(B, c->x[0], 0)), mask);
}

/* y = e / sum(e), e = exp(x - max x).  A row of -inf alone gives NaN, as -inf - -inf does. */
gcut_ref gcut_decompose_softmax(composite *c)
{
    uint32_t mask = axis_attr(c);
    gcut_ref m = gcut_bexpand(B, shift_of(B, c->x[0], mask), c->x[0], mask);
    gcut_ref e = gcut_b1(B, GCUT_OP_exp, gcut_b2(B, GCUT_OP_sub, c->x[0], m));
    return gcut_b2(B, GCUT_OP_div, e, gcut_bexpand(B, gcut_breduce(B, GCUT_OP_sum, e, mask), c->x[0], mask));
}

/* y = z - log sum exp z, z = x - max x: the logarithm's argument is at least 1. */
gcut_ref gcut_decompose_log_softmax(composite *c)
{
    uint32_t mask = axis_attr(c);
    gcut_ref m = gcut_bexpand(B, shift_of(B, c->x[0], mask), c->x[0], mask);
    gcut_ref z = gcut_b2(B, GCUT_OP_sub, c->x[0], m);
    gcut_ref s = gcut_breduce(B, GCUT_OP_sum, gcut_b1(B, GCUT_OP_exp, z), mask);
    return gcut_b2(B, GCUT_OP_sub, z, gcut_bexpand(B, gcut_b1(B, GCUT_OP_log, s), c->x[0], mask));
}

/* y = m + log sum exp(x - m), m = max x, or 0 where that is infinite: then a row of -inf alone gives
 * log 0 = -inf and a row with +inf gives +inf. */
gcut_ref gcut_decompose_logsumexp(composite *c)
{
    uint32_t mask = axes_attr(c);
    gcut_ref top = shift_of(B, c->x[0], mask);
    gcut_ref inf = gcut_bconst(B, top, INFINITY);
    gcut_ref infinite = gcut_b2(B, GCUT_OP_eq, gcut_b1(B, GCUT_OP_abs, top), inf);
    gcut_ref m = gcut_bselect(B, infinite, gcut_bconst(B, top, 0), top);
    gcut_ref e = gcut_b1(B, GCUT_OP_exp, gcut_b2(B, GCUT_OP_sub, c->x[0], gcut_bexpand(B, m, c->x[0], mask)));
    gcut_ref l = gcut_b1(B, GCUT_OP_log, gcut_breduce(B, GCUT_OP_sum, e, mask));
    return kept(c, gcut_b2(B, GCUT_OP_add, l, m), mask);
}

/* y = least i with x[i] == best x, or x[i] NaN where the best is. */
static gcut_ref first_best(composite *c, gcut_ref x, gcut_op best)
{
    uint32_t mask = axis_attr(c);
    gcut_type t = type_of(B, x);
    gcut_ref top = gcut_bexpand(B, gcut_breduce(B, best, x, mask), x, mask);
    gcut_ref hit = gcut_b2(B, GCUT_OP_eq, x, top);
    if (gcut_dtype_is_float(t.dtype)) hit = gcut_b2(B, GCUT_OP_or, hit, gcut_b1(B, GCUT_OP_isnan, x));
    t.dtype = GCUT_I64;
    gcut_ref i = gcut_biota(B, &t, (int)attr(c, GCUT_KEY_axis)->u.dim);
    gcut_attr none[] = {gcut_attr_dims(B->g->module, GCUT_KEY_shape, t.dim, t.rank),
                        gcut_attr_int(GCUT_KEY_value, INT64_MAX),
                        gcut_attr_str(B->g->module, GCUT_KEY_dtype, "i64")};
    gcut_ref never = gcut_node_new(B->g, GCUT_OP_full, NULL, 0, none, 3, B->loc, B->name);
    return gcut_breduce(B, GCUT_OP_min_reduce, gcut_bselect(B, hit, i, never), mask);
}

gcut_ref gcut_decompose_argmax(composite *c)
{
    return first_best(c, c->x[0], GCUT_OP_max_reduce);
}

gcut_ref gcut_decompose_argmin(composite *c)
{
    return first_best(c, c->x[0], GCUT_OP_min_reduce);
}

/* y[i] = product over j of (j <= i ? x[j] : 1), or j >= i in reverse: x as [o, n, in], repeated to
 * [o, i, in, j]. */
gcut_ref gcut_decompose_cumprod(composite *c)
{
    gcut_type t = type_of(B, c->x[0]), index = {.dtype = GCUT_I64, .rank = 4, .dim = {1, 1, 1, 1}};
    uint32_t axis = (uint32_t)attr(c, GCUT_KEY_axis)->u.dim;
    bool reverse = flag(c, GCUT_KEY_reverse);
    gcut_dims *ds = B->g->module->dims;
    for (uint32_t d = 0; d < t.rank; d++)
        if (d != axis)
            index.dim[d < axis ? 0 : 2] =
                gcut_dim_make(ds, GCUT_DIM_MUL, index.dim[d < axis ? 0 : 2], t.dim[d]);
    index.dim[1] = index.dim[3] = t.dim[axis];
    gcut_ref flat = gcut_breshape(B, c->x[0], index.dim, 3);
    gcut_ref last = gcut_btranspose(B, flat, (gcut_dim[]){0, 2, 1});
    gcut_ref wide = gcut_bbroadcast(B, last, index.dim, 4, (gcut_dim[]){0, 2, 3});
    gcut_ref to = gcut_biota(B, &index, 1), from = gcut_biota(B, &index, 3);
    gcut_ref in = gcut_b2(B, reverse ? GCUT_OP_ge : GCUT_OP_le, from, to);
    gcut_ref y = gcut_breduce(B, GCUT_OP_prod, gcut_bselect(B, in, wide, gcut_bconst(B, wide, 1)), 1u << 3);
    return gcut_breshape(B, y, t.dim, t.rank);
}
