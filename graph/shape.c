/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The shape rules, one function per name in the shape column of ops.def.
 */
#include "graph/shape.h"

#include <stdio.h>
#include <string.h>

#include "graph/op.h"

/* Everything a rule sees.  A rule fills out[0] and, for several results, n. */
typedef struct infer {
    gcut_graph *g;
    gcut_op op;
    const gcut_ref *args;
    uint32_t nargs;
    const gcut_attr *attrs;
    uint32_t nattrs;
    gcut_locid loc;
    gcut_type *out;
    uint32_t n;
} infer;

#define BAD(s, ...)                                                                                          \
    gcut_fail((s)->g->module->env, GCUT_ETYPE, gcut_loc_place((s)->g->module, (s)->loc), NULL, __VA_ARGS__)

static const char *opname(const infer *s)
{
    return gcut_op_get(s->op)->name;
}
static const gcut_type *in(const infer *s, uint32_t k)
{
    return gcut_type_of(s->g, s->args[k]);
}
static const char *show(const infer *s, const gcut_type *t)
{
    return gcut_type_text(s->g->module->arena, s->g->module, t);
}

static const char *show_dim(const infer *s, gcut_dim d)
{
    gcut_text t = {.arena = s->g->module->arena};
    gcut_dim_print(s->g->module->dims, d, &t);
    return t.at;
}

static const gcut_attr *attr(const infer *s, gcut_attr_key key)
{
    for (uint32_t i = 0; i < s->nattrs; i++)
        if (s->attrs[i].key == key) return &s->attrs[i];
    const gcut_op_spec *spec = &s->g->module->specs[s->op];
    for (uint32_t i = 0; i < spec->n; i++)
        if (spec->at[i].key == key && spec->at[i].has_default) return &spec->at[i].value;
    return NULL;
}

static gcut_dim dim2(infer *s, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    return gcut_dim_make(s->g->module->dims, op, a, b);
}

static void require(infer *s, gcut_dim a, gcut_dim b)
{
    gcut_dim_require(s->g, a, b, s->loc, opname(s));
}

/* a <= b, as a run-time check max(a, b) == b where it cannot be decided. */
static void require_le(infer *s, gcut_dim a, gcut_dim b)
{
    if (a == b || a == 0) return;
    if (gcut_dim_known(a) && gcut_dim_known(b)) {
        if (a > b) BAD(s, "'%s': %lld is beyond the size %lld", opname(s), (long long)a, (long long)b);
        return;
    }
    gcut_dim top = dim2(s, GCUT_DIM_MAXOF, a, b);
    if (top != b) require(s, top, b);
}

static void same_shape(infer *s, uint32_t a, uint32_t b)
{
    const gcut_type *x = in(s, a), *y = in(s, b);
    if (x->rank != y->rank)
        BAD(s, "'%s': operand %u is %s but operand %u is %s; shapes must be equal (broadcast is explicit)",
            opname(s), b + 1, show(s, y), a + 1, show(s, x));
    for (uint32_t d = 0; d < x->rank; d++)
        if (gcut_dim_compare(s->g->module->dims, x->dim[d], y->dim[d], s->g->decls.at, s->g->decls.n) ==
            GCUT_DIM_DIFFERS)
            BAD(s, "'%s': operand %u is %s but operand %u is %s; sizes %s and %s of axis %u differ",
                opname(s), b + 1, show(s, y), a + 1, show(s, x), show_dim(s, y->dim[d]),
                show_dim(s, x->dim[d]), d);
        else
            require(s, x->dim[d], y->dim[d]);
}

static void same_dtype(infer *s, uint32_t a, uint32_t b)
{
    if (in(s, a)->dtype != in(s, b)->dtype)
        BAD(s, "'%s': operand %u is %s but operand %u is %s; dtypes must be equal (cast is explicit)",
            opname(s), b + 1, show(s, in(s, b)), a + 1, show(s, in(s, a)));
}

static void index_operand(infer *s, uint32_t k)
{
    gcut_dtype t = in(s, k)->dtype;
    if (t != GCUT_i32 && t != GCUT_i64)
        BAD(s, "'%s': operand %u holds indices and must be i32 or i64, not %s", opname(s), k + 1,
            show(s, in(s, k)));
}

/* A constant axis number below rank. */
static uint32_t axis_of(infer *s, gcut_attr_key key, uint32_t rank)
{
    gcut_dim a = attr(s, key)->u.dim;
    if (!gcut_dim_known(a) || a >= rank)
        BAD(s, "'%s': %s=%s is not an axis of a value of rank %u", opname(s), gcut_attr_name(key),
            show_dim(s, a), rank);
    return (uint32_t)a;
}

/* The list attribute, checked to have n items; NULL when absent. */
static const gcut_dim *list_of(infer *s, gcut_attr_key key, uint32_t n)
{
    const gcut_attr *a = attr(s, key);
    if (!a) return NULL;
    if (a->n != n)
        BAD(s, "'%s': %s has %u item%s, expected %u (one per axis)", opname(s), gcut_attr_name(key), a->n,
            a->n == 1 ? "" : "s", n);
    return a->u.dims;
}

static gcut_dtype dtype_of(infer *s, gcut_attr_key key)
{
    gcut_dtype t;
    if (!gcut_dtype_parse(attr(s, key)->u.str, &t))
        BAD(s, "'%s': %s=\"%s\" is not a dtype", opname(s), gcut_attr_name(key), attr(s, key)->u.str);
    return t;
}

/* out's shape from an attribute list. */
static void shape_from(infer *s, gcut_attr_key key)
{
    const gcut_attr *a = attr(s, key);
    if (a->n > GCUT_MAX_RANK) BAD(s, "'%s': rank %u is more than %d", opname(s), a->n, GCUT_MAX_RANK);
    s->out->rank = (uint8_t)a->n;
    for (uint32_t d = 0; d < a->n; d++) s->out->dim[d] = a->u.dims[d];
}

/* A set of distinct axes as a mask. */
static uint32_t axes_of(infer *s, uint32_t rank)
{
    const gcut_attr *a = attr(s, GCUT_A_axes);
    uint32_t mask = 0;
    if (!a) return (1u << rank) - 1;
    for (uint32_t i = 0; i < a->n; i++) {
        gcut_dim d = a->u.dims[i];
        if (!gcut_dim_known(d) || d >= rank)
            BAD(s, "'%s': axis %s is not an axis of %s", opname(s), show_dim(s, d), show(s, in(s, 0)));
        if (mask >> d & 1) BAD(s, "'%s': axis %lld is named twice", opname(s), (long long)d);
        mask |= 1u << d;
    }
    return mask;
}

/* ---- the rules ---- */

static void shape_same(infer *s)
{
    for (uint32_t k = 1; k < s->nargs; k++) {
        same_dtype(s, 0, k);
        same_shape(s, 0, k);
    }
    const gcut_attr *approx = attr(s, GCUT_A_approx);
    if (approx && strcmp(approx->u.str, "none") != 0 && strcmp(approx->u.str, "tanh") != 0)
        BAD(s, "'%s': approx must be \"none\" or \"tanh\", not \"%s\"", opname(s), approx->u.str);
    *s->out = *in(s, 0);
}

static void shape_test(infer *s)
{
    shape_same(s);
    s->out->dtype = GCUT_bool;
}

static void shape_cast(infer *s)
{
    *s->out = *in(s, 0);
    s->out->dtype = dtype_of(s, GCUT_A_to);
}

static void shape_select(infer *s)
{
    if (in(s, 0)->dtype != GCUT_bool) BAD(s, "'select': operand 1 must be bool, not %s", show(s, in(s, 0)));
    same_dtype(s, 1, 2);
    same_shape(s, 1, 2);
    same_shape(s, 1, 0);
    *s->out = *in(s, 1);
}

static void shape_reshape(infer *s)
{
    s->out->dtype = in(s, 0)->dtype;
    shape_from(s, GCUT_A_shape);
    gcut_dim a = gcut_type_numel(s->g->module, in(s, 0)), b = gcut_type_numel(s->g->module, s->out);
    if (gcut_dim_compare(s->g->module->dims, a, b, s->g->decls.at, s->g->decls.n) == GCUT_DIM_DIFFERS)
        BAD(s, "'reshape': %s has %s elements, the new shape %s", show(s, in(s, 0)), show_dim(s, a),
            show_dim(s, b));
    require(s, b, a);
}

static void shape_transpose(infer *s)
{
    const gcut_type *x = in(s, 0);
    const gcut_dim *perm = list_of(s, GCUT_A_perm, x->rank);
    uint32_t seen = 0;
    *s->out = (gcut_type){.dtype = x->dtype, .rank = x->rank};
    for (uint32_t d = 0; d < x->rank; d++) {
        if (!gcut_dim_known(perm[d]) || perm[d] >= x->rank || seen >> perm[d] & 1)
            BAD(s, "'transpose': perm must name every axis of %s once", show(s, x));
        seen |= 1u << perm[d];
        s->out->dim[d] = x->dim[perm[d]];
    }
}

static void shape_broadcast(infer *s)
{
    const gcut_type *x = in(s, 0);
    s->out->dtype = x->dtype;
    shape_from(s, GCUT_A_shape);
    const gcut_dim *axes = list_of(s, GCUT_A_axes, x->rank);
    for (uint32_t d = 0; d < x->rank; d++) {
        if (!gcut_dim_known(axes[d]) || axes[d] >= s->out->rank || (d && axes[d] <= axes[d - 1]))
            BAD(s, "'broadcast': axes must be increasing axes of the result, one for each axis of %s",
                show(s, x));
        if (x->dim[d] != 1) require(s, s->out->dim[axes[d]], x->dim[d]);
    }
}

static void shape_slice(infer *s)
{
    const gcut_type *x = in(s, 0);
    const gcut_dim *start = list_of(s, GCUT_A_start, x->rank), *limit = list_of(s, GCUT_A_limit, x->rank);
    const gcut_dim *step = list_of(s, GCUT_A_step, x->rank);
    *s->out = (gcut_type){.dtype = x->dtype, .rank = x->rank};
    for (uint32_t d = 0; d < x->rank; d++) {
        if (step && (!gcut_dim_known(step[d]) || step[d] < 1))
            BAD(s, "'slice': step of axis %u must be a constant >= 1, not %s (flip reverses)", d,
                show_dim(s, step[d]));
        require_le(s, start[d], limit[d]);
        require_le(s, limit[d], x->dim[d]);
        gcut_dim len = dim2(s, GCUT_DIM_SUB, limit[d], start[d]);
        s->out->dim[d] = step ? dim2(s, GCUT_DIM_CEILDIV, len, step[d]) : len;
    }
}

/* A bool of 2 would be true to one reader and not to another. */
static void bool_value(infer *s, gcut_dtype t)
{
    double v = t == GCUT_bool ? attr(s, GCUT_A_value)->u.num.f : 0;
    if (v != 0 && v != 1) BAD(s, "'%s': a bool is 0 or 1, not %g", opname(s), v);
}

static void shape_pad(infer *s)
{
    const gcut_type *x = in(s, 0);
    bool_value(s, x->dtype);
    const gcut_dim *low = list_of(s, GCUT_A_low, x->rank), *high = list_of(s, GCUT_A_high, x->rank);
    const gcut_dim *interior = list_of(s, GCUT_A_interior, x->rank);
    *s->out = *x;
    s->out->ordered = false;
    for (uint32_t d = 0; d < x->rank; d++) {
        gcut_dim n = x->dim[d];
        if (interior && interior[d] != 0) { /* n + max(n - 1, 0) * interior */
            gcut_dim gaps = dim2(s, GCUT_DIM_SUB, dim2(s, GCUT_DIM_MAXOF, n, 1), 1);
            n = dim2(s, GCUT_DIM_ADD, n, dim2(s, GCUT_DIM_MUL, gaps, interior[d]));
        }
        s->out->dim[d] = dim2(s, GCUT_DIM_ADD, dim2(s, GCUT_DIM_ADD, low[d], n), high[d]);
    }
}

static void shape_concat(infer *s)
{
    *s->out = *in(s, 0);
    s->out->ordered = false;
    uint32_t axis = axis_of(s, GCUT_A_axis, s->out->rank);
    for (uint32_t k = 1; k < s->nargs; k++) {
        const gcut_type *x = in(s, k);
        same_dtype(s, 0, k);
        if (x->rank != s->out->rank)
            BAD(s, "'concat': operand %u is %s but operand 1 is %s; ranks must be equal", k + 1, show(s, x),
                show(s, in(s, 0)));
        for (uint32_t d = 0; d < x->rank; d++)
            if (d == axis)
                s->out->dim[d] = dim2(s, GCUT_DIM_ADD, s->out->dim[d], x->dim[d]);
            else
                require(s, s->out->dim[d], x->dim[d]);
    }
}

static void shape_flip(infer *s)
{
    axes_of(s, in(s, 0)->rank);
    *s->out = *in(s, 0);
}

static void shape_dim(infer *s)
{
    *s->out = (gcut_type){.dtype = GCUT_i64};
}

static void shape_full(infer *s)
{
    *s->out = (gcut_type){.dtype = dtype_of(s, GCUT_A_dtype)};
    shape_from(s, GCUT_A_shape);
    if (s->op == GCUT_OP_full) bool_value(s, s->out->dtype);
    if (s->op == GCUT_OP_iota) {
        axis_of(s, GCUT_A_axis, s->out->rank);
        if (s->out->dtype == GCUT_bool) BAD(s, "'iota': dtype must be a number, not bool");
    }
}

static void shape_reduce(infer *s)
{
    const gcut_type *x = in(s, 0);
    uint32_t mask = axes_of(s, x->rank);
    bool keep = attr(s, GCUT_A_keep)->u.flag;
    *s->out = (gcut_type){.dtype = x->dtype};
    for (uint32_t d = 0; d < x->rank; d++) {
        if (mask >> d & 1 && !keep) continue;
        s->out->dim[s->out->rank++] = mask >> d & 1 ? 1 : x->dim[d];
    }
}

static void shape_matmul(infer *s)
{
    const gcut_type *x = in(s, 0), *y = in(s, 1);
    uint32_t ta = attr(s, GCUT_A_ta)->u.flag, tb = attr(s, GCUT_A_tb)->u.flag, r = x->rank;
    same_dtype(s, 0, 1);
    if (r < 2 || y->rank != r)
        BAD(s, "'matmul': operands %s and %s must have one rank, at least 2 (leading axes are batch)",
            show(s, x), show(s, y));
    *s->out = (gcut_type){.dtype = x->dtype, .rank = x->rank};
    for (uint32_t d = 0; d + 2 < r; d++) {
        require(s, x->dim[d], y->dim[d]);
        s->out->dim[d] = x->dim[d];
    }
    gcut_dim k1 = x->dim[r - 1 - ta], k2 = y->dim[r - 2 + tb];
    if (gcut_dim_compare(s->g->module->dims, k1, k2, s->g->decls.at, s->g->decls.n) == GCUT_DIM_DIFFERS)
        BAD(s, "'matmul': contracted sizes %s (of %s%s) and %s (of %s%s) differ", show_dim(s, k1), show(s, x),
            ta ? ", transposed" : "", show_dim(s, k2), show(s, y), tb ? ", transposed" : "");
    require(s, k1, k2);
    s->out->dim[r - 2] = x->dim[r - 2 + ta];
    s->out->dim[r - 1] = y->dim[r - 1 - tb];
}

/* x[:axis] + i + x[axis+1:] */
static gcut_type taken(infer *s, const gcut_type *x, const gcut_type *i, uint32_t axis)
{
    gcut_type t = {.dtype = x->dtype};
    if (x->rank + i->rank > GCUT_MAX_RANK + 1)
        BAD(s, "'%s': the result would have rank %d, more than %d", opname(s), x->rank + i->rank - 1,
            GCUT_MAX_RANK);
    for (uint32_t d = 0; d < axis; d++) t.dim[t.rank++] = x->dim[d];
    for (uint32_t d = 0; d < i->rank; d++) t.dim[t.rank++] = i->dim[d];
    for (uint32_t d = axis + 1; d < x->rank; d++) t.dim[t.rank++] = x->dim[d];
    return t;
}

static void shape_take(infer *s)
{
    index_operand(s, 1);
    *s->out = taken(s, in(s, 0), in(s, 1), axis_of(s, GCUT_A_axis, in(s, 0)->rank));
}

static void shape_pick(infer *s)
{
    const gcut_type *x = in(s, 0), *i = in(s, 1);
    uint32_t axis = axis_of(s, GCUT_A_axis, x->rank);
    index_operand(s, 1);
    *s->out = (gcut_type){.dtype = x->dtype};
    for (uint32_t d = 0; d < x->rank; d++)
        if (d != axis) s->out->dim[s->out->rank++] = x->dim[d];
    if (i->rank != s->out->rank)
        BAD(s, "'pick': indices %s must have the shape of %s without axis %u", show(s, i), show(s, x), axis);
    for (uint32_t d = 0; d < i->rank; d++) require(s, s->out->dim[d], i->dim[d]);
}

static void shape_scatter_add(infer *s)
{
    const gcut_type *x = in(s, 0), *u = in(s, 2);
    index_operand(s, 1);
    same_dtype(s, 0, 2);
    gcut_type want = taken(s, x, in(s, 1), axis_of(s, GCUT_A_axis, x->rank));
    if (want.rank != u->rank)
        BAD(s, "'scatter_add': the update is %s, expected %s", show(s, u), show(s, &want));
    for (uint32_t d = 0; d < u->rank; d++) require(s, want.dim[d], u->dim[d]);
    *s->out = *x;
    s->out->ordered = false;
}

static void shape_axis(infer *s)
{
    axis_of(s, GCUT_A_axis, in(s, 0)->rank);
    *s->out = *in(s, 0);
}

static void shape_norm(infer *s)
{
    const gcut_type *x = in(s, 0);
    if (x->rank == 0) BAD(s, "'%s': operand 1 needs at least one axis", opname(s));
    for (uint32_t k = 1; k < s->nargs; k++) {
        same_dtype(s, 0, k);
        if (in(s, k)->rank != 1)
            BAD(s, "'%s': operand %u is %s, expected one axis, as long as the last axis of %s", opname(s),
                k + 1, show(s, in(s, k)), show(s, x));
        require(s, x->dim[x->rank - 1], in(s, k)->dim[0]);
    }
    *s->out = *x;
}

static void shape_cross_entropy(infer *s)
{
    const gcut_type *x = in(s, 0), *t = in(s, 1);
    index_operand(s, 1);
    if (x->rank == 0 || t->rank + 1 != x->rank)
        BAD(s, "'cross_entropy': labels %s must have the shape of the logits %s without its last axis",
            show(s, t), show(s, x));
    for (uint32_t d = 0; d < t->rank; d++) require(s, x->dim[d], t->dim[d]);
    *s->out = (gcut_type){.dtype = x->dtype};
}

static void shape_mse(infer *s)
{
    same_dtype(s, 0, 1);
    same_shape(s, 0, 1);
    *s->out = (gcut_type){.dtype = in(s, 0)->dtype};
}

static void shape_attention(infer *s)
{
    const gcut_type *q = in(s, 0), *k = in(s, 1), *v = in(s, 2);
    for (uint32_t a = 1; a < s->nargs; a++) same_dtype(s, 0, a);
    for (uint32_t a = 0; a < s->nargs; a++)
        if (in(s, a)->rank != 4)
            BAD(s, "'attention': operand %u is %s, expected rank 4", a + 1, show(s, in(s, a)));
    require(s, q->dim[0], k->dim[0]);
    require(s, q->dim[3], k->dim[3]);
    for (uint32_t d = 0; d < 3; d++) require(s, k->dim[d], v->dim[d]);
    gcut_dim rest = dim2(s, GCUT_DIM_MOD, q->dim[1], k->dim[1]);
    if (rest != 0) require(s, rest, 0);
    if (s->nargs == 4) {
        const gcut_type *b = in(s, 3);
        for (uint32_t d = 0; d < 3; d++) require(s, q->dim[d], b->dim[d]);
        require(s, k->dim[2], b->dim[3]);
    }
    *s->out = *q;
    s->out->ordered = false;
    s->out->dim[3] = v->dim[3];
}

/* Ops with regions: graph/shape_region.c, because their results depend on those. */
static void shape_region(infer *s)
{
    (void)s;
}

/* ---- dispatch ---- */

static void (*const rules[GCUT_NOPS])(infer *) = {
#define OP(id, operands, types, attr, rule, ...) [GCUT_OP_##id] = shape_##rule,
#include "graph/ops.def"
#undef OP
};

static bool dtype_fits(char want, gcut_dtype t)
{
    switch (want) {
    case 'F': return gcut_dtype_is_float(t);
    case 'N': return gcut_dtype_is_float(t) || gcut_dtype_is_int(t);
    case 'B': return t == GCUT_bool || gcut_dtype_is_int(t);
    case 'I': return gcut_dtype_is_int(t);
    default: return true;
    }
}

static void check_operands(infer *s)
{
    const gcut_op_info *info = gcut_op_get(s->op);
    static const struct {
        char letter;
        const char *text;
    } want[] = {{'F', "a float"}, {'N', "a number"}, {'B', "bool or an integer"}, {'I', "an integer"}};
    if (s->nargs < info->lo || (info->hi != 255 && s->nargs > info->hi)) {
        char range[32];
        if (info->hi == 255)
            snprintf(range, sizeof range, "at least %d", info->lo);
        else if (info->lo != info->hi)
            snprintf(range, sizeof range, "%d to %d", info->lo, info->hi);
        else
            snprintf(range, sizeof range, "%d", info->lo);
        BAD(s, "'%s' takes %s operand%s, not %u", info->name, range, info->hi == 1 ? "" : "s", s->nargs);
    }
    for (uint32_t k = 0; k < s->nargs; k++) GCUT_ASSERT(s->args[k] > 0 && s->args[k] < s->g->values.n);
    if (s->nargs && !dtype_fits(info->dtypes, in(s, 0)->dtype))
        for (size_t i = 0; i < sizeof want / sizeof *want; i++)
            if (want[i].letter == info->dtypes)
                BAD(s, "'%s': operand 1 must be %s, not %s", info->name, want[i].text, show(s, in(s, 0)));
}

static void check_attrs(infer *s)
{
    const gcut_op_spec *spec = &s->g->module->specs[s->op];
    for (uint32_t i = 0; i < s->nattrs; i++) {
        bool known = false;
        for (uint32_t k = 0; k < spec->n; k++) known = known || spec->at[k].key == s->attrs[i].key;
        if (!known) BAD(s, "'%s' has no attribute '%s'", opname(s), gcut_attr_name(s->attrs[i].key));
        if (s->attrs[i].kind != gcut_attr_kind_of(s->attrs[i].key))
            BAD(s, "'%s': attribute '%s' has the wrong kind of value", opname(s),
                gcut_attr_name(s->attrs[i].key));
        for (uint32_t j = 0; j < i; j++)
            if (s->attrs[j].key == s->attrs[i].key)
                BAD(s, "'%s': attribute '%s' is given twice", opname(s), gcut_attr_name(s->attrs[i].key));
    }
    for (uint32_t k = 0; k < spec->n; k++)
        if (spec->at[k].required && !attr(s, spec->at[k].key))
            BAD(s, "'%s' needs the attribute '%s'", opname(s), gcut_attr_name(spec->at[k].key));
}

/* A rule of this table has few results; regions may have as many as fit. */
#define FEW 8

static void check_regions(infer *s, const gcut_node_spec *n)
{
    uint32_t want = 0;
    while (gcut_op_region(s->op, want)) want++;
    if (n->nregs != want || n->ncaptured > n->nargs)
        BAD(s, "'%s' has %u region%s, not %u", opname(s), want, want == 1 ? "" : "s", n->nregs);
}

uint32_t gcut_infer(gcut_graph *g, const gcut_node_spec *n, gcut_type out[GCUT_MAX_RESULTS])
{
    memset(out, 0, FEW * sizeof *out);
    infer s = {g, n->op, n->args, n->nargs - n->ncaptured, n->attrs, n->nattrs, n->loc, out, 1};
    check_operands(&s);
    check_attrs(&s);
    check_regions(&s, n);
    if (gcut_op_get(n->op)->emit == GCUT_EMIT_REGION) return gcut_infer_region(g, n, out);
    rules[n->op](&s);
    GCUT_ASSERT(s.n <= FEW);
    return s.n;
}
