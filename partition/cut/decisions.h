/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_problem: a joint graph with its sides, prices and constraints, for any lambda and policy.
 * gcut_choice: one decision per value on such a problem.  Plans, flip prices and frontiers share both.
 */
#ifndef GCUT_PARTITION_CUT_DECISIONS_H
#define GCUT_PARTITION_CUT_DECISIONS_H

#include "partition/cut/storage_format.h"
#include "partition/cut/network.h"
#include "partition/cut/schedule.h"
#include "partition/cut/min_cut.h"

typedef enum gcut_constraint {
    GCUT_CONSTRAINT_NONE,
    GCUT_CONSTRAINT_SAVE,
    GCUT_CONSTRAINT_RECOMPUTE
} gcut_constraint;

typedef struct gcut_problem {
    gcut_graph *g;
    const gcut_plan_options *opt;
    gcut_facts *facts;
    gcut_price *price;      /* by value */
    gcut_constraint *force; /* by value; for a view it is at its base */
    const char **forced_by; /* by value: the constraint's source, "--save %h (mlp.gcut:4)"; NULL = none */
    bool *roundable;        /* by value (partition/cut/storage_format.h) */
    gcut_format
        *format; /* by value: its storage format if it is saved, gcut_format_of at the options' lambda */
} gcut_problem;

typedef struct gcut_choice {
    gcut_plan_decision *decision; /* by value */
    gcut_format *format;          /* by value: of SAVED ones */
    gcut_schedule backward;
    double lambda;
    double fixed_ns;     /* cost at lambda 0: recompute prices and round trips */
    double recompute_ns; /* of that, the recompute prices, each as often as the schedule has it */
    double cost_ns;      /* fixed_ns + lambda * saved_bytes */
    double lower_bound_ns;
    int64_t saved_bytes;
} gcut_choice;

/* Finds sides and prices, resolves forced values.  Throws as gcut_plan_make says. */
gcut_problem *gcut_problem_new(gcut_arena *arena, gcut_graph *joint, const gcut_plan_options *opt);
/* The same problem of a clone of its graph. */
gcut_problem *gcut_problem_of_clone(gcut_arena *arena, const gcut_problem *p, gcut_graph *clone);
/* The problem that a plan solves, with its constraints and storage formats. */
gcut_problem *gcut_problem_of(gcut_arena *arena, const gcut_plan *plan);
/* partition/cut/constraints.c: marks and options into p->force. */
void gcut_resolve_forced(gcut_problem *p, gcut_arena *arena);
/* Throws GCUT_EPLAN when no plan meets the constraints, and names a minimal contradictory set. */
void gcut_require_feasible(const gcut_problem *p, gcut_arena *arena);
/* The value of that name, with or without its %; 0 when it is one of a body.  Throws GCUT_EUSAGE, with the
 * nearest name, when there is none. */
gcut_ref gcut_named(const gcut_graph *g, const char *name);

/* min(bound_ns, cost_ns): the lower bound as it is printed.  Asserts bound_ns <= cost_ns up to rounding of
 * sums. */
double gcut_bound_printed(double bound_ns, double cost_ns);

/* The choice that saves the values of `saved` (by value) that the backward graph then needs, recomputes the
 * rest, and copies it as gcut_schedule_with does.  The user's constraints overrule `saved`; views are never
 * saved.  Its lower bound is 0: not known. */
gcut_choice *gcut_choice_saving(const gcut_problem *p, gcut_arena *arena, const bool *saved,
                                const gcut_recomputations *copies, double lambda);
/* By value: whether that decision is SAVED. */
bool *gcut_saved_of(const gcut_problem *p, gcut_arena *arena, const gcut_plan_decision *decision);
/* The copies from which gcut_schedule_with reproduces a plan's schedule; and the plan's decisions as a choice
 * on p. */
gcut_recomputations *gcut_recomputations_of(const gcut_problem *p, gcut_arena *arena, const gcut_plan *plan);
gcut_choice *gcut_choice_of(const gcut_problem *p, gcut_arena *arena, const gcut_plan *plan);
/* What a policy saves, by value; it is not asked about values that the backward graph does not need.  True
 * for a view means the value whose storage it is.  Memory from `arena`. */
typedef bool *gcut_policy_fn(const gcut_problem *p, gcut_arena *arena);
/* The choice that `rule` makes; NULL = the minimum cut at lambda. */
gcut_choice *gcut_choose(const gcut_problem *p, gcut_arena *arena, gcut_policy_fn *rule, double lambda);

/* The network of every FORWARD and EITHER value that matters, in the formats of `p`, at lambda 0
 * (gcut_network_at changes it).  A forced save costs 0 there: gcut_bound_of_cut adds its cost. */
gcut_network *gcut_problem_network(const gcut_problem *p, gcut_arena *arena);
/* By value: saved by the cut with that source side. */
bool *gcut_saved_by(const gcut_problem *p, gcut_arena *arena, const gcut_network *net, const bool *side);
/* What all forced saves take, each in its cheapest format at lambda; cost_ns: the sum of ns + lambda * bytes. */
typedef struct gcut_forced_saves {
    uint32_t n;
    double ns, bytes, cost_ns;
} gcut_forced_saves;
gcut_forced_saves gcut_forced_saves_at(const gcut_problem *p, double lambda);
/* A lower bound on the cost of any plan at lambda, forced values included, from the minimum cut there. */
double gcut_bound_of_cut(const gcut_problem *p, const gcut_cut *cut, double lambda);

/* partition/cut/cheapest_format.c: may v be saved in that format (BF16: only with the options' save_dtype);
 * its cheapest format, PLAIN on a tie; a format's bytes and its price at lambda 0. */
bool gcut_format_allowed(const gcut_problem *p, gcut_ref v, gcut_format format);
gcut_format gcut_format_of(const gcut_problem *p, gcut_ref v, double lambda); /* INFINITY: the smallest */
gcut_format gcut_other_format(const gcut_problem *p, gcut_ref v);             /* PLAIN where there is none */
/* What a plan's format becomes at the sizes of p, where it may not be smaller any more. */
gcut_format gcut_format_kept(const gcut_problem *p, gcut_ref v, gcut_format format);
/* The same problem with the formats of another lambda. */
gcut_problem gcut_problem_at(const gcut_problem *p, gcut_arena *arena, double lambda);
int64_t gcut_value_saved_bytes(const gcut_problem *p, gcut_ref v, gcut_format format);
double gcut_saved_ns(const gcut_problem *p, gcut_ref v, gcut_format format);

/* t_v + lambda * bytes in the value's format; 0 when it is alive anyway, INFINITY when it must not be saved;
 * *why says so. */
double gcut_save_price(const gcut_problem *p, gcut_ref v, double lambda, const char **why);

#endif
