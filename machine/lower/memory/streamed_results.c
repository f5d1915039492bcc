/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Results of loops that are written past the caches.
 *
 * A store to a line that is in no cache reads the line first.  A result larger than the last cache has none
 * of its lines there, and is gone from it before anybody reads it: written in whole lines past the caches, it
 * saves the reading.  Which results may be is decided here; whether one is, by plan->head.stream_bytes and
 * the sizes at hand.
 *
 * Not so what is written over an operand, whose lines are there; what a later phase of the loop reads back;
 * rows so short that much of them is ends; and what waits for arithmetic rather than memory: loops with dear
 * ops or sums, and the tiles of a product's epilogue.
 */
#include "machine/lower/memory/streamed_results.h"

/* Arithmetic of a phase that hides the reading of lines; one long function does so too. */
static int hidden(const gcut_loop_analysis *l)
{
    return l->h->thresholds->ps[GCUT_THRESHOLD_hidden];
}

static int64_t bytes_of(const gcut_loop_node *x)
{
    return gcut_dtype_bytes(x->dtype);
}

static bool is_small(gcut_dim n, int64_t size, int64_t least)
{
    return gcut_dim_known(n) && n * size < least;
}

/* What phase p computes for x, beyond what was counted before. */
static int arithmetic(const gcut_loop_analysis *l, const gcut_loop_node *x, int p, bool *counted)
{
    int ps = gcut_op_ps(l->h, x->n);
    if (counted[x - l->at] || (x->phase < p && x->keep != GCUT_RECOMPUTE)) return 0;
    counted[x - l->at] = true;
    if (gcut_op_is_long(l->h, x->n)) return hidden(l) + 1;
    for (uint32_t k = 0; k < x->n->nargs && ps <= hidden(l); k++) {
        const gcut_loop_node *from = gcut_loop_producer(l, x, k);
        if (from) ps += arithmetic(l, from, p, counted);
    }
    return ps;
}

/* Some member reads the buffer. */
static bool is_read(const gcut_loop_analysis *l, uint32_t buffer)
{
    for (gcut_use x = {0}; gcut_next_use(l->h, l->u, &x);)
        if (gcut_loop_access(l, &l->at[x.i], x.v) == GCUT_ACCESS_LOAD &&
            l->h->buffer[l->h->view[x.v].root] == buffer)
            return true;
    return false;
}

/* Of an element of the widest result of phase p; 0: it does more than store results, or arithmetic. */
static int64_t widest(const gcut_loop_analysis *l, int p, bool *counted)
{
    int64_t most = 0;
    int ps = 0;
    for (uint32_t i = 0; i < l->n && ps <= hidden(l); i++) {
        const gcut_loop_node *x = &l->at[i];
        if (!gcut_loop_sink(l, x, p)) continue;
        if (x->reduces || x->keep == GCUT_SCRATCH) return 0;
        if (bytes_of(x) > most) most = bytes_of(x);
        ps += arithmetic(l, x, p, counted);
    }
    return ps <= hidden(l) ? most : 0;
}

static bool may_stream(const gcut_loop_analysis *l, const gcut_loop_node *x)
{
    const gcut_kernel *u = l->u;
    uint32_t buffer = gcut_loop_stored(l, x);
    if (x->level != GCUT_LEVEL_FULL || x->reduces || buffer == GCUT_NONE || x->keep == GCUT_STORED)
        return false;
    if (is_small(u->loop.numel, bytes_of(x), GCUT_STREAM_LEAST)) return false;
    if (!u->loop.flat && is_small(u->loop.inner, bytes_of(x), GCUT_STREAM_ROW)) return false;
    return !is_read(l, buffer);
}

void gcut_find_streamed_results(gcut_loop_analysis *l)
{
    for (uint32_t i = 0; i < l->n; i++) /* iterations that check an index are not independent */
        if (gcut_loop_is_bounded(&l->at[i])) return;
    gcut_arena *a = gcut_arena_new(l->m->env, l->m->arena);
    for (int p = 0; p < l->phases; p++) {
        int64_t bytes = widest(l, p, gcut_calloc(a, l->n + 1, sizeof(bool)));
        for (uint32_t i = 0; i < l->n; i++) {
            gcut_loop_node *x = &l->at[i];
            if (x->phase == p && bytes == bytes_of(x)) x->streams = may_stream(l, x);
        }
    }
    gcut_arena_free(a);
}
