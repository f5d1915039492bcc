/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of normalisations.
 */
#include "graph/decompose/decompose.h"
#include "graph/decompose/decompose_rule.h"

/* d / sqrt(mean d^2 + eps) over the last axis */
static gcut_ref normalise(gcut_build *b, gcut_ref d, double eps)
{
    uint32_t mask = last_axis(b, d);
    gcut_ref var = gcut_breduce(b, GCUT_OP_mean, gcut_b2(b, GCUT_OP_mul, d, d), mask);
    gcut_ref r = gcut_b1(b, GCUT_OP_rsqrt, gcut_baddc(b, var, eps));
    return gcut_b2(b, GCUT_OP_mul, d, gcut_bexpand(b, r, d, mask));
}

/* y = d / sqrt(mean d^2 + eps) g + b, d = x - mean x (Ba, Kiros & Hinton 2016; biased variance) */
gcut_ref gcut_decompose_layer_norm(composite *c)
{
    uint32_t mask = last_axis(B, c->x[0]);
    gcut_ref mean = gcut_breduce(B, GCUT_OP_mean, c->x[0], mask);
    gcut_ref d = gcut_b2(B, GCUT_OP_sub, c->x[0], gcut_bexpand(B, mean, c->x[0], mask));
    gcut_ref y = normalise(B, d, number(c, GCUT_KEY_eps));
    gcut_ref bias = along_last(B, c->x[2], y);
    return gcut_b2(B, GCUT_OP_add, gcut_b2(B, GCUT_OP_mul, y, along_last(B, c->x[1], y)), bias);
}

/* y = x / sqrt(mean x^2 + eps) g (Zhang & Sennrich 2019) */
gcut_ref gcut_decompose_rms_norm(composite *c)
{
    gcut_ref y = normalise(B, c->x[0], number(c, GCUT_KEY_eps));
    return gcut_b2(B, GCUT_OP_mul, y, along_last(B, c->x[1], y));
}

/* ---- over channels: x is [N, C, ...] ----
 *
 * A sum over all axes but the channels is two reductions, rows first, and a vector is broadcast in two
 * ops, so that the sum in its derivative is two reductions as well.  The first reduction of each pair
 * fuses with its producers; one reduction over axes on both sides of the channel axis would not. */

/* The axes after the channels. */
static uint32_t rest_axes(const gcut_build *b, gcut_ref x)
{
    return all_axes(b, x) & ~3u;
}

static gcut_ref sum_channels(gcut_build *b, gcut_ref x)
{
    if (type_of(b, x).rank > 2) x = gcut_breduce(b, GCUT_OP_sum, x, rest_axes(b, x));
    return gcut_breduce(b, GCUT_OP_sum, x, 1);
}

/* v [C], repeated to the shape of x. */
static gcut_ref along_channels(gcut_build *b, gcut_ref v, gcut_ref x)
{
    gcut_type t = type_of(b, x);
    gcut_dim axis = 1;
    gcut_ref rows = gcut_bbroadcast(b, v, t.dim, 2, &axis);
    return t.rank > 2 ? gcut_bexpand(b, rows, x, rest_axes(b, x)) : rows;
}

/* next = running + momentum (batch - running), in the dtype of the batch; no derivative */
static gcut_ref running(gcut_build *b, gcut_ref old, gcut_ref batch, double momentum)
{
    gcut_ref r = gcut_bconvert(b, old, type_of(b, batch).dtype);
    gcut_ref fresh = gcut_bscale(b, batch, momentum);
    gcut_ref sum = gcut_b2(b, GCUT_OP_add, gcut_bscale(b, r, 1 - momentum), fresh);
    return gcut_b1(b, GCUT_OP_stop_gradient, sum);
}

/* Per channel, the sum of (x - m)^2, m the mean of n values, as sum (x - c)^2 - n (m - c)^2 where c =
 * stop_gradient(m).  The first derivative of the sum by the mean is 0, and computing it would take a pass
 * over x; with c, no cotangent reaches the mean in the first term.  The second term has the value 0 and
 * restores the second derivative. */
static gcut_ref squares_about(gcut_build *b, gcut_ref x, gcut_ref m, gcut_ref n)
{
    gcut_ref c = gcut_b1(b, GCUT_OP_stop_gradient, m);
    gcut_ref d = gcut_b2(b, GCUT_OP_sub, x, along_channels(b, c, x)), e = gcut_b2(b, GCUT_OP_sub, m, c);
    gcut_ref less = gcut_b2(b, GCUT_OP_mul, gcut_b2(b, GCUT_OP_mul, e, e), n);
    return gcut_b2(b, GCUT_OP_sub, sum_channels(b, gcut_b2(b, GCUT_OP_mul, d, d)), less);
}

/* y = d / sqrt(v + eps) g + b, d = x - m, with the mean m and biased variance v of a channel (Ioffe & Szegedy
 * 2015).  The running variance takes the unbiased one, v n / (n - 1), and 0 from n = 1 value. */
gcut_ref gcut_decompose_batch_norm(composite *c)
{
    double momentum = number(c, GCUT_KEY_momentum), eps = number(c, GCUT_KEY_eps);
    gcut_ref n = gcut_bcount(B, c->x[0], all_axes(B, c->x[0]) & ~2u, c->x[1]);
    gcut_ref m = gcut_b2(B, GCUT_OP_div, sum_channels(B, c->x[0]), n);
    gcut_ref squares = squares_about(B, c->x[0], m, n);
    gcut_ref v = gcut_b2(B, GCUT_OP_div, squares, n);
    gcut_ref scale = gcut_b2(B, GCUT_OP_mul, gcut_b1(B, GCUT_OP_rsqrt, gcut_baddc(B, v, eps)), c->x[1]);
    gcut_ref d = gcut_b2(B, GCUT_OP_sub, c->x[0], along_channels(B, m, c->x[0]));
    gcut_ref y = gcut_b2(B, GCUT_OP_mul, d, along_channels(B, scale, d));
    gcut_ref one = gcut_bconst(B, n, 1), others = gcut_b2(B, GCUT_OP_max, gcut_baddc(B, n, -1), one);
    c->more[0] = running(B, c->x[3], m, momentum);
    c->more[1] = running(B, c->x[4], gcut_b2(B, GCUT_OP_div, squares, others), momentum);
    return gcut_b2(B, GCUT_OP_add, y, along_channels(B, c->x[2], y));
}

gcut_ref gcut_batch_norm_by_statistics(gcut_build *b, const gcut_ref x[5], double eps)
{
    const char *result = b->name;
    if (result) b->name = gcut_printf(b->g->module->arena, "%s.batch_norm", result);
    const gcut_ref scale = gcut_b2(b, GCUT_OP_mul, gcut_b1(b, GCUT_OP_rsqrt, gcut_baddc(b, x[4], eps)), x[1]);
    const gcut_ref d = gcut_b2(b, GCUT_OP_sub, x[0], along_channels(b, x[3], x[0]));
    const gcut_ref y = gcut_b2(b, GCUT_OP_mul, d, along_channels(b, scale, d)),
                   bias = along_channels(b, x[2], y);
    b->name = result;
    return gcut_b2(b, GCUT_OP_add, y, bias);
}

/* y = d / sqrt(mean d^2 + eps) g + b, d = x - mean x, over the last axis of x seen as `rows` */
static gcut_ref norm_rows(gcut_build *b, const gcut_ref *x, const gcut_type *rows, double eps)
{
    gcut_type t = type_of(b, x[0]);
    gcut_ref z = gcut_breshape(b, x[0], rows->dim, rows->rank);
    gcut_ref mean = gcut_breduce(b, GCUT_OP_mean, z, last_axis(b, z));
    z = normalise(b, gcut_b2(b, GCUT_OP_sub, z, gcut_bexpand(b, mean, z, last_axis(b, z))), eps);
    gcut_ref y = gcut_breshape(b, z, t.dim, t.rank);
    y = gcut_b2(b, GCUT_OP_mul, y, along_channels(b, x[1], y));
    return gcut_b2(b, GCUT_OP_add, y, along_channels(b, x[2], y));
}

static gcut_dim times(gcut_build *b, gcut_dim a, gcut_dim c)
{
    return gcut_dim_make(b->g->module->dims, GCUT_DIM_MUL, a, c);
}

/* Rows are the groups: [N, G, C/G ...] (Wu & He 2018). */
gcut_ref gcut_decompose_group_norm(composite *c)
{
    gcut_dim groups = attr(c, GCUT_KEY_groups)->u.dim;
    gcut_type t = type_of(B, c->x[0]), rows = {.rank = 3, .dim = {t.dim[0], groups}};
    rows.dim[2] = gcut_dim_make(B->g->module->dims, GCUT_DIM_DIV, t.dim[1], groups);
    for (uint32_t d = 2; d < t.rank; d++) rows.dim[2] = times(B, rows.dim[2], t.dim[d]);
    return norm_rows(B, c->x, &rows, number(c, GCUT_KEY_eps));
}

/* Rows are the channels: [N, C, ...] (Ulyanov, Vedaldi & Lempitsky 2016). */
gcut_ref gcut_decompose_instance_norm(composite *c)
{
    gcut_type t = type_of(B, c->x[0]), rows = {.rank = 3, .dim = {t.dim[0], t.dim[1], t.dim[2]}};
    for (uint32_t d = 3; d < t.rank; d++) rows.dim[2] = times(B, rows.dim[2], t.dim[d]);
    return norm_rows(B, c->x, &rows, number(c, GCUT_KEY_eps));
}
