/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GLPK behind functions that cannot end the process, print or leak.
 */
#ifndef GCUT_PARTITION_GLPK_H
#define GCUT_PARTITION_GLPK_H

#include "base/arena.h"

typedef struct gcut_pipe {
    uint32_t from, to; /* different vertices */
    int32_t cap, flow; /* INT32_MAX is just a number: no flow may come near it */
} gcut_pipe;

/* Fills the flows of a maximum flow from vertex `source` to vertex `sink` and returns its value, which must
 * be less than INT32_MAX: the caller knows of a cut of that capacity.  Throws GCUT_ENOMEM. */
int64_t gcut_glpk_flow(gcut_arena *arena, uint32_t nvertices, gcut_pipe *pipes, uint32_t n, uint32_t source,
                       uint32_t sink);

#endif
