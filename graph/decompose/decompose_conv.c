/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of convolutions.
 */
#include "graph/decompose/decompose_rule.h"

/* (n - 1) * stride + dilation * (k - 1) + 1 + output_pad - the padding, along spatial axis d */
static gcut_dim transposed_size(composite *c, gcut_dim n, gcut_dim k, uint32_t d)
{
    gcut_dims *t = B->g->module->dims;
    const gcut_dim *pad = attr(c, GCUT_KEY_pad)->u.dims;
    gcut_dim steps = gcut_dim_make(t, GCUT_DIM_MUL, gcut_dim_make(t, GCUT_DIM_SUB, n, 1),
                                   attr(c, GCUT_KEY_stride)->u.dims[d]);
    gcut_dim span = gcut_dim_make(t, GCUT_DIM_MUL, gcut_dim_make(t, GCUT_DIM_SUB, k, 1),
                                  attr(c, GCUT_KEY_dilation)->u.dims[d]);
    gcut_dim more = attr(c, GCUT_KEY_output_pad)->u.dims[d] + 1;
    gcut_dim whole = gcut_dim_make(t, GCUT_DIM_ADD, gcut_dim_make(t, GCUT_DIM_ADD, steps, span), more);
    return gcut_dim_make(t, GCUT_DIM_SUB, whole, pad[d] + pad[d + 2]);
}

/* y = conv2d_input(x, w) to the size that the shape rule gives */
gcut_ref gcut_decompose_conv_transpose2d(composite *c)
{
    gcut_attr at[GCUT_NATTRS];
    gcut_dim size[2];
    uint32_t n = 0;
    for (uint32_t d = 0; d < 2; d++)
        size[d] = transposed_size(c, type_of(B, c->x[0]).dim[2 + d], type_of(B, c->x[1]).dim[2 + d], d);
    for (uint32_t i = 0; i < c->node.nattrs; i++)
        if (c->src->attrs.at[c->node.attr0 + i].key != GCUT_KEY_output_pad)
            at[n++] = c->src->attrs.at[c->node.attr0 + i];
    at[n++] = gcut_attr_dims(B->g->module, GCUT_KEY_shape, size, 2);
    return gcut_node_new(B->g, GCUT_OP_conv2d_input, c->x, 2, at, n, B->loc, B->name);
}
