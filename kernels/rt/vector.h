/* SPDX-License-Identifier: MIT
 *
 * The elements of two vectors merged into one.
 */
#ifndef GCUT_KERNELS_RT_VECTOR_H
#define GCUT_KERNELS_RT_VECTOR_H

#include "kernels/rt/isa.h"

/* Every second element of a and b; their first and their second halves in turn.  `lanes` is a literal, or a
 * macro that is one. */
#define EVEN_1(a, b) (a)
#define EVEN_2(a, b) __builtin_shufflevector(a, b, 0, 2)
#define EVEN_4(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define EVEN_8(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define EVEN_16(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD_1(a, b) (b)
#define ODD_2(a, b) __builtin_shufflevector(a, b, 1, 3)
#define ODD_4(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#define ODD_8(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define ODD_16(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define LOW_1(a, b) (a)
#define LOW_2(a, b) __builtin_shufflevector(a, b, 0, 2)
#define LOW_4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define LOW_8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define LOW_16(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_1(a, b) (b)
#define HIGH_2(a, b) __builtin_shufflevector(a, b, 1, 3)
#define HIGH_4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define HIGH_8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define HIGH_16(a, b)                                                                                        \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define EVEN(lanes) PASTE(EVEN, lanes)
#define ODD(lanes) PASTE(ODD, lanes)
#define LOW(lanes) PASTE(LOW, lanes)
#define HIGH(lanes) PASTE(HIGH, lanes)

#endif
