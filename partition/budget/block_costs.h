/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Costs and memory of the blocks of a chain, input of the dynamic program of checkpoint_levels.c; and the
 * choice of its solution (checkpoint_nesting.c).
 *
 * The backward graph is divided into epochs, one per block, from the last block to the first: in epoch k,
 * cut[k] is in memory and the backward graph of block k runs.
 */
#ifndef GCUT_PARTITION_BUDGET_BLOCK_COSTS_H
#define GCUT_PARTITION_BUDGET_BLOCK_COSTS_H

#include "partition/budget/blocks.h"

/* One way of keeping something of a block for its epoch; option 0 keeps nothing. */
typedef struct gcut_block_option {
    int64_t keep;   /* bytes kept until the epoch */
    int64_t work;   /* bytes at the epoch's worst, those included, cut[k] and what earlier blocks keep not */
    double rec_ns;  /* computing what else it needs */
    double trip_ns; /* of what is kept, when the forward graph keeps it */
    const bool *saved; /* by value, in all blocks */
} gcut_block_option;

typedef struct gcut_block_cost {
    int64_t cut_bytes; /* of cut[k], which enters the block; 0 for block 0 */
    double cut_trip_ns;
    double advance_ns;    /* from cut[k] to cut[k+1] */
    int64_t advance_work; /* bytes meanwhile beside cut[k] and cut[k+1] */
    uint32_t nopt;
    gcut_block_option *opt;
} gcut_block_cost;

typedef struct gcut_chain {
    const gcut_problem *p;
    gcut_blocks b;
    gcut_block_cost *at; /* b.n */
    uint32_t *owner; /* by value: whose epoch it is kept for when it is saved and no cut; GCUT_NONE: all */
    uint32_t *epoch; /* by position of gcut_backward_order; never rises */
    uint32_t npos;
    const uint32_t *order; /* gcut_backward_order */
} gcut_chain;

/* plans: choices whose savings inside a block are options for it. */
gcut_chain *gcut_chain_of(const gcut_problem *p, gcut_arena *arena, const gcut_choice *const *plans,
                          uint32_t nplans);

/* Nested checkpoints.  Epoch t begins by recomputing from cut[from[t]] to cut[t]; from[t] == t: cut[t] is in
 * memory. */
typedef struct gcut_nesting {
    uint32_t *from;   /* by block */
    bool *saved;      /* by block: cut[k] is saved by the forward graph */
    uint32_t *option; /* by block: what is kept of it by the last recomputation through it or, if from[] of no
                         later epoch leads through it, by the forward graph */
    bool *first;      /* by block: the forward graph keeps the option */
} gcut_nesting;

gcut_choice *gcut_nesting_choice(const gcut_chain *c, gcut_arena *arena, const gcut_nesting *s);

#endif
