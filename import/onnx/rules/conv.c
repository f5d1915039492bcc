/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolutions and pools over one, two or three axes.  The ops of the table have two: one axis gets another of size 1,
 * and of three the first is a part of the channels (convolutions), or is pooled by itself (pools).
 */
#include "import/onnx/rules.h"

#include <math.h>
#include <string.h>

enum { MOST = 3, MOST_PLACES = 1024 /* of a window along an axis, where each is a node */ };

/* The windows of an op over `n` axes. */
typedef struct windows {
    uint32_t n;
    int64_t size[MOST], stride[MOST], dilation[MOST];
    gcut_dim low[MOST], high[MOST]; /* padding */
} windows;

/* The number of windows along an axis of size d. */
static gcut_dim count(const gcut_onnx_node *n, const windows *w, uint32_t k, gcut_dim d)
{
    const int64_t wide = w->dilation[k] * (w->size[k] - 1) + 1;
    d = gcut_onnx_dim(n, GCUT_DIM_ADD, d, gcut_onnx_dim(n, GCUT_DIM_ADD, w->low[k], w->high[k]));
    return gcut_onnx_dim(
        n, GCUT_DIM_ADD,
        gcut_onnx_dim(n, GCUT_DIM_DIV, gcut_onnx_dim(n, GCUT_DIM_SUB, d, wide), w->stride[k]), 1);
}

/* Pads so that there are ceil(d / stride) windows. */
static void pad_same(const gcut_onnx_node *n, windows *w, uint32_t k, gcut_dim d, bool upper)
{
    const int64_t wide = w->dilation[k] * (w->size[k] - 1) + 1;
    if (!gcut_dim_known(d)) {
        if (w->stride[k] != 1)
            GCUT_ONNX_UNSUPPORTED(n, "'auto_pad' with strides needs sizes that are numbers");
        d = wide;
    }
    const int64_t out = (d + w->stride[k] - 1) / w->stride[k];
    const int64_t all = (out - 1) * w->stride[k] + wide > d ? (out - 1) * w->stride[k] + wide - d : 0;
    w->low[k] = upper ? all / 2 : all - all / 2;
    w->high[k] = all - w->low[k];
}

/* The attributes of a convolution or pool of an operand [N, C, …] with that window. */
static windows windows_of(gcut_onnx_node *n, const gcut_type *x, const int64_t *window)
{
    const gcut_onnx_list stride = gcut_onnx_ints(n, "strides"), dilation = gcut_onnx_ints(n, "dilations"),
                         pads = gcut_onnx_ints(n, "pads");
    const char *automatic = gcut_onnx_text(n, "auto_pad", "NOTSET");
    windows w = {.n = x->rank - 2u};
    if (x->rank < 3 || x->rank > MOST + 2)
        GCUT_ONNX_UNSUPPORTED(n, "expected an operand of 1 to 3 axes besides batch and channels");
    if ((stride.at && stride.n != w.n) || (dilation.at && dilation.n != w.n) ||
        (pads.at && pads.n != 2 * w.n))
        GCUT_ONNX_WRONG(n, "expected strides, dilations and pads of %u axes", (unsigned)w.n);
    for (uint32_t k = 0; k < w.n; k++) {
        w.size[k] = window[k];
        w.stride[k] = gcut_onnx_item(stride, k, 1);
        w.dilation[k] = gcut_onnx_item(dilation, k, 1);
        w.low[k] = gcut_onnx_item(pads, k, 0);
        w.high[k] = gcut_onnx_item(pads, w.n + k, 0);
        if (w.size[k] < 1 || w.stride[k] < 1 || w.dilation[k] < 1 || w.low[k] < 0 || w.high[k] < 0)
            GCUT_ONNX_WRONG(n, "expected windows, strides and dilations of 1 or more, and pads of 0 or more");
        /* Products and sums of these are numbers of 64 bits. */
        if (w.size[k] > INT32_MAX || w.stride[k] > INT32_MAX || w.dilation[k] > INT32_MAX / 2 ||
            w.low[k] > INT32_MAX || w.high[k] > INT32_MAX || x->dim[2 + k] > GCUT_ONNX_INT_MAX)
            GCUT_ONNX_WRONG(n, "expected windows, strides, dilations and pads below 2^30");
        if (!strncmp(automatic, "SAME", 4))
            pad_same(n, &w, k, x->dim[2 + k], !strcmp(automatic, "SAME_UPPER"));
        if (!strcmp(automatic, "VALID")) w.low[k] = w.high[k] = 0;
    }
    return w;
}

/* An axis of size 1 before the last. */
static gcut_ref as_two(gcut_onnx_node *n, gcut_ref x, windows *w)
{
    const gcut_type t = gcut_onnx_type(n, x);
    if (w && w->n == 1) {
        w->n = 2;
        w->size[1] = w->size[0], w->stride[1] = w->stride[0], w->dilation[1] = w->dilation[0];
        w->low[1] = w->low[0], w->high[1] = w->high[0];
        w->size[0] = w->stride[0] = w->dilation[0] = 1;
        w->low[0] = w->high[0] = 0;
    }
    return t.rank == 3 ? gcut_onnx_reshape(n, x, (gcut_dim[]){t.dim[0], t.dim[1], 1, t.dim[2]}, 4) : x;
}

static gcut_ref as_one(gcut_onnx_node *n, gcut_ref x)
{
    const gcut_type t = gcut_onnx_type(n, x);
    return gcut_onnx_reshape(n, x, (gcut_dim[]){t.dim[0], t.dim[1], t.dim[3]}, 3);
}

/* Attributes of the ops over two axes, from axis `k` of the windows on. */
static uint32_t attrs_of(gcut_onnx_node *n, const windows *w, uint32_t k, int64_t groups, gcut_attr *a)
{
    gcut_module *m = n->b.g->module;
    a[0] = gcut_attr_dims(m, GCUT_KEY_stride, w->stride + k, 2);
    a[1] = gcut_attr_dims(m, GCUT_KEY_pad, (gcut_dim[]){w->low[k], w->low[k + 1], w->high[k], w->high[k + 1]},
                          4);
    if (!groups) {
        a[2] = gcut_attr_dims(m, GCUT_KEY_window, w->size + k, 2);
        return 3;
    }
    a[2] = gcut_attr_dims(m, GCUT_KEY_dilation, w->dilation + k, 2);
    a[3] = gcut_attr_dim(GCUT_KEY_groups, groups);
    return 4;
}

static gcut_ref conv2d(gcut_onnx_node *n, gcut_ref x, gcut_ref f, const windows *w, uint32_t k,
                       int64_t groups)
{
    gcut_attr a[4];
    const uint32_t na = attrs_of(n, w, k, groups, a);
    return gcut_onnx_node_new(n, GCUT_OP_conv2d, (gcut_ref[]){x, f}, 2, a, na);
}

static void need_places(const gcut_onnx_node *n, int64_t size)
{
    if (size > MOST_PLACES)
        GCUT_ONNX_UNSUPPORTED(n, "a window of %lld places, more than %d", (long long)size, MOST_PLACES);
}

/* The slices of axis `axis` at which the places 0, …, size-1 of the windows are, as an axis before it. */
static gcut_ref slices(gcut_onnx_node *n, gcut_ref x, uint32_t axis, int64_t size, int64_t dilation,
                       int64_t stride, gcut_dim out)
{
    need_places(n, size);
    gcut_ref *part = gcut_calloc(n->b.g->module->arena, (size_t)size, sizeof *part);
    for (int64_t k = 0; k < size; k++) {
        const gcut_dim last = gcut_onnx_dim(n, GCUT_DIM_MUL, gcut_onnx_dim(n, GCUT_DIM_SUB, out, 1), stride);
        part[k] = gcut_onnx_slice(n, x, axis, k * dilation,
                                  gcut_onnx_dim(n, GCUT_DIM_ADD, last, k * dilation + 1), stride);
        part[k] = gcut_onnx_insert_axis(n, part[k], axis);
    }
    return gcut_onnx_concat(n, part, (uint32_t)size, axis);
}

/* The places of the first axis of a window are channels: x [N, C, D, H, W] becomes [N * OD, C * KD, H, W]. */
static gcut_ref conv3d(gcut_onnx_node *n, gcut_ref x, gcut_ref f, const windows *w, int64_t groups)
{
    const gcut_type t = gcut_onnx_type(n, x), tf = gcut_onnx_type(n, f);
    const gcut_dim od = count(n, w, 0, t.dim[2]), low[GCUT_MAX_RANK] = {0, 0, w->low[0]},
                   high[GCUT_MAX_RANK] = {0, 0, w->high[0]};
    if (w->low[0] || w->high[0]) x = gcut_onnx_pad(n, x, low, high, (gcut_num){0});
    x = slices(n, x, 2, w->size[0], w->dilation[0], w->stride[0], od);
    x = gcut_btranspose(&n->b, x, (gcut_dim[]){0, 3, 1, 2, 4, 5});
    x = gcut_onnx_reshape(n, x,
                          (gcut_dim[]){gcut_onnx_dim(n, GCUT_DIM_MUL, t.dim[0], od),
                                       gcut_onnx_dim(n, GCUT_DIM_MUL, t.dim[1], w->size[0]), t.dim[3],
                                       t.dim[4]},
                          4);
    f = gcut_onnx_reshape(
        n, f,
        (gcut_dim[]){tf.dim[0], gcut_onnx_dim(n, GCUT_DIM_MUL, tf.dim[1], tf.dim[2]), tf.dim[3], tf.dim[4]},
        4);
    gcut_ref y = conv2d(n, x, f, w, 1, groups);
    const gcut_type ty = gcut_onnx_type(n, y);
    y = gcut_onnx_reshape(n, y, (gcut_dim[]){t.dim[0], od, ty.dim[1], ty.dim[2], ty.dim[3]}, 5);
    return gcut_btranspose(&n->b, y, (gcut_dim[]){0, 2, 1, 3, 4});
}

/* The bias is one number for each channel. */
static gcut_ref with_bias(gcut_onnx_node *n, gcut_ref y, uint32_t i)
{
    if (!gcut_onnx_has(n, i)) return y;
    const gcut_type t = gcut_onnx_type(n, y);
    const gcut_ref bias = gcut_onnx_in(n, i);
    gcut_onnx_need_rank(n, bias, 1, "a bias");
    return gcut_b2(&n->b, GCUT_OP_add, y, gcut_bbroadcast(&n->b, bias, t.dim, t.rank, (gcut_dim[]){1}));
}

/* The window of a convolution is that of its weight. */
static void window_of(gcut_onnx_node *n, const gcut_type *x, const gcut_type *f, int64_t *window)
{
    if (f->rank != x->rank) GCUT_ONNX_WRONG(n, "operand and weight have different numbers of axes");
    if (f->rank < 3 || f->rank > MOST + 2)
        GCUT_ONNX_UNSUPPORTED(n, "expected a weight of 1 to 3 axes besides its channels");
    for (uint32_t k = 2; k < f->rank; k++) {
        if (!gcut_dim_known(f->dim[k]))
            GCUT_ONNX_UNSUPPORTED(n, "expected a weight whose window is of numbers");
        window[k - 2] = f->dim[k];
    }
}

typedef struct convolution {
    gcut_ref x, f; /* the operand and the weight */
    gcut_type t;   /* of x */
    int64_t groups;
    windows w;
} convolution;

static convolution convolution_of(gcut_onnx_node *n)
{
    convolution c = {
        .x = gcut_onnx_in(n, 0), .f = gcut_onnx_in(n, 1), .groups = gcut_onnx_int(n, "group", 1)};
    c.t = gcut_onnx_type(n, c.x);
    const gcut_type tf = gcut_onnx_type(n, c.f);
    int64_t window[MOST];
    window_of(n, &c.t, &tf, window);
    c.w = windows_of(n, &c.t, window);
    return c;
}

void gcut_onnx_conv(gcut_onnx_node *n)
{
    convolution c = convolution_of(n);
    gcut_ref y;
    if (c.t.rank == 5) {
        y = conv3d(n, c.x, c.f, &c.w, c.groups);
    } else {
        const gcut_ref x = as_two(n, c.x, &c.w);
        y = conv2d(n, x, as_two(n, c.f, NULL), &c.w, 0, c.groups);
        if (c.t.rank == 3) y = as_one(n, y);
    }
    gcut_onnx_set(n, 0, with_bias(n, y, 2));
}

/* ---- transposed convolution ---- */

/* Sizes of the result; what lies beyond the padding at the end is cut off, and beyond everything it is 0. */
typedef struct unpadding {
    gcut_dim full[MOST], low[MOST], high[MOST], beyond[MOST];
} unpadding;

static unpadding unpadding_of(gcut_onnx_node *n, const gcut_type *x, const windows *w)
{
    const gcut_onnx_list more = gcut_onnx_ints(n, "output_padding"),
                         shape = gcut_onnx_ints(n, "output_shape");
    const char *automatic = gcut_onnx_text(n, "auto_pad", "NOTSET");
    const bool same = !strncmp(automatic, "SAME", 4), upper = !strcmp(automatic, "SAME_UPPER");
    unpadding u = {0};
    for (uint32_t k = 0; k < w->n; k++) {
        const int64_t wide = w->dilation[k] * (w->size[k] - 1) + 1;
        const gcut_dim d = x->dim[2 + k], extra = gcut_onnx_item(more, k, 0);
        u.full[k] = gcut_onnx_dim(
            n, GCUT_DIM_ADD,
            gcut_onnx_dim(n, GCUT_DIM_MUL, gcut_onnx_dim(n, GCUT_DIM_SUB, d, 1), w->stride[k]), wide);
        u.low[k] = w->low[k];
        u.high[k] = w->high[k];
        u.beyond[k] = 0;
        if (shape.at || same) {
            const gcut_dim want = shape.at ? gcut_onnx_item(shape, shape.n - w->n + k, 0)
                                           : gcut_onnx_dim(n, GCUT_DIM_MUL, d, w->stride[k]);
            if (!gcut_dim_known(u.full[k]) || !gcut_dim_known(want) || u.full[k] > GCUT_ONNX_INT_MAX)
                GCUT_ONNX_UNSUPPORTED(n, "a stated size of the result needs sizes that are numbers");
            const int64_t all = u.full[k] + extra - want; /* negative: zeros at the end */
            const int64_t cut = all > 0 ? all : 0;
            u.low[k] = upper ? cut / 2 : cut - cut / 2;
            u.high[k] = all - u.low[k];
        }
        u.high[k] -= extra;
        if (u.high[k] < 0) u.beyond[k] = -u.high[k], u.high[k] = 0;
    }
    return u;
}

static gcut_ref transposed2d(gcut_onnx_node *n, gcut_ref x, gcut_ref f, const windows *w, uint32_t k,
                             int64_t groups, const unpadding *u)
{
    windows p = *w;
    gcut_attr a[5];
    gcut_dim shape[2];
    for (uint32_t j = 0; j < 2; j++) {
        p.low[k + j] = u->low[k + j], p.high[k + j] = u->high[k + j];
        shape[j] = gcut_onnx_dim(n, GCUT_DIM_SUB, u->full[k + j],
                                 gcut_onnx_dim(n, GCUT_DIM_ADD, u->low[k + j], u->high[k + j]));
    }
    const uint32_t na = attrs_of(n, &p, k, groups, a);
    a[na] = gcut_attr_dims(n->b.g->module, GCUT_KEY_shape, shape, 2);
    gcut_ref y = gcut_onnx_node_new(n, GCUT_OP_conv2d_input, (gcut_ref[]){x, f}, 2, a, na + 1);
    const gcut_dim beyond[GCUT_MAX_RANK] = {0, 0, u->beyond[k], u->beyond[k + 1]};
    return u->beyond[k] || u->beyond[k + 1] ? gcut_onnx_pad(n, y, NULL, beyond, (gcut_num){0}) : y;
}

/* The channels of the result are also the places along the first axis; each place is spread out and added. */
static gcut_ref transposed3d(gcut_onnx_node *n, gcut_ref x, gcut_ref f, const windows *w, int64_t groups,
                             const unpadding *u)
{
    const gcut_type t = gcut_onnx_type(n, x), tf = gcut_onnx_type(n, f);
    if (groups < 1) GCUT_ONNX_WRONG(n, "expected 1 group or more");
    need_places(n, w->size[0]);
    const gcut_dim d = t.dim[2], each = tf.dim[1], out = gcut_onnx_dim(n, GCUT_DIM_MUL, each, groups);
    x = gcut_btranspose(&n->b, x, (gcut_dim[]){0, 2, 1, 3, 4});
    x = gcut_onnx_reshape(
        n, x, (gcut_dim[]){gcut_onnx_dim(n, GCUT_DIM_MUL, t.dim[0], d), t.dim[1], t.dim[3], t.dim[4]}, 4);
    f = gcut_onnx_reshape(
        n, f, (gcut_dim[]){tf.dim[0], gcut_onnx_dim(n, GCUT_DIM_MUL, each, tf.dim[2]), tf.dim[3], tf.dim[4]},
        4);
    gcut_ref y = transposed2d(n, x, f, w, 1, groups, u), sum = 0;
    const gcut_type ty = gcut_onnx_type(n, y);
    y = gcut_onnx_reshape(n, y, (gcut_dim[]){t.dim[0], d, out, w->size[0], ty.dim[2], ty.dim[3]}, 6);
    for (int64_t k = 0; k < w->size[0]; k++) {
        gcut_ref part = gcut_onnx_slice(n, y, 3, k, k + 1, 1);
        part = gcut_onnx_reshape(n, part, (gcut_dim[]){t.dim[0], d, out, ty.dim[2], ty.dim[3]}, 5);
        part = gcut_btranspose(&n->b, part, (gcut_dim[]){0, 2, 1, 3, 4});
        const gcut_dim low[GCUT_MAX_RANK] = {0, 0, k * w->dilation[0]},
                       high[GCUT_MAX_RANK] = {0, 0, (w->size[0] - 1 - k) * w->dilation[0] + u->beyond[0]},
                       interior[GCUT_MAX_RANK] = {0, 0, w->stride[0] - 1};
        part = gcut_bpad(&n->b, part, low, high, interior);
        sum = sum ? gcut_b2(&n->b, GCUT_OP_add, sum, part) : part;
    }
    const gcut_dim all = gcut_onnx_type(n, sum).dim[2];
    return gcut_onnx_slice(n, sum, 2, u->low[0], gcut_onnx_dim(n, GCUT_DIM_SUB, all, u->high[0]), 1);
}

void gcut_onnx_conv_transpose(gcut_onnx_node *n)
{
    convolution c = convolution_of(n);
    unpadding u = unpadding_of(n, &c.t, &c.w);
    gcut_ref y;
    if (c.t.rank == 5) {
        y = transposed3d(n, c.x, c.f, &c.w, c.groups, &u);
    } else {
        if (c.w.n == 1) {
            u.full[1] = u.full[0], u.low[1] = u.low[0], u.high[1] = u.high[0], u.beyond[1] = u.beyond[0];
            u.full[0] = 1;
            u.low[0] = u.high[0] = u.beyond[0] = 0;
        }
        const gcut_ref x = as_two(n, c.x, &c.w);
        y = transposed2d(n, x, as_two(n, c.f, NULL), &c.w, 0, c.groups, &u);
        if (c.t.rank == 3) y = as_one(n, y);
    }
    gcut_onnx_set(n, 0, with_bias(n, y, 2));
}

/* ---- pools ---- */

/* With ceil_mode a last window that is not full counts, if it begins within the operand and the padding before it. */
static void ceil_windows(gcut_onnx_node *n, windows *w, const gcut_type *t)
{
    for (uint32_t k = 0; k < w->n; k++) {
        const gcut_dim d = t->dim[2 + k];
        const int64_t wide = w->dilation[k] * (w->size[k] - 1) + 1;
        if (!gcut_dim_known(d)) GCUT_ONNX_UNSUPPORTED(n, "'ceil_mode' needs sizes that are numbers");
        int64_t out = (d + w->low[k] + w->high[k] - wide + w->stride[k] - 1) / w->stride[k] + 1;
        if ((out - 1) * w->stride[k] >= d + w->low[k]) out--;
        const int64_t high = (out - 1) * w->stride[k] + wide - d - w->low[k];
        if (high > w->high[k]) w->high[k] = high;
    }
}

static gcut_ref pool2d(gcut_onnx_node *n, gcut_op op, gcut_ref x, const windows *w, uint32_t k)
{
    gcut_attr a[3];
    const uint32_t na = attrs_of(n, w, k, 0, a);
    return gcut_onnx_node_new(n, op, &x, 1, a, na);
}

/* Of three axes the last two first, then the first with an axis of size 1. */
static gcut_ref pool(gcut_onnx_node *n, gcut_op op, gcut_ref x, windows w)
{
    gcut_type t = gcut_onnx_type(n, x);
    if (t.rank < 5) {
        gcut_ref y = pool2d(n, op, as_two(n, x, &w), &w, 0);
        return t.rank == 3 ? as_one(n, y) : y;
    }
    x = gcut_onnx_reshape(
        n, x, (gcut_dim[]){t.dim[0], gcut_onnx_dim(n, GCUT_DIM_MUL, t.dim[1], t.dim[2]), t.dim[3], t.dim[4]},
        4);
    x = pool2d(n, op, x, &w, 1);
    const gcut_type after = gcut_onnx_type(n, x);
    const windows first = {.n = 2,
                           .size = {w.size[0], 1},
                           .stride = {w.stride[0], 1},
                           .dilation = {1, 1},
                           .low = {w.low[0], 0},
                           .high = {w.high[0], 0}};
    x = gcut_onnx_reshape(n, x, (gcut_dim[]){t.dim[0], t.dim[1], t.dim[2], gcut_onnx_numel(n, &after, 2, 4)},
                          4);
    x = pool2d(n, op, x, &first, 0);
    return gcut_onnx_reshape(
        n, x, (gcut_dim[]){t.dim[0], t.dim[1], gcut_onnx_type(n, x).dim[2], after.dim[2], after.dim[3]}, 5);
}

static windows pool_windows(gcut_onnx_node *n, const gcut_type *t)
{
    const gcut_onnx_list size = gcut_onnx_ints(n, "kernel_shape");
    if (t->rank < 3 || size.n != t->rank - 2u)
        GCUT_ONNX_WRONG(n, "expected 'kernel_shape' with a size for each axis besides batch and channels");
    if (size.n > MOST)
        GCUT_ONNX_UNSUPPORTED(n, "expected an operand of 1 to 3 axes besides batch and channels");
    return windows_of(n, t, size.at);
}

/* Every place of the windows of x as a last axis; padding is `value`. */
static gcut_ref unfolded(gcut_onnx_node *n, gcut_ref x, const windows *w, double value)
{
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_dim low[GCUT_MAX_RANK] = {0}, high[GCUT_MAX_RANK] = {0}, dim[GCUT_MAX_RANK], out[MOST];
    for (uint32_t k = 0; k < w->n; k++)
        low[2 + k] = w->low[k], high[2 + k] = w->high[k], out[k] = count(n, w, k, t.dim[2 + k]);
    x = gcut_onnx_pad(n, x, low, high, (gcut_num){.f = value});
    for (uint32_t k = 0; k < w->n; k++) { /* the new axis goes behind all; earlier ones are merged with it */
        gcut_ref s = slices(n, x, 2 + k, w->size[k], w->dilation[k], w->stride[k], out[k]);
        const gcut_type ts = gcut_onnx_type(n, s);
        gcut_dim perm[GCUT_MAX_RANK];
        uint32_t j = 0;
        for (uint32_t r = 0; r < ts.rank; r++)
            if (r != 2 + k) perm[j++] = r;
        perm[j] = 2 + k;
        s = gcut_btranspose(&n->b, s, perm);
        if (k) { /* [.., before, size] is one axis */
            const gcut_type now = gcut_onnx_type(n, s);
            for (uint32_t r = 0; r + 2 < now.rank; r++) dim[r] = now.dim[r];
            dim[now.rank - 2] = gcut_onnx_dim(n, GCUT_DIM_MUL, now.dim[now.rank - 2], now.dim[now.rank - 1]);
            s = gcut_onnx_reshape(n, s, dim, now.rank - 1u);
        }
        x = s;
    }
    return x;
}

/* The index of each largest element in the operand, row by row, or column by column of the last axes. */
static gcut_ref places(gcut_onnx_node *n, gcut_ref which, const gcut_type *x, const windows *w)
{
    const gcut_type t = gcut_onnx_type(n, which);
    const bool columns = gcut_onnx_int(n, "storage_order", 0);
    gcut_ref all = 0;
    for (uint32_t r = 0; r < t.rank; r++) {
        gcut_ref at = gcut_onnx_iota(n, &t, r);
        gcut_dim step = gcut_onnx_numel(n, x, r + 1, x->rank);
        if (r >= 2) {
            int64_t behind = 1;
            for (uint32_t k = r - 1; k < w->n; k++) behind *= w->size[k];
            gcut_ref k = gcut_b2(&n->b, GCUT_OP_div, which, gcut_bconst(&n->b, which, (double)behind));
            k = gcut_b2(&n->b, GCUT_OP_mod, k, gcut_bconst(&n->b, which, (double)w->size[r - 2]));
            at = gcut_b2(&n->b, GCUT_OP_add, gcut_bscale(&n->b, at, (double)w->stride[r - 2]),
                         gcut_bscale(&n->b, k, (double)w->dilation[r - 2]));
            at = gcut_baddc(&n->b, at, -(double)w->low[r - 2]);
            if (columns) step = gcut_onnx_numel(n, x, 2, r);
        }
        if (!gcut_dim_known(step)) GCUT_ONNX_UNSUPPORTED(n, "indices need sizes that are numbers");
        at = gcut_bscale(&n->b, at, (double)step);
        all = all ? gcut_b2(&n->b, GCUT_OP_add, all, at) : at;
    }
    return all;
}

void gcut_onnx_max_pool(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    windows w = pool_windows(n, &t);
    bool plain = gcut_dtype_is_float(t.dtype) && !gcut_onnx_wants(n, 1);
    if (gcut_onnx_int(n, "ceil_mode", 0)) ceil_windows(n, &w, &t);
    for (uint32_t k = 0; k < w.n; k++)
        plain = plain && w.dilation[k] == 1 && w.low[k] < w.size[k] && w.high[k] < w.size[k];
    if (plain) {
        gcut_onnx_set(n, 0, pool(n, GCUT_OP_max_pool2d, x, w));
        return;
    }
    int64_t lowest = 0, highest;
    if (!gcut_dtype_is_float(t.dtype)) gcut_dtype_bounds(t.dtype, &lowest, &highest);
    gcut_ref all = unfolded(n, x, &w, gcut_dtype_is_float(t.dtype) ? -INFINITY : (double)lowest);
    const uint32_t last = t.rank;
    gcut_onnx_set(n, 0, gcut_onnx_reduce(n, GCUT_OP_max_reduce, all, 1u << last, false));
    if (!gcut_onnx_wants(n, 1)) return;
    const gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, last);
    gcut_onnx_set(n, 1, places(n, gcut_onnx_node_new(n, GCUT_OP_argmax, &all, 1, &a, 1), &t, &w));
}

/* The mean over each window, in which padding counts as 0. */
static gcut_ref mean_of(gcut_onnx_node *n, gcut_ref x, const windows *w)
{
    bool dilated = false;
    for (uint32_t k = 0; k < w->n; k++) dilated |= w->dilation[k] != 1;
    if (!dilated) return pool(n, GCUT_OP_avg_pool2d, x, *w);
    const uint32_t last = gcut_onnx_type(n, x).rank;
    return gcut_onnx_reduce(n, GCUT_OP_mean, unfolded(n, x, w, 0), 1u << last, false);
}

/* 1 within the operand and, where padding counts, within that; 0 in what only ceil_mode adds. */
static gcut_ref counted(gcut_onnx_node *n, const gcut_type *t, const windows *w, bool padding,
                        const windows *stated)
{
    gcut_type ones = *t;
    ones.dim[0] = ones.dim[1] = 1;
    windows inner = *w;
    if (padding) {
        for (uint32_t k = 0; k < w->n; k++) {
            ones.dim[2 + k] = gcut_onnx_dim(n, GCUT_DIM_ADD, ones.dim[2 + k],
                                            gcut_onnx_dim(n, GCUT_DIM_ADD, stated->low[k], stated->high[k]));
            inner.low[k] = 0;
            inner.high[k] = w->high[k] - stated->high[k];
        }
    }
    return mean_of(n, gcut_bfull(&n->b, &ones, 1), &inner);
}

void gcut_onnx_average_pool(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const bool padding = gcut_onnx_int(n, "count_include_pad", 0);
    windows w = pool_windows(n, &t);
    const windows stated = w;
    bool all = true; /* every window has as many elements as its size says */
    if (gcut_onnx_int(n, "ceil_mode", 0)) ceil_windows(n, &w, &t);
    for (uint32_t k = 0; k < w.n; k++)
        all = all && (padding ? w.high[k] == stated.high[k] : !w.low[k] && !w.high[k]);
    gcut_ref y = mean_of(n, x, &w);
    if (!all) y = gcut_onnx_binary(n, GCUT_OP_div, y, counted(n, &t, &w, padding, &stated));
    gcut_onnx_set(n, 0, y);
}

void gcut_onnx_lp_pool(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    windows w = pool_windows(n, &t);
    const double p = (double)gcut_onnx_int(n, "p", 2);
    int64_t size = 1;
    if (gcut_onnx_int(n, "ceil_mode", 0)) ceil_windows(n, &w, &t);
    for (uint32_t k = 0; k < w.n; k++)
        if (__builtin_mul_overflow(size, w.size[k], &size)) GCUT_ONNX_WRONG(n, "the windows are too large");
    x = gcut_b1(&n->b, GCUT_OP_abs, x);
    if (p == 2)
        x = gcut_b2(&n->b, GCUT_OP_mul, x, x);
    else if (p != 1)
        x = gcut_b2(&n->b, GCUT_OP_pow, x, gcut_bconst(&n->b, x, p));
    gcut_ref y = gcut_bscale(&n->b, mean_of(n, x, &w), (double)size);
    if (p != 1)
        y = p == 2 ? gcut_b1(&n->b, GCUT_OP_sqrt, y)
                   : gcut_b2(&n->b, GCUT_OP_pow, y, gcut_bconst(&n->b, y, 1 / p));
    gcut_onnx_set(n, 0, y);
}

/* Over all axes but batch and channels. */
void gcut_onnx_global_pool(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const uint32_t rank = gcut_onnx_type(n, x).rank;
    gcut_onnx_set(n, 0, gcut_onnx_reduce(n, n->op, x, ((1u << rank) - 1) & ~3u, true));
}

void gcut_onnx_global_lp_pool(gcut_onnx_node *n)
{
    gcut_ref x = gcut_b1(&n->b, GCUT_OP_abs, gcut_onnx_in(n, 0));
    const double p = (double)gcut_onnx_int(n, "p", 2);
    const uint32_t rank = gcut_onnx_type(n, x).rank;
    gcut_ref sum = gcut_onnx_reduce(n, GCUT_OP_sum, gcut_b2(&n->b, GCUT_OP_pow, x, gcut_bconst(&n->b, x, p)),
                                    ((1u << rank) - 1) & ~3u, true);
    gcut_onnx_set(n, 0, gcut_b2(&n->b, GCUT_OP_pow, sum, gcut_bconst(&n->b, sum, 1 / p)));
}

/* x / (bias + alpha / size * sum of squares over `size` neighbouring channels)^beta */
void gcut_onnx_lrn(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const int64_t size = gcut_onnx_int(n, "size", 1);
    const double alpha = gcut_onnx_float(n, "alpha", 1e-4), beta = gcut_onnx_float(n, "beta", 0.75),
                 bias = gcut_onnx_float(n, "bias", 1);
    if (t.rank < 2 || size < 1)
        GCUT_ONNX_WRONG(n, "expected an operand with channels, and a size of 1 or more");
    const windows w = {.n = 2,
                       .size = {size, 1},
                       .stride = {1, 1},
                       .dilation = {1, 1},
                       .low = {(size - 1) / 2, 0},
                       .high = {size / 2, 0}};
    gcut_ref squares =
        gcut_onnx_reshape(n, gcut_b2(&n->b, GCUT_OP_mul, x, x),
                          (gcut_dim[]){t.dim[0], 1, t.dim[1], gcut_onnx_numel(n, &t, 2, t.rank)}, 4);
    gcut_ref mean = gcut_onnx_reshape(n, pool2d(n, GCUT_OP_avg_pool2d, squares, &w, 0), t.dim, t.rank);
    gcut_ref base = gcut_baddc(&n->b, gcut_bscale(&n->b, mean, alpha), bias);
    gcut_onnx_set(
        n, 0,
        gcut_b2(&n->b, GCUT_OP_div, x, gcut_b2(&n->b, GCUT_OP_pow, base, gcut_bconst(&n->b, base, beta))));
}

/* Elements at the places that a pool of maxima gave. */
void gcut_onnx_max_unpool(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), i = gcut_onnx_in(n, 1);
    const gcut_type t = gcut_onnx_type(n, x);
    const windows w = pool_windows(n, &t);
    gcut_type inner = t, to = t;
    for (uint32_t k = 0; k < w.n; k++) {
        inner.dim[2 + k] = gcut_onnx_dim(
            n, GCUT_DIM_ADD,
            gcut_onnx_dim(n, GCUT_DIM_MUL, gcut_onnx_dim(n, GCUT_DIM_SUB, t.dim[2 + k], 1), w.stride[k]),
            w.size[k]);
        inner.dim[2 + k] = gcut_onnx_dim(n, GCUT_DIM_SUB, inner.dim[2 + k], w.low[k] + w.high[k]);
        to.dim[2 + k] = inner.dim[2 + k];
    }
    if (gcut_onnx_has(n, 2)) {
        const gcut_array *shape = gcut_onnx_need(n, 2, "the shape of the result");
        if (shape->n != t.rank || gcut_dtype_is_float(shape->dtype))
            GCUT_ONNX_WRONG(n, "expected a size for each of %u axes", (unsigned)t.rank);
        for (uint32_t r = 0; r < t.rank; r++) to.dim[r] = gcut_onnx_need_size(n, shape->u.i[r]);
    }
    /* The indices are those of the operand of the pool; in a larger result each element keeps its index along each axis. */
    i = gcut_bconvert(&n->b, i, GCUT_I64);
    gcut_ref at = 0;
    for (uint32_t r = 0; r < t.rank; r++) {
        const gcut_dim step = gcut_onnx_numel(n, &inner, r + 1, t.rank),
                       to_step = gcut_onnx_numel(n, &to, r + 1, t.rank);
        if (!gcut_dim_known(step) || !gcut_dim_known(inner.dim[r]))
            GCUT_ONNX_UNSUPPORTED(n, "indices need sizes that are numbers");
        gcut_ref k = gcut_b2(&n->b, GCUT_OP_div, i, gcut_bconst(&n->b, i, (double)step));
        k = gcut_b2(&n->b, GCUT_OP_mod, k, gcut_bconst(&n->b, i, (double)inner.dim[r]));
        k = gcut_bscale(&n->b, k, (double)to_step);
        at = at ? gcut_b2(&n->b, GCUT_OP_add, at, k) : k;
    }
    const gcut_type flat = {t.dtype, 1, {gcut_onnx_numel(n, &to, 0, to.rank)}};
    gcut_ref y = gcut_bscatter_add(&n->b, gcut_bfull(&n->b, &flat, 0), at, x, 0);
    gcut_onnx_set(n, 0, gcut_onnx_reshape(n, y, to.dim, to.rank));
}
