/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two loops as one.
 */
#ifndef GCUT_MACHINE_LOWER_FUSION_LOOP_MERGE_H
#define GCUT_MACHINE_LOWER_FUSION_LOOP_MERGE_H

#include "machine/lower/fusion/reason.h"
#include "machine/lower/lowered.h"

/* Is a loop of that many elements, which sums up all of them, worth walking in chunks though not every operand steps
 * evenly along them?  A short one has too few chunks for the threads, and saves little memory. */
bool gcut_loop_is_long(const gcut_lowered *h, gcut_dim numel);
/* May all members of loop b become members of loop a, as far as the two alone decide?  Paths through other kernels are
 * for the caller to exclude. */
gcut_reason gcut_loops_match(const gcut_lowered *h, uint32_t a, uint32_t b);
/* Loop a takes the members of b, which is dead then. */
void gcut_loops_merge(gcut_lowered *h, uint32_t a, uint32_t b);

#endif
