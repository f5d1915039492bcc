/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operands of a concat that loops compute in its memory.
 */
#ifndef GCUT_MACHINE_LOWER_MEMORY_CONCAT_H
#define GCUT_MACHINE_LOWER_MEMORY_CONCAT_H

#include "machine/lower/lowered.h"

/* Once results have their memory. */
void gcut_store_in_concats(gcut_program *p, gcut_lowered *h);
/* Operand k of the CONCAT kernel is made where it belongs. */
bool gcut_concat_has(const gcut_lowered *h, uint32_t kernel, uint32_t k);
/* Nothing is left to do, and there is no launch: all operands of a concat are made where they belong. */
bool gcut_kernel_is_idle(const gcut_lowered *h, uint32_t kernel);

#endif
