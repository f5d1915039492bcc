/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The time of one multiply-add of a convolution (conv_shape_factor.h).
 *
 * Beside its multiply-adds a convolution copies the image under the window to panels, packs the window or sums up its
 * gradient, and reads or writes the other image.  The fewer channels, taps or images there are, the fewer multiply-adds share
 * the time of one such element.
 */
#include "machine/conv_shape_factor.h"

#include <math.h>

/* ---- products ---- */

/* The time of one element, in multiply-adds: of the image under the window, of the other image, of the window.  Fitted to the
 * times of 41 shapes in all three ways, with 1 to 1280 channels and windows from 1 * 1 to 16 * 16, on AVX-512. */
#define SOURCE_MADDS 12
#define OTHER_MADDS 5
#define WINDOW_MADDS 90

/* The time of one multiply-add with its share of these elements.  For y a group multiplies its window [out, in * taps] by the
 * elements under it, [in * taps, places].  For x it makes one such product for each of the stride * stride lattices of x.
 * Where windows overlap, several taps read the same copy of an element. */
static double product_madds(const gcut_conv_shape *c, gcut_way way, gcut_window window)
{
    const double strides = c->stride[0] * c->stride[1];
    double taps = c->kernel[0] * c->kernel[1], overlap = fmax(1, taps / strides),
           places = way == GCUT_WAY_conv_x ? c->images * c->x[0] * c->x[1] / strides
                                           : c->images * c->y[0] * c->y[1];
    if (window == GCUT_WINDOW_tiled)
        places /= 4, taps = overlap = 1; /* a product over tiles of 2 * 2 places */
    const double rows = way == GCUT_WAY_conv_x ? c->in : c->out,
                 depth = way == GCUT_WAY_conv_x ? fmax(1, c->out * taps / strides) : c->in * taps;
    return 1 + SOURCE_MADDS / (rows * overlap) + OTHER_MADDS / depth + WINDOW_MADDS / places;
}

/* ---- depthwise ---- */

/* The time of a plane of a depthwise convolution (kernels/rt/conv/depthwise.h) is that of the multiply-adds of whole vectors
 * over its results and over the gaps between its rows, and of these numbers of further ones: for each row of x and of y, for
 * the plane, for each lattice of results, for each element of x that is read or written with a stride, and, once for all
 * images, for the sum of the lanes of each tap of w.  Fitted to the times of planes from 2 * 2 to 64 * 64 under windows of
 * 3 * 3 and 5 * 5 with strides of 1 and 2, on AVX-512. */
#define ROW_MADDS 5
#define PLANE_MADDS 15
#define LATTICE_MADDS 35
#define READ_MADDS 0.25
#define WRITTEN_MADDS 0.6
#define TAP_MADDS 25

/* The time of a plane in multiply-adds of vectors, per multiply-add of a number.  A row of the copy has `halo` columns more
 * than a row of results. */
static double plane_madds(const gcut_conv_shape *c, gcut_way way, double lanes)
{
    const double halo = (c->kernel[1] - 1) * c->dilation[1] / c->stride[1],
                 vectors = ceil(((c->y[0] - 1) * (c->y[1] + halo) + c->y[1]) / lanes),
                 taps = c->kernel[0] * c->kernel[1], strides = c->stride[0] * c->stride[1],
                 lattices = way == GCUT_WAY_conv_x ? strides : 1,
                 element = c->stride[1] == 1        ? 0
                           : way == GCUT_WAY_conv_x ? WRITTEN_MADDS
                                                    : READ_MADDS,
                 sums = way == GCUT_WAY_conv_w ? TAP_MADDS * taps / c->images : 0;
    return (vectors * taps + ROW_MADDS * (c->x[0] + c->y[0]) + PLANE_MADDS + LATTICE_MADDS * lattices +
            element * c->x[0] * c->x[1] + sums) /
           (c->y[0] * c->y[1] * taps);
}

/* ---- relative to the measured shape ---- */

static gcut_conv_shape measured_shape(gcut_window window)
{
    const gcut_measured_conv *m = &gcut_measured_convs[window];
    const double size = m->size, kernel = m->kernel, stride = m->stride, y = size / stride;
    return (gcut_conv_shape){.images = m->images,
                             .in = m->channels / m->groups,
                             .out = m->out / m->groups,
                             .x = {size, size},
                             .y = {y, y},
                             .kernel = {kernel, kernel},
                             .stride = {stride, stride},
                             .dilation = {1, 1}};
}

double gcut_conv_shape_factor(const gcut_conv_shape *c, gcut_way way, gcut_window window, double lanes)
{
    const gcut_conv_shape m = measured_shape(window);
    if (window == GCUT_WINDOW_depthwise) return plane_madds(c, way, lanes) / plane_madds(&m, way, lanes);
    return product_madds(c, way, window) / product_madds(&m, way, window);
}
