/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arena offsets of many buffers.
 */
#ifndef GCUT_MACHINE_LOWER_MEMORY_BEST_FIT_H
#define GCUT_MACHINE_LOWER_MEMORY_BEST_FIT_H

#include "base/arena.h"
#include "gradcut/gradcut_rt.h"

/* gcut_rt_place, offset for offset, in memory of `a` and O(n log n) time. */
int64_t gcut_place_buffers(gcut_arena *a, gcut_rt_buffer *b, uint32_t n);

#endif
