/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Triangles: values [.., T, T] that are one number up to the diagonal and another beyond it, as causal masks are.  Where T is
 * known, the interpreter computes the elements.  Where it is a symbol, it computes two of them: a value that is computed
 * from comparisons of rows with columns and from numbers has one element up to the diagonal and one beyond it.
 */
#include <math.h>
#include <string.h>

#include "interp/interp.h"
#include "passes/recognition.h"

enum {
    MOST_MASK = 1 << 22, /* elements of a mask that is looked at, and of what it is computed from */
    DEEPEST = 64,        /* ops in a chain of which a mask of any size is the result */
    FARTHEST = 1 << 20   /* a number that is added to an index: no sum of DEEPEST of them overflows */
};

/* ---- by elements ---- */

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

/* Are the last two axes of a broadcast those of its operand? */
static bool keeps_last_axes(const gcut_graph *g, const gcut_node *n)
{
    const gcut_attr *axes = gcut_attr_get(g, n, GCUT_KEY_axes);
    const uint32_t rank = gcut_type_of(g, n->res0)->rank;
    return axes->n >= 2 && axes->u.dims[axes->n - 2] == rank - 2u && axes->u.dims[axes->n - 1] == rank - 1u;
}

/* Does v take the first elements of x along each of its last two axes, as many along both?  Or repeat x along others? */
static bool keeps_corner(const gcut_recognition *r, const gcut_node *n, gcut_ref v)
{
    const gcut_graph *g = r->rw.src;
    const gcut_type *t = gcut_type_of(g, v), *tx = gcut_type_of(g, gcut_arg(g, n, 0));
    const gcut_dim *last = t->dim + t->rank - 2, *of = tx->rank >= 2 ? tx->dim + tx->rank - 2 : NULL;
    if (!of) return false;
    if (n->op == GCUT_OP_broadcast && !keeps_last_axes(g, n)) return false;
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

/* Is v, of known sizes, up to the diagonal `kept`, and beyond it at most `most`? */
static bool is_triangle_of_elements(const gcut_recognition *r, gcut_ref v, double kept, double most,
                                    gcut_arena *a)
{
    const gcut_type *t = gcut_type_of(r->rw.src, v);
    const double *x = contents(r, v, a);
    if (!x || t->dim[t->rank - 2] != t->dim[t->rank - 1]) return false;
    const int64_t size = t->dim[t->rank - 1];
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < size; j++)
            if (j <= i ? x[i * size + j] != kept : !(x[i * size + j] <= most)) return false;
    return true;
}

/* ---- by comparisons of rows with columns ---- */

/* Along an axis, counted from the last one, which is 1, every element is its index there plus a number. */
typedef struct ramp {
    uint32_t axis;
    int64_t plus;
} ramp;

/* The axis of `to` that is axis d of `from`, where one has the axes of the other and more of size 1; false: it is not so. */
static bool axis_among(const gcut_type *from, const gcut_type *to, uint32_t d, uint32_t *out)
{
    uint32_t j = 0;
    bool found = false;
    for (uint32_t i = 0; i < from->rank; i++) {
        if (from->dim[i] == 1 && i != d) continue;
        while (j < to->rank && to->dim[j] == 1) j++;
        if (j == to->rank || to->dim[j] != from->dim[i]) return false;
        if (i == d) {
            *out = j;
            found = true;
        }
        j++;
    }
    while (j < to->rank && to->dim[j] == 1) j++;
    return found && j == to->rank;
}

static bool is_ramp(const gcut_recognition *r, gcut_ref v, int depth, ramp *out)
{
    const gcut_graph *g = r->rw.src;
    const gcut_node *n = gcut_def(g, v);
    const gcut_type *t = gcut_type_of(g, v);
    if (!depth || !n || n->marks.n || (t->dtype != GCUT_I32 && t->dtype != GCUT_I64)) return false;
    if (n->op == GCUT_OP_iota) {
        *out = (ramp){t->rank - (uint32_t)gcut_attr_get(g, n, GCUT_KEY_axis)->u.dim, 0};
        return true;
    }
    if (n->op == GCUT_OP_add) {
        for (uint32_t k = 0; k < 2; k++) {
            double x;
            if (!gcut_is_number(r, gcut_arg(g, n, 1 - k), &x) ||
                !is_ramp(r, gcut_arg(g, n, k), depth - 1, out))
                continue;
            if (fabs(x) > FARTHEST) return false;
            out->plus += (int64_t)x;
            return true;
        }
        return false;
    }
    if (n->op != GCUT_OP_broadcast && n->op != GCUT_OP_reshape && n->op != GCUT_OP_cast) return false;
    if (!is_ramp(r, gcut_arg(g, n, 0), depth - 1, out)) return false;
    const gcut_type *from = gcut_type_of(g, gcut_arg(g, n, 0));
    uint32_t d = from->rank - out->axis, to = d;
    if (from->dim[d] == 1) return false;
    if (n->op == GCUT_OP_broadcast) to = (uint32_t)gcut_attr_get(g, n, GCUT_KEY_axes)->u.dims[d];
    if (n->op == GCUT_OP_reshape && !axis_among(from, t, d, &to)) return false;
    out->axis = t->rank - to;
    return t->dim[to] == from->dim[d];
}

/* What a comparison of a row with a column is: 1 up to the diagonal and 0 beyond it, or the reverse; -1: neither. */
static int up_to_diagonal(const gcut_recognition *r, const gcut_node *n)
{
    ramp x, y;
    if (n->op != GCUT_OP_lt && n->op != GCUT_OP_le && n->op != GCUT_OP_gt && n->op != GCUT_OP_ge) return -1;
    if (!is_ramp(r, gcut_arg(r->rw.src, n, 0), DEEPEST, &x) ||
        !is_ramp(r, gcut_arg(r->rw.src, n, 1), DEEPEST, &y))
        return -1;
    bool less = n->op == GCUT_OP_lt || n->op == GCUT_OP_le;
    const bool equal = n->op == GCUT_OP_le || n->op == GCUT_OP_ge;
    if (x.axis + y.axis != 3) return -1;
    int64_t ahead = x.plus - y.plus; /* of x on the diagonal */
    if (x.axis == 2) {               /* row < column is column > row */
        less = !less;
        ahead = -ahead;
    }
    /* With d = column - row: d + ahead <= 0 or < 0, or the negation of one of these. */
    const bool within = equal == less;
    return ahead == (within ? 0 : -1) ? less : -1;
}

typedef struct pair_walk {
    const gcut_recognition *r;
    gcut_graph *own; /* of vectors of two elements: one up to the diagonal, one beyond it */
    gcut_ref *map;   /* from values of the source */
    gcut_dim size;
    int depth; /* of pair_of, at most DEEPEST */
} pair_walk;

static gcut_ref pair_of(pair_walk *w, gcut_ref v);

/* Two numbers in v's dtype. */
static gcut_ref two_numbers(pair_walk *w, gcut_ref v, double first, double second)
{
    gcut_build b = {.g = w->own};
    const gcut_type one = {.dtype = gcut_type_of(w->r->rw.src, v)->dtype, .rank = 1, .dim = {1}};
    const gcut_ref x[] = {gcut_bfull(&b, &one, first), gcut_bfull(&b, &one, second)};
    const gcut_attr along = gcut_attr_dim(GCUT_KEY_axis, 0);
    return gcut_node_new(w->own, GCUT_OP_concat, x, 2, &along, 1, b.loc, NULL);
}

static gcut_ref new_pair(pair_walk *w, gcut_ref v)
{
    const gcut_graph *g = w->r->rw.src;
    const gcut_type *t = gcut_type_of(g, v);
    const gcut_node *n = gcut_def(g, v);
    gcut_ref args[4];
    double x;
    if (gcut_is_number(w->r, v, &x)) return two_numbers(w, v, x, x);
    if (!n || n->marks.n || n->nregs || t->rank < 2 || t->dim[t->rank - 1] != w->size ||
        t->dim[t->rank - 2] != w->size)
        return 0;
    const int up = up_to_diagonal(w->r, n);
    if (up >= 0) return two_numbers(w, v, up, !up);
    if ((n->op == GCUT_OP_broadcast || n->op == GCUT_OP_reshape) && keeps_corner(w->r, n, v))
        return pair_of(w, gcut_arg(g, n, 0));
    if (gcut_op_get((gcut_op)n->op)->class != GCUT_CLASS_POINTWISE || n->nres != 1 || !n->nargs ||
        n->nargs > 4)
        return 0;
    for (uint32_t k = 0; k < n->nargs; k++)
        if (!(args[k] = pair_of(w, gcut_arg(g, n, k)))) return 0;
    return gcut_node_new(w->own, (gcut_op)n->op, args, n->nargs, g->attrs.at + n->attr0, n->nattrs, 0, NULL);
}

/* The two elements of v; 0: v is not computed from comparisons of rows with columns and numbers alone. */
static gcut_ref pair_of(pair_walk *w, gcut_ref v)
{
    if (!w->map[v] && w->depth < DEEPEST) {
        w->depth++;
        w->map[v] = new_pair(w, v);
        w->depth--;
    }
    return w->map[v];
}

static bool is_triangle_of_any_size(const gcut_recognition *r, gcut_ref v, double kept, double most,
                                    gcut_arena *a)
{
    const gcut_graph *g = r->rw.src;
    const gcut_type *t = gcut_type_of(g, v);
    pair_walk w = {
        .r = r, .own = gcut_body_new(r->rw.dst), .map = gcut_calloc(a, g->values.n, sizeof(gcut_ref))};
    w.size = t->dim[t->rank - 1];
    const gcut_ref pair = pair_of(&w, v);
    gcut_array out;
    if (!pair) return false;
    gcut_body_yield(w.own, pair);
    gcut_interp(w.own, GCUT_STATED, a, NULL, &out, NULL);
    const bool real = gcut_dtype_is_float(out.dtype);
    const double x = real ? out.u.f[0] : (double)out.u.i[0], y = real ? out.u.f[1] : (double)out.u.i[1];
    return x == kept && y <= most;
}

bool gcut_is_triangle(const gcut_recognition *r, gcut_ref of, double kept, double most)
{
    const gcut_graph *g = r->rw.src;
    const gcut_ref v = square_of(r, of);
    if (!v) return false;
    gcut_arena *a = gcut_arena_new(g->module->env, r->rw.scratch);
    const gcut_type *t = gcut_type_of(g, v);
    const bool is = gcut_dim_known(t->dim[t->rank - 1]) ? is_triangle_of_elements(r, v, kept, most, a)
                                                        : is_triangle_of_any_size(r, v, kept, most, a);
    gcut_arena_free(a);
    return is;
}
