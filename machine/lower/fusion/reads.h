/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The read index of a lowered graph: who reads which root from memory, and which parameter is in which
 * buffer.
 *
 * Built once, when nodes are grouped; whoever changes what a kernel reads removes the kernel's reads before
 * and adds them after.  A kernel's reads of what it makes itself are not in it.
 */
#ifndef GCUT_MACHINE_LOWER_FUSION_READS_H
#define GCUT_MACHINE_LOWER_FUSION_READS_H

#include "machine/lower/lowered.h"

typedef struct gcut_reader {
    uint32_t kernel, times;
} gcut_reader;

typedef struct gcut_readers {
    uint32_t n, cap;
    gcut_reader *at; /* by kernel, ascending */
} gcut_readers;

struct gcut_read_index {
    gcut_readers *of; /* by root */
    bool *is_result;  /* by root: the graph returns it, or a view of it */
    uint32_t *views;  /* by root: how many other values view it */
    gcut_ref *param;  /* by buffer: the parameter that is there, 0 = none; of the first `nbuffers` */
    uint32_t nbuffers;
};

void gcut_reads_build(gcut_lowered *h);
void gcut_reads_add(gcut_lowered *h, uint32_t kernel);
void gcut_reads_remove(gcut_lowered *h, uint32_t kernel);
/* Parameters have got their buffers, of which there are nbuffers so far. */
void gcut_reads_bind(gcut_lowered *h, uint32_t nbuffers);

/* How often the kernel reads the root, which it does not make. */
uint32_t gcut_reads(const gcut_lowered *h, uint32_t kernel, gcut_ref root);
/* The only kernel that reads the root from memory; GCUT_NONE: there is none, or several, or it is a result.
 */
uint32_t gcut_only_reader(const gcut_lowered *h, gcut_ref root);
/* Somebody reads the root from memory, or it is a result. */
bool gcut_is_stored(const gcut_lowered *h, gcut_ref root);
/* The first parameter that is in a buffer, or 0. */
gcut_ref gcut_param_in(const gcut_lowered *h, uint32_t buffer);

#endif
