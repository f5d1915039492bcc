/* SPDX-License-Identifier: MIT
 *
 * The register block that large products are made of: our own for AVX-512, one of BLIS otherwise.
 */
#ifndef GCUT_KERNELS_RT_GEMM_MICRO_H
#define GCUT_KERNELS_RT_GEMM_MICRO_H

#include <stdint.h>

/* Adds up s rows and v columns of C from packed panels (pack.h), with v the side along which it wants C
 * contiguous. */
typedef struct gcut_rt_micro {
    int s, v;
    int lds, ldv; /* elements from one step of k to the next in a panel of s rows or v columns */
    int parts;    /* it also does blocks of fewer rows and columns */
    int blis;
} gcut_rt_micro;

/* Memory to be brought to the second-level cache meanwhile: n pieces of last + 1 bytes, at most 128.  They
 * begin `step` bytes apart, but `jump` more behind the next `turn` of them, and behind `round` more each
 * time. */
typedef struct gcut_rt_ahead {
    const char *at;
    int64_t n, step, last, turn, round, jump;
} gcut_rt_ahead;

static inline void gcut_rt_fetch(gcut_rt_ahead *a)
{
    if (a->n-- <= 0) return;
    __builtin_prefetch(a->at, 0, 2);
    __builtin_prefetch(a->at + (a->last < 64 ? a->last : 64), 0, 2);
    __builtin_prefetch(a->at + a->last, 0, 2);
    a->at += a->step;
    if (--a->turn == 0) a->at += a->jump, a->turn = a->round;
}

gcut_rt_micro gcut_rt_micro_f32(void);
gcut_rt_micro gcut_rt_micro_f64(void);

/* c[i * ldc + j] (+)= the sum over k of s[.][i] * v[.][j], for i < m and j < n; m = u->s and n = u->v unless
 * u->parts.  k > 0; panels aligned to an element, with GCUT_RT_BEYOND readable bytes behind them.  An element
 * is one chain of multiply-adds, whatever m and n are. */
#define GCUT_RT_BEYOND 1024
void gcut_rt_micro_run_f32(const gcut_rt_micro *u, int64_t m, int64_t n, int64_t k, const float *s,
                           const float *v, int add, float *c, int64_t ldc, gcut_rt_ahead ahead);
void gcut_rt_micro_run_f64(const gcut_rt_micro *u, int64_t m, int64_t n, int64_t k, const double *s,
                           const double *v, int add, double *c, int64_t ldc, gcut_rt_ahead ahead);

#endif
