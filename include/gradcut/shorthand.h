/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shorter forms of some ops of gradcut/ops.h, with the same rules for errors, axes and defaults.
 */
#ifndef GRADCUT_SHORTHAND_H
#define GRADCUT_SHORTHAND_H

#include "gradcut/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names the value in the text IR, tables and reports, in place of the name from its scope and op: letters,
 * digits, _ and ., unique in the graph.  Inputs and parameters are named when they are made, arguments of a body
 * may be.  Returns v. */
GCUT_API gcut_val gcut_name_at(gcut_here at, gcut_val v, const char *name);
#define gcut_name(v, name) gcut_name_at(GCUT_HERE, v, name)

/* A scalar constant; x times a number of its dtype. */
GCUT_API gcut_val gcut_const_at(gcut_here at, gcut_graph *g, gcut_dtype dtype, double value);
GCUT_API gcut_val gcut_scale_at(gcut_here at, gcut_val x, double factor);
#define gcut_const(g, dtype, value) gcut_const_at(GCUT_HERE, g, dtype, value)
#define gcut_scale(x, factor) gcut_scale_at(GCUT_HERE, x, factor)

/* a [.., M, K] times b [.., K, N]; ta, tb: the operand's last two axes are transposed.  Leading axes are
 * equal batch axes; a matrix b multiplies every row of an a of higher rank. */
GCUT_API gcut_val gcut_matmul_at(gcut_here at, gcut_val a, gcut_val b, bool ta, bool tb);
#define gcut_matmul(a, b) gcut_matmul_at(GCUT_HERE, a, b, false, false)
#define gcut_matmul_t(a, b, ta, tb) gcut_matmul_at(GCUT_HERE, a, b, ta, tb)

/* Einstein's summation in NumPy's notation, gcut_einsum("bhqd,bhkd->bhqk", q, k): products are taken from
 * left to right; no ellipsis; a letter has one size wherever it stands. */
GCUT_API gcut_val gcut_einsum_at(gcut_here at, const char *equation, const gcut_val *in, int n);
#ifdef __cplusplus
extern "C++" {
template <typename... V> inline gcut_val gcut_einsum_of(gcut_here at, const char *equation, V... v)
{
    const gcut_val in[] = {v...};
    return gcut_einsum_at(at, equation, in, static_cast<int>(sizeof...(v)));
}
}
#define gcut_einsum(...) gcut_einsum_of(GCUT_HERE, __VA_ARGS__)
#else
#define gcut_einsum(equation, ...)                                                                           \
    gcut_einsum_at(GCUT_HERE, equation, (const gcut_val[]){__VA_ARGS__},                                     \
                   (int)(sizeof((const gcut_val[]){__VA_ARGS__}) / sizeof(gcut_val)))
#endif

/* Elements from <= i < to along one axis. */
GCUT_API gcut_val gcut_slice_at(gcut_here at, gcut_val x, int axis, gcut_dim from, gcut_dim to);
/* Concatenates the n values along an axis. */
GCUT_API gcut_val gcut_concat_at(gcut_here at, const gcut_val *in, int n, int axis);
#define gcut_slice(x, axis, from, to) gcut_slice_at(GCUT_HERE, x, axis, from, to)
#define gcut_concat(...) gcut_concat_at(GCUT_HERE, __VA_ARGS__)

/* One of the keys that gcut_key_split makes. */
GCUT_API gcut_val gcut_key_of_at(gcut_here at, gcut_val keys, int i);
#define gcut_key_of(keys, i) gcut_key_of_at(GCUT_HERE, keys, i)

/* The k largest elements along an axis, the largest first, or the k smallest, the smallest first, if not `largest`: x's
 * shape with size k along the axis, k being at most its size.  Their indices, i64 of that shape, go to *indices, which
 * may be NULL.  NaN is the largest; of equal elements the one with the lower index comes first. */
GCUT_API gcut_val gcut_topk_at(gcut_here at, gcut_val x, gcut_dim k, int axis, bool largest,
                               gcut_val *indices);
#define gcut_topk(x, k, axis, largest, indices) gcut_topk_at(GCUT_HERE, x, k, axis, largest, indices)

/* A recurrent layer over the first axis of x [T, N, I], from its end if `reverse`, with PyTorch's weights: h and c [N, H],
 * wx [G H, I], wh [G H, H], bx and bh [G H], where G is 4 (lstm: i, f, g, o), 3 (gru: r, z, n) or 1.  Returns y [T, N, H]; the
 * last state h, and c of lstm, go to `last`, which may be NULL.  mode: "tanh" or "relu". */
GCUT_API gcut_val gcut_rnn_at(gcut_here at, gcut_val x, gcut_val h, gcut_val wx, gcut_val wh, gcut_val bx,
                              gcut_val bh, const char *mode, bool reverse, gcut_val *last);
GCUT_API gcut_val gcut_gru_at(gcut_here at, gcut_val x, gcut_val h, gcut_val wx, gcut_val wh, gcut_val bx,
                              gcut_val bh, bool reverse, gcut_val *last);
GCUT_API gcut_val gcut_lstm_at(gcut_here at, gcut_val x, gcut_val h, gcut_val c, gcut_val wx, gcut_val wh,
                               gcut_val bx, gcut_val bh, bool reverse, gcut_val last[2]);
#define gcut_rnn(...) gcut_rnn_at(GCUT_HERE, __VA_ARGS__)
#define gcut_gru(...) gcut_gru_at(GCUT_HERE, __VA_ARGS__)
#define gcut_lstm(...) gcut_lstm_at(GCUT_HERE, __VA_ARGS__)

/* x [N, C, ...]; mean and var are the running statistics [C]: states, whose new values go to next[0] and
 * next[1], for gcut_next. */
GCUT_API gcut_val gcut_batch_norm_at(gcut_here at, gcut_val x, gcut_val gain, gcut_val bias, gcut_val mean,
                                     gcut_val var, double eps, double momentum, gcut_val next[2]);
#define gcut_batch_norm(x, gain, bias, mean, var, eps, momentum, next)                                       \
    gcut_batch_norm_at(GCUT_HERE, x, gain, bias, mean, var, eps, momentum, next)

/* Parameters of a window on an image [N,C,H,W].  Members left 0 have their defaults: stride and dilation 1
 * (the first one counts for both directions when the second is 0), one group, and for a pool stride = window.
 */
typedef struct gcut_conv {
    int64_t groups;
    int64_t stride[2], pad[4], dilation[2]; /* pad: top, left, bottom, right */
    int64_t output_pad[2];                  /* of the transpose alone */
} gcut_conv;
typedef struct gcut_pool {
    int64_t window[2], stride[2], pad[4];
} gcut_pool;
/* w [O,C/groups,KH,KW]; for the transpose [C,O/groups,KH,KW].
 * gcut_conv2d(x, w), gcut_conv2d(x, w, (gcut_conv){.stride = {2, 2}, .pad = {1, 1, 1, 1}}) */
GCUT_API gcut_val gcut_conv2d_at(gcut_here at, gcut_val x, gcut_val w, gcut_conv how GCUT_ELSE_(gcut_conv()));
GCUT_API gcut_val gcut_conv_transpose2d_at(gcut_here at, gcut_val x, gcut_val w,
                                           gcut_conv how GCUT_ELSE_(gcut_conv()));
GCUT_API gcut_val gcut_max_pool2d_at(gcut_here at, gcut_val x, gcut_pool how);
GCUT_API gcut_val gcut_avg_pool2d_at(gcut_here at, gcut_val x, gcut_pool how);
#ifdef __cplusplus
#define gcut_conv2d(...) gcut_conv2d_at(GCUT_HERE, __VA_ARGS__)
#define gcut_conv_transpose2d(...) gcut_conv_transpose2d_at(GCUT_HERE, __VA_ARGS__)
#else
#define gcut_conv2d(...)                                                                                     \
    gcut_conv2d_at(GCUT_HERE, GCUT_FIRST_2_(__VA_ARGS__, ),                                                  \
                   GCUT_LAST_(gcut_conv, {0}, GCUT_AFTER_2_(__VA_ARGS__, )))
#define gcut_conv_transpose2d(...)                                                                           \
    gcut_conv_transpose2d_at(GCUT_HERE, GCUT_FIRST_2_(__VA_ARGS__, ),                                        \
                             GCUT_LAST_(gcut_conv, {0}, GCUT_AFTER_2_(__VA_ARGS__, )))
#endif
#define gcut_max_pool2d(x, ...) gcut_max_pool2d_at(GCUT_HERE, x, __VA_ARGS__)
#define gcut_avg_pool2d(x, ...) gcut_avg_pool2d_at(GCUT_HERE, x, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
