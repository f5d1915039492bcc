/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Quantiles of measured times.
 */
#include "driver/measure/quantile.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void gcut_sort_reals(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_value);
}

double gcut_quantile(const double *x, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? x[i] + (at - (double)i) * (x[i + 1] - x[i]) : x[i];
}
