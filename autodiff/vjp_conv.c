/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * VJP rules of convolutions and pools.  The three convolutions are the partial derivatives of one
 * trilinear form
 *
 *     f(x, w, y) = sum over n, o, oh, ow of y * conv2d(x, w),
 *
 * namely conv2d = df/dy, conv2d_input = df/dx and conv2d_weight = df/dw: each is linear in its two operands,
 * and the derivative of one is the other two.
 */
#include "autodiff/vjp.h"

#define B (&c->b)

/* op on a and b with the attributes of the node, except `shape` and `window`; `key` (GCUT_NATTRS: none) is
 * set to `size`. */
static gcut_ref sibling(gcut_vjp *c, gcut_op op, gcut_ref a, gcut_ref b, gcut_attr_key key,
                        const gcut_dim *size)
{
    const gcut_node *n = gcut_node_at(c->b.g, c->node);
    gcut_ref in[] = {a, b};
    gcut_attr at[GCUT_NATTRS];
    uint32_t k = 0;
    for (uint32_t i = 0; i < n->nattrs; i++) {
        gcut_attr old = c->b.g->attrs.at[n->attr0 + i];
        bool pools = gcut_attr_get(c->b.g, n, GCUT_KEY_groups) == NULL;
        if (old.key == GCUT_KEY_shape || (old.key == GCUT_KEY_window && !pools)) continue;
        at[k++] = old;
    }
    if (key != GCUT_NATTRS) at[k++] = gcut_attr_dims(c->b.g->module, key, size, 2);
    return gcut_node_new(c->b.g, op, in, b ? 2 : 1, at, k, c->b.loc, c->b.name);
}

static gcut_ref conv_y(gcut_vjp *c, gcut_ref x, gcut_ref w)
{
    return sibling(c, GCUT_OP_conv2d, x, w, GCUT_NATTRS, NULL);
}

static gcut_ref conv_x(gcut_vjp *c, gcut_ref y, gcut_ref w, gcut_ref x)
{
    gcut_type t = *gcut_vjp_type(c, x);
    return sibling(c, GCUT_OP_conv2d_input, y, w, GCUT_KEY_shape, t.dim + 2);
}

static gcut_ref conv_w(gcut_vjp *c, gcut_ref x, gcut_ref y, gcut_ref w)
{
    gcut_type t = *gcut_vjp_type(c, w);
    return sibling(c, GCUT_OP_conv2d_weight, x, y, GCUT_KEY_window, t.dim + 2);
}

/* y = df/dy (x, w): dx = df/dx (dy, w), dw = df/dw (x, dy) */
void gcut_vjp_conv2d(gcut_vjp *c)
{
    gcut_ref x = c->x[0], w = c->x[1];
    if (gcut_vjp_wants(c, 0)) gcut_vjp_give(c, 0, conv_x(c, c->dy, w, x));
    if (gcut_vjp_wants(c, 1)) gcut_vjp_give(c, 1, conv_w(c, x, c->dy, w));
}

/* x = df/dx (y, w): dy = df/dy (dx, w), dw = df/dw (dx, y) */
void gcut_vjp_conv2d_input(gcut_vjp *c)
{
    gcut_ref y = c->x[0], w = c->x[1];
    if (gcut_vjp_wants(c, 0)) gcut_vjp_give(c, 0, conv_y(c, c->dy, w));
    if (gcut_vjp_wants(c, 1)) gcut_vjp_give(c, 1, conv_w(c, c->dy, y, w));
}

/* w = df/dw (x, y): dx = df/dx (y, dw), dy = df/dy (x, dw) */
void gcut_vjp_conv2d_weight(gcut_vjp *c)
{
    gcut_ref x = c->x[0], y = c->x[1];
    if (gcut_vjp_wants(c, 0)) gcut_vjp_give(c, 0, conv_x(c, y, c->dy, x));
    if (gcut_vjp_wants(c, 1)) gcut_vjp_give(c, 1, conv_y(c, x, c->dy));
}

/* y = x at each window's first largest element: dx = dy, scattered there */
void gcut_vjp_max_pool2d(gcut_vjp *c)
{
    gcut_vjp_give(c, 0, sibling(c, GCUT_OP_max_pool2d_grad, c->x[0], c->dy, GCUT_NATTRS, NULL));
}

/* z = y scattered to the places that x decides: dy = dz, taken there; by x it is piecewise constant,
 * derivative 0 */
void gcut_vjp_max_pool2d_grad(gcut_vjp *c)
{
    if (!gcut_vjp_wants(c, 1)) return;
    gcut_vjp_give(c, 1, sibling(c, GCUT_OP_max_pool2d_take, c->x[0], c->dy, GCUT_NATTRS, NULL));
}

/* y = t taken at the places that x decides: dt = dy, scattered there; by x it is piecewise constant,
 * derivative 0 */
void gcut_vjp_max_pool2d_take(gcut_vjp *c)
{
    if (!gcut_vjp_wants(c, 1)) return;
    gcut_vjp_give(c, 1, sibling(c, GCUT_OP_max_pool2d_grad, c->x[0], c->dy, GCUT_NATTRS, NULL));
}

/* dx = each window's dy / (KH KW), added to every element under it */
void gcut_vjp_avg_pool2d(gcut_vjp *c)
{
    gcut_type t = *gcut_vjp_type(c, c->x[0]);
    gcut_vjp_give(c, 0, sibling(c, GCUT_OP_avg_pool2d_grad, c->dy, 0, GCUT_KEY_shape, t.dim + 2));
}

/* the transpose of avg_pool2d_grad: avg_pool2d */
void gcut_vjp_avg_pool2d_grad(gcut_vjp *c)
{
    gcut_vjp_give(c, 0, sibling(c, GCUT_OP_avg_pool2d, c->dy, 0, GCUT_NATTRS, NULL));
}
