/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a multiply-add of a convolution costs in its sizes, over its cost in those whose rate calibrate measures.
 */
#ifndef GCUT_MACHINE_CONV_MADDS_H
#define GCUT_MACHINE_CONV_MADDS_H

#include "machine/machine.h"

/* The sizes of a convolution, > 0; along axis 0 rows, along axis 1 columns. */
typedef struct gcut_conv_sizes {
    double images, in, out; /* in, out: channels of x and of y in a group */
    double x[2], y[2], kernel[2], stride[2], dilation[2];
} gcut_conv_sizes;

/* way: one of the three conv ways; lanes: elements of a vector. */
double gcut_conv_cost_of_madd(const gcut_conv_sizes *c, gcut_way way, gcut_window window, double lanes);

#endif
