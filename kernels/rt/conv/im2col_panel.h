/* SPDX-License-Identifier: MIT
 *
 * How the places of a window are cut into chunks, and what lies under them into panels.
 *
 * A panel holds, for the places of one chunk and some channels, every element of the image that a tap sees,
 * with zeros for padding, such that the elements under one tap at places side by side are side by side.  So
 * a tap is an offset into the panel, and a group of places (a vector) another.
 *
 *   tall   for each channel and column of the window a copy of the image, shifted by that column, whose rows
 *          are as long as a row of places: the rows of the window differ by whole rows of it, and places
 *          that go on in the next row are contiguous.  With strides, rows fall into phases, which lie one
 *          after the other.  A chunk is some rows of an image, or some images, or part of a row.
 *   flat   a row of places for each tap: for images of so few places that vectors must cross from one to the
 *          next, and for windows too large for the other.
 *
 * Layouts depend on sizes and on the width of vectors, never on threads.
 */
#ifndef GCUT_KERNELS_RT_CONV_IM2COL_PANEL_H
#define GCUT_KERNELS_RT_CONV_IM2COL_PANEL_H

#include "gradcut/gradcut_rt.h"

/* The most taps of a tall panel along an axis; steps of the sum between two passes over the results, about
 * and at most; the most places of a chunk, and vectors, which have at least two. */
enum { TALL_TAPS = 16, STEPS = 160, MAX_STEPS = 256, MAX_PLACES = 1024, MAX_VECTORS = MAX_PLACES / 2 };
/* Elements of a row of the image that the places of a row of a tall chunk see, at most, and such rows. */
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

/* What a chunk and its panel may take: elements of a vector; elements of a panel; places, a multiple of
 * lanes, at most and at least in a tall chunk unless there are fewer, and in a flat one; steps of the sum;
 * channels that a tall panel must have room for. */
typedef struct limits {
    int64_t lanes, room, places, least, flat, steps, channels;
} limits;

typedef struct layout {
    int flat;
    int64_t lanes;
    int64_t images, rows, columns; /* of places in a tall chunk; at most one is between 1 and all */
    int64_t places;                /* of a flat chunk */
    int64_t height;                /* rows of a shifted image */
    int64_t phases, phase[TALL_TAPS], least[TALL_TAPS], span[TALL_TAPS];
    int64_t base[TALL_TAPS]; /* row of the shifted image where a row of the window begins */
    int64_t chunks, blocks;
    int64_t units, per, unit; /* channels (flat: taps), of them in a block of the sum, elements for each */
    int64_t steps;            /* taps of a unit */
} layout;

/* `n` places of an image from `place` on, in row-major order; the first is column `at` of the chunk. */
typedef struct run {
    int64_t image, place, n, at;
} run;

/* Vector v has its first place at offset at[v] of the panel, and valid[v] places. */
typedef struct chunk {
    int64_t image, images, i0, i1, j0, j1; /* tall */
    int64_t begin, end;                    /* flat: places, counted through all images */
    int64_t vectors;
    int whole; /* every lane of every vector is a place */
    int32_t at[MAX_VECTORS];
    uint8_t valid[MAX_VECTORS];
} chunk;

/* ---- layouts ---- */

static inline int64_t round_up(int64_t n, int64_t to)
{
    return gcut_rt_ceildiv(n, to) * to;
}

/* Sorts the rows of the window into phases; a phase has rows for all places and `span` more. */
static inline void find_phases(const window *w, layout *l)
{
    for (int64_t a = 0; a < w->tap[0].n; a++) {
        int64_t at = a * w->tap[0].step, phase = gcut_rt_mod(at, w->stride[0]), p = 0;
        int64_t shift = gcut_rt_floordiv(at, w->stride[0]);
        while (p < l->phases && l->phase[p] != phase) p++;
        if (p == l->phases) {
            l->phases++;
            l->phase[p] = phase;
            l->least[p] = shift;
            l->span[p] = 0;
        }
        int64_t last = gcut_rt_max(l->least[p] + l->span[p], shift);
        l->least[p] = gcut_rt_min(l->least[p], shift);
        l->span[p] = last - l->least[p];
    }
}

/* Sizes of a panel of the layout's rows and columns of places, for one image. */
static inline int64_t measure(const window *w, layout *l)
{
    int64_t start[TALL_TAPS];
    l->height = 0;
    for (int64_t p = 0; p < l->phases; p++) {
        start[p] = l->height;
        l->height += l->rows + l->span[p];
    }
    for (int64_t a = 0; a < w->tap[0].n; a++) {
        int64_t at = a * w->tap[0].step, p = 0;
        while (l->phase[p] != gcut_rt_mod(at, w->stride[0])) p++;
        l->base[a] = start[p] + gcut_rt_floordiv(at, w->stride[0]) - l->least[p];
    }
    l->unit = w->tap[1].n * l->images * l->height * l->columns;
    return l->unit;
}

static inline int64_t gcd(int64_t a, int64_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

/* Whole images, else rows that fill vectors if possible, else a part of a row: the most that fit. */
static inline int choose_tall(const window *w, const limits *m, layout *l)
{
    int64_t oh = w->places[0], ow = w->places[1], plane = round_up(oh * ow, m->lanes);
    int64_t grain = m->lanes / gcd(ow, m->lanes);
    l->rows = oh;
    l->columns = ow;
    l->images = gcut_rt_max(1, gcut_rt_min(w->images, m->places / plane));
    while (l->images > 1 && measure(w, l) * m->channels > m->room) l->images /= 2;
    if (plane > m->places) l->rows = gcut_rt_max(1, m->places / ow);
    while (l->rows > 1 && measure(w, l) * m->channels > m->room) l->rows /= 2;
    if (l->rows < oh && l->rows > grain) l->rows -= l->rows % grain;
    if (l->rows == 1) l->columns = gcut_rt_min(ow, m->places);
    while (l->columns > 4 * m->lanes && measure(w, l) * m->channels > m->room)
        l->columns = round_up(l->columns / 2, m->lanes);
    int64_t n = l->rows * l->columns;
    int64_t step = w->tap[1].step < 0 ? -w->tap[1].step : w->tap[1].step;
    int64_t line = (l->columns - 1) * w->stride[1] + 1 + (w->tap[1].n - 1) * step;
    if (l->images * n < gcut_rt_min(m->least, w->images * oh * ow)) return 0;
    return measure(w, l) * m->channels <= m->room && n * 8 >= round_up(n, m->lanes) * 7 &&
           round_up(line, 16) <= MAX_LINE;
}

static inline layout make_layout(const window *w, const limits *m)
{
    layout l = {.lanes = m->lanes, .images = 1, .chunks = 0};
    int64_t taps = w->tap[0].n * w->tap[1].n, places = w->images * w->places[0] * w->places[1];
    l.flat =
        w->tap[0].n > TALL_TAPS || w->tap[1].n > TALL_TAPS || taps > MAX_STEPS || taps == 0 || places == 0;
    if (!l.flat) {
        find_phases(w, &l);
        l.flat = !choose_tall(w, m, &l);
    }
    if (l.flat) { /* A row's length keeps rows off each other's cache sets. */
        l.places = m->flat;
        l.unit = m->flat + 16;
        l.units = w->channels * taps;
        l.steps = 1;
        l.chunks = gcut_rt_ceildiv(places, l.places);
    } else {
        l.units = w->channels;
        l.steps = taps;
        l.chunks = gcut_rt_ceildiv(w->images, l.images) * gcut_rt_ceildiv(w->places[0], l.rows) *
                   gcut_rt_ceildiv(w->places[1], l.columns);
    }
    l.per = gcut_rt_max(1, gcut_rt_min(m->steps / l.steps, m->room / l.unit));
    l.blocks = gcut_rt_ceildiv(l.units, l.per);
    if (l.blocks > 0) l.per = gcut_rt_ceildiv(l.units, l.blocks);
    return l;
}

/* ---- chunks ---- */

static inline int64_t runs_of(const window *w, const layout *l, const chunk *c)
{
    int64_t plane = w->places[0] * w->places[1];
    return l->flat ? (c->end - 1) / plane - c->begin / plane + 1 : c->images;
}

static inline run run_of(const window *w, const layout *l, const chunk *c, int64_t k)
{
    int64_t plane = w->places[0] * w->places[1], n = (c->i1 - c->i0) * (c->j1 - c->j0);
    if (!l->flat) return (run){c->image + k, c->i0 * w->places[1] + c->j0, n, k * round_up(n, l->lanes)};
    int64_t image = c->begin / plane + k, from = gcut_rt_max(c->begin, image * plane);
    return (run){image, from - image * plane, gcut_rt_min(c->end, (image + 1) * plane) - from,
                 from - c->begin};
}

static inline void add_vectors(const layout *l, chunk *c, int64_t n, int64_t at)
{
    for (int64_t j = 0; j < n; j += l->lanes) {
        c->at[c->vectors] = (int32_t)(at + j);
        c->valid[c->vectors++] = (uint8_t)gcut_rt_min(l->lanes, n - j);
    }
    if (n % l->lanes != 0) c->whole = 0;
}

/* Chunk number q. */
static inline void make_chunk(const window *w, const layout *l, int64_t q, chunk *c)
{
    c->vectors = 0;
    c->whole = 1;
    if (l->flat) {
        c->begin = q * l->places;
        c->end = gcut_rt_min(c->begin + l->places, w->images * w->places[0] * w->places[1]);
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
        add_vectors(l, c, (c->i1 - c->i0) * (c->j1 - c->j0), k * l->height * l->columns);
}

/* Offsets in a panel of `units` channels (flat: taps); returns how many. */
static inline int64_t offsets(const window *w, const layout *l, int64_t units, int32_t *off)
{
    int64_t n = 0;
    for (int64_t u = 0; u < units; u++) {
        if (l->flat) off[n++] = (int32_t)(u * l->unit);
        for (int64_t t = 0; t < l->steps && !l->flat; t++) {
            int64_t a = t / w->tap[1].n, b = t % w->tap[1].n;
            off[n++] = (int32_t)(u * l->unit + (b * l->images * l->height + l->base[a]) * l->columns);
        }
    }
    return n;
}

#endif
