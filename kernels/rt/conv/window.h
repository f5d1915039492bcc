/* SPDX-License-Identifier: MIT
 *
 * What convolutions and pools count of their windows.
 */
#ifndef GCUT_KERNELS_RT_CONV_WINDOW_H
#define GCUT_KERNELS_RT_CONV_WINDOW_H

#include "gradcut/gradcut_rt.h"

static inline int64_t gcd(int64_t a, int64_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

static inline int64_t madds(const gcut_rt_conv *g)
{
    return g->n * g->o * g->oh * g->ow * (g->c / g->groups) * g->kh * g->kw;
}

/* Places of y, first and after the last, where a tap at `offset` is inside of an axis of x. */
static inline void inside(int64_t offset, int64_t stride, int64_t size, int64_t places, int64_t *lo,
                          int64_t *hi)
{
    *lo = stride == 1 ? -offset : gcut_rt_ceildiv(-offset, stride);
    *hi = stride == 1 ? size - offset : gcut_rt_ceildiv(size - offset, stride);
    *lo = gcut_rt_min(gcut_rt_max(*lo, 0), places);
    *hi = gcut_rt_min(gcut_rt_max(*hi, *lo), places);
}

#endif
