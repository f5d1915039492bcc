/* SPDX-License-Identifier: MIT
 *
 * The loops around the register block (micro.h).
 *
 * S is the operand whose elements the block broadcasts, V the one it loads vectors of: for a row-major C they
 * are A and B.  For a column-major C the transposed problem is computed, C' = B' A'.  One of them stays in
 * the second-level cache, the other streams through it, a panel at a time:
 *
 *   rows of C (columns, when V stays), as many as fit
 *     groups of steps of k, as many as fit too
 *       pack what stays
 *       panels of the other operand
 *         one step of k after the other, KC at most
 *           pack the panel
 *           all panels that stay; meanwhile what the next panel is packed from comes into cache
 *
 * So each element that streams is read from memory behind arithmetic, and written and read again in cache.
 * The length of a step depends on k alone; an element is one chain of multiply-adds per step, and the steps
 * are added in order.  Which operand stays, and how much of it, does not show in the bits.
 */
#include "kernels/rt/gemm/macro.h"

#include <unistd.h>

#include "kernels/rt/gemm/prologue.h"
#include "kernels/rt/gemm/micro.h"
#include "kernels/rt/gemm/pack.h"
#include "kernels/rt/gemm/operand_sums.h"
#include "kernels/rt/threads/workspace.h"

/* The blocks of one product, in the orientation of the micro-kernel. */
typedef struct blocks {
    gcut_rt_micro micro;
    int64_t kc;    /* of one step, but the last */
    int64_t steps; /* of a group, but the last */
    int v_stays;
    int64_t stays; /* rows of S or columns of V that stay at once */
    int64_t tile;  /* rows or columns of the other operand behind which a tile is complete */
} blocks;

/* Room for one block of any micro-kernel. */
enum { PART_BYTES = 8192 };

/* What the caches of a core hold when the operating system does not say. */
#define L1_BYTES (INT64_C(32) << 10)
#define L2_BYTES (INT64_C(512) << 10)

static int64_t cache_bytes(int level)
{
    long n = 0;
#if defined _SC_LEVEL1_DCACHE_SIZE && defined _SC_LEVEL2_CACHE_SIZE
    n = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
#endif
    return n > 0 ? n : level == 1 ? L1_BYTES : L2_BYTES;
}

static int64_t up(int64_t n, int64_t unit)
{
    return gcut_rt_ceildiv(n, unit) * unit;
}

/* Parts of n of equal size, but the last, a multiple of unit and at most `most` (at least a unit). */
static int64_t even(int64_t n, int64_t most, int64_t unit)
{
    int64_t parts = gcut_rt_ceildiv(n, gcut_rt_max(most / unit * unit, unit));
    return up(gcut_rt_ceildiv(n, gcut_rt_max(parts, 1)), unit);
}
/* Most steps of k between two passes over C. */
enum { KC = 512 };
/* Rows that stay at least where whole rows are wanted; columns of a tile where S stays because it is
 * computed: shorter rows cost a tile function more than reading them from the next cache. */
enum { WHOLE_ROWS = 256, TILE_COLUMNS = 256 };
/* Of whole rows that a tile function finds in cache; of a tile otherwise. */
#define WHOLE_BYTES (INT64_C(3) << 19)
#define TILE_BYTES (INT64_C(128) << 10)

/* Three quarters of the first-level cache for a panel of S; a step of that many keeps reading and writing C
 * small against the arithmetic. */
static int64_t step_of(int64_t k, int lds, int64_t size)
{
    int64_t most = cache_bytes(1) * 3 / 4 / (lds * size);
    most = gcut_rt_max(64, gcut_rt_min(most / 32 * 32, KC));
    return even(k, most, 8);
}

/* The side of C that a tile function sets, and which operands are computed as they are packed. */
typedef struct needs {
    int tiles, whole_rows, fills_s, fills_v;
} needs;

/* Whether V stays.  What is computed is packed once when it stays.  Otherwise what is larger streams; but a
 * tile function goes along the rows of C. */
static int keeps_v(int64_t m, int64_t n, needs w)
{
    if (w.whole_rows) return 0;
    if (w.fills_s != w.fills_v) return w.fills_v;
    return w.tiles ? n / 4 <= m : n < m;
}

/* m, n: rows and columns of C in the orientation of the micro-kernel. */
static blocks cut(gcut_rt_micro micro, int64_t m, int64_t n, int64_t k, needs w, int64_t size)
{
    blocks b = {.micro = micro, .kc = step_of(k, micro.lds, size)};
    b.v_stays = keeps_v(m, n, w);
    const int64_t cache = cache_bytes(2), unit = b.v_stays ? micro.v : micro.s;
    int64_t most = cache * (b.v_stays ? 6 : 5) / 8 / (b.kc * size);
    if (w.whole_rows) most = gcut_rt_min(most, gcut_rt_max(WHOLE_BYTES / (n * size), WHOLE_ROWS));
    b.stays = even(b.v_stays ? n : m, most, unit);
    b.steps = gcut_rt_min(gcut_rt_ceildiv(k, b.kc), cache * 7 / 8 / (b.stays * b.kc * size));
    b.steps = gcut_rt_max(b.steps, 1);
    b.tile = gcut_rt_max(TILE_BYTES / (b.stays * size), w.fills_s ? TILE_COLUMNS : 1);
    b.tile = up(b.tile, b.v_stays ? micro.s : micro.v);
    return b;
}

/* Elements of what stays, of n rows or columns and k steps. */
static int64_t staying(const blocks *b, int64_t n, int64_t k)
{
    return b->v_stays ? gcut_rt_ceildiv(n, b->micro.v) * b->micro.ldv * k
                      : gcut_rt_ceildiv(n, b->micro.s) * b->micro.lds * k;
}
/* Elements of both packed blocks; the panel that streams begins behind what stays, on a cache line. */
static int64_t packed_stays(const blocks *b)
{
    return up(staying(b, b->stays, b->kc * b->steps), 16) + GCUT_RT_BEYOND;
}
static int64_t packed_streams(const blocks *b)
{
    return (b->v_stays ? b->micro.lds : b->micro.ldv) * b->kc + GCUT_RT_BEYOND;
}

/* Blocks of one panel each, for the reserve. */
static void shrink(blocks *b)
{
    b->stays = b->v_stays ? b->micro.v : b->micro.s;
    b->steps = 1;
}

#define T float
#define TYPE f32
#include "kernels/rt/gemm/macro_type.h"

#define T double
#define TYPE f64
#include "kernels/rt/gemm/macro_type.h"
