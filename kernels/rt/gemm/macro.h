/* SPDX-License-Identifier: MIT
 *
 * The macro-kernel of large products: the loops that pack blocks of both operands for the micro-kernel
 * (micro.h) and run it over their micro-panels.  macro.c draws them.
 */
#ifndef GCUT_KERNELS_RT_GEMM_MACRO_H
#define GCUT_KERNELS_RT_GEMM_MACRO_H

#include "gradcut/gradcut_rt.h"

/* Where a batch begins: its rows of C among those of all batches, as a tile function counts them, and its
 * lines among those of A and of B, as a fill function counts them. */
typedef struct gcut_rt_batch_lines {
    int64_t c, a, b;
} gcut_rt_batch_lines;

/* Rows m0..m1 and columns n0..n1 of the product g without its batches, on the calling thread; k > 0.  An
 * element's bits depend on k and on its row of A and column of B alone. */
typedef struct gcut_rt_macro {
    const gcut_rt_gemm *g;
    int64_t m0, m1, n0, n1;
    /* Called when a block is complete and in cache; NULL for none.  whole_rows: with n0 and n1 as they are. */
    gcut_rt_tile_fn *tile;
    void *arg;
    int thread, whole_rows;
    gcut_rt_batch_lines line;
    /* Rows or columns whose sums are made: seen from m0 or n0, on the grain or where rows and columns end. */
    int64_t s0, s1;
} gcut_rt_macro;

/* The most steps of k between two passes over C. */
enum { GCUT_RT_STEPS = 512 };

/* For a column-major C the macro-kernel and the small kernel compute C' = B' A'. */
static inline int gcut_rt_column_major(const gcut_rt_gemm *g)
{
    return g->csc != 1 && g->rsc == 1;
}

/* Whether the right operand of C [m, n] is resident where a tile function goes along the rows of C and memory
 * has both operands: unless C has few rows. */
static inline int gcut_rt_right_resident(int64_t m, int64_t n)
{
    return n / 4 <= m;
}

void gcut_rt_macro_f32(const gcut_rt_macro *g, const float *a, const float *b, float *c);
void gcut_rt_macro_f64(const gcut_rt_macro *g, const double *a, const double *b, double *c);

/* Rows and columns of C whose multiples split a product without partial register blocks. */
typedef struct gcut_rt_grain {
    int64_t m, n;
} gcut_rt_grain;
gcut_rt_grain gcut_rt_macro_grain(int row_major_c, size_t size);

#endif
