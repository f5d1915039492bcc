/* SPDX-License-Identifier: MIT
 *
 * The micro-kernel of large products: our own for AVX-512, BLIS's otherwise.  It multiplies a micro-panel
 * of the left operand, whose elements it broadcasts, by one of the right operand, whose vectors it loads
 * (pack.h), into a block of C that stays in registers:
 *
 *                 b[0]  b[1]  ...  b[nr-1]        step p of the right panel, packnr elements from p to p + 1
 *               +--------------------------+
 *     a[0]      |                          |
 *     a[1]      |  c[i][j] += a[i] * b[j]  |      for p = 0, 1, ..., k - 1
 *     ...       |                          |
 *     a[mr-1]   +--------------------------+
 *
 *     step p of the left panel, packmr elements from p to p + 1
 */
#ifndef GCUT_KERNELS_RT_GEMM_MICRO_H
#define GCUT_KERNELS_RT_GEMM_MICRO_H

#include <stddef.h>
#include <stdint.h>

/* A block of mr rows and nr columns of C, whose rows are contiguous. */
typedef struct gcut_rt_micro {
    int mr, nr;
    int packmr, packnr; /* elements from one step of k to the next, in a left and in a right panel */
    int partial;        /* it also does blocks of fewer rows and columns */
    int blis;
} gcut_rt_micro;

/* Memory to be brought to the second-level cache while a micro-kernel runs: n pieces of last + 1 bytes, at
 * most 128.  They begin `step` bytes apart, but `jump` bytes further after the next `turn` pieces, and then
 * after every `round` of them. */
typedef struct gcut_rt_prefetch {
    const char *at;
    int64_t n, step, last, turn, round, jump;
} gcut_rt_prefetch;

static inline void gcut_rt_prefetch_next(gcut_rt_prefetch *a)
{
    if (a->n-- <= 0) return;
    __builtin_prefetch(a->at, 0, 2);
    __builtin_prefetch(a->at + (a->last < 64 ? a->last : 64), 0, 2);
    __builtin_prefetch(a->at + a->last, 0, 2);
    a->at += a->step;
    if (--a->turn == 0) a->at += a->jump, a->turn = a->round;
}

/* For elements of so many bytes, 4 or 8. */
gcut_rt_micro gcut_rt_micro_of(size_t size);

/* c[i * ldc + j] (+)= the sum over k of a[.][i] * b[.][j], for i < m and j < n; m = u->mr and n = u->nr
 * unless u->partial.  k > 0; panels aligned to an element, with GCUT_RT_BEYOND readable bytes after them. An
 * element is one chain of multiply-adds, whatever m and n are. */
#define GCUT_RT_BEYOND 1024
void gcut_rt_micro_run_f32(const gcut_rt_micro *u, int64_t m, int64_t n, int64_t k, const float *a,
                           const float *b, int add, float *c, int64_t ldc, gcut_rt_prefetch prefetch);
void gcut_rt_micro_run_f64(const gcut_rt_micro *u, int64_t m, int64_t n, int64_t k, const double *a,
                           const double *b, int add, double *c, int64_t ldc, gcut_rt_prefetch prefetch);

/* blis.c: the kernels of BLIS that this machine gets. */
/* Whether BLIS_ARCH_TYPE of the environment names kernels that the CPU can run. */
int gcut_rt_blis_asked(void);

gcut_rt_micro gcut_rt_blis_micro_of(size_t size);
/* gcut_rt_micro_run of a whole block. */
void gcut_rt_blis_run_f32(int64_t k, const float *a, const float *b, int add, float *c, int64_t ldc);
void gcut_rt_blis_run_f64(int64_t k, const double *a, const double *b, int add, double *c, int64_t ldc);

#endif
