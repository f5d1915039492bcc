/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How many threads take part in a kernel's launch, known exactly beforehand.
 */
#ifndef GCUT_KERNELS_LOWER_TEAM_H
#define GCUT_KERNELS_LOWER_TEAM_H

#include "kernels/lower/lowered.h"

#define GCUT_MADD_PS 15 /* of a multiply-add, when deciding how many threads a kernel deserves */

typedef struct gcut_team {
    gcut_dim n, rows;
    int64_t ps; /* predicted cost of an element, picoseconds */
    bool blocked;
    bool tiled;   /* runs behind a product on tiles when there are rows enough, */
    bool columns; /* or on any tiles */
    gcut_dim k;   /* tiled: the contracted size */
} gcut_team;
/* Of a LOOP, ATTENTION or ATTENTION_GRAD kernel. */
gcut_team gcut_kernel_team(const gcut_lowered *h, uint32_t kernel);
int gcut_team_at(gcut_module *m, const gcut_team *c, const gcut_dim_binding *at, uint32_t nat, int threads);

#endif
