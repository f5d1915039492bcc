/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A joint graph with everything known before lambda and policy are chosen, and
 * what is chosen for them.  Plans, flip prices and frontiers share it.
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
    gcut_constraint *force; /* by value; never on a view, whose base has it */
    const char **forced_by; /* by value: who forced it, "--save %h (mlp.gcut:4)"; NULL = nobody */
    bool *roundable;        /* by value (partition/cut/storage_format.h) */
    gcut_format
        *form; /* by value: the form in which it is saved if it is: gcut_format_of at the options' lambda */
} gcut_problem;

typedef struct gcut_choice {
    gcut_plan_decision *decision; /* by value */
    gcut_format *form;            /* by value: of SAVED ones */
    gcut_schedule backward;
    double lambda;
    double fixed_ns;     /* cost at lambda 0: recompute prices and round trips */
    double recompute_ns; /* of that, the recompute prices, each as often as the schedule has it */
    double cost_ns;      /* fixed_ns + lambda * saved_bytes */
    double lower_bound_ns, quantum_ns;
    int64_t saved_bytes;
} gcut_choice;

/* Classifies, prices, resolves forced values.  Throws as gcut_plan_make says. */
gcut_problem *gcut_problem_new(gcut_arena *arena, gcut_graph *joint, const gcut_plan_options *opt);
/* The problem that a plan answers, with whatever forced its values, and their forms. */
gcut_problem *gcut_problem_of(gcut_arena *arena, const gcut_plan *plan);
/* partition/cut/constraints.c: marks and options into p->force. */
void gcut_resolve_forced(gcut_problem *p, gcut_arena *arena);
/* Throws GCUT_EPLAN when no plan meets the constraints, naming a smallest set of which none can be left out.
 */
void gcut_require_feasible(const gcut_problem *p, gcut_arena *arena);
/* The value of that name, with or without its %; 0 when it is one of a body.  Throws GCUT_EUSAGE, with the
 * nearest name, when there is none. */
gcut_ref gcut_named(const gcut_graph *g, const char *name);

/* A lower bound of what costs cost_ns, as it is printed beside it.  Asserts that it is one, but for the
 * rounding of sums, which is cut off. */
double gcut_bound_below(double bound_ns, double cost_ns);

/* The choice that saves what `saved` (by value) says of whatever the backward graph then needs, recomputes
 * the rest, and copies it as gcut_schedule_with does; constraints of the user come first, and a view is never
 * saved. Its lower bound is not known: 0. */
gcut_choice *gcut_choice_saving(const gcut_problem *p, gcut_arena *arena, const bool *saved,
                                const gcut_recomputations *again, double lambda);
/* By value: whether that decision is SAVED. */
bool *gcut_saved_of(const gcut_problem *p, gcut_arena *arena, const gcut_plan_decision *decision);
/* The copies that make a plan's schedule again, and its decisions at the prices and under the constraints of
 * p. */
gcut_recomputations *gcut_recomputations_of(const gcut_problem *p, gcut_arena *arena, const gcut_plan *plan);
gcut_choice *gcut_choice_of(const gcut_problem *p, gcut_arena *arena, const gcut_plan *plan);
gcut_choice *gcut_choose(const gcut_problem *p, gcut_arena *arena, gcut_policy policy, double lambda);

/* A plan of that choice; memory from the joint graph's module. */
gcut_plan *gcut_plan_from(const gcut_problem *p, const gcut_plan_options *opt, const gcut_choice *c);

/* Every value that takes part, in its form of `p`, at lambda 0 (gcut_network_at for others).  A forced save
 * is free there: gcut_bound_of_cut adds what it costs. */
gcut_network *gcut_problem_network(const gcut_problem *p, gcut_arena *arena);
/* What the source's side of a cut of it saves, by value. */
bool *gcut_saved_by(const gcut_problem *p, gcut_arena *arena, const gcut_network *net, const bool *side);
/* No plan costs less at lambda, forced values included: from the minimum cut there. */
double gcut_bound_of_cut(const gcut_problem *p, const gcut_cut *cut, double lambda);

/* partition/cut/storage_format.c: may v be saved in that form; the cheapest of them, PLAIN where two cost the
 * same; a form's bytes and its price at lambda 0. */
bool gcut_format_allowed(const gcut_problem *p, gcut_ref v, gcut_format form);
gcut_format gcut_format_of(const gcut_problem *p, gcut_ref v, double lambda); /* INFINITY: the smallest */
gcut_format gcut_other_format(const gcut_problem *p, gcut_ref v);             /* PLAIN where there is none */
/* The same problem with the forms of another lambda. */
gcut_problem gcut_problem_at(const gcut_problem *p, gcut_arena *arena, double lambda);
int64_t gcut_value_saved_bytes(const gcut_problem *p, gcut_ref v, gcut_format form);
double gcut_saved_ns(const gcut_problem *p, gcut_ref v, gcut_format form);

/* t_v + lambda * bytes, in the value's form; 0 for what lives anyway, INFINITY for what must not be saved,
 * with the reason. */
double gcut_save_price(const gcut_problem *p, gcut_ref v, double lambda, const char **why);

#endif
