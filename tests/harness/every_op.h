/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every function of gradcut/ops.h and gradcut/shorthand.h in the form users write, as C and as C++: the file
 * is included by tests/graph/test_ops.c and by tests/cxx/every_op.cc.
 */
#ifndef GCUT_TESTS_EVERY_OP_H
#define GCUT_TESTS_EVERY_OP_H

#include "gradcut/gradcut.h"

/* Each value is followed by what the text IR calls the same op; gcut_apply builds its twin from that. */
typedef void every_op_fn(void *user, gcut_val made, const char *op, const gcut_val *in, int n,
                         const char *attrs);

#define EVERY_1(value, op, a, attrs)                                                                         \
    do {                                                                                                     \
        const gcut_val in_[] = {a};                                                                          \
        fn(user, value, op, in_, 1, attrs);                                                                  \
    } while (0)
#define EVERY_2(value, op, a, b, attrs)                                                                      \
    do {                                                                                                     \
        const gcut_val in_[] = {a, b};                                                                       \
        fn(user, value, op, in_, 2, attrs);                                                                  \
    } while (0)
#define EVERY_3(value, op, a, b, c, attrs)                                                                   \
    do {                                                                                                     \
        const gcut_val in_[] = {a, b, c};                                                                    \
        fn(user, value, op, in_, 3, attrs);                                                                  \
    } while (0)
#define EVERY_UNARY(op) EVERY_1(gcut_##op(x), #op, x, "")
#define EVERY_BINARY(op) EVERY_2(gcut_##op(x, y), #op, x, y, "")

static inline void every_elementwise(gcut_graph *g, every_op_fn *fn, void *user)
{
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(3, 4)),
             y = gcut_input(g, "y", GCUT_F32, GCUT_SHAPE(3, 4));
    gcut_val p = gcut_input(g, "p", GCUT_BOOL, GCUT_SHAPE(3, 4));
    gcut_val slope = gcut_input(g, "slope", GCUT_F32, GCUT_SHAPE(4));
    EVERY_UNARY(neg);
    EVERY_UNARY(abs);
    EVERY_UNARY(sign);
    EVERY_UNARY(exp);
    EVERY_UNARY(expm1);
    EVERY_UNARY(log);
    EVERY_UNARY(log1p);
    EVERY_UNARY(sqrt);
    EVERY_UNARY(rsqrt);
    EVERY_UNARY(sin);
    EVERY_UNARY(cos);
    EVERY_UNARY(tanh);
    EVERY_UNARY(sigmoid);
    EVERY_UNARY(erf);
    EVERY_UNARY(relu);
    EVERY_UNARY(gelu);
    EVERY_UNARY(silu);
    EVERY_UNARY(softplus);
    EVERY_UNARY(elu);
    EVERY_UNARY(leaky_relu);
    EVERY_2(gcut_prelu(x, slope), "prelu", x, slope, "");
    EVERY_UNARY(hardsigmoid);
    EVERY_UNARY(hardswish);
    EVERY_UNARY(mish);
    EVERY_UNARY(tan);
    EVERY_UNARY(atan);
    EVERY_UNARY(asin);
    EVERY_UNARY(acos);
    EVERY_UNARY(sinh);
    EVERY_UNARY(cosh);
    EVERY_UNARY(asinh);
    EVERY_UNARY(acosh);
    EVERY_UNARY(atanh);
    EVERY_UNARY(floor);
    EVERY_UNARY(ceil);
    EVERY_UNARY(round);
    EVERY_UNARY(isnan);
    EVERY_UNARY(stop_gradient);
    EVERY_1(gcut_not(p), "not", p, "");
    EVERY_1(gcut_gelu(x, "tanh"), "gelu", x, "approx=\"tanh\"");
    EVERY_1(gcut_elu(x, 0.5), "elu", x, "alpha=0.5");
    EVERY_1(gcut_leaky_relu(x, 0), "leaky_relu", x, "slope=0.0");
    EVERY_BINARY(add);
    EVERY_BINARY(sub);
    EVERY_BINARY(mul);
    EVERY_BINARY(div);
    EVERY_BINARY(pow);
    EVERY_BINARY(max);
    EVERY_BINARY(min);
    EVERY_BINARY(mod);
    EVERY_BINARY(eq);
    EVERY_BINARY(ne);
    EVERY_BINARY(lt);
    EVERY_BINARY(le);
    EVERY_BINARY(gt);
    EVERY_BINARY(ge);
    EVERY_2(gcut_and(p, p), "and", p, p, "");
    EVERY_2(gcut_or(p, p), "or", p, p, "");
    EVERY_2(gcut_xor(p, p), "xor", p, p, "");
    EVERY_3(gcut_select(p, x, y), "select", p, x, y, "");
    EVERY_2(gcut_masked_fill(x, p, 3), "masked_fill", x, p, "value=3.0");
    EVERY_1(gcut_triu(x), "triu", x, "");
    EVERY_1(gcut_triu(x, 1), "triu", x, "diagonal=1.0");
    EVERY_1(gcut_tril(x, -1), "tril", x, "diagonal=-1.0");
    EVERY_1(gcut_cast(x, GCUT_BF16), "cast", x, "to=\"bf16\"");
    EVERY_1(gcut_clamp(x, -1, 1), "clamp", x, "lo=-1.0, hi=1.0");
    EVERY_2(gcut_mse(x, y), "mse", x, y, "");
    EVERY_2(gcut_huber(x, y), "huber", x, y, "");
    EVERY_2(gcut_bce(x, y), "bce", x, y, "");
}

static inline void every_move(gcut_graph *g, every_op_fn *fn, void *user)
{
    gcut_dim N = gcut_dim_sym(g, "N", 1, GCUT_DIM_MAX);
    gcut_val a = gcut_input(g, "a", GCUT_F32, GCUT_SHAPE(N, 4, 6)),
             v = gcut_input(g, "v", GCUT_F32, GCUT_SHAPE(6));
    gcut_val i = gcut_range(gcut_input(g, "i", GCUT_I64, GCUT_SHAPE(5)), 0, 4);
    gcut_val j = gcut_range(gcut_input(g, "j", GCUT_I32, GCUT_SHAPE(N, 4)), 0, 6);
    gcut_val u = gcut_input(g, "u", GCUT_F32, GCUT_SHAPE(N, 5, 6));
    EVERY_1(gcut_reshape(a, N, 24), "reshape", a, "shape=[N, 24]");
    EVERY_1(gcut_reshape(a, N, 2, -1, 3), "reshape", a, "shape=[N, 2, 4, 3]");
    EVERY_1(gcut_reshape(a, -1), "reshape", a, "shape=[24*N]");
    EVERY_1(gcut_transpose(a, 0, 2, 1), "transpose", a, "perm=[0, 2, 1]");
    EVERY_1(gcut_transpose(a, -1, 0, 1), "transpose", a, "perm=[2, 0, 1]");
    EVERY_1(gcut_broadcast(v, GCUT_SHAPE(N, 6), GCUT_SHAPE(1)), "broadcast", v, "shape=[N, 6], axes=[1]");
    EVERY_1(gcut_slice(a, -1, 2, 5), "slice", a, "start=[0, 0, 2], limit=[N, 4, 5]");
    EVERY_1(gcut_slice_all(a, GCUT_SHAPE(0, 1, 0), GCUT_SHAPE(N, 4, 6)), "slice", a,
            "start=[0, 1, 0], limit=[N, 4, 6]");
    EVERY_1(gcut_slice_all(a, GCUT_SHAPE(0, 1, 0), GCUT_SHAPE(N, 4, 6), GCUT_SHAPE(1, 2, 3)), "slice", a,
            "start=[0, 1, 0], limit=[N, 4, 6], step=[1, 2, 3]");
    EVERY_1(gcut_pad(v, GCUT_SHAPE(1), GCUT_SHAPE(2)), "pad", v, "low=[1], high=[2]");

    gcut_pad_options how = {3, GCUT_SHAPE(1)};
    EVERY_1(gcut_pad(v, GCUT_SHAPE(0), GCUT_SHAPE(0), how), "pad", v,
            "low=[0], high=[0], interior=[1], value=3.0");

    const gcut_val both[] = {a, u};
    fn(user, gcut_concat(both, 2, 1), "concat", both, 2, "axis=1");
    EVERY_1(gcut_flip(a, 0, -1), "flip", a, "axes=[0, 2]");
    EVERY_1(gcut_roll(a, -1, -2), "roll", a, "axis=2, shift=-2.0");
    EVERY_1(gcut_reflection_pad(v, GCUT_SHAPE(1), GCUT_SHAPE(2)), "reflection_pad", v, "low=[1], high=[2]");
    EVERY_1(gcut_replication_pad(v, GCUT_SHAPE(1), GCUT_SHAPE(2)), "replication_pad", v, "low=[1], high=[2]");
    EVERY_1(gcut_circular_pad(v, GCUT_SHAPE(1), GCUT_SHAPE(2)), "circular_pad", v, "low=[1], high=[2]");

    fn(user, gcut_dim_of(g, N), "dim", NULL, 0, "of=N");
    fn(user, gcut_full(g, GCUT_I32, GCUT_SHAPE(N, 2), 7), "full", NULL, 0,
       "shape=[N, 2], value=7, dtype=\"i32\"");
    fn(user, gcut_const(g, GCUT_F64, 0.5), "full", NULL, 0, "shape=[], value=0.5, dtype=\"f64\"");
    fn(user, gcut_iota(g, GCUT_F32, GCUT_SHAPE(N, 2), -1), "iota", NULL, 0,
       "shape=[N, 2], axis=1, dtype=\"f32\"");
    EVERY_2(gcut_take(a, i, 1), "take", a, i, "axis=1");
    EVERY_2(gcut_pick(a, j, -1), "pick", a, j, "axis=2");
    EVERY_1(gcut_bounded(i, 4), "bounded", i, "of=4");
    EVERY_3(gcut_scatter_add(a, i, u, 1), "scatter_add", a, i, u, "axis=1");
    EVERY_1(gcut_cumsum(a, 1), "cumsum", a, "axis=1");
    EVERY_1(gcut_cumsum(a, 1, true), "cumsum", a, "axis=1, reverse=true");
    EVERY_1(gcut_cumprod(a, -2), "cumprod", a, "axis=1");
    EVERY_1(gcut_argmax(a, -1), "argmax", a, "axis=2");
    EVERY_1(gcut_argsort(a, -1), "argsort", a, "axis=2");
    EVERY_1(gcut_argsort(a, 0, true), "argsort", a, "axis=0, descending=true");
    EVERY_1(gcut_sort(a, 1), "sort", a, "axis=1");
    EVERY_1(gcut_sort(a, 1, true), "sort", a, "axis=1, descending=true");
    EVERY_1(gcut_topk(a, 2, -1, true, NULL), "topk", a, "k=2, axis=2");
    EVERY_1(gcut_topk(a, 1, 1, false, NULL), "topk", a, "k=1, axis=1, largest=false");
    gcut_val order = gcut_argsort(a, 1);
    EVERY_2(gcut_take_along(a, order, 1), "take_along", a, order, "axis=1");
    EVERY_3(gcut_scatter_add_along(a, order, a, 1), "scatter_add_along", a, order, a, "axis=1");
    EVERY_1(gcut_one_hot(i, GCUT_F64, 4), "one_hot", i, "n=4, dtype=\"f64\"");
    gcut_val places = gcut_reshape(i, 5, 1);
    EVERY_2(gcut_take_nd(v, places), "take_nd", v, places, "");
    gcut_val parts = gcut_take_nd(v, places);
    EVERY_3(gcut_scatter_add_nd(v, places, parts), "scatter_add_nd", v, places, parts, "");
    EVERY_1(gcut_argmin(a, 0), "argmin", a, "axis=0");
}

static inline void every_reduction(gcut_graph *g, every_op_fn *fn, void *user)
{
    gcut_val r = gcut_input(g, "r", GCUT_F32, GCUT_SHAPE(2, 3, 4));
    EVERY_1(gcut_sum(r), "sum", r, "");
    EVERY_1(gcut_var(r, GCUT_SHAPE(1)), "var", r, "axes=[1]");
    gcut_var_options population = {true, GCUT_ZERO};
    EVERY_1(gcut_var(r, GCUT_SHAPE(0, -1), population), "var", r, "axes=[0, 2], keep=true, correction=0.0");
    EVERY_1(gcut_std(r, GCUT_SHAPE(1)), "std", r, "axes=[1]");
    EVERY_1(gcut_sum(r, 0, -1), "sum", r, "axes=[0, 2]");
    EVERY_1(gcut_sum_keep(r), "sum", r, "keep=true");
    EVERY_1(gcut_mean(r), "mean", r, "");
    EVERY_1(gcut_mean_keep(r, 1), "mean", r, "axes=[1], keep=true");
    EVERY_1(gcut_max_reduce(r, 1), "max_reduce", r, "axes=[1]");
    EVERY_1(gcut_min_reduce(r, 1), "min_reduce", r, "axes=[1]");
    EVERY_1(gcut_prod(r, 1, 2), "prod", r, "axes=[1, 2]");
    EVERY_1(gcut_logsumexp(r, -1), "logsumexp", r, "axes=[2]");
    EVERY_1(gcut_softmax(r, -1), "softmax", r, "axis=2");
    EVERY_1(gcut_log_softmax(r, 0), "log_softmax", r, "axis=0");
}

static inline void every_layer(gcut_graph *g, every_op_fn *fn, void *user)
{
    gcut_val m = gcut_input(g, "m", GCUT_F32, GCUT_SHAPE(3, 4)),
             w = gcut_input(g, "w", GCUT_F32, GCUT_SHAPE(4, 5));
    gcut_val t = gcut_range(gcut_input(g, "t", GCUT_I32, GCUT_SHAPE(3)), 0, 4);
    gcut_val h = gcut_input(g, "h", GCUT_F32, GCUT_SHAPE(4));
    gcut_val image = gcut_input(g, "image", GCUT_F32, GCUT_SHAPE(2, 4, 6, 6));
    gcut_val kernel = gcut_input(g, "kernel", GCUT_F32, GCUT_SHAPE(8, 4, 3, 3));
    gcut_val q = gcut_input(g, "q", GCUT_F32, GCUT_SHAPE(1, 2, 3, 4));
    gcut_val bias = gcut_input(g, "bias", GCUT_F32, GCUT_SHAPE(1, 2, 3, 3));
    gcut_val key = gcut_rng(g, "key"), next[2];
    EVERY_2(gcut_matmul(m, w), "matmul", m, w, "");
    EVERY_2(gcut_matmul_t(w, m, true, true), "matmul", w, m, "ta=true, tb=true");
    EVERY_3(gcut_layer_norm(m, h, h, 1e-6), "layer_norm", m, h, h, "eps=1e-6");
    EVERY_3(gcut_layer_norm(m, h, h), "layer_norm", m, h, h, "eps=1e-5");
    EVERY_2(gcut_rms_norm(m, h, 1e-5), "rms_norm", m, h, "");
    EVERY_3(gcut_group_norm(image, h, h, 2, 1e-5), "group_norm", image, h, h, "groups=2");
    EVERY_3(gcut_instance_norm(image, h, h, 1e-3), "instance_norm", image, h, h, "eps=1e-3");
    EVERY_2(gcut_cross_entropy(m, t), "cross_entropy", m, t, "");
    EVERY_2(gcut_nll(m, t), "nll", m, t, "");

    gcut_cross_entropy_options smooth = {GCUT_ZERO, 0.1};
    EVERY_2(gcut_cross_entropy(m, t, smooth), "cross_entropy", m, t, "ignore=0.0, smooth=0.1");
    EVERY_3(gcut_attention(q, q, q), "attention", q, q, q, "");

    gcut_attention_options causal = {true, 0.25, {NULL, 0, 0}};
    EVERY_3(gcut_attention(q, q, q, causal), "attention", q, q, q, "causal=true, scale=0.25");

    causal.bias = bias;
    const gcut_val four[] = {q, q, q, bias};
    fn(user, gcut_attention(q, q, q, causal), "attention", four, 4, "causal=true, scale=0.25");
    gcut_conv conv = {0, {2, 0}, {1, 1, 1, 1}, {0, 0}, {0, 0}};
    EVERY_2(gcut_conv2d(image, kernel), "conv2d", image, kernel, "");
    EVERY_2(gcut_conv2d(image, kernel, conv), "conv2d", image, kernel, "stride=[2, 2], pad=[1, 1, 1, 1]");

    conv.output_pad[0] = 1;
    gcut_val back = gcut_input(g, "back", GCUT_F32, GCUT_SHAPE(2, 8, 3, 3));
    EVERY_2(gcut_conv_transpose2d(back, kernel, conv), "conv_transpose2d", back, kernel,
            "stride=[2, 2], pad=[1, 1, 1, 1], output_pad=[1, 0]");

    gcut_pool pool = {{2, 0}, {0, 0}, {0, 0, 0, 0}};
    EVERY_1(gcut_max_pool2d(image, pool), "max_pool2d", image, "window=[2, 2]");
    EVERY_1(gcut_avg_pool2d(image, pool), "avg_pool2d", image, "window=[2, 2]");
    EVERY_2(gcut_conv_nd(image, kernel), "conv_nd", image, kernel, "");
    gcut_conv_nd_options strided = {0, GCUT_SHAPE(2, 1), GCUT_SHAPE(1, 1, 1, 1), GCUT_SHAPE(1, 2)};
    EVERY_2(gcut_conv_nd(image, kernel, strided), "conv_nd", image, kernel,
            "stride=[2, 1], pad=[1, 1, 1, 1], dilation=[1, 2]");
    gcut_conv_transpose_nd_options longer = {0, GCUT_SHAPE(2, 2), GCUT_SHAPE(0, 0, 0, 1), GCUT_SHAPE(1, 1),
                                             GCUT_SHAPE(1, 2)};
    EVERY_2(gcut_conv_transpose_nd(back, kernel, longer), "conv_transpose_nd", back, kernel,
            "stride=[2, 2], pad=[0, 0, 0, 1], dilation=[1, 1], output_pad=[1, 2]");
    EVERY_1(gcut_max_pool_nd(image, GCUT_SHAPE(2, 3)), "max_pool_nd", image, "window=[2, 3]");
    gcut_avg_pool_nd_options inside = {false, true, GCUT_SHAPE(1, 2), GCUT_SHAPE(1, 1, 0, 0)};
    EVERY_1(gcut_avg_pool_nd(image, GCUT_SHAPE(2, 3), inside), "avg_pool_nd", image,
            "window=[2, 3], stride=[1, 2], pad=[1, 1, 0, 0], ceil=false, skip_pad=true");
    EVERY_1(gcut_adaptive_avg_pool(image, 1, 1), "adaptive_avg_pool", image, "shape=[1, 1]");
    EVERY_1(gcut_adaptive_max_pool(image, 2), "adaptive_max_pool", image, "shape=[2]");
    EVERY_1(gcut_resize(image, GCUT_SHAPE(9, 4)), "resize", image, "shape=[9, 4]");
    gcut_resize_options linear = {"linear", true};
    EVERY_1(gcut_resize(image, GCUT_SHAPE(9, 4), linear), "resize", image,
            "shape=[9, 4], mode=\"linear\", align_corners=true");
    EVERY_1(gcut_upsample(image, GCUT_SHAPE(2, 3)), "upsample", image, "factor=[2, 3]");
    EVERY_1(gcut_upsample(image, GCUT_SHAPE(2, 2), "bilinear"), "upsample", image,
            "factor=[2, 2], mode=\"bilinear\"");

    gcut_val xt = gcut_input(g, "xt", GCUT_F32, GCUT_SHAPE(3, 2, 5)),
             ht = gcut_input(g, "ht", GCUT_F32, GCUT_SHAPE(2, 1)), wx[3], wh[3], bt[3];
    static const char *const names[] = {"wx1", "wh1", "bt1", "wx3", "wh3", "bt3", "wx4", "wh4", "bt4"};
    for (int k = 0; k < 3; k++) {
        gcut_dim rows = k ? k + 2 : 1;
        wx[k] = gcut_input(g, names[3 * k], GCUT_F32, GCUT_SHAPE(rows, 5));
        wh[k] = gcut_input(g, names[3 * k + 1], GCUT_F32, GCUT_SHAPE(rows, 1));
        bt[k] = gcut_input(g, names[3 * k + 2], GCUT_F32, GCUT_SHAPE(rows));
    }
    const gcut_val of_rnn[] = {xt, ht, wx[0], wh[0], bt[0], bt[0]};
    fn(user, gcut_rnn(xt, ht, wx[0], wh[0], bt[0], bt[0], "relu", false, next), "rnn", of_rnn, 6,
       "mode=\"relu\", reverse=false");
    const gcut_val of_gru[] = {xt, ht, wx[1], wh[1], bt[1], bt[1]};
    fn(user, gcut_gru(xt, ht, wx[1], wh[1], bt[1], bt[1], true, next), "gru", of_gru, 6, "reverse=true");
    const gcut_val of_lstm[] = {xt, ht, ht, wx[2], wh[2], bt[2], bt[2]};
    fn(user, gcut_lstm(xt, ht, ht, wx[2], wh[2], bt[2], bt[2], false, next), "lstm", of_lstm, 7,
       "reverse=false");

    const gcut_val five[] = {image, h, h, h, h};
    fn(user, gcut_batch_norm(image, h, h, h, h, 1e-5, 0.1, next), "batch_norm", five, 5, "");
    EVERY_1(gcut_uniform(key, GCUT_F32, GCUT_SHAPE(3), -1, 0), "uniform", key, "shape=[3], lo=-1.0, hi=0.0");
    EVERY_1(gcut_normal(key, GCUT_F64, GCUT_SHAPE(3), 1, 2), "normal", key,
            "shape=[3], mean=1.0, std=2.0, dtype=\"f64\"");
    EVERY_1(gcut_key_split(key, 3), "key_split", key, "n=3");
    EVERY_2(gcut_dropout(m, key, 0.5), "dropout", m, key, "p=0.5");
    EVERY_2(gcut_random(key, key, GCUT_F32), "random", key, key, "");
}

static inline void every_op(gcut_graph *g, every_op_fn *fn, void *user)
{
    every_elementwise(g, fn, user);
    every_move(g, fn, user);
    every_reduction(g, fn, user);
    every_layer(g, fn, user);
}

#endif
