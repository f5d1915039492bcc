/* SPDX-License-Identifier: MIT
 *
 * A block at a time is computed where it stays in the second-level cache, along its lines, and packed from
 * there as from memory.
 */
#include "kernels/rt/gemm/prologue.h"

#include "kernels/rt/gemm/pack.h"

/* Of a block; its lines are long enough to begin them cheaply. */
enum { BLOCK_BYTES = 32 << 10, BLOCK_LINES = 32 };
/* Of an element, when deciding how many threads filling a buffer is worth. */
enum { FILL_PS = 500 };

/* The largest multiple of a panel's width that is at most `most`, at least one panel. */
static int64_t panels(int64_t most, int width)
{
    return gcut_rt_max(most / width, 1) * width;
}

#define TEMPLATE "kernels/rt/gemm/prologue_type.h"
#include "kernels/rt/each_type.h"

/* ---- operands that are computed before the product ---- */

typedef struct job {
    const gcut_rt_operand *x;
    int64_t lines, length;
    size_t size;
} job;

static void fill_share(void *arg, int t, int nt)
{
    const job *j = arg;
    int64_t begin, end;
    gcut_rt_share(j->lines, 1, t, nt, &begin, &end);
    if (begin == end) return;
    j->x->fill(j->x->arg, t, begin, end, 0, j->length,
               (char *)j->x->room + (size_t)(begin * j->length) * j->size, j->length);
}

void gcut_rt_prologue_reserve(const gcut_rt_operand *x, int64_t lines, int64_t length, size_t size,
                              int threads)
{
    job j = {x, lines, length, size};
    if (lines <= 0 || length <= 0) return;
    gcut_rt_parallel(fill_share, &j,
                     gcut_rt_threads_worth(gcut_rt_threads(threads), lines * length, FILL_PS, lines));
}
