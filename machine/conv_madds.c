/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a multiply-add of a convolution costs (conv_madds.h).
 *
 * Beside its multiply-adds, a convolution copies the image that its windows slide over to panels, packs or adds up the window,
 * and walks over the other image.  Of few channels or images it has fewer multiply-adds for each of these.
 */
#include "machine/conv_madds.h"

#include <math.h>

/* ---- products ---- */

/* What an element costs, in multiply-adds: of the image that windows slide over, of the other image, of the window.  Fitted to
 * times of 40 shapes in three directions, with 1 to 1280 channels and windows from 1 * 1 to 16 * 16, by AVX-512. */
#define SOURCE_MADDS 12
#define OTHER_MADDS 5
#define WINDOW_MADDS 90

/* What a multiply-add costs with its share of these.  A group is a product: of y, its window [out, in * taps] times what
 * is under it, [in * taps, places]; a gradient of x is one for each lattice of x, of every stride-th element.  Taps read
 * the same copy of an element where windows overlap. */
static double product_madds(const gcut_conv_sizes *c, gcut_way way, gcut_window window)
{
    const double strides = c->stride[0] * c->stride[1];
    double taps = c->kernel[0] * c->kernel[1], overlap = fmax(1, taps / strides),
           places = way == GCUT_WAY_conv_x ? c->images * c->x[0] * c->x[1] / strides
                                           : c->images * c->y[0] * c->y[1];
    if (window == GCUT_WINDOW_tiled)
        places /= 4, taps = overlap = 1; /* tiles of 2 * 2 results, transformed */
    const double rows = way == GCUT_WAY_conv_x ? c->in : c->out,
                 depth = way == GCUT_WAY_conv_x ? fmax(1, c->out * taps / strides) : c->in * taps;
    return 1 + SOURCE_MADDS / (rows * overlap) + OTHER_MADDS / depth + WINDOW_MADDS / places;
}

/* ---- depthwise ---- */

/* What a plane of a depthwise convolution (kernels/rt/conv/depthwise.h) costs beside the multiply-adds of whole vectors over
 * its results and those between its rows, in multiply-adds of a vector: for each row that is copied, of the source and of the
 * results; for the plane; for each lattice of results; for each element of x, where every stride-th is read or written; and,
 * once for all images, for the sum of the lanes of each tap of w.
 * Fitted to times of planes from 2 * 2 to 64 * 64 under windows of 3 * 3 and 5 * 5 with strides of 1 and 2, by AVX-512. */
#define ROW_MADDS 5
#define PLANE_MADDS 15
#define LATTICE_MADDS 35
#define READ_MADDS 0.25
#define WRITTEN_MADDS 0.6
#define TAP_MADDS 25

/* The multiply-adds of vectors of a plane, over those of numbers that its results need.  A row of the copy has halo columns
 * more than there are results. */
static double plane_madds(const gcut_conv_sizes *c, gcut_way way, double lanes)
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

/* ---- in the sizes that calibrate measures ---- */

static gcut_conv_sizes measured_sizes(gcut_window window)
{
    const gcut_measured_conv *m = &gcut_measured_convs[window];
    const double size = m->size, kernel = m->kernel, stride = m->stride, y = size / stride;
    return (gcut_conv_sizes){.images = m->images,
                             .in = m->channels / m->groups,
                             .out = m->out / m->groups,
                             .x = {size, size},
                             .y = {y, y},
                             .kernel = {kernel, kernel},
                             .stride = {stride, stride},
                             .dilation = {1, 1}};
}

double gcut_conv_cost_of_madd(const gcut_conv_sizes *c, gcut_way way, gcut_window window, double lanes)
{
    const gcut_conv_sizes m = measured_sizes(window);
    if (window == GCUT_WINDOW_depthwise) return plane_madds(c, way, lanes) / plane_madds(&m, way, lanes);
    return product_madds(c, way, window) / product_madds(&m, way, window);
}
