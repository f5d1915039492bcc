/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which storage is in which buffer: bindings, results, temporaries, workspace.
 */
#ifndef GCUT_MACHINE_LOWER_MEMORY_BUFFERS_H
#define GCUT_MACHINE_LOWER_MEMORY_BUFFERS_H

#include "machine/lower/lowered.h"

/* Of so many elements; what else belongs to its kind is for the caller to set. */
uint32_t gcut_buffer_new(gcut_program *p, gcut_buffer_kind kind, gcut_dtype t, gcut_dim count,
                         const char *name);
/* A buffer in the arena for a value of type t. */
uint32_t gcut_buffer_in_arena(gcut_program *p, const gcut_type *t, const char *name);
/* Memory of its own for the storage of v, unless it has some. */
void gcut_store_in_arena(gcut_program *p, gcut_lowered *h, gcut_ref v);
/* Result v goes to that buffer, written directly or by a copy. */
void gcut_store_in(gcut_lowered *h, gcut_ref v, uint32_t to);
/* The storage of v may become a buffer: made by a kernel of this graph, whole, and not placed yet. */
bool gcut_can_own_buffer(const gcut_lowered *h, gcut_ref v);
/* A new kernel that copies v there, or what the COPY kernel `source` saved of it; GCUT_NONE: v itself. */
uint32_t gcut_copy_new(gcut_lowered *h, gcut_ref v, uint32_t to, uint32_t source);
/* Buffers for what a kernel needs besides operands and results (workspace.h); those that it had are used no more. */
void gcut_assign_workspace(gcut_program *p, gcut_lowered *h, uint32_t kernel);

#endif
