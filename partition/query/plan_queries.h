/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is asked of a plan: who reads what, what is saved, recomputed and kept by loops.
 */
#ifndef GCUT_PARTITION_QUERY_PLAN_QUERIES_H
#define GCUT_PARTITION_QUERY_PLAN_QUERIES_H

#include "partition/cut/frontier.h"

typedef GCUT_VEC(gcut_ref) gcut_refs;

typedef struct gcut_query {
    const gcut_plan *plan;
    const gcut_graph *g;
    gcut_arena *arena;
    gcut_problem *p;
    gcut_flips *flips;  /* by value, from lambda `from` on */
    gcut_refs *readers; /* by value: what the backward graph makes directly from it or a view of it, in graph
                           order */
    bool *listed;       /* by node: false, but inside gcut_query_instead */
} gcut_query;

/* Solves for the flip prices; memory, also of every text below, from `arena`. */
gcut_query gcut_query_open(const gcut_plan *plan, gcut_arena *arena);
/* With the flip prices from lambda `from` on, whatever the plan's. */
gcut_query gcut_query_from(const gcut_plan *plan, gcut_arena *arena, double from);

const char *gcut_query_sym(const gcut_query *r, gcut_dim d);
/* f32[32,256], or f32[N,256] */
const char *gcut_query_type(const gcut_query *r, gcut_ref v, bool symbolic);
/* The former at these sizes, without a plan. */
const char *gcut_query_type_at(gcut_arena *a, const gcut_graph *g, gcut_ref v, const gcut_dim_binding *at,
                               uint32_t nat);
/* mlp.c:41 fc1, of a value and of a location */
const char *gcut_query_at(const gcut_query *r, gcut_ref v);
const char *gcut_query_line(gcut_arena *a, const gcut_module *m, gcut_locid l);

/* What iterations of loops save and recompute for their backward loops. */
typedef GCUT_VEC(const gcut_plan_loop *) gcut_query_loops;
gcut_query_loops gcut_query_loops_of(const gcut_query *r);

/* Saved values, largest first, then in graph order. */
gcut_refs gcut_query_saved(const gcut_query *r);
/* Computed by the forward graph and again by the backward graph; views are not listed. */
bool gcut_query_recomputed(const gcut_query *r, gcut_ref v);

/* What would have to run in the backward graph if v were not saved and all else stayed. */
typedef struct gcut_query_chain {
    const gcut_node *slowest;
    double ns; /* of all of it */
} gcut_query_chain;
gcut_query_chain gcut_query_instead(const gcut_query *r, gcut_ref v, gcut_arena *scratch);

#endif
