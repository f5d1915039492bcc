/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The least memory that the values of a graph may take, for lower bounds.
 *
 * Bytes of a value are those of its smallest storage:
 *
 *   0                 if it may lie in a bound buffer, which is resident already: parameters and results, and
 *                     what becomes a result by nodes that keep its size, as updates in place do, or as a part
 *                     of a concat or a carry of a loop (buffer_assignment.c and updates_in_place.c of
 *                     kernels/lower/memory/, kernels/lower/region.c)
 *   bits              of a bool, an eighth
 *   bf16              of an f32, half, where `rounds` allows it
 *   its type's bytes  else; of a view that is smaller than its base, those of the view
 */
#ifndef GCUT_PARTITION_BUDGET_LEAST_STORAGE_H
#define GCUT_PARTITION_BUDGET_LEAST_STORAGE_H

#include "graph/graph.h"

typedef struct gcut_least_storage {
    const gcut_graph *g;
    bool rounds;    /* f32 values may be saved as bf16 */
    int64_t *bytes; /* by value: of its type */
    bool *resident; /* by value: it may lie in a bound buffer */
    bool *read;     /* by value: a node reads it, or it is a result */
    bool *late;     /* by value: it depends on a cotangent or a late input, so it runs once */
} gcut_least_storage;

/* Memory from `arena`.  Throws GCUT_EDIM when a size cannot be evaluated at the binding. */
gcut_least_storage gcut_least_storage_of(gcut_arena *arena, const gcut_graph *g, const gcut_dim_binding *at,
                                         uint32_t nat, bool rounds);

/* Of the smallest storage of v. */
int64_t gcut_least_bytes(const gcut_least_storage *f, gcut_ref v);

/* What a run of n writes.  A node that depends on a cotangent runs once, in the backward graph, and writes all
 * results that are read.  Others may run several times, and each run writes at least one result. */
int64_t gcut_least_written(const gcut_least_storage *f, const gcut_node *n);

#endif
