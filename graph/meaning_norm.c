/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of normalisations.
 */
#include "graph/meaning.h"

/* d / sqrt(mean d^2 + eps) over the last axis */
static gcut_ref normalise(gcut_build *b, gcut_ref d, double eps)
{
    uint32_t mask = last_axis(b, d);
    gcut_ref var = gcut_breduce(b, GCUT_OP_mean, gcut_b2(b, GCUT_OP_mul, d, d), mask);
    gcut_ref r = gcut_b1(b, GCUT_OP_rsqrt, gcut_baddc(b, var, eps));
    return gcut_b2(b, GCUT_OP_mul, d, gcut_bexpand(b, r, d, mask));
}

/* y = d / sqrt(mean d^2 + eps) g + b, d = x - mean x (Ba, Kiros & Hinton 2016; biased variance) */
gcut_ref gcut_meaning_layer_norm(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                 const gcut_ref *x)
{
    uint32_t mask = last_axis(b, x[0]);
    gcut_ref mean = gcut_breduce(b, GCUT_OP_mean, x[0], mask);
    gcut_ref d = gcut_b2(b, GCUT_OP_sub, x[0], gcut_bexpand(b, mean, x[0], mask));
    gcut_ref y = normalise(b, d, gcut_attr_num(src, node, GCUT_A_eps));
    return gcut_b2(b, GCUT_OP_add, gcut_b2(b, GCUT_OP_mul, y, along_last(b, x[1], y)),
                   along_last(b, x[2], y));
}

/* y = x / sqrt(mean x^2 + eps) g (Zhang & Sennrich 2019) */
gcut_ref gcut_meaning_rms_norm(gcut_build *b, const gcut_graph *src, const gcut_node *node, const gcut_ref *x)
{
    gcut_ref y = normalise(b, x[0], gcut_attr_num(src, node, GCUT_A_eps));
    return gcut_b2(b, GCUT_OP_mul, y, along_last(b, x[1], y));
}
