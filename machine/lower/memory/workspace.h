/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What kernels need in memory besides operands and results.
 */
#ifndef GCUT_MACHINE_LOWER_MEMORY_WORKSPACE_H
#define GCUT_MACHINE_LOWER_MEMORY_WORKSPACE_H

#include "machine/lower/lowered.h"

/* 0 = none. */
typedef struct gcut_workspace {
    gcut_dim each; /* bytes for each thread */
    gcut_dim all;  /* elements of that type, for all threads together */
    gcut_dtype type;
    const char *each_name, *all_name;
} gcut_workspace;
gcut_workspace gcut_workspace_of(const gcut_lowered *h, uint32_t kernel);
/* Elements of `all` that the kernel would do without if its node were marked #less_workspace. */
int64_t gcut_workspace_difference(const gcut_lowered *h, uint32_t kernel);

#endif
