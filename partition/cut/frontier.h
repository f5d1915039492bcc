/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The family of all minimum cuts: saved bytes against time.
 *
 * A plan that costs `fixed` at lambda 0 and saves `bytes` costs fixed + lambda * bytes, so the cheapest cost
 * is a concave function of lambda, the lower envelope of straight lines.  Its pieces are the plans that are
 * cheapest at some lambda; in the plane of bytes and time they are the corners of a convex hull.  Where two
 * pieces meet, many plans may have equal cost (equal layers stop saving a tensor at the same price): they lie
 * on the edge between the two corners and are listed as well.  Plans above an edge are cheapest at no lambda
 * (partition/cut/saved_budget.c searches there).  A value is saved in its cheapest storage format at each
 * lambda, so this is the envelope over all formats.
 */
#ifndef GCUT_PARTITION_CUT_FRONTIER_H
#define GCUT_PARTITION_CUT_FRONTIER_H

#include "partition/cut/decisions.h"

/* A plan that is cheapest at some lambda. */
typedef struct gcut_cut_point {
    int64_t saved_bytes;
    double fixed_ns;     /* cost at lambda 0 */
    double from, to;     /* no plan is cheaper for lambda in [from, to]; from == to on an edge */
    bool between;        /* on the edge between two corners */
    const bool *saved;   /* by value, for gcut_choice_saving */
    gcut_format *format; /* by value, of its lambda */
    const bool *side;    /* by vertex of gcut_problem_network: the source's side of the cut */
} gcut_cut_point;

/* A lower bound: no plan costs less than cost_ns at lambda (the value of a maximum flow). */
typedef struct gcut_bound {
    double lambda, cost_ns;
} gcut_bound;

/* The lambdas at which the cheapest plan stops saving a value or saves it again (minimum cuts need not be
 * nested). */
typedef struct gcut_flips {
    bool saved;       /* from lambda `from` on */
    uint32_t n;       /* 0: never */
    const double *at; /* ascending, > from; at each the decision changes */
} gcut_flips;

typedef struct gcut_cut_frontier {
    const gcut_problem *p;
    GCUT_VEC(gcut_cut_point)
    points;                      /* bytes fall and fixed_ns rises from one to the next; the first is the
                                    cheapest at lambda 0, the last saves the fewest bytes possible */
    GCUT_VEC(gcut_bound) bounds; /* rising lambda, from 0 on: at least the breakpoints */
} gcut_cut_frontier;

/* Memory from `arena`; refers to `p`.  Throws GCUT_EPLAN, GCUT_ENOMEM. */
gcut_cut_frontier *gcut_cut_frontier_of(const gcut_problem *p, gcut_arena *arena);
/* The same without the points on edges, of which there may be one per layer; enough for bounds and flip
 * prices.
 */
gcut_cut_frontier *gcut_corners_of(const gcut_problem *p, gcut_arena *arena);

/* The plan of a point, at lambda `from`, with its lower bound there. */
gcut_choice *gcut_cut_point_choice(const gcut_cut_frontier *f, gcut_arena *arena,
                                   const gcut_cut_point *point);

/* A lower bound on the cost at lambda 0 of any plan that saves at most bytes_across bytes, whatever its
 * schedule: the maximum over lambda of (cheapest cost - lambda * bytes).  INFINITY when no plan saves so few.
 */
double gcut_bound_for_bytes(const gcut_cut_frontier *f, int64_t bytes_across);
/* The bound at which that maximum is attained; any one when it is INFINITY. */
const gcut_bound *gcut_bound_proving_bytes(const gcut_cut_frontier *f, int64_t bytes_across);

/* A lower bound on the cost of any plan at lambda. */
double gcut_bound_for_lambda(const gcut_cut_frontier *f, double lambda);

/* By value: its flips in the cheapest plans for lambda >= from. */
gcut_flips *gcut_flip_prices(const gcut_cut_frontier *f, gcut_arena *arena, double from);

/* partition/cut/saved_budget.c: the cheapest plan found at lambda 0 that saves at most saved_bytes, with its
 * lower bound: the best point of the frontier, improved by an integer program where that is small enough.
 * Throws GCUT_EPLAN when the values that must be saved take more. */
gcut_choice *gcut_frontier_at_most(const gcut_cut_frontier *f, gcut_arena *arena, int64_t saved_bytes);
gcut_choice *gcut_choose_at_most(const gcut_problem *p, gcut_arena *arena, int64_t saved_bytes);

#endif
