/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Declarations and helpers that the decompositions share.  Private to graph/decompose/decompose*.c.
 */
#ifndef GCUT_GRAPH_DECOMPOSE_DECOMPOSE_RULE_H
#define GCUT_GRAPH_DECOMPOSE_DECOMPOSE_RULE_H

#include "graph/build.h"

/* Builds the decomposition of `node`, whose attributes are read from src, on operands x, which are in b->g.
 * node is a copy: b may append to src itself.  Returns the first result; the others go to b->more[0..]. */
typedef gcut_ref gcut_decompose_fn(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                   const gcut_ref *x);

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

static inline uint32_t axis_attr(const gcut_graph *src, const gcut_node *node)
{
    return 1u << gcut_attr_get(src, node, GCUT_KEY_axis)->u.dim;
}

static inline uint32_t axes_attr(const gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                 gcut_ref x)
{
    return gcut_attr_get(src, node, GCUT_KEY_axes) ? gcut_attr_axes(src, node) : all_axes(b, x);
}

/* r, reduced over mask, with its axes back as size 1 where the node says keep. */
static inline gcut_ref kept(gcut_build *b, const gcut_graph *src, const gcut_node *node, gcut_ref r,
                            gcut_ref x, uint32_t mask)
{
    gcut_type t = type_of(b, x);
    if (!gcut_attr_flag(src, node, GCUT_KEY_keep)) return r;
    for (uint32_t d = 0; d < t.rank; d++)
        if (mask >> d & 1) t.dim[d] = 1;
    return gcut_breshape(b, r, t.dim, t.rank);
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
