/* SPDX-License-Identifier: MIT
 *
 * The instances of pool_2x2_kernel.h and the choice between them: the longest vectors that a row fills.
 */
#include "kernels/rt/pooling/pool_2x2.h"

#include <string.h>

#include "kernels/rt/vector.h"

#define WIDTH_f32_one 1
#define WIDTH_f64_one 1
#define KERNEL "kernels/rt/pooling/pool_2x2_vectors_kernel.h"
#include "kernels/rt/each_kernel.h"

/* By instruction set, and by the vectors that a row fills. */
/* clang-format off */
#ifdef __x86_64__
#define ROWS(type)                                                                                           \
    {rows_##type##_base_one, rows_##type##_base_base},                                                       \
    {rows_##type##_base_one, rows_##type##_avx2_base, rows_##type##_avx2_avx2},                              \
    {rows_##type##_base_one, rows_##type##_avx512_base, rows_##type##_avx512_avx2, rows_##type##_avx512_avx512}
#else
#define ROWS(type) {rows_##type##_base_one, rows_##type##_base_base}
#endif
/* clang-format on */

#define ROWS_OF(type)                                                                                        \
    const gcut_rt_pool_2x2_##type *gcut_rt_pool_2x2_of_##type(int64_t n)                                     \
    {                                                                                                        \
        static const gcut_rt_pool_2x2_##type *const rows[ISAS][1 + ISAS] = {ROWS(type)};                     \
        const int64_t bytes = n * (int64_t)sizeof(T_##type);                                                 \
        const int vectors = bytes < 16 ? 0 : 1 + gcut_rt_isa_filled(bytes);                                  \
        return rows[gcut_rt_isa()][vectors];                                                                 \
    }
ROWS_OF(f32)
ROWS_OF(f64)
