/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Why two nodes are not in one kernel: the closed list of reasons, and where lowering keeps them.
 *
 * Each pass that could put a node into the kernel of one of its operands decides first, by a function that
 * changes nothing and returns a reason, and executes what was decided.  The reason of the last refusal stays
 * by operand: gcut_reason_of is how it is read.
 */
#ifndef GCUT_KERNELS_LOWER_FUSION_REASON_H
#define GCUT_KERNELS_LOWER_FUSION_REASON_H

#include "kernels/lower/lowered.h"

typedef enum gcut_reason {
#define REASON(id, sentence) GCUT_REASON_##id,
#include "kernels/lower/fusion/reasons.def"
#undef REASON
    GCUT_NREASONS
} gcut_reason;

const char *gcut_reason_name(gcut_reason r);
const char *gcut_reason_sentence(gcut_reason r);

/* Of operand k of a node. */
void gcut_set_reason(gcut_lowered *h, uint32_t node, uint32_t k, gcut_reason r);
/* Is operand k made by a node in a kernel, and the consumer in one, so that there is a pair to speak of? */
bool gcut_is_pair(const gcut_lowered *h, uint32_t node, uint32_t k);
/* Why the producer of operand k is not in the node's kernel, of an ordered graph: GCUT_REASON_fused where it
 * is, or where one launch runs both kernels. */
gcut_reason gcut_reason_of(const gcut_lowered *h, uint32_t node, uint32_t k);

/* Why v, which updates a parameter or an operand, is not made in that one's memory, or why a sum over
 * rows is not made by a product: GCUT_REASON_fused where it
 * is, or where there is nothing that it updates. */
void gcut_set_memory_reason(gcut_lowered *h, gcut_ref v, gcut_reason r);
gcut_reason gcut_memory_reason_of(const gcut_lowered *h, gcut_ref v);

#endif
