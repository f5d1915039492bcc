/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Short forms of gcut_node_new.
 */
#include "graph/build.h"

#include <math.h>
#include <string.h>

#define TYPE(b, x) (*gcut_type_of((b)->g, (x)))

static gcut_ref node(gcut_build *b, gcut_op op, const gcut_ref *args, uint32_t nargs, const gcut_attr *attrs,
                     uint32_t nattrs)
{
    return gcut_node_new(b->g, op, args, nargs, attrs, nattrs, b->loc, b->name);
}

gcut_ref gcut_b1(gcut_build *b, gcut_op op, gcut_ref x)
{
    return node(b, op, &x, 1, NULL, 0);
}

gcut_ref gcut_b2(gcut_build *b, gcut_op op, gcut_ref x, gcut_ref y)
{
    return node(b, op, (gcut_ref[]){x, y}, 2, NULL, 0);
}

gcut_ref gcut_bselect(gcut_build *b, gcut_ref p, gcut_ref x, gcut_ref y)
{
    return node(b, GCUT_OP_select, (gcut_ref[]){p, x, y}, 3, NULL, 0);
}

gcut_ref gcut_bconvert(gcut_build *b, gcut_ref x, gcut_dtype to)
{
    if (TYPE(b, x).dtype == to) return x;
    gcut_attr a = gcut_attr_str(b->g->module, GCUT_KEY_to, gcut_dtype_name(to));
    return node(b, GCUT_OP_cast, &x, 1, &a, 1);
}

int64_t gcut_binteger(double x)
{
    if (!(x > -0x1p63)) return x < 0 ? INT64_MIN : 0;
    return x < 0x1p63 ? (int64_t)x : INT64_MAX;
}

int64_t gcut_bround_integer(gcut_num x, bool up, gcut_dtype t)
{
    const int64_t i = x.is_int ? x.i : gcut_binteger(up ? ceil(x.f) : floor(x.f));
    int64_t lo, hi;
    gcut_dtype_bounds(t, &lo, &hi);
    return i < lo ? lo : i > hi ? hi : i;
}

gcut_attr gcut_bnumber(gcut_attr_key key, gcut_dtype t, gcut_num x)
{
    return gcut_dtype_is_float(t) ? gcut_attr_real(key, x.f)
                                  : gcut_attr_int(key, x.is_int ? x.i : gcut_binteger(x.f));
}

gcut_ref gcut_bfull_of(gcut_build *b, const gcut_type *type, gcut_num value)
{
    gcut_module *m = b->g->module;
    gcut_attr a[] = {gcut_attr_dims(m, GCUT_KEY_shape, type->dim, type->rank),
                     gcut_bnumber(GCUT_KEY_value, type->dtype, value),
                     gcut_attr_str(m, GCUT_KEY_dtype, gcut_dtype_name(type->dtype))};
    return node(b, GCUT_OP_full, NULL, 0, a, 3);
}

gcut_ref gcut_bfull(gcut_build *b, const gcut_type *type, double value)
{
    return gcut_bfull_of(b, type, (gcut_num){.f = value});
}

gcut_ref gcut_bconst(gcut_build *b, gcut_ref like, double value)
{
    gcut_type t = TYPE(b, like);
    return gcut_bfull(b, &t, value);
}

gcut_ref gcut_biota(gcut_build *b, const gcut_type *type, int axis)
{
    gcut_module *m = b->g->module;
    gcut_attr a[] = {gcut_attr_dims(m, GCUT_KEY_shape, type->dim, type->rank),
                     gcut_attr_dim(GCUT_KEY_axis, axis),
                     gcut_attr_str(m, GCUT_KEY_dtype, gcut_dtype_name(type->dtype))};
    return node(b, GCUT_OP_iota, NULL, 0, a, 3);
}

gcut_ref gcut_bscale(gcut_build *b, gcut_ref x, double factor)
{
    return gcut_b2(b, GCUT_OP_mul, x, gcut_bconst(b, x, factor));
}

gcut_ref gcut_baddc(gcut_build *b, gcut_ref x, double term)
{
    return gcut_b2(b, GCUT_OP_add, x, gcut_bconst(b, x, term));
}

gcut_ref gcut_breshape(gcut_build *b, gcut_ref x, const gcut_dim *shape, uint32_t rank)
{
    gcut_attr a = gcut_attr_dims(b->g->module, GCUT_KEY_shape, shape, rank);
    return node(b, GCUT_OP_reshape, &x, 1, &a, 1);
}

gcut_ref gcut_btranspose(gcut_build *b, gcut_ref x, const gcut_dim *perm)
{
    gcut_attr a = gcut_attr_dims(b->g->module, GCUT_KEY_perm, perm, TYPE(b, x).rank);
    return node(b, GCUT_OP_transpose, &x, 1, &a, 1);
}

gcut_ref gcut_baxis_first(gcut_build *b, gcut_ref x, uint32_t axis, bool back)
{
    gcut_dim perm[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < TYPE(b, x).rank; d++)
        perm[d] = d > axis ? d : back ? (d == axis ? 0 : d + 1) : (d == 0 ? axis : d - 1);
    return axis ? gcut_btranspose(b, x, perm) : x;
}

gcut_ref gcut_bbroadcast(gcut_build *b, gcut_ref x, const gcut_dim *shape, uint32_t rank,
                         const gcut_dim *axes)
{
    gcut_attr a[] = {gcut_attr_dims(b->g->module, GCUT_KEY_shape, shape, rank),
                     gcut_attr_dims(b->g->module, GCUT_KEY_axes, axes, TYPE(b, x).rank)};
    return node(b, GCUT_OP_broadcast, &x, 1, a, 2);
}

gcut_ref gcut_breduce(gcut_build *b, gcut_op op, gcut_ref x, uint32_t mask)
{
    gcut_dim axes[GCUT_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < TYPE(b, x).rank; d++)
        if (mask >> d & 1) axes[n++] = d;
    gcut_attr a = gcut_attr_dims(b->g->module, GCUT_KEY_axes, axes, n);
    return node(b, op, &x, 1, &a, 1);
}

gcut_ref gcut_bexpand(gcut_build *b, gcut_ref r, gcut_ref like, uint32_t mask)
{
    gcut_type t = TYPE(b, like);
    gcut_dim axes[GCUT_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < t.rank; d++)
        if (!(mask >> d & 1)) axes[n++] = d;
    return gcut_bbroadcast(b, r, t.dim, t.rank, axes);
}

gcut_ref gcut_bmatmul(gcut_build *b, gcut_ref x, gcut_ref y, bool tx, bool ty)
{
    gcut_attr a[] = {gcut_attr_bool(GCUT_KEY_ta, tx), gcut_attr_bool(GCUT_KEY_tb, ty)};
    return node(b, GCUT_OP_matmul, (gcut_ref[]){x, y}, 2, a, 2);
}

gcut_ref gcut_bslice(gcut_build *b, gcut_ref x, const gcut_dim *start, const gcut_dim *limit,
                     const gcut_dim *step)
{
    gcut_module *m = b->g->module;
    uint32_t r = TYPE(b, x).rank;
    gcut_attr a[3] = {gcut_attr_dims(m, GCUT_KEY_start, start, r),
                      gcut_attr_dims(m, GCUT_KEY_limit, limit, r)};
    if (step) a[2] = gcut_attr_dims(m, GCUT_KEY_step, step, r);
    return node(b, GCUT_OP_slice, &x, 1, a, step ? 3 : 2);
}

gcut_ref gcut_bpad(gcut_build *b, gcut_ref x, const gcut_dim *low, const gcut_dim *high,
                   const gcut_dim *interior)
{
    gcut_module *m = b->g->module;
    uint32_t r = TYPE(b, x).rank;
    gcut_attr a[3] = {gcut_attr_dims(m, GCUT_KEY_low, low, r), gcut_attr_dims(m, GCUT_KEY_high, high, r)};
    if (interior) a[2] = gcut_attr_dims(m, GCUT_KEY_interior, interior, r);
    return node(b, GCUT_OP_pad, &x, 1, a, interior ? 3 : 2);
}

gcut_ref gcut_btake(gcut_build *b, gcut_ref x, gcut_ref i, int axis)
{
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    return node(b, GCUT_OP_take, (gcut_ref[]){x, i}, 2, &a, 1);
}

gcut_ref gcut_bscatter_add(gcut_build *b, gcut_ref x, gcut_ref i, gcut_ref u, int axis)
{
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    return node(b, GCUT_OP_scatter_add, (gcut_ref[]){x, i, u}, 3, &a, 1);
}

gcut_ref gcut_bsize(gcut_build *b, gcut_dim d, gcut_dtype t, const gcut_type *shape)
{
    gcut_type type = shape ? *shape : (gcut_type){.rank = 0};
    type.dtype = t;
    if (gcut_dim_known(d)) return gcut_bfull_of(b, &type, (gcut_num){true, d, (double)d});
    const gcut_attr of = gcut_attr_dim(GCUT_KEY_of, d);
    gcut_ref size = gcut_bconvert(b, node(b, GCUT_OP_dim, NULL, 0, &of, 1), t);
    return type.rank ? gcut_bbroadcast(b, size, type.dim, type.rank, NULL) : size;
}

gcut_ref gcut_btimes(gcut_build *b, gcut_ref v, gcut_dim d)
{
    const gcut_type t = TYPE(b, v);
    return d == 1 ? v : gcut_b2(b, GCUT_OP_mul, v, gcut_bsize(b, d, t.dtype, &t));
}

gcut_ref gcut_blinear_index(gcut_build *b, const gcut_ref *index, const gcut_dim *size, uint32_t n)
{
    gcut_ref at = index[0];
    for (uint32_t k = 1; k < n; k++) at = gcut_b2(b, GCUT_OP_add, gcut_btimes(b, at, size[k]), index[k]);
    return at;
}

gcut_ref gcut_bbounded(gcut_build *b, gcut_ref i, gcut_dim d)
{
    const gcut_attr of = gcut_attr_dim(GCUT_KEY_of, d);
    return node(b, GCUT_OP_bounded, &i, 1, &of, 1);
}

gcut_ref gcut_bcount(gcut_build *b, gcut_ref x, uint32_t mask, gcut_ref like)
{
    gcut_type t = TYPE(b, x), l = TYPE(b, like);
    gcut_dim n = 1;
    for (uint32_t d = 0; d < t.rank; d++)
        if (mask >> d & 1) n = gcut_dim_make(b->g->module->dims, GCUT_DIM_MUL, n, t.dim[d]);
    return gcut_bsize(b, n, t.dtype, &l);
}

gcut_ref gcut_bregion_node(gcut_build *b, gcut_op op, const gcut_ref *args, uint32_t nargs,
                           gcut_graph *const *body, uint32_t nbodies, const gcut_attr *attrs, uint32_t nattrs)
{
    uint32_t ncaptured;
    const uint32_t given = gcut_region_nargs(op, nargs), each[] = {given, given};
    const gcut_ref *captured = gcut_bodies_close(body, each, nbodies, &ncaptured);
    gcut_ref *operand = gcut_calloc(b->g->module->arena, nargs + ncaptured + 1, sizeof *operand);
    gcut_region region[2] = {{body[0]}, {nbodies > 1 ? body[1] : NULL}};
    if (nargs) memcpy(operand, args, nargs * sizeof *args);
    if (ncaptured) memcpy(operand + nargs, captured, ncaptured * sizeof *captured);
    return gcut_node_make(b->g, &(gcut_node_spec){.op = op,
                                                  .args = operand,
                                                  .nargs = nargs + ncaptured,
                                                  .ncaptured = ncaptured,
                                                  .attrs = attrs,
                                                  .nattrs = nattrs,
                                                  .regions = region,
                                                  .nregs = nbodies,
                                                  .loc = b->loc});
}

/* ---- broadcasting ---- */

/* The size of x's axis, counted from the end; 1 where it has no such axis. */
static gcut_dim size_at(const gcut_type *t, uint32_t back)
{
    return back <= t->rank ? t->dim[t->rank - back] : 1;
}

static _Noreturn void no_broadcast(const gcut_build *b, const char *op, gcut_ref x, gcut_ref y, uint32_t back)
{
    gcut_module *m = b->g->module;
    const gcut_type *tx = gcut_type_of(b->g, x), *ty = gcut_type_of(b->g, y);
    gcut_fail(m->env, GCUT_ETYPE, gcut_loc_place(m, b->loc),
              "axes are matched from the last one; only a size of 1 repeats",
              "'%s': %%%s %s and %%%s %s do not broadcast: the sizes %s and %s of axis -%u differ", op,
              b->g->values.at[x].name, gcut_type_text(m->arena, m, tx), b->g->values.at[y].name,
              gcut_type_text(m->arena, m, ty), gcut_dim_text(m->arena, m->dims, size_at(tx, back)),
              gcut_dim_text(m->arena, m->dims, size_at(ty, back)), (unsigned)back);
}

/* Without a dtype. */
static gcut_type common_shape(gcut_build *b, const char *op, const gcut_ref *x, uint32_t n)
{
    gcut_type s = {.rank = 0};
    for (uint32_t i = 0; i < n; i++)
        if (gcut_type_of(b->g, x[i])->rank > s.rank) s.rank = gcut_type_of(b->g, x[i])->rank;
    for (uint32_t back = 1; back <= s.rank; back++) {
        gcut_ref of = 0; /* the operand with this size */
        gcut_dim *size = &s.dim[s.rank - back];
        *size = 1;
        for (uint32_t i = 0; i < n; i++) {
            gcut_dim d = size_at(gcut_type_of(b->g, x[i]), back);
            if (d == 1) continue;
            if (of && gcut_dims_differ(b->g, d, *size)) no_broadcast(b, op, of, x[i], back);
            if (!of) *size = d, of = x[i];
        }
    }
    return s;
}

gcut_ref gcut_bspread(gcut_build *b, gcut_ref x, const gcut_type *s)
{
    gcut_type t = *gcut_type_of(b->g, x);
    gcut_dim axes[GCUT_MAX_RANK], to[GCUT_MAX_RANK];
    bool same = t.rank == s->rank;
    for (uint32_t d = 0; d < t.rank; d++) {
        axes[d] = s->rank - t.rank + d;
        same = same && (t.dim[d] != 1 || s->dim[axes[d]] == 1);
    }
    if (same) return x;
    for (uint32_t d = 0; d < s->rank; d++) {
        int i = (int)d - (s->rank - t.rank);
        to[d] = i >= 0 && t.dim[i] != 1 ? t.dim[i] : s->dim[d];
    }
    return gcut_bbroadcast(b, x, to, s->rank, axes);
}

void gcut_bbroadcast_all(gcut_build *b, const char *op, gcut_ref *x, uint32_t n)
{
    gcut_type s = common_shape(b, op, x, n);
    for (uint32_t i = 0; i < n; i++) x[i] = gcut_bspread(b, x[i], &s);
}
