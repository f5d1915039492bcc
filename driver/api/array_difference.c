/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The largest difference between the elements of two arrays.
 */
#include "driver/api/array_difference.h"

#include <math.h>

double gcut_largest(const gcut_array *y)
{
    double scale = 0;
    for (int64_t i = 0; i < y->n; i++) {
        double v = gcut_dtype_is_float(y->dtype) ? y->u.f[i] : (double)y->u.i[i];
        if (isfinite(v) && fabs(v) > scale) scale = fabs(v);
    }
    return scale;
}

gcut_difference gcut_difference_of(const gcut_array *x, const gcut_array *y, double least,
                                   const gcut_noise *n)
{
    gcut_difference d = {0, -1};
    double scale = fmax(gcut_largest(y), least);
    bool real = gcut_dtype_is_float(y->dtype);
    for (int64_t i = 0; i < y->n; i++) {
        double a = real ? x->u.f[i] : (double)x->u.i[i], b = real ? y->u.f[i] : (double)y->u.i[i];
        if (a == b || (isnan(a) && isnan(b)) || (n && fabs(n->moment.u.f[i]) <= n->floor)) continue;
        double e = fabs(a - b) / (scale > 0 ? scale : 1);
        if (!isfinite(e)) e = INFINITY;
        if (e > d.rel || d.index < 0) d = (gcut_difference){e, i};
    }
    return d;
}
