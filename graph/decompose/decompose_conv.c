/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of convolutions.
 */
#include "graph/decompose/decompose_rule.h"

/* (n - 1) * stride + dilation * (k - 1) + 1 + output_pad - the padding, along spatial axis d */
static gcut_dim transposed_size(gcut_build *b, const gcut_graph *src, const gcut_node *node, gcut_dim n,
                                gcut_dim k, uint32_t d)
{
    gcut_dims *t = b->g->module->dims;
    const gcut_dim *pad = gcut_attr_get(src, node, GCUT_KEY_pad)->u.dims;
    gcut_dim steps = gcut_dim_make(t, GCUT_DIM_MUL, gcut_dim_make(t, GCUT_DIM_SUB, n, 1),
                                   gcut_attr_get(src, node, GCUT_KEY_stride)->u.dims[d]);
    gcut_dim span = gcut_dim_make(t, GCUT_DIM_MUL, gcut_dim_make(t, GCUT_DIM_SUB, k, 1),
                                  gcut_attr_get(src, node, GCUT_KEY_dilation)->u.dims[d]);
    gcut_dim more = gcut_attr_get(src, node, GCUT_KEY_output_pad)->u.dims[d] + 1;
    gcut_dim whole = gcut_dim_make(t, GCUT_DIM_ADD, gcut_dim_make(t, GCUT_DIM_ADD, steps, span), more);
    return gcut_dim_make(t, GCUT_DIM_SUB, whole, pad[d] + pad[d + 2]);
}

/* y = conv2d_input(x, w) to the size that the shape rule gives */
gcut_ref gcut_decompose_conv_transpose2d(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                         const gcut_ref *x)
{
    gcut_attr at[GCUT_NATTRS];
    gcut_dim size[2];
    uint32_t n = 0;
    for (uint32_t d = 0; d < 2; d++)
        size[d] = transposed_size(b, src, node, type_of(b, x[0]).dim[2 + d], type_of(b, x[1]).dim[2 + d], d);
    for (uint32_t i = 0; i < node->nattrs; i++)
        if (src->attrs.at[node->attr0 + i].key != GCUT_KEY_output_pad)
            at[n++] = src->attrs.at[node->attr0 + i];
    at[n++] = gcut_attr_dims(b->g->module, GCUT_KEY_shape, size, 2);
    return gcut_node_new(b->g, GCUT_OP_conv2d_input, x, 2, at, n, b->loc, b->name);
}
