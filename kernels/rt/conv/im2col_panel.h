/* SPDX-License-Identifier: MIT
 *
 * How the places of a window are cut into blocks, and what lies under a block of places into a panel.
 *
 * A place is a position of the window, so an element of the result.  A panel holds, for the places of one
 * block and some channels, every element of the image that a tap of the window sees, with zeros for padding,
 * such that the elements under one tap at places side by side are side by side: a tap is an offset into the
 * panel, a vector of places another, and the element that place p sees under tap t is at their sum.
 *
 *   tall   for each channel and column b of the window a copy of the image, shifted by b, whose rows are as
 *          long as a row of places.  The rows of the window differ by whole rows of the copy, and places
 *          that go on in the next row are contiguous.  A block is some rows of an image, or some images, or
 *          part of a row.
 *   flat   a row of places for each tap: for images of so few places that vectors must cross from one to the
 *          next, and for windows too large for the other.
 *
 * Tall panels of one channel of an image of 4 * 4, a0 to d3, under a window of 3 * 3 with padding 1.  On the
 * left the stride is 1 and a block has 4 rows and 4 columns of places.  On the right the stride is 2, a block
 * has 2 rows and 2 columns of places, and the rows of a copy are sorted by phase: row a of the window is of
 * phase a * dilation modulo the stride.
 *
 *     copy 0        copy 1        copy 2               copy 0    copy 1    copy 2
 *    0  0  0  0    0  0  0  0    0  0  0  0             0  0      0  0      0  0    phase 0: 2 rows and
 *    0 a0 a1 a2   a0 a1 a2 a3   a1 a2 a3  0             0 b1     b0 b2     b1 b3    phase_extra = 1
 *    0 b0 b1 b2   b0 b1 b2 b3   b1 b2 b3  0             0 d1     d0 d2     d1 d3
 *    0 c0 c1 c2   c0 c1 c2 c3   c1 c2 c3  0             0 a1     a0 a2     a1 a3    phase 1: 2 rows
 *    0 d0 d1 d2   d0 d1 d2 d3   d1 d2 d3  0             0 c1     c0 c2     c1 c3
 *    0  0  0  0    0  0  0  0    0  0  0  0
 *
 *    copy_rows = 6, tap_row = {0, 1, 2}                copy_rows = 5, tap_row = {0, 3, 1}
 *
 * Tap (a, b) of channel c is at c * slice_elements + (b * images * copy_rows + tap_row[a]) * columns, place
 * (i, j) of image k of the block at (k * copy_rows + i) * columns + j.
 *
 * Layouts depend on sizes and on the width of vectors, never on threads.
 */
#ifndef GCUT_KERNELS_RT_CONV_IM2COL_PANEL_H
#define GCUT_KERNELS_RT_CONV_IM2COL_PANEL_H

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/conv/window.h"

/* The most taps of a tall panel along an axis; steps of the sum between two passes over the results, about
 * and at most; the most places of a block, and vectors, which have at least two. */
enum { TALL_TAPS = 16, STEPS = 160, MAX_STEPS = 256, MAX_PLACES = 1024, MAX_VECTORS = MAX_PLACES / 2 };
/* Elements of a row of the image that the places of a row of a tall block see, at most, and such rows. */
enum { MAX_LINE = 3072, MAX_LINES = 64 };

/* Taps along an axis: from place i, tap t is at i * stride + first + t * step. */
typedef struct axis {
    int64_t n, first, step;
} axis;

/* The places and taps of a window over images of some channels. */
typedef struct window {
    int64_t images, channels, places[2], stride[2];
    axis tap[2];
} window;

/* What a block of places and its panel may take. */
typedef struct limits {
    int64_t lanes;          /* elements of a vector */
    int64_t panel_elements; /* of a panel, at most */
    int64_t most_places;    /* of a tall block, a multiple of lanes */
    int64_t least_places;   /* of a tall block, unless there are fewer in all */
    int64_t flat_places;    /* of a flat block */
    int64_t k_steps;        /* steps of the sum of a panel, about at most */
    int64_t channels;       /* that a tall panel must have room for */
} limits;

/* The sum of a product goes over slices of the panel: a slice is what the panel has of one channel or, when
 * flat, of one tap of one channel.  Some slices at a time, a k-block, are gathered and multiplied. */
typedef struct layout {
    int flat;
    int64_t lanes;
    int64_t images, rows, columns; /* of places in a tall block; at most one is between 1 and all */
    int64_t flat_places;           /* of a flat block */
    /* Of a tall panel.  Row r of phase p of a copy is row
     *   (i0 + phase_first[p] + r) * stride + tap[0].first + phase_remainder[p]
     * of the image, and there are phase_extra[p] more of them than a block has rows of places. */
    int64_t copy_rows; /* of the copy of one image: all phases */
    int64_t nphases, phase_remainder[TALL_TAPS], phase_first[TALL_TAPS], phase_extra[TALL_TAPS];
    int64_t tap_row[TALL_TAPS];     /* row of the copy where row a of the window begins */
    int64_t place_blocks, k_blocks; /* how many */
    int64_t slices, block_slices;   /* of all channels, and of a k-block but the last */
    int64_t slice_elements;
    int64_t slice_taps; /* steps of the sum: taps of the window, or 1 when flat */
} layout;

/* `n` places of an image from `place` on, in row-major order; the first is number `at` of the block. */
typedef struct run {
    int64_t image, place, n, at;
} run;

/* Vector v has its first place at offset at[v] of the panel, and valid[v] places. */
typedef struct place_block {
    int64_t image, images, i0, i1, j0, j1; /* tall */
    int64_t begin, end;                    /* flat: places, counted through all images */
    int64_t vectors;
    int whole; /* every lane of every vector is a place */
    int32_t at[MAX_VECTORS];
    uint8_t valid[MAX_VECTORS];
} place_block;

/* ---- layouts ---- */

static inline int64_t round_up(int64_t n, int64_t to)
{
    return gcut_rt_ceildiv(n, to) * to;
}

/* Sorts the rows of the window into phases. */
static inline void find_phases(const window *w, layout *l)
{
    for (int64_t a = 0; a < w->tap[0].n; a++) {
        int64_t at = a * w->tap[0].step, phase = gcut_rt_mod(at, w->stride[0]), p = 0;
        int64_t shift = gcut_rt_floordiv(at, w->stride[0]);
        while (p < l->nphases && l->phase_remainder[p] != phase) p++;
        if (p == l->nphases) {
            l->nphases++;
            l->phase_remainder[p] = phase;
            l->phase_first[p] = shift;
            l->phase_extra[p] = 0;
        }
        int64_t last = gcut_rt_max(l->phase_first[p] + l->phase_extra[p], shift);
        l->phase_first[p] = gcut_rt_min(l->phase_first[p], shift);
        l->phase_extra[p] = last - l->phase_first[p];
    }
}

/* Sizes of a panel of the layout's rows and columns of places, for one image. */
static inline int64_t measure(const window *w, layout *l)
{
    int64_t start[TALL_TAPS];
    l->copy_rows = 0;
    for (int64_t p = 0; p < l->nphases; p++) {
        start[p] = l->copy_rows;
        l->copy_rows += l->rows + l->phase_extra[p];
    }
    for (int64_t a = 0; a < w->tap[0].n; a++) {
        int64_t at = a * w->tap[0].step, p = 0;
        while (l->phase_remainder[p] != gcut_rt_mod(at, w->stride[0])) p++;
        l->tap_row[a] = start[p] + gcut_rt_floordiv(at, w->stride[0]) - l->phase_first[p];
    }
    l->slice_elements = w->tap[1].n * l->images * l->copy_rows * l->columns;
    return l->slice_elements;
}

/* Whole images, else rows that fill vectors if possible, else a part of a row: the most that fit. */
static inline int choose_tall(const window *w, const limits *m, layout *l)
{
    int64_t oh = w->places[0], ow = w->places[1], plane = round_up(oh * ow, m->lanes);
    int64_t grain = m->lanes / gcd(ow, m->lanes);
    l->rows = oh;
    l->columns = ow;
    l->images = gcut_rt_max(1, gcut_rt_min(w->images, m->most_places / plane));
    while (l->images > 1 && measure(w, l) * m->channels > m->panel_elements) l->images /= 2;
    if (plane > m->most_places) l->rows = gcut_rt_max(1, m->most_places / ow);
    while (l->rows > 1 && measure(w, l) * m->channels > m->panel_elements) l->rows /= 2;
    if (l->rows < oh && l->rows > grain) l->rows -= l->rows % grain;
    if (l->rows == 1) l->columns = gcut_rt_min(ow, m->most_places);
    while (l->columns > 4 * m->lanes && measure(w, l) * m->channels > m->panel_elements)
        l->columns = round_up(l->columns / 2, m->lanes);
    int64_t n = l->rows * l->columns;
    int64_t step = w->tap[1].step < 0 ? -w->tap[1].step : w->tap[1].step;
    int64_t line = (l->columns - 1) * w->stride[1] + 1 + (w->tap[1].n - 1) * step;
    if (l->images * n < gcut_rt_min(m->least_places, w->images * oh * ow)) return 0;
    return measure(w, l) * m->channels <= m->panel_elements && n * 8 >= round_up(n, m->lanes) * 7 &&
           round_up(line, 16) <= MAX_LINE;
}

static inline layout make_layout(const window *w, const limits *m)
{
    layout l = {.lanes = m->lanes, .images = 1, .place_blocks = 0};
    int64_t taps = w->tap[0].n * w->tap[1].n, places = w->images * w->places[0] * w->places[1];
    l.flat =
        w->tap[0].n > TALL_TAPS || w->tap[1].n > TALL_TAPS || taps > MAX_STEPS || taps == 0 || places == 0;
    if (!l.flat) {
        find_phases(w, &l);
        l.flat = !choose_tall(w, m, &l);
    }
    if (l.flat) { /* A row's length keeps rows off each other's cache sets. */
        l.flat_places = m->flat_places;
        l.slice_elements = m->flat_places + 16;
        l.slices = w->channels * taps;
        l.slice_taps = 1;
        l.place_blocks = gcut_rt_ceildiv(places, l.flat_places);
    } else {
        l.slices = w->channels;
        l.slice_taps = taps;
        l.place_blocks = gcut_rt_ceildiv(w->images, l.images) * gcut_rt_ceildiv(w->places[0], l.rows) *
                         gcut_rt_ceildiv(w->places[1], l.columns);
    }
    l.block_slices =
        gcut_rt_max(1, gcut_rt_min(m->k_steps / l.slice_taps, m->panel_elements / l.slice_elements));
    l.k_blocks = gcut_rt_ceildiv(l.slices, l.block_slices);
    if (l.k_blocks > 0) l.block_slices = gcut_rt_ceildiv(l.slices, l.k_blocks);
    return l;
}

/* ---- blocks of places ---- */

static inline int64_t runs_of(const window *w, const layout *l, const place_block *c)
{
    int64_t plane = w->places[0] * w->places[1];
    return l->flat ? (c->end - 1) / plane - c->begin / plane + 1 : c->images;
}

static inline run run_of(const window *w, const layout *l, const place_block *c, int64_t k)
{
    int64_t plane = w->places[0] * w->places[1], n = (c->i1 - c->i0) * (c->j1 - c->j0);
    if (!l->flat) return (run){c->image + k, c->i0 * w->places[1] + c->j0, n, k * round_up(n, l->lanes)};
    int64_t image = c->begin / plane + k, from = gcut_rt_max(c->begin, image * plane);
    return (run){image, from - image * plane, gcut_rt_min(c->end, (image + 1) * plane) - from,
                 from - c->begin};
}

static inline void add_vectors(const layout *l, place_block *c, int64_t n, int64_t at)
{
    for (int64_t j = 0; j < n; j += l->lanes) {
        c->at[c->vectors] = (int32_t)(at + j);
        c->valid[c->vectors++] = (uint8_t)gcut_rt_min(l->lanes, n - j);
    }
    if (n % l->lanes != 0) c->whole = 0;
}

/* Block number q. */
static inline void make_place_block(const window *w, const layout *l, int64_t q, place_block *c)
{
    c->vectors = 0;
    c->whole = 1;
    if (l->flat) {
        c->begin = q * l->flat_places;
        c->end = gcut_rt_min(c->begin + l->flat_places, w->images * w->places[0] * w->places[1]);
        add_vectors(l, c, c->end - c->begin, 0);
        return;
    }
    int64_t across = gcut_rt_ceildiv(w->places[1], l->columns), down = gcut_rt_ceildiv(w->places[0], l->rows);
    c->j0 = q % across * l->columns;
    c->j1 = gcut_rt_min(c->j0 + l->columns, w->places[1]);
    c->i0 = q / across % down * l->rows;
    c->i1 = gcut_rt_min(c->i0 + l->rows, w->places[0]);
    c->image = q / across / down * l->images;
    c->images = gcut_rt_min(l->images, w->images - c->image);
    for (int64_t k = 0; k < c->images; k++)
        add_vectors(l, c, (c->i1 - c->i0) * (c->j1 - c->j0), k * l->copy_rows * l->columns);
}

/* Offsets of the taps in a panel of `slices` slices; returns their number. */
static inline int64_t offsets(const window *w, const layout *l, int64_t slices, int32_t *off)
{
    int64_t n = 0;
    for (int64_t u = 0; u < slices; u++) {
        if (l->flat) off[n++] = (int32_t)(u * l->slice_elements);
        for (int64_t t = 0; t < l->slice_taps && !l->flat; t++) {
            int64_t a = t / w->tap[1].n, b = t % w->tap[1].n;
            off[n++] = (int32_t)(u * l->slice_elements +
                                 (b * l->images * l->copy_rows + l->tap_row[a]) * l->columns);
        }
    }
    return n;
}

#endif
