/* SPDX-License-Identifier: MIT
 *
 * Packing: an operand as the micro-kernel reads it, in micro-panels of `width` elements side by side for each
 * step of k.  Of an operand with n elements i for each of k steps p:
 *
 *     panel 0                                    panel 1
 *     p = 0    x[0]  x[1] ... x[width-1]         x[width] ...
 *     p = 1    x[0]  x[1] ... x[width-1]         x[width] ...
 *     ...       <--- ld elements from step to step, ld >= width --->
 *     p = k-1
 *
 *     <------- ld * k elements from panel to panel; zeros where i >= n in the last one ------->
 */
#ifndef GCUT_KERNELS_RT_GEMM_PACK_H
#define GCUT_KERNELS_RT_GEMM_PACK_H

#include <stdint.h>

/* Element i of step p is x[i * is + p * ks], i < n and p < k.  Panel q holds i = q * width …; it begins at
 * out + q * panel, where step p begins at p * ld: panel = ld * k unless these are some steps of more.  What
 * the last panel has beyond n is 0. */
void gcut_rt_pack_f32(int64_t n, int64_t k, const float *x, int64_t is, int64_t ks, int width, int ld,
                      int64_t panel, float *out);
void gcut_rt_pack_f64(int64_t n, int64_t k, const double *x, int64_t is, int64_t ks, int width, int ld,
                      int64_t panel, double *out);

#endif
