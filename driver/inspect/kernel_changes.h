/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kernels whose predicted times differ between two steps of one graph.
 */
#ifndef GCUT_DRIVER_INSPECT_KERNEL_CHANGES_H
#define GCUT_DRIVER_INSPECT_KERNEL_CHANGES_H

#include "driver/pipeline/pipeline.h"
#include "gradcut/explanation.h"

/* The longest differences first.  Both steps are lowered, at the same sizes with the same number of threads.  Memory of the
 * list and its texts from `keep`; *n: how many. */
const gcut_kernel_change *const *gcut_kernel_changes(const gcut_pipeline *now, const gcut_pipeline *flipped,
                                                     gcut_arena *keep, gcut_arena *scratch, size_t *n);

#endif
