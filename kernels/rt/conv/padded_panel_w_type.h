/* SPDX-License-Identifier: MIT
 *
 * The gradient of the window over padded panels (padded_panel.h), of element type T; included by
 * conv_w_type.h.
 *
 * A panel has several blocks of places, so that sums are long; y lies beside them by the numbers of its
 * places, with zeros elsewhere.  There x is masked besides: it may be infinite or NaN.
 */

/* The layout, when it is better than that of im2col_panel.h. */
static int NAME(pad_weight_gradient)(NAME(weight_gradient) * p, padded *l)
{
    window w = p->w;
    int64_t taps = w.tap[0].n * w.tap[1].n, lanes = p->tile->lanes, room = NAME(PANEL_ELEMENTS),
            places = NAME(TALL_PLACES_W);
    w.channels = gcut_rt_min(w.channels, 2);
    if (!make_padded(&w, p->f.w, lanes, room, l)) return 0;
    if (l->vectors * lanes > places || !padded_pays(&p->w, l, lanes, p->out, 1)) return 0;
    int64_t most = places / (l->vectors * lanes);
    while (most > 1 && most * l->elements > room) most--;
    p->together = gcut_rt_min(most, w.images * l->place_blocks);
    p->panels = gcut_rt_ceildiv(w.images * l->place_blocks, p->together);
    p->l.slices = p->w.channels;
    p->l.slice_taps = taps;
    p->l.block_slices =
        gcut_rt_min(MAX_STEPS / taps, (room / p->together - l->margin - lanes) / l->channel_elements);
    return 1;
}

/* Blocks of places q0.. that lie in a panel, and where: slot s has vectors s * l->vectors.. */
typedef struct NAME(slots) {
    int64_t q0, n, size; /* elements of a slot of the panel */
    int64_t rows[MAX_VECTORS];
    int32_t at[MAX_VECTORS];
    _Alignas(64) BITS keep[NAME(TALL_PLACES_W)];
} NAME(slots);

static int64_t NAME(rows_of)(const NAME(weight_gradient) * p, int64_t q)
{
    const padded *l = p->padded;
    return gcut_rt_min(l->rows, p->w.places[0] - q % l->place_blocks * l->rows);
}

/* Vectors and places of the blocks; what a slot has from the panel before stays. */
static void NAME(begin_slots)(const NAME(weight_gradient) * p, NAME(slots) * s)
{
    const padded *l = p->padded;
    int64_t lanes = p->tile->lanes, numbers = l->vectors * lanes;
    for (int64_t k = 0; k < s->n; k++) {
        int64_t rows = NAME(rows_of)(p, s->q0 + k);
        if (s->rows[k] == rows) continue;
        s->rows[k] = rows;
        for (int64_t v = 0; v < l->vectors; v++)
            s->at[k * l->vectors + v] = (int32_t)(k * s->size + v * lanes);
        memset(s->keep + k * numbers, 0, (size_t)numbers * sizeof(BITS));
        for (int64_t i = 0; i < rows; i++)
            memset(s->keep + k * numbers + i * l->pitch, 255, (size_t)p->w.places[1] * sizeof(BITS));
    }
}

/* Up to four results of y, from the first one of the group on; `to` has zeros but for places. */
static void NAME(fill_results)(const NAME(weight_gradient) * p, const NAME(slots) * s, const T *y,
                               int64_t rows, T *to)
{
    const padded *l = p->padded;
    int64_t numbers = l->vectors * p->tile->lanes, ow = p->w.places[1];
    for (int64_t r = 0; r < GCUT_RT_DOTS; r++, y += p->plane, to += NAME(TALL_PLACES_W) + 16)
        for (int64_t k = 0; k < s->n; k++) {
            int64_t q = s->q0 + k, i0 = q % l->place_blocks * l->rows, n = r < rows ? s->rows[k] : 0;
            const T *from = y + q / l->place_blocks * p->yimage + i0 * ow;
            if (n > 0) p->tile->shift(n, from, ow, 1, ow, to + k * numbers, l->pitch);
            int64_t end = gcut_rt_min(n * l->pitch, numbers);
            memset(to + k * numbers + end, 0, (size_t)(numbers - end) * sizeof(T));
        }
}

static void NAME(padded_weight_gradient_block)(const NAME(weight_gradient) * p,
                                               const NAME(weight_task) * task, NAME(scratch) * scratch)
{
    int32_t off[MAX_STEPS];
    NAME(slots) s = {.n = 0};
    const padded *l = p->padded;
    NAME(images) f = p->f;
    f.at += task->group * p->fgroup;
    s.size = l->margin + p->l.block_slices * l->channel_elements + p->tile->lanes;
    memset(scratch->panel, 0, (size_t)(p->together * s.size) * sizeof(T));
    memset(scratch->y, 0, sizeof scratch->y);
    const int64_t u0 = task->u0, u1 = task->u1, blocks = gcut_rt_ceildiv(u1 - u0, p->l.block_slices),
                  place_blocks = p->w.images * l->place_blocks;
    for (int64_t panel = task->q0; panel < task->q1; panel++) {
        s.q0 = panel * p->together;
        s.n = gcut_rt_min(p->together, place_blocks - s.q0);
        NAME(begin_slots)(p, &s);
        for (int64_t b = 0; b < blocks; b++) {
            int64_t v0, v1;
            gcut_rt_share(u1 - u0, 1, (int)b, (int)blocks, &v0, &v1);
            v0 += u0, v1 += u0;
            int64_t k = padded_offsets(&p->w, l, v1 - v0, off);
            for (int64_t q = 0; q < s.n; q++) NAME(fill)
            (&f, &p->w, l, p->tile, (s.q0 + q) / l->place_blocks, v0, v1,
             (s.q0 + q) % l->place_blocks * l->rows, scratch->panel + q * s.size);
            for (int64_t o = task->o0; o < task->o1; o += GCUT_RT_DOTS) {
                int64_t rows = gcut_rt_min(GCUT_RT_DOTS, task->o1 - o), at = task->group * p->out + o;
                NAME(fill_results)(p, &s, p->y + at * p->plane, rows, scratch->y);
                NAME(accumulate_taps)
                (p, s.n * l->vectors, s.at, s.keep, k, off, scratch->panel, scratch->y, rows,
                 panel > task->q0, task->c + at * p->k + v0 * p->l.slice_taps);
            }
        }
    }
}
