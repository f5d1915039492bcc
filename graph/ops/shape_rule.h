/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The input of a shape rule and the checks that rules share.  Private to graph/ops/shape*.c.
 */
#ifndef GCUT_GRAPH_OPS_SHAPE_RULE_H
#define GCUT_GRAPH_OPS_SHAPE_RULE_H

#include <string.h>

#include "graph/ops/infer.h"

/* The input and output of a rule, which fills out[0] and, for several results, n. */
typedef struct infer {
    gcut_graph *g;
    const gcut_node_spec *spec;
    uint32_t nargs; /* without captured values */
    gcut_type *out;
    uint32_t n;
} infer;

#define BAD(s, ...)                                                                                          \
    gcut_fail((s)->g->module->env, GCUT_ETYPE, gcut_loc_place((s)->g->module, (s)->spec->loc), NULL,         \
              __VA_ARGS__)

static inline const char *opname(const infer *s)
{
    return gcut_op_get(s->spec->op)->name;
}
static inline const gcut_type *in(const infer *s, uint32_t k)
{
    return gcut_type_of(s->g, s->spec->args[k]);
}
/* A type as text, with the operand's name where t is an operand's type. */
static inline const char *show(const infer *s, const gcut_type *t)
{
    gcut_arena *a = s->g->module->arena;
    const char *type = gcut_type_text(a, s->g->module, t);
    for (uint32_t k = 0; k < s->nargs; k++)
        if (t == in(s, k)) return gcut_printf(a, "%%%s %s", s->g->values.at[s->spec->args[k]].name, type);
    return type;
}

static inline const char *show_dim(const infer *s, gcut_dim d)
{
    return gcut_dim_text(s->g->module->arena, s->g->module->dims, d);
}

static inline const gcut_attr *attr(const infer *s, gcut_attr_key key)
{
    return gcut_attr_among(s->g->module, s->spec->op, s->spec->attrs, s->spec->nattrs, key);
}

static inline gcut_dim dim2(infer *s, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    return gcut_dim_make(s->g->module->dims, op, a, b);
}

/* " of %x f32[3, 4], %y f32[5]": the operands, for messages. */
static inline const char *operands(const infer *s)
{
    gcut_text t = {.arena = s->g->module->arena};
    for (uint32_t k = 0; k < s->nargs && k < 6; k++)
        gcut_text_add(&t, "%s%s", k ? ", " : " of ", show(s, in(s, k)));
    return s->nargs ? t.at : "";
}

static inline void require(infer *s, gcut_dim a, gcut_dim b)
{
    if (a == b) return;
    if (gcut_dims_differ(s->g, a, b))
        BAD(s, "'%s'%s: sizes %s and %s can never be equal", opname(s), operands(s), show_dim(s, a),
            show_dim(s, b));
    gcut_dim_require(s->g, a, b, s->spec->loc, opname(s));
}

/* a <= b, as a run-time check max(a, b) == b where it cannot be decided. */
static inline void require_le(infer *s, gcut_dim a, gcut_dim b)
{
    if (a == b || a == 0) return;
    if (gcut_dim_known(a) && gcut_dim_known(b)) {
        if (a > b)
            BAD(s, "'%s' of %s: %lld is beyond the size %lld", opname(s),
                s->nargs ? show(s, in(s, 0)) : "sizes", (long long)a, (long long)b);
        return;
    }
    gcut_dim top = dim2(s, GCUT_DIM_MAXOF, a, b);
    if (top != b) require(s, top, b);
}

/* Axis d of operand k has an element, tested at run time where it cannot be decided. */
static inline void require_element(infer *s, uint32_t k, uint32_t d)
{
    gcut_dim n = in(s, k)->dim[d];
    if (n == 0)
        BAD(s, "'%s': axis %u of operand %u, %s, has no elements; it needs at least one", opname(s), d, k + 1,
            show(s, in(s, k)));
    require_le(s, 1, n);
}

static inline void same_shape(infer *s, uint32_t a, uint32_t b)
{
    const gcut_type *x = in(s, a), *y = in(s, b);
    if (x->rank != y->rank)
        BAD(s, "'%s': operand %u is %s but operand %u is %s; shapes must be equal (broadcast is explicit)",
            opname(s), b + 1, show(s, y), a + 1, show(s, x));
    for (uint32_t d = 0; d < x->rank; d++)
        if (gcut_dims_differ(s->g, x->dim[d], y->dim[d]))
            BAD(s, "'%s': operand %u is %s but operand %u is %s; sizes %s and %s of axis %u differ",
                opname(s), b + 1, show(s, y), a + 1, show(s, x), show_dim(s, y->dim[d]),
                show_dim(s, x->dim[d]), d);
        else
            require(s, x->dim[d], y->dim[d]);
}

static inline void same_dtype(infer *s, uint32_t a, uint32_t b)
{
    if (in(s, a)->dtype != in(s, b)->dtype)
        BAD(s, "'%s': operand %u is %s but operand %u is %s; dtypes must be equal (cast is explicit)",
            opname(s), b + 1, show(s, in(s, b)), a + 1, show(s, in(s, a)));
}

static inline void index_operand(infer *s, uint32_t k)
{
    gcut_dtype t = in(s, k)->dtype;
    if (t != GCUT_I32 && t != GCUT_I64)
        BAD(s, "'%s': operand %u holds indices and must be i32 or i64, not %s", opname(s), k + 1,
            show(s, in(s, k)));
}

/* A constant axis number below rank, of the first operand; of the result where there is no operand. */
static inline uint32_t axis_of(infer *s, gcut_attr_key key, uint32_t rank)
{
    gcut_dim a = attr(s, key)->u.dim;
    const char *of = s->nargs ? show(s, in(s, 0)) : "the result";
    if (!gcut_dim_known(a))
        BAD(s, "'%s': %s=%s is no number", opname(s), gcut_attr_name(key), show_dim(s, a));
    if (a < rank) return (uint32_t)a;
    if (rank == 0) BAD(s, "'%s': axis %lld of %s: it has no axes", opname(s), (long long)a, of);
    BAD(s, "'%s': axis %lld of %s: the axes are 0 to %u", opname(s), (long long)a, of, rank - 1);
}

/* The list attribute, checked to have n items; NULL when absent. */
static inline const gcut_dim *list_of(infer *s, gcut_attr_key key, uint32_t n)
{
    const gcut_attr *a = attr(s, key);
    if (!a) return NULL;
    if (a->n != n)
        BAD(s, "'%s'%s: %s has %u item%s, expected %u (one per axis)", opname(s), operands(s),
            gcut_attr_name(key), a->n, a->n == 1 ? "" : "s", n);
    return a->u.dims;
}

static inline gcut_dtype dtype_of(infer *s, gcut_attr_key key)
{
    gcut_dtype t;
    if (!gcut_dtype_parse(attr(s, key)->u.str, &t))
        BAD(s, "'%s': %s=\"%s\" is not a dtype", opname(s), gcut_attr_name(key), attr(s, key)->u.str);
    return t;
}

/* out's shape from an attribute list. */
static inline void shape_from(infer *s, gcut_attr_key key)
{
    const gcut_attr *a = attr(s, key);
    if (a->n > GCUT_MAX_RANK) BAD(s, "'%s': rank %u is more than %d", opname(s), a->n, GCUT_MAX_RANK);
    s->out->rank = (uint8_t)a->n;
    for (uint32_t d = 0; d < a->n; d++) s->out->dim[d] = a->u.dims[d];
}

/* A set of distinct axes as a mask. */
static inline uint32_t axes_of(infer *s, uint32_t rank)
{
    const gcut_attr *a = attr(s, GCUT_KEY_axes);
    uint32_t mask = 0;
    if (!a) return (1u << rank) - 1;
    for (uint32_t i = 0; i < a->n; i++) {
        gcut_dim d = a->u.dims[i];
        if (!gcut_dim_known(d) || d >= rank)
            BAD(s, "'%s': axis %s is not an axis of %s", opname(s), show_dim(s, d), show(s, in(s, 0)));
        if (mask >> d & 1)
            BAD(s, "'%s': axis %lld of %s is named twice", opname(s), (long long)d, show(s, in(s, 0)));
        mask |= 1u << d;
    }
    return mask;
}

/* One rule per name in the table's shape column. */
#define OP(id, operands, types, attr, rule, ...) void gcut_shape_##rule(infer *s);
#include "graph/ops/ops.def"
#undef OP

#endif
