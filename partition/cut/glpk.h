/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GLPK behind functions that cannot end the process, print or leak.
 */
#ifndef GCUT_PARTITION_CUT_GLPK_H
#define GCUT_PARTITION_CUT_GLPK_H

#include "base/arena.h"

typedef struct gcut_pipe {
    uint32_t from, to; /* different vertices */
    int32_t cap, flow; /* INT32_MAX is no infinity: the total flow must stay below it */
} gcut_pipe;

/* Fills the flows of a maximum flow from vertex `source` to vertex `sink` and returns its value, which must
 * be less than INT32_MAX: the caller knows of a cut of that capacity.  Throws GCUT_ENOMEM. */
int64_t gcut_glpk_flow(gcut_arena *arena, uint32_t nvertices, gcut_pipe *pipes, uint32_t n, uint32_t source,
                       uint32_t sink);

/* minimise cost * x  such that  lower <= rows <= upper  and  lower <= x <= upper.  INFINITY = no such limit.
 */
typedef struct gcut_lp_var {
    double lower, upper, cost;
    bool integer;
} gcut_lp_var;
typedef struct gcut_lp_row {
    double lower, upper;
} gcut_lp_row;
typedef struct gcut_lp_term { /* times * x[var] in a row; at most one of each row and variable */
    uint32_t row, var;
    double times;
} gcut_lp_term;
typedef struct gcut_lp {
    GCUT_VEC(gcut_lp_var) vars;
    GCUT_VEC(gcut_lp_row) rows;
    GCUT_VEC(gcut_lp_term) terms;
} gcut_lp;

typedef struct gcut_lp_answer {
    bool found;   /* x is a solution, the best one found */
    double cost;  /* of x */
    double bound; /* a lower bound on the cost of any solution */
    double *x;    /* by variable */
} gcut_lp_answer;

/* Solves the mixed-integer program by branch and bound; not found when nothing satisfies the rows.  `start`
 * (by variable, may be NULL) is the first incumbent.  Ends after at most `most` nodes, not after a time: the
 * answer depends on the arguments alone. */
gcut_lp_answer gcut_glpk_intopt(gcut_arena *arena, const gcut_lp *lp, const double *start, uint32_t most);

#endif
