/* SPDX-License-Identifier: MIT
 *
 * Places of a window times w over padded panels (padded_panel.h), of element type T; included by conv_type.h.
 */

/* A phase of a plane for the rows of places from i0 on; what the image does not have of it is 0 already, but
 * for whole rows. */
static void NAME(fill_plane)(const NAME(images) * f, const window *w, const padded *l,
                             const PASTE(gcut_rt_tile, TYPE) * tile, const T *plane, int64_t i0,
                             int64_t remainder0, int64_t remainder1, T *to)
{
    int64_t step = w->stride[1], first = i0 + l->axis[0].first,
            size = phase_size(f->h, remainder0, w->stride[0]);
    int64_t n = gcut_rt_min(phase_size(f->w, remainder1, step), l->width);
    int64_t lo = gcut_rt_min(gcut_rt_max(-first, 0), l->plane_rows);
    int64_t hi = gcut_rt_min(gcut_rt_max(size - first, lo), l->plane_rows);
    memset(to, 0, (size_t)(lo * l->pitch) * sizeof(T));
    memset(to + hi * l->pitch, 0, (size_t)((l->plane_rows - hi) * l->pitch) * sizeof(T));
    if (lo >= hi || n <= 0) return;
    const T *from = plane + (((first + lo) * w->stride[0] + remainder0) * f->w + remainder1);
    to += lo * l->pitch;
    /* With strides `shift` reads beyond the last element, which may be the last of the image. */
    int64_t whole = step == 1 ? n : n - 1, row_step = w->stride[0] * f->w;
    tile->shift(hi - lo, from, row_step, step, whole, to, l->pitch);
    for (int64_t r = 0; r < hi - lo && whole < n; r++)
        to[r * l->pitch + whole] = from[r * row_step + whole * step];
}

/* Channels c0..c1 of an image. */
static void NAME(fill)(const NAME(images) * f, const window *w, const padded *l,
                       const PASTE(gcut_rt_tile, TYPE) * tile, int64_t image, int64_t c0, int64_t c1,
                       int64_t i0, T *panel)
{
    const T *from = f->at + image * f->image + c0 * f->plane;
    T *to = panel + l->margin;
    for (int64_t c = c0; c < c1; c++, from += f->plane)
        for (int64_t a = 0; a < l->axis[0].n; a++)
            for (int64_t b = 0; b < l->axis[1].n; b++, to += l->plane_rows * l->pitch) NAME(fill_plane)
    (f, w, l, tile, from, i0, l->axis[0].remainder[a], l->axis[1].remainder[b], to);
}

/* A block of rows of C at all numbers of a block: tile = A panel. */
static void NAME(padded_multiply)(const NAME(product) * p, const padded *l, int64_t rows, const T *a,
                                  const int32_t *off, int64_t channels, const T *panel, T *tile)
{
    int64_t taps = p->w.tap[0].n * p->w.tap[1].n, lanes = p->tile->lanes;
    for (int64_t v = 0; v < l->vectors; v += 2) {
        int vectors = v + 1 < l->vectors ? 2 : 1;
        T *to[2] = {tile + v * lanes, tile + (v + vectors - 1) * lanes};
        for (int64_t c = 0; c < p->w.channels; c += channels) {
            const T *b[2] = {panel + c * l->channel_elements + v * lanes,
                             panel + c * l->channel_elements + (v + vectors - 1) * lanes};
            int64_t k = gcut_rt_min(channels, p->w.channels - c) * taps;
            p->tile->product((int)rows, vectors, k, a + c * taps * rows, off, b, to, NAME(TILE), c > 0);
        }
    }
}

/* Rows of places of a tile to C. */
static void NAME(copy_places)(const NAME(product) * p, const padded *l, int64_t rows, int64_t m,
                              const T *tile, T *to)
{
    for (; m > 0; m--, tile += NAME(TILE), to += p->crow) {
        if (p->cj == 1) {
            p->tile->shift(rows, tile, l->pitch, 1, p->w.places[1], to, p->ci);
            continue;
        }
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < p->w.places[1]; j++) to[i * p->ci + j * p->cj] = tile[i * l->pitch + j];
    }
}

static void NAME(padded_part)(void *arg, int t, int nt)
{
    const NAME(product) *p = arg;
    const padded *l = p->padded;
    int32_t off[MAX_STEPS];
    int64_t begin, end, blocks = NAME(row_blocks)(p), filled = -1;
    int64_t channels = gcut_rt_min(p->w.channels, MAX_STEPS / (p->w.tap[0].n * p->w.tap[1].n));
    NAME(images) f = p->f;
    gcut_rt_packing_memory workspace = gcut_rt_borrow(sizeof(NAME(scratch)));
    NAME(scratch) *scratch = workspace.at;
    memset(scratch->panel, 0, (size_t)l->elements * sizeof(T));
    padded_offsets(&p->w, l, channels, off);
    gcut_rt_share(p->groups * p->w.images * l->place_blocks * p->parts, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        int64_t b0, b1, piece = q / p->parts, i0 = piece % l->place_blocks * l->rows;
        int64_t image = piece / l->place_blocks % p->w.images, group = piece / l->place_blocks / p->w.images;
        int64_t rows = gcut_rt_min(l->rows, p->w.places[0] - i0);
        gcut_rt_share(blocks, 1, (int)(q % p->parts), (int)p->parts, &b0, &b1);
        f.at = p->f.at + group * p->fgroup;
        if (filled != piece) NAME(fill)(&f, &p->w, l, p->tile, image, 0, p->w.channels, i0, scratch->panel);
        filled = piece;
        T *to = p->c + group * p->cgroup + image * p->cimage + i0 * p->ci;
        for (int64_t b = b0; b < b1; b++) {
            int64_t m0, m1;
            gcut_rt_share(p->m, 1, (int)b, (int)blocks, &m0, &m1);
            NAME(padded_multiply)
            (p, l, m1 - m0, p->a + (group * p->m + m0) * p->k, off, channels, scratch->panel, scratch->tile);
            NAME(copy_places)(p, l, rows, m1 - m0, scratch->tile, to + m0 * p->crow);
        }
    }
    gcut_rt_give_back(workspace);
}
