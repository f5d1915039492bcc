/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a node's op, types and attributes say about its kernel.
 */
#ifndef GCUT_GRAPH_OPS_NODE_FACTS_H
#define GCUT_GRAPH_OPS_NODE_FACTS_H

#include "graph/graph.h"

static inline gcut_class gcut_node_class(const gcut_node *n)
{
    return gcut_op_get((gcut_op)n->op)->class;
}
/* conv2d, or one of its two transposes. */
static inline bool gcut_is_convolution(const gcut_node *n)
{
    const gcut_way way = gcut_op_get((gcut_op)n->op)->way;
    return way >= GCUT_WAY_conv_y && way <= GCUT_WAY_conv_w;
}
/* Are the windows of a pool 2 * 2, side by side and without padding, and has the run-time library kernels of their own for
 * the op (kernels/rt/pooling/)? */
bool gcut_pool_is_2x2(const gcut_graph *g, const gcut_node *n);
/* v is made by a node of class c. */
bool gcut_value_is(const gcut_graph *g, gcut_ref v, gcut_class c);

/* Where the axes in a bit mask are among those of t; axes of size 1 do not count. */
typedef enum gcut_axes_position { GCUT_TRAILING, GCUT_LEADING, GCUT_EVERY, GCUT_MIDDLE } gcut_axes_position;
gcut_axes_position gcut_axes_position_of(const gcut_type *t, uint32_t mask);
/* Can the kernel of n compute an elementwise producer inside its loop instead of reading it from memory?
 * No other kernel can, GEMM included; nor can a reader after a view that changes the order. */
bool gcut_node_takes_in(const gcut_graph *g, const gcut_node *n);
/* Is a result of n complete only where its kernel ends, so that a reader runs in a later one?  Not so of elementwise
 * arithmetic, of a reduction over trailing axes, whose result is complete with its row, and of a norm or softmax that is
 * not decomposed yet. */
bool gcut_node_ends_kernel(const gcut_graph *g, const gcut_node *n);
/* For a view: is element k of the result element k of the operand, or a repeated element? */
bool gcut_view_keeps_order(const gcut_graph *g, const gcut_node *n);
/* multiply_adds.c: the multiply-adds of a CONTRACTION node, of attention those of masked pairs included. */
gcut_dim gcut_node_madds(const gcut_graph *g, const gcut_node *n);
/* Two for each multiply-add at the binding, of causal attention for half of them; 0 for any other class.
 * Throws GCUT_EDIM where a size cannot be evaluated. */
double gcut_node_flops(const gcut_graph *g, const gcut_node *n, const gcut_dim_binding *at, uint32_t nat);
/* The widest type among the node's operands and results. */
gcut_dtype gcut_node_widest(const gcut_graph *g, const gcut_node *n);

/* The classes of convolutions, by window and channels, that are computed and timed alike. */
typedef enum gcut_window {
    GCUT_WINDOW_point, /* 1x1 */
    GCUT_WINDOW_plain,
    GCUT_WINDOW_tiled,  /* 3x3, multiplied in tiles (Winograd's transforms) */
    GCUT_WINDOW_narrow, /* x or y has few channels in a group */
    GCUT_WINDOW_single, /* x has one channel: bound by stores */
    GCUT_WINDOW_strided,
    GCUT_WINDOW_patches,   /* windows do not overlap: each element of x is in one */
    GCUT_WINDOW_depthwise, /* one channel in a group */
    GCUT_NWINDOWS
} gcut_window;
/* The class of a convolution; kernels use the tiled algorithm for GCUT_WINDOW_tiled. */
gcut_window gcut_conv_window(const gcut_graph *g, const gcut_node *n);

#endif
