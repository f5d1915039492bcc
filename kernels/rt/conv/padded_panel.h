/* SPDX-License-Identifier: MIT
 *
 * Padded panels: whole rows of images between zeros, each element once, for windows over so few channels that
 * all of them fit.  An image of 4 * 4, a0 to d3, under a window of 3 * 3 with stride 1 and padding 1:
 *
 *      0 |  0  0  0  0  0
 *          a0 a1 a2 a3  0        margin = 1: what lies to the left of the first row
 *          b0 b1 b2 b3  0        pitch = 5: a zero ends each row, and lies to the left of the next
 *          c0 c1 c2 c3  0        plane_rows = 6
 *          d0 d1 d2 d3  0
 *           0  0  0  0  0
 *
 * Place (i, j) of the window has number i * pitch + j, and tap (a, b) the offset a * pitch + b: the same for
 * all places, however a vector of them lies across rows.  Numbers after the last place of a row, here 4, 9
 * and 14, are no places: their sums are computed and not stored.
 *
 * With strides, an image falls into phases, of the rows and columns that leave the same remainder, each an
 * image of its own: a channel of the panel has a plane for each pair of phases, one after the other.
 *
 * Layouts depend on sizes and on the width of vectors, never on threads.
 */
#ifndef GCUT_KERNELS_RT_CONV_PADDED_PANEL_H
#define GCUT_KERNELS_RT_CONV_PADDED_PANEL_H

#include "kernels/rt/conv/im2col_panel.h"

/* Numbers of a block of places, at most. */
enum { PADDED_PLACES = 512 };

/* Along one axis: tap t sees, from place i, element i + at[t] of phase[t]; at[] is between first and last. */
typedef struct phases {
    int64_t n, remainder[TALL_TAPS]; /* phases, and the remainder of their elements modulo the stride */
    int64_t at[TALL_TAPS], first, last;
    int phase[TALL_TAPS];
} phases;

typedef struct padded {
    phases axis[2];
    int64_t rows, place_blocks;       /* rows of places in a block; blocks of an image */
    int64_t pitch, plane_rows, width; /* of a plane; columns that the image has of it at most */
    int64_t margin;                   /* zeros in front of the first plane */
    int64_t channel_elements;         /* of all planes of a channel */
    int64_t elements;                 /* of the panel */
    int64_t vectors;                  /* of numbers in a block */
} padded;

static inline void split_axis(const axis *tap, int64_t stride, phases *p)
{
    *p = (phases){.n = 0};
    for (int64_t t = 0; t < tap->n; t++) {
        int64_t at = tap->first + t * tap->step, remainder = gcut_rt_mod(at, stride);
        int k = 0;
        while (k < p->n && p->remainder[k] != remainder) k++;
        if (k == p->n) p->remainder[p->n++] = remainder;
        p->phase[t] = k;
        p->at[t] = gcut_rt_floordiv(at, stride);
        p->first = t > 0 ? gcut_rt_min(p->first, p->at[t]) : p->at[t];
        p->last = t > 0 ? gcut_rt_max(p->last, p->at[t]) : p->at[t];
    }
}

/* Elements of an axis of n that a phase has. */
static inline int64_t phase_size(int64_t n, int64_t remainder, int64_t stride)
{
    return gcut_rt_max(0, gcut_rt_ceildiv(n - remainder, stride));
}

/* The sizes of padded panels for blocks of `rows` rows. */
static inline void measure_padded(const window *w, int64_t rows, int64_t lanes, padded *p)
{
    const phases *down = &p->axis[0], *across = &p->axis[1];
    p->rows = rows;
    p->place_blocks = gcut_rt_ceildiv(w->places[0], rows);
    p->plane_rows = rows + down->last - down->first;
    p->channel_elements = down->n * across->n * p->plane_rows * p->pitch;
    p->elements = p->margin + w->channels * p->channel_elements + lanes;
    p->vectors = gcut_rt_ceildiv((rows - 1) * p->pitch + w->places[1], lanes);
}

/* Images of `columns` columns under the window; false when the panel of a row of places would have more than
 * `room` elements. */
static inline int make_padded(const window *w, int64_t columns, int64_t lanes, int64_t room, padded *p)
{
    const axis *down = &w->tap[0], *right = &w->tap[1];
    const phases *across = &p->axis[1];
    if (down->n > TALL_TAPS || right->n > TALL_TAPS || down->n * right->n > MAX_STEPS ||
        w->places[1] > PADDED_PLACES)
        return 0;
    if (down->n * right->n == 0 || w->channels <= 0 || w->images * w->places[0] * w->places[1] == 0) return 0;
    for (int d = 0; d < 2; d++) split_axis(&w->tap[d], w->stride[d], &p->axis[d]);
    p->margin = gcut_rt_max(0, -across->first);
    p->width = gcut_rt_min(gcut_rt_ceildiv(columns, w->stride[1]), w->places[1] + across->last);
    p->width = gcut_rt_max(p->width, 0);
    p->pitch = gcut_rt_max(p->width + p->margin, w->places[1] + gcut_rt_max(across->last, 0));
    if (p->axis[0].n * across->n * p->pitch > room) return 0;
    int64_t rows = gcut_rt_min(w->places[0], (PADDED_PLACES - w->places[1]) / p->pitch + 1);
    for (measure_padded(w, rows, lanes, p); rows > 1 && p->elements > room; rows--)
        measure_padded(w, rows - 1, lanes, p);
    measure_padded(w, gcut_rt_ceildiv(w->places[0], p->place_blocks), lanes, p);
    return p->elements <= room;
}

/* Cycles of vectors, as measured on AVX-512 and roughly: to bring in one of a plane, to know where the places
 * of one are in C and to set up its panel, and to store one of C from a tile, in rows or one by one, or from
 * a tall panel one by one. */
enum { FILL_CYCLES = 8, AIM_CYCLES = 70, ROW_CYCLES = 4, SCATTER_CYCLES = 20, PLACE_CYCLES = 40 };

/* Is the padded panel better than those of im2col_panel.h for m rows of C, whose places lie side by side or
 * not? Against what they copy and scatter stand the numbers that are no places. */
static inline int padded_pays(const window *w, const padded *p, int64_t lanes, int64_t m, int side_by_side)
{
    int64_t taps = w->tap[0].n * w->tap[1].n, k = w->channels * taps, fill = FILL_CYCLES * w->channels;
    int64_t tall = m * k + AIM_CYCLES + fill * p->axis[0].n * w->tap[1].n;
    int64_t here = m * k + fill * p->axis[0].n * p->axis[1].n * p->plane_rows / p->rows;
    tall += side_by_side ? 0 : m * PLACE_CYCLES * gcut_rt_ceildiv(k, STEPS);
    here += m * (side_by_side ? ROW_CYCLES : SCATTER_CYCLES);
    return here * p->vectors * p->place_blocks < tall * gcut_rt_ceildiv(w->places[0] * w->places[1], lanes);
}

/* Offsets of the taps of `channels` channels; returns how many. */
static inline int64_t padded_offsets(const window *w, const padded *p, int64_t channels, int32_t *off)
{
    int64_t n = 0;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t a = 0; a < w->tap[0].n; a++)
            for (int64_t b = 0; b < w->tap[1].n; b++) {
                int64_t plane = p->axis[0].phase[a] * p->axis[1].n + p->axis[1].phase[b];
                int64_t row = plane * p->plane_rows + p->axis[0].at[a] - p->axis[0].first;
                off[n++] = (int32_t)(p->margin + c * p->channel_elements + row * p->pitch + p->axis[1].at[b]);
            }
    return n;
}

#endif
