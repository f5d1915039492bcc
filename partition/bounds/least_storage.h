/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The least memory that the values of a graph may take, for lower bounds.
 *
 * Bytes of a value are those of its smallest storage:
 *
 *   0                 if it may lie in a bound buffer, which is resident already: parameters and results, and
 *                     what becomes a result by nodes that keep its size, as updates in place do, or as a part
 *                     of a concat or a carry of a loop (buffer_assignment.c and updates_in_place.c of
 *                     machine/lower/memory/, machine/lower/region.c)
 *   bits              of a bool, an eighth
 *   bf16              of an f32, half, where `rounds` allows it
 *   its type's bytes  else; of a view that is smaller than its base, those of the view
 */
#ifndef GCUT_PARTITION_BOUNDS_LEAST_STORAGE_H
#define GCUT_PARTITION_BOUNDS_LEAST_STORAGE_H

#include "graph/graph.h"

typedef struct gcut_least_storage {
    const gcut_graph *g;
    bool rounds;    /* f32 values may be saved as bf16 */
    int64_t *bytes; /* by value: of its type */
    bool *resident; /* by value: it may lie in a bound buffer */
    bool *read;     /* by value: a needed node reads it, or it is a result */
    bool *needed;   /* by node: a result needs it, or it has effects; a plan runs no others */
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

/* A contraction or pooling: no other node's kernel computes it, and its operands and results are all in memory, none
 * over another. */
bool gcut_has_own_kernel(const gcut_node *n);

/* The fewest bytes in which the kernel of `node`, its own, finds its operands: a set S of stored values from
 * which elementwise code, reductions and moves of elements compute them.  The kernels compute less than that on
 * the fly, chains of elementwise nodes for one operand (machine/lower/fusion/prologue.c), so this only makes S
 * smaller.  What has its own kernel, and a loop, is never computed on the fly: it stores its result.  S separates
 * these from the operands: each path from one to the other goes through a stored value.  The smallest such set is a
 * minimum cut of the network of partition/cut/network.h with other prices: computing a value on the fly costs
 * nothing, and is impossible for these; storing it costs its least bytes.  A node that is expanded later may hold a
 * smaller set within, so it counts 0.
 *
 * Two values of S never share memory: a value written over another (machine/lower/memory/shared_buffers.c) begins as
 * that one ends, views that lie in one buffer can be replaced in S by that buffer's value, which is never more
 * than minimal, and parts of a concat are as large together as it is.
 *
 * may: by value, false; becomes true for those that may be in S. */
int64_t gcut_least_read(const gcut_least_storage *f, uint32_t node, bool *may, gcut_arena *arena);

#endif
