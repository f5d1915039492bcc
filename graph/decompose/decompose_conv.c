/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of convolutions and pools over any number of axes into those over the two of an image [N, C, H, W]: one
 * axis gets another of size 1 before it; of three axes the first one is a part of the channels of a convolution, and is
 * pooled by itself.
 */
#include "graph/decompose/decompose_rule.h"

/* What the attributes say of one spatial axis. */
typedef struct axis {
    gcut_dim window, stride, dilation, low, high, output_pad;
} axis;

/* With `ceil` the padding at the end grows as far as the last window reaches. */
static void extend(const composite *c, axis *a, uint32_t d)
{
    const gcut_dim n = type_of(&c->b, c->x[0]).dim[2 + d],
                   reached = (gcut_type_of(c->src, c->node.res0)->dim[2 + d] - 1) * a->stride + a->window -
                             n - a->low;
    if (reached > a->high) a->high = reached;
}

static const axis unit = {1, 1, 1, 0, 0, 0};

static gcut_dim item(const composite *c, gcut_attr_key key, uint32_t k, gcut_dim otherwise)
{
    const gcut_attr *a = attr(c, key);
    return a ? a->u.dims[k] : otherwise;
}

/* Spatial axis d of x [N, C, ...].  A pool moves by its window where no stride is given. */
static axis axis_at(const composite *c, uint32_t d)
{
    const uint32_t n = type_of(&c->b, c->x[0]).rank - 2u;
    const gcut_dim window = item(c, GCUT_KEY_window, d, 1);
    axis a = {.window = window,
              .stride = item(c, GCUT_KEY_stride, d, attr(c, GCUT_KEY_window) ? window : 1),
              .dilation = item(c, GCUT_KEY_dilation, d, 1),
              .low = item(c, GCUT_KEY_pad, d, 0),
              .high = item(c, GCUT_KEY_pad, n + d, 0),
              .output_pad = item(c, GCUT_KEY_output_pad, d, 0)};
    const gcut_attr *ceil = attr(c, GCUT_KEY_ceil);
    if (ceil && ceil->u.flag) extend(c, &a, d);
    return a;
}

/* ---- two axes ---- */

/* stride and pad of an op over the axes h and w */
static uint32_t window_attrs(composite *c, const axis *h, const axis *w, gcut_attr *a)
{
    gcut_module *m = B->g->module;
    a[0] = gcut_attr_dims(m, GCUT_KEY_stride, (gcut_dim[]){h->stride, w->stride}, 2);
    a[1] = gcut_attr_dims(m, GCUT_KEY_pad, (gcut_dim[]){h->low, w->low, h->high, w->high}, 4);
    return 2;
}

static uint32_t conv_attrs(composite *c, const axis *h, const axis *w, gcut_attr *a)
{
    uint32_t n = window_attrs(c, h, w, a);
    a[n++] = gcut_attr_dims(B->g->module, GCUT_KEY_dilation, (gcut_dim[]){h->dilation, w->dilation}, 2);
    a[n++] = *attr(c, GCUT_KEY_groups);
    return n;
}

static gcut_ref conv2d(composite *c, gcut_ref x, gcut_ref f, const axis *h, const axis *w)
{
    gcut_attr a[4];
    const uint32_t n = conv_attrs(c, h, w, a);
    return gcut_node_new(B->g, GCUT_OP_conv2d, (gcut_ref[]){x, f}, 2, a, n, B->loc, B->name);
}

/* conv2d_input gives any size that conv2d would reduce to x's, with an output_pad below the stride; the rest of it takes
 * away less padding at the end, and then adds zeros. */
static gcut_ref conv_transpose2d(composite *c, gcut_ref x, gcut_ref f, const axis *h, const axis *w)
{
    axis side[] = {*h, *w};
    gcut_dim size[2], zeros[GCUT_MAX_RANK] = {0};
    const gcut_dim none[GCUT_MAX_RANK] = {0};
    for (uint32_t d = 0; d < 2; d++) {
        axis *s = &side[d];
        const gcut_dim within = s->output_pad < s->stride ? s->output_pad : s->stride - 1,
                       more = s->output_pad - within, uncut = more < s->high ? more : s->high;
        s->high -= uncut;
        zeros[2 + d] = more - uncut;
        gcut_dim steps = dim2(c, GCUT_DIM_MUL, dim2(c, GCUT_DIM_SUB, type_of(B, x).dim[2 + d], 1), s->stride);
        gcut_dim span =
            dim2(c, GCUT_DIM_MUL, dim2(c, GCUT_DIM_SUB, type_of(B, f).dim[2 + d], 1), s->dilation);
        gcut_dim whole = dim2(c, GCUT_DIM_ADD, dim2(c, GCUT_DIM_ADD, steps, span), within + 1);
        size[d] = dim2(c, GCUT_DIM_SUB, whole, s->low + s->high);
    }
    gcut_attr a[5];
    uint32_t n = conv_attrs(c, &side[0], &side[1], a);
    a[n++] = gcut_attr_dims(B->g->module, GCUT_KEY_shape, size, 2);
    gcut_ref y = gcut_node_new(B->g, GCUT_OP_conv2d_input, (gcut_ref[]){x, f}, 2, a, n, B->loc, B->name);
    return zeros[2] || zeros[3] ? gcut_bpad(B, y, none, zeros, NULL) : y;
}

static gcut_ref pool2d(composite *c, gcut_op op, gcut_ref x, const axis *h, const axis *w)
{
    gcut_attr a[3];
    uint32_t n = window_attrs(c, h, w, a);
    a[n++] = gcut_attr_dims(B->g->module, GCUT_KEY_window, (gcut_dim[]){h->window, w->window}, 2);
    return gcut_node_new(B->g, op, &x, 1, a, n, B->loc, B->name);
}

/* ---- one axis ---- */

static gcut_ref to_image(composite *c, gcut_ref x)
{
    const gcut_type t = type_of(B, x);
    return gcut_breshape(B, x, (gcut_dim[]){t.dim[0], t.dim[1], 1, t.dim[2]}, 4);
}

static gcut_ref from_image(composite *c, gcut_ref x)
{
    const gcut_type t = type_of(B, x);
    return gcut_breshape(B, x, (gcut_dim[]){t.dim[0], t.dim[1], t.dim[3]}, 3);
}

/* ---- three axes ---- */

/* places[i, k] = i stride + k dilation: where element k of window i lies */
static gcut_ref window_places(composite *c, const axis *a, gcut_dim windows, gcut_dim depth)
{
    const gcut_type t = {GCUT_I64, 2, {windows, depth}};
    gcut_ref from = gcut_bscale(B, gcut_biota(B, &t, 0), (double)a->stride);
    return gcut_b2(B, GCUT_OP_add, from, gcut_bscale(B, gcut_biota(B, &t, 1), (double)a->dilation));
}

/* [O, C, KD, KH, KW] -> [O, C KD, KH, KW] */
static gcut_ref depth_as_channels(composite *c, gcut_ref f)
{
    const gcut_type t = type_of(B, f);
    return gcut_breshape(
        B, f, (gcut_dim[]){t.dim[0], dim2(c, GCUT_DIM_MUL, t.dim[1], t.dim[2]), t.dim[3], t.dim[4]}, 4);
}

/* x [N, C, D, H, W] is taken as [N, OD, C, KD, H, W], of which [N OD, C KD, H, W] are images. */
static gcut_ref conv3d(composite *c)
{
    const axis a = axis_at(c, 0), h = axis_at(c, 1), w = axis_at(c, 2);
    const gcut_type t = type_of(B, c->x[0]), to = *gcut_type_of(c->src, c->node.res0);
    const gcut_dim low[GCUT_MAX_RANK] = {0, 0, a.low}, high[GCUT_MAX_RANK] = {0, 0, a.high},
                   depth = type_of(B, c->x[1]).dim[2];
    gcut_ref x = a.low || a.high ? gcut_bpad(B, c->x[0], low, high, NULL) : c->x[0];
    x = gcut_btake(B, x, window_places(c, &a, to.dim[2], depth), 2);
    x = gcut_btranspose(B, x, (gcut_dim[]){0, 2, 1, 3, 4, 5});
    x = gcut_breshape(B, x,
                      (gcut_dim[]){dim2(c, GCUT_DIM_MUL, t.dim[0], to.dim[2]),
                                   dim2(c, GCUT_DIM_MUL, t.dim[1], depth), t.dim[3], t.dim[4]},
                      4);
    gcut_ref y = conv2d(c, x, depth_as_channels(c, c->x[1]), &h, &w);
    y = gcut_breshape(B, y, (gcut_dim[]){to.dim[0], to.dim[2], to.dim[1], to.dim[3], to.dim[4]}, 5);
    return gcut_btranspose(B, y, (gcut_dim[]){0, 2, 1, 3, 4});
}

/* The images [N D, O KD, OH, OW] are added up at the places of their windows. */
static gcut_ref conv_transpose3d(composite *c)
{
    const axis a = axis_at(c, 0), h = axis_at(c, 1), w = axis_at(c, 2);
    const gcut_type t = type_of(B, c->x[0]), to = *gcut_type_of(c->src, c->node.res0);
    const gcut_dim depth = type_of(B, c->x[1]).dim[2];
    gcut_ref x = gcut_btranspose(B, c->x[0], (gcut_dim[]){0, 2, 1, 3, 4});
    x = gcut_breshape(
        B, x, (gcut_dim[]){dim2(c, GCUT_DIM_MUL, t.dim[0], t.dim[2]), t.dim[1], t.dim[3], t.dim[4]}, 4);
    gcut_ref y = conv_transpose2d(c, x, depth_as_channels(c, c->x[1]), &h, &w);
    y = gcut_breshape(B, y, (gcut_dim[]){t.dim[0], t.dim[2], to.dim[1], depth, to.dim[3], to.dim[4]}, 6);
    y = gcut_btranspose(B, y, (gcut_dim[]){0, 2, 1, 3, 4, 5});
    gcut_type all = to; /* with the padding that is cut off; f16 and bf16 are computed in f32 */
    all.dtype = type_of(B, y).dtype;
    all.dim[2] = dim2(c, GCUT_DIM_ADD, to.dim[2], a.low + a.high);
    y = gcut_bscatter_add(B, gcut_bfull(B, &all, 0), window_places(c, &a, t.dim[2], depth), y, 2);
    return a.low || a.high ? slice_axis(B, y, 2, a.low, dim2(c, GCUT_DIM_ADD, to.dim[2], a.low)) : y;
}

/* The last two axes, then the first one with what they have become. */
static gcut_ref pool3d(composite *c, gcut_op op)
{
    const axis a = axis_at(c, 0), h = axis_at(c, 1), w = axis_at(c, 2);
    const gcut_type t = type_of(B, c->x[0]);
    gcut_ref x = gcut_breshape(
        B, c->x[0], (gcut_dim[]){t.dim[0], dim2(c, GCUT_DIM_MUL, t.dim[1], t.dim[2]), t.dim[3], t.dim[4]}, 4);
    x = pool2d(c, op, x, &h, &w);
    const gcut_type after = type_of(B, x);
    const gcut_dim rest = dim2(c, GCUT_DIM_MUL, after.dim[2], after.dim[3]);
    x = gcut_breshape(B, x, (gcut_dim[]){t.dim[0], t.dim[1], t.dim[2], rest}, 4);
    x = pool2d(c, op, x, &a, &unit);
    return gcut_breshape(
        B, x, (gcut_dim[]){t.dim[0], t.dim[1], type_of(B, x).dim[2], after.dim[2], after.dim[3]}, 5);
}

/* ---- the ops ---- */

gcut_ref gcut_decompose_conv_nd(composite *c)
{
    const uint32_t rank = type_of(B, c->x[0]).rank;
    const axis a = axis_at(c, 0);
    if (rank == 5) return conv3d(c);
    if (rank == 3) return from_image(c, conv2d(c, to_image(c, c->x[0]), to_image(c, c->x[1]), &unit, &a));
    const axis w = axis_at(c, 1);
    return conv2d(c, c->x[0], c->x[1], &a, &w);
}

gcut_ref gcut_decompose_conv_transpose_nd(composite *c)
{
    const uint32_t rank = type_of(B, c->x[0]).rank;
    const axis a = axis_at(c, 0);
    if (rank == 5) return conv_transpose3d(c);
    if (rank == 3)
        return from_image(c, conv_transpose2d(c, to_image(c, c->x[0]), to_image(c, c->x[1]), &unit, &a));
    const axis w = axis_at(c, 1);
    return conv_transpose2d(c, c->x[0], c->x[1], &a, &w);
}

static gcut_ref pooled(composite *c, gcut_op op)
{
    const uint32_t rank = type_of(B, c->x[0]).rank;
    const axis a = axis_at(c, 0);
    if (rank == 5) return pool3d(c, op);
    if (rank == 3) return from_image(c, pool2d(c, op, to_image(c, c->x[0]), &unit, &a));
    const axis w = axis_at(c, 1);
    return pool2d(c, op, c->x[0], &a, &w);
}

gcut_ref gcut_decompose_max_pool_nd(composite *c)
{
    return pooled(c, GCUT_OP_max_pool2d);
}

/* size / (min(i stride + size, end) - max(i stride, begin)), window i beginning at i stride: makes a mean over a window one
 * over those of its places that lie from `begin` to `end` */
static gcut_ref inverse_share(composite *c, const axis *a, gcut_dim begin, gcut_dim end, gcut_dim windows,
                              gcut_dtype dtype)
{
    const gcut_type t = {GCUT_I64, 1, {windows}};
    gcut_ref from = gcut_bscale(B, gcut_biota(B, &t, 0), (double)a->stride);
    gcut_ref to =
        gcut_b2(B, GCUT_OP_min, gcut_baddc(B, from, (double)a->window), gcut_bsize(B, end, t.dtype, &t));
    gcut_ref count =
        gcut_b2(B, GCUT_OP_sub, to, gcut_b2(B, GCUT_OP_max, from, gcut_bsize(B, begin, t.dtype, &t)));
    count = gcut_bconvert(B, count, dtype);
    return gcut_b2(B, GCUT_OP_div, gcut_bconst(B, count, (double)a->window), count);
}

/* Places are counted from the first one of the padding; what `ceil` adds at the end is not counted. */
gcut_ref gcut_decompose_avg_pool_nd(composite *c)
{
    gcut_ref y = pooled(c, GCUT_OP_avg_pool2d);
    const gcut_type t = type_of(B, c->x[0]), to = type_of(B, y);
    const bool skips = flag(c, GCUT_KEY_skip_pad);
    for (uint32_t d = 2; d < t.rank; d++) {
        const axis a = axis_at(c, d - 2);
        const gcut_dim stated = item(c, GCUT_KEY_pad, t.rank - 2u + d - 2, 0), begin = skips ? a.low : 0,
                       end = dim2(c, GCUT_DIM_ADD, t.dim[d], a.low + (skips ? 0 : stated));
        if (skips ? !a.low && !a.high : a.high == stated) continue;
        gcut_ref factor = inverse_share(c, &a, begin, end, to.dim[d], to.dtype);
        y = gcut_b2(B, GCUT_OP_mul, y, gcut_bbroadcast(B, factor, to.dim, to.rank, (gcut_dim[]){d}));
    }
    return y;
}
