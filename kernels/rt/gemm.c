/* SPDX-License-Identifier: MIT
 *
 * Matrix products over batches and threads.
 *
 * Which kernel computes a product (BLIS or our small one) is decided from the whole problem, never from the
 * part that a thread or a caller asks for, and both kernels give an element the same bits wherever it lies in
 * their call: so the result depends neither on the number of threads nor on how rows are split.
 */
#include "gradcut/gradcut_rt.h"

#include "kernels/rt/small.h"
#include "kernels/rt/use_blis.h"

/* Multiply-adds that are worth waking a thread for: some 5 us of work. */
enum { THREAD_WORK = 1 << 18 };
/* Below these the small kernel reads B from the second-level cache as fast as BLIS reads its packed copy, and
 * the packing is saved; with few rows packing B never pays. */
enum { SMALL_B_BYTES = 1 << 20, SMALL_ROWS = 16 };
/* With so few rows even our own panel of a transposed B does not pay. */
enum { DOT_ROWS = 8 };

/* A gcut_rt_gemm in normal form. */
typedef struct plan {
    int64_t m, n, k;
    int64_t rsa, csa, rsb, csb, rsc, csc;
    int64_t batches; /* product of batch[] */
    int64_t batch[4], sa[4], sb[4], sc[4];
    int nbatch, add, small, dots;
} plan;

/* Parts that each product is split into, along columns or rows, and the threads that share all parts. */
typedef struct share {
    int parts, threads, columns;
} share;

/* Elements from the first to behind the last along an axis. */
static int64_t n_of(int64_t n, int64_t stride)
{
    return n * stride;
}

/* BLIS checks strides even of an axis of one element, whose stride means nothing: it gets a harmless one. */
static int64_t stride(int64_t n, int64_t other, int64_t s)
{
    return n == 1 ? (other > 1 ? other : 1) : s;
}

/* Does BLIS take an m x n matrix with these strides?  They must be positive and not make elements overlap. */
static int plain(int64_t m, int64_t n, int64_t rs, int64_t cs)
{
    if (m == 1 && n == 1) return 1;
    if (m == 1) return cs > 0;
    if (n == 1) return rs > 0;
    return rs > 0 && cs > 0 && (rs >= n * cs || cs >= m * rs);
}

/* Batch axes that only continue the rows of A and C under one B become rows: one product of many rows is
 * faster than many of few. */
static void fold(plan *q)
{
    while (q->nbatch > 0) {
        int l = q->nbatch - 1;
        if (q->batch[l] != 1 && (q->sb[l] != 0 || q->sa[l] != q->m * q->rsa || q->sc[l] != q->m * q->rsc))
            break;
        q->m *= q->batch[l];
        q->nbatch = l;
    }
}

static plan decide(const gcut_rt_gemm *g, size_t size)
{
    plan q = {.m = g->m,
              .n = g->n,
              .k = g->k,
              .rsa = g->rsa,
              .csa = g->csa,
              .rsb = g->rsb,
              .csb = g->csb,
              .rsc = g->rsc,
              .csc = g->csc,
              .batches = 1,
              .nbatch = g->nbatch,
              .add = g->accumulate != 0};
    for (int i = 0; i < g->nbatch; i++) {
        q.batch[i] = g->batch[i];
        q.sa[i] = g->sa[i];
        q.sb[i] = g->sb[i];
        q.sc[i] = g->sc[i];
    }
    fold(&q);
    for (int i = 0; i < q.nbatch; i++) q.batches *= q.batch[i];
    /* The small kernel turns the problem round for a column-major C: then A is the operand that it streams.
     */
    int turned = q.csc != 1 && q.rsc == 1;
    int64_t rows = turned ? q.n : q.m, columns = turned ? q.m : q.n;
    q.small = rows <= SMALL_ROWS || columns <= SMALL_ROWS || columns * q.k * (int64_t)size <= SMALL_B_BYTES ||
              !plain(q.m, q.k, q.rsa, q.csa) || !plain(q.k, q.n, q.rsb, q.csb) ||
              !plain(q.m, q.n, q.rsc, q.csc);
    q.dots = q.csa == 1 && q.rsb == 1 && rows <= DOT_ROWS && q.k >= 64;
    return q;
}

/* The offsets of A, B and C of batch number `index`, row-major over batch[]. */
static void locate(int nbatch, const int64_t *batch, const int64_t *sa, const int64_t *sb, const int64_t *sc,
                   int64_t index, int64_t at[3])
{
    at[0] = at[1] = at[2] = 0;
    for (int i = nbatch - 1; i >= 0; i--) {
        int64_t k = index % batch[i];
        index /= batch[i];
        at[0] += k * sa[i];
        at[1] += k * sb[i];
        at[2] += k * sc[i];
    }
}

/* Multiples of these split a product without partial register blocks inside of it. */
static gcut_rt_block grain_f32(const plan *q)
{
    return q->small ? (gcut_rt_block){q->csc == 1 ? 24 : 32, 32} : gcut_rt_blis_block_f32(q->csc == 1);
}
static gcut_rt_block grain_f64(const plan *q)
{
    return q->small ? (gcut_rt_block){q->csc == 1 ? 24 : 16, 16} : gcut_rt_blis_block_f64(q->csc == 1);
}

static share divide(const plan *q, gcut_rt_block grain, int threads)
{
    share s = {1, gcut_rt_threads(threads), q->n > q->m};
    int64_t work = q->m * q->n * gcut_rt_max(q->k, 1) * q->batches;
    s.threads = (int)gcut_rt_max(1, gcut_rt_min(s.threads, work / THREAD_WORK));
    if (s.threads > 1 && q->batches % s.threads != 0 && q->batches < 4 * s.threads) {
        int64_t blocks = s.columns ? gcut_rt_ceildiv(q->n, grain.n) : gcut_rt_ceildiv(q->m, grain.m);
        s.parts = (int)gcut_rt_min(s.threads, blocks);
    }
    s.threads = (int)gcut_rt_min(s.threads, q->batches * s.parts);
    return s;
}

#define T float
#define TYPE f32
#include "kernels/rt/gemm_type.h"

#define T double
#define TYPE f64
#include "kernels/rt/gemm_type.h"
