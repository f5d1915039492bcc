/* SPDX-License-Identifier: MIT
 *
 * Two-dimensional convolutions and their transposes, over panels that are gathered from the image in pieces
 * (im2col_panel.h, padded_panel.h) and micro-kernels that read them through offsets (conv_tile.h):
 *
 *   y   for every place of the window the sum of w times the elements under it
 *   x   the same over y: x falls into stride[0] * stride[1] lattices, and the elements of one lattice see the
 *       same taps of the window, so that no product with a zero between strides is computed
 *   w   dot products along the places: the elements under a tap times y
 *
 * Windows of one element are matrix products as they are; groups of one channel are depthwise
 * convolutions (depthwise.h), and 3 * 3 windows may go by Winograd tiles (winograd_type.h).
 *
 * An element of y or x is one chain of multiply-adds per block of channels, an element of w one per lane and
 * block of places, added up in order: its bits do not depend on how places, channels and taps are dealt out
 * to threads.
 */
#include <string.h>

#include "gradcut/gradcut_rt.h"

#include "kernels/rt/conv/im2col_panel.h"
#include "kernels/rt/conv/conv_tile.h"
#include "kernels/rt/conv/padded_panel.h"
#include "kernels/rt/gemm/small_product.h"
#include "kernels/rt/conv/depthwise.h"
#include "kernels/rt/conv/window.h"
#include "kernels/rt/threads/packing_memory.h"
#include "kernels/rt/vector.h"

/* Panels lie in the second-level cache. */
enum { PANEL_BYTES = 96 << 10 };
/* Blocks of tiles whose transforms exist at once: a round. */
enum { ROUND_BLOCKS = 8 };
/* Channels whose windows are transformed at a time. */
enum { WINDOWS = 16 };
/* Picoseconds of a multiply-add, and of moving an element of w, for the choice of threads.  The first is more
 * than GCUT_RT_MADD_PS, because panels are gathered from the image for it. */
enum { GEMM_PS = 20, PACK_PS = 500 };

/* Images of at most FEW_PLACES are joined for a product (joined_type.h): of 2 * 2 that takes 0.25 to 0.6 of the time on
 * Zen 4, of 3 * 3 0.8 to 2.2 times as long.  Places of joined images, for a product and for the gradient of w, at least. */
enum { FEW_PLACES = 4, PRODUCT_PLACES = 96, LONG_SUM = 256 };
/* Picoseconds of copying an element, for the choice of threads, and the most memory of the copies. */
enum { JOIN_PS = 300, JOINED_BYTES = (2 << 20) - 4096 };

/* ---- the lattices of x ---- */

/* Along one axis, the elements r, r + stride, … of x: `places` of them, which see taps k0, k0 + every, … of
 * the window.  There are as many lattices as the stride or, of a shorter axis, the elements. */
typedef struct lattice {
    int64_t r, places, k0, every;
    axis tap; /* over y */
} lattice;

static int64_t lattices(int64_t size, int64_t stride)
{
    return gcut_rt_min(size, stride);
}

static lattice lattice_of(int64_t r, int64_t size, int64_t k, int64_t stride, int64_t dilation, int64_t pad)
{
    lattice l = {
        .r = r, .places = gcut_rt_ceildiv(size - r, stride), .every = stride / gcd(stride, dilation)};
    const int64_t most = gcut_rt_min(l.every, k);
    while (l.k0 < most && gcut_rt_mod(r + pad - l.k0 * dilation, stride) != 0) l.k0++;
    if (l.k0 == most) return l;
    l.tap = (axis){gcut_rt_ceildiv(k - l.k0, l.every), gcut_rt_floordiv(r + pad - l.k0 * dilation, stride),
                   -(l.every * dilation / stride)};
    return l;
}

static lattice row_lattice(const gcut_rt_conv *g, int64_t r)
{
    return lattice_of(r, g->h, g->kh, g->stride[0], g->dilation[0], g->pad[0]);
}

static lattice column_lattice(const gcut_rt_conv *g, int64_t r)
{
    return lattice_of(r, g->w, g->kw, g->stride[1], g->dilation[1], g->pad[1]);
}

/* Are there elements of x that no tap sees, wherever the window is? */
static int has_blind_lattice(const gcut_rt_conv *g)
{
    for (int64_t a = 0; a < lattices(g->h, g->stride[0]); a++)
        if (row_lattice(g, a).tap.n == 0) return 1;
    for (int64_t b = 0; b < lattices(g->w, g->stride[1]); b++)
        if (column_lattice(g, b).tap.n == 0) return 1;
    return 0;
}

/* ---- decisions ---- */

static window window_of(const gcut_rt_conv *g)
{
    return (window){.images = g->n,
                    .channels = g->c / g->groups,
                    .places = {g->oh, g->ow},
                    .stride = {g->stride[0], g->stride[1]},
                    .tap = {{g->kh, -g->pad[0], g->dilation[0]}, {g->kw, -g->pad[1], g->dilation[1]}}};
}

/* One product of w with the whole image. */
static int pointwise(const gcut_rt_conv *g)
{
    return g->kh == 1 && g->kw == 1 && g->stride[0] == 1 && g->stride[1] == 1 && g->pad[0] == 0 &&
           g->pad[1] == 0 && g->oh == g->h && g->ow == g->w;
}

static int depthwise(const gcut_rt_conv *g)
{
    return gcut_rt_conv_tapwise(g->c, g->o, g->groups);
}

/* Parts of n, in multiples of grain, that give `tasks` tasks enough for the threads. */
static int64_t parts_of(int64_t tasks, int64_t n, int64_t grain, int threads)
{
    if (threads <= 1 || tasks >= 4 * threads) return 1;
    return gcut_rt_max(1, gcut_rt_min(gcut_rt_ceildiv(n, grain), 4 * threads / gcut_rt_max(tasks, 1)));
}

#define TEMPLATE "kernels/rt/conv/conv_type.h"
#include "kernels/rt/each_type.h"
