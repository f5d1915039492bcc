/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * softmax(scale q k' + bias) v of four axes as the op attention.  The scale may be factors of q, of k and of their product;
 * a bias that is 0 up to the diagonal and so low beyond it that nothing is left there is the attribute `causal`.
 */
#include <math.h>
#include <string.h>

#include "interp/interp.h"
#include "passes/recognition.h"

enum { MOST_MASK = 1 << 22 }; /* elements of a mask that is looked at, and of what it is computed from */
#define LOW (-1e30)           /* e to that is 0, whatever is added */

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

/* The contents of a state that is a list in the module; NULL: v is none. */
static const double *listed(const gcut_graph *g, gcut_ref v)
{
    for (uint32_t i = 0; i < g->module->data.n; i++) {
        const gcut_data *d = &g->module->data.at[i];
        if (d->kind == GCUT_DATA_dense && !strcmp(d->name, g->values.at[v].name)) return d->nums;
    }
    return NULL;
}

/* Has each result at most MOST_MASK elements? */
static bool is_small(const gcut_graph *g, const gcut_node *n)
{
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
        const gcut_type *t = gcut_type_of(g, v);
        int64_t elements = 1;
        for (uint32_t d = 0; d < t->rank; d++)
            if (!gcut_dim_known(t->dim[d]) || __builtin_mul_overflow(elements, t->dim[d], &elements))
                return false;
        if (elements > MOST_MASK) return false;
    }
    return true;
}

/* v by the interpreter; false: it is not computed from constants of few elements alone. */
static bool evaluate(const gcut_recognition *r, gcut_ref v, gcut_arena *a, gcut_array *out)
{
    const gcut_graph *g = r->rw.src;
    bool *in = gcut_calloc(a, g->values.n, sizeof *in);
    gcut_ref *map = gcut_calloc(a, g->values.n, sizeof *map);
    in[v] = true;
    gcut_add_dependences(g, in);
    for (uint32_t i = 0; i < g->params.n; i++)
        if (in[g->params.at[i].value]) return false;
    gcut_graph *own = gcut_body_new(r->rw.dst);
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        if (!gcut_any_result(node, in)) continue;
        if (node->nregs || !is_small(g, node)) return false;
        gcut_node_copy_to(own, g, n, map);
    }
    gcut_body_yield(own, map[v]);
    gcut_interp(own, GCUT_STATED, a, NULL, out, NULL);
    return true;
}

/* The elements of v, [.., T, S] of numbers with 1 before them, in `a`; NULL: they are not known. */
static const double *contents(const gcut_recognition *r, gcut_ref v, gcut_arena *a)
{
    const gcut_graph *g = r->rw.src;
    const gcut_type *t = gcut_type_of(g, v);
    gcut_array out;
    if (t->rank < 2) return NULL;
    for (uint32_t d = 0; d + 2 < t->rank; d++)
        if (t->dim[d] != 1) return NULL;
    const gcut_dim rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
    if (!gcut_dim_known(rows) || !gcut_dim_known(columns) || rows > MOST_MASK || columns > MOST_MASK ||
        rows * columns > MOST_MASK)
        return NULL;
    if (!gcut_def(g, v)) return listed(g, v);
    if (!evaluate(r, v, a, &out)) return NULL;
    if (gcut_dtype_is_float(out.dtype)) return out.u.f;
    double *numbers = gcut_calloc(a, (size_t)out.n + 1, sizeof *numbers);
    for (int64_t k = 0; k < out.n; k++) numbers[k] = (double)out.u.i[k];
    return numbers;
}

/* Does v take the first elements of x along each of its last two axes, as many along both?  Or repeat x along others? */
static bool keeps_corner(const gcut_recognition *r, const gcut_node *n, gcut_ref v)
{
    const gcut_graph *g = r->rw.src;
    const gcut_type *t = gcut_type_of(g, v), *tx = gcut_type_of(g, gcut_arg(g, n, 0));
    const gcut_dim *last = t->dim + t->rank - 2, *of = tx->rank >= 2 ? tx->dim + tx->rank - 2 : NULL;
    if (!of) return false;
    if (n->op != GCUT_OP_slice) return last[0] == of[0] && last[1] == of[1];
    const gcut_attr *start = gcut_attr_get(g, n, GCUT_KEY_start), *step = gcut_attr_get(g, n, GCUT_KEY_step);
    for (uint32_t d = 0; d < t->rank; d++)
        if (start->u.dims[d] != 0 || (step && step->u.dims[d] != 1)) return false;
    return true;
}

/* The constant square of which v [B, H, T, S] repeats the upper left corner; 0: there is none. */
static gcut_ref square_of(const gcut_recognition *r, gcut_ref v)
{
    const gcut_graph *g = r->rw.src;
    const gcut_type *t = gcut_type_of(g, v);
    if (t->rank < 2 || t->dim[t->rank - 2] != t->dim[t->rank - 1]) return 0;
    for (;;) {
        const gcut_node *n = gcut_made_by_op(r, v, GCUT_OP_broadcast);
        if (!n) n = gcut_made_by_op(r, v, GCUT_OP_reshape);
        if (!n) n = gcut_made_by_op(r, v, GCUT_OP_slice);
        if (!n) return v;
        if (!keeps_corner(r, n, v)) return 0;
        v = gcut_arg(g, n, 0);
    }
}

/* Is v, up to the diagonal, `kept`, and beyond it at most `most`? */
static bool is_triangle(const gcut_recognition *r, gcut_ref of, double kept, double most)
{
    const gcut_graph *g = r->rw.src;
    const gcut_ref v = square_of(r, of);
    bool is = false;
    if (!v) return false;
    gcut_arena *a = gcut_arena_new(g->module->env, r->rw.scratch);
    const double *x = contents(r, v, a);
    if (x) {
        const gcut_type *t = gcut_type_of(g, v);
        const int64_t rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
        is = rows == columns;
        for (int64_t i = 0; i < rows && is; i++)
            for (int64_t j = 0; j < columns && is; j++)
                is = j <= i ? x[i * columns + j] == kept : x[i * columns + j] <= most;
    }
    gcut_arena_free(a);
    return is;
}

/* The scores of which v has those up to the diagonal, and beyond it a number so low that nothing is left; 0: it is not so. */
static gcut_ref below_diagonal(const gcut_recognition *r, gcut_ref v)
{
    double low;
    if (!gcut_made_by_op(r, v, GCUT_OP_select) || !gcut_is_number(r, gcut_operand_of(r, v, 2), &low) ||
        low > LOW || !is_triangle(r, gcut_operand_of(r, v, 0), 1, 0))
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
    if (gcut_made_by_op(r, s, GCUT_OP_add)) { /* the bias is added behind the scale */
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
    const bool causal_bias = bias && is_triangle(r, bias, 0, LOW);
    if (causal_bias) bias = 0;
    const gcut_ref k = untransposed(r, kt, gcut_attr_flag(g, scores, GCUT_KEY_tb));
    const gcut_ref x[] = {r->rw.map[q], k, r->rw.map[gcut_arg(g, product, 1)], bias ? r->rw.map[bias] : 0};
    const gcut_attr a[] = {gcut_attr_bool(GCUT_KEY_causal, below || causal_bias),
                           gcut_attr_real(GCUT_KEY_scale, scale)};
    return gcut_node_new(r->rw.dst, GCUT_OP_attention, x, bias ? 4 : 3, a, 2, r->b.loc, r->b.name);
}
