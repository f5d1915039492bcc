/* SPDX-License-Identifier: MIT
 *
 * The macro-kernel: the loops around the micro-kernel (micro.h).
 *
 * The micro-kernel broadcasts elements of the left operand and loads vectors of the right one: for a
 * row-major C they are A and B.  For a column-major C the transposed problem is computed, C' = B' A'.  One
 * of them is resident: a block of it stays packed in the second-level cache.  The other is streamed, one
 * micro-panel at a time:
 *
 *   rows of C (columns, when the right one is resident), as many as fit
 *     groups of steps of k, as many as fit too
 *       pack the resident block                                     second-level cache
 *       micro-panels of the streamed operand
 *         KC steps of k at most, one after the other
 *           pack the panel                                          first-level cache
 *           micro-panels of the resident block: micro-kernel        registers
 *           (meanwhile what the next panel is packed from is prefetched)
 *
 *            right streamed: one panel              left streamed: right resident: all panels
 *                     +-----+                       one panel     +-----+-----+-----+
 *                     |     | kc                                  |     |     |     | kc
 *                     +-----+                                     +-----+-----+-----+
 *  left resident      +-----+                      +----+         +-----+-----+-----+
 *     +----+ mr       |  C  |                      |    | mr      |  C  |     |     |
 *     +----+ mr       +-----+                      +----+         +-----+-----+-----+
 *     +----+ mr       |     |                        kc             nr    nr    nr
 *     +----+          +-----+
 *       kc              nr
 *
 * So each element of the streamed operand is read from memory while arithmetic runs, and written and read again
 * in cache.  KC depends on k, the type and the caches; an element of C is one chain of multiply-adds per KC
 * steps, and the chains are added in order.  Which operand is resident, and how much of it, does not show in
 * the bits.
 */
#include "kernels/rt/gemm/macro.h"

#include <unistd.h>

#include "kernels/rt/gemm/micro.h"
#include "kernels/rt/gemm/pack.h"
#include "kernels/rt/gemm/operand_sums.h"
#include "kernels/rt/threads/packing_memory.h"

/* The blocks of one product, in the orientation of the micro-kernel. */
typedef struct blocks {
    gcut_rt_micro micro;
    int64_t kc;    /* of one step, but the last */
    int64_t steps; /* of a group, but the last */
    int right_resident;
    int64_t resident; /* rows of the left or columns of the right operand that are resident at once */
    int64_t tile;     /* rows or columns of the other operand after which a tile is complete */
} blocks;

/* The block of C of any micro-kernel. */
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

static int64_t round_up(int64_t n, int64_t unit)
{
    return gcut_rt_ceildiv(n, unit) * unit;
}

/* Parts of n of equal size, but the last, a multiple of unit and at most `most` (at least a unit). */
static int64_t even_parts(int64_t n, int64_t most, int64_t unit)
{
    int64_t parts = gcut_rt_ceildiv(n, gcut_rt_max(most / unit * unit, unit));
    return round_up(gcut_rt_ceildiv(n, gcut_rt_max(parts, 1)), unit);
}
/* Rows of a resident left operand at least where whole rows are wanted; columns of a tile where it is
 * because it is computed: shorter rows cost a tile function more than reading them from the next cache. */
enum { WHOLE_ROWS = 256, TILE_COLUMNS = 256 };
/* Of whole rows that a tile function finds in cache; of a tile otherwise. */
#define WHOLE_BYTES (INT64_C(3) << 19)
#define TILE_BYTES (INT64_C(128) << 10)

/* Three quarters of the first-level cache for a panel of the left operand; a step of that many keeps
 * reading and writing C small against the arithmetic. */
static int64_t kc_of(int64_t k, int ld, int64_t size)
{
    int64_t most = cache_bytes(1) * 3 / 4 / (ld * size);
    most = gcut_rt_max(64, gcut_rt_min(most / 32 * 32, GCUT_RT_STEPS));
    return even_parts(k, most, 8);
}

/* The side of C that a tile function sets, and which operands are computed as they are packed. */
typedef struct needs {
    int tiles, whole_rows, computes_left, computes_right;
} needs;

/* Whether the right operand is resident.  What is computed is packed once when it is resident.  Otherwise
 * the larger operand is streamed; but a tile function goes along the rows of C. */
static int right_is_resident(int64_t m, int64_t n, needs w)
{
    if (w.whole_rows) return 0;
    if (w.computes_left != w.computes_right) return w.computes_right;
    return w.tiles ? gcut_rt_right_resident(m, n) : n < m;
}

/* m, n: rows and columns of C in the orientation of the micro-kernel. */
static blocks choose_blocks(gcut_rt_micro micro, int64_t m, int64_t n, int64_t k, needs w, int64_t size)
{
    blocks b = {.micro = micro, .kc = kc_of(k, micro.packmr, size)};
    b.right_resident = right_is_resident(m, n, w);
    const int64_t cache = cache_bytes(2), unit = b.right_resident ? micro.nr : micro.mr;
    int64_t most = cache * (b.right_resident ? 6 : 5) / 8 / (b.kc * size);
    if (w.whole_rows) most = gcut_rt_min(most, gcut_rt_max(WHOLE_BYTES / (n * size), WHOLE_ROWS));
    b.resident = even_parts(b.right_resident ? n : m, most, unit);
    b.steps = gcut_rt_min(gcut_rt_ceildiv(k, b.kc), cache * 7 / 8 / (b.resident * b.kc * size));
    b.steps = gcut_rt_max(b.steps, 1);
    b.tile = gcut_rt_max(TILE_BYTES / (b.resident * size), w.computes_left ? TILE_COLUMNS : 1);
    b.tile = round_up(b.tile, b.right_resident ? micro.mr : micro.nr);
    return b;
}

/* Elements of a resident block of n rows or columns and k steps. */
static int64_t resident_elements(const blocks *b, int64_t n, int64_t k)
{
    return b->right_resident ? gcut_rt_ceildiv(n, b->micro.nr) * b->micro.packnr * k
                             : gcut_rt_ceildiv(n, b->micro.mr) * b->micro.packmr * k;
}
/* Elements of both packed blocks; the streamed panel begins after the resident block, on a cache line. */
static int64_t packed_resident(const blocks *b)
{
    return round_up(resident_elements(b, b->resident, b->kc * b->steps), 16) + GCUT_RT_BEYOND;
}
static int64_t packed_streamed(const blocks *b)
{
    return (b->right_resident ? b->micro.packmr : b->micro.packnr) * b->kc + GCUT_RT_BEYOND;
}

/* Blocks of one panel each, for the reserve. */
static void smallest_blocks(blocks *b)
{
    b->resident = b->right_resident ? b->micro.nr : b->micro.mr;
    b->steps = 1;
}

gcut_rt_grain gcut_rt_macro_grain(int row_major_c, size_t size)
{
    const gcut_rt_micro u = gcut_rt_micro_of(size);
    return row_major_c ? (gcut_rt_grain){u.mr, u.nr} : (gcut_rt_grain){u.nr, u.mr};
}

/* Of a block of an operand that is computed; its lines are long enough to begin them cheaply. */
enum { BLOCK_BYTES = 32 << 10, BLOCK_LINES = 32 };

/* The largest multiple of a panel's width that is at most `most`, at least one panel. */
static int64_t panels(int64_t most, int width)
{
    return gcut_rt_max(most / width, 1) * width;
}

#define TEMPLATE "kernels/rt/gemm/pack_filled_type.h"
#include "kernels/rt/each_type.h"

#define TEMPLATE "kernels/rt/gemm/macro_type.h"
#include "kernels/rt/each_type.h"
