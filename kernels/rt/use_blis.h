/* SPDX-License-Identifier: MIT
 *
 * The kernels of BLIS that this machine gets.  Only blis.c includes <blis.h>.
 */
#ifndef GCUT_KERNELS_RT_USE_BLIS_H
#define GCUT_KERNELS_RT_USE_BLIS_H

#include <stdint.h>

/* A micro-kernel: adds up s rows and v columns of C from packed panels (pack.h), with v the side along which
 * it wants C contiguous. */
typedef struct gcut_rt_micro {
    int s, v;
    int lds, ldv; /* elements from one step of k to the next in a panel of s rows or v columns */
} gcut_rt_micro;

gcut_rt_micro gcut_rt_micro_f32(void);
gcut_rt_micro gcut_rt_micro_f64(void);

/* c[i * ldc + j] (+)= the sum over k of s[.][i] * v[.][j], for a whole block.  k > 0; panels aligned to an
 * element, with GCUT_RT_BEYOND readable bytes behind them; next_* are where the next call's will be. */
#define GCUT_RT_BEYOND 1024
void gcut_rt_micro_run_f32(int64_t k, const float *s, const float *v, int add, float *c, int64_t ldc,
                           const float *next_s, const float *next_v);
void gcut_rt_micro_run_f64(int64_t k, const double *s, const double *v, int add, double *c, int64_t ldc,
                           const double *next_s, const double *next_v);

#endif
