/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The passes of lowering, in the order in which lower.c runs them; each makes the state of lowered.h that it
 * is listed with.
 */
#ifndef GCUT_KERNELS_LOWER_LOWER_H
#define GCUT_KERNELS_LOWER_LOWER_H

#include "kernels/lower/lowered.h"

void gcut_group(gcut_program *p, gcut_lowered *h);          /* L1  fusion/fusion_groups.c */
void gcut_move_sums(gcut_program *p, gcut_lowered *h);      /* L2  fusion/row_sums.c */
void gcut_choose_columns(gcut_program *p, gcut_lowered *h); /* L3  fusion/loop_columns.c */
/* L4  gcut_make_prologues of fusion/prologue.h */
void gcut_place_lowered(gcut_program *p, gcut_lowered *h);  /* L5  memory/buffers.c */
void gcut_order_lowered(gcut_program *p, gcut_lowered *h);  /* L6  memory/launch_order.c */
void gcut_make_epilogues(gcut_program *p, gcut_lowered *h); /* L7  fusion/epilogue.c */
/* L8  memory/launch_order.c: steps of the timeline from `first` on, and the live ranges of buffers: a body's kernels
 * take the steps after their owner's.  Returns the step after the last. */
int gcut_time_lowered(gcut_program *p, gcut_lowered *h, int first);
void gcut_share_buffers(gcut_program *p); /* L9  memory/in_place.c, of all graphs */

/* fusion/loop_columns.c, for a reduction over all elements. */
void gcut_loop_make_flat(gcut_lowered *h, gcut_kernel *loop);

/* verify_lowered.c: the first invariant of the states 1..state that a graph breaks, as a sentence in memory
 * of a; NULL: it breaks none. */
const char *gcut_lowered_fault(const gcut_program *p, const gcut_lowered *h, int state, gcut_arena *a);

#endif
