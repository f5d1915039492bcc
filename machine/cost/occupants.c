/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The occupants of the arena (occupants.h).
 *
 * Buffers that are used at the same time do not overlap, so a buffer has all of its place from its first use to its last one,
 * and what is noted at its first use stands for its later touches too.
 */
#include "machine/cost/occupants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "machine/lower/memory/placement.h"

void gcut_occupants_init(gcut_occupants *o, gcut_arena *a, const gcut_program *p, const gcut_dim_binding *at,
                         uint32_t nat, int threads)
{
    const uint32_t n = p->buffers.n;
    int64_t *offset = gcut_calloc(a, (size_t)n + 1, sizeof *offset),
            *bytes = gcut_calloc(a, (size_t)n + 1, sizeof *bytes);
    const gcut_memory memory = gcut_arena_layout(p, at, nat, threads, offset);
    double all = (double)memory.arena_bytes + (p->apart ? (double)memory.saved_bytes : 0);
    for (uint32_t b = 0; b < n; b++) {
        const gcut_buffer *x = &p->buffers.at[b];
        const bool bound = x->kind == GCUT_BUFFER_BOUND;
        if (offset[b] < 0 && !bound) continue;
        const int64_t size = gcut_buffer_bytes(p, x, at, nat, threads);
        if (bound)
            all += (double)size;
        else
            bytes[b] = gcut_bytes_lines(p->module->env, p->module->file, x->name, size);
    }
    *o = (gcut_occupants){.offset = offset, .bytes = bytes, .step_bytes = all};
    *GCUT_PUSH(a, &o->at) = (gcut_occupant){0, GCUT_NONE};
    *GCUT_PUSH(a, &o->at) = (gcut_occupant){INT64_MAX, GCUT_NONE};
}

bool gcut_occupants_has(const gcut_occupants *o, uint32_t buffer)
{
    return o->bytes[buffer] > 0;
}

/* The last one that begins at `offset` or before. */
static uint32_t find(const gcut_occupants *o, int64_t offset)
{
    uint32_t lo = 0, hi = o->at.n - 1;
    while (hi - lo > 1) {
        const uint32_t middle = lo + (hi - lo) / 2;
        *(o->at.at[middle].begin <= offset ? &lo : &hi) = middle;
    }
    return lo;
}

static int by_time(const void *a, const void *b)
{
    const double x = ((const gcut_touched_piece *)a)->touched, y = ((const gcut_touched_piece *)b)->touched;
    return (x > y) - (x < y);
}

/* The time of the byte in the middle, when bytes are in the order of their times. */
static double median(gcut_touched_piece *of, uint32_t n, int64_t bytes)
{
    uint32_t i = 0;
    qsort(of, n, sizeof *of, by_time);
    for (int64_t below = of[0].bytes; 2 * below < bytes; below += of[i].bytes) i++;
    return of[i].touched;
}

/* The occupants first..next-1 make room for the buffer; of the outer two, parts outside of its place stay. */
static void replace(gcut_occupants *o, gcut_arena *a, uint32_t first, uint32_t next, uint32_t buffer)
{
    const int64_t begin = o->offset[buffer], end = begin + o->bytes[buffer];
    gcut_occupant to[3];
    uint32_t n = 0;
    if (o->at.at[first].begin < begin) to[n++] = o->at.at[first];
    to[n++] = (gcut_occupant){begin, buffer};
    if (o->at.at[next].begin > end) to[n++] = (gcut_occupant){end, o->at.at[next - 1].buffer};
    const uint32_t after = o->at.n - next, all = first + n + after;
    while (o->at.n < all) *GCUT_PUSH(a, &o->at) = (gcut_occupant){0};
    memmove(o->at.at + first + n, o->at.at + next, after * sizeof *o->at.at);
    memcpy(o->at.at + first, to, n * sizeof *to);
    o->at.n = all;
}

double gcut_occupy(gcut_occupants *o, gcut_arena *a, uint32_t buffer, const double *touched)
{
    const int64_t begin = o->offset[buffer], end = begin + o->bytes[buffer];
    const uint32_t first = find(o, begin);
    uint32_t next = first;
    o->pieces.n = 0;
    for (; o->at.at[next].begin < end; next++) {
        const gcut_occupant *x = &o->at.at[next];
        const int64_t from = x->begin > begin ? x->begin : begin, to = x[1].begin < end ? x[1].begin : end;
        const double at = x->buffer == GCUT_NONE ? NAN : touched[x->buffer];
        *GCUT_PUSH(a, &o->pieces) = (gcut_touched_piece){isnan(at) ? -INFINITY : at, to - from};
    }
    const double when = median(o->pieces.at, o->pieces.n, end - begin);
    replace(o, a, first, next, buffer);
    return when;
}
