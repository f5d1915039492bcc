/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The passes of lowering, in the order in which lower.c runs them.
 */
#ifndef GCUT_KERNELS_LOWER_LOWER_H
#define GCUT_KERNELS_LOWER_LOWER_H

#include "kernels/lower/lowered.h"

/* group.c: nodes become kernels. */
void gcut_group(gcut_program *p, gcut_lowered *h);
/* sums.c: sums over rows become part of the products that contract these rows. */
void gcut_move_sums(gcut_lowered *h);
/* prologue.c: decides the prologues of all products; loops lose what only a prologue computes. */
void gcut_make_prologues(const gcut_program *p, gcut_lowered *h);
/* place.c: buffers, in-place results.  The forward graph is placed before the backward graph, a graph before
 * the bodies in it. */
void gcut_place_lowered(gcut_program *p, gcut_lowered *h);
/* order.c: running order. */
void gcut_order_lowered(gcut_program *p, gcut_lowered *h);
/* epilogue.c: loops behind a product run on its tiles; a flat one gets its rows. */
void gcut_make_epilogues(gcut_lowered *h);
/* order.c: steps of the timeline from `first` on, and the live ranges of buffers: a body's kernels take the
 * steps after their owner's.  Returns the step after the last. */
int gcut_time_lowered(gcut_program *p, gcut_lowered *h, int first);
/* inplace.c: results take the memory of operands that die as they are made. */
void gcut_share_buffers(gcut_program *p);

#endif
