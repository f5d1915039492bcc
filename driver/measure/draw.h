/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Draws for orders of rounds and for resamples, as a function of a seed and a counter.
 */
#ifndef GCUT_DRIVER_MEASURE_DRAW_H
#define GCUT_DRIVER_MEASURE_DRAW_H

#include <stddef.h>

#include "gradcut/rt_random.h"

/* What is drawn: draws of two kinds share no counter. */
typedef enum gcut_draw_kind { GCUT_DRAW_ORDER, GCUT_DRAW_RESAMPLE } gcut_draw_kind;

/* A number below n, 1 to 2^32: draw i, below 2^32, of list `list`, below 2^30. */
static inline size_t gcut_draw(uint64_t seed, gcut_draw_kind kind, size_t list, size_t i, size_t n)
{
    const uint64_t counter = (uint64_t)kind << 62 | (uint64_t)list << 32 | (uint64_t)i;
    return (size_t)(gcut_random_f64((int64_t)seed, (int64_t)counter) * (double)n);
}

#endif
