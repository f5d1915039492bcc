/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Candidate plans: plans in the order of their predicted time, each lowered to know its exact peak.  A budget
 * search (driver/search/budget_search.h) starts from them.  They depend on the graph and on the options other than
 * the budget.
 */
#ifndef GCUT_DRIVER_SEARCH_CANDIDATES_H
#define GCUT_DRIVER_SEARCH_CANDIDATES_H

#include "base/hash.h"
#include "base/map.h"
#include "driver/pipeline/pipeline.h"
#include "partition/cut/decisions.h"

/* A joint graph with one plan of its loops, and everything that plans of this graph share. */
typedef struct gcut_candidate_base {
    gcut_plan_options options; /* of MINCUT, at the price of the loops' plans */
    gcut_graph *planned;
    gcut_problem *problem;
    double work_ns;                    /* of all its nodes once; bases differ in it by their loop bodies */
    const gcut_cut_frontier *frontier; /* of the problem; NULL: not known */
    bool
        own_buffers; /* each saved value is known to have a buffer of its own (driver/pipeline/saved_storage.h) */
} gcut_candidate_base;

/* Of gcut_candidate.budget: that of its own peak; that of a plan without a budget, such as a policy's. */
enum { GCUT_CANDIDATE_OWN_PEAK = 0, GCUT_CANDIDATE_NO_BUDGET = -1 };

typedef struct gcut_candidate {
    const gcut_candidate_base *base;
    const gcut_plan_options *options; /* of its plan: those of the base, or of a policy */
    const gcut_choice *choice;
    const gcut_refs *less_workspace; /* convolutions of base->planned (less_workspace.h); NULL: none */
    const char *origin;              /* the plan that it was made of: "lambda 0" */
    const char *label;               /* with what was changed: "lambda 0, less workspace, 3 flips" */
    bool of_policy;                  /* in the list: a policy makes this plan */
    uint32_t flips;                  /* that local search has taken, of decisions */
    uint32_t formats;                /* … and of storage formats */
    int64_t budget;                  /* for which it was found, or GCUT_CANDIDATE_… */
    int64_t peak_bytes;              /* exact; -1 until gcut_candidate_peak */
    int64_t least_bytes; /* of the peak if all convolutions took less workspace, but for gaps; set with it */
    double step_ns;      /* predicted; NAN until gcut_candidate_peak, and without a prediction */
    int64_t settled;     /* the budget for which no flip of it is better; 0: not known of any */
    uint32_t known;      /* 1 + its index in gcut_candidates.known; 0 until gcut_candidate_peak */
} gcut_candidate;

/* Writes its label, after a change. */
void gcut_candidate_name(gcut_candidate *c, gcut_arena *a);

/* A plan that was lowered, by a hash of its decisions and schedule. */
typedef struct gcut_known_plan {
    unsigned char key[GCUT_HASH_BYTES];
    int64_t peak_bytes;
    double step_ns;
    uint32_t nsteps;
    const int64_t *alive;           /* gcut_program_alive */
    gcut_alternatives alternatives; /* gcut_program_alternatives */
} gcut_known_plan;

typedef struct gcut_candidates {
    gcut_pipeline *p; /* at JOINT */
    gcut_arena *arena;
    int64_t resident;     /* bytes that live through the whole step under any plan */
    double least_work;    /* smallest work_ns of the bases */
    uint64_t nodes_tried; /* of the graphs of all plans whose peak was asked for: the work of the search */
    GCUT_VEC(gcut_known_plan) known; /* the plans lowered so far */
    gcut_map index;                  /* of known, plus 1, by the first bytes of its key */
    GCUT_VEC(gcut_candidate_base *) bases;
    /* By rising predicted time once all are lowered; by rising cost before that, and where they are too many to
     * lower them all for one budget. */
    GCUT_VEC(gcut_candidate) list;
    bool lowered; /* all of them, by gcut_candidates_lower */
} gcut_candidates;

/* Allocates in `arena`, a child of the pipeline's. */
gcut_candidates *gcut_candidates_of(gcut_pipeline *p, gcut_arena *arena);
/* The plan that p has, as a candidate, and no others in *o. */
gcut_candidate gcut_candidate_alone(gcut_pipeline *p, gcut_arena *arena, gcut_candidates **o);
/* The plan of a policy as a candidate; the list does not contain it. */
gcut_candidate gcut_candidate_policy(gcut_candidates *o, gcut_policy policy, double torch_budget);
/* The plans of all policies, torch's under a few budgets; returns how many. */
uint32_t gcut_candidates_policies(gcut_candidates *o, gcut_candidate **out);

/* Its plan of that problem, its base's or one of a clone. */
gcut_plan *gcut_candidate_plan(const gcut_candidate *of, const gcut_problem *problem);
/* A pipeline of that candidate alone, up to KERNEL, in an arena of its own under `parent`. */
gcut_pipeline *gcut_candidate_lower(const gcut_candidates *o, const gcut_candidate *of, gcut_arena *parent);
/* Records in the plan of a candidate which budget it was found for. */
void gcut_candidate_record(gcut_plan *plan, const gcut_candidates *o, const gcut_candidate *of,
                           int64_t budget);
/* All nodes of the base once, saving and recomputing, without a price of bytes. */
static inline double gcut_candidate_total_ns(const gcut_candidate *of)
{
    return of->base->work_ns + of->choice->fixed_ns;
}
/* The same less the least work_ns of all bases: the cost of its plan. */
double gcut_candidate_cost(const gcut_candidates *o, const gcut_candidate *of);
/* Prices are taken to be wrong by at most this factor. */
#define GCUT_PRICE_DOUBT 32
/* Whether x is faster than y, both lowered, by more than rounding, and costs at most GCUT_PRICE_DOUBT times the time that it
 * saves more than y: of two plans of nearly the same time the one with the smaller gap to the bound is kept. */
bool gcut_candidate_is_faster(const gcut_candidate *x, const gcut_candidate *y);
/* Reports progress of a search; the caller may cancel it. */
void gcut_candidates_tell(const gcut_candidates *o);
/* The exact peak, at the sizes and threads of the options; the first call for a plan lowers it. */
int64_t gcut_candidate_peak(gcut_candidates *o, gcut_candidate *of);
/* A lower bound of the peak under any schedule: all saved values are alive together between the forward and
 * the backward graph. */
int64_t gcut_candidate_least(const gcut_candidates *o, const gcut_candidate *of);
/* Lowers all of them and, unless they are too many, sorts them by predicted time; the second call does nothing. */
void gcut_candidates_lower(gcut_candidates *o, void (*tell)(void *user, size_t done, size_t all), void *user);
/* So few that all are lowered to know their times, for any budget. */
bool gcut_candidates_are_few(const gcut_candidates *o);
/* The index of the fastest of those that it compares with the budget and that fit; GCUT_NONE where no candidate fits.
 * Compared are all where they are few; else the plans of all policies, and others until one fits.  Sets compared[i],
 * unless it is NULL, where it lowers candidate i for that. */
uint32_t gcut_candidates_fit(gcut_candidates *o, int64_t budget, bool *compared);

#endif
