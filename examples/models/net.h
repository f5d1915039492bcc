/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layers over gradcut's builder, as the models of this folder use them: each
 * makes the parameters it needs, named by the scope and its own name.
 *
 * C leaves open in which order arguments are evaluated, and builder calls append
 * to a graph: of two calls that are arguments of one, each has a statement of its
 * own here, so that every compiler makes the same graph.
 */
#ifndef EXAMPLES_MODELS_NET_H
#define EXAMPLES_MODELS_NET_H

#include "gradcut/gradcut.h"

/* One model under construction. */
typedef struct net {
    gcut_graph *g;
    gcut_dim batch;     /* N, a symbol */
    gcut_dtype dtype;   /* of parameters and activations */
    char scope[48];     /* "block3": prefix of what is made next; "" at the top */
    int64_t parameters; /* numbers in all param values so far */
    int64_t seed;       /* of the next one */
} net;

/* A graph with the symbol N in 1... */
net net_new(gcut_ctx *ctx, const char *name, gcut_dtype dtype);

/* The input f32 "x" in the net's dtype. */
gcut_val net_x(net *n, gcut_shape shape);
/* An activation as losses and statistics take it: at least f32. */
gcut_val net_wide(const net *n, gcut_val v);
/* Ends with the output "loss": the mean cross entropy of logits[.., classes] and labels[..]. */
void net_loss(net *n, gcut_val logits, gcut_val labels);

/* What follows belongs to this part of the model; "" is the top. */
__attribute__((format(printf, 2, 3))) void net_scope(net *n, const char *format, ...);

/* Parameters and states named "scope.layer.name"; layer may be "". */
gcut_val net_normal(net *n, const char *layer, const char *name, gcut_shape shape, double deviation);
gcut_val net_splat(net *n, const char *layer, const char *name, gcut_shape shape, double value);
gcut_val net_state(net *n, const char *layer, const char *name, gcut_shape shape, double value);

/* x[.., in] w[in, out] (+ b[out]); weights of the given deviation, or 1/sqrt(in) for 0. */
gcut_val net_linear(net *n, const char *layer, gcut_val x, int64_t out, double deviation);
gcut_val net_linear_plain(net *n, const char *layer, gcut_val x, int64_t out, double deviation);
gcut_val net_layer_norm(net *n, const char *layer, gcut_val x);

/* A square convolution; 0 stands for stride 1, no padding, one group. */
typedef struct conv {
    int64_t kernel, stride, pad, groups;
} conv;
/* x[N, C, H, W] -> [N, out, H', W'], without and with a bias; weights keep the variance of rectified values.
 */
gcut_val net_conv(net *n, const char *layer, gcut_val x, int64_t out, conv c);
gcut_val net_conv_bias(net *n, const char *layer, gcut_val x, int64_t out, conv c);
/* Each element becomes a square of `factor` by `factor`. */
gcut_val net_conv_transpose(net *n, const char *layer, gcut_val x, int64_t out, int64_t factor);
/* Over all but axis 1, in f32 at least; the states "mean" and "var" follow the batches. */
gcut_val net_batch_norm(net *n, const char *layer, gcut_val x);
gcut_val net_flatten(gcut_val x); /* [N, ..] -> [N, all] */

/* x[N, T, heads * D] -> [N, heads, T, D] and back. */
gcut_val net_split_heads(gcut_val x, int64_t heads);
gcut_val net_join_heads(gcut_val x);
/* Multi-head attention of x[N, T, C] with itself, projections included; `deviation` is that of the weights,
 * `last` that of the projection to the residual stream. */
gcut_val net_self_attention(net *n, gcut_val x, int64_t heads, bool causal, double deviation, double last);

/* The table of rows w[rows, C] at ids[N, T]. */
gcut_val net_embedding(net *n, const char *layer, gcut_val ids, int64_t rows, int64_t channels,
                       double deviation);
/* An integer input with values in 0..below-1. */
gcut_val net_ids(net *n, const char *name, gcut_shape shape, int64_t below);

/* Zeros of a shape written as in the text IR: "N, 32". */
__attribute__((format(printf, 2, 3))) gcut_val net_zeros(net *n, const char *shape, ...);
/* N as a number of the graph, f32[], or f64[] in f64. */
gcut_val net_batch_size(net *n);
/* One attribute string for gcut_apply, formatted. */
__attribute__((format(printf, 3, 4))) gcut_val net_apply(const char *op, gcut_val x, const char *attrs, ...);

#endif
