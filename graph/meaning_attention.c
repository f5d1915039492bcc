/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The decomposition of attention.
 */
#include "graph/meaning.h"

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
    gcut_attr of = gcut_attr_dim(GCUT_A_of, size);
    gcut_ref n = gcut_bcast(b, gcut_node_new(b->g, GCUT_OP_dim, NULL, 0, &of, 1, b->loc, b->name), t->dtype);
    return gcut_bbroadcast(b, n, t->dim, t->rank, NULL);
}

/* Query t sees key s when s <= t + (S - T): the last query sees every key (aligned bottom right, as when a
 * few new queries follow cached keys).  With T > S the first T - S queries see none, and their rows are NaN.
 */
static gcut_ref mask_future(gcut_build *b, gcut_ref scores)
{
    gcut_type t = type_of(b, scores);
    t.dtype = GCUT_i64;
    gcut_ref query = gcut_biota(b, &t, 2), key = gcut_biota(b, &t, 3);
    if (t.dim[2] != t.dim[3]) {
        query = gcut_b2(b, GCUT_OP_add, query, size_like(b, t.dim[3], &t));
        key = gcut_b2(b, GCUT_OP_add, key, size_like(b, t.dim[2], &t));
    }
    return gcut_bselect(b, gcut_b2(b, GCUT_OP_le, key, query), scores, gcut_bconst(b, scores, -INFINITY));
}

/* y = softmax(q k' scale + bias) v (Vaswani et al. 2017), scale = 1 / sqrt(D) unless given */
gcut_ref gcut_meaning_attention(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                const gcut_ref *x)
{
    const gcut_attr *given = gcut_attr_get(src, node, GCUT_A_scale);
    bool has_scale = given != NULL, has_bias = node->nargs == 4;
    double scale = has_scale ? given->u.num.f : 0;
    bool causal = gcut_attr_flag(src, node, GCUT_A_causal);
    gcut_type q = type_of(b, x[0]);
    gcut_ref k = repeat_heads(b, x[1], q.dim[1]), v = repeat_heads(b, x[2], q.dim[1]);
    gcut_ref scores = gcut_bmatmul(b, x[0], k, false, true);
    if (has_scale || gcut_dim_known(q.dim[3]))
        scores = gcut_bscale(b, scores, has_scale ? scale : 1 / sqrt((double)q.dim[3]));
    else
        scores =
            gcut_b2(b, GCUT_OP_mul, scores, gcut_b1(b, GCUT_OP_rsqrt, gcut_bcount(b, x[0], 1u << 3, scores)));
    if (has_bias) scores = gcut_b2(b, GCUT_OP_add, scores, x[3]);
    if (causal) scores = mask_future(b, scores);
    return gcut_bmatmul(b, op_with_axis(b, GCUT_OP_softmax, &scores, 1, 3), v, false, false);
}
