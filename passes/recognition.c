/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Composite ops in place of the ops that other programs write for them.
 *   in:    a graph of another program, after gcut_pass_fold
 *   out:   silu, gelu, layer_norm, rms_norm and attention where nodes compute them; results differ by rounding; unused nodes
 *          are left to gcut_pass_dce
 *   keeps: parameters, results, names and locations, nodes that carry marks
 */
#include "passes/recognition.h"

#include <math.h>

#include "passes/passes.h"

/* ---- matching ---- */

const gcut_node *gcut_made_by_op(const gcut_recognition *r, gcut_ref v, gcut_op op)
{
    const gcut_node *n = gcut_def(r->rw.src, v);
    return n && n->op == op && !n->marks.n ? n : NULL;
}

gcut_ref gcut_operand_of(const gcut_recognition *r, gcut_ref v, uint32_t k)
{
    return gcut_arg(r->rw.src, gcut_def(r->rw.src, v), k);
}

bool gcut_is_number(const gcut_recognition *r, gcut_ref v, double *x)
{
    while (gcut_made_by_op(r, v, GCUT_OP_broadcast) || gcut_made_by_op(r, v, GCUT_OP_reshape))
        v = gcut_operand_of(r, v, 0);
    const gcut_node *n = gcut_made_by_op(r, v, GCUT_OP_full);
    if (n) *x = gcut_attr_num(r->rw.src, n, GCUT_KEY_value);
    return n != NULL;
}

/* Is x the number, but for rounding to f32? */
static bool is_about(double x, double number)
{
    return fabs(x - number) <= 1e-6 * fabs(number);
}

/* The factors of a product: one number, which divisors are part of, and the others. */
typedef struct product {
    double number;
    uint32_t n;
    gcut_ref at[4];
} product;

static bool multiply(const gcut_recognition *r, gcut_ref v, int depth, product *p)
{
    double x;
    if (gcut_is_number(r, v, &x)) {
        p->number *= x;
        return true;
    }
    if (depth > 0 && gcut_made_by_op(r, v, GCUT_OP_mul))
        return multiply(r, gcut_operand_of(r, v, 0), depth - 1, p) &&
               multiply(r, gcut_operand_of(r, v, 1), depth - 1, p);
    if (depth > 0 && gcut_made_by_op(r, v, GCUT_OP_div) && gcut_is_number(r, gcut_operand_of(r, v, 1), &x)) {
        p->number /= x;
        return multiply(r, gcut_operand_of(r, v, 0), depth - 1, p);
    }
    if (p->n == 4) return false;
    p->at[p->n++] = v;
    return true;
}

/* Is v x times that number? */
static bool is_multiple(const gcut_recognition *r, gcut_ref v, gcut_ref x, double number)
{
    product p = {.number = 1};
    return multiply(r, v, 2, &p) && p.n == 1 && p.at[0] == x && is_about(p.number, number);
}

/* The other operand of a sum with that number; 0: v is none. */
static gcut_ref less_number(const gcut_recognition *r, gcut_ref v, double number)
{
    double x;
    if (!gcut_made_by_op(r, v, GCUT_OP_add)) return 0;
    for (uint32_t k = 0; k < 2; k++)
        if (gcut_is_number(r, gcut_operand_of(r, v, k), &x) && x == number)
            return gcut_operand_of(r, v, 1 - k);
    return 0;
}

/* ---- activations ---- */

/* 0.7978… (x + 0.044715 x^3) */
static bool is_tanh_argument(const gcut_recognition *r, gcut_ref v, gcut_ref x)
{
    product p = {.number = 1};
    if (!multiply(r, v, 1, &p) || p.n != 1 || !is_about(p.number, 0.79788456080286536) ||
        !gcut_made_by_op(r, p.at[0], GCUT_OP_add))
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        product cube = {.number = 1};
        if (gcut_operand_of(r, p.at[0], k) != x) continue;
        if (!multiply(r, gcut_operand_of(r, p.at[0], 1 - k), 3, &cube) || !is_about(cube.number, 0.044715))
            return false;
        return cube.n == 3 && cube.at[0] == x && cube.at[1] == x && cube.at[2] == x;
    }
    return false;
}

static gcut_ref gelu(gcut_recognition *r, gcut_ref x, const char *approx)
{
    const gcut_attr a = gcut_attr_str(r->rw.dst->module, GCUT_KEY_approx, approx);
    return gcut_node_new(r->rw.dst, GCUT_OP_gelu, &r->rw.map[x], 1, &a, 1, r->b.loc, r->b.name);
}

/* x sigmoid(x);  0.5 x (1 + erf(x / sqrt 2));  0.5 x (1 + tanh(0.7978… (x + 0.044715 x^3))) */
static gcut_ref activation(gcut_recognition *r, gcut_ref v)
{
    product p = {.number = 1};
    if (!multiply(r, v, 2, &p) || p.n != 2) return 0;
    for (uint32_t k = 0; k < 2; k++) {
        const gcut_ref x = p.at[k], y = p.at[1 - k], inner = less_number(r, y, 1);
        if (p.number == 1 && gcut_made_by_op(r, y, GCUT_OP_sigmoid) && gcut_operand_of(r, y, 0) == x)
            return gcut_b1(&r->b, GCUT_OP_silu, r->rw.map[x]);
        if (!is_about(p.number, 0.5) || !inner) continue;
        if (gcut_made_by_op(r, inner, GCUT_OP_erf) &&
            is_multiple(r, gcut_operand_of(r, inner, 0), x, M_SQRT1_2))
            return gelu(r, x, "none");
        if (gcut_made_by_op(r, inner, GCUT_OP_tanh) && is_tanh_argument(r, gcut_operand_of(r, inner, 0), x))
            return gelu(r, x, "tanh");
    }
    return 0;
}

/* ---- norms over the last axis ---- */

/* A vector along the last axis that v repeats; 0: v does not. */
static gcut_ref vector(const gcut_recognition *r, gcut_ref v)
{
    const gcut_graph *g = r->rw.src;
    const gcut_node *n = gcut_made_by_op(r, v, GCUT_OP_broadcast);
    if (!n || gcut_type_of(g, gcut_arg(g, n, 0))->rank != 1) return 0;
    const gcut_type *t = gcut_type_of(g, v), *from = gcut_type_of(g, gcut_arg(g, n, 0));
    const bool last = gcut_attr_get(g, n, GCUT_KEY_axes)->u.dims[0] == t->rank - 1;
    return last && from->dim[0] == t->dim[t->rank - 1] ? gcut_arg(g, n, 0) : 0;
}

/* The rank without axes of size 1 at the end. */
static uint32_t rank_of(const gcut_type *t)
{
    uint32_t n = t->rank;
    while (n && t->dim[n - 1] == 1) n--;
    return n;
}

/* Does the result of n, a broadcast or a reshape, have each axis of its operand at the same place, but for axes of size 1 at
 * the end? */
static bool keeps_places(const gcut_graph *g, const gcut_node *n)
{
    const gcut_type *from = gcut_type_of(g, gcut_arg(g, n, 0)), *to = gcut_type_of(g, n->res0);
    const uint32_t axes = rank_of(from);
    const gcut_attr *at = n->op == GCUT_OP_broadcast ? gcut_attr_get(g, n, GCUT_KEY_axes) : NULL;
    if (!at && rank_of(to) != axes) return false;
    for (uint32_t k = 0; k < axes; k++)
        if (k >= to->rank || from->dim[k] != to->dim[k] || (at && at->u.dims[k] != k)) return false;
    return true;
}

/* What v repeats along axes at the end, seen through reshapes; v itself where it repeats nothing. */
static gcut_ref unrepeated(const gcut_recognition *r, gcut_ref v)
{
    for (;;) {
        const gcut_node *n = gcut_made_by_op(r, v, GCUT_OP_broadcast);
        if (!n) n = gcut_made_by_op(r, v, GCUT_OP_reshape);
        if (!n || !keeps_places(r->rw.src, n)) return v;
        v = gcut_arg(r->rw.src, n, 0);
    }
}

/* The operand of a mean over the last axis that v repeats; 0: v is none. */
static gcut_ref mean_of(const gcut_recognition *r, gcut_ref v)
{
    const gcut_graph *g = r->rw.src;
    v = unrepeated(r, v);
    const gcut_node *n = gcut_made_by_op(r, v, GCUT_OP_mean);
    if (!n) return 0;
    const gcut_ref x = gcut_arg(g, n, 0);
    return gcut_attr_axes(g, n) == 1u << (gcut_type_of(g, x)->rank - 1) ? x : 0;
}

static bool is_square(const gcut_recognition *r, gcut_ref v, gcut_ref x)
{
    double two;
    if (gcut_made_by_op(r, v, GCUT_OP_mul))
        return gcut_operand_of(r, v, 0) == x && gcut_operand_of(r, v, 1) == x;
    return gcut_made_by_op(r, v, GCUT_OP_pow) && gcut_operand_of(r, v, 0) == x &&
           gcut_is_number(r, gcut_operand_of(r, v, 1), &two) && two == 2;
}

/* Is v mean(d d) + eps, as a divisor or as a factor: its root, or that inverted? */
static bool is_root(const gcut_recognition *r, gcut_ref v, gcut_ref d, bool inverse, double *eps)
{
    double one;
    v = unrepeated(r, v);
    if (inverse && gcut_made_by_op(r, v, GCUT_OP_rsqrt)) {
        v = gcut_operand_of(r, v, 0);
    } else {
        if (inverse) {
            if (!gcut_made_by_op(r, v, GCUT_OP_div) || !gcut_is_number(r, gcut_operand_of(r, v, 0), &one) ||
                one != 1)
                return false;
            v = unrepeated(r, gcut_operand_of(r, v, 1));
        }
        if (!gcut_made_by_op(r, v, GCUT_OP_sqrt)) return false;
        v = gcut_operand_of(r, v, 0);
    }
    if (!gcut_made_by_op(r, v, GCUT_OP_add)) return false;
    for (uint32_t k = 0; k < 2; k++) {
        const gcut_ref square = mean_of(r, gcut_operand_of(r, v, 1 - k));
        if (gcut_is_number(r, gcut_operand_of(r, v, k), eps) && square && is_square(r, square, d))
            return *eps >= 0;
    }
    return false;
}

/* d of d / sqrt(mean(d d) + eps), 0: v is no such value. */
static gcut_ref normalised(const gcut_recognition *r, gcut_ref v, double *eps)
{
    if (gcut_made_by_op(r, v, GCUT_OP_div)) {
        const gcut_ref d = gcut_operand_of(r, v, 0);
        return is_root(r, gcut_operand_of(r, v, 1), d, false, eps) ? d : 0;
    }
    if (!gcut_made_by_op(r, v, GCUT_OP_mul)) return 0;
    for (uint32_t k = 0; k < 2; k++) {
        const gcut_ref d = gcut_operand_of(r, v, k);
        if (is_root(r, gcut_operand_of(r, v, 1 - k), d, true, eps)) return d;
    }
    return 0;
}

/* d times a vector; *d of the norm. */
static gcut_ref scaled_norm(const gcut_recognition *r, gcut_ref v, gcut_ref *d, double *eps)
{
    if (!gcut_made_by_op(r, v, GCUT_OP_mul)) return 0;
    for (uint32_t k = 0; k < 2; k++) {
        const gcut_ref gain = vector(r, gcut_operand_of(r, v, k));
        if (gain && (*d = normalised(r, gcut_operand_of(r, v, 1 - k), eps))) return gain;
    }
    return 0;
}

static gcut_ref rms_norm(gcut_recognition *r, gcut_ref v)
{
    double eps;
    gcut_ref d;
    const gcut_ref gain = scaled_norm(r, v, &d, &eps);
    if (!gain) return 0;
    const gcut_attr a = gcut_attr_real(GCUT_KEY_eps, eps);
    return gcut_node_new(r->rw.dst, GCUT_OP_rms_norm, (gcut_ref[]){r->rw.map[d], r->rw.map[gain]}, 2, &a, 1,
                         r->b.loc, r->b.name);
}

/* The norm of d = x - mean(x), plus a vector. */
static gcut_ref layer_norm(gcut_recognition *r, gcut_ref v)
{
    double eps;
    gcut_ref d;
    if (!gcut_made_by_op(r, v, GCUT_OP_add)) return 0;
    for (uint32_t k = 0; k < 2; k++) {
        const gcut_ref bias = vector(r, gcut_operand_of(r, v, k));
        const gcut_ref gain = bias ? scaled_norm(r, gcut_operand_of(r, v, 1 - k), &d, &eps) : 0;
        if (!gain || !gcut_made_by_op(r, d, GCUT_OP_sub)) continue;
        const gcut_ref x = gcut_operand_of(r, d, 0);
        if (mean_of(r, gcut_operand_of(r, d, 1)) != x) continue;
        const gcut_attr a = gcut_attr_real(GCUT_KEY_eps, eps);
        return gcut_node_new(r->rw.dst, GCUT_OP_layer_norm,
                             (gcut_ref[]){r->rw.map[x], r->rw.map[gain], r->rw.map[bias]}, 3, &a, 1, r->b.loc,
                             r->b.name);
    }
    return 0;
}

/* ---- the pass ---- */

/* rms_norm is also a part of layer_norm, which is found at a later node; the part is unused then. */
static gcut_ref recognise(gcut_recognition *r, gcut_ref v)
{
    gcut_ref y = 0;
    switch (gcut_node_at(r->rw.src, r->n)->op) {
    case GCUT_OP_mul: y = activation(r, v); return y ? y : rms_norm(r, v);
    case GCUT_OP_div: return activation(r, v);
    case GCUT_OP_add: return layer_norm(r, v);
    case GCUT_OP_matmul: return gcut_recognize_attention(r);
    default: return 0;
    }
}

gcut_graph *gcut_pass_recognize(gcut_graph *g, const char *name)
{
    gcut_recognition r = {.rw = gcut_rewrite_begin(g, name)};
    r.rw.pass = gcut_pass_recognize;
    for (r.n = 0; r.n < g->nodes.n; r.n++) {
        const gcut_node *node = gcut_node_at(g, r.n);
        const gcut_ref v = node->res0;
        r.b = (gcut_build){.g = r.rw.dst, .loc = node->loc, .name = g->values.at[v].name};
        const bool real = node->nres == 1 && !node->marks.n && gcut_dtype_is_float(gcut_type_of(g, v)->dtype);
        const gcut_ref y = real ? recognise(&r, v) : 0;
        if (y)
            gcut_rewrite_use(&r.rw, r.n, y);
        else
            gcut_rewrite_copy(&r.rw, r.n);
    }
    return gcut_rewrite_end(&r.rw);
}
