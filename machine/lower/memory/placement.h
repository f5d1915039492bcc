/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a program's buffers take.
 */
#ifndef GCUT_MACHINE_LOWER_MEMORY_PLACEMENT_H
#define GCUT_MACHINE_LOWER_MEMORY_PLACEMENT_H

#include "machine/lower/lowered.h"

/* Bytes of a buffer, every thread's share together. */
int64_t gcut_buffer_bytes(const gcut_program *p, const gcut_buffer *b, const gcut_dim_binding *at,
                          uint32_t nat, int threads);

#define GCUT_NOT_PLACED INT64_MIN
/* gcut_program_memory, and by buffer its arena offset in the emitted code: GCUT_NOT_PLACED where it is not in the arena or no
 * kernel uses it; -1 - offset in the block of separate calls.  offset may be NULL. */
gcut_memory gcut_arena_layout(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                              int64_t *offset);

#endif
