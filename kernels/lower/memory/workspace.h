/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What kernels need in memory besides operands and results.
 */
#ifndef GCUT_KERNELS_LOWER_MEMORY_WORKSPACE_H
#define GCUT_KERNELS_LOWER_MEMORY_WORKSPACE_H

#include "kernels/lower/lowered.h"

/* Row scratch (bytes per thread) and partial results (bytes in all) of a LOOP; 0 = none. */
void gcut_loop_workspace(const gcut_lowered *h, uint32_t kernel, gcut_dim *scratch, gcut_dim *partial);
/* Bytes per thread of an ATTENTION or ATTENTION_GRAD kernel. */
gcut_dim gcut_attention_workspace(const gcut_lowered *h, uint32_t kernel);
/* Elements that a CONV needs, for all threads. */
gcut_dim gcut_conv_workspace(const gcut_lowered *h, uint32_t kernel);

#endif
