/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of the random ops.  Element i of a draw is a function of the key and of its row-major
 * index i alone. f16 and bf16 are drawn in f32 and rounded.
 */
#include "graph/decompose/decompose_rule.h"

#include <math.h>

static gcut_ref random_bits(gcut_build *b, gcut_ref key, gcut_ref counter, gcut_dtype to)
{
    gcut_attr a = gcut_attr_str(b->g->module, GCUT_KEY_dtype, gcut_dtype_name(to));
    gcut_type t = type_of(b, counter);
    gcut_ref keys = t.rank ? gcut_bbroadcast(b, key, t.dim, t.rank, NULL) : key;
    return gcut_node_new(b->g, GCUT_OP_random, (gcut_ref[]){keys, counter}, 2, &a, 1, b->loc, b->name);
}

/* Row-major indices of shape t, as i64. */
static gcut_ref indices(gcut_build *b, const gcut_type *t)
{
    gcut_type flat = {.dtype = GCUT_I64, .rank = 1, .dim = {gcut_type_numel(b->g->module, t)}};
    gcut_ref i = gcut_biota(b, &flat, 0);
    return t->rank == 1 ? i : gcut_breshape(b, i, t->dim, t->rank);
}

/* The type of a node's first result, in the module of b: with the sizes of the attribute; f32 for f16 and
 * bf16.
 */
static gcut_type drawn(const composite *c)
{
    const gcut_attr *shape = attr(c, GCUT_KEY_shape);
    gcut_type t = {.dtype = gcut_type_of(c->src, c->node.res0)->dtype, .rank = (uint8_t)shape->n};
    for (uint32_t d = 0; d < shape->n; d++) t.dim[d] = shape->u.dims[d];
    if (gcut_dtype_is_16bit_float(t.dtype)) t.dtype = GCUT_F32;
    return t;
}

/* The largest value of dtype t below hi; f16 has 11 bits of significand, bf16 8. */
static double below(double hi, double lo, gcut_dtype t)
{
    if (t == GCUT_F64) return nextafter(hi, lo);
    if (t == GCUT_F32) return (double)nextafterf((float)hi, (float)lo);
    int e, bits = t == GCUT_F16 ? 11 : 8, least = t == GCUT_F16 ? -24 : -133;
    double x = gcut_round_to(hi, t);
    if (x < hi) return x;
    if (frexp(x, &e) == 0.5) e--; /* below a power of two the spacing is halved */
    return x - ldexp(1, x == 0 || e - bits < least ? least : e - bits);
}

/* y = lo + (hi - lo) u, u in [0, 1), below hi also after rounding */
gcut_ref gcut_decompose_uniform(composite *c)
{
    double lo = number(c, GCUT_KEY_lo), hi = number(c, GCUT_KEY_hi);
    gcut_type t = drawn(c);
    gcut_dtype to = gcut_type_of(c->src, c->node.res0)->dtype;
    gcut_ref u = random_bits(B, c->x[0], indices(B, &t), t.dtype);
    if (lo == 0 && hi == 1 && to == t.dtype) return u;
    gcut_attr top = gcut_attr_real(GCUT_KEY_hi, below(hi, lo, to));
    gcut_ref y = gcut_baddc(B, gcut_bscale(B, u, hi - lo), lo);
    return gcut_node_new(B->g, GCUT_OP_clamp, &y, 1, &top, 1, B->loc, B->name);
}

/* y = mean + std sqrt(-2 log(1 - u0)) cos(2 pi u1) (Box & Muller 1958); element i has the counters 2 i and
 * 2 i + 1.  1 - u0 is exact and in (0, 1]. */
gcut_ref gcut_decompose_normal(composite *c)
{
    double mean = number(c, GCUT_KEY_mean), std = number(c, GCUT_KEY_std);
    gcut_type t = drawn(c);
    gcut_ref i = gcut_bscale(B, indices(B, &t), 2);
    gcut_ref u = random_bits(B, c->x[0], i, t.dtype),
             v = random_bits(B, c->x[0], gcut_baddc(B, i, 1), t.dtype);
    gcut_ref log = gcut_b1(B, GCUT_OP_log, gcut_b2(B, GCUT_OP_sub, gcut_bconst(B, u, 1), u));
    gcut_ref radius = gcut_b1(B, GCUT_OP_sqrt, gcut_bscale(B, log, -2));
    gcut_ref z = gcut_b2(B, GCUT_OP_mul, radius, gcut_b1(B, GCUT_OP_cos, gcut_bscale(B, v, 2 * M_PI)));
    if (std != 1) z = gcut_bscale(B, z, std);
    return mean == 0 ? z : gcut_baddc(B, z, mean);
}

/* keys[i] = all bits of counter i */
gcut_ref gcut_decompose_key_split(composite *c)
{
    gcut_type t = {.dtype = GCUT_I64, .rank = 1, .dim = {attr(c, GCUT_KEY_n)->u.dim}};
    return random_bits(B, c->x[0], indices(B, &t), GCUT_I64);
}

/* y = u >= p ? x / (1 - p) : 0, u uniform in f32 */
gcut_ref gcut_decompose_dropout(composite *c)
{
    double p = number(c, GCUT_KEY_p);
    gcut_type t = type_of(B, c->x[0]);
    if (p == 0) return c->x[0];
    gcut_ref u = random_bits(B, c->x[1], indices(B, &t), GCUT_F32);
    gcut_ref kept = gcut_b2(B, GCUT_OP_ge, u, gcut_bconst(B, u, p));
    gcut_ref zero = gcut_bconst(B, c->x[0], 0);
    return gcut_bselect(B, kept, gcut_bscale(B, c->x[0], 1 / (1 - p)), zero);
}
