/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room partition/: decides which forward values the backward graph gets saved and which it recomputes, as a
 * minimum cut with two prices per value.
 *
 *   takes:  a joint graph (stage JOINT), gcut_plan_options, a machine model
 *   gives:  gcut_plan, one decision per value; the forward and the backward graph (stage SPLIT), and of such a
 *           pair its joint graph again (join.c); reports
 *   keeps:  every value's name and bits: a plan changes when a value is computed, never what it is, but for
 *           the rounding of convolutions that take less workspace
 *
 *   sides ─▶ prices ─▶ network ─▶ solve (GLPK) ─▶ plan ─▶ split
 *
 *   cut/       prices, flow network, minimum cut, frontier of all minimum cuts, limit on saved bytes
 *   budget/    simulated plans for a limit on the peak: nested checkpoints, second copies, simulated memory
 *   bounds/    lower bounds of the cost under such a limit, and the least memory that values may take
 *   policies/  the baselines that --policy names: PyTorch's rules, sqrt(n) segments, and others
 *   plan_file/ plan files: written, read, replayed, compared
 *   query/     what is asked of a plan: readers, chains, explanations, the sizes for which it stays the best
 */
#ifndef GCUT_PARTITION_PARTITION_H
#define GCUT_PARTITION_PARTITION_H

#include "graph/graph.h"
#include "machine/machine.h"
#include "gradcut/plan.h"

/* The rule that decides what is saved (partition/policies/policy.h). */
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
struct gcut_pipeline;
struct gcut_plan_file; /* partition/plan_file/plan_file.h */

/* The plans of iterations of scans, in the order in which gcut_plan_scans made them. */
typedef struct gcut_scan_plan {
    const char *scan; /* the first result of the forward scan */
    struct gcut_plan *iteration;
} gcut_scan_plan;
typedef struct gcut_scan_plans {
    GCUT_VEC(gcut_scan_plan) all;
} gcut_scan_plans;

#define GCUT_LAMBDA_DEFAULT 0.05 /* ns per saved byte; include/gradcut/options.def prints it in help texts */
#define GCUT_LAMBDA_MOST 1e100   /* keeps lambda * bytes finite for the most bytes that a graph may have */
static inline bool gcut_is_lambda(double lambda)
{
    return lambda >= 0 && lambda <= GCUT_LAMBDA_MOST;
}

typedef struct gcut_plan_options {
    gcut_policy policy;
    double torch_budget; /* of TORCH_BUDGET: PyTorch's activation_memory_budget, 0 to 1 */
    double lambda;       /* ns per byte, 0 to GCUT_LAMBDA_MOST */
    bool saved_limited;  /* MINCUT: lambda is 0, and at most saved_budget bytes are saved */
    int64_t saved_budget;
    const gcut_dim_binding *at; /* where sizes are evaluated for prices: every symbol of the graph */
    uint32_t nat;
    gcut_machine machine;
    /* gcut_rt_gemm_packings: how often `threads` threads pack each element of operand A (of_b: B) of the
     * product [m, k] times [k, n] when they compute the operand while packing it; 0 = it is not computed
     * there.  A has stride csa along k, in elements of `size` bytes.  NULL = never computed there. */
    int64_t (*packings)(int64_t m, int64_t n, int64_t k, int64_t csa, int64_t size, int threads,
                        int whole_rows, int of_b);
    const char *const *save, *const *recompute; /* value names forced, beside #must_save / #must_recompute */
    uint32_t nsave, nrecompute;
    bool apart; /* forward and backward graph are called apart: saved values are in a separate block during
                   both calls, and the forward graph begins no gradient */
    gcut_dtype save_dtype;  /* GCUT_BF16: f32 values may be saved rounded to it; 0 = every value as it is */
    gcut_scan_plans *scans; /* gcut_plan_scans appends to it for reports; NULL = not collected */
    struct gcut_plan_file *file; /* the plan file to replay instead of deciding; NULL = none */
} gcut_plan_options;

typedef enum gcut_value_side {
    GCUT_SIDE_FORWARD, /* the forward graph needs it: primal results depend on it */
    GCUT_SIDE_EITHER,  /* either graph can compute it: no cotangent needed, read by the backward graph only */
    GCUT_SIDE_BACKWARD /* depends on a cotangent, or only serves `next` results */
} gcut_value_side;

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
    gcut_value_side side;
    gcut_plan_decision decision;
    bool forced;         /* by a mark or an option */
    gcut_format format;  /* of a SAVED value */
    uint32_t grad;       /* of format GRAD: the index of the result whose memory stores the value */
    uint32_t copies;     /* of a RECOMPUTED value: how often the backward graph computes it */
    int64_t bytes;       /* storage of its alias class's base, in its format; 0 for a view */
    double recompute_ns; /* c_v; INFINITY when forbidden */
    double save_ns;      /* t_v + lambda * bytes */
    const char *reason;  /* static text: why a price is infinite or zero, NULL otherwise */
    bool less_workspace; /* of a convolution: its kernels take the algorithm with less workspace */
} gcut_decision;

/* What gcut_plan_look and gcut_plan_valid_at returned for a plan, which is const there; NULL before the
 * call. */
typedef struct gcut_plan_cache {
    const gcut_plan_info *info;
    const gcut_plan_validity *validity;
} gcut_plan_cache;

typedef struct gcut_plan {
    gcut_graph *joint;
    gcut_plan_options options;
    gcut_decision *value;  /* by value id of the joint graph */
    gcut_schedule forward; /* after gcut_split */
    gcut_schedule backward;
    double cost_ns;        /* the cut: saved prices + recompute prices */
    double lower_bound_ns; /* max flow minus the quantisation error bound */
    double recompute_ns;   /* sum of c_v over recomputed values */
    int64_t saved_bytes;   /* at options.at */
    gcut_dim saved_bytes_sym;
    int64_t peak_bytes; /* of the whole training step; set after the arena is placed, else -1 */
    /* options.apart, set after the arena is placed, else 0: bytes of the block of saved values, and bytes
     * that exist during the forward and during the backward call. */
    int64_t block_bytes, call_bytes[2];
    double step_ns;        /* predicted; set after the kernels are priced, else NAN */
    int64_t budget;        /* the limit on the peak that chose this plan; 0 = none */
    uint32_t flips;        /* decisions of the cut that local search changed; under a budget 0 */
    const char *label;     /* printed: of the plan that the budget chose, or "3 flips"; NULL: neither */
    gcut_graph *fwd, *bwd; /* after gcut_split */
    gcut_plan_cache *cache;
    struct gcut_pipeline *pipeline; /* driver/: whose plan it is; NULL before the split */
    gcut_arena *owner; /* what gcut_plan_free frees; NULL: the plan belongs to a step or a search */
} gcut_plan;

/* Did the price of a saved byte choose it, by the cut alone or with flips, and not a policy, a budget or a limit on saved
 * bytes? */
static inline bool gcut_plan_is_priced(const gcut_plan *plan)
{
    return plan->options.policy == GCUT_POLICY_MINCUT && !plan->options.saved_limited && !plan->budget;
}

/* Makes the plan.  Memory from the joint graph's module.  Throws GCUT_EPLAN: forced values that contradict
 * each other (both named with their lines), an unknown value name. */
gcut_plan *gcut_plan_make(gcut_graph *joint, const gcut_plan_options *opt);

/* Rewrites each scan and its #adjoint scan so that every iteration saves and recomputes what the plan of one
 * iteration says (partition/scan_plans.c).  Returns `joint` itself when it has no such scans. */
gcut_graph *gcut_plan_scans(gcut_graph *joint, const gcut_plan_options *opt, const char *name);

/* in: JOINT and its plan.  out: SPLIT: graphs <base>.fwd and <base>.bwd and `pair @<base>.step`.
 *   fwd: every parameter the forward graph reads, in the joint's order -> primal results, then `saved`.
 *   bwd: `saved` parameters, the params/inputs/states it reads, the cotangents -> `grad`, `next`.
 * Every `next` result is computed by bwd.  fwd has the joint's order, bwd that of plan->backward, which is
 * described in cut/schedule.h.
 * A recomputed value is named as in the joint graph, marked #recomputed, or #recomputed(k) as its k-th copy,
 * and located at remat(loc).  The split is checked: saved agree by name and type, bwd reads only its
 * parameters.
 * A value saved in another format than PLAIN crosses as "<name>.bf16" or "<name>.bits": packed right after
 * its node, unpacked just before its first reader.
 * The joint graph of a loop iteration is a body, and so are its two graphs: they are no functions of the
 * module, there is no pair, and `base` is ignored. */
void gcut_split(gcut_plan *plan, const char *base);
/* The joint graph of a pair's graphs, which it reads: the nodes of both, in that order.  Bodies of nodes are
 * shared. */
gcut_graph *gcut_join(const gcut_graph *fwd, const gcut_graph *bwd, const char *name);

#endif
