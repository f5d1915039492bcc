/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One decision of a plan, or one predicted time, explained: the results of gcut_explain and gcut_explain_cost.  What holds of
 * the structures of plan.h holds of these.
 */
#ifndef GRADCUT_EXPLANATION_H
#define GRADCUT_EXPLANATION_H

#include "gradcut/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one decision explained ---- */

/* A value that the backward graph computes from the explained one. */
typedef struct gcut_explained_reader {
    const char *name, *op;
    bool recomputed;                            /* it is computed again there itself */
    const char *rule_of, *rule_op, *rule_where; /* the forward value whose derivative rule made this node;
                                                   NULL: not known */
} gcut_explained_reader;

typedef struct gcut_explained_change {
    const char *name;
    gcut_plan_decision from, to;
} gcut_explained_change;

/* An op that runs to compute the explained value again. */
typedef struct gcut_explained_op {
    const char *name, *op;
    double ns;
} gcut_explained_op;

/* The cheapest plan with the other decision for the value; under another policy than mincut, a budget or a
 * plan file: this plan with that one change. */
typedef struct gcut_explained_other {
    gcut_plan_decision decision;
    double cost_ns, recompute_ns;
    int64_t saved_bytes;
    const gcut_explained_change *const *change; /* of the other values of the forward graph */
    size_t nchanges;
} gcut_explained_other;

/* The whole training step, planned again with the other decision for the value. */
typedef struct gcut_explained_step {
    int64_t peak_bytes, saved_bytes;
    double time_ns;
} gcut_explained_step;

/* A kernel whose predicted times in `now` and in `flipped` differ. */
typedef struct gcut_kernel_change {
    bool backward;
    const char *family, *value,
        *op;                   /* "loop", "gemm", ...; the last value that it computes, and by which op */
    double now_ns, flipped_ns; /* 0: that step has no such kernel */
} gcut_kernel_change;

typedef struct gcut_explanation {
    const char *asked, *name; /* name: the value whose storage the one asked for is, where that is a view */
    const char *graph;        /* in which both are */
    const char *loop;         /* first result of the loop whose iteration the plan is for; NULL: no loop's */
    const char *type, *op, *where; /* as of gcut_plan_value */
    bool made;                     /* by an op; else `op` is its role */
    gcut_plan_decision decision;
    const char *storage;         /* of a saved one; else NULL */
    int copies;                  /* of a recomputed one: how often the backward graph computes it */
    int64_t bytes;               /* as stored */
    const char *fixed;           /* why no other decision is possible; NULL: one is */
    const char *reason;          /* why a price is 0 or infinite; NULL: none is */
    const char *forced_by;       /* the mark, option or plan file, with its line; NULL: nothing */
    gcut_plan_decision unforced; /* forced_by: what it would be otherwise */
    bool flips_saved;            /* as of gcut_plan_value, from a price of 0 on */
    const double *flips;
    size_t nflips;
    double save_ns, recompute_ns;          /* prices; INFINITY: not possible */
    double arc_ns;                         /* of its arc in the cut: of being saved, or of being recomputed */
    bool minimum;                          /* the plan is a minimum cut, and `other` one under a constraint */
    double cost_ns;                        /* of the plan */
    double all_recompute_ns;               /* of all values that it recomputes */
    int64_t saved_bytes;                   /* of all values that it saves */
    const gcut_explained_other *other;     /* NULL: fixed */
    const gcut_explained_op *const *chain; /* what runs to compute it again, in its order */
    double chain_ns;
    const gcut_explained_reader *const *reader;
    size_t nchain, nreaders;
    const gcut_explained_step *now;     /* the training step as it is planned */
    const gcut_explained_step *flipped; /* NULL: fixed, or refused */
    const char *refused;                /* why there is none, a sentence; NULL */
    /* By how much `flipped` is longer by the prices of the cut, each of one op, without that of bytes.  NAN: there is
     * no such step, or the value is of an iteration of a loop. */
    double flip_price_ns;
    bool changed;                    /* flips have changed what the minimum cut decides for it: */
    gcut_plan_decision cut_decision; /* this */
    double cut_ns;                   /* of that minimum cut; NAN: lambda did not choose the plan */
    const char *text, *json;         /* all of it */
    int64_t budget;                  /* options.budget in bytes; 0: none, or the smallest peak */
    /* The kernels by which the times of `now` and `flipped` differ, the longest difference first; their differences add up
     * to that of the steps. */
    const gcut_kernel_change *const *kernel;
    size_t nkernels;
} gcut_explanation;

/* ---- one predicted time explained ---- */

/* What is added up. */
typedef struct gcut_explained_term {
    const char *part;        /* "work": arithmetic; "traffic": bytes of one buffer; "fixed": of the launch */
    const char *name, *what; /* the value or buffer that it is of, or NULL; the op, or a phrase, or NULL */
    double units;            /* work, fixed: how much of `unit` */
    const char *unit;        /* "flops", "elements", "rows"; NULL: of traffic */
    double rate_ns;          /* what one takes; 0: there is no single rate */
    const char *rate;      /* where the machine model says so: "ops.exp", or "gemm.ns_per_flop at lo=64 hi=128
                                k=256", between whose points it is interpolated; NULL */
    double times;          /* how often the units are counted */
    const char *times_why; /* NULL where that is 1 */
    double read, written;  /* traffic: bytes */
    double fetched;        /* bytes that take as long to write where each line is fetched first */
    double distance;    /* bytes moved from the middle of the launch that touched the buffer last, or what was
                           in its memory before, to the middle of this one; INFINITY: never; NAN: of a price */
    double working_set; /* bytes: the distance, or less (doc/kernels.md); of a price, what is moved */
    double l2, l3, dram;      /* shares of what is moved from there, 1 together */
    double read_ns, write_ns; /* of a byte, there */
    double ns;
    bool hidden; /* something longer goes on meanwhile: it adds nothing */
} gcut_explained_term;

/* Runs of a kernel that are predicted alike: the first run of a loop's body, and the further ones. */
typedef struct gcut_explained_run {
    double times; /* in one training step */
    int threads;
    const char
        *overlap; /* of work and traffic: "longer": the longer one counts; "sum": both; "beyond": the rate
                            of the work contains traffic with L2, and what goes beyond is added */
    double work_ns, traffic_ns, fixed_ns, ns; /* of one run; ns: fixed_ns and what the overlap makes */
    const gcut_explained_term *const *term;
    size_t nterms;
} gcut_explained_run;

typedef struct gcut_explained_kernel {
    const char *as;                          /* what it does with the value: "computes it" */
    const char *family, *value, *op, *where; /* as of gcut_kernel_time */
    bool backward;
    int launch;                            /* k<launch> of the emitted code */
    double runs, flops, read, written, ns; /* ns: the sum of times * ns of its runs, as in the step's time */
    const gcut_explained_run *const *run;
    size_t nruns;
} gcut_explained_kernel;

typedef struct gcut_cost_explanation {
    const char *name, *type, *op, *where; /* of the value; type NULL: it is in kernels alone */
    const char *machine;                  /* the machine model */
    int threads;
    const gcut_size *at;
    size_t nat;
    const gcut_explained_kernel *const *kernel; /* in running order */
    size_t nkernels;
    double price_ns;       /* of recomputing it, as the cut has it; NAN: it has none */
    const char *price_why; /* why that is 0 or nothing; NULL */
    const gcut_explained_term *const *price_term;
    size_t nprice_terms;
    const char *text, *json; /* all of it */
} gcut_cost_explanation;

#ifdef __cplusplus
}
#endif
#endif
