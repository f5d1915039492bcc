/* SPDX-License-Identifier: MIT
 *
 * The macro-kernel of large products: the loops that pack blocks of both operands for the micro-kernel
 * (micro.h) and run it over their micro-panels.  macro.c draws them.
 */
#ifndef GCUT_KERNELS_RT_GEMM_MACRO_H
#define GCUT_KERNELS_RT_GEMM_MACRO_H

#include "gradcut/gradcut_rt.h"

/* Rows m0..m1 and columns n0..n1 of C = A B (or C += A B), on the calling thread.  Any strides; k > 0.  An
 * element's bits depend on k and on its row of A and column of B alone. */
typedef struct gcut_rt_macro {
    int64_t m0, m1, n0, n1, k;
    int64_t rsa, csa, rsb, csb, rsc, csc;
    int add;
    /* Called when a block is complete and in cache; NULL for none.  whole_rows: with n0 and n1 as they are.
     */
    gcut_rt_tile_fn *tile;
    void *arg;
    int thread, whole_rows;
    /* The sums over k of rows (GCUT_RT_SUMS_A) or columns (GCUT_RT_SUMS_B) s0..s1 go to sum[s0]….  These
     * are, seen from m0 or n0, on the grain or where rows and columns end. */
    int sums;
    int64_t s0, s1;
    void *sum;
    /* Operands with a fill are asked for their elements, and a or b is not looked at. */
    gcut_rt_operand from_a, from_b;
} gcut_rt_macro;

void gcut_rt_macro_f32(const gcut_rt_macro *g, const float *a, const float *b, float *c);
void gcut_rt_macro_f64(const gcut_rt_macro *g, const double *a, const double *b, double *c);

/* Rows and columns of C whose multiples split a product without partial register blocks. */
typedef struct gcut_rt_grain {
    int64_t m, n;
} gcut_rt_grain;
gcut_rt_grain gcut_rt_macro_grain_f32(int row_major_c);
gcut_rt_grain gcut_rt_macro_grain_f64(int row_major_c);

#endif
