/* SPDX-License-Identifier: MIT
 *
 * Two-dimensional convolutions and their transposes, as matrix products over panels that are gathered from
 * the image in pieces on the stack:
 *
 *   y   for every place of the window a column of the elements under it, times w
 *   x   the same over y: x falls into stride[0] * stride[1] lattices, and the elements of one lattice see the
 *       same taps of the window, so that no product with a zero between strides is computed
 *   w   rows of the same columns, times y with its channels last
 *
 * Windows of one element are matrix products as they are; groups of one channel are added up tap by tap.
 *
 * An element is one chain of multiply-adds per KC (for w: PIXELS) steps of the sum, which are added in order:
 * its bits do not depend on how places, channels and taps are dealt out to threads.
 */
#include "gradcut/gradcut_rt.h"

#include "kernels/rt/small.h"
#include "kernels/rt/taps.h"

/* Columns of a strip of a panel, steps of the sum that a panel holds, rows of C between two passes over it.
 */
enum { STRIP = 32, KC = 128, ROWS = 64 };
/* Panel of x for the product with y: taps and places; the pitch keeps its rows off each other's cache sets.
 */
enum { TAPS = 32, PIXELS = 256, PITCH = PIXELS + 16 };
/* Picoseconds of a multiply-add, for the choice of threads. */
enum { GEMM_PS = 20 };

/* Taps along an axis: from place i, tap t is at i * stride + first + t * step. */
typedef struct axis {
    int64_t n, first, step;
} axis;

/* `n` places in a row, at column `at` of a panel. */
typedef struct segment {
    int64_t image, i, j, n, at;
} segment;

/* Cuts the places [begin, end) of images of rows * columns places into rows; returns how many pieces. */
static int cut(const int64_t places[2], int64_t begin, int64_t end, segment *s)
{
    int count = 0;
    int64_t j = begin % places[1], i = begin / places[1] % places[0];
    int64_t image = begin / places[1] / places[0];
    for (int64_t p = begin; p < end;) {
        int64_t n = gcut_rt_min(places[1] - j, end - p);
        s[count++] = (segment){image, i, j, n, p - begin};
        p += n;
        j = 0;
        if (++i == places[0]) i = 0, image++;
    }
    return count;
}

/* ---- the lattices of x ---- */

/* Along one axis, the elements r, r + stride, … of x: `places` of them, which see taps k0, k0 + every, … of
 * the window. */
typedef struct lattice {
    int64_t r, places, k0, every;
    axis tap; /* over y */
} lattice;

static lattice lattice_of(int64_t r, int64_t size, int64_t k, int64_t stride, int64_t dilation, int64_t pad)
{
    lattice l = {.r = r, .places = gcut_rt_ceildiv(size - r, stride), .every = 1};
    while (l.every * dilation % stride != 0) l.every++;
    while (l.k0 < l.every && gcut_rt_mod(r + pad - l.k0 * dilation, stride) != 0) l.k0++;
    if (size <= r) l.places = 0;
    if (l.k0 == l.every || l.k0 >= k) return l;
    l.tap = (axis){gcut_rt_ceildiv(k - l.k0, l.every), gcut_rt_floordiv(r + pad - l.k0 * dilation, stride),
                   -(l.every * dilation / stride)};
    return l;
}

/* ---- decisions ---- */

/* One product of w with the whole image. */
static int one_tap(const gcut_rt_conv *g)
{
    return g->kh == 1 && g->kw == 1 && g->stride[0] == 1 && g->stride[1] == 1 && g->pad[0] == 0 &&
           g->pad[1] == 0 && g->oh == g->h && g->ow == g->w;
}

static int tapwise(const gcut_rt_conv *g)
{
    return gcut_rt_conv_tapwise(g->c, g->o, g->groups);
}

/* Parts of n, in multiples of grain, that give `tasks` tasks enough for the threads. */
static int64_t parts_of(int64_t tasks, int64_t n, int64_t grain, int threads)
{
    if (threads <= 1 || tasks >= 4 * threads) return 1;
    return gcut_rt_max(1, gcut_rt_min(gcut_rt_ceildiv(n, grain), 4 * threads / gcut_rt_max(tasks, 1)));
}

#define T float
#define TYPE f32
#include "kernels/rt/conv_type.h"

#define T double
#define TYPE f64
#include "kernels/rt/conv_type.h"
