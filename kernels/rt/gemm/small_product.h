/* SPDX-License-Identifier: MIT
 *
 * Matrix products without BLIS, for those so small that packing both operands would take longer than it
 * saves.
 */
#ifndef GCUT_KERNELS_RT_GEMM_SMALL_PRODUCT_H
#define GCUT_KERNELS_RT_GEMM_SMALL_PRODUCT_H

#include <stdint.h>

/* C = A B, or C += A B.  Any strides; k > 0.  An element's bits depend on k and on its row and column alone.
 */
void gcut_rt_small_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t rsa, int64_t csa,
                       const float *b, int64_t rsb, int64_t csb, int add, float *c, int64_t rsc, int64_t csc);
void gcut_rt_small_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t rsa, int64_t csa,
                       const double *b, int64_t rsb, int64_t csb, int add, double *c, int64_t rsc,
                       int64_t csc);
/* The same for few rows and csa = rsb = 1, in another order of summation: an element's bits depend on k
 * alone. */
void gcut_rt_dots_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t rsa, const float *b,
                      int64_t csb, int add, float *c, int64_t rsc, int64_t csc);
void gcut_rt_dots_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t rsa, const double *b,
                      int64_t csb, int add, double *c, int64_t rsc, int64_t csc);

#endif
