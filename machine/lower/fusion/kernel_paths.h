/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which kernels depend on which, by whatever others.
 */
#ifndef GCUT_MACHINE_LOWER_FUSION_KERNEL_PATHS_H
#define GCUT_MACHINE_LOWER_FUSION_KERNEL_PATHS_H

#include "machine/lower/lowered.h"

struct gcut_walks *gcut_walks_new(gcut_arena *a);
/* True when kernel `to` depends on kernel `from`, through at least one other kernel when `indirect`. */
bool gcut_kernel_reaches(const gcut_lowered *h, uint32_t from, uint32_t to, bool indirect);
/* While nodes are placed in graph order, the top of a kernel is no less than any node of the kernels that it
 * depends on, its own included: what depends on `from` has a top of at least from's last node, and no walk
 * goes below it.  Node n is later than all before it, so a kernel that takes it depends on nothing later; what
 * may depend on that kernel, all with a top of at least the kernel's own, is raised with it. */
void gcut_kernel_place(gcut_lowered *h, uint32_t kernel, uint32_t node);
/* Kernels a and b become one, and with them rises what may depend on the lower one.  Later than that, when every top is
 * infinite, it changes nothing. */
void gcut_kernels_join(gcut_lowered *h, uint32_t a, uint32_t b);
/* What comes now, copies and orders, is not in graph order: every top is infinite. */
void gcut_kernels_placed(gcut_lowered *h);
/* Does a kernel that reads the root, other than `from`, depend on `from`?  One walk for all of them. */
bool gcut_kernel_reaches_reader(const gcut_lowered *h, uint32_t from, gcut_ref root);
/* Does kernel `to` depend on one that reads the root? */
bool gcut_reader_reaches(const gcut_lowered *h, gcut_ref root, uint32_t to);

#endif
