/* SPDX-License-Identifier: MIT
 *
 * Bools as bits: eight in a byte, the first one lowest.
 */
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/move/strided.h"

typedef struct pack_job {
    int64_t n;
    const uint8_t *src;
    uint8_t *dst;
} pack_job;

/* Eight bools, bytes of 0 and 1, as one byte.  Byte i of the word moves to bit 56 + i by the factor
 * 2^(56 - 7 i); the other products land below bit 56, each on a bit of its own, or above bit 63. */
static uint8_t pack_eight(const uint8_t *s)
{
    uint64_t w;
    memcpy(&w, s, 8);
    w = gcut_rt_little(w) & UINT64_C(0x0101010101010101);
    return (uint8_t)(w * UINT64_C(0x0102040810204080) >> 56);
}

static void pack_part(void *arg, int t, int nt)
{
    const pack_job *j = arg;
    int64_t b0, b1, whole = j->n / 8;
    gcut_rt_share(whole, 64, t, nt, &b0, &b1); /* whole lines of the cache */
    const uint8_t *const restrict src = j->src;
    uint8_t *const restrict dst = j->dst;
    for (int64_t b = b0; b < b1; b++) dst[b] = pack_eight(src + 8 * b);
}

void gcut_rt_pack_bits(int64_t n, const uint8_t *src, uint8_t *dst, int threads)
{
    pack_job j = {n, src, dst};
    if (n / 8 > 0) gcut_rt_parallel(pack_part, &j, gcut_rt_worth(threads, n, 30));
    if (n % 8 == 0) return;
    uint8_t rest[8] = {0};
    for (int64_t i = 0; i < n % 8; i++) rest[i] = src[n / 8 * 8 + i];
    dst[n / 8] = pack_eight(rest);
}

typedef struct unpack_job {
    strided from;
    const uint8_t *src;
    int64_t offset;
    uint8_t *dst;
} unpack_job;

static void unpack_part(void *arg, int t, int nt)
{
    const unpack_job *j = arg;
    const int64_t columns = j->from.columns, step = j->from.step;
    int64_t r0, r1;
    gcut_rt_share(j->from.rows, 1, t, nt, &r0, &r1);
    for (int64_t r = r0; r < r1; r++) {
        const int64_t at = j->offset + strided_row(&j->from, r);
        uint8_t *const to = j->dst + r * columns;
        if (step == 1)
            gcut_rt_bits(j->src, at, columns, to);
        else
            for (int64_t c = 0; c < columns; c++) to[c] = gcut_rt_bit(j->src, at + c * step);
    }
}

void gcut_rt_unpack_bits(int rank, const int64_t *dim, const uint8_t *src, int64_t offset, const int64_t *ss,
                         uint8_t *dst, int threads)
{
    unpack_job j = {strided_rows(rank, dim, ss), src, offset, dst};
    const int64_t n = j.from.rows * j.from.columns;
    if (n > 0) gcut_rt_parallel(unpack_part, &j, gcut_rt_worth(threads, n, 100));
}
