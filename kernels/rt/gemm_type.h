/* SPDX-License-Identifier: MIT
 *
 * gemm.c for one element type: T the type, TYPE its suffix.
 */

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define NAME(x) GLUE(x##_, TYPE)

/* Rows m0..m1 and columns n0..n1 of one product, on the calling thread. */
static void NAME(block)(const plan *q, const T *a, const T *b, T *c, int64_t m0, int64_t m1, int64_t n0,
                        int64_t n1)
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
    } else if (!q->small) {
        int64_t rsa = stride(m, n_of(k, q->csa), q->rsa), csa = stride(k, n_of(m, q->rsa), q->csa);
        int64_t rsb = stride(k, n_of(n, q->csb), q->rsb), csb = stride(n, n_of(k, q->rsb), q->csb);
        int64_t rsc = stride(m, n_of(n, q->csc), q->rsc), csc = stride(n, n_of(m, q->rsc), q->csc);
        NAME(gcut_rt_blis)(m, n, k, a, rsa, csa, b, rsb, csb, q->add ? 1 : 0, c, rsc, csc);
    } else if (q->csc != 1 && q->rsc == 1) {
        NAME(gcut_rt_small)(n, m, k, b, q->csb, q->rsb, a, q->csa, q->rsa, q->add, c, q->csc, q->rsc);
    } else {
        NAME(gcut_rt_small)(m, n, k, a, q->rsa, q->csa, b, q->rsb, q->csb, q->add, c, q->rsc, q->csc);
    }
}

void NAME(gcut_rt_gemm_part)(const gcut_rt_gemm *g, const T *a, const T *b, T *c, int64_t batch, int64_t m0,
                             int64_t m1)
{
    plan q = decide(g, sizeof(T));
    int64_t at[3];
    locate(g->nbatch, g->batch, g->sa, g->sb, g->sc, batch, at);
    NAME(block)(&q, a + at[0], b + at[1], c + at[2], m0, m1, 0, g->n);
}

void NAME(gcut_rt_gemm)(const gcut_rt_gemm *g, const T *a, const T *b, T *c, int threads)
{
    plan q = decide(g, sizeof(T));
    if (q.m <= 0 || q.n <= 0 || q.batches <= 0) return;
    gcut_rt_block grain = NAME(grain)(&q);
    share s = divide(&q, grain, threads);
#pragma omp parallel for num_threads(s.threads) if (s.threads > 1) schedule(static)
    for (int64_t t = 0; t < q.batches * s.parts; t++) {
        int64_t at[3], m0 = 0, m1 = q.m, n0 = 0, n1 = q.n;
        int part = (int)(t % s.parts);
        locate(q.nbatch, q.batch, q.sa, q.sb, q.sc, t / s.parts, at);
        if (s.columns)
            gcut_rt_share(q.n, grain.n, part, s.parts, &n0, &n1);
        else
            gcut_rt_share(q.m, grain.m, part, s.parts, &m0, &m1);
        NAME(block)(&q, a + at[0], b + at[1], c + at[2], m0, m1, n0, n1);
    }
}

#undef NAME
#undef GLUE
#undef GLUE_
#undef T
#undef TYPE
