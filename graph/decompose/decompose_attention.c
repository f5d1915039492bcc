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

/* A size as an integer array of type t. */
static gcut_ref size_like(gcut_build *b, gcut_dim size, const gcut_type *t)
{
    if (gcut_dim_known(size)) return gcut_bfull(b, t, (double)size);
    gcut_attr of = gcut_attr_dim(GCUT_KEY_of, size);
    gcut_ref n = gcut_bcast(b, gcut_node_new(b->g, GCUT_OP_dim, NULL, 0, &of, 1, b->loc, b->name), t->dtype);
    return gcut_bbroadcast(b, n, t->dim, t->rank, NULL);
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
        query = gcut_b2(b, GCUT_OP_add, query, size_like(b, t.dim[3], &t));
        key = gcut_b2(b, GCUT_OP_add, key, size_like(b, t.dim[2], &t));
    }
    gcut_ref hidden = gcut_bconst(b, x, fill);
    return gcut_bselect(b, gcut_b2(b, GCUT_OP_le, key, query), x, hidden);
}

/* x scale; 1 / sqrt(D) unless given */
static gcut_ref scaled(gcut_build *b, const gcut_graph *src, const gcut_node *node, gcut_ref x, gcut_ref q)
{
    const gcut_attr *given = gcut_attr_get(src, node, GCUT_KEY_scale);
    gcut_dim d = type_of(b, q).dim[3];
    if (given) return gcut_bscale(b, x, given->u.num.f);
    if (gcut_dim_known(d)) return gcut_bscale(b, x, 1 / sqrt((double)d));
    return gcut_b2(b, GCUT_OP_mul, x, gcut_b1(b, GCUT_OP_rsqrt, gcut_bcount(b, q, 1u << 3, x)));
}

/* softmax(q k' scale + bias), k with as many heads as q; bias may be 0 */
static gcut_ref probabilities(gcut_build *b, const gcut_graph *src, const gcut_node *node, gcut_ref q,
                              gcut_ref k, gcut_ref bias)
{
    bool causal = gcut_attr_flag(src, node, GCUT_KEY_causal); /* before src may move */
    gcut_ref scores = scaled(b, src, node, gcut_bmatmul(b, q, k, false, true), q);
    if (bias) scores = gcut_b2(b, GCUT_OP_add, scores, bias);
    if (causal) scores = mask_future(b, scores, -INFINITY);
    return op_with_axis(b, GCUT_OP_softmax, &scores, 1, 3);
}

/* y = softmax(q k' scale + bias) v (Vaswani et al. 2017) */
gcut_ref gcut_decompose_attention(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                  const gcut_ref *x)
{
    gcut_dim heads = type_of(b, x[0]).dim[1];
    gcut_ref k = repeat_heads(b, x[1], heads), v = repeat_heads(b, x[2], heads);
    gcut_ref p = probabilities(b, src, node, x[0], k, node->nargs == 4 ? x[3] : 0);
    return gcut_bmatmul(b, p, v, false, false);
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
gcut_ref gcut_decompose_attention_grad(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                       const gcut_ref *x)
{
    bool causal = gcut_attr_flag(src, node, GCUT_KEY_causal);
    gcut_dim heads = type_of(b, x[0]).dim[1], groups = type_of(b, x[1]).dim[1];
    gcut_ref q = x[0], k = repeat_heads(b, x[1], heads), v = repeat_heads(b, x[2], heads);
    gcut_ref bias = node->nargs == 5 ? x[3] : 0, dy = x[node->nargs - 1];
    gcut_ref p = probabilities(b, src, node, q, k, bias);
    gcut_ref dp = gcut_bmatmul(b, dy, v, false, true);
    gcut_ref rows = gcut_breduce(b, GCUT_OP_sum, gcut_b2(b, GCUT_OP_mul, p, dp), 1u << 3);
    gcut_ref ds = gcut_b2(b, GCUT_OP_mul, p, gcut_b2(b, GCUT_OP_sub, dp, gcut_bexpand(b, rows, dp, 1u << 3)));
    if (causal) ds = mask_future(b, ds, 0);
    gcut_ref part = scaled(b, src, node, ds, q);
    b->more[0] = sum_heads(b, gcut_bmatmul(b, part, q, true, false), groups);
    b->more[1] = sum_heads(b, gcut_bmatmul(b, p, dy, true, false), groups);
    if (bias) b->more[2] = ds;
    return gcut_bmatmul(b, part, k, false, false);
}
