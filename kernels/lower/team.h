/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How many threads take part in a kernel's launch, known exactly beforehand, and the workspace that they
 * need.
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
gcut_team gcut_loop_team(const gcut_lowered *h, uint32_t kernel);      /* loop_phases.c */
gcut_team gcut_attention_team(const gcut_lowered *h, uint32_t kernel); /* attention_workspace.c */
/* Of whichever kind the kernel is. */
gcut_team gcut_kernel_team(const gcut_lowered *h, uint32_t kernel);
int gcut_team_at(gcut_module *m, const gcut_team *c, const gcut_dim_binding *at, uint32_t nat, int threads);
const char *gcut_team_c(gcut_module *m, const gcut_team *c, gcut_size_c *size); /* over nt, too */

/* loop_phases.c: row scratch (bytes per thread) and partial results (bytes in all) of a LOOP; 0 = none. */
void gcut_loop_workspace(const gcut_lowered *h, uint32_t kernel, gcut_dim *scratch, gcut_dim *partial,
                         gcut_module *m);
/* attention_workspace.c: bytes per thread of an ATTENTION or ATTENTION_GRAD kernel. */
gcut_dim gcut_attention_workspace(const gcut_lowered *h, uint32_t kernel);
/* emit_window.c: elements of workspace that a convolution needs. */
gcut_dim gcut_conv_workspace(const gcut_lowered *h, uint32_t kernel);

#endif
