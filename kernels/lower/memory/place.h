/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Buffers: which storage is where, shared by buffers.c (bindings, results, temporaries, workspace), region.c
 * (bodies), concat.c (operands in the place of a concat) and updates_in_place.c (results over what they
 * update).
 */
#ifndef GCUT_KERNELS_LOWER_MEMORY_PLACE_H
#define GCUT_KERNELS_LOWER_MEMORY_PLACE_H

#include "kernels/lower/lowered.h"

/* buffers.c */
uint32_t gcut_place_buffer(gcut_program *p, gcut_buffer b);
/* A buffer in the arena for a value of type t. */
uint32_t gcut_place_arena(gcut_program *p, const gcut_type *t, const char *name);
/* Memory of its own for the storage behind v, unless it has some. */
void gcut_place_store(gcut_program *p, gcut_lowered *h, gcut_ref v);
/* Result v goes to that buffer, written directly or by a copy. */
void gcut_place_at(gcut_lowered *h, gcut_ref v, uint32_t to);
/* The storage behind v may become a buffer: made by a kernel of this graph, whole, and not placed yet. */
bool gcut_place_can_own(const gcut_lowered *h, gcut_ref v);
/* A new kernel that copies v there, or what the COPY kernel `source` saved of it; GCUT_NONE: v itself. */
uint32_t gcut_place_copy(gcut_lowered *h, gcut_ref v, uint32_t to, uint32_t source);

/* concat.c: operands of a concat that loops compute in its place; once results have theirs. */
void gcut_place_concats(gcut_program *p, gcut_lowered *h);
/* Operand k of the CONCAT kernel is made where it belongs. */
bool gcut_concat_has(const gcut_lowered *h, uint32_t kernel, uint32_t k);
/* Nothing is left to do, and there is no launch: all operands of a concat are made where they belong. */
bool gcut_kernel_is_idle(const gcut_lowered *h, uint32_t kernel);

/* updates_in_place.c: values that overwrite the parameters in those buffers, all at once. */
typedef struct gcut_update {
    gcut_ref v;
    uint32_t to;
} gcut_update;
void gcut_place_updates(gcut_program *p, gcut_lowered *h, const gcut_update *u, uint32_t n);
/* What a kernel adds rows to, or multiplies by a number, is made where the result will be, when nothing else
 * reads it. */
void gcut_place_changed(gcut_program *p, gcut_lowered *h);
/* The number by which the LOOP multiplies what is in its result's memory already, and does no more: there is
 * nothing to do when it is 1.  0: it is no such kernel. */
gcut_ref gcut_scaling_factor(const gcut_lowered *h, uint32_t kernel);
/* The SCATTER kernel adds its rows to what is in its result's memory already. */
bool gcut_scatter_is_inplace(const gcut_lowered *h, uint32_t kernel);

/* What a program's buffers take. */
/* Bytes of a buffer, every thread's share together. */
int64_t gcut_buffer_bytes(const gcut_program *p, const gcut_buffer *b, const gcut_dim_binding *at,
                          uint32_t nat, int threads);
/* gcut_program_memory, and by buffer the arena offset that the emitted code has, where it is placed, else
 * GCUT_UNPLACED; offset may be NULL. */
#define GCUT_UNPLACED INT64_MIN
gcut_memory gcut_program_place(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                               int64_t *offset);

#endif
