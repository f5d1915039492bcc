/* SPDX-License-Identifier: MIT
 *
 * Panels (im2col_panel.h) of images of element type T, TYPE its suffix; included by conv_type.h.
 */

/* Images that a window slides over, and the distances of images and of channels. */
typedef struct NAME(images) {
    const T *at;
    int64_t image, plane, h, w;
} NAME(images);

#include "kernels/rt/conv/copy_type.h"

/* n elements, `step` apart from row[offset] on; 0 but for those from lo to hi, and everywhere when there is
 * no row. */
static inline void NAME(gather_row)(const T *row, int64_t offset, int64_t step, int64_t lo, int64_t hi,
                                    int64_t n, T *to)
{
    lo = gcut_rt_min(gcut_rt_max(lo, 0), n);
    hi = gcut_rt_min(gcut_rt_max(hi, lo), n);
    if (!row) lo = hi = n;
    for (int64_t j = 0; j < lo; j++) to[j] = 0;
    if (lo < hi && step == 1) NAME(copy)(to + lo, row + (offset + lo), hi - lo);
    if (lo < hi && step != 1)
        for (int64_t j = lo; j < hi; j++) to[j] = row[offset + j * step];
    for (int64_t j = hi; j < n; j++) to[j] = 0;
}

static inline const T *NAME(row_at)(const NAME(images) * f, const T *plane, int64_t i)
{
    return i >= 0 && i < f->h ? plane + i * f->w : NULL;
}

/* Rows of the image, each with zeros on both sides: `pitch` apart, lo..hi of each from the image.  They are
 * shifted a batch at a time, because a vector cannot be read soon after its pieces were written. */
typedef struct NAME(lines) {
    _Alignas(64) T at[MAX_LINE + 2 * GCUT_RT_LANES];
    T *to[MAX_LINES];
    int64_t n, most, pitch, start, lo, hi, first;
} NAME(lines);

static void NAME(begin_lines)(NAME(lines) * s, const NAME(images) * f, const window *w, const place_block *c)
{
    const axis *tap = &w->tap[1];
    int64_t back = tap->step < 0 ? (tap->n - 1) * -tap->step : 0, ahead = tap->step > 0 ? tap->step : 0;
    int64_t length = (c->j1 - c->j0 - 1) * w->stride[1] + 1 + back + (tap->n - 1) * ahead;
    s->n = 0;
    s->first = back;
    s->start = c->j0 * w->stride[1] + tap->first - back;
    s->lo = gcut_rt_min(gcut_rt_max(-s->start, 0), length);
    s->hi = gcut_rt_min(gcut_rt_max(f->w - s->start, s->lo), length);
    s->pitch = round_up(length, GCUT_RT_LANES);
    s->most = gcut_rt_min(MAX_LINES, MAX_LINE / s->pitch);
    memset(s->at, 0, (size_t)(s->most * s->pitch + 2 * GCUT_RT_LANES) * sizeof(T));
}

static void NAME(flush)(NAME(lines) * s, const window *w, const layout *l, const place_block *c,
                        const PASTE(gcut_rt_tile, TYPE) * tile)
{
    for (int64_t k = 0; k < s->n; k++)
        tile->shift(w->tap[1].n, s->at + k * s->pitch + s->first, w->tap[1].step, w->stride[1], c->j1 - c->j0,
                    s->to[k], l->images * l->copy_rows * l->columns);
    s->n = 0;
}

/* One channel of a tall block: every row of the image once for each column of the window. */
static void NAME(gather_tall)(const NAME(images) * f, const window *w, const layout *l, const place_block *c,
                              const PASTE(gcut_rt_tile, TYPE) * tile, int64_t channel, NAME(lines) * s, T *to)
{
    int64_t copy_pitch = l->images * l->copy_rows * l->columns;
    for (int64_t k = 0; k < c->images; k++) {
        const T *plane = f->at + (c->image + k) * f->image + channel * f->plane;
        for (int64_t p = 0; p < l->nphases; p++) {
            int64_t i = (c->i0 + l->phase_first[p]) * w->stride[0] + w->tap[0].first + l->phase_remainder[p];
            T *row = to;
            for (int64_t r = 0; r < c->i1 - c->i0 + l->phase_extra[p];
                 r++, i += w->stride[0], row += l->columns) {
                if (i >= 0 && i < f->h && s->lo < s->hi) {
                    NAME(copy)
                    (s->at + s->n * s->pitch + s->lo, plane + i * f->w + (s->start + s->lo), s->hi - s->lo);
                    s->to[s->n++] = row;
                    if (s->n == s->most) NAME(flush)(s, w, l, c, tile);
                } else {
                    for (int64_t b = 0; b < w->tap[1].n; b++)
                        for (int64_t j = 0; j < c->j1 - c->j0; j++) row[b * copy_pitch + j] = 0;
                }
            }
            to += (l->rows + l->phase_extra[p]) * l->columns;
        }
    }
}

/* One tap of a flat block. */
static void NAME(gather_tap)(const NAME(images) * f, const window *w, const place_block *c, int64_t tap,
                             T *to)
{
    int64_t taps = w->tap[1].n, b = tap % taps, a = tap / taps % w->tap[0].n;
    const T *channel = f->at + tap / taps / w->tap[0].n * f->plane;
    int64_t row = w->tap[0].first + a * w->tap[0].step, step = w->stride[1], lo, hi;
    int64_t offset = w->tap[1].first + b * w->tap[1].step;
    int64_t j = c->begin % w->places[1], i = c->begin / w->places[1] % w->places[0];
    int64_t image = c->begin / w->places[1] / w->places[0];
    inside(offset, step, f->w, w->places[1], &lo, &hi);
    for (int64_t left = c->end - c->begin; left > 0;) {
        int64_t n = gcut_rt_min(w->places[1] - j, left);
        NAME(gather_row)
        (NAME(row_at)(f, channel + image * f->image, i * w->stride[0] + row), offset + j * step, step, lo - j,
         hi - j, n, to);
        to += n;
        left -= n;
        j = 0;
        if (++i == w->places[0]) i = 0, image++;
    }
}

/* The panel of the block for slices u0..u1, by way of s. */
static void NAME(gather)(const NAME(images) * f, const window *w, const layout *l, const place_block *c,
                         const PASTE(gcut_rt_tile, TYPE) * tile, int64_t u0, int64_t u1, NAME(lines) * s,
                         T *to)
{
    if (l->flat) {
        for (int64_t u = u0; u < u1; u++, to += l->slice_elements) NAME(gather_tap)(f, w, c, u, to);
        return;
    }
    NAME(begin_lines)(s, f, w, c);
    for (int64_t u = u0; u < u1; u++, to += l->slice_elements) NAME(gather_tall)(f, w, l, c, tile, u, s, to);
    NAME(flush)(s, w, l, c, tile);
}
