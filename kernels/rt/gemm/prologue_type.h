/* SPDX-License-Identifier: MIT
 *
 * prologue.c for one element type (each_type.h).
 */

/* Lines along k: a block has some panels, and every step. */
static void NAME(along_k)(const gcut_rt_operand *x, int thread, int64_t i, int64_t n, int64_t q, int64_t k,
                          int width, int ld, T *out)
{
    _Alignas(64) T block[BLOCK_BYTES / sizeof(T)];
    const int64_t most = BLOCK_BYTES / (int64_t)sizeof(T);
    const int64_t steps = gcut_rt_min(k, most / width), lines = panels(most / gcut_rt_max(steps, 1), width);
    for (int64_t a = 0; a < n; a += lines)
        for (int64_t p = 0; p < k; p += steps) {
            const int64_t m = gcut_rt_min(lines, n - a), s = gcut_rt_min(steps, k - p);
            x->fill(x->arg, thread, i + a, i + a + m, q + p, q + p + s, block, s);
            NAME(gcut_rt_pack)(m, s, block, s, 1, width, ld, ld * k, out + a / width * ld * k + p * ld);
        }
}

/* Lines along the panels: a block has some steps, and long parts of their lines. */
static void NAME(along_panels)(const gcut_rt_operand *x, int thread, int64_t i, int64_t n, int64_t q,
                               int64_t k, int width, int ld, T *out)
{
    _Alignas(64) T block[BLOCK_BYTES / sizeof(T)];
    const int64_t length = panels(BLOCK_BYTES / (int64_t)sizeof(T) / BLOCK_LINES, width);
    for (int64_t p = 0; p < k; p += BLOCK_LINES)
        for (int64_t a = 0; a < n; a += length) {
            const int64_t m = gcut_rt_min(length, n - a), s = gcut_rt_min(BLOCK_LINES, k - p);
            x->fill(x->arg, thread, q + p, q + p + s, i + a, i + a + m, block, m);
            NAME(gcut_rt_pack)(m, s, block, 1, m, width, ld, ld * k, out + a / width * ld * k + p * ld);
        }
}

void NAME(gcut_rt_pack_filled)(const gcut_rt_operand *x, int thread, int64_t i, int64_t n, int64_t q,
                               int64_t k, int width, int ld, T *out)
{
    if (x->along_k)
        NAME(along_k)(x, thread, i, n, q, k, width, ld, out);
    else
        NAME(along_panels)(x, thread, i, n, q, k, width, ld, out);
}
