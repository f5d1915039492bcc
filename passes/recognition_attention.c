/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * softmax(scale q k' + bias) v of four axes as the op attention.  The scale may be factors of q, of k and of their product;
 * a bias that is 0 up to the diagonal and so low beyond it that nothing is left there is the attribute `causal`.
 */
#include <math.h>
#include <string.h>

#include "passes/recognition.h"

#define LOW (-1e30) /* e to that is 0, whatever is added */

/* v without a number as factor or divisor. */
static gcut_ref unscaled(const gcut_recognition *r, gcut_ref v, double *scale)
{
    for (;;) {
        double x;
        if (gcut_made_by_op(r, v, GCUT_OP_mul)) {
            uint32_t k = 0;
            while (k < 2 && !gcut_is_number(r, gcut_operand_of(r, v, k), &x)) k++;
            if (k == 2) return v;
            *scale *= x;
            v = gcut_operand_of(r, v, 1 - k);
        } else if (gcut_made_by_op(r, v, GCUT_OP_div) && gcut_is_number(r, gcut_operand_of(r, v, 1), &x)) {
            *scale /= x;
            v = gcut_operand_of(r, v, 0);
        } else {
            return v;
        }
    }
}

/* ---- causal masks ---- */

/* The scores of which v has those up to the diagonal, and beyond it a number so low that nothing is left; 0: it is not so. */
static gcut_ref below_diagonal(const gcut_recognition *r, gcut_ref v)
{
    double low;
    if (!gcut_made_by_op(r, v, GCUT_OP_select) || !gcut_is_number(r, gcut_operand_of(r, v, 2), &low) ||
        low > LOW || !gcut_is_triangle(r, gcut_operand_of(r, v, 0), 1, 0))
        return 0;
    return gcut_operand_of(r, v, 1);
}

/* ---- the op ---- */

/* k as a value of dst, where v is k' or, flagged, k itself; v is transposed where no transpose can be left out. */
static gcut_ref untransposed(gcut_recognition *r, gcut_ref v, bool flag)
{
    static const gcut_dim last_two[] = {0, 1, 3, 2};
    const gcut_graph *g = r->rw.src;
    const gcut_node *n = gcut_made_by_op(r, v, GCUT_OP_transpose);
    if (flag) return r->rw.map[v];
    if (n && !memcmp(gcut_attr_get(g, n, GCUT_KEY_perm)->u.dims, last_two, sizeof last_two))
        return r->rw.map[gcut_arg(g, n, 0)];
    gcut_build b = r->b;
    b.name = NULL; /* the name is for the attention */
    return gcut_btranspose(&b, r->rw.map[v], last_two);
}

gcut_ref gcut_recognize_attention(gcut_recognition *r)
{
    const gcut_graph *g = r->rw.src;
    const gcut_node *product = gcut_node_at(g, r->n);
    double scale = 1;
    gcut_ref bias = 0, p = gcut_arg(g, product, 0);
    const gcut_node *softmax = gcut_made_by_op(r, p, GCUT_OP_softmax);
    if (!softmax || gcut_attr_flag(g, product, GCUT_KEY_ta) || gcut_attr_flag(g, product, GCUT_KEY_tb) ||
        gcut_type_of(g, p)->rank != 4 || gcut_attr_get(g, softmax, GCUT_KEY_axis)->u.dim != 3)
        return 0;
    gcut_ref s = gcut_arg(g, softmax, 0);
    const gcut_ref below = below_diagonal(r, s);
    if (below) s = below;
    if (gcut_made_by_op(r, s, GCUT_OP_add)) { /* the bias is added after the scale */
        double none = 1;
        uint32_t k = 0;
        while (k < 2 && !gcut_made_by_op(r, unscaled(r, gcut_operand_of(r, s, k), &none), GCUT_OP_matmul))
            k++;
        if (k == 2) return 0;
        bias = gcut_operand_of(r, s, 1 - k);
        s = gcut_operand_of(r, s, k);
    }
    s = unscaled(r, s, &scale);
    const gcut_node *scores = gcut_made_by_op(r, s, GCUT_OP_matmul);
    if (!scores || gcut_attr_flag(g, scores, GCUT_KEY_ta)) return 0;
    const gcut_ref q = unscaled(r, gcut_arg(g, scores, 0), &scale),
                   kt = unscaled(r, gcut_arg(g, scores, 1), &scale);
    const gcut_type *tq = gcut_type_of(g, q), *tv = gcut_type_of(g, gcut_arg(g, product, 1));
    if (tq->dim[0] != tv->dim[0] || tq->dim[1] != tv->dim[1]) return 0;
    const bool causal_bias = bias && gcut_is_triangle(r, bias, 0, LOW);
    if (causal_bias) bias = 0;
    const gcut_ref k = untransposed(r, kt, gcut_attr_flag(g, scores, GCUT_KEY_tb));
    const gcut_ref x[] = {r->rw.map[q], k, r->rw.map[gcut_arg(g, product, 1)], bias ? r->rw.map[bias] : 0};
    const gcut_attr a[] = {gcut_attr_bool(GCUT_KEY_causal, below || causal_bias),
                           gcut_attr_real(GCUT_KEY_scale, scale)};
    return gcut_node_new(r->rw.dst, GCUT_OP_attention, x, bias ? 4 : 3, a, 2, r->b.loc, r->b.name);
}
