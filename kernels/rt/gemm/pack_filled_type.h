/* SPDX-License-Identifier: MIT
 *
 * Operands that are computed as they are packed, for one element type; included by macro.c.  A block at a
 * time is computed where it stays in the second-level cache, along its lines, and packed from there as from
 * memory.
 */

/* As gcut_rt_pack: panels of elements i..i+n along the rows (of A) or columns (of B), of steps q..q+k, of the
 * batch whose lines begin at `line`.  A block has lines along k, then of every step if it can, of some
 * panels; or long parts of BLOCK_LINES lines along the panels, one line for each step. */
static void NAME(pack_filled)(const gcut_rt_operand *x, int64_t line, int thread, int64_t i, int64_t n,
                              int64_t q, int64_t k, int width, int ld, T *out)
{
    _Alignas(64) T block[BLOCK_BYTES / sizeof(T)];
    const int64_t all = BLOCK_BYTES / sizeof(T);
    const int64_t steps = x->along_k ? gcut_rt_max(gcut_rt_min(k, all / width), 1) : BLOCK_LINES;
    const int64_t elements = panels(all / steps, width);
    for (int64_t p = 0; p < k; p += steps)
        for (int64_t a = 0; a < n; a += elements) {
            const int64_t m = gcut_rt_min(elements, n - a), s = gcut_rt_min(steps, k - p);
            if (x->along_k)
                x->fill(x->arg, thread, line + i + a, line + i + a + m, q + p, q + p + s, block, s);
            else
                x->fill(x->arg, thread, line + q + p, line + q + p + s, i + a, i + a + m, block, m);
            NAME(gcut_rt_pack)
            (m, s, block, x->along_k ? s : 1, x->along_k ? 1 : m, width, ld, ld * k,
             out + a / width * ld * k + p * ld);
        }
}
