/* SPDX-License-Identifier: MIT
 *
 * Rows of pools whose windows of 2 * 2 lie side by side.
 */
#ifndef GCUT_KERNELS_RT_POOLING_POOL_2X2_H
#define GCUT_KERNELS_RT_POOLING_POOL_2X2_H

#include <stdint.h>

/* `rows` rows of n results y, one after the other, and two rows of w >= 2 n elements x for each of them.  A
 * result's bits do not depend on n or rows. */
#define GCUT_RT_POOL_2X2_TYPE(type, T)                                                                       \
    typedef struct gcut_rt_pool_2x2_##type {                                                                 \
        /* y = the largest of each window, a NaN if there is one */                                          \
        void (*max)(int64_t rows, int64_t n, int64_t w, const T *x, T *y);                                   \
        /* out, like x: y at the first largest element of each window, 0 elsewhere */                        \
        void (*max_grad)(int64_t rows, int64_t n, int64_t w, const T *x, const T *y, T *out);                \
        /* y = a quarter of the sum of each window in row-major order, and its transpose */                  \
        void (*avg)(int64_t rows, int64_t n, int64_t w, const T *x, T *y);                                   \
        void (*avg_grad)(int64_t rows, int64_t n, int64_t w, const T *y, T *x);                              \
    } gcut_rt_pool_2x2_##type;                                                                               \
    /* For rows of n on this processor. */                                                                   \
    const gcut_rt_pool_2x2_##type *gcut_rt_pool_2x2_of_##type(int64_t n);
GCUT_RT_POOL_2X2_TYPE(f32, float)
GCUT_RT_POOL_2X2_TYPE(f64, double)
#undef GCUT_RT_POOL_2X2_TYPE

#endif
