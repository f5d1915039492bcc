/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The memory of a step under a choice, simulated: live bytes after every node of the forward graph and of the
 * backward graph.
 *
 * A model, fast enough to score hundreds of choices: the truth is the arena as machine/lower/memory/ places it.  What it
 * knows: parameters and results are resident; a view is its operand; what sizes alone decide has no storage;
 * a value that loops alone read in its graph is computed in their kernel and not stored, so that what it
 * reads lives until they run; a result of a loop is written over an operand that dies there.  What it does
 * not know: workspace of kernels, the bodies of regions, fragmentation.
 */
#ifndef GCUT_PARTITION_BUDGET_SIMULATOR_H
#define GCUT_PARTITION_BUDGET_SIMULATOR_H

#include "partition/cut/decisions.h"

/* One stretch of memory: a value as one graph or one copy stores it, or as it is kept between forward and
 * backward graph. */
typedef struct gcut_live_range {
    gcut_ref value;
    int64_t bytes;
    uint32_t from, to; /* events, both included */
    bool saved;        /* crosses between forward and backward graph */
} gcut_live_range;

/* An event is one node that runs. */
typedef struct gcut_live {
    uint32_t nforward, nevents; /* events 0..nforward-1 are the forward graph */
    const uint32_t *node;       /* by event */
    const int64_t *bytes;       /* by event, without what is resident */
    GCUT_VEC(gcut_live_range) ranges;
    int64_t resident_bytes; /* gcut_resident_bytes */
    int64_t peak_bytes;     /* resident bytes and the most of bytes[] */
    uint32_t peak_event;    /* the first such event */
} gcut_live;

/* Memory from `arena`; linear in the length of the schedule. */
gcut_live gcut_live_of(const gcut_problem *p, const gcut_choice *c, gcut_arena *arena);

/* The same if no kernel had nodes of two groups; groups: by position of gcut_backward_order, its group. */
gcut_live gcut_live_grouped(const gcut_problem *p, const gcut_choice *c, gcut_arena *arena,
                            const uint32_t *groups);

/* The peak alone. */
int64_t gcut_live_peak(const gcut_problem *p, const gcut_choice *c);

#endif
