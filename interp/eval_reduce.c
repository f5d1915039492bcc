/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reductions, contractions and indexed reads and writes.  Every sum is kept in
 * double (or in wrapping 64-bit integers) and rounded once, by the interpreter.
 */
#include "interp/eval.h"

#include <string.h>

/* What an empty reduction gives: 0, 1, or the identity of max and min. */
static void start(gcut_eval *e, gcut_op op)
{
    int64_t lo, hi;
    if (op == GCUT_OP_sum) return; /* out is zeroed */
    if (op == GCUT_OP_prod) {
        for (int64_t k = 0; k < e->out.n; k++)
            if (gcut_dtype_is_float(e->out.dtype))
                e->out.u.f[k] = 1;
            else
                e->out.u.i[k] = 1;
        return;
    }
    if (!gcut_dtype_is_float(e->out.dtype)) gcut_dtype_bounds(e->out.dtype, &lo, &hi);
    for (int64_t k = 0; k < e->out.n; k++) {
        if (gcut_dtype_is_float(e->out.dtype))
            e->out.u.f[k] = op == GCUT_OP_max_reduce ? -INFINITY : INFINITY;
        else
            e->out.u.i[k] = op == GCUT_OP_max_reduce ? lo : hi;
    }
}

static double join_f(gcut_op op, double a, double b)
{
    if (op == GCUT_OP_prod) return a * b;
    return op == GCUT_OP_sum ? a + b : op == GCUT_OP_max_reduce ? gcut_ref_max(a, b) : gcut_ref_min(a, b);
}

static int64_t join_i(gcut_op op, int64_t a, int64_t b)
{
    if (op == GCUT_OP_sum) return gcut_ref_wrap_add(a, b);
    if (op == GCUT_OP_prod) return gcut_ref_wrap_mul(a, b);
    return (op == GCUT_OP_max_reduce) == (a > b) ? a : b;
}

/* With or without keep the kept coordinates, in order, ravel to the same flat index. */
void gcut_eval_reduce(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    gcut_op op = (gcut_op)e->node->op;
    uint32_t axes = gcut_attr_axes(e->g, e->node);
    int64_t at[GCUT_MAX_RANK];
    start(e, op);
    for (int64_t k = 0; k < x->n; k++) {
        int64_t j = 0;
        gcut_eval_unravel(x, k, at);
        for (uint32_t r = 0; r < x->rank; r++)
            if (!(axes >> r & 1)) j = j * x->dim[r] + at[r];
        if (gcut_dtype_is_float(x->dtype))
            e->out.u.f[j] = join_f(op, e->out.u.f[j], x->u.f[k]);
        else
            e->out.u.i[j] = join_i(op, e->out.u.i[j], x->u.i[k]);
    }
}

/* out[o, j, in] = sum of x[o, 0..j, in], or of x[o, j.., in] in reverse. */
void gcut_eval_cumsum(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    gcut_eval_split s = gcut_eval_around(x, gcut_eval_axis(e));
    bool reverse = gcut_attr_flag(e->g, e->node, GCUT_KEY_reverse);
    for (int64_t line = 0; line < s.outer * s.inner; line++) {
        double f = 0;
        int64_t i = 0;
        for (int64_t k = 0; k < s.n; k++) {
            int64_t at = (line / s.inner * s.n + (reverse ? s.n - 1 - k : k)) * s.inner + line % s.inner;
            if (gcut_dtype_is_float(x->dtype))
                e->out.u.f[at] = f += x->u.f[at];
            else
                e->out.u.i[at] = i = gcut_ref_wrap_add(i, x->u.i[at]);
        }
    }
}

/* Does element a of x come before b in rising order?  NaN is the largest. */
static bool is_less(const gcut_array *x, int64_t a, int64_t b)
{
    if (!gcut_dtype_is_float(x->dtype)) return x->u.i[a] < x->u.i[b];
    return x->u.f[a] < x->u.f[b] || (isnan(x->u.f[b]) && !isnan(x->u.f[a]));
}

typedef struct line {
    const gcut_array *x;
    int64_t first, step; /* of its elements */
    bool descending;
} line;

/* Sorts n indices of elements: each half, then the smaller first of both, of equal ones that of the first half. */
static void merge_sort(const line *l, int64_t *at, int64_t *scratch, int64_t n)
{
    if (n < 2) return;
    const int64_t half = n / 2;
    merge_sort(l, at, scratch, half);
    merge_sort(l, at + half, scratch, n - half);
    memcpy(scratch, at, (size_t)n * sizeof *at);
    for (int64_t k = 0, i = 0, j = half; k < n; k++) {
        bool second = i == half;
        if (i < half && j < n) {
            const int64_t p = l->first + scratch[i] * l->step, q = l->first + scratch[j] * l->step;
            second = l->descending ? is_less(l->x, p, q) : is_less(l->x, q, p);
        }
        at[k] = second ? scratch[j++] : scratch[i++];
    }
}

/* out[o, :, in] = the indices of x[o, :, in] in its order */
void gcut_eval_argsort(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    gcut_eval_split s = gcut_eval_around(x, gcut_eval_axis(e));
    int64_t *at = gcut_calloc(e->arena, (size_t)s.n + 1, sizeof *at),
            *scratch = gcut_calloc(e->arena, (size_t)s.n + 1, sizeof *scratch);
    line l = {.x = x, .step = s.inner, .descending = gcut_attr_flag(e->g, e->node, GCUT_KEY_descending)};
    for (int64_t k = 0; k < s.outer * s.inner; k++) {
        l.first = k / s.inner * s.n * s.inner + k % s.inner;
        for (int64_t i = 0; i < s.n; i++) at[i] = i;
        merge_sort(&l, at, scratch, s.n);
        for (int64_t i = 0; i < s.n; i++) e->out.u.i[l.first + i * s.inner] = at[i];
    }
}

/* out[.., i, j] = sum over k of a[.., i, k] b[.., k, j]; ta, tb exchange the last two axes of an operand. */
void gcut_eval_matmul(gcut_eval *e)
{
    const gcut_array *a = &e->arg[0], *b = &e->arg[1];
    bool ta = gcut_attr_flag(e->g, e->node, GCUT_KEY_ta), tb = gcut_attr_flag(e->g, e->node, GCUT_KEY_tb);
    uint32_t r = a->rank;
    int64_t m = e->out.dim[r - 2], n = e->out.dim[r - 1], kk = a->dim[ta ? r - 2 : r - 1];
    int64_t sai = ta ? 1 : kk, sak = ta ? m : 1, sbk = tb ? 1 : n, sbj = tb ? kk : 1;
    for (int64_t k = 0; k < e->out.n; k++) {
        int64_t batch = k / (m * n), i = k / n % m, j = k % n;
        const double *x = a->u.f + batch * m * kk + i * sai, *y = b->u.f + batch * kk * n + j * sbj;
        double sum = 0;
        for (int64_t p = 0; p < kk; p++) sum += x[p * sak] * y[p * sbk];
        e->out.u.f[k] = sum;
    }
}

/* out[o, j, in] = x[o, i[j], in], with o before and in after the axis. */
void gcut_eval_take(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0], *i = &e->arg[1];
    gcut_eval_split s = gcut_eval_around(x, gcut_eval_axis(e));
    for (int64_t j = 0; j < i->n; j++) {
        int64_t from = gcut_eval_index(e, i->u.i[j], s.n);
        for (int64_t o = 0; o < s.outer; o++)
            for (int64_t in = 0; in < s.inner; in++)
                gcut_eval_put(&e->out, (o * i->n + j) * s.inner + in, x, (o * s.n + from) * s.inner + in);
    }
}

/* out[o, in] = x[o, i[o, in], in] */
void gcut_eval_pick(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0], *i = &e->arg[1];
    gcut_eval_split s = gcut_eval_around(x, gcut_eval_axis(e));
    for (int64_t k = 0; k < e->out.n; k++) {
        int64_t from = gcut_eval_index(e, i->u.i[k], s.n);
        gcut_eval_put(&e->out, k, x, (k / s.inner * s.n + from) * s.inner + k % s.inner);
    }
}

/* out[o, j, in] = x[o, i[o, j, in], in] */
void gcut_eval_take_along(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0], *i = &e->arg[1];
    const uint32_t axis = gcut_eval_axis(e);
    const gcut_eval_split s = gcut_eval_around(x, axis), to = gcut_eval_around(i, axis);
    for (int64_t k = 0; k < i->n; k++) {
        const int64_t from = gcut_eval_index(e, i->u.i[k], s.n), o = k / (to.n * to.inner);
        gcut_eval_put(&e->out, k, x, (o * s.n + from) * s.inner + k % to.inner);
    }
}

/* out = x; out[o, i[j], in] += u[o, j, in]; an index may repeat. */
void gcut_eval_scatter_add(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0], *i = &e->arg[1], *u = &e->arg[2];
    gcut_eval_split s = gcut_eval_around(x, gcut_eval_axis(e));
    for (int64_t k = 0; k < x->n; k++) gcut_eval_put(&e->out, k, x, k);
    for (int64_t j = 0; j < i->n; j++) {
        int64_t row = gcut_eval_index(e, i->u.i[j], s.n);
        for (int64_t o = 0; o < s.outer; o++)
            for (int64_t in = 0; in < s.inner; in++) {
                int64_t to = (o * s.n + row) * s.inner + in, from = (o * i->n + j) * s.inner + in;
                if (gcut_dtype_is_float(x->dtype))
                    e->out.u.f[to] += u->u.f[from];
                else
                    e->out.u.i[to] = gcut_ref_wrap_add(e->out.u.i[to], u->u.i[from]);
            }
    }
}
