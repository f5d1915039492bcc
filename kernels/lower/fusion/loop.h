/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One loop kernel, analysed: shared by loop_phases.c (phases and what crosses them),
 * emit_operand.c (how operands are read) and emit_loop.c (statements).
 *
 * A row is walked in phases.  A phase is one loop over the row's columns; it
 * ends where a row reduction is complete, and values that depend on the
 * reduction belong to a later phase.  What a later phase needs of an earlier
 * one it reads back from where it was stored, keeps in a row of scratch, or
 * computes again when that is cheaper than a store and a load of L1.  The same
 * expression on the same operands gives the same bits, so the choice is free.
 */
#ifndef GCUT_KERNELS_LOWER_FUSION_LOOP_H
#define GCUT_KERNELS_LOWER_FUSION_LOOP_H

#include "kernels/lower/lowered.h"

/* Picoseconds per element of a long function; a phase of several is cut into parts (emit_phase.c). */
#define GCUT_LONG_PS 160

typedef enum gcut_keep { GCUT_RECOMPUTE, GCUT_STORED, GCUT_SCRATCH } gcut_keep;

typedef struct gcut_loop_node {
    uint32_t node;
    gcut_ref v; /* its value; the root of its storage when it has one */
    gcut_level level;
    bool reduces; /* a FULL value, or one it reads from memory */
    int phase;    /* FULL: its loop.  ROW: the loop after which it is known, -1 = before any.
                   * COLUMN, TOTAL: the loop that feeds it. */
    gcut_keep keep;
    bool crosses; /* FULL and read by a later phase */
    bool streams; /* a result that goes past the caches where it is large (streaming_stores.c) */
    int chain_ps; /* arithmetic from the loads on, per element */
} gcut_loop_node;

typedef struct gcut_loop_analysis {
    struct gcut_emitter *e;
    const gcut_lowered *h;
    const gcut_graph *g;
    gcut_module *m;
    const gcut_kernel *u;
    uint32_t kernel;
    gcut_loop_node *at;
    uint32_t n;
    int phases;
    gcut_text *out;
    uint32_t *number; /* by buffer: its index in `numbered`, where that entry names it; else anything */
    GCUT_VEC(uint32_t) numbered; /* the buffers p0, p1, … */
    bool *seen;                  /* by value: the operands that the row has declared; listed in `declared` */
    GCUT_VEC(gcut_ref) declared;
    bool *have;                    /* members whose variable exists in the scope being written */
    bool columns;                  /* the function covers columns j0..j1 of its rows, not all C of them */
    bool lines;                    /* the statements being written are of whole lines that go past the caches
                                      (streaming_stores.c) */
    const gcut_prologue *prologue; /* that it is the loop of, or NULL: its one result goes to `out`, from row
                                    * r0 and column j0 on, `ld` elements from row to row */
} gcut_loop_analysis;

static inline const char *gcut_loop_from(const gcut_loop_analysis *l)
{
    return l->columns ? "j0" : "0";
}
static inline const char *gcut_loop_to(const gcut_loop_analysis *l)
{
    return l->columns ? "j1" : "C";
}

/* loop_phases.c */
gcut_loop_analysis gcut_loop_analyse(gcut_arena *a, const gcut_lowered *h, uint32_t kernel);
/* Of a prologue of that product. */
gcut_loop_analysis gcut_loop_analyse_prologue(gcut_arena *a, const gcut_lowered *h, uint32_t gemm,
                                              const gcut_prologue *c);
gcut_loop_node *gcut_loop_member(const gcut_loop_analysis *l, gcut_ref v);
gcut_access gcut_loop_access(const gcut_loop_analysis *l, const gcut_loop_node *user, gcut_ref v);
/* Phase p writes x somewhere: a reduction it feeds, a stored value, a row of scratch. */
bool gcut_loop_sink(const gcut_loop_analysis *l, const gcut_loop_node *x, int p);
gcut_dim gcut_loop_row_bytes(const gcut_loop_analysis *l, gcut_ref v); /* of one row, in whole cache lines */
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
static inline gcut_dtype gcut_loop_dtype(const gcut_loop_analysis *l, const gcut_loop_node *x)
{
    return gcut_type_of(l->g, x->v)->dtype;
}
static inline bool gcut_loop_is_bounded(const gcut_node *n)
{
    return gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_BOUNDED;
}

/* streaming_stores.c: says which results go past the caches where they are large. */
#define GCUT_STREAM_ROW 2048 /* bytes of a row, at least, where the loop is not flat */
void gcut_loop_find_streams(gcut_loop_analysis *l);

#endif
