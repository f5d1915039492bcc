/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of reductions and of ops along an axis that are built on them.
 */
#include "graph/decompose/decompose_rule.h"

#include <math.h>

/* y = sum(x) / n */
gcut_ref gcut_decompose_mean(gcut_build *b, const gcut_graph *src, const gcut_node *node, const gcut_ref *x)
{
    uint32_t mask = axes_attr(b, src, node, x[0]);
    gcut_ref s = gcut_breduce(b, GCUT_OP_sum, x[0], mask);
    return kept(b, src, node, gcut_b2(b, GCUT_OP_div, s, gcut_bcount(b, x[0], mask, s)), x[0], mask);
}

/* y = sum over c of (c == i ? x[.., c, ..] : 0).  An index out of range would pick 0, hence `bounded`. */
gcut_ref gcut_decompose_pick(gcut_build *b, const gcut_graph *src, const gcut_node *node, const gcut_ref *x)
{
    uint32_t mask = axis_attr(src, node);
    gcut_dim axis = gcut_attr_get(src, node, GCUT_KEY_axis)->u.dim;
    gcut_type t = type_of(b, x[0]);
    t.dtype = type_of(b, x[1]).dtype;
    gcut_attr of = gcut_attr_dim(GCUT_KEY_of, t.dim[axis]);
    gcut_ref i = gcut_node_new(b->g, GCUT_OP_bounded, &x[1], 1, &of, 1, b->loc, b->name);
    gcut_ref wanted = gcut_bexpand(b, i, x[0], mask);
    gcut_ref here = gcut_b2(b, GCUT_OP_eq, gcut_biota(b, &t, (int)axis), wanted);
    return gcut_breduce(b, GCUT_OP_sum, gcut_bselect(b, here, x[0], gcut_bconst(b, x[0], 0)), mask);
}

/* y = e / sum(e), e = exp(x - max x).  A row of -inf alone gives NaN, as -inf - -inf does. */
gcut_ref gcut_decompose_softmax(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                const gcut_ref *x)
{
    uint32_t mask = axis_attr(src, node);
    gcut_ref m = gcut_bexpand(b, shift_of(b, x[0], mask), x[0], mask);
    gcut_ref e = gcut_b1(b, GCUT_OP_exp, gcut_b2(b, GCUT_OP_sub, x[0], m));
    return gcut_b2(b, GCUT_OP_div, e, gcut_bexpand(b, gcut_breduce(b, GCUT_OP_sum, e, mask), x[0], mask));
}

/* y = z - log sum exp z, z = x - max x: the logarithm's argument is at least 1. */
gcut_ref gcut_decompose_log_softmax(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                    const gcut_ref *x)
{
    uint32_t mask = axis_attr(src, node);
    gcut_ref m = gcut_bexpand(b, shift_of(b, x[0], mask), x[0], mask);
    gcut_ref z = gcut_b2(b, GCUT_OP_sub, x[0], m);
    gcut_ref s = gcut_breduce(b, GCUT_OP_sum, gcut_b1(b, GCUT_OP_exp, z), mask);
    return gcut_b2(b, GCUT_OP_sub, z, gcut_bexpand(b, gcut_b1(b, GCUT_OP_log, s), x[0], mask));
}

/* y = m + log sum exp(x - m), m = max x, or 0 where that is infinite: then a row of -inf alone gives
 * log 0 = -inf and a row with +inf gives +inf. */
gcut_ref gcut_decompose_logsumexp(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                  const gcut_ref *x)
{
    uint32_t mask = axes_attr(b, src, node, x[0]);
    gcut_ref top = shift_of(b, x[0], mask);
    gcut_ref inf = gcut_bconst(b, top, INFINITY);
    gcut_ref infinite = gcut_b2(b, GCUT_OP_eq, gcut_b1(b, GCUT_OP_abs, top), inf);
    gcut_ref m = gcut_bselect(b, infinite, gcut_bconst(b, top, 0), top);
    gcut_ref e = gcut_b1(b, GCUT_OP_exp, gcut_b2(b, GCUT_OP_sub, x[0], gcut_bexpand(b, m, x[0], mask)));
    gcut_ref l = gcut_b1(b, GCUT_OP_log, gcut_breduce(b, GCUT_OP_sum, e, mask));
    return kept(b, src, node, gcut_b2(b, GCUT_OP_add, l, m), x[0], mask);
}

/* y = least i with x[i] == best x, or x[i] NaN where the best is. */
static gcut_ref first_best(gcut_build *b, const gcut_graph *src, const gcut_node *node, gcut_ref x,
                           gcut_op best)
{
    uint32_t mask = axis_attr(src, node);
    gcut_type t = type_of(b, x);
    gcut_ref top = gcut_bexpand(b, gcut_breduce(b, best, x, mask), x, mask);
    gcut_ref hit = gcut_b2(b, GCUT_OP_eq, x, top);
    if (gcut_dtype_is_float(t.dtype)) hit = gcut_b2(b, GCUT_OP_or, hit, gcut_b1(b, GCUT_OP_isnan, x));
    t.dtype = GCUT_I64;
    gcut_ref i = gcut_biota(b, &t, (int)gcut_attr_get(src, node, GCUT_KEY_axis)->u.dim);
    gcut_attr none[] = {gcut_attr_dims(b->g->module, GCUT_KEY_shape, t.dim, t.rank),
                        gcut_attr_int(GCUT_KEY_value, INT64_MAX),
                        gcut_attr_str(b->g->module, GCUT_KEY_dtype, "i64")};
    gcut_ref never = gcut_node_new(b->g, GCUT_OP_full, NULL, 0, none, 3, b->loc, b->name);
    return gcut_breduce(b, GCUT_OP_min_reduce, gcut_bselect(b, hit, i, never), mask);
}

gcut_ref gcut_decompose_argmax(gcut_build *b, const gcut_graph *src, const gcut_node *node, const gcut_ref *x)
{
    return first_best(b, src, node, x[0], GCUT_OP_max_reduce);
}

gcut_ref gcut_decompose_argmin(gcut_build *b, const gcut_graph *src, const gcut_node *node, const gcut_ref *x)
{
    return first_best(b, src, node, x[0], GCUT_OP_min_reduce);
}

/* y[i] = product over j of (j <= i ? x[j] : 1), or j >= i in reverse: x as [o, n, in], repeated to
 * [o, i, in, j]. */
gcut_ref gcut_decompose_cumprod(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                const gcut_ref *x)
{
    gcut_type t = type_of(b, x[0]), index = {.dtype = GCUT_I64, .rank = 4, .dim = {1, 1, 1, 1}};
    uint32_t axis = (uint32_t)gcut_attr_get(src, node, GCUT_KEY_axis)->u.dim;
    bool reverse = gcut_attr_flag(src, node, GCUT_KEY_reverse);
    gcut_dims *ds = b->g->module->dims;
    for (uint32_t d = 0; d < t.rank; d++)
        if (d != axis)
            index.dim[d < axis ? 0 : 2] =
                gcut_dim_make(ds, GCUT_DIM_MUL, index.dim[d < axis ? 0 : 2], t.dim[d]);
    index.dim[1] = index.dim[3] = t.dim[axis];
    gcut_ref flat = gcut_breshape(b, x[0], index.dim, 3);
    gcut_ref last = gcut_btranspose(b, flat, (gcut_dim[]){0, 2, 1});
    gcut_ref wide = gcut_bbroadcast(b, last, index.dim, 4, (gcut_dim[]){0, 2, 3});
    gcut_ref to = gcut_biota(b, &index, 1), from = gcut_biota(b, &index, 3);
    gcut_ref in = gcut_b2(b, reverse ? GCUT_OP_ge : GCUT_OP_le, from, to);
    gcut_ref y = gcut_breduce(b, GCUT_OP_prod, gcut_bselect(b, in, wide, gcut_bconst(b, wide, 1)), 1u << 3);
    return gcut_breshape(b, y, t.dim, t.rank);
}
