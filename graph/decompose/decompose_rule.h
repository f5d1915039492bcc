/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Declarations and helpers that the decompositions share.  Private to graph/decompose/decompose*.c.
 */
#ifndef GCUT_GRAPH_DECOMPOSE_DECOMPOSE_RULE_H
#define GCUT_GRAPH_DECOMPOSE_DECOMPOSE_RULE_H

#include "graph/build.h"

/* A composite node that a rule decomposes. */
typedef struct composite {
    gcut_build b;          /* appends the decomposition */
    const gcut_graph *src; /* has the node's attributes */
    gcut_node node;        /* a copy: b may append to src itself */
    const gcut_ref *x;     /* the operands, in b.g */
    gcut_ref *more;        /* gets the results after the first, which the rule returns */
} composite;
typedef gcut_ref gcut_decompose_fn(composite *c);
#define B (&c->b)

/* Every D(fn) of the table. */
#define E(...)
#define T(fn)
#define NO
#define D(fn) gcut_decompose_fn gcut_decompose_##fn;
#define OP(name, operands, dtypes, attrs, shape, feval, ...) feval
#include "graph/ops/ops.def"
#undef OP
#undef D
#undef NO
#undef T
#undef E

static inline gcut_type type_of(const gcut_build *b, gcut_ref x)
{
    return *gcut_type_of(b->g, x);
}
static inline uint32_t all_axes(const gcut_build *b, gcut_ref x)
{
    return (1u << type_of(b, x).rank) - 1;
}
static inline uint32_t last_axis(const gcut_build *b, gcut_ref x)
{
    return 1u << (type_of(b, x).rank - 1);
}

static inline gcut_dim dim2(composite *c, gcut_dim_op op, gcut_dim x, gcut_dim y)
{
    return gcut_dim_make(c->b.g->module->dims, op, x, y);
}
/* Elements from, ..., to-1 of an axis. */
static inline gcut_ref slice_axis(gcut_build *b, gcut_ref x, uint32_t axis, gcut_dim from, gcut_dim to)
{
    gcut_type t = type_of(b, x);
    gcut_dim start[GCUT_MAX_RANK] = {0};
    start[axis] = from;
    t.dim[axis] = to;
    return gcut_bslice(b, x, start, t.dim, NULL);
}

static inline const gcut_attr *attr(const composite *c, gcut_attr_key key)
{
    return gcut_attr_get(c->src, &c->node, key);
}
static inline double number(const composite *c, gcut_attr_key key)
{
    return gcut_attr_num(c->src, &c->node, key);
}
static inline bool flag(const composite *c, gcut_attr_key key)
{
    return gcut_attr_flag(c->src, &c->node, key);
}
static inline uint32_t axis_attr(const composite *c)
{
    return 1u << attr(c, GCUT_KEY_axis)->u.dim;
}
static inline uint32_t axes_attr(const composite *c)
{
    return attr(c, GCUT_KEY_axes) ? gcut_attr_axes(c->src, &c->node) : all_axes(&c->b, c->x[0]);
}

/* r, the first operand reduced over mask, with its axes back as size 1 where the node says keep. */
static inline gcut_ref kept(composite *c, gcut_ref r, uint32_t mask)
{
    gcut_type t = type_of(&c->b, c->x[0]);
    if (!flag(c, GCUT_KEY_keep)) return r;
    for (uint32_t d = 0; d < t.rank; d++)
        if (mask >> d & 1) t.dim[d] = 1;
    return gcut_breshape(&c->b, r, t.dim, t.rank);
}

static inline gcut_ref op_with_axis(gcut_build *b, gcut_op op, const gcut_ref *x, uint32_t n, uint32_t axis)
{
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    return gcut_node_new(b->g, op, x, n, &a, 1, b->loc, b->name);
}

/* max over mask as a constant: in every use below a shift of x by it cancels, and so do its derivatives. */
static inline gcut_ref shift_of(gcut_build *b, gcut_ref x, uint32_t mask)
{
    return gcut_b1(b, GCUT_OP_stop_gradient, gcut_breduce(b, GCUT_OP_max_reduce, x, mask));
}

/* v, a vector along the last axis of x, repeated to x's shape. */
static inline gcut_ref along_last(gcut_build *b, gcut_ref v, gcut_ref x)
{
    return gcut_bexpand(b, v, x, last_axis(b, x) - 1);
}

#endif
