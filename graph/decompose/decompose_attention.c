/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The decomposition of attention.
 */
#include "graph/decompose/decompose_rule.h"

#include <math.h>

/* [B,G,S,D] -> [B,H,S,D]: each group serves H / G heads that follow one another. */
static gcut_ref repeat_heads(gcut_build *b, gcut_ref x, gcut_dim heads)
{
    gcut_type t = type_of(b, x);
    if (t.dim[1] == heads) return x;
    gcut_dim times = gcut_dim_make(b->g->module->dims, GCUT_DIM_DIV, heads, t.dim[1]);
    gcut_dim wide[] = {t.dim[0], t.dim[1], times, t.dim[2], t.dim[3]}, axes[] = {0, 1, 3, 4};
    gcut_dim full[] = {t.dim[0], heads, t.dim[2], t.dim[3]};
    return gcut_breshape(b, gcut_bbroadcast(b, x, wide, 5, axes), full, 4);
}

/* x where query t sees key s, else `fill`.  It does when s <= t + (S - T): the last query sees every key
 * (aligned bottom right, as when a few new queries follow cached keys).  With T > S the first T - S queries
 * see none, and their rows are NaN.
 */
static gcut_ref mask_future(gcut_build *b, gcut_ref x, double fill)
{
    gcut_type t = type_of(b, x);
    t.dtype = GCUT_I64;
    gcut_ref query = gcut_biota(b, &t, 2), key = gcut_biota(b, &t, 3);
    if (t.dim[2] != t.dim[3]) {
        query = gcut_b2(b, GCUT_OP_add, query, gcut_bsize(b, t.dim[3], t.dtype, &t));
        key = gcut_b2(b, GCUT_OP_add, key, gcut_bsize(b, t.dim[2], t.dtype, &t));
    }
    gcut_ref hidden = gcut_bconst(b, x, fill);
    return gcut_bselect(b, gcut_b2(b, GCUT_OP_le, key, query), x, hidden);
}

/* x scale; 1 / sqrt(D) unless given */
static gcut_ref scaled(composite *c, gcut_ref x, gcut_ref q)
{
    const gcut_attr *given = attr(c, GCUT_KEY_scale);
    gcut_dim d = type_of(B, q).dim[3];
    if (given) return gcut_bscale(B, x, given->u.num.f);
    if (gcut_dim_known(d)) return gcut_bscale(B, x, 1 / sqrt((double)d));
    return gcut_b2(B, GCUT_OP_mul, x, gcut_b1(B, GCUT_OP_rsqrt, gcut_bcount(B, q, 1u << 3, x)));
}

/* softmax(q k' scale + bias), k with as many heads as q; bias may be 0 */
static gcut_ref probabilities(composite *c, gcut_ref q, gcut_ref k, gcut_ref bias)
{
    bool causal = flag(c, GCUT_KEY_causal); /* before src may move */
    gcut_ref scores = scaled(c, gcut_bmatmul(B, q, k, false, true), q);
    if (bias) scores = gcut_b2(B, GCUT_OP_add, scores, bias);
    if (causal) scores = mask_future(B, scores, -INFINITY);
    return op_with_axis(B, GCUT_OP_softmax, &scores, 1, 3);
}

/* y = softmax(q k' scale + bias) v (Vaswani et al. 2017) */
gcut_ref gcut_decompose_attention(composite *c)
{
    gcut_dim heads = type_of(B, c->x[0]).dim[1];
    gcut_ref k = repeat_heads(B, c->x[1], heads), v = repeat_heads(B, c->x[2], heads);
    gcut_ref p = probabilities(c, c->x[0], k, c->node.nargs == 4 ? c->x[3] : 0);
    return gcut_bmatmul(B, p, v, false, false);
}

/* The transpose of repeat_heads: [B,H,S,D] -> [B,G,S,D], summed over the heads of each group. */
static gcut_ref sum_heads(gcut_build *b, gcut_ref x, gcut_dim groups)
{
    gcut_type t = type_of(b, x);
    if (t.dim[1] == groups) return x;
    gcut_dim times = gcut_dim_make(b->g->module->dims, GCUT_DIM_DIV, t.dim[1], groups);
    gcut_dim wide[] = {t.dim[0], groups, times, t.dim[2], t.dim[3]};
    return gcut_breduce(b, GCUT_OP_sum, gcut_breshape(b, x, wide, 5), 1u << 2);
}

/* With P = softmax(S), S = q k' scale + bias and y = P v (Rabe & Staats 2021, Dao et al. 2022, who note that
 * P need not be kept):
 *
 *   dv = P' dy   dP = dy v'   dS = P o (dP - rowsum(P o dP)), 0 where causal masks
 *   dq = dS k scale   dk = dS' q scale   dbias = dS
 *
 * dk and dv are summed over the heads that share a group. */
gcut_ref gcut_decompose_attention_grad(composite *c)
{
    bool causal = flag(c, GCUT_KEY_causal);
    gcut_dim heads = type_of(B, c->x[0]).dim[1], groups = type_of(B, c->x[1]).dim[1];
    gcut_ref q = c->x[0], k = repeat_heads(B, c->x[1], heads), v = repeat_heads(B, c->x[2], heads);
    gcut_ref bias = c->node.nargs == 5 ? c->x[3] : 0, dy = c->x[c->node.nargs - 1];
    gcut_ref p = probabilities(c, q, k, bias);
    gcut_ref dp = gcut_bmatmul(B, dy, v, false, true);
    gcut_ref rows = gcut_breduce(B, GCUT_OP_sum, gcut_b2(B, GCUT_OP_mul, p, dp), 1u << 3);
    gcut_ref ds = gcut_b2(B, GCUT_OP_mul, p, gcut_b2(B, GCUT_OP_sub, dp, gcut_bexpand(B, rows, dp, 1u << 3)));
    if (causal) ds = mask_future(B, ds, 0);
    gcut_ref part = scaled(c, ds, q);
    c->more[0] = sum_heads(B, gcut_bmatmul(B, part, q, true, false), groups);
    c->more[1] = sum_heads(B, gcut_bmatmul(B, p, dy, true, false), groups);
    if (bias) c->more[2] = ds;
    return gcut_bmatmul(B, part, k, false, false);
}
