/* SPDX-License-Identifier: MIT
 *
 * The kernels of BLIS that this machine gets.  Only blis.c includes <blis.h>.
 */
#ifndef GCUT_KERNELS_RT_USE_BLIS_H
#define GCUT_KERNELS_RT_USE_BLIS_H

#include <stdint.h>

/* The register block in the orientation of C: rows * columns of one micro-kernel call. */
typedef struct gcut_rt_block {
    int64_t m, n;
} gcut_rt_block;

gcut_rt_block gcut_rt_blis_block_f32(int row_major_c);
gcut_rt_block gcut_rt_blis_block_f64(int row_major_c);

/* C = A B + beta C on the calling thread.  Strides in elements, positive, and of no overlapping matrices. */
void gcut_rt_blis_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t rsa, int64_t csa,
                      const float *b, int64_t rsb, int64_t csb, float beta, float *c, int64_t rsc,
                      int64_t csc);
void gcut_rt_blis_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t rsa, int64_t csa,
                      const double *b, int64_t rsb, int64_t csb, double beta, double *c, int64_t rsc,
                      int64_t csc);

#endif
