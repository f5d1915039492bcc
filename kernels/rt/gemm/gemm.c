/* SPDX-License-Identifier: MIT
 *
 * Matrix products over batches and threads.
 *
 * Which kernel computes a product (macro.c or small_product.c) is decided from the whole problem, never from
 * the part that a thread or a caller asks for, and both kernels give an element the same bits wherever it
 * lies in their call: so the result depends neither on the number of threads nor on how rows are split.
 */
#include "gradcut/gradcut_rt.h"

#include "kernels/rt/gemm/macro.h"
#include "kernels/rt/gemm/small_product.h"
#include "kernels/rt/gemm/operand_sums.h"

/* Multiply-adds that are worth waking a thread for: 3.9 us at GCUT_RT_MADD_PS.  That is more than
 * GCUT_RT_GRAIN_PS, because threads along one side of the grid each pack the operand of the other side. */
enum { THREAD_WORK = 1 << 18 };
/* The small kernel packs no A, and with few rows packing B never pays.  It reads a B of SMALL_BYTES or less
 * from the second-level cache as fast as it would read a packed copy.  It reads an A that is not contiguous along k in
 * steps of cache lines or pages: then A, B and C together have SMALL_BYTES or less. */
enum { SMALL_BYTES = 1 << 19, SMALL_ROWS = 48, SMALL_COLUMNS = 16 };
/* With so few rows even our own panel of a transposed B does not pay. */
enum { DOT_ROWS = 8 };
/* Rows between two calls of a tile function after the small kernel. */
enum { TILE_ROWS = 96 };
/* Of a resident B all of whose columns fit at once: that is worth more than computing A as it is packed.
 * Where a tile function takes whole rows, A is resident anyhow. */
enum { WHOLE_B_BYTES = 3 << 18 };
/* Multiply-adds in the time of packing one element. */
enum { PACK_WORK = 64 };

/* A product with as few batch axes as it can have, and what is decided of it. */
typedef struct gemm_problem {
    gcut_rt_gemm g;
    int64_t batches; /* product of g.batch[] */
    int small, dots;
} gemm_problem;

/* A grid of parts that each product is split into, and the threads that share all parts. */
typedef struct grid {
    int64_t rows, columns;
    int threads;
} grid;

/* Batch axes that only continue the rows of A and C under one B become rows: one product of many rows is
 * faster than many of few.  Lines along the rows of an A that is computed end where a batch does. */
static void fold(gcut_rt_gemm *g)
{
    while (g->nbatch > 0 && (!g->from_a.fill || g->from_a.along_k)) {
        const int l = g->nbatch - 1;
        if (g->batch[l] != 1 && (g->sb[l] != 0 || g->sa[l] != g->m * g->rsa || g->sc[l] != g->m * g->rsc))
            break;
        g->m *= g->batch[l];
        g->nbatch = l;
    }
}

/* Independent of the order of C in memory: a product that is computed again, and stored transposed then, has
 * the bits of the first time. */
static int is_small(int64_t m, int64_t n, int64_t k, int64_t csa, int64_t size)
{
    const int64_t elements = n * k + (csa == 1 ? 0 : m * k + m * n);
    return m <= SMALL_ROWS || n <= SMALL_COLUMNS || elements * size <= SMALL_BYTES;
}

static gemm_problem decide(const gcut_rt_gemm *product, size_t size)
{
    gemm_problem q = {.g = *product, .batches = 1};
    const gcut_rt_gemm *g = &q.g;
    fold(&q.g);
    for (int i = 0; i < g->nbatch; i++) q.batches *= g->batch[i];
    q.small = is_small(g->m, g->n, g->k, g->csa, (int64_t)size);
    q.dots = g->csa == 1 && g->rsb == 1 && g->m <= DOT_ROWS && g->k >= 64;
    return q;
}

/* The offsets of A, B and C of batch number `index`, row-major over batch[]. */
static void locate(const gcut_rt_gemm *g, int64_t index, int64_t at[3])
{
    at[0] = at[1] = at[2] = 0;
    for (int i = g->nbatch - 1; i >= 0; i--) {
        int64_t k = index % g->batch[i];
        index /= g->batch[i];
        at[0] += k * g->sa[i];
        at[1] += k * g->sb[i];
        at[2] += k * g->sc[i];
    }
}

/* Batches of an operand with those strides: the others are the same again. */
static int64_t stored_batches(const gcut_rt_gemm *g, const int64_t *stride)
{
    int64_t n = 1;
    for (int i = 0; i < g->nbatch; i++) n *= stride[i] ? g->batch[i] : 1;
    return n;
}

/* Where batch number `index` begins, at the elements `at` of A, B and C: a line of an operand that is
 * computed is contiguous, and after it comes the next one. */
static gcut_rt_batch_lines lines_of(const gcut_rt_gemm *g, int64_t index, const int64_t at[3])
{
    return (gcut_rt_batch_lines){.c = index * g->m,
                                 .a = at[0] / gcut_rt_max(g->from_a.along_k ? g->k : g->m, 1),
                                 .b = at[1] / gcut_rt_max(g->from_b.along_k ? g->k : g->n, 1)};
}

/* Multiples of these split a product without partial register blocks inside of it. */
static gcut_rt_grain grain_of(const gemm_problem *q, size_t size)
{
    const int64_t columns = 128 / (int64_t)size;
    return q->small ? (gcut_rt_grain){q->g.csc == 1 ? 24 : columns, columns}
                    : gcut_rt_macro_grain(!gcut_rt_column_major(&q->g), size);
}

/* The largest of `parts` parts of n, cut at multiples of `grain`. */
static int64_t largest(int64_t n, int64_t grain, int64_t parts)
{
    return gcut_rt_min(n, gcut_rt_ceildiv(gcut_rt_ceildiv(n, grain), parts) * grain);
}

/* The grid of at most `parts` parts whose largest one takes the least arithmetic and packing. */
static void choose_grid(grid *s, const gemm_problem *q, gcut_rt_grain grain, int64_t parts, int whole_rows)
{
    int64_t best = INT64_MAX;
    for (int64_t r = 1; r <= parts; r++) {
        if (parts % r != 0 || (whole_rows && r != parts)) continue;
        int64_t m = largest(q->g.m, grain.m, r), n = largest(q->g.n, grain.n, parts / r);
        int64_t work = m * n + PACK_WORK * (m + n);
        if (work < best) best = work, s->rows = r, s->columns = parts / r;
    }
}

/* How many of the threads a product alone is worth; plans ask for sizes that no memory holds. */
static int worthwhile_threads(const gemm_problem *q, int threads)
{
    int64_t work = q->g.m;
    if (__builtin_mul_overflow(work, q->g.n, &work) ||
        __builtin_mul_overflow(work, gcut_rt_max(q->g.k, 1), &work) ||
        __builtin_mul_overflow(work, q->batches, &work))
        work = INT64_MAX;
    return (int)gcut_rt_max(1, gcut_rt_min(gcut_rt_threads(threads), work / THREAD_WORK));
}

static grid split(const gemm_problem *q, gcut_rt_grain grain, int threads, int whole_rows)
{
    grid s = {1, 1, threads};
    if (s.threads > 1 && q->batches % s.threads != 0 && q->batches < 4 * s.threads)
        choose_grid(&s, q, grain, s.threads, whole_rows);
    s.threads = (int)gcut_rt_min(s.threads, q->batches * s.rows * s.columns);
    return s;
}

/* A computed operand is resident, so what packs it more than once are the threads along the other side of the
 * grid. That is the grid for panels of 32, whatever the register block, and the cache is a nominal one: so
 * the answer does not depend on the machine. */
int64_t gcut_rt_gemm_packings(int64_t m, int64_t n, int64_t k, int64_t csa, int64_t size, int threads,
                              int whole_rows, int of_b)
{
    const gemm_problem q = {.g = {.m = m, .n = n, .k = k}, .batches = 1};
    const gcut_rt_grain grain = {32, 32};
    if (k <= 0 || is_small(m, n, k, csa, size)) return 0;
    if (!of_b && !whole_rows && gcut_rt_right_resident(m, n) &&
        n * gcut_rt_min(k, GCUT_RT_STEPS) * size <= WHOLE_B_BYTES)
        return 0;
    const grid s = split(&q, grain, worthwhile_threads(&q, threads), 0);
    return of_b ? s.rows : s.columns;
}

/* ---- operands that are computed before the product ---- */

/* Of an element, when deciding how many threads filling a buffer is worth. */
enum { FILL_PS = 500 };

typedef struct fill_job {
    const gcut_rt_operand *x;
    int64_t lines, length;
    size_t size;
} fill_job;

static void fill_share(void *arg, int t, int nt)
{
    const fill_job *j = arg;
    int64_t begin, end;
    gcut_rt_share(j->lines, 1, t, nt, &begin, &end);
    if (begin == end) return;
    j->x->fill(j->x->arg, t, begin, end, 0, j->length,
               (char *)j->x->room + (size_t)(begin * j->length) * j->size, j->length);
}

/* Makes an operand of `batches` matrices with n rows (of A) or columns (of B) and k steps, of elements of `size`
 * bytes, that has a buffer to be computed into. */
static void precompute(gcut_rt_operand *x, int64_t n, int64_t k, int64_t batches, size_t size, int threads)
{
    fill_job j = {x, (x->along_k ? n : k) * batches, x->along_k ? k : n, size};
    if (!x->fill || !x->room) return;
    if (n > 0 && k > 0) {
        threads = gcut_rt_threads_worth(gcut_rt_threads(threads), n * k * batches, FILL_PS, j.lines);
        gcut_rt_parallel(fill_share, &j, threads);
    }
    x->fill = NULL;
}

#define TEMPLATE "kernels/rt/gemm/gemm_type.h"
#include "kernels/rt/each_type.h"
