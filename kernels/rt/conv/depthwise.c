/* SPDX-License-Identifier: MIT
 *
 * Depthwise convolutions (depthwise.h).
 */
#include "kernels/rt/conv/depthwise.h"

#include <string.h>

#include "kernels/rt/conv/window.h"
#include "kernels/rt/threads/packing_memory.h"

/* Picoseconds of a multiply-add, for the choice of threads. */
enum { TAP_PS = 40 };
/* Taps of one pass over a long row. */
enum { PASS = 64 };
/* Lattices that a tile knows at a time, of sources and of results: all those of a stride of 2. */
enum { LISTS = 4 };
/* Vectors whose dot product is summed up in their own type, before it is added to a double. */
enum { SUMMED = 256 };
/* A copy of (a part of) a plane, and as much for results. */
enum { PLANE_BYTES = 72 << 10 };
/* Parts of a plane are at most so wide. */
enum { WIDEST = 1024, NARROWEST = 64 };

/* One axis of a plane of results over a plane of sources.  Under tap k result i sees source element
 * (i * stride + first + k * step) / every, if that is an integer: of y over x, `stride` is that of the convolution and
 * every = 1, of x over y the other way round.  Results r, r + every, … are a lattice: they see the same taps.  Sources
 * b, b + stride, … are one, too: under one tap all results of a lattice see elements of one of them, side by side. */
typedef struct tap_axis {
    int64_t results, sources;
    int64_t every, stride;
    int64_t taps, first, step;
    int64_t most, last; /* lattices up to `last` have `most` results, the others one less */
} tap_axis;

static tap_axis with_lattices(tap_axis a)
{
    a.most = gcut_rt_ceildiv(a.results, a.every);
    a.last = gcut_rt_mod(a.results - 1, a.every);
    return a;
}

static tap_axis axis_of_y(const gcut_rt_conv *g, int d)
{
    return with_lattices((tap_axis){.results = d ? g->ow : g->oh,
                                    .sources = d ? g->w : g->h,
                                    .every = 1,
                                    .stride = g->stride[d],
                                    .taps = d ? g->kw : g->kh,
                                    .first = -g->pad[d],
                                    .step = g->dilation[d]});
}

static tap_axis axis_of_x(const gcut_rt_conv *g, int d)
{
    return with_lattices((tap_axis){.results = d ? g->w : g->h,
                                    .sources = d ? g->ow : g->oh,
                                    .every = g->stride[d],
                                    .stride = 1,
                                    .taps = d ? g->kw : g->kh,
                                    .first = g->pad[d],
                                    .step = -g->dilation[d]});
}

static int64_t lattices(const tap_axis *a)
{
    return gcut_rt_min(a->every, a->results);
}

/* Results of lattice r. */
static int64_t results_of(const tap_axis *a, int64_t r)
{
    return a->most - (r > a->last);
}

/* Does lattice r of results see the tap?  Then its result i sees source element i * stride + *at. */
static int sees(const tap_axis *a, int64_t r, int64_t k, int64_t *at)
{
    const int64_t v = r * a->stride + a->first + k * a->step;
    *at = gcut_rt_floordiv(v, a->every);
    return *at * a->every == v;
}

/* Taps k and k + period lie in the same lattice of sources. */
static int64_t period(const tap_axis *a)
{
    return a->stride / gcd(a->stride, a->step < 0 ? -a->step : a->step);
}

/* The lattice of sources that tap k lies in. */
static int64_t source_lattice(const tap_axis *a, int64_t k)
{
    return a->stride == 1 ? 0 : gcut_rt_mod(a->first + k * a->step, a->stride);
}

/* Taps k0 to k1 along one axis: how many lattices of sources they lie in, and the elements of one that the first results of
 * all lattices see, lo to hi. */
typedef struct tap_range {
    int64_t k0, k1, lo, hi, lattices;
} tap_range;

static tap_range range_of(const tap_axis *a, int64_t k0, int64_t k1)
{
    const int64_t one = a->first + k0 * a->step, other = a->first + (k1 - 1) * a->step,
                  most = (lattices(a) - 1) * a->stride + gcut_rt_max(one, other);
    return (tap_range){.k0 = k0,
                       .k1 = k1,
                       .lo = gcut_rt_floordiv(gcut_rt_floordiv(gcut_rt_min(one, other), a->every), a->stride),
                       .hi = gcut_rt_floordiv(gcut_rt_floordiv(most, a->every), a->stride),
                       .lattices = gcut_rt_min(k1 - k0, period(a))};
}

/* How planes are taken apart: in tiles of `places` results of each lattice along an axis, under `taps` taps at a time. */
typedef struct tiling {
    int64_t places[2], taps[2];
    int64_t pitch; /* of rows of the source, and of results */
    int64_t tiles[2], ranges[2];
} tiling;

/* An upper bound on the elements of a lattice of sources that n results see under `taps` taps, minus n. */
static int64_t halo(const tap_axis *a, int64_t taps)
{
    if (taps == a->taps) {
        const tap_range all = range_of(a, 0, taps);
        return all.hi - all.lo;
    }
    const int64_t step = a->step < 0 ? -a->step : a->step;
    return ((taps - 1) * step + (lattices(a) - 1) * a->stride) / (a->every * a->stride) + 1;
}

static int64_t elements_of(const tap_axis a[2], const tiling *t)
{
    int64_t n = 1;
    for (int d = 0; d < 2; d++)
        n *= gcut_rt_min(t->taps[d], period(&a[d])) * (t->places[d] + halo(&a[d], t->taps[d]));
    return n;
}

/* The largest tiles that fit; `parts`: in which a plane is to be taken apart at least, where it has the rows. */
static tiling tiling_of(const tap_axis a[2], int64_t elements, int64_t parts)
{
    tiling t = {.taps = {a[0].taps, a[1].taps}};
    for (int d = 0; d < 2; d++) t.places[d] = gcut_rt_max(results_of(&a[d], 0), 1);
    if (parts > 1) t.places[0] = gcut_rt_ceildiv(t.places[0], parts);
    while (elements_of(a, &t) > elements) {
        int64_t *n = t.places[1] > WIDEST      ? &t.places[1]
                     : t.places[0] > 1         ? &t.places[0]
                     : t.places[1] > NARROWEST ? &t.places[1]
                     : t.taps[0] > 1           ? &t.taps[0]
                                               : &t.taps[1];
        *n = gcut_rt_ceildiv(*n, 2);
    }
    t.pitch = t.places[1] + halo(&a[1], t.taps[1]);
    for (int d = 0; d < 2; d++) {
        t.tiles[d] = gcut_rt_ceildiv(results_of(&a[d], 0), t.places[d]);
        t.ranges[d] = gcut_rt_ceildiv(a[d].taps, t.taps[d]);
    }
    return t;
}

#define KERNEL "kernels/rt/conv/depthwise_kernel.h"
#include "kernels/rt/each_kernel.h"

#define TEMPLATE "kernels/rt/conv/depthwise_type.h"
#include "kernels/rt/each_type.h"
