/* SPDX-License-Identifier: MIT
 *
 * The gradient of w by the transforms of winograd_type.h, for one element type; included by conv_type.h: with
 * y a tile of the results, it is G' (sum over tiles of (A y A') * (B d B')) G.
 *
 * A round of tiles is a matrix of results and one of elements for each of the 16; their product is added to
 * the transform of w.  A sum is one chain of multiply-adds per round.
 */

typedef struct NAME(winograd_w) {
    NAME(winograd) q;
    int64_t o, c;
    T *w; /* of the group */
} NAME(winograd_w);

enum { NAME(STRIP) = 128 / sizeof(T) };

typedef T NAME(four) __attribute__((vector_size(4 * sizeof(T))));

/* to[t, i] = from[i, t] for i < n <= STRIP channels; 0 for the others. */
static void NAME(transpose)(const T *from, int64_t n, int64_t tiles, T *to)
{
    for (int64_t i = 0; i < NAME(STRIP); i += 4)
        for (int64_t t = 0; t < tiles; t += 4) {
            NAME(four) a[4] = {{0}};
            for (int r = 0; r < 4; r++)
                if (i + r < n) memcpy(&a[r], from + (i + r) * NAME(ROUND_PITCH) + t, sizeof a[r]);
            const NAME(four) low[2] = {LOW_4(a[0], a[2]), LOW_4(a[1], a[3])};
            const NAME(four) high[2] = {HIGH_4(a[0], a[2]), HIGH_4(a[1], a[3])};
            const NAME(four) out[4] = {LOW_4(low[0], low[1]), HIGH_4(low[0], low[1]), LOW_4(high[0], high[1]),
                                       HIGH_4(high[0], high[1])};
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++) memcpy(to + (t + r) * NAME(STRIP) + i, &out[r], sizeof out[r]);
        }
}

/* Adds a round to the transform u[e, o, c] of w. */
static void NAME(sum_part)(void *arg, int t, int nt)
{
    const NAME(winograd_w) *p = arg;
    const NAME(winograd) *q = &p->q;
    _Alignas(64) T strip[NAME(ROUND) * NAME(STRIP)];
    int64_t strips = gcut_rt_ceildiv(p->c, NAME(STRIP)), begin, end;
    int64_t tiles = NAME(round_blocks)(q) * 2 * q->in.l.lanes;
    gcut_rt_share(16 * strips, 1, t, nt, &begin, &end);
    for (int64_t s = begin; s < end; s++) {
        int64_t e = s / strips, c = s % strips * NAME(STRIP), n = gcut_rt_min(NAME(STRIP), p->c - c);
        NAME(transpose)(q->in.to + e * q->in.transform_stride + c * q->in.channel_stride, n, tiles, strip);
        NAME(gcut_rt_small)
        (p->o, n, tiles, q->out.to + e * q->out.transform_stride, q->out.channel_stride, 1, strip,
         NAME(STRIP), 1, q->round > 0, q->u + e * p->o * p->c + c, p->c, 1);
    }
}

/* Transforms the sums back to windows of 3 * 3. */
static void NAME(shrink_part)(void *arg, int t, int nt)
{
    const NAME(winograd_w) *p = arg;
    int64_t begin, end, n = p->o * p->c;
    gcut_rt_share(n, 1, t, nt, &begin, &end);
    for (int64_t k = begin; k < end; k++) {
        const T *u = p->q.u + k;
        T half[3][4], *to = p->w + 9 * k;
        for (int j = 0; j < 4; j++) {
            T a = u[j * n], b = u[(4 + j) * n], c = u[(8 + j) * n], d = u[(12 + j) * n];
            half[0][j] = a + (T)0.5 * (b + c);
            half[1][j] = (T)0.5 * (b - c);
            half[2][j] = (T)0.5 * (b + c) + d;
        }
        for (int i = 0; i < 3; i++) {
            T a = half[i][0], b = half[i][1], c = half[i][2], d = half[i][3];
            to[3 * i] = a + (T)0.5 * (b + c);
            to[3 * i + 1] = (T)0.5 * (b - c);
            to[3 * i + 2] = (T)0.5 * (b + c) + d;
        }
    }
}

/* Work: the transform of w, then those of a round's elements and results. */
static void NAME(run_winograd_w)(const NAME(weight_gradient) * p, T *work, int threads)
{
    int64_t c = p->w.channels, o = p->out, zero[2] = {0, 0};
    int64_t first[2] = {p->w.tap[0].first, p->w.tap[1].first};
    NAME(winograd_w) z = {.o = o, .c = c};
    NAME(winograd) *q = &z.q;
    *q = (NAME(winograd)){.u = work + GCUT_RT_WINOGRAD_C * (c + o), .sides = 2};
    q->in = (NAME(side)){
        .f = p->f, .fgroup = p->fgroup, .channels = c, .tile = p->tile, .transform = p->tile->winograd_input};
    q->out = (NAME(side)){.f = {p->y, p->yimage, p->plane, p->w.places[0], p->w.places[1]},
                          .fgroup = o * p->plane,
                          .channels = o,
                          .tile = p->tile,
                          .transform = p->tile->winograd_gradient};
    q->in.to = work;
    q->out.to = q->in.to + 16 * c * NAME(ROUND_PITCH);
    for (int side = 0; side < 2; side++) {
        NAME(side) *s = side ? &q->out : &q->in;
        s->block_stride = 2 * p->tile->lanes;
        s->channel_stride = NAME(ROUND_PITCH);
        s->transform_stride = s->channels * NAME(ROUND_PITCH);
        NAME(cut_tiles)(s, &p->w, side ? zero : first, side ? 2 : 4);
    }
    for (q->group = 0; q->group < p->groups; q->group++) {
        z.w = p->c + q->group * o * p->k;
        for (q->round = 0; q->round < q->in.l.place_blocks; q->round += ROUND_BLOCKS) {
            gcut_rt_parallel(NAME(tile_part), q, threads);
            gcut_rt_parallel(NAME(sum_part), &z, threads);
        }
        gcut_rt_parallel(NAME(shrink_part), &z, threads);
    }
}
