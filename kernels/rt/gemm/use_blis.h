/* SPDX-License-Identifier: MIT
 *
 * The kernels of BLIS that this machine gets.  Only blis.c includes <blis.h>.
 */
#ifndef GCUT_KERNELS_RT_GEMM_USE_BLIS_H
#define GCUT_KERNELS_RT_GEMM_USE_BLIS_H

#include "kernels/rt/gemm/micro.h"

/* Whether BLIS_ARCH_TYPE of the environment names the kernels. */
int gcut_rt_blis_asked(void);

gcut_rt_micro gcut_rt_blis_micro_f32(void);
gcut_rt_micro gcut_rt_blis_micro_f64(void);
/* gcut_rt_micro_run of a whole block. */
void gcut_rt_blis_run_f32(int64_t k, const float *s, const float *v, int add, float *c, int64_t ldc);
void gcut_rt_blis_run_f64(int64_t k, const double *s, const double *v, int add, double *c, int64_t ldc);

#endif
