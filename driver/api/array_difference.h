/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The largest difference between the elements of two arrays.
 */
#ifndef GCUT_DRIVER_API_ARRAY_DIFFERENCE_H
#define GCUT_DRIVER_API_ARRAY_DIFFERENCE_H

#include "interp/interp.h"

/* Elements below this part of the largest gradient (or result) are compared relative to it: they may be sums
 * in which terms of that size cancel.  With the f32 tolerance of 1.2e-4, this allows an error of 10
 * roundings of the largest. */
#define GCUT_LEAST 1e-2

typedef struct gcut_difference {
    double rel;
    int64_t index; /* of the element; -1: they are equal */
} gcut_difference;

/* AdamW divides a moment by its magnitude.  Where a moment is 0 except for rounding (a key's bias has such a
 * gradient), the update is a full step in an arbitrary direction.  Elements with moments below `floor` are
 * not compared; the moments themselves are. */
typedef struct gcut_noise {
    gcut_array moment;
    double floor;
} gcut_noise;

/* The largest finite magnitude. */
double gcut_largest(const gcut_array *y);
/* The largest |x - y| over the largest |y|, which counts as at least `least`: a gradient that is zero except
 * for rounding (of a key's bias, say) has no relative error.  Two NaNs are equal, and so are two equal
 * infinities.  n NULL = compare every element. */
gcut_difference gcut_difference_of(const gcut_array *x, const gcut_array *y, double least,
                                   const gcut_noise *n);

#endif
