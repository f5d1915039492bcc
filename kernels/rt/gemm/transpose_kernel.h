/* SPDX-License-Identifier: MIT
 *
 * Vectors of LANES elements of type T, and squares of them transposed in registers: for the file that
 * includes it, with its NAME and TARGET.
 */
#ifndef GCUT_KERNELS_RT_GEMM_TRANSPOSE_KERNEL_H
#define GCUT_KERNELS_RT_GEMM_TRANSPOSE_KERNEL_H

/* The first and the second halves of a and b, their elements in turn. */
#define LOW_2(a, b) __builtin_shufflevector(a, b, 0, 2)
#define HIGH_2(a, b) __builtin_shufflevector(a, b, 1, 3)
#define LOW_4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW_8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_16(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_16(a, b)                                                                                        \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_OF(lanes) LOW_##lanes
#define HIGH_OF(lanes) HIGH_##lanes
#define LOW(lanes) LOW_OF(lanes)
#define HIGH(lanes) HIGH_OF(lanes)

#endif

/* Unaligned, and free to alias the scalars. */
typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

/* r[i][j] becomes r[j][i]: taking turns between the first and the second half of the rows, log2(LANES) times,
 * rotates the bits of the place of an element (i, j) by as many, which exchanges i and j. */
__attribute__((always_inline)) TARGET static inline void NAME(transpose)(NAME(vec) * r)
{
    NAME(vec) s[LANES];
#pragma GCC unroll 4
    for (int step = 1; step < LANES; step *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < LANES / 2; i++) {
            s[2 * i] = LOW(LANES)(r[i], r[i + LANES / 2]);
            s[2 * i + 1] = HIGH(LANES)(r[i], r[i + LANES / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) r[i] = s[i];
    }
}
