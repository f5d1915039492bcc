/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolutions, pools and sums of blocks over one, two or three axes.  Those over two have ops of their own, for images.
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

/* The lists of an op over the axes of the windows: stride and pad. */
static uint32_t window_attrs(gcut_onnx_node *n, const windows *w, gcut_attr *a)
{
    gcut_dim pad[2 * MOST];
    memcpy(pad, w->low, w->n * sizeof *pad);
    memcpy(pad + w->n, w->high, w->n * sizeof *pad);
    a[0] = gcut_attr_dims(n->b.g->module, GCUT_KEY_stride, w->stride, w->n);
    a[1] = gcut_attr_dims(n->b.g->module, GCUT_KEY_pad, pad, 2 * w->n);
    return 2;
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
static windows windows_of_weight(gcut_onnx_node *n, gcut_ref x, gcut_ref weight)
{
    const gcut_type t = gcut_onnx_type(n, x), tf = gcut_onnx_type(n, weight), *const f = &tf;
    int64_t window[MOST];
    if (f->rank != t.rank) GCUT_ONNX_WRONG(n, "operand and weight have different numbers of axes");
    if (f->rank < 3 || f->rank > MOST + 2)
        GCUT_ONNX_UNSUPPORTED(n, "expected a weight of 1 to 3 axes besides its channels");
    for (uint32_t k = 2; k < f->rank; k++) {
        if (!gcut_dim_known(f->dim[k]))
            GCUT_ONNX_UNSUPPORTED(n, "expected a weight whose window is of numbers");
        window[k - 2] = f->dim[k];
    }
    return windows_of(n, &t, window);
}

/* A convolution of the two operands, or its transpose, whose result may have zeros at its end. */
static void convolve(gcut_onnx_node *n, gcut_op image, gcut_op any, gcut_ref x, gcut_ref f, const windows *w,
                     const gcut_dim *output_pad)
{
    gcut_module *m = n->b.g->module;
    gcut_attr a[5];
    uint32_t na = window_attrs(n, w, a);
    const int64_t groups = gcut_onnx_int(n, "group", 1);
    if (groups < 1) GCUT_ONNX_WRONG(n, "expected a 'group' of 1 or more");
    a[na++] = gcut_attr_dims(m, GCUT_KEY_dilation, w->dilation, w->n);
    a[na++] = gcut_attr_dim(GCUT_KEY_groups, groups);
    if (output_pad) a[na++] = gcut_attr_dims(m, GCUT_KEY_output_pad, output_pad, w->n);
    gcut_ref y = gcut_onnx_node_new(n, w->n == 2 ? image : any, (gcut_ref[]){x, f}, 2, a, na);
    gcut_onnx_set(n, 0, with_bias(n, y, 2));
}

void gcut_onnx_conv(gcut_onnx_node *n)
{
    const gcut_ref x = gcut_onnx_in(n, 0), f = gcut_onnx_in(n, 1);
    const windows w = windows_of_weight(n, x, f);
    convolve(n, GCUT_OP_conv2d, GCUT_OP_conv_nd, x, f, &w, NULL);
}

/* Of what all windows reach, a stated size cuts off both ends, or adds to the last one. */
void gcut_onnx_conv_transpose(gcut_onnx_node *n)
{
    const gcut_ref x = gcut_onnx_in(n, 0), f = gcut_onnx_in(n, 1);
    const gcut_type t = gcut_onnx_type(n, x);
    windows w = windows_of_weight(n, x, f);
    const gcut_onnx_list more = gcut_onnx_ints(n, "output_padding"),
                         shape = gcut_onnx_ints(n, "output_shape");
    const char *automatic = gcut_onnx_text(n, "auto_pad", "NOTSET");
    const bool same = !strncmp(automatic, "SAME", 4), upper = !strcmp(automatic, "SAME_UPPER");
    gcut_dim output_pad[MOST];
    for (uint32_t k = 0; k < w.n; k++) {
        const gcut_dim d = t.dim[2 + k];
        output_pad[k] = gcut_onnx_item(more, k, 0);
        if (output_pad[k] < 0 || output_pad[k] > INT32_MAX)
            GCUT_ONNX_WRONG(n, "expected 'output_padding' of 0 or more, below 2^31");
        if (!shape.at && !same) continue;
        const gcut_dim want = shape.at ? gcut_onnx_item(shape, shape.n - w.n + k, 0)
                                       : gcut_onnx_dim(n, GCUT_DIM_MUL, d, w.stride[k]);
        if (!gcut_dim_known(d) || d < 1 || want < 0 || want > INT32_MAX)
            GCUT_ONNX_UNSUPPORTED(n, "a stated size of the result needs sizes that are numbers");
        const int64_t all = (d - 1) * w.stride[k] + w.dilation[k] * (w.size[k] - 1) + 1 + output_pad[k] -
                            want; /* < 0: missing */
        const int64_t cut = all > 0 ? all : 0;
        w.low[k] = upper ? cut / 2 : cut - cut / 2;
        w.high[k] = cut - w.low[k];
        output_pad[k] += cut - all;
    }
    convolve(n, GCUT_OP_conv_transpose2d, GCUT_OP_conv_transpose_nd, x, f, &w, output_pad);
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

/* max_pool_nd or avg_pool_nd; padding counts. */
static gcut_ref pool(gcut_onnx_node *n, gcut_op op, gcut_ref x, const windows *w)
{
    const bool max = op == GCUT_OP_max_pool_nd;
    gcut_attr a[3];
    uint32_t na = window_attrs(n, w, a);
    a[na++] = gcut_attr_dims(n->b.g->module, GCUT_KEY_window, w->size, w->n);
    if (w->n == 2) op = max ? GCUT_OP_max_pool2d : GCUT_OP_avg_pool2d;
    return gcut_onnx_node_new(n, op, &x, 1, a, na);
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

static void need_places(const gcut_onnx_node *n, int64_t size)
{
    if (size > MOST_PLACES)
        GCUT_ONNX_UNSUPPORTED(n, "a window of %lld elements, more than %d", (long long)size, MOST_PLACES);
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

static bool is_dilated(const windows *w)
{
    for (uint32_t k = 0; k < w->n; k++)
        if (w->dilation[k] != 1) return true;
    return false;
}

/* Every place of the windows of x as a last axis; padding is `value`. */
static gcut_ref unfolded(gcut_onnx_node *n, gcut_ref x, const windows *w, double value)
{
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_dim low[GCUT_MAX_RANK] = {0}, high[GCUT_MAX_RANK] = {0}, dim[GCUT_MAX_RANK], out[MOST];
    for (uint32_t k = 0; k < w->n; k++)
        low[2 + k] = w->low[k], high[2 + k] = w->high[k], out[k] = count(n, w, k, t.dim[2 + k]);
    x = gcut_onnx_pad(n, x, low, high, (gcut_num){.f = value});
    for (uint32_t k = 0; k < w->n; k++) { /* the new axis goes after all; earlier ones are merged with it */
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
        gcut_onnx_set(n, 0, pool(n, GCUT_OP_max_pool_nd, x, &w));
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
    if (!is_dilated(w)) return pool(n, GCUT_OP_avg_pool_nd, x, w);
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
    const bool padding = gcut_onnx_int(n, "count_include_pad", 0), ceil = gcut_onnx_int(n, "ceil_mode", 0);
    windows w = pool_windows(n, &t);
    const windows stated = w;
    bool all = !ceil; /* every window has as many elements as its size says */
    for (uint32_t k = 0; k < w.n; k++) all = all && (padding || (!w.low[k] && !w.high[k]));
    if (all || is_dilated(&w)) {
        if (ceil) ceil_windows(n, &w, &t);
        gcut_ref y = mean_of(n, x, &w);
        if (!all) y = gcut_onnx_binary(n, GCUT_OP_div, y, counted(n, &t, &w, padding, &stated));
        gcut_onnx_set(n, 0, y);
        return;
    }
    gcut_attr a[5];
    uint32_t na = window_attrs(n, &w, a);
    a[na++] = gcut_attr_dims(n->b.g->module, GCUT_KEY_window, w.size, w.n);
    a[na++] = gcut_attr_bool(GCUT_KEY_ceil, ceil);
    a[na++] = gcut_attr_bool(GCUT_KEY_skip_pad, !padding);
    gcut_onnx_set(n, 0, gcut_onnx_node_new(n, GCUT_OP_avg_pool_nd, &x, 1, a, na));
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
    gcut_ref mean = gcut_onnx_reshape(n, pool(n, GCUT_OP_avg_pool_nd, squares, &w), t.dim, t.rank);
    gcut_ref base = gcut_baddc(&n->b, gcut_bscale(&n->b, mean, alpha), bias);
    gcut_onnx_set(
        n, 0,
        gcut_b2(&n->b, GCUT_OP_div, x, gcut_b2(&n->b, GCUT_OP_pow, base, gcut_bconst(&n->b, base, beta))));
}

/* Elements at the indices that a pool of maxima gave. */
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

/* ---- sums of blocks ---- */

/* An input that has a list of integers. */
static gcut_onnx_list integers(gcut_onnx_node *n, uint32_t i, const char *what)
{
    if (!gcut_onnx_has(n, i)) GCUT_ONNX_WRONG(n, "%s is missing", what);
    return gcut_onnx_input_or_attr(n, i, what);
}

/* The blocks [N, C K, L] added up where they lie in the image [N, C, D1, …]: for each of the K places in a block, an image
 * of the L elements that are there, spaced out by the stride. */
void gcut_onnx_col2im(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), sum = 0;
    const gcut_type t = gcut_onnx_type(n, x);
    const gcut_onnx_list image = integers(n, 1, "the shape of the image"),
                         block = integers(n, 2, "the shape of a block"),
                         stride = gcut_onnx_ints(n, "strides"), dilation = gcut_onnx_ints(n, "dilations"),
                         pads = gcut_onnx_ints(n, "pads");
    const uint32_t axes = image.n;
    int64_t elements = 1;
    if (axes < 1 || axes > MOST) GCUT_ONNX_UNSUPPORTED(n, "expected an image of 1 to %d axes", MOST);
    if (t.rank != 3 || block.n != axes || (stride.at && stride.n != axes) ||
        (dilation.at && dilation.n != axes) || (pads.at && pads.n != 2 * axes))
        GCUT_ONNX_WRONG(n, "expected blocks, strides, dilations and pads of %u axes", (unsigned)axes);
    gcut_dim dim[GCUT_MAX_RANK] = {t.dim[0]}, padded[GCUT_MAX_RANK] = {0}, interior[GCUT_MAX_RANK] = {0};
    for (uint32_t k = 0; k < axes; k++) {
        const int64_t step = stride.at ? stride.at[k] : 1, apart = dilation.at ? dilation.at[k] : 1;
        if (block.at[k] < 1 || block.at[k] > 1 << 10 || step < 1 || apart < 1 || apart > INT32_MAX)
            GCUT_ONNX_WRONG(n,
                            "expected blocks of 1 to 1024, strides of 1 or more, and dilations of 1 to 2^31");
        if (pads.at && (pads.at[k] < 0 || pads.at[axes + k] < 0))
            GCUT_ONNX_WRONG(n, "expected pads of 0 or more");
        gcut_onnx_need_size(n, image.at[k]);
        elements *= block.at[k];
        padded[3 + k] =
            gcut_onnx_dim(n, GCUT_DIM_ADD, image.at[k], pads.at ? pads.at[k] + pads.at[axes + k] : 0);
        const gcut_dim room = gcut_onnx_dim(n, GCUT_DIM_SUB, padded[3 + k], apart * (block.at[k] - 1) + 1);
        dim[3 + k] = gcut_onnx_dim(n, GCUT_DIM_ADD, gcut_onnx_dim(n, GCUT_DIM_DIV, room, step), 1);
        interior[2 + k] = step - 1;
    }
    if (elements > 1 << 10) GCUT_ONNX_UNSUPPORTED(n, "a block has more than 1024 elements");
    const gcut_dim channels = gcut_onnx_dim(n, GCUT_DIM_DIV, t.dim[1], elements);
    dim[1] = channels;
    dim[2] = elements;
    x = gcut_onnx_reshape(n, x, dim, 3 + axes);
    for (uint32_t k = 2; k < 2 + axes; k++) dim[k] = dim[k + 1], padded[k] = padded[k + 1];
    for (int64_t p = 0; p < elements; p++) {
        gcut_dim low[GCUT_MAX_RANK] = {0}, high[GCUT_MAX_RANK] = {0};
        int64_t rest = p;
        for (uint32_t k = axes; k-- > 0; rest /= block.at[k]) {
            low[2 + k] = rest % block.at[k] * (dilation.at ? dilation.at[k] : 1);
            const gcut_dim last = gcut_onnx_dim(
                n, GCUT_DIM_MUL, gcut_onnx_dim(n, GCUT_DIM_SUB, dim[2 + k], 1), interior[2 + k] + 1);
            high[2 + k] = gcut_onnx_dim(n, GCUT_DIM_SUB, padded[2 + k],
                                        gcut_onnx_dim(n, GCUT_DIM_ADD, last, low[2 + k] + 1));
        }
        gcut_ref part = gcut_onnx_reshape(n, gcut_onnx_slice(n, x, 2, p, p + 1, 1), dim, 2 + axes);
        part = gcut_bpad(&n->b, part, low, high, interior);
        sum = sum ? gcut_b2(&n->b, GCUT_OP_add, sum, part) : part;
    }
    for (uint32_t k = 0; k < axes && pads.at; k++) {
        const gcut_dim end = gcut_onnx_dim(n, GCUT_DIM_ADD, image.at[k], pads.at[k]);
        sum = gcut_onnx_slice(n, sum, 2 + k, pads.at[k], end, 1);
    }
    gcut_onnx_set(n, 0, sum);
}
