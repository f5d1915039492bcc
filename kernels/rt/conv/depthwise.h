/* SPDX-License-Identifier: MIT
 *
 * Depthwise convolutions: groups of one channel.  A row of the result is a sum of shifted rows of the image,
 * one for each tap of the window, times a number of w each; of a window of 3 * 3 with padding 1
 *
 *     y row i  =  w00 (row i-1 from -1 on) + w01 (row i-1 from 0 on) + w02 (row i-1 from 1 on)
 *               + w10 (row i   from -1 on) + ...
 *
 *     columns  0 | 1 2 3 ... n-2 | n-1
 *              ^   ^               ^
 *              |   all taps are inside of the image: vectors (depthwise_rows_kernel.h)
 *              some are not: one by one
 */
#ifndef GCUT_KERNELS_RT_CONV_DEPTHWISE_H
#define GCUT_KERNELS_RT_CONV_DEPTHWISE_H

#include "gradcut/gradcut_rt.h"

static inline int64_t madds(const gcut_rt_conv *g)
{
    return g->n * g->o * g->oh * g->ow * (g->c / g->groups) * g->kh * g->kw;
}

/* Places of y, first and after the last, where a tap at `offset` is inside of an axis of x. */
static inline void inside(int64_t offset, int64_t stride, int64_t size, int64_t places, int64_t *lo,
                          int64_t *hi)
{
    *lo = stride == 1 ? -offset : gcut_rt_ceildiv(-offset, stride);
    *hi = stride == 1 ? size - offset : gcut_rt_ceildiv(size - offset, stride);
    *lo = gcut_rt_min(gcut_rt_max(*lo, 0), places);
    *hi = gcut_rt_min(gcut_rt_max(*hi, *lo), places);
}

/* gcut_rt_conv_y, _x and _w with c == groups. */
void gcut_rt_depthwise_y_f32(const gcut_rt_conv *g, const float *x, const float *w, float *y, int threads);
void gcut_rt_depthwise_x_f32(const gcut_rt_conv *g, const float *y, const float *w, float *x, int threads);
void gcut_rt_depthwise_w_f32(const gcut_rt_conv *g, const float *x, const float *y, float *w, int threads);
void gcut_rt_depthwise_y_f64(const gcut_rt_conv *g, const double *x, const double *w, double *y, int threads);
void gcut_rt_depthwise_x_f64(const gcut_rt_conv *g, const double *y, const double *w, double *x, int threads);
void gcut_rt_depthwise_w_f64(const gcut_rt_conv *g, const double *x, const double *y, double *w, int threads);

#endif
