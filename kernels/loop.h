/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One loop unit, analysed: shared by loop.c (phases and what crosses them),
 * emit_operand.c (how operands are read) and emit_loop.c (statements).
 *
 * A row is walked in phases.  A phase is one loop over the row's columns; it
 * ends where a row reduction is complete, and values that depend on the
 * reduction belong to a later phase.  What a later phase needs of an earlier
 * one it reads back from where it was stored, keeps in a row of scratch, or
 * computes again when that is cheaper than a store and a load of L1.  The same
 * expression on the same operands gives the same bits, so the choice is free.
 */
#ifndef GCUT_KERNELS_LOOP_H
#define GCUT_KERNELS_LOOP_H

#include "kernels/lower.h"

/* Picoseconds per element of a long function; a phase of several is cut into parts (emit_phase.c). */
#define GCUT_LONG_PS 160

typedef enum gcut_keep { GCUT_RECOMPUTE, GCUT_STORED, GCUT_SCRATCH } gcut_keep;

typedef struct gcut_member {
    uint32_t node;
    gcut_ref v; /* its value; the root of its storage when it has one */
    gcut_level level;
    bool reduces; /* a FULL value, or one it reads from memory */
    int phase;    /* FULL: its loop.  ROW: the loop after which it is known, -1 = before any.
                   * COLUMN, TOTAL: the loop that feeds it. */
    gcut_keep keep;
    bool crosses; /* FULL and read by a later phase */
    bool streams; /* a result that goes past the caches where it is large (stream.c) */
    int chain_ps; /* arithmetic from the loads on, per element */
} gcut_member;

typedef struct gcut_loop {
    gcut_emitter *e;
    const gcut_half *h;
    const gcut_graph *g;
    gcut_module *m;
    const gcut_unit *u;
    uint32_t unit;
    gcut_member *at;
    uint32_t n;
    int phases;
    gcut_text *out;
    uint32_t *number; /* by buffer: its index in `numbered`, where that entry names it; else anything */
    GCUT_VEC(uint32_t) numbered; /* the buffers p0, p1, … */
    bool *seen;                  /* by value: the operands that the row has declared; listed in `declared` */
    GCUT_VEC(gcut_ref) declared;
    bool *have;   /* members whose variable exists in the scope being written */
    bool columns; /* the function covers columns j0..j1 of its rows, not all C of them */
    bool lines;   /* the statements being written are of whole lines that go past the caches (stream.c) */
    bool fill; /* its one result goes to `out`, from row r0 and column j0 on, `ld` elements from row to row */
} gcut_loop;

static inline const char *gcut_loop_from(const gcut_loop *l)
{
    return l->columns ? "j0" : "0";
}
static inline const char *gcut_loop_to(const gcut_loop *l)
{
    return l->columns ? "j1" : "C";
}

/* loop.c */
gcut_loop gcut_loop_analyse(gcut_arena *a, const gcut_half *h, uint32_t unit);
gcut_member *gcut_loop_member(const gcut_loop *l, gcut_ref v);
gcut_access gcut_loop_access(const gcut_loop *l, const gcut_member *user, gcut_ref v);
/* Phase p writes x somewhere: a reduction it feeds, a stored value, a row of scratch. */
bool gcut_loop_sink(const gcut_loop *l, const gcut_member *x, int p);
gcut_dim gcut_loop_row_bytes(const gcut_loop *l, gcut_ref v); /* of one row, in whole cache lines */
gcut_dim gcut_loop_partial_bytes(const gcut_loop *l, const gcut_member *x);
static inline bool gcut_loop_partial(const gcut_member *x)
{
    return x->level == GCUT_L_COLUMN || x->level == GCUT_L_TOTAL;
}

static inline gcut_dtype gcut_loop_dtype(const gcut_loop *l, const gcut_member *x)
{
    return gcut_type_of(l->g, x->v)->dtype;
}
static inline bool gcut_loop_is_bounded(const gcut_node *n)
{
    return gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_BOUNDED;
}

/* emit_reduce.c */
/* Float reductions along a row that is long or of unknown length have GCUT_LANES accumulators acc<v>[l]. */
bool gcut_loop_in_lanes(const gcut_loop *l, const gcut_member *x);
const char *gcut_loop_lanes_call(const gcut_loop *l, const gcut_member *x); /* joins them */
void gcut_loop_declare_accumulator(gcut_loop *l, const gcut_member *x, const char *indent);
void gcut_loop_accumulate(gcut_loop *l, const gcut_member *x, const char *indent);
/* Blocks of rows have partial results, part<v> all of them, in the order of blocks that the join adds them
 * in. */
void gcut_loop_declare_partials(gcut_loop *l);
void gcut_loop_begin_block(gcut_loop *l);
void gcut_loop_end_block(gcut_loop *l);
void gcut_loop_join(gcut_loop *l);

/* emit_phase.c: phase p over the columns of row r, and arithmetic on what it completed (p = -1: on what needs
 * no phase). */
void gcut_loop_phase(gcut_loop *l, int p);
void gcut_loop_row_values(gcut_loop *l, int p);

/* stream.c: results that go past the caches where they are large. */
#define GCUT_STREAM_ROW 2048 /* bytes of a row, at least, where the loop is not flat */
/* Says which results those are. */
void gcut_loop_find_streams(gcut_loop *l);
/* Columns of a line of those that phase p stores; 0: there are none. */
int gcut_loop_stream_line(const gcut_loop *l, int p);
/* The statements at the beginning of the function, past<p>: phase p's are large, and at its end; */
void gcut_loop_stream_declare(gcut_loop *l);
void gcut_loop_stream_finish(gcut_loop *l);
/* before the columns of phase p: whole lines are h<p>..e<p>; around the loop over those of a line, from c0
 * on. */
void gcut_loop_stream_bounds(gcut_loop *l, int p);
void gcut_loop_stream_arrays(gcut_loop *l, int p);
void gcut_loop_stream_lines(gcut_loop *l, int p);

/* emit_loop.c: the function.  tiled: that of an epilogue, of type gcut_rt_tile_fn, which runs on tiles of the
 * product while they are in cache or, when it takes whole rows and there are few, after all of it. */
gcut_loop gcut_emit_loop(gcut_emitter *e, gcut_arena *a, bool tiled, uint32_t *function);
/* How many index checks it has, and their rows in NAME_site. */
uint32_t gcut_loop_checks(const gcut_loop *l);
void gcut_emit_check_sites(const gcut_loop *l);
const char *gcut_loop_kind(const gcut_loop *l); /* "32*N rows of 64" */
/* The gcut_rt_fill_fn of a loop unit that is a chain (gcut_chain_half). */
uint32_t gcut_emit_fill(gcut_emitter *e, gcut_arena *a);
/* emit_unit.c: the function that computes a product and runs its epilogue, function number `loop`. */
uint32_t gcut_emit_tiles(gcut_emitter *e, const gcut_loop *l, uint32_t loop);

/* emit_operand.c */
/* The variable p0, p1, … that points to a buffer, numbered in order of declaration. */
const char *gcut_loop_buffer(gcut_loop *l, uint32_t buffer);
const char *gcut_loop_pointer(const gcut_loop *l, gcut_ref root);
/* How far from there row r of member v begins, which the loop stores. */
const char *gcut_loop_store_at(const gcut_loop *l, gcut_ref v);
/* Declares, in the row's scope, what reading v per element needs: a<v> a pointer or scalar, an iota's start.
 */
void gcut_loop_declare(const gcut_loop *l, gcut_ref v, bool iota);
/* The C expression of operand v of a member. */
const char *gcut_loop_operand(const gcut_loop *l, const gcut_member *user, gcut_ref v);

#endif
