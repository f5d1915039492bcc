/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The family of all minimum cuts: saved bytes against time.
 *
 * A plan that costs `fixed` at lambda 0 and saves `bytes` costs fixed + lambda * bytes, so the cheapest cost
 * is a concave function of lambda, the lower envelope of straight lines.  Its pieces are the plans that some
 * lambda asks for; in the plane of bytes and time they are the corners of a convex hull.  Where two pieces
 * meet many plans may cost the same (equal layers give up a tensor at the same price): those lie on the edge
 * between the two corners and are listed as well.  What lies above an edge no lambda finds
 * (partition/cut/saved_budget.c looks there).  A value that may be saved in two forms is saved in the cheaper
 * one of each lambda, so the envelope is that of all forms.
 */
#ifndef GCUT_PARTITION_CUT_FRONTIER_H
#define GCUT_PARTITION_CUT_FRONTIER_H

#include "partition/cut/decisions.h"

typedef struct gcut_supported {
    int64_t saved_bytes;
    double fixed_ns;   /* cost at lambda 0 */
    double from, to;   /* the lambdas for which no plan is cheaper: [from, to]; a point between has one */
    bool between;      /* on the edge between two corners */
    const bool *saved; /* by value, for gcut_choice_saving */
    gcut_format *form; /* by value, of its lambda */
    const bool *side;  /* by vertex of gcut_problem_network: the source's side of the cut */
} gcut_supported;

/* No plan costs less than cost_ns at lambda: the value of a flow. */
typedef struct gcut_bound {
    double lambda, cost_ns;
} gcut_bound;

/* When the cheapest plan stops to save a value, and where nesting fails, starts again. */
typedef struct gcut_flips {
    bool saved;       /* from lambda `from` on */
    uint32_t n;       /* 0: never */
    const double *at; /* rising, > from; every one toggles */
} gcut_flips;

typedef struct gcut_cut_frontier {
    const gcut_problem *p;
    GCUT_VEC(gcut_supported)
    points;                      /* bytes fall and fixed_ns rises from one to the next; the first is the
                                    cheapest at lambda 0, the last saves the fewest bytes possible */
    GCUT_VEC(gcut_bound) bounds; /* rising lambda, from 0 on: at least the breakpoints */
} gcut_cut_frontier;

/* Memory from `arena`; `p` is kept.  Throws GCUT_EPLAN, GCUT_ENOMEM. */
gcut_cut_frontier *gcut_frontier_of(const gcut_problem *p, gcut_arena *arena);
/* The same without the points between corners, of which equal layers make as many as there are layers: all
 * that bounds and flip prices ask for. */
gcut_cut_frontier *gcut_corners_of(const gcut_problem *p, gcut_arena *arena);

/* The plan of a point, at lambda `from`, with its lower bound there. */
gcut_choice *gcut_supported_choice(const gcut_cut_frontier *f, gcut_arena *arena,
                                   const gcut_supported *point);

/* No plan that keeps at most that many bytes across the boundary takes less than this at lambda 0, whatever
 * its schedule: the maximum over lambda of (cheapest cost - lambda * bytes).  INFINITY when none keeps so
 * few. */
double gcut_bound_at(const gcut_cut_frontier *f, int64_t bytes_across);
/* The bound that says so; any when there is none. */
const gcut_bound *gcut_bound_of(const gcut_cut_frontier *f, int64_t bytes_across);

/* No plan costs less at lambda. */
double gcut_cost_bound(const gcut_cut_frontier *f, double lambda);

/* By value: what the cheapest plan does with it from lambda `from` on. */
gcut_flips *gcut_flip_prices(const gcut_cut_frontier *f, gcut_arena *arena, double from);

/* partition/cut/saved_budget.c: the cheapest plan at lambda 0 that saves at most so many bytes, with its
 * lower bound: the best of the points, improved by an integer program as far as that is small enough.  Throws
 * GCUT_EPLAN when what must be saved takes more. */
gcut_choice *gcut_frontier_at_most(const gcut_cut_frontier *f, gcut_arena *arena, int64_t saved_bytes);
gcut_choice *gcut_choose_at_most(const gcut_problem *p, gcut_arena *arena, int64_t saved_bytes);

#endif
