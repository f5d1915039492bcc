/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One loop kernel, analysed: its phases, and what crosses them.
 *
 * A row is walked in phases.  A phase is one loop over the row's columns; it
 * ends where a row reduction is complete, and values that depend on the
 * reduction belong to a later phase.  What a later phase needs of an earlier
 * one it reads back from where it was stored, keeps in a row of scratch, or
 * computes again when that is cheaper than a store and a load of L1.  The same
 * expression on the same operands gives the same bits, so the choice is free.
 */
#ifndef GCUT_MACHINE_LOWER_FUSION_LOOP_PHASES_H
#define GCUT_MACHINE_LOWER_FUSION_LOOP_PHASES_H

#include "machine/lower/lowered.h"

typedef enum gcut_keep { GCUT_RECOMPUTE, GCUT_STORED, GCUT_SCRATCH } gcut_keep;

typedef struct gcut_loop_node {
    const gcut_node *n;
    gcut_ref v; /* its value; the root of its storage when it has one */
    gcut_dtype dtype;
    gcut_level level;
    bool reduces; /* a FULL value, or one it reads from memory */
    int phase;    /* FULL: its loop.  ROW: the loop after which it is known, -1 = before any.
                   * COLUMN, TOTAL: the loop that feeds it. */
    gcut_keep keep;
    bool crosses; /* FULL and read by a later phase */
    bool streams; /* a result that goes past the caches where it is large (streamed_results.h) */
    int chain_ps; /* arithmetic from the loads on, per element */
} gcut_loop_node;

typedef struct gcut_loop_analysis {
    const gcut_lowered *h;
    const gcut_graph *g;
    gcut_module *m;
    const gcut_kernel *u;
    uint32_t kernel;
    gcut_loop_node *at;
    uint32_t n;
    int phases;
    const gcut_prologue *prologue; /* that it is the loop of, or NULL */
} gcut_loop_analysis;

/* Of a kernel; of a prologue of that product, unless it is NULL.  Memory from a. */
gcut_loop_analysis gcut_loop_analyse(gcut_arena *a, const gcut_lowered *h, uint32_t kernel,
                                     const gcut_prologue *prologue);
gcut_loop_node *gcut_loop_member(const gcut_loop_analysis *l, gcut_ref v);
gcut_access gcut_loop_access(const gcut_loop_analysis *l, const gcut_loop_node *user, gcut_ref v);
/* The member whose element of the same column is operand k of x; NULL: x reads the operand otherwise. */
gcut_loop_node *gcut_loop_producer(const gcut_loop_analysis *l, const gcut_loop_node *x, uint32_t k);
/* Phase p writes x somewhere: a reduction it feeds, a stored value, a row of scratch. */
bool gcut_loop_sink(const gcut_loop_analysis *l, const gcut_loop_node *x, int p);
gcut_dim gcut_loop_row_bytes(const gcut_loop_analysis *l,
                             gcut_dtype t); /* of one row, in whole cache lines */
/* Blocks of a blocked loop: gcut_rt_share gives the first ones the rows, so that fewer rows are one block each; at least
 * one. */
gcut_dim gcut_loop_blocks(gcut_module *m, const gcut_kernel *u);
gcut_dim gcut_loop_partial_bytes(const gcut_loop_analysis *l, const gcut_loop_node *x);
static inline bool gcut_loop_partial(const gcut_loop_node *x)
{
    return x->level == GCUT_LEVEL_COLUMN || x->level == GCUT_LEVEL_TOTAL;
}

/* The buffer where a member is stored; GCUT_NONE: it stays in registers. */
static inline uint32_t gcut_loop_stored(const gcut_loop_analysis *l, const gcut_loop_node *x)
{
    if (l->prologue) return x->v == l->prologue->v ? l->prologue->buffer : GCUT_NONE;
    return l->h->buffer[x->v];
}
/* The member checks an index. */
static inline bool gcut_loop_is_bounded(const gcut_loop_node *x)
{
    return gcut_op_of(x->n)->emit == GCUT_EMIT_BOUNDED;
}

#endif
