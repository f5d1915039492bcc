/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch's partitioner in two parts: the rules with their cut, and the budget over them.
 */
#ifndef GCUT_PARTITION_POLICIES_POLICY_TORCH_H
#define GCUT_PARTITION_POLICIES_POLICY_TORCH_H

#include "partition/policies/policy.h"

/* What PyTorch's partitioner knows an op's counterpart as. */
typedef enum gcut_torch {
    GCUT_TORCH_UNKNOWN, /* of no op */
    GCUT_TORCH_NONE,    /* on no list */
    GCUT_TORCH_POINT,   /* on its list of what may be computed again */
    GCUT_TORCH_VIEW,    /* that, and a view */
    GCUT_TORCH_RANDOM,  /* fusible alone */
    GCUT_TORCH_HEAVY,   /* compute-intensive */
    GCUT_TORCH_CAT      /* a concatenation */
} gcut_torch;
gcut_torch gcut_torch_of(gcut_op op); /* policy_torch_ops.c */

typedef struct gcut_torch_rules {
    const gcut_problem *p;
    const gcut_graph *g;
    gcut_arena *arena;
    uint32_t *reader0, *reader; /* live nodes that read v: reader[reader0[v]] … reader[reader0[v + 1] - 1] */
    bool *result;               /* by value: a result of the graph */
    bool *backward;             /* by value: PyTorch computes it in the backward graph */
    bool *fed;                  /* by value: in memory for the sake of an op outside of the forward graph */
    int32_t *distance;          /* by value: ops from it to the nearest outside of the forward graph */
} gcut_torch_rules;

/* Which rules forbid to compute a value again, from the most to the fewest. */
typedef enum gcut_torch_level {
    GCUT_TORCH_FAST, /* all */
    GCUT_TORCH_LIST, /* what is not on the list of what may be, and small results of large operands */
    GCUT_TORCH_DENY  /* what is compute-intensive, and small results of large operands */
} gcut_torch_level;

typedef struct gcut_torch_cut {
    bool *saved;  /* by value; never a view */
    bool *banned; /* by node */
    double bytes; /* of all that is saved, parameters and inputs included, a view by its own */
} gcut_torch_cut;

gcut_torch_rules *gcut_torch_rules_new(const gcut_problem *p, gcut_arena *arena);
/* Some op outside of the forward graph follows from it. */
bool gcut_torch_reaches(const gcut_torch_rules *t, const gcut_node *n);
/* `allowed` (by node, or NULL) may be computed again although a rule forbids it. */
gcut_torch_cut gcut_torch_solve(const gcut_torch_rules *t, gcut_torch_level level, const bool *allowed);

/* policy_knapsack.c: which items to keep, the most value within `room`.  Sizes and room are rounded to
 * multiples of 1e-4, half to even.  Exact for the rounded numbers; of equal values it keeps the earlier
 * items. */
bool *gcut_torch_knapsack(gcut_arena *arena, const double *size, const double *value, uint32_t n,
                          double room);

#endif
