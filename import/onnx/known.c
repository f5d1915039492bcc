/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The interpreter computes on numbers.  It also moves elements, whatever these are; arithmetic on elements that are
 * expressions over symbols, gcut_dim, is done here.
 */
#include "import/onnx/known.h"

#include "graph/ops/op_info.h"
#include "import/onnx/node.h"
#include "interp/interp.h"

bool gcut_onnx_has_symbols(const gcut_array *x)
{
    if (gcut_dtype_is_float(x->dtype)) return false;
    for (int64_t k = 0; k < x->n; k++)
        if (gcut_onnx_is_symbolic(x->u.i[k])) return true;
    return false;
}

void gcut_onnx_clamp(gcut_array *x)
{
    for (int64_t k = 0; !gcut_dtype_is_float(x->dtype) && k < x->n; k++)
        if (gcut_onnx_is_symbolic(x->u.i[k])) x->u.i[k] = -(INT64_C(1) << 62);
}

static bool any_has_symbols(const gcut_array *x, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (gcut_onnx_has_symbols(&x[k])) return true;
    return false;
}

/* Ops whose result has elements of their first operands, at indices that only attributes and other operands decide. */
static bool moves(gcut_op op)
{
    switch (op) {
    case GCUT_OP_reshape:
    case GCUT_OP_transpose:
    case GCUT_OP_broadcast:
    case GCUT_OP_slice:
    case GCUT_OP_concat:
    case GCUT_OP_flip:
    case GCUT_OP_pad:
    case GCUT_OP_take: return true;
    default: return false;
    }
}

/* ---- arithmetic on two elements, one of which is an expression ---- */

typedef struct symbols {
    const gcut_graph *g;
    gcut_dims *t;
    const gcut_map *axes;
} symbols;

void gcut_onnx_bounds(const gcut_graph *g, const gcut_map *axes, int64_t x, int64_t *lo, int64_t *hi)
{
    *lo = *hi = x;
    if (!gcut_onnx_is_symbolic(x)) return;
    gcut_dim_range(g->module->dims, x, g->decls.at, g->decls.n, lo, hi);
    if (*lo < 0 && gcut_map_get(axes, (uint64_t)x)) *lo = 0;
}

static int64_t lowest(const symbols *s, int64_t x)
{
    int64_t lo, hi;
    gcut_onnx_bounds(s->g, s->axes, x, &lo, &hi);
    return lo;
}

/* a + b or a - b, where neither is a number below 0.  A sum that is a number may be below 0, which no size is. */
static bool sum(gcut_dims *t, gcut_dim_op op, int64_t a, int64_t b, int64_t *out)
{
    const int64_t shift = INT64_C(1) << 60; /* makes the sum a size where it is a number */
    if (gcut_onnx_is_negative(a) || gcut_onnx_is_negative(b) || a > shift || b > shift) return false;
    const gcut_dim shifted = gcut_dim_make(t, op, gcut_dim_make(t, GCUT_DIM_ADD, a, shift), b);
    *out = gcut_dim_known(shifted) ? shifted - shift : gcut_dim_make(t, op, a, b);
    return true;
}

static bool add(gcut_dims *t, int64_t a, int64_t b, int64_t *out)
{
    if (gcut_onnx_is_negative(a)) return add(t, b, a, out);
    if (b == INT64_MIN) return false;
    return gcut_onnx_is_negative(b) ? sum(t, GCUT_DIM_SUB, a, -b, out) : sum(t, GCUT_DIM_ADD, a, b, out);
}

static bool subtract(gcut_dims *t, int64_t a, int64_t b, int64_t *out)
{
    if (gcut_onnx_is_symbolic(b)) return sum(t, GCUT_DIM_SUB, a, b, out);
    return b != INT64_MIN && add(t, a, -b, out);
}

/* A number below 0 is no operand of a size: max(a, -k) is max(a + k, 0) - k. */
static bool choose(const symbols *s, gcut_dim_op op, int64_t a, int64_t b, int64_t *out)
{
    if (gcut_onnx_is_negative(a)) return choose(s, op, b, a, out);
    if (!gcut_onnx_is_negative(b)) return *out = gcut_dim_make(s->t, op, a, b), true;
    if (lowest(s, a) >= b) return *out = op == GCUT_DIM_MAXOF ? a : b, true;
    if (!subtract(s->t, a, b, out)) return false;
    *out = gcut_dim_make(s->t, op, *out, 0);
    return add(s->t, *out, b, out);
}

static bool arithmetic(const symbols *s, gcut_op op, int64_t a, int64_t b, int64_t *out)
{
    if (op == GCUT_OP_add) return add(s->t, a, b, out);
    if (op == GCUT_OP_sub) return subtract(s->t, a, b, out);
    if (op == GCUT_OP_max) return choose(s, GCUT_DIM_MAXOF, a, b, out);
    if (op == GCUT_OP_min) return choose(s, GCUT_DIM_MIN, a, b, out);
    if (gcut_onnx_is_negative(a) || gcut_onnx_is_negative(b)) return false;
    if (op == GCUT_OP_mul) return *out = gcut_dim_make(s->t, GCUT_DIM_MUL, a, b), true;
    if (b == 0) return false;
    if (op == GCUT_OP_div) return *out = gcut_dim_make(s->t, GCUT_DIM_DIV, a, b), true;
    if (op == GCUT_OP_mod) return *out = gcut_dim_make(s->t, GCUT_DIM_MOD, a, b), true;
    return false;
}

static bool compare(const symbols *s, gcut_op op, int64_t a, int64_t b, int64_t *out)
{
    int64_t alo, ahi, blo, bhi;
    gcut_onnx_bounds(s->g, s->axes, a, &alo, &ahi);
    gcut_onnx_bounds(s->g, s->axes, b, &blo, &bhi);
    const bool equal = a == b, sizes = !gcut_onnx_is_negative(a) && !gcut_onnx_is_negative(b),
               differ = !equal && (ahi < blo || bhi < alo || (sizes && gcut_dims_differ(s->g, a, b)));
    switch (op) {
    case GCUT_OP_eq: return *out = equal, equal || differ;
    case GCUT_OP_ne: return *out = differ, equal || differ;
    case GCUT_OP_lt: return *out = ahi < blo, ahi < blo || alo >= bhi || equal;
    case GCUT_OP_ge: return *out = !(ahi < blo), ahi < blo || alo >= bhi || equal;
    case GCUT_OP_gt: return *out = alo > bhi, alo > bhi || ahi <= blo || equal;
    case GCUT_OP_le: return *out = !(alo > bhi), alo > bhi || ahi <= blo || equal;
    default: return false;
    }
}

static bool is_comparison(gcut_op op)
{
    return op == GCUT_OP_eq || op == GCUT_OP_ne || op == GCUT_OP_lt || op == GCUT_OP_le || op == GCUT_OP_gt ||
           op == GCUT_OP_ge;
}

static bool number(gcut_op op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case GCUT_OP_add: return !__builtin_add_overflow(a, b, out);
    case GCUT_OP_sub: return !__builtin_sub_overflow(a, b, out);
    case GCUT_OP_mul: return !__builtin_mul_overflow(a, b, out);
    case GCUT_OP_max: return *out = a > b ? a : b, true;
    case GCUT_OP_min: return *out = a < b ? a : b, true;
    case GCUT_OP_div: return b > 0 && a >= 0 && (*out = a / b, true);
    case GCUT_OP_mod: return b > 0 && a >= 0 && (*out = a % b, true);
    default: return false;
    }
}

static bool elementwise(const symbols *s, gcut_op op, const gcut_array *x, const gcut_array *y,
                        gcut_array *out)
{
    for (int64_t k = 0; k < out->n; k++) {
        const int64_t a = x->u.i[k], b = y->u.i[k];
        bool known;
        if (is_comparison(op))
            known = compare(s, op, a, b, &out->u.i[k]);
        else if (gcut_onnx_is_symbolic(a) || gcut_onnx_is_symbolic(b))
            known = arithmetic(s, op, a, b, &out->u.i[k]);
        else
            known = number(op, a, b, &out->u.i[k]);
        if (!known) return false;
    }
    return true;
}

/* The sum or product of all elements. */
static bool reduce(const symbols *s, gcut_op op, const gcut_array *x, gcut_array *out)
{
    const gcut_op by = op == GCUT_OP_sum ? GCUT_OP_add : GCUT_OP_mul;
    if (out->n != 1 || x->n < 1 || (op != GCUT_OP_sum && op != GCUT_OP_prod)) return false;
    int64_t all = x->u.i[0];
    for (int64_t k = 1; k < x->n; k++) {
        const int64_t next = x->u.i[k];
        if (gcut_onnx_is_symbolic(all) || gcut_onnx_is_symbolic(next) ? !arithmetic(s, by, all, next, &all)
                                                                      : !number(by, all, next, &all))
            return false;
    }
    out->u.i[0] = all;
    return true;
}

/* ---- one node ---- */

/* By the interpreter, in a graph of its own; `wide`: with integers of 64 bits, since expressions have as many, whatever
 * their dtype. */
static void interpret(const gcut_graph *g, uint32_t n, gcut_arena *a, const gcut_array *x, bool wide,
                      gcut_array *out)
{
    const gcut_node *node = gcut_node_at(g, n);
    gcut_graph *one = gcut_body_new((gcut_graph *)(uintptr_t)g);
    gcut_ref *args = gcut_calloc(a, node->nargs + 1, sizeof *args);
    gcut_array *operand = gcut_memdup(a, x, node->nargs * sizeof *operand);
    for (uint32_t k = 0; k < node->nargs; k++) {
        gcut_type t = *gcut_type_of(g, gcut_arg(g, node, k));
        if (wide && !gcut_dtype_is_float(t.dtype)) operand[k].dtype = t.dtype = GCUT_I64;
        args[k] = gcut_param_new(one, GCUT_ROLE_input, gcut_printf(a, "x%u", (unsigned)k), &t);
    }
    const uint32_t nres = node->nres;
    const gcut_ref y = wide ? gcut_node_new(one, (gcut_op)node->op, args, node->nargs,
                                            g->attrs.at + node->attr0, node->nattrs, node->loc, NULL)
                            : gcut_node_copy(one, g, n, args, NULL, 0, NULL);
    for (uint32_t k = 0; k < nres; k++) gcut_body_yield(one, y + k);
    gcut_interp(one, GCUT_STATED, a, operand, out, NULL);
    for (uint32_t k = 0; k < nres; k++) out[k].dtype = gcut_type_of(g, gcut_node_at(g, n)->res0 + k)->dtype;
}

static bool evaluate(const symbols *s, uint32_t n, gcut_arena *a, const gcut_array *x, gcut_array *out)
{
    const gcut_graph *g = s->g;
    const gcut_node *node = gcut_node_at(g, n);
    const gcut_op op = (gcut_op)node->op;
    const gcut_type *t = gcut_type_of(g, node->res0);
    bool any = false, later = false; /* in any operand; in one that is not the first */
    for (uint32_t k = 0; k < node->nargs; k++) {
        const bool has = gcut_onnx_has_symbols(&x[k]);
        any |= has;
        later |= has && k > 0;
    }
    if (!any || (moves(op) && (!later || op == GCUT_OP_concat))) {
        interpret(g, n, a, x, any, out);
        return any || !any_has_symbols(out, node->nres);
    }
    *out = gcut_array_new(a, t->dtype, t->rank, t->dim);
    if (op == GCUT_OP_cast && (t->dtype == GCUT_I64 || t->dtype == GCUT_I32)) {
        for (int64_t k = 0; k < out->n; k++) out->u.i[k] = x->u.i[k];
        return true;
    }
    if (op == GCUT_OP_select) {
        for (int64_t k = 0; k < out->n; k++) out->u.i[k] = x[x[0].u.i[k] ? 1 : 2].u.i[k];
        return true;
    }
    if (gcut_op_get(op)->elementwise && node->nargs == 2) return elementwise(s, op, &x[0], &x[1], out);
    return node->nargs == 1 && reduce(s, op, &x[0], out);
}

/* UINT64_MAX: it is not known. */
static uint64_t elements_of(const gcut_graph *g, gcut_ref v)
{
    const gcut_type *t = gcut_type_of(g, v);
    uint64_t n = 1;
    for (uint32_t r = 0; r < t->rank; r++)
        if (!gcut_dim_known(t->dim[r]) || __builtin_mul_overflow(n, (uint64_t)t->dim[r], &n))
            return UINT64_MAX;
    return n;
}

/* An op that is neither elementwise nor moves elements may read all of an operand for each element of its result; one
 * with bodies does so for each of their nodes, too. */
uint64_t gcut_onnx_work(const gcut_graph *g)
{
    uint64_t work = 0;
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        const gcut_op op = (gcut_op)node->op;
        const uint64_t each = node->nregs ? 64 : 1;
        uint64_t out = 1, in = 1;
        for (uint32_t k = 0; k < node->nres; k++)
            if (__builtin_add_overflow(out, elements_of(g, node->res0 + k), &out)) return UINT64_MAX;
        for (uint32_t k = 0; k < node->nargs; k++)
            if (__builtin_add_overflow(in, elements_of(g, gcut_arg(g, node, k)), &in)) return UINT64_MAX;
        const bool linear = node->nargs == 0 || moves(op) || gcut_op_get(op)->elementwise;
        if (!linear && __builtin_mul_overflow(in, each, &in)) return UINT64_MAX;
        if (linear ? __builtin_add_overflow(out, in, &in) : __builtin_mul_overflow(out, in, &in))
            return UINT64_MAX;
        if (__builtin_add_overflow(work, in, &work)) return UINT64_MAX;
    }
    return work;
}

static bool is_small(const gcut_graph *g)
{
    for (uint32_t v = 1; v < g->values.n; v++) {
        const gcut_type *t = gcut_type_of(g, v);
        int64_t n = 1;
        for (uint32_t r = 0; r < t->rank; r++)
            if (!gcut_dim_known(t->dim[r]) || __builtin_mul_overflow(n, t->dim[r], &n)) return false;
        if (n > GCUT_ONNX_MOST_KNOWN) return false;
    }
    return true;
}

bool gcut_onnx_evaluate_numbers(const gcut_graph *g, gcut_arena *a, const gcut_array *params, gcut_array *out)
{
    if (!is_small(g)) return false;
    gcut_interp(g, GCUT_STATED, a, params, out, NULL);
    return true;
}

bool gcut_onnx_evaluate(const gcut_graph *g, const gcut_map *axes, gcut_arena *a, const gcut_array *params,
                        gcut_array *out)
{
    const symbols s = {g, g->module->dims, axes};
    if (!any_has_symbols(params, g->params.n))
        return gcut_onnx_evaluate_numbers(g, a, params, out) && !any_has_symbols(out, g->results.n);
    if (!is_small(g)) return false;
    gcut_array *value = gcut_calloc(a, g->values.n + 1, sizeof *value);
    for (uint32_t i = 0; i < g->params.n; i++) value[g->params.at[i].value] = params[i];
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        gcut_array *x = gcut_calloc(a, node->nargs + 1, sizeof *x);
        for (uint32_t k = 0; k < node->nargs; k++) x[k] = value[gcut_arg(g, node, k)];
        if (node->nregs || !evaluate(&s, n, a, x, &value[node->res0])) return false;
    }
    for (uint32_t i = 0; i < g->results.n; i++) out[i] = value[g->results.at[i].value];
    return true;
}
