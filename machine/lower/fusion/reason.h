/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Why two nodes are not in one kernel: the closed list of reasons, and where lowering keeps them.
 *
 * Each pass that could put a node into the kernel of one of its operands decides first, by a function that
 * changes nothing and returns a reason, and executes what was decided.  The reason of the last refusal stays
 * by operand (gcut_lowered.reason); where one launch runs both nodes in the end, it says nothing.
 */
#ifndef GCUT_MACHINE_LOWER_FUSION_REASON_H
#define GCUT_MACHINE_LOWER_FUSION_REASON_H

#include "machine/lower/lowered.h"

typedef enum gcut_reason {
#define REASON(id, sentence) GCUT_REASON_##id,
#include "machine/lower/fusion/reasons.def"
#undef REASON
    GCUT_NREASONS
} gcut_reason;

/* By reason.  fusion_queries.c */
extern const gcut_reason_words gcut_reasons[GCUT_NREASONS];

/* Of operand k of a node. */
static inline void gcut_set_reason(gcut_lowered *h, uint32_t node, uint32_t k, gcut_reason r)
{
    h->reason[gcut_node_at(h->g, node)->arg0 + k] = (uint8_t)r;
}

#endif
