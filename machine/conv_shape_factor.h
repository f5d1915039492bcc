/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The time of one multiply-add of a convolution, relative to its time in the shape that calibrate measures.
 */
#ifndef GCUT_MACHINE_CONV_SHAPE_FACTOR_H
#define GCUT_MACHINE_CONV_SHAPE_FACTOR_H

#include "machine/machine.h"

/* All are > 0.  Pairs are of rows and of columns. */
typedef struct gcut_conv_shape {
    double images, in, out; /* in, out: channels of x and of y in a group */
    double x[2], y[2], kernel[2], stride[2], dilation[2];
} gcut_conv_shape;

/* Relative to gcut_measured_convs[window].  way: one of the three conv ways; lanes: elements of a vector. */
double gcut_conv_shape_factor(const gcut_conv_shape *c, gcut_way way, gcut_window window, double lanes);

#endif
