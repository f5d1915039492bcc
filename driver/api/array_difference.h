/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How far apart two arrays are.
 */
#ifndef GCUT_DRIVER_API_ARRAY_DIFFERENCE_H
#define GCUT_DRIVER_API_ARRAY_DIFFERENCE_H

#include "interp/interp.h"

/* Values below this part of the largest gradient (or result) are compared with it: they may be sums in which
 * terms of that size cancel.  In f32, whose tolerance is 1.2e-4, that allows 10 units of rounding of the
 * largest, no more. */
#define GCUT_LEAST 1e-2

typedef struct gcut_difference {
    double rel;
    int64_t index; /* of the element; -1: they are equal */
} gcut_difference;

/* AdamW divides a moment by its size, so that of one that is 0 but for rounding (of the gradient by a key's
 * bias, say) it makes a whole step, in any direction.  Elements whose moments are that small are not
 * compared; the moments themselves are. */
typedef struct gcut_noise {
    gcut_array moment;
    double floor;
} gcut_noise;

/* The largest magnitude that is finite. */
double gcut_largest(const gcut_array *y);
/* The largest |x - y| over the largest |y|, which counts as at least `least`: a gradient that is zero but for
 * rounding (of a key's bias, say) has no relative error.  NaN agrees with NaN, an infinity with itself.  n
 * NULL = every element counts. */
gcut_difference gcut_difference_of(const gcut_array *x, const gcut_array *y, double least,
                                   const gcut_noise *n);

#endif
