/* SPDX-License-Identifier: MIT
 *
 * Panels (chunk.h) of images of element type T, TYPE its suffix; included by conv_type.h.
 */

/* Images that a window slides over, and the distances of images and of channels. */
typedef struct NAME(field) {
    const T *at;
    int64_t image, plane, h, w;
} NAME(field);

typedef T NAME(four) __attribute__((vector_size(4 * sizeof(T))));

static inline void NAME(copy)(T *restrict to, const T *restrict from, int64_t n)
{
    for (; n >= 16; n -= 16, to += 16, from += 16) memcpy(to, from, 16 * sizeof(T));
    if (n & 8) memcpy(to, from, 8 * sizeof(T)), to += 8, from += 8;
    if (n & 4) memcpy(to, from, 4 * sizeof(T)), to += 4, from += 4;
    for (int64_t j = 0; j < (n & 3); j++) to[j] = from[j];
}

/* n elements, `step` apart. */
static inline void NAME(pick)(T *restrict to, const T *restrict from, int64_t step, int64_t n)
{
    int64_t j = 0;
    /* The last element of four pairs is not read where it need not exist. */
    for (; step == 2 && j + 4 < n; j += 4) {
        NAME(four) a, b, even;
        memcpy(&a, from + 2 * j, sizeof a);
        memcpy(&b, from + 2 * j + 4, sizeof b);
        even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
        memcpy(to + j, &even, sizeof even);
    }
    for (; j < n; j++) to[j] = from[j * step];
}

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
    if (lo < hi && step != 1) NAME(pick)(to + lo, row + (offset + lo * step), step, hi - lo);
    for (int64_t j = hi; j < n; j++) to[j] = 0;
}

static inline const T *NAME(row_at)(const NAME(field) * f, const T *plane, int64_t i)
{
    return i >= 0 && i < f->h ? plane + i * f->w : NULL;
}

/* The channel's images of a tall chunk, shifted by column b of the window. */
static void NAME(gather_shifted)(const NAME(field) * f, const window *w, const layout *l, const chunk *c,
                                 int64_t channel, int64_t b, T *to)
{
    int64_t step = w->stride[1], offset = w->tap[1].first + b * w->tap[1].step, lo, hi;
    inside(offset, step, f->w, w->places[1], &lo, &hi);
    for (int64_t k = 0; k < c->images; k++) {
        const T *plane = f->at + (c->image + k) * f->image + channel * f->plane;
        for (int64_t p = 0; p < l->phases; p++) {
            int64_t i = (c->i0 + l->least[p]) * w->stride[0] + w->tap[0].first + l->phase[p];
            for (int64_t r = 0; r < c->i1 - c->i0 + l->span[p]; r++, i += w->stride[0]) NAME(gather_row)
            (NAME(row_at)(f, plane, i), offset + c->j0 * step, step, lo - c->j0, hi - c->j0, c->j1 - c->j0,
             to + r * l->columns);
            to += (l->rows + l->span[p]) * l->columns;
        }
    }
}

/* One tap of a flat chunk. */
static void NAME(gather_tap)(const NAME(field) * f, const window *w, const chunk *c, int64_t tap, T *to)
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

/* The panel of the chunk for channels (flat: taps) u0..u1. */
static void NAME(gather)(const NAME(field) * f, const window *w, const layout *l, const chunk *c, int64_t u0,
                         int64_t u1, T *to)
{
    for (int64_t u = u0; u < u1; u++) {
        if (l->flat) {
            NAME(gather_tap)(f, w, c, u, to);
            to += l->unit;
        }
        for (int64_t b = 0; b < w->tap[1].n && !l->flat; b++) {
            NAME(gather_shifted)(f, w, l, c, u, b, to);
            to += l->images * l->height * l->columns;
        }
    }
}
