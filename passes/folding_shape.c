/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Folding rules of data movement, constants and reductions.  The requirements they meet are in
 * passes/folding.c.
 */
#include <string.h>

#include "passes/folding.h"

static gcut_attr dims(const gcut_fold *f, gcut_attr_key key, const gcut_dim *at, uint32_t n)
{
    return gcut_attr_dims(f->rw.dst->module, key, at, n);
}

static bool all_equal(const gcut_attr *a, gcut_dim x)
{
    for (uint32_t i = 0; a && i < a->n; i++)
        if (a->u.dims[i] != x) return false;
    return true;
}

/* Folds data movement of a constant: a constant of the result's shape. */
static gcut_ref constant(gcut_fold *f)
{
    gcut_num c;
    return gcut_fold_constant(f, gcut_fold_arg(f, 0), &c) ? gcut_fold_full(f, c) : 0;
}

/* to the same shape = x   of a reshape = of its operand   of a constant */
gcut_ref gcut_fold_reshape(gcut_fold *f)
{
    gcut_ref x = gcut_fold_arg(f, 0), c;
    if (gcut_fold_same(f, x)) return x;
    if ((c = constant(f)) != 0) return c;
    const gcut_node *inner = gcut_fold_is(f, x, GCUT_OP_reshape);
    if (!inner) return 0;
    x = gcut_arg(f->rw.dst, inner, 0);
    return gcut_fold_same(f, x)
               ? x
               : gcut_fold_make(f, GCUT_OP_reshape, &x, 1, gcut_fold_attr(f, GCUT_KEY_shape), 1);
}

/* transpose(broadcast(x)) as one broadcast, if the axes of x stay in increasing order. */
static gcut_ref transposed_broadcast(gcut_fold *f, const gcut_node *inner, const gcut_dim *perm)
{
    const gcut_attr *axes = gcut_attr_get(f->rw.dst, inner, GCUT_KEY_axes);
    const gcut_type *t = gcut_fold_type(f);
    gcut_dim lands[GCUT_MAX_RANK] = {0}, to[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++) lands[perm[d]] = d;
    for (uint32_t k = 0; k < axes->n; k++) {
        to[k] = lands[axes->u.dims[k]];
        if (k && to[k] <= to[k - 1]) return 0;
    }
    gcut_ref x = gcut_arg(f->rw.dst, inner, 0);
    gcut_attr a[] = {dims(f, GCUT_KEY_shape, t->dim, t->rank), dims(f, GCUT_KEY_axes, to, axes->n)};
    return gcut_fold_make(f, GCUT_OP_broadcast, &x, 1, a, 2);
}

/* that changes nothing = x   of a transpose = of its operand   of a broadcast = a broadcast   of a constant
 */
gcut_ref gcut_fold_transpose(gcut_fold *f)
{
    gcut_ref x = gcut_fold_arg(f, 0), c;
    uint32_t rank = gcut_fold_type(f)->rank;
    const gcut_dim *perm = gcut_fold_attr(f, GCUT_KEY_perm)->u.dims;
    gcut_dim both[GCUT_MAX_RANK];
    if ((c = constant(f)) != 0) return c;
    const gcut_node *inner = gcut_fold_is(f, x, GCUT_OP_transpose);
    const gcut_dim *first = inner ? gcut_attr_get(f->rw.dst, inner, GCUT_KEY_perm)->u.dims : NULL;
    bool identity = true;
    for (uint32_t d = 0; d < rank; d++) {
        both[d] = first ? first[perm[d]] : perm[d];
        identity = identity && both[d] == d;
    }
    if (first) x = gcut_arg(f->rw.dst, inner, 0);
    if (identity && gcut_fold_same(f, x)) return x;
    if (first) {
        gcut_attr a = dims(f, GCUT_KEY_perm, both, rank);
        return gcut_fold_make(f, GCUT_OP_transpose, &x, 1, &a, 1);
    }
    inner = gcut_fold_is(f, x, GCUT_OP_broadcast);
    return inner ? transposed_broadcast(f, inner, perm) : 0;
}

/* broadcast(iota) as one iota, unless the counted axis has size 1 and is repeated. */
static gcut_ref broadcast_iota(gcut_fold *f, gcut_ref x, const gcut_node *inner, const gcut_dim *axes)
{
    gcut_module *m = f->rw.dst->module;
    const gcut_type *t = gcut_fold_type(f);
    gcut_dim axis = gcut_attr_get(f->rw.dst, inner, GCUT_KEY_axis)->u.dim;
    if (gcut_fold_type_of(f, x)->dim[axis] != t->dim[axes[axis]]) return 0;
    gcut_attr a[] = {dims(f, GCUT_KEY_shape, t->dim, t->rank), gcut_attr_dim(GCUT_KEY_axis, axes[axis]),
                     gcut_attr_str(m, GCUT_KEY_dtype, gcut_dtype_name(t->dtype))};
    return gcut_fold_make(f, GCUT_OP_iota, NULL, 0, a, 3);
}

/* to the same shape = x   of a broadcast = of its operand   of a constant   of an iota = an iota */
gcut_ref gcut_fold_broadcast(gcut_fold *f)
{
    gcut_ref x = gcut_fold_arg(f, 0), c;
    const gcut_node *inner;
    if (gcut_fold_same(f, x)) return x;
    if ((c = constant(f)) != 0) return c;
    const gcut_dim *axes = gcut_fold_attr(f, GCUT_KEY_axes)->u.dims;
    if ((inner = gcut_fold_is(f, x, GCUT_OP_iota)) != NULL) return broadcast_iota(f, x, inner, axes);
    if ((inner = gcut_fold_is(f, x, GCUT_OP_broadcast)) == NULL) return 0;
    const gcut_attr *first = gcut_attr_get(f->rw.dst, inner, GCUT_KEY_axes);
    gcut_dim both[GCUT_MAX_RANK];
    for (uint32_t k = 0; k < first->n; k++) both[k] = axes[first->u.dims[k]];
    x = gcut_arg(f->rw.dst, inner, 0);
    gcut_attr a[] = {*gcut_fold_attr(f, GCUT_KEY_shape), dims(f, GCUT_KEY_axes, both, first->n)};
    return gcut_fold_make(f, GCUT_OP_broadcast, &x, 1, a, 2);
}

/* of everything = x   of a constant, when the bounds are numbers: symbolic ones are tested at run time */
gcut_ref gcut_fold_slice(gcut_fold *f)
{
    gcut_ref x = gcut_fold_arg(f, 0);
    const gcut_attr *start = gcut_fold_attr(f, GCUT_KEY_start), *limit = gcut_fold_attr(f, GCUT_KEY_limit);
    const gcut_type *t = gcut_fold_type_of(f, x);
    bool whole = all_equal(start, 0) && all_equal(gcut_fold_attr(f, GCUT_KEY_step), 1), known = true;
    for (uint32_t d = 0; d < t->rank; d++) {
        whole = whole && limit->u.dims[d] == t->dim[d];
        known = known && start->u.dims[d] >= 0 && limit->u.dims[d] >= 0 && t->dim[d] >= 0;
    }
    if (whole && gcut_fold_same(f, x)) return x;
    return known ? constant(f) : 0;
}

/* by nothing = x   of a constant with itself */
gcut_ref gcut_fold_pad(gcut_fold *f)
{
    gcut_num c;
    gcut_ref x = gcut_fold_arg(f, 0);
    if (all_equal(gcut_fold_attr(f, GCUT_KEY_low), 0) && all_equal(gcut_fold_attr(f, GCUT_KEY_high), 0) &&
        all_equal(gcut_fold_attr(f, GCUT_KEY_interior), 0) && gcut_fold_same(f, x))
        return x;
    if (!gcut_fold_constant(f, x, &c)) return 0;
    const gcut_num *v = &gcut_fold_attr(f, GCUT_KEY_value)->u.num;
    if (c.is_int ? v->is_int && v->i == c.i : memcmp(&v->f, &c.f, sizeof c.f) == 0)
        return gcut_fold_full(f, c);
    return 0;
}

/* of one = x   of one constant, repeated */
gcut_ref gcut_fold_concat(gcut_fold *f)
{
    gcut_num c, d;
    uint32_t n = gcut_fold_node(f)->nargs;
    if (n == 1) return gcut_fold_same(f, gcut_fold_arg(f, 0));
    if (!gcut_fold_constant(f, gcut_fold_arg(f, 0), &c)) return 0;
    for (uint32_t k = 1; k < n; k++)
        if (!gcut_fold_constant(f, gcut_fold_arg(f, k), &d) || c.i != d.i ||
            memcmp(&c.f, &d.f, sizeof c.f) != 0)
            return 0;
    return gcut_fold_full(f, c);
}

/* along no axis, or axes of size 1 = x   twice along the same = x   of a constant */
gcut_ref gcut_fold_flip(gcut_fold *f)
{
    gcut_ref x = gcut_fold_arg(f, 0), c;
    uint32_t axes = gcut_attr_axes(f->rw.src, gcut_fold_node(f)), moved = 0;
    const gcut_type *t = gcut_fold_type(f);
    for (uint32_t d = 0; d < t->rank; d++)
        if (axes >> d & 1 && t->dim[d] != 1) moved |= 1u << d;
    if (!moved && gcut_fold_same(f, x)) return x;
    if ((c = constant(f)) != 0) return c;
    const gcut_node *inner = gcut_fold_is(f, x, GCUT_OP_flip);
    return inner && gcut_attr_axes(f->rw.dst, inner) == axes
               ? gcut_fold_same(f, gcut_arg(f->rw.dst, inner, 0))
               : 0;
}

/* of a known size = the constant */
gcut_ref gcut_fold_dim(gcut_fold *f)
{
    gcut_dim d = gcut_fold_attr(f, GCUT_KEY_of)->u.dim;
    return gcut_dim_known(d) ? gcut_fold_full(f, (gcut_num){true, d, (double)d}) : 0;
}

/* along an axis of size 1 = 0 */
gcut_ref gcut_fold_iota(gcut_fold *f)
{
    bool one = gcut_fold_type(f)->dim[gcut_fold_attr(f, GCUT_KEY_axis)->u.dim] == 1;
    return one ? gcut_fold_full(f, (gcut_num){.is_int = true}) : 0;
}

/* over no axes: integers = x, floats = 0 + x, since a sum starts at 0 and turns -0 into 0 */
gcut_ref gcut_fold_sum(gcut_fold *f)
{
    gcut_ref x = gcut_fold_arg(f, 0);
    gcut_type t = *gcut_fold_type(f);
    if (gcut_attr_axes(f->rw.src, gcut_fold_node(f)) != 0 || !gcut_fold_same(f, x)) return 0;
    if (!gcut_dtype_is_float(t.dtype)) return x;
    gcut_num c;
    if (gcut_fold_constant(f, x, &c)) return gcut_fold_full(f, (gcut_num){.f = 0 + c.f});
    gcut_ref zero = gcut_fold_full_of(f, &t, (gcut_num){0}, NULL);
    return gcut_fold_make(f, GCUT_OP_add, (gcut_ref[]){x, zero}, 2, NULL, 0);
}

/* max_reduce, min_reduce over no axes = x */
gcut_ref gcut_fold_extreme(gcut_fold *f)
{
    gcut_ref x = gcut_fold_arg(f, 0);
    return gcut_attr_axes(f->rw.src, gcut_fold_node(f)) == 0 ? gcut_fold_same(f, x) : 0;
}
