/* SPDX-License-Identifier: MIT
 *
 * Pools and their transposes.  Planes are dealt out to threads whole, and a sum follows the places in
 * row-major order, then the window's: the bits do not depend on the number of threads.
 */
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/conv/window.h"
#include "kernels/rt/pooling/pool_2x2.h"

enum { BLOCK = 256 }; /* windows that find_largest scans together */
/* Picoseconds of one element under one window. */
enum { STREAM_PS = 300, SEARCH_PS = 1500 };

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

/* Flat index in the plane of element k of window (oh, ow). */
static inline int64_t place_of(const gcut_rt_pool *g, int64_t oh, int64_t ow, int64_t k)
{
    return (oh * g->stride[0] + k / g->window[1] - g->pad[0]) * g->w + ow * g->stride[1] + k % g->window[1] -
           g->pad[1];
}

#define TEMPLATE "kernels/rt/pooling/pool_type.h"
#include "kernels/rt/each_type.h"
