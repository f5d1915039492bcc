/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The passes of lowering, in the order in which lower.c runs them; each makes the state of lowered.h that it
 * is listed with.
 */
#ifndef GCUT_MACHINE_LOWER_LOWER_H
#define GCUT_MACHINE_LOWER_LOWER_H

#include "machine/lower/lowered.h"

void gcut_make_fusion_groups(gcut_program *p, gcut_lowered *h);  /* L1  fusion/fusion_groups.c */
void gcut_move_row_sums(gcut_program *p, gcut_lowered *h);       /* L2  fusion/row_sums.c */
void gcut_choose_loop_columns(gcut_program *p, gcut_lowered *h); /* L3  fusion/loop_columns.c */
void gcut_make_prologues(gcut_program *p, gcut_lowered *h);      /* L4  fusion/prologue.c */
void gcut_assign_buffers(gcut_program *p, gcut_lowered *h);      /* L5  memory/buffer_assignment.c */
void gcut_order_launches(gcut_program *p, gcut_lowered *h);      /* L6  memory/launch_order.c */
void gcut_join_siblings(gcut_program *p, gcut_lowered *h);       /* L7  fusion/sibling_loops.c */
void gcut_make_epilogues(gcut_program *p, gcut_lowered *h);      /* L8  fusion/epilogue.c */
void gcut_index_results(const gcut_program *p,
                        gcut_lowered *h); /* of both step graphs, before all; with L5 */
/* Of all graphs. */
void gcut_find_live_ranges(gcut_program *p); /* L9  memory/live_ranges.c */
void gcut_share_buffers(gcut_program *p);    /* L10  memory/shared_buffers.c */

/* fusion/loop_columns.c, for a reduction over all elements. */
void gcut_loop_make_flat(gcut_lowered *h, gcut_kernel *loop);

/* verify_lowered.c: the first invariant of the states 1..state that a graph breaks, as a sentence in memory
 * of a; NULL: it breaks none. */
const char *gcut_lowered_fault(const gcut_program *p, const gcut_lowered *h, int state, gcut_arena *a);

#endif
