/* SPDX-License-Identifier: MIT
 *
 * The loops around the micro-kernel.
 *
 * S is the operand whose elements the micro-kernel broadcasts, V the one it loads vectors of: for a row-major
 * C they are A and B.  For a column-major C the transposed problem is computed, C' = B' A'.
 *
 *   rows of C, MB at a time
 *     groups of steps of k, as many as keep MB packed rows of S in the share of the last-level cache
 *       pack S
 *       columns of C, NB at a time
 *         one step of k after the other, KC at most
 *           pack V, which then stays in the second-level cache
 *           for each panel of S, which stays in the first: all panels of V
 *
 * The length of a step depends on k alone; an element is one chain of multiply-adds per step, and the steps
 * are added in order.  MB, NB and the tiles do not show in the bits.
 */
#include "kernels/rt/macro.h"

#include <unistd.h>

#include "kernels/rt/pack.h"
#include "kernels/rt/use_blis.h"
#include "kernels/rt/workspace.h"

/* The blocks of one product, in the orientation of the micro-kernel. */
typedef struct blocks {
    gcut_rt_micro micro;
    int64_t kc;    /* of one step, but the last */
    int64_t steps; /* of a group, but the last */
    int64_t mb, nb;
    int64_t tile; /* rows of a tile */
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
/* Rows of four-byte elements whose packed S is reused for all of V, and at least that many where whole rows
 * are wanted. */
enum { MB = 1536, WHOLE_MB = 256 };
/* Of packed S; of whole rows that a tile function finds in cache; of a tile otherwise. */
#define GROUP_BYTES (INT64_C(6) << 20)
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

/* m, n: rows and columns of C in the orientation of the micro-kernel. */
static blocks cut(gcut_rt_micro micro, int64_t m, int64_t n, int64_t k, int whole_rows, int64_t size)
{
    blocks b = {.micro = micro, .kc = step_of(k, micro.lds, size)};
    int64_t rows = MB * 4 / size;
    if (whole_rows) rows = gcut_rt_max(gcut_rt_min(rows, WHOLE_BYTES / (n * size)), WHOLE_MB);
    b.mb = even(m, rows, micro.s);
    b.nb = even(n, cache_bytes(2) * 3 / 4 / (b.kc * size), micro.v);
    int64_t steps = gcut_rt_ceildiv(k, b.kc);
    b.steps = gcut_rt_max(1, gcut_rt_min(steps, GROUP_BYTES / (b.mb * b.kc * size)));
    b.tile = gcut_rt_max(TILE_BYTES / (b.nb * size) / micro.s, 1) * micro.s;
    return b;
}

static int64_t panel_elements(int64_t n, int width, int ld, int64_t k)
{
    return gcut_rt_ceildiv(n, width) * ld * k;
}

/* Elements of both packed blocks; V's begins behind S's, on a cache line. */
static int64_t packed_s(const blocks *b)
{
    return up(panel_elements(b->mb, b->micro.s, b->micro.lds, b->kc * b->steps), 16) + GCUT_RT_BEYOND;
}
static int64_t packed_v(const blocks *b)
{
    return panel_elements(b->nb, b->micro.v, b->micro.ldv, b->kc) + GCUT_RT_BEYOND;
}

/* Blocks of one panel each, for the reserve. */
static void shrink(blocks *b)
{
    b->mb = b->tile = b->micro.s;
    b->nb = b->micro.v;
    b->steps = 1;
}

#define T float
#define TYPE f32
#include "kernels/rt/macro_type.h"

#define T double
#define TYPE f64
#include "kernels/rt/macro_type.h"
