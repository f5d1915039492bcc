/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The partition: which forward values are saved for the backward graph and which
 * are computed again there, as a minimum cut with two prices per value.
 *
 *   classify ─▶ prices ─▶ network ─▶ solve (GLPK) ─▶ plan ─▶ split
 */
#ifndef GCUT_PARTITION_PARTITION_H
#define GCUT_PARTITION_PARTITION_H

#include "graph/graph.h"
#include "machine/machine.h"
#include "gradcut/plan.h"

/* Who decides what is saved; what each one does: partition/policies/policy.h. */
typedef enum gcut_policy {
    GCUT_POLICY_MINCUT,
    GCUT_POLICY_SAVE_ALL,
    GCUT_POLICY_RECOMPUTE_ALL,
    GCUT_POLICY_TORCH,
    GCUT_POLICY_TORCH_BUDGET, /* torch under options.torch_budget */
    GCUT_POLICY_SQRT,
    GCUT_POLICY_EVERY_2ND_MATMUL,
    GCUT_POLICY_ATTENTION_ONLY,
    GCUT_NPOLICIES
} gcut_policy;
const char *gcut_policy_name(gcut_policy p);

struct gcut_plan;
struct gcut_plan_file; /* partition/report/plan_file.h */

/* The plans of the steps of loops, in the order in which gcut_plan_loops made them. */
typedef struct gcut_loop_plan {
    const char *loop; /* the first result of the forward scan */
    struct gcut_plan *step;
} gcut_loop_plan;
typedef struct gcut_loop_plans {
    GCUT_VEC(gcut_loop_plan) all;
} gcut_loop_plans;

#define GCUT_LAMBDA_MOST 1e100 /* so that the price of all bytes there can be is finite */
static inline bool gcut_is_lambda(double lambda)
{
    return lambda >= 0 && lambda <= GCUT_LAMBDA_MOST;
}

typedef struct gcut_plan_options {
    gcut_policy policy;
    double torch_budget; /* of TORCH_BUDGET: PyTorch's activation_memory_budget, 0 to 1 */
    double lambda;       /* ns per byte, 0 to GCUT_LAMBDA_MOST; default 0.05 */
    bool saved_limited;  /* MINCUT: lambda is 0, and at most saved_budget bytes are saved */
    int64_t saved_budget;
    const gcut_dim_binding *at; /* where sizes are evaluated for prices: every symbol of the graph */
    uint32_t nat;
    gcut_machine machine;
    /* How often so many threads pack each element of operand A (of_b: B) of the product [m, k] times [k, n]
     * if they compute it meanwhile, 0 = they do not; along k, A lies csa elements apart, which have `size`
     * bytes. gcut_rt_gemm_packings, which kernels ask too; NULL = they never do. */
    int64_t (*packings)(int64_t m, int64_t n, int64_t k, int64_t csa, int64_t size, int threads,
                        int whole_rows, int of_b);
    const char *const *save, *const *recompute; /* value names forced, beside #must_save / #must_recompute */
    uint32_t nsave, nrecompute;
    bool apart; /* forward and backward graph are called apart: what crosses is in a block of its own
                   while either runs, and no gradient is begun in the forward graph's memory */
    gcut_dtype save_dtype;  /* GCUT_BF16: f32 values may be saved rounded to it; 0 = every value as it is */
    gcut_loop_plans *loops; /* gcut_plan_loops adds to it, reports read it; NULL = nobody asks */
    struct gcut_plan_file *file; /* to follow instead of deciding; NULL = none */
} gcut_plan_options;

typedef enum gcut_side {
    GCUT_SIDE_FORWARD, /* the forward graph needs it: primal results depend on it */
    GCUT_SIDE_EITHER,  /* neither graph of necessity: free of cotangents, read by the backward graph only */
    GCUT_SIDE_BACKWARD /* depends on a cotangent, or only serves `next` results */
} gcut_side;

/* How a saved value is stored between forward and backward graph. */
typedef enum gcut_format {
    GCUT_FORMAT_PLAIN,
    GCUT_FORMAT_BF16, /* an f32 value, rounded */
    GCUT_FORMAT_BITS, /* a bool value, eight in a byte */
    GCUT_FORMAT_GRAD  /* as it is, in the memory of the `grad` result that is made of it */
} gcut_format;

/* Nodes of the joint graph in the order in which the backward graph runs them (partition/cut/schedule.h). */
typedef struct gcut_schedule {
    uint32_t n;
    const uint32_t *node;
} gcut_schedule;

typedef struct gcut_decision { /* one per value id of the joint graph */
    gcut_side where;
    gcut_plan_decision decision;
    bool forced;         /* by a mark or an option */
    gcut_format form;    /* of a SAVED value */
    uint32_t grad;       /* in form GRAD: the result whose memory it has */
    uint32_t copies;     /* of a RECOMPUTED value: how often the backward graph computes it */
    int64_t bytes;       /* storage of its alias class's base, in its form; 0 for a view */
    double recompute_ns; /* c_v; INFINITY when forbidden */
    double save_ns;      /* t_v + lambda * bytes */
    const char *reason;  /* static text: why a price is infinite or zero, NULL otherwise */
} gcut_decision;

typedef struct gcut_plan {
    gcut_graph *joint;
    gcut_plan_options options;
    gcut_decision *value; /* by value id of the joint graph */
    gcut_schedule backward;
    double cost_ns;        /* the cut: saved prices + recompute prices */
    double lower_bound_ns; /* max flow minus the quantisation error bound */
    double quantum_ns;     /* one unit of capacity; the cost is within arcs/2 * quantum of the minimum */
    double recompute_ns;   /* sum of c_v over recomputed values */
    int64_t saved_bytes;   /* at options.at */
    gcut_dim saved_bytes_sym;
    int64_t peak_bytes; /* of the whole step; set by whoever placed the arena, else -1 */
    /* Of calls that come apart, set likewise, else 0: the block of saved values, and what is there in the
     * forward and in the backward call. */
    int64_t block_bytes, call_bytes[2];
    double step_ns;              /* predicted; set by whoever priced the kernels, else NAN */
    int64_t budget;              /* on the peak, that chose this plan; 0 = none, and lambda chose */
    const char *label;           /* which plan of the family the budget chose; NULL without one */
    gcut_graph *fwd, *bwd;       /* after gcut_split */
    const void *info, *validity; /* what gcut_plan_look and gcut_plan_valid_at handed out; NULL until then */
    gcut_arena *owner;           /* what gcut_plan_free frees; NULL: the plan belongs to a step or a search */
} gcut_plan;

/* Decides.  Memory from the joint graph's module.  Throws GCUT_EPLAN: forced values that contradict each
 * other (both named with their lines), an unknown value name. */
gcut_plan *gcut_plan_make(gcut_graph *joint, const gcut_plan_options *opt);

/* What each iteration of a loop saves (partition/scan_plans.c): scans and their #adjoint scans become such
 * that save and recompute what the plan of one iteration says.  Returns `joint` itself when it has none. */
gcut_graph *gcut_plan_loops(gcut_graph *joint, const gcut_plan_options *opt, const char *name);

/* in: JOINT and its plan.  out: SPLIT: graphs <base>.fwd and <base>.bwd and `pair @<base>.step`.
 *   fwd: every parameter the forward graph reads, in the joint's order -> primal results, then `saved`.
 *   bwd: `saved` parameters, the params/inputs/states it reads, the cotangents -> `grad`, `next`.
 * Every `next` result is computed by bwd.  A recomputed value is placed lazily, just before its first reader,
 * once, named as in the joint graph, marked #recomputed, located at remat(loc). Order within a graph is
 * otherwise the joint's. The split is checked: saved agree by name and type, bwd reads nothing that is not
 * given.  What is saved in another form than PLAIN crosses as "<name>.bf16" or "<name>.bits": packed as soon
 * as it is there, unpacked just before its first reader.
 * The joint graph of an iteration is a body, and so are both graphs of it: no functions of the module, and no
 * pair; base says nothing. */
void gcut_split(gcut_plan *plan, const char *base);

#endif
