/* SPDX-License-Identifier: MIT
 *
 * Products of 3 * 3 windows of stride 1 by Winograd's F(2 x 2, 3 x 3), for one element type; included by
 * conv_type.h.  Results fall into tiles of 2 * 2, each of which sees 4 * 4 elements.  With
 *
 *       | 1  0 -1  0 |        |  1    0    0  |        | 1  1  1  0 |
 *   B = | 0  1  1  0 |    G = | 1/2  1/2  1/2 |    A = | 0  1 -1 -1 |
 *       | 0 -1  1  0 |        | 1/2 -1/2  1/2 |
 *       | 0  1  0 -1 |        |  0    0    1  |
 *
 * a tile is A (sum over channels of (G w G') * (B d B')) A': 16 multiplications for what takes 36.
 *
 * The tiles are cut into blocks of two vectors of them, and the blocks into rounds of ROUND_BLOCKS.  In a
 * round all threads transform the elements of its tiles; then they multiply and write results:
 *
 *     U[e]         G w G'       [blocks of rows of w][channel][row], rows innermost
 *     V[block][e]  B d B'       [channel][two vectors of tiles]
 *     M[e]         U[e] V[block][e]: [row of w][two vectors of tiles], and y = A M A' of each tile
 *
 *     tile d: 4 * 4 elements    its transform: e = 0..15    results: 2 * 2
 *       | d00 d01 d02 d03 |        |  0  1  2  3 |            | y00 y01 |
 *       | d10 d11 d12 d13 |        |  4  5  6  7 |            | y10 y11 |
 *       | d20 d21 d22 d23 |        |  8  9 10 11 |
 *       | d30 d31 d32 d33 |        | 12 13 14 15 |     the next tile begins at d02
 *
 * A sum is one chain of multiply-adds
 * over the channels for each e, whatever thread, block and lane it is in.
 */

enum {
    NAME(TILE_PANEL_ELEMENTS) = 8192,
    NAME(PAIR) = 128 / sizeof(T),
    NAME(ROUND) = ROUND_BLOCKS * NAME(PAIR),
    NAME(ROUND_PITCH) = NAME(ROUND) + 16
};
_Static_assert(16 * NAME(ROUND_PITCH) <= GCUT_RT_WINOGRAD_C,
               "the caller's workspace holds a round of a channel");

/* An image whose tiles are transformed, and where the 16 of each go: distances of blocks, of channels
 * and of the 16. */
typedef struct NAME(side) {
    NAME(images) f;
    int64_t fgroup, channels;
    window w; /* over tiles */
    layout l;
    int64_t panel_channels; /* channels of a panel */
    const PASTE(gcut_rt_tile, TYPE) * tile;
    void (*transform)(const T *, const int32_t *, T *, int64_t);
    T *to;
    int64_t block_stride, channel_stride, transform_stride;
} NAME(side);

typedef struct NAME(winograd) {
    const NAME(product) * p;
    int64_t group, round;
    T *u; /* transforms of w */
    NAME(side) in, out;
    int sides; /* out too: for the gradient of w */
} NAME(winograd);

/* Transforms the windows: u[e], a matrix of m rows in blocks, each with its rows innermost.  A part goes
 * through memory of its own, because the 16 of an element may lie whole pages apart. */
static void NAME(window_part)(void *arg, int t, int nt)
{
    const NAME(winograd) *q = arg;
    const NAME(product) *p = q->p;
    _Alignas(64) T from[9][GCUT_RT_ROW_PITCH], to[16][WINDOWS * GCUT_RT_ROW_PITCH];
    int64_t blocks = NAME(row_blocks)(p), begin, end, k = p->w.channels, parts = gcut_rt_ceildiv(k, WINDOWS);
    const T *w = p->from + p->afirst + q->group * p->agroup;
    memset(from, 0, sizeof from);
    gcut_rt_share(blocks * parts, 1, t, nt, &begin, &end);
    for (int64_t s = begin; s < end; s++) {
        int64_t m0, m1, c0 = s % parts * WINDOWS, n = gcut_rt_min(WINDOWS, k - c0);
        gcut_rt_share(p->m, 1, (int)(s / parts), (int)blocks, &m0, &m1);
        for (int64_t c = 0; c < n; c++) {
            for (int64_t m = m0; m < m1; m++) {
                const T *one = w + m * p->am + (c0 + c) * p->achannel;
                for (int i = 0; i < 9; i++) from[i][m - m0] = one[i / 3 * p->arow + i % 3 * p->acolumn];
            }
            p->tile->winograd_filter(m1 - m0, from[0], to[0] + c * (m1 - m0), WINDOWS * GCUT_RT_ROW_PITCH);
        }
        for (int64_t e = 0; e < 16; e++)
            memcpy(q->u + (e * p->m + m0) * k + c0 * (m1 - m0), to[e], (size_t)(n * (m1 - m0)) * sizeof(T));
    }
}

/* Transforms what lies under the tiles of one block, in channels c0..c1.  Lanes that are no tiles are 0. */
static void NAME(transform_tiles)(const NAME(winograd) * q, const NAME(side) * s, int64_t at, int64_t c0,
                                  int64_t c1, NAME(scratch) * scratch)
{
    int32_t off[16];
    place_block c;
    NAME(images) f = s->f;
    const layout *l = &s->l;
    int64_t each = l->flat ? s->w.tap[0].n * s->w.tap[1].n : 1, lanes = l->lanes;
    f.at += q->group * s->fgroup;
    offsets(&s->w, l, each, off);
    make_place_block(&s->w, l, q->round + at, &c);
    NAME(gather)(&f, &s->w, l, &c, s->tile, c0 * each, c1 * each, &scratch->lines, scratch->panel);
    for (int64_t i = c0; i < c1; i++)
        for (int64_t v = 0; v < 2; v++) {
            T *to = s->to + at * s->block_stride + i * s->channel_stride + v * lanes;
            int64_t some = v < c.vectors ? c.valid[v] : 0;
            if (some > 0)
                s->transform(scratch->panel + (i - c0) * each * l->slice_elements + c.at[v], off, to,
                             s->transform_stride);
            for (int64_t e = 0; e < 16 && some < lanes; e++)
                for (int64_t j = some; j < lanes; j++) to[e * s->transform_stride + j] = 0;
        }
}

static int64_t NAME(round_blocks)(const NAME(winograd) * q)
{
    return gcut_rt_min(ROUND_BLOCKS, q->in.l.place_blocks - q->round);
}

static void NAME(tile_part)(void *arg, int t, int nt)
{
    const NAME(winograd) *q = arg;
    gcut_rt_packing_memory workspace = gcut_rt_borrow(sizeof(NAME(scratch)));
    for (int side = 0; side < q->sides; side++) {
        const NAME(side) *s = side ? &q->out : &q->in;
        int64_t parts = gcut_rt_ceildiv(s->channels, s->panel_channels), begin, end;
        gcut_rt_share(NAME(round_blocks)(q) * parts, 1, t, nt, &begin, &end);
        for (int64_t k = begin; k < end; k++) {
            int64_t c = k % parts * s->panel_channels;
            NAME(transform_tiles)
            (q, s, k / parts, c, gcut_rt_min(c + s->panel_channels, s->channels), workspace.at);
        }
    }
    gcut_rt_give_back(workspace);
}

/* Where the results of some tiles in a row go: the first is lane `lane`; `rows` and `columns` of them. */
typedef struct NAME(place) {
    int64_t at, lane, rows, columns;
} NAME(place);

static int NAME(find_places)(const NAME(winograd) * q, const place_block *c, NAME(place) * to)
{
    const NAME(product) *p = q->p;
    int64_t runs = runs_of(&q->in.w, &q->in.l, c), across = q->in.w.places[1], lanes = q->in.l.lanes;
    int n = 0;
    for (int64_t k = 0; k < runs; k++) {
        run r = run_of(&q->in.w, &q->in.l, c, k);
        for (int64_t done = 0, some; done < r.n; done += some) {
            int64_t i = (r.place + done) / across, j = (r.place + done) % across, lane = r.at + done;
            /* No further than the row of tiles and the vector. */
            some = gcut_rt_min(r.n - done, gcut_rt_min(across - j, lanes - lane % lanes));
            to[n++] = (NAME(place)){r.image * p->cimage + 2 * i * p->ci + 2 * j, lane,
                                    gcut_rt_min(2, p->w.places[0] - 2 * i),
                                    gcut_rt_min(2 * some, p->w.places[1] - 2 * j)};
        }
    }
    return n;
}

/* Rows m0..m1 of the results of one block, whose elements are transformed at v. */
static void NAME(multiply_tiles)(const NAME(winograd) * q, const place_block *c, const NAME(place) * places,
                                 int n, const T *v, int64_t m0, int64_t m1)
{
    const NAME(product) *p = q->p;
    _Alignas(64) T sum[16 * GCUT_RT_ROWS * NAME(PAIR)], out[2][2 * GCUT_RT_LANES * 2];
    int32_t off[MAX_STEPS];
    int64_t k = p->w.channels, lanes = q->in.l.lanes, pair = 2 * lanes, rows = m1 - m0;
    for (int64_t i = 0; i < gcut_rt_min(k, MAX_STEPS); i++) off[i] = (int32_t)(i * pair);
    for (int64_t e = 0; e < 16; e++)
        for (int64_t k0 = 0; k0 < k; k0 += MAX_STEPS) {
            const T *b = v + (e * k + k0) * pair, *both[2] = {b, b + lanes};
            T *s = sum + e * rows * pair, *to[2] = {s, s + lanes};
            p->tile->product((int)rows, (int)c->vectors, gcut_rt_min(MAX_STEPS, k - k0),
                             q->u + (e * p->m + m0) * k + k0 * rows, off, both, to, pair, k0 > 0);
        }
    for (int64_t m = 0; m < rows; m++) {
        T *to = p->c + q->group * p->cgroup + (m0 + m) * p->crow;
        for (int64_t w = 0; w < c->vectors; w++)
            p->tile->winograd_output(sum + m * pair + w * lanes, rows * pair, out[w]);
        for (int i = 0; i < n; i++) {
            const NAME(place) *s = &places[i];
            const T *from = out[s->lane / lanes] + s->lane % lanes * 2;
            for (int64_t r = 0; r < s->rows; r++)
                NAME(copy)(to + s->at + r * p->ci, from + r * pair, s->columns);
        }
    }
}

static void NAME(result_part)(void *arg, int t, int nt)
{
    const NAME(winograd) *q = arg;
    const NAME(product) *p = q->p;
    int64_t blocks = NAME(row_blocks)(p), begin, end;
    NAME(place) places[2 * GCUT_RT_LANES];
    place_block c;
    int n = 0;
    gcut_rt_share(NAME(round_blocks)(q) * blocks, 1, t, nt, &begin, &end);
    for (int64_t s = begin; s < end; s++) {
        int64_t m0, m1;
        gcut_rt_share(p->m, 1, (int)(s % blocks), (int)blocks, &m0, &m1);
        if (s == begin || s % blocks == 0) {
            make_place_block(&q->in.w, &q->in.l, q->round + s / blocks, &c);
            n = NAME(find_places)(q, &c, places);
        }
        NAME(multiply_tiles)(q, &c, places, n, q->in.to + s / blocks * q->in.block_stride, m0, m1);
    }
}

/* The tiles of 2 * 2 places of `w`, of which each sees size * size elements, `first` being where the first
 * begins.  All sizes of tiles fit into a panel, so that both sides of a product are cut alike. */
static void NAME(cut_tiles)(NAME(side) * s, const window *w, const int64_t first[2], int64_t size)
{
    int64_t lanes = s->tile->lanes;
    s->w = (window){.images = w->images, .channels = s->channels, .stride = {2, 2}};
    for (int d = 0; d < 2; d++) {
        s->w.places[d] = gcut_rt_ceildiv(w->places[d], 2);
        s->w.tap[d] = (axis){size, first[d], 1};
    }
    limits m = {.lanes = lanes,
                .panel_elements = NAME(TILE_PANEL_ELEMENTS),
                .most_places = 2 * lanes,
                .flat_places = 2 * lanes,
                .k_steps = 16,
                .channels = 1};
    s->l = make_layout(&s->w, &m);
    int64_t each = s->l.flat ? size * size : 1;
    s->panel_channels =
        gcut_rt_max(1, gcut_rt_min(16, NAME(TILE_PANEL_ELEMENTS) / (s->l.slice_elements * each)));
}

/* A product with cj = 1 and a window of 3 * 3 of stride 1, whose taps lie one apart in either direction. */
static void NAME(run_winograd)(NAME(product) * p, T *work, int threads)
{
    if (p->m <= 0 || p->w.images * p->w.places[0] * p->w.places[1] <= 0) return;
    p->tile = NAME(gcut_rt_tile_of)();
    int64_t first[2], k = p->w.channels, pair = 2 * p->tile->lanes;
    for (int d = 0; d < 2; d++) {
        int64_t *distance = d ? &p->acolumn : &p->arow;
        int reversed = p->w.tap[d].step < 0;
        first[d] = p->w.tap[d].first - 2 * reversed;
        p->afirst += 2 * reversed * *distance;
        if (reversed) *distance = -*distance;
    }
    NAME(winograd) q = {.p = p, .u = work + GCUT_RT_WINOGRAD_C * k, .sides = 1};
    q.in = (NAME(side)){.f = p->f,
                        .fgroup = p->fgroup,
                        .channels = k,
                        .tile = p->tile,
                        .transform = p->tile->winograd_input,
                        .to = work,
                        .block_stride = 16 * k * pair,
                        .channel_stride = pair,
                        .transform_stride = k * pair};
    NAME(cut_tiles)(&q.in, &p->w, first, 4);
    int64_t madds = p->m * k * p->w.images * q.in.w.places[0] * q.in.w.places[1] * 16;
    threads = gcut_rt_worth(threads, madds, GEMM_PS);
    for (q.group = 0; q.group < p->groups; q.group++) {
        gcut_rt_parallel(NAME(window_part), &q, threads);
        for (q.round = 0; q.round < q.in.l.place_blocks; q.round += ROUND_BLOCKS) {
            gcut_rt_parallel(NAME(tile_part), &q, threads);
            gcut_rt_parallel(NAME(result_part), &q, threads);
        }
    }
}
