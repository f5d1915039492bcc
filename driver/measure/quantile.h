/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Quantiles of measured times.
 */
#ifndef GCUT_DRIVER_MEASURE_QUANTILE_H
#define GCUT_DRIVER_MEASURE_QUANTILE_H

#include <stddef.h>

void gcut_sort_reals(double *x, size_t n);
/* The quantile q, 0 to 1, of n >= 1 sorted values, interpolated between neighbours. */
double gcut_quantile(const double *x, size_t n, double q);

#endif
