/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layers over gradcut's builder.
 */
#include "net.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

net net_new(gcut_ctx *ctx, const char *name, gcut_dtype dtype)
{
    net n = {.g = gcut_graph_new(ctx, name), .dtype = dtype, .seed = 1};
    if (n.g) n.batch = gcut_dim_sym(n.g, "N", 1, GCUT_DIM_MAX);
    return n;
}

void net_scope(net *n, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(n->scope, sizeof n->scope, format, ap);
    va_end(ap);
    gcut_scope(n->g, n->scope[0] ? n->scope : NULL);
}

/* What follows belongs to a layer of that part, until end_layer. */
static void begin_layer(const net *n, const char *layer)
{
    char path[128];
    snprintf(path, sizeof path, "%s%s%s", n->scope, n->scope[0] && layer[0] ? "/" : "", layer);
    gcut_scope(n->g, path[0] ? path : NULL);
}

static gcut_val end_layer(const net *n, gcut_val y)
{
    gcut_scope(n->g, n->scope[0] ? n->scope : NULL);
    return y;
}

gcut_val net_x(net *n, gcut_shape shape)
{
    return gcut_cast(gcut_input(n->g, "x", GCUT_F32, shape), n->dtype);
}

gcut_val net_wide(const net *n, gcut_val v)
{
    return gcut_cast(v, n->dtype == GCUT_F64 ? GCUT_F64 : GCUT_F32);
}

void net_loss(net *n, gcut_val logits, gcut_val labels)
{
    gcut_output(n->g, "loss", gcut_cross_entropy(net_wide(n, logits), labels));
}

/* ---- parameters ---- */

typedef struct full_name {
    char at[128];
} full_name;

static full_name name_of(const net *n, const char *layer, const char *name)
{
    full_name f;
    snprintf(f.at, sizeof f.at, "%s%s%s%s%s", n->scope, n->scope[0] ? "." : "", layer, layer[0] ? "." : "",
             name);
    return f;
}

static gcut_val make(net *n, const char *layer, const char *name, gcut_shape shape, const char *contents)
{
    int64_t count = 1;
    for (int d = 0; d < shape.rank; d++) count *= shape.dim[d];
    n->parameters += count;
    n->seed++;
    return gcut_initial(gcut_param(n->g, name_of(n, layer, name).at, n->dtype, shape), contents);
}

gcut_val net_normal(net *n, const char *layer, const char *name, gcut_shape shape, double deviation)
{
    char contents[64];
    snprintf(contents, sizeof contents, "normal(%lld, %.6g)", (long long)n->seed, deviation);
    return make(n, layer, name, shape, contents);
}

gcut_val net_splat(net *n, const char *layer, const char *name, gcut_shape shape, double value)
{
    char contents[64];
    snprintf(contents, sizeof contents, "splat(%.6g)", value);
    return make(n, layer, name, shape, contents);
}

gcut_val net_state(net *n, const char *layer, const char *name, gcut_shape shape, double value)
{
    char contents[64];
    snprintf(contents, sizeof contents, "splat(%.6g)", value);
    return gcut_initial(gcut_state(n->g, name_of(n, layer, name).at, n->dtype, shape), contents);
}

gcut_val net_ids(net *n, const char *name, gcut_shape shape, int64_t below)
{
    return gcut_range(gcut_input(n->g, name, GCUT_I32, shape), 0, below);
}

/* ---- dense layers ---- */

static int64_t last_size(gcut_val x)
{
    gcut_shape s = gcut_shape_of(x);
    return s.rank ? s.dim[s.rank - 1] : 1;
}

gcut_val net_linear_plain(net *n, const char *layer, gcut_val x, int64_t out, double deviation)
{
    int64_t in = last_size(x);
    gcut_val w =
        net_normal(n, layer, "w", GCUT_SHAPE(in, out), deviation > 0 ? deviation : sqrt(1.0 / (double)in));
    begin_layer(n, layer);
    return end_layer(n, gcut_matmul(x, w));
}

gcut_val net_linear(net *n, const char *layer, gcut_val x, int64_t out, double deviation)
{
    gcut_val y = net_linear_plain(n, layer, x, out, deviation);
    gcut_val b = net_splat(n, layer, "b", GCUT_SHAPE(out), 0);
    begin_layer(n, layer);
    return end_layer(n, gcut_add(y, b));
}

gcut_val net_layer_norm(net *n, const char *layer, gcut_val x)
{
    gcut_shape c = GCUT_SHAPE(last_size(x));
    gcut_val gain = net_splat(n, layer, "g", c, 1); /* a statement each: parameters are numbered in order */
    gcut_val bias = net_splat(n, layer, "b", c, 0);
    begin_layer(n, layer);
    return end_layer(n, gcut_layer_norm(x, gain, bias, 1e-5));
}

gcut_val net_embedding(net *n, const char *layer, gcut_val ids, int64_t rows, int64_t channels,
                       double deviation)
{
    return gcut_take(net_normal(n, layer, "w", GCUT_SHAPE(rows, channels), deviation), ids, 0);
}

/* ---- convolutions ---- */

gcut_val net_conv(net *n, const char *layer, gcut_val x, int64_t out, conv c)
{
    int64_t groups = c.groups ? c.groups : 1, stride = c.stride ? c.stride : 1;
    int64_t in = gcut_shape_of(x).dim[1] / groups;
    double deviation = sqrt(2.0 / (double)(in * c.kernel * c.kernel));
    gcut_val w = net_normal(n, layer, "w", GCUT_SHAPE(out, in, c.kernel, c.kernel), deviation);
    begin_layer(n, layer);
    return end_layer(n, gcut_conv2d(x, w,
                                    (gcut_conv){.stride = {stride, stride},
                                                .pad = {c.pad, c.pad, c.pad, c.pad},
                                                .groups = groups}));
}

static gcut_val add_to_channels(net *n, const char *layer, gcut_val x)
{
    int64_t c = gcut_shape_of(x).dim[1];
    gcut_val b = net_splat(n, layer, "b", GCUT_SHAPE(c), 0);
    begin_layer(n, layer);
    return end_layer(n, gcut_add(x, gcut_reshape(b, c, 1, 1)));
}

gcut_val net_conv_bias(net *n, const char *layer, gcut_val x, int64_t out, conv c)
{
    return add_to_channels(n, layer, net_conv(n, layer, x, out, c));
}

gcut_val net_conv_transpose(net *n, const char *layer, gcut_val x, int64_t out, int64_t factor)
{
    int64_t in = gcut_shape_of(x).dim[1];
    gcut_val w = net_normal(n, layer, "w", GCUT_SHAPE(in, out, factor, factor), sqrt(2.0 / (double)in));
    begin_layer(n, layer);
    gcut_val y = end_layer(n, gcut_conv_transpose2d(x, w, (gcut_conv){.stride = {factor, factor}}));
    return add_to_channels(n, layer, y);
}

gcut_val net_batch_norm(net *n, const char *layer, gcut_val x)
{
    gcut_shape c = GCUT_SHAPE(gcut_shape_of(x).dim[1]);
    gcut_dtype dtype = n->dtype;
    if (dtype != GCUT_F64)
        n->dtype = GCUT_F32; /* running statistics move by less than a half float can say */
    begin_layer(n, layer);
    x = gcut_cast(x, n->dtype);
    gcut_val gain = net_splat(n, layer, "g", c, 1), bias = net_splat(n, layer, "b", c, 0);
    gcut_val mean = net_state(n, layer, "mean", c, 0), var = net_state(n, layer, "var", c, 1), next[2];
    gcut_val y = gcut_batch_norm(x, gain, bias, mean, var, 1e-5, 0.1, next);
    gcut_next(n->g, name_of(n, layer, "mean").at, next[0]);
    gcut_next(n->g, name_of(n, layer, "var").at, next[1]);
    n->dtype = dtype;
    return end_layer(n, gcut_cast(y, dtype));
}

gcut_val net_flatten(gcut_val x)
{
    gcut_shape s = gcut_shape_of(x);
    int64_t all = 1;
    for (int d = 1; d < s.rank; d++) all *= s.dim[d];
    return gcut_reshape(x, s.dim[0], all);
}

/* ---- attention ---- */

gcut_val net_split_heads(gcut_val x, int64_t heads)
{
    gcut_shape s = gcut_shape_of(x);
    return gcut_transpose(gcut_reshape(x, s.dim[0], s.dim[1], heads, s.dim[2] / heads), 0, 2, 1, 3);
}

gcut_val net_join_heads(gcut_val x)
{
    gcut_shape s = gcut_shape_of(x);
    return gcut_reshape(gcut_transpose(x, 0, 2, 1, 3), s.dim[0], s.dim[2], s.dim[1] * s.dim[3]);
}

gcut_val net_self_attention(net *n, gcut_val x, int64_t heads, bool causal, double deviation, double last)
{
    int64_t c = last_size(x);
    gcut_val qkv = net_linear(n, "attn.qkv", x, 3 * c, deviation), part[3];
    begin_layer(n, "attn");
    for (int k = 0; k < 3; k++) part[k] = net_split_heads(gcut_slice(qkv, -1, k * c, (k + 1) * c), heads);
    gcut_val y =
        net_join_heads(gcut_attention(part[0], part[1], part[2], (gcut_attention_options){.causal = causal}));
    end_layer(n, y);
    return net_linear(n, "attn.out", y, c, last);
}

gcut_val net_zeros(net *n, const char *shape, ...)
{
    char sizes[64], attrs[96];
    va_list ap;
    va_start(ap, shape);
    vsnprintf(sizes, sizeof sizes, shape, ap);
    va_end(ap);
    snprintf(attrs, sizeof attrs, "shape=[%s], value=0.0", sizes);
    return gcut_cast(gcut_apply(n->g, "full", NULL, 0, attrs), n->dtype);
}

gcut_val net_batch_size(net *n)
{
    return net_wide(n, gcut_apply(n->g, "dim", NULL, 0, "of=N"));
}

gcut_val net_apply(const char *op, gcut_val x, const char *attrs, ...)
{
    char text[160];
    va_list ap;
    va_start(ap, attrs);
    vsnprintf(text, sizeof text, attrs, ap);
    va_end(ap);
    return gcut_apply(x.graph, op, &x, 1, text);
}
