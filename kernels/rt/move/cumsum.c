/* SPDX-License-Identifier: MIT
 *
 * Running sums.
 */
#include "gradcut/gradcut_rt.h"

enum { LINES = 64 }; /* neighbouring sums that are taken together, in one sweep through memory */

typedef struct cumsum_job {
    int64_t outer, n, inner, blocks; /* blocks of LINES of inner */
    int reverse;
    const void *x;
    void *out;
} cumsum_job;

#define CUMSUM(name, type, wide, add)                                                                        \
    static void cumsum_part_##name(void *arg, int t, int nt)                                                 \
    {                                                                                                        \
        const cumsum_job *j = arg;                                                                           \
        int64_t b0, b1;                                                                                      \
        gcut_rt_share(j->outer * j->blocks, 1, t, nt, &b0, &b1);                                             \
        for (int64_t b = b0; b < b1; b++) {                                                                  \
            const int64_t c0 = b % j->blocks * LINES, base = b / j->blocks * j->n * j->inner + c0;           \
            const int64_t w = gcut_rt_min(LINES, j->inner - c0);                                             \
            wide acc[LINES] = {0};                                                                           \
            for (int64_t k = 0; k < j->n; k++) {                                                             \
                const int64_t at = base + (j->reverse ? j->n - 1 - k : k) * j->inner;                        \
                const type *const x = (const type *)j->x + at;                                               \
                type *const out = (type *)j->out + at;                                                       \
                for (int64_t c = 0; c < w; c++) {                                                            \
                    acc[c] = add;                                                                            \
                    out[c] = (type)acc[c];                                                                   \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    void gcut_rt_cumsum_##name(int64_t outer, int64_t n, int64_t inner, int reverse, const type *x,          \
                               type *out, int threads)                                                       \
    {                                                                                                        \
        cumsum_job j = {outer, n, inner, (inner + LINES - 1) / LINES, reverse, x, out};                      \
        gcut_rt_parallel(cumsum_part_##name, &j, gcut_rt_worth(threads, outer *n *inner, 1000));             \
    }
#define WRAP (int64_t)((uint64_t)acc[c] + (uint64_t)x[c])
CUMSUM(f32, float, double, acc[c] + (double)x[c])
CUMSUM(f64, double, double, acc[c] + x[c])
CUMSUM(i8, int8_t, int64_t, WRAP)
CUMSUM(i16, int16_t, int64_t, WRAP)
CUMSUM(i32, int32_t, int64_t, WRAP)
CUMSUM(i64, int64_t, int64_t, WRAP)
CUMSUM(u8, uint8_t, int64_t, WRAP)
