/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The values of a graph that exist while it is built.  The graph of gcut_eager computes each value in the call that makes
 * it; a graph under recording computes one when gcut_cond asks for it.
 */
#ifndef GCUT_DRIVER_TRACE_COMPUTED_H
#define GCUT_DRIVER_TRACE_COMPUTED_H

#include <pthread.h>

#include "gradcut/gradcut.h"
#include "graph/graph.h"

/* Packed row-major memory of a value's dtype. */
typedef struct gcut_computed_value {
    const void *at; /* NULL: not computed, or not given yet */
    int64_t dim[GCUT_MAX_RANK];
    int64_t bytes;
} gcut_computed_value;

/* A value that gcut_cond read when the graph had `nodes` nodes. */
typedef struct gcut_branch {
    uint32_t nodes;
    gcut_ref v; /* a bool scalar */
    bool taken; /* what it was */
    gcut_locid loc;
} gcut_branch;

/* A step of one op, for nodes that take the interpreter too long. */
typedef struct gcut_op_step {
    const char *text; /* of its graph */
    gcut_step *step;
} gcut_op_step;

typedef struct gcut_computed {
    gcut_graph *g;
    /* Of this and of copied contents of parameters; of an eager graph also of the graph and its module. */
    gcut_arena *arena;
    gcut_arena *made;                     /* of the values that ops made */
    GCUT_VEC(gcut_computed_value) values; /* by id; those that are not reached yet are missing at the end */
    GCUT_VEC(gcut_dim_binding) bind;      /* sizes of the graph's symbols */
    bool recording;
    pthread_t thread; /* that may build */
    /* recording */
    GCUT_VEC(gcut_branch) branches;
    /* Outcomes of the first branches, instead of what the values are; later ones are false if `explores`. */
    const bool *imposed;
    uint32_t nimposed;
    bool explores;
    /* eager */
    uint32_t generation;         /* calls of gcut_forget */
    GCUT_VEC(uint32_t) born;     /* by value that gcut_forget has left: in which generation it was made */
    uint32_t done;               /* nodes that are evaluated */
    GCUT_VEC(gcut_ref) gradient; /* by parameter, 0 = none: what gcut_backward has added up */
    GCUT_VEC(gcut_op_step) steps;
} gcut_computed;

/* The graph of which a region under construction is part; g itself where it is none. */
static inline gcut_graph *gcut_outermost(gcut_graph *g)
{
    while (g->outer) g = g->outer;
    return g;
}

/* In which generation v was made: a gcut_val of another one is of a value that gcut_forget has removed. */
static inline uint32_t gcut_computed_generation(const gcut_computed *l, gcut_ref v)
{
    return v < l->born.n ? l->born.at[v] : l->generation;
}
/* Attaches values to g, whose memory is in `a`. */
gcut_computed *gcut_computed_new(gcut_graph *g, gcut_arena *a);
/* Gives parameter v contents: `at` is used where it is, or copied. */
void gcut_computed_give(gcut_computed *l, gcut_ref v, const void *at, bool copies);
/* The memory of v, computed if need be with what it depends on.  Throws, with the line of an op that fails, and
 * where a parameter has no contents. */
const gcut_computed_value *gcut_computed_value_of(gcut_computed *l, gcut_ref v);
/* After a call that built nodes: an eager graph computes them. */
void gcut_computed_catch_up(gcut_computed *l);
/* Throws unless a builder call may be made now: of the thread that records. */
void gcut_computed_check(const gcut_computed *l);
/* v, a bool scalar, as gcut_cond reads it. */
bool gcut_computed_branch(gcut_computed *l, gcut_ref v, gcut_locid loc);

#endif
