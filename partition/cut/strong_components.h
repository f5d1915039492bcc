/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Strongly connected components of a residual network: every minimum cut has a component on one side.
 */
#ifndef GCUT_PARTITION_CUT_STRONG_COMPONENTS_H
#define GCUT_PARTITION_CUT_STRONG_COMPONENTS_H

#include "partition/cut/min_cut.h"

/* The arcs of `r`, which has n vertices, of residual capacity above `more_than`. */
gcut_arcs_by_tail gcut_residual_arcs(gcut_arena *arena, uint32_t n, const gcut_residual *r, double more_than);

typedef struct gcut_components {
    uint32_t n;
    uint32_t
        *first; /* by component, and one more: its vertices are vertex[first[c]] .. vertex[first[c + 1]] */
    uint32_t *vertex;
} gcut_components;

/* The components of the vertices `among`, in reverse topological order: heads of arcs first. */
gcut_components gcut_scc(gcut_arena *arena, uint32_t n, const gcut_arcs_by_tail *arcs, const bool *among);

#endif
