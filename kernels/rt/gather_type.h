/* SPDX-License-Identifier: MIT
 *
 * Panels (chunk.h) of images of element type T, TYPE its suffix; included by conv_type.h.
 */

/* Images that a window slides over, and the distances of images and of channels. */
typedef struct NAME(field) {
    const T *at;
    int64_t image, plane, h, w;
} NAME(field);

static inline void NAME(copy)(T *restrict to, const T *restrict from, int64_t n)
{
    for (; n >= 16; n -= 16, to += 16, from += 16) memcpy(to, from, 16 * sizeof(T));
    if (n & 8) memcpy(to, from, 8 * sizeof(T)), to += 8, from += 8;
    if (n & 4) memcpy(to, from, 4 * sizeof(T)), to += 4, from += 4;
    for (int64_t j = 0; j < (n & 3); j++) to[j] = from[j];
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
    if (lo < hi && step != 1)
        for (int64_t j = lo; j < hi; j++) to[j] = row[offset + j * step];
    for (int64_t j = hi; j < n; j++) to[j] = 0;
}

static inline const T *NAME(row_at)(const NAME(field) * f, const T *plane, int64_t i)
{
    return i >= 0 && i < f->h ? plane + i * f->w : NULL;
}

/* One channel of a tall chunk: every row of the image once for each column of the window, from a line with
 * zeros on both sides. */
static void NAME(gather_tall)(const NAME(field) * f, const window *w, const layout *l, const chunk *c,
                              const GLUE(gcut_rt_tile_, TYPE) * tile, int64_t channel, T *to)
{
    _Alignas(64) T line[MAX_LINE + 2 * GCUT_RT_LANES];
    const axis *tap = &w->tap[1];
    int64_t step = w->stride[1], n = c->j1 - c->j0, apart = l->images * l->height * l->columns;
    int64_t back = tap->step < 0 ? (tap->n - 1) * -tap->step : 0, ahead = tap->step > 0 ? tap->step : 0;
    int64_t start = c->j0 * step + tap->first - back;
    int64_t length = (n - 1) * step + 1 + back + (tap->n - 1) * ahead;
    int64_t lo = gcut_rt_min(gcut_rt_max(-start, 0), length);
    int64_t hi = gcut_rt_min(gcut_rt_max(f->w - start, lo), length);
    memset(line, 0, (size_t)(length + 2 * GCUT_RT_LANES) * sizeof(T));
    for (int64_t k = 0; k < c->images; k++) {
        const T *plane = f->at + (c->image + k) * f->image + channel * f->plane;
        for (int64_t p = 0; p < l->phases; p++) {
            int64_t i = (c->i0 + l->least[p]) * w->stride[0] + w->tap[0].first + l->phase[p];
            for (int64_t r = 0; r < c->i1 - c->i0 + l->span[p]; r++, i += w->stride[0]) {
                T *row = to + r * l->columns;
                if (i >= 0 && i < f->h && lo < hi) {
                    NAME(copy)(line + lo, plane + i * f->w + (start + lo), hi - lo);
                    tile->shift(tap->n, line + back, tap->step, step, n, row, apart);
                } else {
                    for (int64_t b = 0; b < tap->n; b++)
                        for (int64_t j = 0; j < n; j++) row[b * apart + j] = 0;
                }
            }
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
static void NAME(gather)(const NAME(field) * f, const window *w, const layout *l, const chunk *c,
                         const GLUE(gcut_rt_tile_, TYPE) * tile, int64_t u0, int64_t u1, T *to)
{
    for (int64_t u = u0; u < u1; u++, to += l->unit) {
        if (l->flat)
            NAME(gather_tap)(f, w, c, u, to);
        else
            NAME(gather_tall)(f, w, l, c, tile, u, to);
    }
}
