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
    gcut_rt_tile_fn *tile;
    void *arg;
    int whole_rows;
    int sums; /* and where they go */
    T *sum;
} NAME(job);

/* The sums of rows of A, or columns of B, s0..s1, from memory. */
static void NAME(add_up)(const NAME(job) * w, int64_t s0, int64_t s1)
{
    const gemm_problem *q = w->q;
    if (w->sums == GCUT_RT_SUMS_A)
        NAME(gcut_rt_sums)(s1 - s0, q->k, w->a + s0 * q->rsa, q->rsa, q->csa, w->sum + s0);
    if (w->sums == GCUT_RT_SUMS_B)
        NAME(gcut_rt_sums)(s1 - s0, q->k, w->b + s0 * q->csb, q->csb, q->rsb, w->sum + s0);
}

/* Rows m0..m1 and columns n0..n1 of one product without packing, on the calling thread. */
static void NAME(unpacked)(const gemm_problem *q, const T *a, const T *b, T *c, int64_t m0, int64_t m1,
                           int64_t n0, int64_t n1)
{
    int64_t m = m1 - m0, n = n1 - n0, k = q->k;
    if (m <= 0 || n <= 0) return;
    a += m0 * q->rsa;
    b += n0 * q->csb;
    c += m0 * q->rsc + n0 * q->csc;
    if (k <= 0) {
        for (int64_t i = 0; i < m && !q->add; i++)
            for (int64_t j = 0; j < n; j++) c[i * q->rsc + j * q->csc] = 0;
    } else if (q->dots) {
        NAME(gcut_rt_dots)(m, n, k, a, q->rsa, b, q->csb, q->add, c, q->rsc, q->csc);
    } else if (column_major(q)) {
        NAME(gcut_rt_small)(n, m, k, b, q->csb, q->rsb, a, q->csa, q->rsa, q->add, c, q->csc, q->rsc);
    } else {
        NAME(gcut_rt_small)(m, n, k, a, q->rsa, q->csa, b, q->rsb, q->csb, q->add, c, q->rsc, q->csc);
    }
}

/* Rows m0..m1 and columns n0..n1 of one product, and their tiles, by thread number t; and sums s0..s1. */
static void NAME(grid_cell)(const NAME(job) * w, int t, const T *a, const T *b, T *c, int64_t m0, int64_t m1,
                            int64_t n0, int64_t n1, int64_t s0, int64_t s1)
{
    const gemm_problem *q = w->q;
    if (q->small || q->dots || q->k <= 0 || m1 <= m0 || n1 <= n0) {
        NAME(add_up)(w, s0, s1);
        const int64_t step = w->tile ? TILE_ROWS : gcut_rt_max(m1 - m0, 1);
        for (int64_t i = m0; i < m1; i += step) {
            const int64_t end = gcut_rt_min(i + step, m1);
            NAME(unpacked)(q, a, b, c, i, end, n0, n1);
            if (w->tile && (n1 > n0 || w->whole_rows)) w->tile(w->arg, t, i, end, n0, n1);
        }
        return;
    }
    const gcut_rt_macro g = {m0,      m1,     n0,     n1,     q->k,      q->rsa,   q->csa, q->rsb,
                             q->csb,  q->rsc, q->csc, q->add, w->tile,   w->arg,   t,      w->whole_rows,
                             w->sums, s0,     s1,     w->sum, q->from_a, q->from_b};
    NAME(gcut_rt_macro)(&g, a, b, c);
}

/* What cell (i, j) of the grid makes of the sums: the parts that pack the same rows or columns share them. */
static void NAME(share_sums)(const NAME(job) * w, int64_t i, int64_t j, const int64_t m[2],
                             const int64_t n[2], int64_t s[2])
{
    const int of_a = w->sums == GCUT_RT_SUMS_A;
    const int64_t *x = of_a ? m : n;
    gcut_rt_share(x[1] - x[0], of_a ? w->grain.m : w->grain.n, (int)(of_a ? j : i),
                  (int)(of_a ? w->s.columns : w->s.rows), &s[0], &s[1]);
    s[0] += x[0], s[1] += x[0];
}

/* Thread t's share of the parts of all batches. */
static void NAME(work)(void *arg, int t, int nt)
{
    const NAME(job) *w = arg;
    const gemm_problem *q = w->q;
    const grid *s = &w->s;
    int64_t begin, end;
    gcut_rt_share(q->batches * s->rows * s->columns, 1, t, nt, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t at[3], m[2], n[2], sums[2], part = i % (s->rows * s->columns);
        const int64_t row = part / s->columns, column = part % s->columns;
        locate(q->nbatch, q->batch, q->sa, q->sb, q->sc, i / (s->rows * s->columns), at);
        gcut_rt_share(q->m, w->grain.m, (int)row, (int)s->rows, &m[0], &m[1]);
        gcut_rt_share(q->n, w->grain.n, (int)column, (int)s->columns, &n[0], &n[1]);
        NAME(share_sums)(w, row, column, m, n, sums);
        NAME(grid_cell)
        (w, t, w->a + at[0], w->b + at[1], w->c + at[2], m[0], m[1], n[0], n[1], sums[0], sums[1]);
    }
}

/* A product of no rows or columns has sums. */
static void NAME(sums_alone)(const NAME(job) * w)
{
    NAME(add_up)(w, 0, w->sums == GCUT_RT_SUMS_A ? w->q->m : w->q->n);
}

/* Makes an operand of n rows (of A) or columns (of B) that has a buffer to be computed into first, and has
 * *at point to it. */
static void NAME(precompute_operand)(const gemm_problem *q, gcut_rt_operand *x, int64_t n, const T **at,
                                     int threads)
{
    if (!x->fill) return;
    *at = x->room;
    if (!x->room) return;
    gcut_rt_prologue_reserve(x, x->along_k ? n : q->k, x->along_k ? q->k : n, sizeof(T), threads);
    x->fill = NULL;
}

static void NAME(precompute_operands)(gemm_problem *q, const T **a, const T **b, int threads)
{
    NAME(precompute_operand)(q, &q->from_a, q->m, a, threads);
    NAME(precompute_operand)(q, &q->from_b, q->n, b, threads);
}

void NAME(gcut_rt_gemm)(const gcut_rt_gemm *g, const T *a, const T *b, T *c, int threads)
{
    gemm_problem q = decide(g, sizeof(T));
    const int empty = q.m <= 0 || q.n <= 0 || q.batches <= 0;
    if (!empty) NAME(precompute_operands)(&q, &a, &b, threads);
    NAME(job)
    w = {.q = &q, .grain = NAME(grain)(&q), .a = a, .b = b, .c = c, .sums = g->sums, .sum = g->sum};
    if (empty) {
        NAME(sums_alone)(&w);
        return;
    }
    w.s = split(&q, w.grain, worthwhile_threads(&q, threads), 0);
    gcut_rt_parallel(NAME(work), &w, w.s.threads);
}

void NAME(gcut_rt_gemm_tiled)(const gcut_rt_gemm *g, const T *a, const T *b, T *c, gcut_rt_tile_fn *tile,
                              void *arg, int whole_rows, int threads)
{
    gemm_problem q = decide(g, sizeof(T));
    if (q.m > 0 && (q.n > 0 || whole_rows)) NAME(precompute_operands)(&q, &a, &b, threads);
    NAME(job)
    w = {.q = &q,
         .grain = NAME(grain)(&q),
         .a = a,
         .b = b,
         .c = c,
         .tile = tile,
         .arg = arg,
         .whole_rows = whole_rows,
         .sums = g->sums,
         .sum = g->sum};
    if (q.m <= 0 || q.n <= 0) {
        NAME(sums_alone)(&w);
        if (q.m <= 0 || !whole_rows) return;
        w.sums = 0;
    }
    w.s = split(&q, w.grain, gcut_rt_threads(threads), whole_rows);
    gcut_rt_parallel(NAME(work), &w, w.s.threads);
}
