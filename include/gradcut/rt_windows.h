/* SPDX-License-Identifier: MIT
 *
 * Convolutions and pools of the run-time library.
 */
#ifndef GRADCUT_RT_WINDOWS_H
#define GRADCUT_RT_WINDOWS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* x [n, c, h, w] under a window w [o, c/groups, kh, kw] at the places of y [n, o, oh, ow]: the product
 * sum of y[n,o,i,j] x[n,c,i*stride+k*dilation-pad,…] w[o,c,k,l] as a function of one of the three.  All
 * packed; pad is that above and on the left.  Any number of threads gives the same bits.  `work` is scratch
 * of conv_y, as many elements as w, and of conv_x, as many as w has in the taps that one element of x sees:
 * none for a window of one element on all of the image, or when gcut_rt_conv_tapwise says so.  Of conv_w it is
 * gcut_rt_conv_w_shares times as many elements as w where that is more than 1.  With NULL conv_w makes one sum, whose
 * rounding differs.
 *
 * `winograd` lets all three multiply less (kernels/rt/conv/winograd_type.h), for windows of 3 * 3 with
 * strides and dilations of 1: then rounding errors are a few times larger, and go by the largest number that
 * a tile of 2 * 2 results sees; what is infinite, NaN or within a factor of 16 of overflow may make all four
 * NaN; and `work` has instead GCUT_RT_WINOGRAD_W elements for each pair of channels of a group, and
 * GCUT_RT_WINOGRAD_C for each channel of a group of the operands that are images; the former lie after the
 * latter, as all of them are used whatever the sizes are. */
enum { GCUT_RT_WINOGRAD_W = 16, GCUT_RT_WINOGRAD_C = 4352 };
typedef struct gcut_rt_conv {
    int64_t n, c, h, w;
    int64_t o, oh, ow;
    int64_t kh, kw;
    int64_t stride[2], pad[2], dilation[2], groups;
    int winograd;
} gcut_rt_conv;

/* Is it a depthwise convolution: several groups of one channel, with fewer than 8 results each?  It has
 * kernels of its own, without workspace (kernels/rt/conv/depthwise.h).  In the gradient of its window, one infinity or
 * NaN in a channel may make all taps of that channel NaN. */
static inline int gcut_rt_conv_tapwise(int64_t c, int64_t o, int64_t groups)
{
    return c == groups && groups > 1 && o < 8 * groups;
}

/* The number of partial sums over places that conv_w makes and adds up: 1, 2, 4, 8 or 16.  Few channels and results give
 * threads fewer than GCUT_RT_CONV_W_TASKS parts, and shares of the places make up for it.  1: conv_w needs no scratch. */
enum { GCUT_RT_CONV_W_TASKS = 16 };
static inline int64_t gcut_rt_conv_w_shares(int64_t c, int64_t o, int64_t groups)
{
    const int64_t in = groups > 0 ? c / groups : 0, out = groups > 0 ? (o / groups + 3) / 4 : 0,
                  parts = groups * (in > out ? in : out);
    int64_t shares = 1;
    if (gcut_rt_conv_tapwise(c, o, groups) || parts <= 0) return 1;
    while (2 * shares * parts <= GCUT_RT_CONV_W_TASKS) shares *= 2;
    return shares;
}

/* x [planes, h, w] under a window of kh * kw at the places of y [planes, oh, ow]. */
typedef struct gcut_rt_pool {
    int64_t planes, h, w, oh, ow;
    int64_t window[2], stride[2], pad[2];
} gcut_rt_pool;

#define GCUT_RT_WINDOW(name, type)                                                                           \
    void gcut_rt_conv_y_##name(const gcut_rt_conv *g, const type *x, const type *w, type *y, type *work,     \
                               int threads);                                                                 \
    void gcut_rt_conv_x_##name(const gcut_rt_conv *g, const type *y, const type *w, type *x, type *work,     \
                               int threads);                                                                 \
    void gcut_rt_conv_w_##name(const gcut_rt_conv *g, const type *x, const type *y, type *w, type *work,     \
                               int threads);                                                                 \
    /* y = the largest of each window, a NaN if there is one; -inf when it covers padding alone */           \
    void gcut_rt_max_pool_##name(const gcut_rt_pool *g, const type *x, type *y, int threads);                \
    /* out, like x: y added at the first largest element of each window */                                   \
    void gcut_rt_max_pool_grad_##name(const gcut_rt_pool *g, const type *x, const type *y, type *out,        \
                                      int threads);                                                          \
    /* out, like y: t, like x, at the first largest element of each window */                                \
    void gcut_rt_max_pool_take_##name(const gcut_rt_pool *g, const type *x, const type *t, type *out,        \
                                      int threads);                                                          \
    /* y = the sum of each window / (kh * kw), and its transpose */                                          \
    void gcut_rt_avg_pool_##name(const gcut_rt_pool *g, const type *x, type *y, int threads);                \
    void gcut_rt_avg_pool_grad_##name(const gcut_rt_pool *g, const type *y, type *x, int threads);
GCUT_RT_WINDOW(f32, float)
GCUT_RT_WINDOW(f64, double)
#undef GCUT_RT_WINDOW

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
