/* SPDX-License-Identifier: MIT
 *
 * Operands that are computed as they are packed.
 */
#ifndef GCUT_KERNELS_RT_GEMM_PROLOGUE_H
#define GCUT_KERNELS_RT_GEMM_PROLOGUE_H

#include "gradcut/gradcut_rt.h"

/* As gcut_rt_pack_f32: panels of elements i..i+n along the rows (of A) or columns (of B), of steps q..q+k. */
void gcut_rt_pack_filled_f32(const gcut_rt_operand *x, int thread, int64_t i, int64_t n, int64_t q, int64_t k,
                             int width, int ld, float *out);
void gcut_rt_pack_filled_f64(const gcut_rt_operand *x, int thread, int64_t i, int64_t n, int64_t q, int64_t k,
                             int width, int ld, double *out);

/* Computes `lines` lines of `length` elements of `size` bytes, one after the other, into the buffer that the
 * operand has (`room`). */
void gcut_rt_prologue_reserve(const gcut_rt_operand *x, int64_t lines, int64_t length, size_t size,
                              int threads);

#endif
