/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The floor of a case of the bench: what its matrix products and the bytes that must move take on this
 * machine.
 *
 *   floor_worker FILE THREADS
 *
 * FILE has lines
 *
 *   gemm COUNT BATCH M N K TA TB FREE   COUNT times (a real number) BATCH products, A or B stored transposed;
 *                                       FREE: M and N may change places, and the faster way counts
 *   bytes MOVED RESIDENT                MOVED bytes, half of them read and half written, of RESIDENT others
 *
 * A step times every product with BLIS on the kernels that suit the machine and with gcut_rt_gemm_f32, one
 * after the other, takes the faster of the two, and adds MOVED / the bandwidth of a pass over RESIDENT bytes.
 * Commands as in worker.h; anything but `step` is answered with the sums of the best times since the start.
 */
#include "bench/worker.h"

#include <blis.h>
#include <stdbool.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"

enum { MAX_PRODUCTS = 512 };

typedef struct product {
    double count, best; /* best: ms of one of the COUNT */
    gcut_rt_gemm way[2];
    int ways;
    int64_t batch;
} product;

typedef struct bench {
    int threads;
    cntx_t *context;
    product p[MAX_PRODUCTS];
    int n;
    double moved, resident, best_bytes; /* best_bytes: ms */
    float *a, *b, *c, *stream;
} bench;

/* ---- the list ---- */

static gcut_rt_gemm product_of(int64_t batch, int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
    gcut_rt_gemm g = {.m = m, .n = n, .k = k, .rsc = n, .csc = 1, .nbatch = 1};
    g.rsa = ta ? 1 : k, g.csa = ta ? m : 1;
    g.rsb = tb ? 1 : n, g.csb = tb ? k : 1;
    g.batch[0] = batch, g.sa[0] = m * k, g.sb[0] = k * n, g.sc[0] = m * n;
    return g;
}

static void add_product(bench *x, const char *line)
{
    if (x->n == MAX_PRODUCTS) worker_die("floor_worker: more than %d different products", MAX_PRODUCTS);
    product *p = &x->p[x->n++];
    long long batch, m, n, k;
    int ta, tb, is_free;
    if (sscanf(line, "gemm %lf %lld %lld %lld %lld %d %d %d", &p->count, &batch, &m, &n, &k, &ta, &tb,
               &is_free) != 8)
        worker_die("floor_worker: cannot read: %s", line);
    p->best = HUGE_VAL;
    p->batch = batch;
    p->ways = is_free ? 2 : 1;
    p->way[0] = product_of(batch, m, n, k, ta, tb);
    p->way[1] = product_of(batch, n, m, k, ta, tb);
}

static double flops(const product *p)
{
    const gcut_rt_gemm *g = &p->way[0];
    return 2.0 * (double)p->batch * (double)g->m * (double)g->n * (double)g->k;
}

static void read_list(bench *x, const char *path)
{
    char line[256];
    FILE *f = fopen(path, "r");
    if (!f) worker_die("floor_worker: cannot open %s", path);
    while (fgets(line, sizeof line, f)) {
        if (!strncmp(line, "gemm ", 5))
            add_product(x, line);
        else if (sscanf(line, "bytes %lf %lf", &x->moved, &x->resident) != 2)
            worker_die("floor_worker: cannot read: %s", line);
    }
    fclose(f);
}

/* Numbers in -1/2..1/2. */
static float *numbers(int64_t n)
{
    size_t bytes = (size_t)gcut_rt_max(n, 16) * sizeof(float);
    float *at = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!at) worker_die("out of memory");
    uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        at[i] = (float)(state >> 8) * 0x1p-24f - 0.5f;
    }
    return at;
}

static void allocate(bench *x)
{
    int64_t ab = 0, c = 0;
    for (int i = 0; i < x->n; i++) {
        const gcut_rt_gemm *g = &x->p[i].way[0];
        ab = gcut_rt_max(ab, x->p[i].batch * g->k * gcut_rt_max(g->m, g->n));
        c = gcut_rt_max(c, x->p[i].batch * g->m * g->n);
    }
    x->a = numbers(ab), x->b = numbers(ab), x->c = numbers(c);
    x->stream = numbers((int64_t)(x->resident / sizeof(float)));
}

/* The context of the kernels that the run-time library chose for this machine. */
static cntx_t *context(void)
{
    const char *name = gcut_rt_blis_name();
    for (int id = 0; id < BLIS_NUM_ARCHS; id++)
        if (!strcmp(bli_arch_string((arch_t)id), name)) return bli_gks_lookup_nat_cntx((arch_t)id);
    worker_die("floor_worker: BLIS has no kernels %s", name);
}

/* ---- products ---- */

/* Rows m0..m1 and columns n0..n1 of product `at` of the batch, on the calling thread. */
static void library_part(const bench *x, const gcut_rt_gemm *g, int64_t at, int64_t m0, int64_t m1,
                         int64_t n0, int64_t n1)
{
    rntm_t one = BLIS_RNTM_INITIALIZER;
    bli_rntm_set_num_threads(1, &one);
    bli_rntm_disable_l3_sup(&one);
    float alpha = 1, beta = 0;
    if (m1 <= m0 || n1 <= n0) return;
    bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m1 - m0, n1 - n0, g->k, &alpha,
                 x->a + at * g->sa[0] + m0 * g->rsa, g->rsa, g->csa, x->b + at * g->sb[0] + n0 * g->csb,
                 g->rsb, g->csb, &beta, x->c + at * g->sc[0] + m0 * g->rsc + n0, g->rsc, g->csc, x->context,
                 &one);
}

/* The longer side of one product is shared by the threads, or the batch is. */
static void library(const bench *x, const gcut_rt_gemm *g, int threads)
{
    int64_t m = g->m, n = g->n, batch = g->batch[0];
    if (threads == 1) {
        for (int64_t i = 0; i < batch; i++) library_part(x, g, i, 0, m, 0, n);
    } else if (batch >= threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t i = 0; i < batch; i++) library_part(x, g, i, 0, m, 0, n);
    } else {
        for (int64_t i = 0; i < batch; i++) {
#pragma omp parallel for num_threads(threads) schedule(static)
            for (int t = 0; t < threads; t++) {
                int64_t begin, end;
                gcut_rt_share(n > m ? n : m, 32, t, threads, &begin, &end);
                library_part(x, g, i, n > m ? 0 : begin, n > m ? m : end, n > m ? begin : 0, n > m ? end : n);
            }
        }
    }
}

static void ours(const bench *x, const gcut_rt_gemm *g, int threads)
{
    gcut_rt_gemm_f32(g, x->a, x->b, x->c, threads);
}

/* Milliseconds of one call; small ones are repeated, with their operands in cache. */
static double time_of(void (*run)(const bench *, const gcut_rt_gemm *, int), const bench *x,
                      const gcut_rt_gemm *g, double work, int threads)
{
    int calls = (int)fmin(20, 1 + 1e6 / fmax(work, 1));
    if (calls > 1) run(x, g, threads);
    double start = worker_now();
    for (int i = 0; i < calls; i++) run(x, g, threads);
    return 1e3 * (worker_now() - start) / calls;
}

/* Of all ways to compute it; one thread beats two for the smallest. */
static double fastest(const bench *x, const product *p)
{
    double ms = HUGE_VAL, work = flops(p);
    for (int w = 0; w < p->ways; w++)
        for (int threads = x->threads; threads >= 1; threads = threads > 1 && work < 1e7 ? 1 : 0) {
            ms = fmin(ms, time_of(library, x, &p->way[w], work, threads));
            ms = fmin(ms, time_of(ours, x, &p->way[w], work, threads));
        }
    return ms;
}

/* ---- bytes ---- */

/* Reads and writes every element; inside the region again and again when they are few. */
static double pass(const bench *x)
{
    int64_t n = (int64_t)(x->resident / sizeof(float));
    int passes = (int)fmin(1e4, 1 + 4e6 / fmax(x->resident, 1));
    int threads = x->resident < 1 << 16 ? 1 : x->threads;
    float *v = x->stream;
    double start = worker_now();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        int64_t begin, end;
        gcut_rt_share(n, 16, t, threads, &begin, &end);
        for (int k = 0; k < passes; k++) {
            for (int64_t i = begin; i < end; i++) v[i] = v[i] * 0.999f + 0.001f;
            __asm__ volatile("" ::"r"(v) : "memory");
        }
    }
    return 1e3 * (worker_now() - start) / passes;
}

static double step(void *arg)
{
    bench *x = arg;
    double sum = 0;
    for (int i = 0; i < x->n; i++) {
        product *p = &x->p[i];
        double ms = fastest(x, p);
        p->best = fmin(p->best, ms);
        sum += p->count * ms;
    }
    if (x->moved > 0 && x->resident > 0) {
        double ms = pass(x) * x->moved / (2 * x->resident);
        x->best_bytes = fmin(x->best_bytes, ms);
        sum += ms;
    }
    return sum;
}

static void parts(void *arg)
{
    const bench *x = arg;
    double ms = 0, all = 0;
    for (int i = 0; i < x->n; i++) {
        ms += x->p[i].count * x->p[i].best;
        all += x->p[i].count * flops(&x->p[i]);
    }
    double bytes = x->best_bytes < HUGE_VAL ? x->best_bytes : 0;
    printf(
        "{\"gemm_ms\": %.6f, \"bytes_ms\": %.6f, \"gflop\": %.6f, \"mbytes\": %.6f, \"kernels\": \"%s\"}\n",
        ms, bytes, 1e-9 * all, 1e-6 * x->moved, gcut_rt_blis_name());
}

int main(int argc, char **argv)
{
    static bench x;
    if (argc != 3) worker_die("usage: floor_worker FILE THREADS");
    x.threads = atoi(argv[2]);
    if (x.threads < 1) worker_die("floor_worker: %s is no number of threads", argv[2]);
    x.context = context();
    x.best_bytes = HUGE_VAL;
    read_list(&x, argv[1]);
    allocate(&x);
    printf("{\"products\": %d}\n", x.n);
    fflush(stdout);
    worker_serve(step, parts, &x);
    free(x.a), free(x.b), free(x.c), free(x.stream);
    return 0;
}
