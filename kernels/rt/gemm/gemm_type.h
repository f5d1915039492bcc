/* SPDX-License-Identifier: MIT
 *
 * gemm.c for one element type (each_type.h).
 */

/* What all threads work on. */
typedef struct NAME(job) {
    const gemm_problem *q;
    grid s;
    gcut_rt_grain grain;
    const T *a, *b;
    T *c;
    gcut_rt_tile_fn *tile; /* or NULL */
    void *arg;
    int whole_rows;
} NAME(job);

/* The sums of rows of A, or columns of B, s0..s1, from memory. */
static void NAME(add_up)(const NAME(job) * w, int64_t s0, int64_t s1)
{
    const gcut_rt_gemm *g = &w->q->g;
    T *sum = g->sum;
    if (g->sums == GCUT_RT_SUMS_A)
        NAME(gcut_rt_sums)(s1 - s0, g->k, w->a + s0 * g->rsa, g->rsa, g->csa, sum + s0);
    if (g->sums == GCUT_RT_SUMS_B)
        NAME(gcut_rt_sums)(s1 - s0, g->k, w->b + s0 * g->csb, g->csb, g->rsb, sum + s0);
}

/* Rows m0..m1 and columns n0..n1 of one product without packing, on the calling thread. */
static void NAME(unpacked)(const gemm_problem *q, const T *a, const T *b, T *c, int64_t m0, int64_t m1,
                           int64_t n0, int64_t n1)
{
    const gcut_rt_gemm *g = &q->g;
    const int64_t m = m1 - m0, n = n1 - n0, k = g->k;
    const int add = g->accumulate;
    if (m <= 0 || n <= 0) return;
    a += m0 * g->rsa;
    b += n0 * g->csb;
    c += m0 * g->rsc + n0 * g->csc;
    if (k <= 0) {
        for (int64_t i = 0; i < m && !add; i++)
            for (int64_t j = 0; j < n; j++) c[i * g->rsc + j * g->csc] = 0;
    } else if (q->dots) {
        NAME(gcut_rt_dots)(m, n, k, a, g->rsa, b, g->csb, add, c, g->rsc, g->csc);
    } else if (gcut_rt_column_major(g)) {
        NAME(gcut_rt_small)(n, m, k, b, g->csb, g->rsb, a, g->csa, g->rsa, add, c, g->csc, g->rsc);
    } else {
        NAME(gcut_rt_small)(m, n, k, a, g->rsa, g->csa, b, g->rsb, g->csb, add, c, g->rsc, g->csc);
    }
}

/* A part of one product, its tiles and its sums. */
static void NAME(run_part)(const NAME(job) * w, const gcut_rt_macro *x, const T *a, const T *b, T *c)
{
    const gemm_problem *q = w->q;
    if (!q->small && !q->dots && q->g.k > 0 && x->m1 > x->m0 && x->n1 > x->n0) {
        NAME(gcut_rt_macro)(x, a, b, c);
        return;
    }
    NAME(add_up)(w, x->s0, x->s1);
    const int64_t step = w->tile ? TILE_ROWS : gcut_rt_max(x->m1 - x->m0, 1);
    for (int64_t i = x->m0; i < x->m1; i += step) {
        const int64_t end = gcut_rt_min(i + step, x->m1);
        NAME(unpacked)(q, a, b, c, i, end, x->n0, x->n1);
        if (w->tile && (x->n1 > x->n0 || w->whole_rows))
            w->tile(w->arg, x->thread, x->line.c + i, x->line.c + end, x->n0, x->n1);
    }
}

/* What part (row, column) of the grid makes of the sums: those that pack the same rows or columns share
 * them. */
static void NAME(share_sums)(const NAME(job) * w, int64_t row, int64_t column, gcut_rt_macro *x)
{
    const int of_a = w->q->g.sums == GCUT_RT_SUMS_A;
    const int64_t first = of_a ? x->m0 : x->n0, n = of_a ? x->m1 - x->m0 : x->n1 - x->n0;
    gcut_rt_share(n, of_a ? w->grain.m : w->grain.n, (int)(of_a ? column : row),
                  (int)(of_a ? w->s.columns : w->s.rows), &x->s0, &x->s1);
    x->s0 += first, x->s1 += first;
}

/* Thread t's share of the parts of all batches. */
static void NAME(work)(void *arg, int t, int nt)
{
    const NAME(job) *w = arg;
    const gcut_rt_gemm *g = &w->q->g;
    const grid *s = &w->s;
    int64_t begin, end, at[3];
    gcut_rt_share(w->q->batches * s->rows * s->columns, 1, t, nt, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t part = i % (s->rows * s->columns), row = part / s->columns, column = part % s->columns;
        const int64_t batch = i / (s->rows * s->columns);
        gcut_rt_macro x = {.g = g, .tile = w->tile, .arg = w->arg, .thread = t, .whole_rows = w->whole_rows};
        locate(g, batch, at);
        x.line = lines_of(g, batch, at);
        gcut_rt_share(g->m, w->grain.m, (int)row, (int)s->rows, &x.m0, &x.m1);
        gcut_rt_share(g->n, w->grain.n, (int)column, (int)s->columns, &x.n0, &x.n1);
        NAME(share_sums)(w, row, column, &x);
        NAME(run_part)(w, &x, w->a + at[0], w->b + at[1], w->c + at[2]);
    }
}

void NAME(gcut_rt_gemm_tiled)(const gcut_rt_gemm *product, const T *a, const T *b, T *c,
                              gcut_rt_tile_fn *tile, void *arg, int whole_rows, int threads)
{
    gemm_problem q = decide(product, sizeof(T));
    gcut_rt_gemm *g = &q.g;
    const int empty = g->m <= 0 || g->n <= 0 || q.batches <= 0;
    const int runs =
        !empty || (g->m > 0 && q.batches > 0 && whole_rows); /* the tile function gets rows of no columns */
    NAME(job)
    w = {.q = &q,
         .grain = grain_of(&q, sizeof(T)),
         .c = c,
         .tile = tile,
         .arg = arg,
         .whole_rows = whole_rows};
    w.a = runs && g->from_a.fill ? g->from_a.room : a;
    w.b = runs && g->from_b.fill ? g->from_b.room : b;
    if (runs) precompute(&g->from_a, g->m, g->k, stored_batches(g, g->sa), sizeof(T), threads);
    if (runs) precompute(&g->from_b, g->n, g->k, stored_batches(g, g->sb), sizeof(T), threads);
    if (empty) { /* a product of no rows or columns has sums */
        NAME(add_up)(&w, 0, g->sums == GCUT_RT_SUMS_A ? g->m : g->n);
        g->sums = 0;
    }
    if (!runs) return;
    threads = tile ? gcut_rt_threads(threads) : worthwhile_threads(&q, threads);
    w.s = split(&q, w.grain, threads, whole_rows);
    gcut_rt_parallel(NAME(work), &w, w.s.threads);
}

void NAME(gcut_rt_gemm)(const gcut_rt_gemm *g, const T *a, const T *b, T *c, int threads)
{
    NAME(gcut_rt_gemm_tiled)(g, a, b, c, NULL, NULL, 0, threads);
}
