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
 * Tiles are dealt with in chunks of two vectors and rounds of CHUNKS chunks: first all threads transform the
 * chunks' elements, then they multiply and write results.  A sum is one chain of multiply-adds over the
 * channels for each of the 16, whatever thread, chunk and lane it is in.
 */

enum { NAME(TILE_ROOM) = 8192, NAME(PAIR) = 128 / sizeof(T), NAME(TILE_ROWS) = 14 };

typedef struct NAME(winograd) {
    const NAME(product) * p;
    window w; /* of 4 * 4, over tiles */
    layout l;
    int64_t group, round, per; /* per: channels of a panel */
    T *u, *v;                  /* transforms of w and of a round's elements */
} NAME(winograd);

/* to[e], e < 16, = G w G' of one window. */
static void NAME(spread_window)(const T *from, int64_t row, int64_t column, T *to, int64_t pitch)
{
    T half[4][3];
    for (int j = 0; j < 3; j++) {
        T a = from[j * column], b = from[row + j * column], c = from[2 * row + j * column];
        half[0][j] = a;
        half[1][j] = (T)0.5 * (a + b + c);
        half[2][j] = (T)0.5 * (a - b + c);
        half[3][j] = c;
    }
    for (int i = 0; i < 4; i++) {
        T a = half[i][0], b = half[i][1], c = half[i][2];
        to[(4 * i + 0) * pitch] = a;
        to[(4 * i + 1) * pitch] = (T)0.5 * (a + b + c);
        to[(4 * i + 2) * pitch] = (T)0.5 * (a - b + c);
        to[(4 * i + 3) * pitch] = c;
    }
}

/* Transforms the windows: u[e], a matrix of m rows in blocks, each with its rows innermost. */
static void NAME(window_part)(void *arg, int t, int nt)
{
    const NAME(winograd) *q = arg;
    const NAME(product) *p = q->p;
    int64_t blocks = NAME(row_blocks)(p), begin, end, k = p->w.channels;
    gcut_rt_share(blocks * k, 1, t, nt, &begin, &end);
    for (int64_t s = begin; s < end; s++) {
        int64_t m0, m1, c = s % k;
        gcut_rt_share(p->m, 1, (int)(s / k), (int)blocks, &m0, &m1);
        const T *from = p->from + p->afirst + q->group * p->agroup + c * p->achannel;
        T *to = q->u + m0 * k + c * (m1 - m0);
        for (int64_t m = m0; m < m1; m++)
            NAME(spread_window)(from + m * p->am, p->arow, p->acolumn, to + (m - m0), p->m * k);
    }
}

/* Transforms the elements under the tiles of a round: v[chunk][e][channel], two vectors each. */
static void NAME(tile_part)(void *arg, int t, int nt)
{
    const NAME(winograd) *q = arg;
    const NAME(product) *p = q->p;
    const layout *l = &q->l;
    _Alignas(64) T panel[NAME(TILE_ROOM) + NAME(SPARE)];
    int32_t off[16];
    chunk c;
    NAME(field) f = p->f;
    f.at += q->group * p->fgroup;
    int64_t k = p->w.channels, parts = gcut_rt_ceildiv(k, q->per), each = l->flat ? 16 : 1, begin, end;
    int64_t chunks = gcut_rt_min(CHUNKS, l->chunks - q->round), pair = 2 * l->lanes;
    offsets(&q->w, l, each, off);
    gcut_rt_share(chunks * parts, 1, t, nt, &begin, &end);
    for (int64_t s = begin; s < end; s++) {
        int64_t c0 = s % parts * q->per, c1 = gcut_rt_min(c0 + q->per, k);
        make_chunk(&q->w, l, q->round + s / parts, &c);
        NAME(gather)(&f, &q->w, l, &c, c0 * each, c1 * each, panel);
        T *to = q->v + (s / parts * 16 * k + c0) * pair;
        for (int64_t i = 0; i < c1 - c0; i++)
            for (int64_t v = 0; v < c.vectors; v++)
                p->tile->spread(panel + i * each * l->unit + c.at[v], off, to + i * pair + v * l->lanes,
                                k * pair);
    }
}

/* Where the results of some tiles in a row go: the first is lane `lane`; `rows` and `columns` of them. */
typedef struct NAME(place) {
    int64_t at, lane, rows, columns;
} NAME(place);

static int NAME(find_places)(const NAME(winograd) * q, const chunk *c, NAME(place) * to)
{
    const NAME(product) *p = q->p;
    int64_t runs = runs_of(&q->w, &q->l, c), across = q->w.places[1];
    int n = 0;
    for (int64_t k = 0; k < runs; k++) {
        run r = run_of(&q->w, &q->l, c, k);
        for (int64_t done = 0, some; done < r.n; done += some) {
            int64_t i = (r.place + done) / across, j = (r.place + done) % across, lane = r.at + done;
            /* No further than the row of tiles and the vector. */
            some = gcut_rt_min(r.n - done, gcut_rt_min(across - j, q->l.lanes - lane % q->l.lanes));
            to[n++] = (NAME(place)){r.image * p->cimage + 2 * i * p->ci + 2 * j, lane,
                                    gcut_rt_min(2, p->w.places[0] - 2 * i),
                                    gcut_rt_min(2 * some, p->w.places[1] - 2 * j)};
        }
    }
    return n;
}

/* Rows m0..m1 of the results of one chunk, whose elements are transformed at v. */
static void NAME(multiply_tiles)(const NAME(winograd) * q, const chunk *c, const NAME(place) * places, int n,
                                 const T *v, int64_t m0, int64_t m1)
{
    const NAME(product) *p = q->p;
    _Alignas(64) T sum[16 * NAME(TILE_ROWS) * NAME(PAIR)], out[2][2 * GCUT_RT_LANES * 2];
    int32_t off[MAX_STEPS];
    int64_t k = p->w.channels, lanes = q->l.lanes, pair = 2 * lanes, rows = m1 - m0;
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
            p->tile->gather_up(sum + m * pair + w * lanes, rows * pair, out[w]);
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
    int64_t blocks = NAME(row_blocks)(p), chunks = gcut_rt_min(CHUNKS, q->l.chunks - q->round), begin, end;
    NAME(place) places[2 * GCUT_RT_LANES];
    chunk c;
    int n = 0;
    gcut_rt_share(chunks * blocks, 1, t, nt, &begin, &end);
    for (int64_t s = begin; s < end; s++) {
        int64_t m0, m1;
        gcut_rt_share(p->m, 1, (int)(s % blocks), (int)blocks, &m0, &m1);
        if (s == begin || s % blocks == 0) {
            make_chunk(&q->w, &q->l, q->round + s / blocks, &c);
            n = NAME(find_places)(q, &c, places);
        }
        NAME(multiply_tiles)
        (q, &c, places, n, q->v + s / blocks * 16 * p->w.channels * 2 * q->l.lanes, m0, m1);
    }
}

/* A product with cj = 1 and a window of 3 * 3 of stride 1, whose taps lie one apart in either direction. */
static void NAME(run_winograd)(NAME(product) * p, T *work, int threads)
{
    if (p->m <= 0 || p->w.images * p->w.places[0] * p->w.places[1] <= 0) return;
    p->tile = NAME(gcut_rt_tile_of)();
    NAME(winograd)
    q = {.p = p, .w = p->w, .u = work, .v = work + 16 * p->m * p->w.channels};
    for (int d = 0; d < 2; d++) {
        const axis *a = &p->w.tap[d];
        int64_t *distance = d ? &p->acolumn : &p->arow;
        q.w.places[d] = gcut_rt_ceildiv(p->w.places[d], 2);
        q.w.stride[d] = 2;
        q.w.tap[d] = (axis){4, a->step < 0 ? a->first - 2 : a->first, 1};
        if (a->step < 0) { /* The window the other way round. */
            p->afirst += 2 * *distance;
            *distance = -*distance;
        }
    }
    limits m = {.lanes = p->tile->lanes,
                .room = NAME(TILE_ROOM),
                .places = 2 * p->tile->lanes,
                .steps = 16,
                .channels = 1};
    q.l = make_layout(&q.w, &m);
    q.per = gcut_rt_max(1, gcut_rt_min(16, NAME(TILE_ROOM) / (q.l.unit * (q.l.flat ? 16 : 1))));
    int64_t madds = p->m * p->w.channels * q.w.images * q.w.places[0] * q.w.places[1] * 16;
    threads = gcut_rt_worth(threads, madds, GEMM_PS);
    for (q.group = 0; q.group < p->groups; q.group++) {
        gcut_rt_parallel(NAME(window_part), &q, threads);
        for (q.round = 0; q.round < q.l.chunks; q.round += CHUNKS) {
            gcut_rt_parallel(NAME(tile_part), &q, threads);
            gcut_rt_parallel(NAME(result_part), &q, threads);
        }
    }
}
