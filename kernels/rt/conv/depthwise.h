/* SPDX-License-Identifier: MIT
 *
 * Depthwise convolutions: groups of one channel.  A plane of the image is copied with zeros around it, its rows `pitch`
 * apart, so that the results of all rows, with some that are thrown away between them, are one long row: a sum of long rows
 * of the image, one for each tap of the window, times a number of w each.  Of a window of 3 * 3 with padding 1 over 3 * 4
 *
 *     0 0 0 0 0 0      result at   sum over the taps (k, l) of
 *     0 a b c d 0      i pitch + j   w[k, l] image[i pitch + j + k pitch + l]
 *     0 e f g h 0
 *     0 i j k l 0      j = pitch - 2 and pitch - 1 are thrown away
 *     0 0 0 0 0 0
 *
 * With a stride an image is copied as its lattices, of every stride-th element: the elements under one tap are of one of
 * them, and lie as those without a stride do.  The gradient of the image is such a sum over y for each of its own lattices,
 * over the taps that it sees, and the gradient of w, of each tap, the dot product of two long rows, one of y with zeros where
 * results are thrown away.  So one infinity or NaN in a channel may make all taps of that channel NaN.
 */
#ifndef GCUT_KERNELS_RT_CONV_DEPTHWISE_H
#define GCUT_KERNELS_RT_CONV_DEPTHWISE_H

#include "gradcut/gradcut_rt.h"

/* gcut_rt_conv_y, _x and _w with c == groups. */
void gcut_rt_depthwise_y_f32(const gcut_rt_conv *g, const float *x, const float *w, float *y, int threads);
void gcut_rt_depthwise_x_f32(const gcut_rt_conv *g, const float *y, const float *w, float *x, int threads);
void gcut_rt_depthwise_w_f32(const gcut_rt_conv *g, const float *x, const float *y, float *w, int threads);
void gcut_rt_depthwise_y_f64(const gcut_rt_conv *g, const double *x, const double *w, double *y, int threads);
void gcut_rt_depthwise_x_f64(const gcut_rt_conv *g, const double *y, const double *w, double *x, int threads);
void gcut_rt_depthwise_w_f64(const gcut_rt_conv *g, const double *x, const double *y, double *w, int threads);

#endif
