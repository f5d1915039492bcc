/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a program's buffers take, and where the emitted code places them.
 */
#ifndef GCUT_MACHINE_LOWER_MEMORY_PLACEMENT_H
#define GCUT_MACHINE_LOWER_MEMORY_PLACEMENT_H

#include "machine/lower/lowered.h"

/* Bytes of a buffer, every thread's share together. */
int64_t gcut_buffer_bytes(const gcut_program *p, const gcut_buffer *b, const gcut_dim_binding *at,
                          uint32_t nat, int threads);
/* gcut_program_memory, and by buffer the arena offset that the emitted code has, where it is placed, else
 * GCUT_NOT_IN_ARENA; offset may be NULL. */
#define GCUT_NOT_IN_ARENA INT64_MIN
gcut_memory gcut_program_arena(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                               int64_t *offset);

#endif
