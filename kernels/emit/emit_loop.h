/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writing the function of one analysed loop.
 */
#ifndef GCUT_KERNELS_EMIT_EMIT_LOOP_H
#define GCUT_KERNELS_EMIT_EMIT_LOOP_H

#include "kernels/emit/emit.h"
#include "machine/lower/fusion/loop_phases.h"

/* One function being written, of a loop. */
typedef struct gcut_loop_writer {
    const gcut_loop_analysis *l;
    gcut_emitter *e;
    gcut_text *out;
    uint32_t *number; /* by buffer: its index in `numbered`, where that entry names it; else anything */
    GCUT_VEC(uint32_t) numbered; /* the buffers p0, p1, … */
    bool *seen;                  /* by value: the operands that the row has declared; listed in `declared` */
    GCUT_VEC(gcut_ref) declared;
    bool *have;   /* members whose variable exists in the scope being written */
    bool columns; /* the function covers columns j0..j1 of its rows, not all C of them */
    bool lines;   /* the statements being written are of whole lines that go past the caches */
} gcut_loop_writer;

/* emit_reduce.c */
/* Float reductions along a row that is long or of unknown length have GCUT_LANES accumulators acc<v>[l]. */
bool gcut_loop_in_lanes(const gcut_loop_writer *w, const gcut_loop_node *x);
/* Float reductions along a row of at most 16 elements, a number known here, store them in an array acc<v>[c], so that the
 * loop over the row can be vectorised.  gcut_loop_reduce_array writes the loop after it, which combines them in order and
 * defines v<v>. */
bool gcut_loop_in_array(const gcut_loop_writer *w, const gcut_loop_node *x);
void gcut_loop_reduce_array(gcut_loop_writer *w, const gcut_loop_node *x);
const char *gcut_loop_lanes_call(const gcut_loop_writer *w, const gcut_loop_node *x); /* joins them */
void gcut_loop_declare_accumulator(gcut_loop_writer *w, const gcut_loop_node *x, const char *indent);
void gcut_loop_accumulate(gcut_loop_writer *w, const gcut_loop_node *x, const char *indent);
/* Blocks of rows have partial results, part<v> all of them, in the order of blocks that the join adds them
 * in. */
void gcut_loop_declare_partials(gcut_loop_writer *w);
void gcut_loop_begin_block(gcut_loop_writer *w);
void gcut_loop_end_block(gcut_loop_writer *w);
void gcut_loop_join(gcut_loop_writer *w);

/* emit_phase.c: phase p over the columns of row r, and arithmetic on what it completed (p = -1: on what needs
 * no phase). */
void gcut_loop_phase(gcut_loop_writer *w, int p);
void gcut_loop_row_values(gcut_loop_writer *w, int p);

/* emit_streaming.c: results that go past the caches where they are large. */
/* Columns of a line of those that phase p stores; 0: there are none. */
int gcut_loop_stream_line(const gcut_loop_writer *w, int p);
/* The statements at the beginning of the function, past<p>: phase p's are large, and at its end; */
void gcut_loop_stream_declare(gcut_loop_writer *w);
void gcut_loop_stream_finish(gcut_loop_writer *w);
/* before the columns of phase p: whole lines are h<p>..e<p>; around the loop over those of a line, from c0
 * on. */
void gcut_loop_stream_bounds(gcut_loop_writer *w, int p);
void gcut_loop_stream_arrays(gcut_loop_writer *w, int p);
void gcut_loop_stream_lines(gcut_loop_writer *w, int p);

/* emit_loop.c: the function.  tiled: that of an epilogue, of type gcut_rt_tile_fn, which runs on tiles of the
 * product while they are in cache or, when it takes whole rows and there are few, after all of it. */
gcut_loop_writer gcut_emit_loop(gcut_emitter *e, gcut_arena *a, bool tiled, uint32_t *function);
/* How many index checks it has, and their rows in NAME_site. */
uint32_t gcut_loop_checks(const gcut_loop_writer *w);
void gcut_emit_check_sites(const gcut_loop_writer *w);
const char *gcut_loop_kind(const gcut_loop_writer *w); /* "32*N rows of 64" */
/* The gcut_rt_fill_fn of a loop kernel that is a prologue. */
uint32_t gcut_emit_fill(gcut_emitter *e, gcut_arena *a);
/* emit_kernel.c: the function that computes a product and runs its epilogue, function number `loop`. */
uint32_t gcut_emit_tiles(gcut_emitter *e, const gcut_loop_writer *w, uint32_t loop);

/* emit_operand.c */
/* The variable p0, p1, … that points to a buffer, numbered in order of declaration. */
const char *gcut_loop_buffer(gcut_loop_writer *w, uint32_t buffer);
const char *gcut_loop_pointer(const gcut_loop_writer *w, gcut_ref root);
/* How far from there row r of member v begins, which the loop stores. */
const char *gcut_loop_store_at(const gcut_loop_writer *w, gcut_ref v);
/* Declares, in the row's scope, what reading v per element needs: a<v> a pointer or scalar, an iota's start. */
void gcut_loop_declare(const gcut_loop_writer *w, gcut_ref v, bool iota);
/* Are v's elements bits that stand side by side in a row, which is long or of unknown length, or elsewhere than at one
 * step from column to column?  They are read from w<v>, an array of `columns` elements that the second declares and
 * fills with those of columns c0..c0+n. */
bool gcut_loop_lays_out(const gcut_loop_writer *w, gcut_ref v);
void gcut_loop_lay_out(const gcut_loop_writer *w, gcut_ref v, int columns, const char *n);
/* Is v read at a<v>[c] for column c? */
bool gcut_loop_steps_by_one(const gcut_loop_writer *w, gcut_ref v);
/* The C expression of operand v of a member. */
const char *gcut_loop_operand(const gcut_loop_writer *w, const gcut_loop_node *user, gcut_ref v);

#endif
