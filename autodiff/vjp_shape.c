/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * VJP rules of the ops that move elements: each is the transpose of a linear map.
 */
#include "autodiff/vjp.h"

#define B (&c->b)

static gcut_dim dim2(gcut_vjp *c, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    return gcut_dim_make(c->b.g->module->dims, op, a, b);
}

/* The n items of a list attribute, NULL when absent; they outlive later nodes. */
static const gcut_dim *list(gcut_vjp *c, gcut_attr_key key)
{
    const gcut_attr *a = gcut_vjp_attr(c, key);
    return a ? a->u.dims : NULL;
}

static int axis(gcut_vjp *c)
{
    return (int)gcut_vjp_attr(c, GCUT_KEY_axis)->u.dim;
}

/* The extent of n elements with `gap` zeros between neighbours, in the form that the shape rule of pad
 * has, so that sizes cancel in normal form: n + (max(n, 1) - 1) gap. */
static gcut_dim spread(gcut_vjp *c, gcut_dim n, gcut_dim gap)
{
    if (gap == 0) return n;
    gcut_dim gaps = dim2(c, GCUT_DIM_SUB, dim2(c, GCUT_DIM_MAXOF, n, 1), 1);
    return dim2(c, GCUT_DIM_ADD, n, dim2(c, GCUT_DIM_MUL, gaps, gap));
}

/* dx = dy in x's shape */
void gcut_vjp_reshape(gcut_vjp *c)
{
    gcut_type t = *gcut_vjp_type(c, c->x[0]);
    gcut_vjp_give(c, 0, gcut_breshape(B, c->dy, t.dim, t.rank));
}

/* y's axis k is x's axis perm[k]: dx = dy transposed by the inverse of perm */
void gcut_vjp_transpose(gcut_vjp *c)
{
    const gcut_dim *perm = list(c, GCUT_KEY_perm);
    gcut_dim inverse[GCUT_MAX_RANK] = {0};
    for (gcut_dim k = 0; k < gcut_vjp_type(c, c->y)->rank; k++) inverse[perm[k]] = k;
    gcut_vjp_give(c, 0, gcut_btranspose(B, c->dy, inverse));
}

/* dx = dy summed over the axes that repeat x: those that x does not have, and those where its size 1 was
 * repeated */
void gcut_vjp_broadcast(gcut_vjp *c)
{
    const gcut_dim *axes = list(c, GCUT_KEY_axes);
    gcut_type x = *gcut_vjp_type(c, c->x[0]), y = *gcut_vjp_type(c, c->y);
    uint32_t repeated = (1u << y.rank) - 1;
    bool grew = false;
    for (uint32_t k = 0; k < x.rank; k++) {
        if (x.dim[k] == 1 && y.dim[axes[k]] != 1)
            grew = true;
        else
            repeated &= ~(1u << axes[k]);
    }
    gcut_ref dx = repeated ? gcut_breduce(B, GCUT_OP_sum, c->dy, repeated) : c->dy;
    gcut_vjp_give(c, 0, grew ? gcut_breshape(B, dx, x.dim, x.rank) : dx);
}

/* y = x[start : limit : step]: dx = dy with step-1 zeros between its elements, surrounded by zeros */
void gcut_vjp_slice(gcut_vjp *c)
{
    const gcut_dim *start = list(c, GCUT_KEY_start), *step = list(c, GCUT_KEY_step);
    gcut_type x = *gcut_vjp_type(c, c->x[0]), y = *gcut_vjp_type(c, c->y);
    gcut_dim high[GCUT_MAX_RANK], interior[GCUT_MAX_RANK];
    bool spaced = false;
    for (uint32_t d = 0; d < x.rank; d++) {
        interior[d] = step ? step[d] - 1 : 0;
        spaced = spaced || interior[d] != 0;
        gcut_dim rest = dim2(c, GCUT_DIM_SUB, x.dim[d], start[d]);
        high[d] = dim2(c, GCUT_DIM_SUB, rest, spread(c, y.dim[d], interior[d]));
    }
    gcut_vjp_give(c, 0, gcut_bpad(B, c->dy, start, high, spaced ? interior : NULL));
}

/* y has x's elements at low, low + s, low + 2s, … with s = interior + 1: dx = dy at those places */
void gcut_vjp_pad(gcut_vjp *c)
{
    const gcut_dim *low = list(c, GCUT_KEY_low), *interior = list(c, GCUT_KEY_interior);
    gcut_type x = *gcut_vjp_type(c, c->x[0]);
    gcut_dim limit[GCUT_MAX_RANK], step[GCUT_MAX_RANK];
    bool spaced = false;
    for (uint32_t d = 0; d < x.rank; d++) {
        gcut_dim gap = interior ? interior[d] : 0;
        step[d] = dim2(c, GCUT_DIM_ADD, gap, 1);
        spaced = spaced || gap != 0;
        limit[d] = dim2(c, GCUT_DIM_ADD, low[d], spread(c, x.dim[d], gap));
    }
    gcut_vjp_give(c, 0, gcut_bslice(B, c->dy, low, limit, spaced ? step : NULL));
}

/* dx_k = dy at the places of x_k along axis */
void gcut_vjp_concat(gcut_vjp *c)
{
    uint32_t a = (uint32_t)axis(c);
    gcut_type y = *gcut_vjp_type(c, c->y);
    gcut_dim start[GCUT_MAX_RANK] = {0}, limit[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < y.rank; d++) limit[d] = y.dim[d];
    for (uint32_t k = 0; k < c->nx; k++) {
        limit[a] = dim2(c, GCUT_DIM_ADD, start[a], gcut_vjp_type(c, c->x[k])->dim[a]);
        if (gcut_vjp_wants(c, k)) gcut_vjp_give(c, k, gcut_bslice(B, c->dy, start, limit, NULL));
        start[a] = limit[a];
    }
}

/* dx = dy reversed along the same axes */
void gcut_vjp_flip(gcut_vjp *c)
{
    const gcut_attr axes = *gcut_vjp_attr(c, GCUT_KEY_axes);
    gcut_vjp_give(c, 0, gcut_node_new(c->b.g, GCUT_OP_flip, &c->dy, 1, &axes, 1, c->b.loc, c->b.name));
}

/* y = x[i]: dx = zeros with dy added at the rows i */
void gcut_vjp_take(gcut_vjp *c)
{
    gcut_ref zeros = gcut_bconst(B, c->x[0], 0);
    gcut_vjp_give(c, 0, gcut_bscatter_add(B, zeros, c->x[1], c->dy, axis(c)));
}

/* y = x with u added at the rows i: dx = dy, du = dy[i] */
void gcut_vjp_scatter_add(gcut_vjp *c)
{
    if (gcut_vjp_wants(c, 0)) gcut_vjp_give(c, 0, c->dy);
    if (gcut_vjp_wants(c, 2)) gcut_vjp_give(c, 2, gcut_btake(B, c->dy, c->x[1], axis(c)));
}
