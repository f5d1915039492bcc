/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Programs: what runs when a step runs.  Everything that is said of a step before it runs, what shares a kernel, what
 * is stored, what is alive when and how long it takes, is read from its program; kernels/emit/ writes it as C and
 * decides only how a function is written.
 *
 *   lower/  makes a program, by the states L1 to L10 (lowered.h draws them): fusion/ decides which nodes share a kernel,
 *           memory/ where values are and in which order kernels run
 *   cost/   its predicted time: bytes, arithmetic, launches
 */
#ifndef GCUT_MACHINE_PROGRAM_H
#define GCUT_MACHINE_PROGRAM_H

#include "gradcut/gradcut_rt.h"
#include "graph/graph.h"
#include "machine/machine.h"
#include "machine/term.h"

typedef struct gcut_program gcut_program;

/* The lowered graphs of a step; those of the bodies of loops and branches follow. */
enum { GCUT_FORWARD, GCUT_BACKWARD, GCUT_STEP_GRAPHS };

/* Repeats what depends on sizes alone for each of its readers (localizing.c); run on each graph before
 * gcut_lower. */
gcut_graph *gcut_pass_localize(gcut_graph *g, const char *name);

/* Computes in f32 what is stated in f16 or bf16 (widening.c); before gcut_pass_localize. */
gcut_graph *gcut_pass_widen(gcut_graph *g, const char *name);
/* Does it do so for kernels of that kind? */
bool gcut_widens(gcut_emit e);

enum gcut_lower_how {
    GCUT_LOWER_UNFUSED = 1, /* every node that computes is a kernel of its own, which stores its result in
                               memory of its own; the results have the same bits */
    GCUT_LOWER_APART = 2,   /* separate forward and backward calls; what crosses is in a block of its own */
    GCUT_LOWER_VERIFY = 4,  /* the invariants of every state are verified */
    GCUT_LOWER_UNJOINED = 8 /* sibling loops stay apart, for comparisons */
};

/* in: the graphs of a split in which no composite op is left; bwd may be NULL (a forward-only function). Both
 * are only read. Memory from the module of fwd.  Throws GCUT_EUNSUPPORTED naming op, dtype and line for what
 * has no kernel.  Decisions are tuned for the machine, the sizes and the threads (0 = not known); the program is correct
 * at all sizes and threads.  `at` must outlive it.  how: a set of gcut_lower_how. */
gcut_program *gcut_lower(gcut_graph *fwd, gcut_graph *bwd, const gcut_dim_binding *at, uint32_t nat,
                         int threads, const gcut_machine_model *machine, unsigned how);
/* Marks every node with the kernel it became: #kernel(k3). */
void gcut_program_mark(const gcut_program *p);

/* A value that the caller binds: parameters, inputs, states, cotangents, results. */
typedef struct gcut_binding_info {
    const char *name; /* as in the graph; unique together with role */
    gcut_role role;
    gcut_type type;
    bool written; /* results, and params/states with an in-place `next` */
} gcut_binding_info;

/* What the caller binds, in the order of the emitted io struct. `next` results are their param/state. */
const gcut_binding_info *gcut_program_bindings(const gcut_program *p, uint32_t *n);

typedef struct gcut_memory {
    int64_t arena_bytes;   /* temporaries, saved values and kernel workspace, as placed */
    int64_t saved_bytes;   /* values that cross from forward to backward, of the arena; with
                            separate calls the block that they are in, beside the arena */
    int64_t call_bytes[2]; /* with separate calls: of the arena, by the forward and the backward call */
} gcut_memory;
/* Exact, at these sizes and this number of threads; the emitted code asks for the same. */
gcut_memory gcut_program_memory(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads);

/* How the arithmetic and the traffic of a run make its time. */
typedef enum gcut_overlap {
    GCUT_OVERLAP_LONGER, /* they go on together: the longer one */
    GCUT_OVERLAP_SUM,    /* one after the other */
    GCUT_OVERLAP_BEYOND  /* the rate of the arithmetic contains traffic with L2; what goes beyond is added */
} gcut_overlap;

/* Runs of one launch that are predicted alike: of a loop's body, the first and the further ones are apart; a
 * product and its epilogue are two where they run one after the other. */
typedef struct gcut_cost_run {
    double times; /* runs in a step */
    int threads;  /* of the team */
    gcut_overlap overlap;
    double work_ns, traffic_ns, fixed_ns, ns; /* of one; ns: fixed_ns and, by overlap, the other two */
    uint32_t nterms;
    const gcut_term *term; /* in the order in which they were added up */
} gcut_cost_run;

/* One launch of the emitted code and what the machine model says of it; a product and the epilogue that runs
 * after it are one launch.  All figures are sums over one training step. */
typedef struct gcut_cost {
    const char *class; /* "gemm", "loop", "row loop", … : what rates are compared by */
    uint32_t graph;    /* GCUT_FORWARD or GCUT_BACKWARD; the launches of a body are its owner's */
    /* Of the outermost loop or branch that it is in: the first result of its node in the graph, and the op; NULL: it is in
     * none. */
    const char *loop, *loop_op;
    const uint32_t *predicate; /* the buffers of the predicates that decide whether it runs */
    uint32_t npredicates;
    int launch;   /* k<launch> of the emitted code */
    double times; /* how often it runs */
    double ns;
    double flops;           /* two per multiply-add of products, convolutions and attention; else 0 */
    double read, written;   /* bytes of buffers, each once per run; nothing that stays in registers */
    const char *value, *op; /* the last value it makes, and by which op */
    gcut_place place;       /* its source line */
    uint32_t nbuffers;
    const uint32_t *buffer; /* of gcut_program_touches: the buffers in the arena or the block that it moves */
    uint32_t nruns;
    const gcut_cost_run
        *run; /* of gcut_program_terms: ns is the sum of times * ns of these, in their order */
} gcut_cost;

typedef struct gcut_costs {
    double ns, flops, read, written; /* sums */
    uint32_t n;
    gcut_cost *at; /* in running order */
} gcut_costs;

/* At these sizes and this number of threads (0 = the model's default); memory from `a`.  What a
 * launch reads is as near as the bytes moved since it was last touched, the step before included. */
gcut_costs gcut_program_costs(const gcut_program *p, const gcut_machine_model *m, const gcut_dim_binding *at,
                              uint32_t nat, int threads, gcut_arena *a);
/* The same with the buffers of each launch. */
gcut_costs gcut_program_touches(const gcut_program *p, const gcut_machine_model *m,
                                const gcut_dim_binding *at, uint32_t nat, int threads, gcut_arena *a);
/* The same with the terms of each launch. */
gcut_costs gcut_program_terms(const gcut_program *p, const gcut_machine_model *m, const gcut_dim_binding *at,
                              uint32_t nat, int threads, gcut_arena *a);
/* The sum of ns alone. */
double gcut_program_ns(const gcut_program *p, const gcut_machine_model *m, const gcut_dim_binding *at,
                       uint32_t nat, int threads);
/* A buffer of the program at those sizes. */
typedef enum gcut_placed_in {
    GCUT_PLACED_ARENA,
    GCUT_PLACED_BLOCK, /* of saved values, with separate calls */
    GCUT_PLACED_BOUND,
    GCUT_PLACED_PART /* what one iteration of a loop reads or writes of another buffer */
} gcut_placed_in;
typedef struct gcut_placed {
    gcut_placed_in in;
    const char *name;
    gcut_dtype dtype;
    int64_t bytes;
    int64_t offset;   /* in the arena or the block; -1: it is in neither, or no kernel uses it */
    int birth, death; /* k<birth> is the first kernel that uses it; -1: none does */
    bool saved, workspace;
    const gcut_binding_info *binding; /* BOUND: else NULL */
    uint32_t whole;                   /* PART: else GCUT_NONE */
    int64_t start, step;              /* PART: iteration i begins at element start + i * step */
} gcut_placed;
/* Every buffer, n of them, as the emitted code places them; memory from `a`. */
gcut_placed *gcut_program_placement(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat,
                                    int threads, gcut_arena *a, uint32_t *n, gcut_memory *memory);
/* By kernel, n of them, the one that its launch is called after: of an epilogue its product, else itself. */
int *gcut_program_launches(const gcut_program *p, gcut_arena *a, int *n);
/* Which lowered graph a body is: of that region of a node of the graph `lowered`;
 * GCUT_NONE: the node is not run. */
uint32_t gcut_program_body(const gcut_program *p, uint32_t lowered, uint32_t node, uint32_t region);
typedef struct gcut_value_place {
    uint32_t buffer; /* GCUT_NONE: it has no memory */
    gcut_dim offset; /* in elements of the buffer; bits: in bits of it */
    const gcut_dim *stride;
    bool bits;
} gcut_value_place;
gcut_value_place gcut_program_place_of(const gcut_program *p, uint32_t lowered, gcut_ref v);
/* ---- fusion ---- */

typedef enum gcut_fused_part {
    GCUT_FUSED_MAIN,
    GCUT_FUSED_PROLOGUE, /* computed while a product packs it */
    GCUT_FUSED_EPILOGUE, /* on the tiles of a product */
    GCUT_FUSED_SUM       /* added up by a product that packs what it adds up */
} gcut_fused_part;
/* A node that computes, in a launch. */
typedef struct gcut_launch_op {
    int launch;
    const gcut_graph *graph; /* the forward or backward graph, or a body */
    uint32_t node;
    gcut_fused_part part;
    bool stored; /* one of its results is in memory */
} gcut_launch_op;
typedef struct gcut_reason_words {
    const char *code, *sentence;
} gcut_reason_words;
/* A node that reads what another launch makes. */
typedef struct gcut_launch_pair {
    const gcut_graph *made; /* the graph that makes the value, */
    gcut_ref value;         /* the storage, where what is read is a view, */
    const gcut_graph *graph;
    uint32_t node;         /* and the node that reads it */
    int from, to;          /* launches; those of loops and branches are none of their kernels */
    uint32_t buffer, read; /* that the value is in; that is read, which may be a copy */
    gcut_role result;      /* that the value also is: saved, out, grad, next; else param */
    const gcut_reason_words *reason;
} gcut_launch_pair;
typedef struct gcut_launches {
    const gcut_launch_op *op; /* by lowered graph, in running order */
    uint32_t nops;
    const gcut_launch_pair *pair; /* by lowered graph, in its order */
    uint32_t npairs;
} gcut_launches;
/* machine/lower/fusion/fusion_queries.c.  Memory from `a`. */
gcut_launches gcut_program_fusions(const gcut_program *p, gcut_arena *a);
/* A launch that has to do with a value, and what. */
typedef struct gcut_value_launch {
    int launch;
    const char *as; /* a phrase: "computes it" */
} gcut_value_launch;
/* machine/lower/program_queries.c.  The launches that compute or copy values of that name in the graphs of a step
 * and their bodies, n of them, in running order; memory from `a`. */
gcut_value_launch *gcut_program_value(const gcut_program *p, const char *name, gcut_arena *a, uint32_t *n);
/* By step of the timeline, *nsteps of them: the bytes that are alive in the arena, as placed.  The arena is larger
 * where no placement is as tight.  Memory from `arena`. */
int64_t *gcut_program_alive(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                            gcut_arena *arena, uint32_t *nsteps);
/* Why the arena is as large as it is: the first step of the timeline with the most bytes alive. */
typedef struct gcut_holder {
    const char *name;
    int64_t bytes;                      /* as placed: a multiple of 64 */
    bool saved;                         /* crosses from forward to backward */
    const char *made_by, *last_read_by; /* "%h3 matmul" */
    uint32_t index;                     /* of the program's buffers */
    int birth, death;
} gcut_holder;
typedef struct gcut_peak {
    int step;
    bool backward;       /* of the backward graph */
    const char *at;      /* what runs then */
    int64_t alive_bytes; /* all holders together; the arena may be larger where no placement is as tight */
    uint32_t n;
    gcut_holder *holder; /* largest first */
} gcut_peak;
/* peak_holders.c.  Memory from `arena`. */
gcut_peak gcut_program_peak(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                            gcut_arena *arena);

/* A kernel that takes less workspace if its node is marked #less_workspace: by how many bytes, and what is alive while
 * it runs as it is. */
typedef struct gcut_alternative {
    const char *value; /* its result, of the forward or the backward graph */
    int64_t bytes, alive;
} gcut_alternative;
typedef struct gcut_alternatives {
    int64_t most, least; /* bytes alive at most: as it is, and if all of them took less workspace */
    uint32_t n;
    gcut_alternative *at;
} gcut_alternatives;
/* peak_holders.c.  Memory from `arena`. */
gcut_alternatives gcut_program_alternatives(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat,
                                            int threads, gcut_arena *arena);

#endif
