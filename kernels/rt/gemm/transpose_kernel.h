/* SPDX-License-Identifier: MIT
 *
 * Vectors, and squares of them transposed in registers: for the reference kernel that includes it.
 */
#include "kernels/rt/vector.h"

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
