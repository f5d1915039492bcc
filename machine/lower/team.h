/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How many threads take part in a kernel's launch, known exactly beforehand.
 */
#ifndef GCUT_MACHINE_LOWER_TEAM_H
#define GCUT_MACHINE_LOWER_TEAM_H

#include "machine/lower/lowered.h"

/* The function of gradcut_rt.h that says how many. */
typedef enum gcut_team_rule {
    GCUT_TEAM_ROWS,    /* gcut_rt_threads_worth: threads share rows */
    GCUT_TEAM_TILES,   /* gcut_rt_worth: it runs after a product, on any tiles of that */
    GCUT_TEAM_EPILOGUE /* gcut_rt_epilogue_threads: on tiles of whole rows if there are enough, else ROWS */
} gcut_team_rule;

/* A rule and its numbers.  gcut_team_at evaluates it, gcut_team_c (kernels/emit/emit.h) prints it: memory is
 * sized by the one and threads are started by the other. */
typedef struct gcut_team {
    gcut_team_rule rule;
    gcut_dim n, rows;
    int64_t ps;   /* predicted cost of an element, picoseconds */
    int64_t most; /* ROWS: of them that threads share, GCUT_DIM_MAX = all */
    gcut_dim k;   /* TILES, EPILOGUE: an element costs as many multiply-adds besides when it runs on tiles */
} gcut_team;
/* Do emitted programs state the team of such a kernel?  Of others the run-time library decides. */
bool gcut_kernel_has_team(gcut_kernel_kind kind);
/* Of a kernel that has one. */
gcut_team gcut_kernel_team(const gcut_lowered *h, uint32_t kernel);
/* Of `threads`, those that take part at these sizes.  Throws GCUT_EDIM where one cannot be evaluated. */
int gcut_team_at(gcut_module *m, const gcut_team *c, const gcut_dim_binding *at, uint32_t nat, int threads);

#endif
