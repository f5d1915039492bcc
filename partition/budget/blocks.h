/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The forward graph as a chain: the values that every path from its inputs to its results must cross split it
 * into blocks.
 *
 *   block 0 ──cut[1]──▶ block 1 ──cut[2]──▶ … ──cut[n-1]──▶ block n-1
 *
 * Parameters, inputs and results of the forward graph are alive anyway and cross for free.  A few values that
 * live through a good part of the graph, such as a mask that every layer reads or a skip connection, may be
 * set aside as `through`: they are taken as saved, and the chain is what remains.
 */
#ifndef GCUT_PARTITION_BUDGET_BLOCKS_H
#define GCUT_PARTITION_BUDGET_BLOCKS_H

#include "partition/cut/decisions.h"

#define GCUT_MAX_BLOCKS 128

typedef struct gcut_blocks {
    uint32_t n;      /* >= 1 */
    gcut_ref *cut;   /* n; cut[0] = 0: block 0 begins with what is alive anyway */
    uint32_t *end;   /* n; the node that each block ends with */
    uint32_t *of;    /* by node: its block if the forward graph needs it, else GCUT_NONE */
    uint32_t *enter; /* by value: k when it is cut[k], else GCUT_NONE */
    bool *through;   /* by value: crosses a cut without being it */
    bool *advance;   /* by node: cut[of + 1] depends on it inside of its block */
} gcut_blocks;

/* Linear in the graph, up to merging when there are more than GCUT_MAX_BLOCKS: n log n for n cuts. */
gcut_blocks gcut_blocks_of(const gcut_problem *p, gcut_arena *arena);

/* The same with only those cuts for which keep[k] holds. */
gcut_blocks gcut_blocks_merge(const gcut_problem *p, gcut_arena *arena, const gcut_blocks *b,
                              const bool *keep);

/* The block in which the backward graph needs value v of the forward graph: that of its node, or the one that
 * it enters; GCUT_NONE for what is alive anyway or set aside. */
uint32_t gcut_block_of(const gcut_problem *p, const gcut_blocks *b, gcut_ref v);

#endif
