/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of reductions, and of what is made of them along an axis.
 */
#include "graph/meaning.h"

#include <math.h>

/* y = sum(x) / n */
gcut_ref gcut_meaning_mean(gcut_build *b, const gcut_graph *src, const gcut_node *node, const gcut_ref *x)
{
    uint32_t mask = axes_attr(b, src, node, x[0]);
    gcut_ref s = gcut_breduce(b, GCUT_OP_sum, x[0], mask);
    return kept(b, src, node, gcut_b2(b, GCUT_OP_div, s, gcut_bcount(b, x[0], mask, s)), x[0], mask);
}

/* y = sum over c of (c == i ? x[.., c, ..] : 0).  An index out of range would pick 0, hence `bounded`. */
gcut_ref gcut_meaning_pick(gcut_build *b, const gcut_graph *src, const gcut_node *node, const gcut_ref *x)
{
    uint32_t mask = axis_attr(src, node);
    gcut_dim axis = gcut_attr_get(src, node, GCUT_A_axis)->u.dim;
    gcut_type t = type_of(b, x[0]);
    t.dtype = type_of(b, x[1]).dtype;
    t.ordered = false;
    gcut_attr of = gcut_attr_dim(GCUT_A_of, t.dim[axis]);
    gcut_ref i = gcut_node_new(b->g, GCUT_OP_bounded, &x[1], 1, &of, 1, b->loc, b->name);
    gcut_ref here = gcut_b2(b, GCUT_OP_eq, gcut_biota(b, &t, (int)axis), gcut_bexpand(b, i, x[0], mask));
    return gcut_breduce(b, GCUT_OP_sum, gcut_bselect(b, here, x[0], gcut_bconst(b, x[0], 0)), mask);
}

/* y = e / sum(e), e = exp(x - max x).  A row of -inf alone gives NaN, as -inf - -inf does. */
gcut_ref gcut_meaning_softmax(gcut_build *b, const gcut_graph *src, const gcut_node *node, const gcut_ref *x)
{
    uint32_t mask = axis_attr(src, node);
    gcut_ref m = gcut_bexpand(b, shift_of(b, x[0], mask), x[0], mask);
    gcut_ref e = gcut_b1(b, GCUT_OP_exp, gcut_b2(b, GCUT_OP_sub, x[0], m));
    return gcut_b2(b, GCUT_OP_div, e, gcut_bexpand(b, gcut_breduce(b, GCUT_OP_sum, e, mask), x[0], mask));
}

/* y = z - log sum exp z, z = x - max x: the logarithm's argument is at least 1. */
gcut_ref gcut_meaning_log_softmax(gcut_build *b, const gcut_graph *src, const gcut_node *node,
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
gcut_ref gcut_meaning_logsumexp(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                const gcut_ref *x)
{
    uint32_t mask = axes_attr(b, src, node, x[0]);
    gcut_ref top = shift_of(b, x[0], mask);
    gcut_ref infinite = gcut_b2(b, GCUT_OP_eq, gcut_b1(b, GCUT_OP_abs, top), gcut_bconst(b, top, INFINITY));
    gcut_ref m = gcut_bselect(b, infinite, gcut_bconst(b, top, 0), top);
    gcut_ref e = gcut_b1(b, GCUT_OP_exp, gcut_b2(b, GCUT_OP_sub, x[0], gcut_bexpand(b, m, x[0], mask)));
    gcut_ref l = gcut_b1(b, GCUT_OP_log, gcut_breduce(b, GCUT_OP_sum, e, mask));
    return kept(b, src, node, gcut_b2(b, GCUT_OP_add, l, m), x[0], mask);
}
