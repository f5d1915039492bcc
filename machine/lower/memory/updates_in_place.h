/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Results over what they update.
 */
#ifndef GCUT_MACHINE_LOWER_MEMORY_UPDATES_IN_PLACE_H
#define GCUT_MACHINE_LOWER_MEMORY_UPDATES_IN_PLACE_H

#include "machine/lower/lowered.h"

/* Values that overwrite the parameters in those buffers, all at once. */
typedef struct gcut_update {
    gcut_ref v;
    uint32_t to;
} gcut_update;
void gcut_store_updates(gcut_program *p, gcut_lowered *h, const gcut_update *u, uint32_t n);
/* What a kernel adds rows to, or multiplies by a number, is made where the result will be, when nothing else
 * reads it. */
void gcut_store_changed(gcut_program *p, gcut_lowered *h);
/* The number by which the LOOP multiplies what is in its result's memory already, and does no more: there is
 * nothing to do when it is 1.  0: it is no such kernel. */
gcut_ref gcut_scaling_factor(const gcut_lowered *h, uint32_t kernel);
/* The SCATTER kernel adds its rows to what is in its result's memory already. */
bool gcut_scatter_is_inplace(const gcut_lowered *h, uint32_t kernel);

#endif
