/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention of the run-time library and its derivative against their formulas, and against themselves: the
 * same bits for any number of threads.  tests/CMakeLists.txt builds this for every instruction set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "gradcut/gradcut_rt.h"

enum { PAINT = 0xA5 };
enum { Q, K, V, BIAS, DY, Y, DQ, DK, DV, DBIAS, NALL };

typedef struct problem {
    gcut_rt_attention a; /* sizes, causal, scale; the strides of packed arrays */
    int64_t n[NALL];
    double *x[NALL];
} problem;

static double uniform(void)
{
    static uint64_t seed = 11;
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 40) / (double)(1 << 23) - 1;
}

static int64_t pack(int64_t *stride, int64_t b, int64_t h, int64_t rows, int64_t columns)
{
    stride[3] = 1;
    stride[2] = columns;
    stride[1] = rows * columns;
    stride[0] = h * stride[1];
    return b * stride[0];
}

/* Numbers that f32 holds. */
static problem problem_of(gcut_rt_attention a)
{
    problem p = {.a = a};
    gcut_rt_attention *z = &p.a;
    p.n[Q] = p.n[DQ] = pack(z->q, a.batch, a.heads, a.t, a.d);
    p.n[K] = p.n[DK] = pack(z->k, a.batch, a.groups, a.s, a.d);
    p.n[V] = p.n[DV] = pack(z->v, a.batch, a.groups, a.s, a.e);
    p.n[Y] = p.n[DY] = pack(z->y, a.batch, a.heads, a.t, a.e);
    p.n[BIAS] = p.n[DBIAS] = pack(z->bias, a.batch, a.heads, a.t, a.s);
    memcpy(z->dq, z->q, sizeof z->q);
    memcpy(z->dk, z->k, sizeof z->k);
    memcpy(z->dv, z->v, sizeof z->v);
    memcpy(z->dbias, z->bias, sizeof z->bias);
    for (int i = 0; i < NALL; i++) {
        p.x[i] = calloc((size_t)p.n[i] + 1, sizeof(double));
        for (int64_t k = 0; k < p.n[i] && i < Y; k++) p.x[i][k] = uniform();
    }
    return p;
}

static double *row(const problem *p, int what, const int64_t *stride, int64_t b, int64_t h, int64_t i)
{
    return p->x[what] + b * stride[0] + h * stride[1] + i * stride[2];
}

/* Query t of head h: P, then what comes of it. */
static void formula_row(const problem *p, int64_t b, int64_t h, int64_t t, double *P, double *dS)
{
    const gcut_rt_attention *a = &p->a;
    int64_t g = h / (a->heads / a->groups), seen = a->causal ? t + 1 + a->s - a->t : a->s;
    const double *q = row(p, Q, a->q, b, h, t), *bias = row(p, BIAS, a->bias, b, h, t);
    const double *dy = row(p, DY, a->y, b, h, t);
    double sum = 0, all = 0;
    for (int64_t s = 0; s < a->s; s++) {
        double score = bias[s];
        for (int64_t d = 0; d < a->d; d++) score += q[d] * row(p, K, a->k, b, g, s)[d] * a->scale;
        sum += P[s] = s < seen ? exp(score) : 0;
    }
    for (int64_t s = 0; s < a->s; s++) {
        P[s] /= sum;
        dS[s] = 0;
        for (int64_t e = 0; e < a->e; e++) {
            double v = row(p, V, a->v, b, g, s)[e];
            row(p, Y, a->y, b, h, t)[e] += P[s] * v;
            row(p, DV, a->dv, b, g, s)[e] += P[s] * dy[e];
            dS[s] += dy[e] * v;
        }
        all += P[s] * dS[s];
    }
    for (int64_t s = 0; s < a->s; s++) {
        double d_score = P[s] * (dS[s] - all);
        row(p, DBIAS, a->dbias, b, h, t)[s] = d_score;
        for (int64_t d = 0; d < a->d; d++) {
            row(p, DQ, a->dq, b, h, t)[d] += d_score * row(p, K, a->k, b, g, s)[d] * a->scale;
            row(p, DK, a->dk, b, g, s)[d] += d_score * q[d] * a->scale;
        }
    }
}

static void formula(const problem *p)
{
    double *P = calloc((size_t)p->a.s * 2 + 1, sizeof *P);
    for (int64_t b = 0; b < p->a.batch; b++)
        for (int64_t h = 0; h < p->a.heads; h++)
            for (int64_t t = 0; t < p->a.t; t++) formula_row(p, b, h, t, P, P + p->a.s);
    free(P);
}

static int64_t padded(int64_t n)
{
    return gcut_rt_ceildiv(n, GCUT_RT_ATTENTION_PAD) * GCUT_RT_ATTENTION_PAD;
}

/* A workspace of exactly the stated size, as sanitizers see; painted. */
static unsigned char *painted(int64_t bytes)
{
    size_t n = (size_t)((bytes + 63) / 64 * 64);
    unsigned char *work = aligned_alloc(64, n ? n : 64);
    memset(work, PAINT, n ? n : 64);
    return work;
}

/* What is stated is what is touched: the share of a thread that has work is touched to its last 64 bytes,
 * that of any other not at all. */
static void check_touched(const problem *p, unsigned char *work, int64_t share, int threads)
{
    const gcut_rt_attention *a = &p->a;
    int used = 0;
    for (int t = 0; t < threads; t++) {
        const unsigned char *x = work + t * share;
        int64_t end = share;
        while (end > 0 && x[end - 1] == PAINT) end--;
        if (end > 0 && end <= share - 64)
            fail_msg("T %d, S %d, D %d, E %d, causal %d: thread %d of %d touches %lld of %lld bytes",
                     (int)a->t, (int)a->s, (int)a->d, (int)a->e, a->causal, t, threads, (long long)end,
                     (long long)share);
        used += end > 0;
    }
    if (a->batch * a->heads * a->t * a->s > 0) assert_true(used > 0);
    free(work);
}

/* The library's results, and whether they are those of 3 threads; Y.. of x are not read. */
#define RUN(name, T)                                                                                         \
    static void run_##name(const problem *p, int threads, T *out[NALL])                                      \
    {                                                                                                        \
        gcut_rt_attention a = p->a;                                                                          \
        int64_t rows = gcut_rt_min(a.t, GCUT_RT_ATTENTION_ROWS);                                             \
        int64_t s = padded(a.s), d = padded(a.d), e = padded(a.e), size = (int64_t)sizeof(T);                \
        int64_t forward = size * (s * (a.d + rows) + a.s * e);                                               \
        int64_t backward = size * (s * (a.d + a.e + 2 * rows) + a.s * d + rows * (d + e));                   \
        for (int i = 0; i < NALL; i++) {                                                                     \
            out[i] = malloc((size_t)(p->n[i] + 1) * sizeof(T));                                              \
            for (int64_t k = 0; k < p->n[i]; k++) out[i][k] = i < Y ? (T)p->x[i][k] : (T)NAN;                \
        }                                                                                                    \
        unsigned char *work = painted(threads * forward);                                                    \
        a.work = forward;                                                                                    \
        gcut_rt_attention_##name(&a, out[Q], out[K], out[V], out[BIAS], out[Y], work, threads);              \
        check_touched(p, work, forward, threads);                                                            \
        work = painted(threads * backward);                                                                  \
        a.work = backward;                                                                                   \
        gcut_rt_attention_grad_##name(&a, out[Q], out[K], out[V], out[BIAS], out[DY], NULL, NULL, out[DV],   \
                                      NULL, work, threads);                                                  \
        check_touched(p, work, backward, threads);                                                           \
        work = painted(threads * backward);                                                                  \
        gcut_rt_attention_grad_##name(&a, out[Q], out[K], out[V], out[BIAS], out[DY], out[DQ], out[DK],      \
                                      out[DV], out[DBIAS], work, threads);                                   \
        check_touched(p, work, backward, threads);                                                           \
    }                                                                                                        \
    static void check_##name(const problem *p, double eps)                                                   \
    {                                                                                                        \
        T *one[NALL], *three[NALL];                                                                          \
        run_##name(p, 1, one);                                                                               \
        run_##name(p, 3, three);                                                                             \
        for (int i = Y; i < NALL; i++) {                                                                     \
            double room = eps * (double)(p->a.heads * p->a.t + p->a.s + p->a.d + 16);                        \
            assert_memory_equal(one[i], three[i], (size_t)p->n[i] * sizeof(T));                              \
            for (int64_t k = 0; k < p->n[i]; k++)                                                            \
                if (!(fabs((double)one[i][k] - p->x[i][k]) <= room))                                         \
                    fail_msg("%s, T %d, S %d, D %d, E %d: value %d[%d] is %g, not %g", #name, (int)p->a.t,   \
                             (int)p->a.s, (int)p->a.d, (int)p->a.e, i, (int)k, (double)one[i][k],            \
                             p->x[i][k]);                                                                    \
        }                                                                                                    \
        for (int i = 0; i < NALL; i++) free(one[i]), free(three[i]);                                         \
    }
RUN(f32, float)
RUN(f64, double)

static void check(gcut_rt_attention a)
{
    problem p = problem_of(a);
    formula(&p);
    check_f32(&p, 0x1p-23);
    check_f64(&p, 0x1p-52);
    for (int i = 0; i < NALL; i++) free(p.x[i]);
}

/* Sizes around blocks of queries and whole vectors of keys. */
static void test_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 31, 32, 33, 65};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            for (int causal = 0; causal < 2; causal++) {
                if (causal && sizes[j] < sizes[i]) continue; /* queries that see nothing are NaN */
                check((gcut_rt_attention){.batch = 1 + j % 2,
                                          .heads = 2 + 2 * (i % 2),
                                          .groups = 1 + i % 2,
                                          .t = sizes[i],
                                          .s = sizes[j],
                                          .d = 1 + (i * 7 + j) % 20,
                                          .e = 1 + (i + j * 5) % 37,
                                          .causal = causal,
                                          .scale = 0.5});
            }
}

/* Sums over nothing: of no element of a key, of no queries. */
static void test_empty(void **state)
{
    (void)state;
    check(
        (gcut_rt_attention){.batch = 1, .heads = 2, .groups = 2, .t = 3, .s = 5, .d = 0, .e = 4, .scale = 1});
    check(
        (gcut_rt_attention){.batch = 1, .heads = 2, .groups = 1, .t = 0, .s = 5, .d = 2, .e = 4, .scale = 1});
    check(
        (gcut_rt_attention){.batch = 1, .heads = 2, .groups = 1, .t = 3, .s = 0, .d = 2, .e = 4, .scale = 1});
    check(
        (gcut_rt_attention){.batch = 0, .heads = 2, .groups = 1, .t = 3, .s = 5, .d = 2, .e = 4, .scale = 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
