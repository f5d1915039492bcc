/* SPDX-License-Identifier: MIT
 *
 * Sums of an operand of a product over its steps of k, made from its packed panels or from memory.
 *
 * k falls into GCUT_RT_SUM_BLOCKS blocks, as gcut_rt_share has them.  The elements of a block are added one
 * after the other, and then the blocks in order: so the bits depend on k alone, and are those of a sum over
 * rows that emitted code makes.
 */
#ifndef GCUT_KERNELS_RT_GEMM_OPERAND_SUMS_H
#define GCUT_KERNELS_RT_GEMM_OPERAND_SUMS_H

#include <stdint.h>

/* sum[i] = the sum of x[i * is + p * ps] over p < k, for i < n; k >= 0. */
void gcut_rt_sums_f32(int64_t n, int64_t k, const float *x, int64_t is, int64_t ps, float *sum);
void gcut_rt_sums_f64(int64_t n, int64_t k, const double *x, int64_t is, int64_t ps, double *sum);

/* The same piece by piece, in order, from a panel (pack.h): steps p0..p1 of k, of which the first is at
 * panel, n <= ld elements each.  sum[] and part[] carry on between the pieces; sum[] is complete after the
 * last one. As many bytes as a vector has are readable after the panel. */
void gcut_rt_sums_panel_f32(int64_t n, int64_t p0, int64_t p1, int64_t k, const float *panel, int64_t ld,
                            float *sum, float *part);
void gcut_rt_sums_panel_f64(int64_t n, int64_t p0, int64_t p1, int64_t k, const double *panel, int64_t ld,
                            double *sum, double *part);

#endif
