/* SPDX-License-Identifier: MIT
 *
 * Pools and their transposes.  Planes are dealt out to threads whole, and a sum follows the places in
 * row-major order, then the window's: the bits do not depend on the number of threads.
 */
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/pooling/pool_2x2.h"
#include "kernels/rt/conv/depthwise.h"

/* Picoseconds of one element under one window. */
enum { STREAM_PS = 300, SEARCH_PS = 1500 };

/* The part of a window of k elements from `start` that lies on an axis of n. */
static void clip(int64_t start, int64_t k, int64_t n, int64_t *lo, int64_t *hi)
{
    *lo = gcut_rt_max(start, 0);
    *hi = gcut_rt_max(gcut_rt_min(start + k, n), *lo);
}

/* Windows of 2 * 2 that neither overlap nor see padding. */
static int is_2x2(const gcut_rt_pool *g)
{
    return g->window[0] == 2 && g->window[1] == 2 && g->stride[0] == 2 && g->stride[1] == 2 &&
           g->pad[0] == 0 && g->pad[1] == 0 && 2 * g->oh <= g->h && 2 * g->ow <= g->w;
}

static int worthwhile_threads(const gcut_rt_pool *g, int64_t ps, int threads)
{
    int64_t work = g->oh * g->ow * g->window[0] * g->window[1];
    return gcut_rt_threads_worth(threads, g->planes * gcut_rt_max(work, g->h * g->w), ps, g->planes);
}

#define TEMPLATE "kernels/rt/pooling/pool_type.h"
#include "kernels/rt/each_type.h"
