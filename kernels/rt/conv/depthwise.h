/* SPDX-License-Identifier: MIT
 *
 * Convolutions of groups of one channel, tap by tap, and where a tap lies inside of an image.
 */
#ifndef GCUT_KERNELS_RT_CONV_DEPTHWISE_H
#define GCUT_KERNELS_RT_CONV_DEPTHWISE_H

#include "gradcut/gradcut_rt.h"

static inline int64_t madds(const gcut_rt_conv *g)
{
    return g->n * g->o * g->oh * g->ow * (g->c / g->groups) * g->kh * g->kw;
}

/* Places of y, first and behind the last, where a tap at `offset` lies inside of an axis of x. */
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
