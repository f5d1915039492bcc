/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The compiler: a pipeline has every stage of one graph, and keeps it for callers to inspect.
 */
#ifndef GCUT_DRIVER_PIPELINE_PIPELINE_H
#define GCUT_DRIVER_PIPELINE_PIPELINE_H

#include "autodiff/autodiff.h"
#include "driver/options/options.h"
#include "driver/pipeline/pass.h"
#include "kernels/kernels.h"
#include "partition/plan_file/plan_file.h"
#include "passes/passes.h"
#include "text/text.h"

/* Which of the graphs that passes make are kept. */
typedef enum gcut_graphs_kept {
    GCUT_GRAPHS_NEEDED,    /* of the stages those that no later one replaces: primal, joint, kernels */
    GCUT_GRAPHS_OF_STAGES, /* those of every stage */
    GCUT_GRAPHS_OF_PASSES  /* all, to be compared */
} gcut_graphs_kept;

/* A pair that the user's graph, its backward graph, stands for. */
typedef struct gcut_given_pair {
    gcut_pair pair;
    gcut_graph *fwd, *bwd;
} gcut_given_pair;

typedef struct gcut_pipeline {
    gcut_env *env;
    gcut_arena *arena; /* everything below; the user's graph is only read */
    gcut_module *module;

    /* the request */
    gcut_settings opt;                 /* with its strings and lists copied */
    const gcut_machine_model *machine; /* what prices and predictions come from */
    int threads; /* that the plan is for: those of the options, else the machine model's default number; never
                    those of the machine that plans */
    gcut_optimizer optimizer;
    gcut_plan_file *file; /* the plan to replay; NULL = none */
    gcut_dim_binding *at; /* a size for every symbol of the graph */
    uint32_t nat;

    /* primal ─▶ folded */
    gcut_graph *primal;     /* in: the user's graph; of a pair the graph that gcut_join makes of it */
    const char *base;       /* "f", of the names @f.joint, @f.fwd, … */
    gcut_given_pair *given; /* the user's graph is the backward graph of a pair; else NULL */
    /* The user's graph is a dump, as its mark #pass says: optional passes before this one do not run again; NULL: it is
     * none. */
    const gcut_pass_row *made_by;
    gcut_graph *folded; /* in: primal.  What is differentiated */

    /* folded ─▶ joint; of a forward-only step raw is the primal and joint the folded graph */
    gcut_graph *raw;   /* in: folded.  With the reverse pass and the optimizer, before other passes */
    gcut_graph *joint; /* in: raw */

    /* joint ─▶ plan, forward and backward graph; of a forward-only step fwd is the joint graph, the rest NULL;
     * of a pair fwd and bwd are its graphs, the rest NULL */
    const gcut_plan_options *asked; /* of the loops and the plan; NULL: each candidate has its own */
    gcut_graph *planned;            /* in: joint.  With planned loops; joint when it has no loops */
    gcut_plan *plan;                /* in: planned */
    gcut_graph *fwd, *bwd;          /* in: plan */

    /* fwd, bwd ─▶ program */
    gcut_graph *kfwd, *kbwd; /* in: fwd and bwd.  Without composite ops that have no kernel */
    gcut_program *program;   /* in: kfwd, kbwd */
    int64_t peak_bytes;      /* of the whole step at `at` with `threads`, once there is a program; after a
                                search in which nothing fits, the smallest found */
    int64_t bound_bytes;     /* after such a search, gcut_peak_bound; else 0 */

    gcut_rewritings rewritten; /* what identities of real numbers replaced, in the order of the passes */
    bool is_rewritten;         /* the last pass of identities replaced something */

    gcut_pass_table passes; /* the rows to apply: gcut_passes */
    gcut_pass_runs runs;    /* those that ran, in order */
    struct gcut_dump *dump; /* where they are written; NULL = nowhere */
    gcut_graphs_kept graphs;
    bool nested;  /* it lowers a candidate plan of another pipeline, and keeps no record */
    bool sampled; /* of a nested one: tests verify it */
} gcut_pipeline;

/* The stages one by one, for callers that try several plans. */
/* A pipeline in an arena of its own under `parent` that has the request of p and a copy of `planned`, of p's
 * module; it keeps no record of its passes. */
gcut_pipeline *gcut_pipeline_nested(const gcut_pipeline *p, gcut_graph *planned, gcut_arena *parent);
/* Applies a group of passes to g and names the result; returns g, not renamed, where no pass ran. */
gcut_graph *gcut_pipeline_make(gcut_pipeline *p, gcut_pass_group group, gcut_graph *g, const char *name);
/* Are graphs and the states of lowering verified?  Of candidate plans one in sixteen, and by tests alone
 * (GRADCUT_VERIFY): the chosen plan is made once more. */
bool gcut_pipeline_verifies(const gcut_pipeline *p);
/* Is the plan searched for under a budget, with loops planned by each candidate? */
bool gcut_pipeline_searches(const gcut_pipeline *p);
/* Plans what the loops of the joint graph save by `asked`; returns the joint graph itself when it has no loops. */
gcut_graph *gcut_pipeline_loops(gcut_pipeline *p, const gcut_plan_options *asked);
/* Forward and backward graph of a plan of p->planned, named after `base`, which must be new to the module. */
void gcut_pipeline_split(gcut_pipeline *p, gcut_plan *plan, const char *base);
void gcut_pipeline_lower(gcut_pipeline *p); /* from both graphs to the program and the peak */
/* A graph in the form that kernels are made of: after the passes of GCUT_MAKES_KERNELS. */
gcut_graph *gcut_pipeline_kernel_graph(gcut_pipeline *p, gcut_graph *graph);

/* Bytes of the whole step at these sizes: everything bound, used or not, plus the arena as placed. */
int64_t gcut_pipeline_peak(const gcut_pipeline *p, const gcut_dim_binding *at, uint32_t nat, int threads);
/* Throws, naming `call`, for a stage that does not exist. */
void gcut_stage_check(gcut_env *env, gcut_stage_name stage, const char *call);
/* The names that the text of what a pass makes has for its graphs, which may be between two passes: opt->name
 * of one, opt->pair of both. */
void gcut_pipeline_text_names(const gcut_pipeline *p, const gcut_pass_row *made_by, bool both,
                              gcut_print_options *opt);
/* The graphs of a stage, one or two. */
uint32_t gcut_stage_graphs(const gcut_pipeline *p, gcut_stage_name stage, gcut_graph *out[2]);
/* The text of a stage; of the primal one with the functions that it calls; of the others with a comment for
 * each value that an identity of real numbers replaced. */
void gcut_stage_text(const gcut_pipeline *p, gcut_stage_name stage, bool locations, gcut_text *out);

#endif
