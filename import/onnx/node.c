/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Short forms of ops for the rules.
 */
#include "import/onnx/node.h"

#include <string.h>

uint32_t gcut_onnx_axis(const gcut_onnx_node *n, int64_t axis, uint32_t rank)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        GCUT_ONNX_WRONG(n, "there is no axis %lld: the operand has %u", (long long)axis, (unsigned)rank);
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

void gcut_onnx_need_rank(const gcut_onnx_node *n, gcut_ref v, uint32_t rank, const char *what)
{
    const uint32_t have = gcut_type_of(n->b.g, v)->rank;
    if (have != rank)
        GCUT_ONNX_WRONG(n, "expected %s of %u axes, found %u", what, (unsigned)rank, (unsigned)have);
}

gcut_dim gcut_onnx_need_size(const gcut_onnx_node *n, int64_t d)
{
    if (d < 0 && !gcut_onnx_is_symbolic(d)) GCUT_ONNX_WRONG(n, "expected a size, found %lld", (long long)d);
    return d;
}

gcut_num gcut_onnx_need_number(gcut_onnx_node *n, uint32_t i, const char *what)
{
    const gcut_array *x = gcut_onnx_need(n, i, what);
    if (x->n != 1) GCUT_ONNX_WRONG(n, "expected one element for %s", what);
    if (!gcut_dtype_is_float(x->dtype) && gcut_onnx_is_symbolic(x->u.i[0]))
        GCUT_ONNX_UNSUPPORTED(n, "%s follows from sizes that are symbols", what);
    return gcut_array_number(x, 0);
}

bool gcut_onnx_is_progression(const int64_t *at, int64_t n)
{
    int64_t step = 0, next;
    if (n >= 2 && __builtin_sub_overflow(at[1], at[0], &step)) return false;
    for (int64_t k = 2; k < n; k++)
        if (__builtin_add_overflow(at[k - 1], step, &next) || at[k] != next) return false;
    return true;
}

gcut_ref gcut_onnx_progression(gcut_onnx_node *n, gcut_dtype t, gcut_dim count, gcut_num start, gcut_num step)
{
    const gcut_type type = {t, 1, {count}};
    gcut_ref i = gcut_bconvert(&n->b, gcut_onnx_iota(n, &type, 0), t);
    if (step.f != 1) i = gcut_b2(&n->b, GCUT_OP_mul, i, gcut_bfull_of(&n->b, &type, step));
    return start.f == 0 ? i : gcut_b2(&n->b, GCUT_OP_add, i, gcut_bfull_of(&n->b, &type, start));
}

gcut_type gcut_onnx_type(const gcut_onnx_node *n, gcut_ref v)
{
    return *gcut_type_of(n->b.g, v);
}

gcut_array gcut_onnx_array(gcut_onnx_node *n, gcut_dtype t, uint32_t rank, const int64_t *dim)
{
    uint64_t all = 1;
    for (uint32_t r = 0; r < rank; r++)
        if (__builtin_mul_overflow(all, (uint64_t)dim[r], &all)) all = UINT64_MAX;
    gcut_onnx_count_elements(n->o, all);
    return gcut_array_new(n->b.g->module->arena, t, rank, dim);
}

gcut_ref gcut_onnx_node_new(gcut_onnx_node *n, gcut_op op, const gcut_ref *x, uint32_t nx, const gcut_attr *a,
                            uint32_t na)
{
    return gcut_node_new(n->b.g, op, x, nx, a, na, n->b.loc, NULL);
}

gcut_dim gcut_onnx_dim(const gcut_onnx_node *n, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    return gcut_dim_make(n->b.g->module->dims, op, a, b);
}

gcut_dim gcut_onnx_numel(const gcut_onnx_node *n, const gcut_type *t, uint32_t from, uint32_t to)
{
    gcut_dim all = 1;
    for (uint32_t r = from; r < to; r++) all = gcut_onnx_dim(n, GCUT_DIM_MUL, all, t->dim[r]);
    return all;
}

gcut_ref gcut_onnx_number(gcut_onnx_node *n, gcut_dtype t, const gcut_type *shape, double x)
{
    gcut_type type = shape ? *shape : (gcut_type){.rank = 0};
    type.dtype = t;
    return gcut_bfull(&n->b, &type, x);
}

gcut_ref gcut_onnx_binary(gcut_onnx_node *n, gcut_op op, gcut_ref x, gcut_ref y)
{
    gcut_ref v[] = {x, y};
    gcut_bbroadcast_all(&n->b, n->p->op_type, v, 2);
    return gcut_b2(&n->b, op, v[0], v[1]);
}

gcut_ref gcut_onnx_reshape(gcut_onnx_node *n, gcut_ref x, const gcut_dim *dim, uint32_t rank)
{
    const gcut_type t = gcut_onnx_type(n, x);
    bool same = t.rank == rank;
    for (uint32_t r = 0; same && r < rank; r++) same = t.dim[r] == dim[r];
    return same ? x : gcut_breshape(&n->b, x, dim, rank);
}

gcut_ref gcut_onnx_insert_axis(gcut_onnx_node *n, gcut_ref x, uint32_t axis)
{
    gcut_type t = gcut_onnx_type(n, x);
    if (t.rank == GCUT_MAX_RANK) GCUT_ONNX_UNSUPPORTED(n, "a value has more than %d axes", GCUT_MAX_RANK);
    memmove(&t.dim[axis + 1], &t.dim[axis], (t.rank - axis) * sizeof *t.dim);
    t.dim[axis] = 1;
    return gcut_onnx_reshape(n, x, t.dim, t.rank + 1u);
}

gcut_ref gcut_onnx_remove_axis(gcut_onnx_node *n, gcut_ref x, uint32_t axis)
{
    gcut_type t = gcut_onnx_type(n, x);
    memmove(&t.dim[axis], &t.dim[axis + 1], (t.rank - axis - 1u) * sizeof *t.dim);
    return gcut_onnx_reshape(n, x, t.dim, t.rank - 1u);
}

gcut_ref gcut_onnx_clamp_node(gcut_onnx_node *n, gcut_ref x, double lo, double hi)
{
    const gcut_attr a[] = {gcut_attr_real(GCUT_KEY_lo, lo), gcut_attr_real(GCUT_KEY_hi, hi)};
    return gcut_onnx_node_new(n, GCUT_OP_clamp, &x, 1, a, 2);
}

gcut_ref gcut_onnx_slice(gcut_onnx_node *n, gcut_ref x, uint32_t axis, gcut_dim start, gcut_dim limit,
                         gcut_dim step)
{
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_dim from[GCUT_MAX_RANK] = {0}, to[GCUT_MAX_RANK], by[GCUT_MAX_RANK];
    if (start == 0 && limit == t.dim[axis] && step == 1) return x;
    for (uint32_t r = 0; r < t.rank; r++) to[r] = t.dim[r], by[r] = 1;
    from[axis] = start;
    to[axis] = limit;
    by[axis] = step;
    return gcut_bslice(&n->b, x, from, to, step == 1 ? NULL : by);
}

gcut_ref gcut_onnx_flip(gcut_onnx_node *n, gcut_ref x, uint32_t axis)
{
    const gcut_attr a = gcut_attr_dims(n->b.g->module, GCUT_KEY_axes, (gcut_dim[]){axis}, 1);
    return gcut_onnx_node_new(n, GCUT_OP_flip, &x, 1, &a, 1);
}

gcut_ref gcut_onnx_concat(gcut_onnx_node *n, const gcut_ref *x, uint32_t nx, uint32_t axis)
{
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    return nx == 1 ? x[0] : gcut_onnx_node_new(n, GCUT_OP_concat, x, nx, &a, 1);
}

gcut_ref gcut_onnx_pad(gcut_onnx_node *n, gcut_ref x, const gcut_dim *low, const gcut_dim *high,
                       gcut_num value)
{
    static const gcut_dim none[GCUT_MAX_RANK];
    gcut_module *m = n->b.g->module;
    const gcut_type t = gcut_onnx_type(n, x);
    const gcut_attr a[] = {gcut_attr_dims(m, GCUT_KEY_low, low ? low : none, t.rank),
                           gcut_attr_dims(m, GCUT_KEY_high, high ? high : none, t.rank),
                           gcut_bnumber(GCUT_KEY_value, t.dtype, value)};
    return gcut_onnx_node_new(n, GCUT_OP_pad, &x, 1, a, 3);
}

gcut_ref gcut_onnx_reduce(gcut_onnx_node *n, gcut_op op, gcut_ref x, uint32_t mask, bool keep)
{
    const uint32_t rank = gcut_onnx_type(n, x).rank;
    gcut_dim axes[GCUT_MAX_RANK] = {0};
    uint32_t k = 0;
    for (uint32_t r = 0; r < rank; r++)
        if (mask >> r & 1) axes[k++] = r;
    const gcut_attr a[] = {gcut_attr_dims(n->b.g->module, GCUT_KEY_axes, axes, k),
                           gcut_attr_bool(GCUT_KEY_keep, keep)};
    return k ? gcut_onnx_node_new(n, op, &x, 1, a, 2) : x;
}

gcut_ref gcut_onnx_iota(gcut_onnx_node *n, const gcut_type *shape, uint32_t axis)
{
    gcut_type t = *shape;
    t.dtype = GCUT_I64;
    return gcut_biota(&n->b, &t, (int)axis);
}
