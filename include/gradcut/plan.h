/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans as data: the results of the functions on plans of gradcut.h.  The library's own tables, JSON, CSV and
 * pictures are made from these structures and those of explanation.h alone.
 *
 * Lists of structures that may grow are lists of pointers; gradcut.h says which those are.  Strings and lists
 * live as long as the structure that leads to them.
 */
#ifndef GRADCUT_PLAN_H
#define GRADCUT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcut_size { /* a symbol's size where plans are priced */
    const char *name;
    int64_t value;
} gcut_size;

/* A pass that ran, or work after the passes: emit, cc, load.  Texts are the library's. */
typedef struct gcut_pass_time {
    const char *function, *stage, *pass; /* stage: primal, joint, split, kernel, C; clone is the first pass */
    int64_t ns;                          /* wall time, the verifier's included */
    int64_t nodes_in, nodes_out;         /* of what it read and made, with those of bodies; -1: no graph */
} gcut_pass_time;

/* How tables of text are printed; {0}: whole, with repeated rows folded. */
typedef struct gcut_table_options {
    bool symbolic;       /* types and bytes as formulas of the symbols, where there is one */
    bool all;            /* a row for each value: rows whose names differ by numbers alone are not folded */
    bool bold;           /* titles of tables, by the escape sequences of terminals */
    uint8_t reserved[5]; /* 0 */
    int64_t top;         /* the most rows of a table to print; 0 = all of them */
    const char *
        match; /* only values whose names match: * stands for any characters, ? for any one; NULL, "" = all */
    int64_t columns; /* width of the terminal, which long names are cut to; 0 = no limit */
} gcut_table_options;

/* ---- a plan ---- */

#define GCUT_PLAN_FORMAT 1 /* of plan files */

/* In options and plans 0 means "not set": these values mean a price of 0 and a limit of 0 bytes. */
#define GCUT_LAMBDA_FASTEST (-1.0) /* saved bytes cost nothing */
#define GCUT_SAVE_NOTHING INT64_C(-1)
#define GCUT_BUDGET_MIN INT64_C(-1) /* the smallest peak that the planner finds */

typedef enum gcut_plan_decision {
    GCUT_PLAN_SAVED = 0,      /* crosses from the forward to the backward graph */
    GCUT_PLAN_RECOMPUTED = 1, /* computed by the forward graph and again by the backward graph */
    GCUT_PLAN_ALIVE = 2,      /* a param, input, state or result that the backward graph reads, or a constant:
                                 needs no further memory */
    GCUT_PLAN_UNUSED = 3,     /* the backward graph does not need it */
    GCUT_PLAN_BACKWARD = 4    /* depends on a gradient: the backward graph alone computes it */
} gcut_plan_decision;

typedef struct gcut_plan_reader {
    const char *name, *op;
    bool recomputed; /* it is computed again by the backward graph itself */
} gcut_plan_reader;

typedef struct gcut_plan_value {
    const char *name, *type, *op; /* "h2", "f32[32,256]", "relu"; of a parameter its role */
    const char *type_formula;     /* "f32[N,256]" */
    const char *where;            /* "mlp.c:42 act": source line and scope; "-" = unknown */
    gcut_plan_decision decision;
    bool result;         /* of the forward graph */
    const char *storage; /* of a saved one: "plain", "bf16", "bits", or "grad": in the memory of a gradient */
    double relative_error; /* by which storage may change an element: 2^-8 of bf16, else 0 */
    bool forced;           /* by a mark, an option or a plan file */
    int copies;            /* of a recomputed one: how often the backward graph computes it */
    int64_t bytes;         /* as stored */
    const char *bytes_formula;
    int64_t plain_bytes; /* in its own type */
    double save_ns;      /* price of saving it; INFINITY: it cannot be saved */
    double recompute_ns; /* price of recomputing it; INFINITY: it cannot be recomputed */
    bool flips_saved;    /* the minimum cut saves it at prices below the first flip */
    const double *flips; /* prices of a saved byte in ns, ascending, at which that decision changes: from the
                            plan's own price on where the plan is the cut at it, else from 0 */
    size_t nflips;
    const char *instead_op; /* of a saved, unforced value: the slowest op that would run if it were recomputed
                               and nothing else changed; NULL: not applicable */
    double instead_flops;   /* of that op */
    double instead_ns;      /* of all ops that would run then */
    const gcut_plan_reader *readers; /* in the backward graph, in its order */
    size_t nreaders;
} gcut_plan_value;

typedef struct gcut_plan_op {
    const char *name, *op;
} gcut_plan_op;

/* The values that each iteration of a loop saves for its backward loop, and those recomputed there. */
typedef struct gcut_plan_loop {
    const char *name, *where; /* its first result; as of a value */
    int64_t step_bytes;       /* that one iteration saves */
    const char *const *saved; /* names */
    const gcut_plan_op *recomputed;
    size_t nsaved, nrecomputed;
} gcut_plan_loop;

/* A line of a plan file: the decision about one value. */
typedef struct gcut_replay_line {
    const char *name, *op;
    const char *type;            /* in symbols, as the text IR has it: "f32[N, 256]" */
    gcut_plan_decision decision; /* GCUT_PLAN_SAVED or GCUT_PLAN_RECOMPUTED */
    const char *storage;         /* of a saved one, as above; else NULL */
    bool forced;
    int64_t bytes;
    double ns;                 /* of saving it, or of all its copies, where saved bytes cost nothing */
    const char *const *before; /* of a recomputed one: the backward values before which one more copy is made;
                                  NULL: before the results */
    size_t nbefore;
} gcut_replay_line;

/* The lines about a graph, or about an iteration of a loop: values in their order there.  Views are only
 * among them where more than one copy is made. */
typedef struct gcut_replay_part {
    const char *loop; /* its first result; NULL: the whole graph */
    const gcut_replay_line *const *line;
    size_t n;
} gcut_replay_part;

/* budget and saved_budget are as in gcut_options, to be given again, and so is lambda where both are 0. */
typedef struct gcut_plan_info {
    const char *graph, *policy;
    double lambda;     /* ns a saved byte, counted in cost_ns; GCUT_LAMBDA_FASTEST = 0, also with a budget */
    int64_t budget;    /* on the peak, that chose the plan; 0 = none */
    const char *label; /* of the plan that the budget chose, or "3 flips"; NULL: neither */
    int64_t saved_budget; /* 0 = none; or GCUT_SAVE_NOTHING */
    const gcut_size *at;  /* the sizes that it was priced at */
    size_t nat;
    const char *save_dtype;          /* NULL = none */
    int64_t saved_bytes;             /* that cross from the forward to the backward graph */
    int64_t peak_bytes;              /* of the whole training step, predicted; -1: not known */
    const char *saved_bytes_formula; /* NULL: they depend on no symbol */
    int64_t block_bytes; /* with options.apart: of the block of saved values, each on lines of 64 bytes after
                            a head of one; else 0 */
    int64_t forward_bytes, backward_bytes; /* likewise: of the values that are there in each call, the block,
                                              and the arena that the call touches */
    double step_ns;                        /* predicted; NAN: not known */
    double recompute_ns, cost_ns;          /* of the recomputed values; of saving and recomputing */
    double lower_bound_ns;                 /* of cost_ns, for any plan; NAN: none is proved */
    const char *graph_hash, *nodes_hash;   /* of the plan file: the graph that it was made for */
    const char *lists_hash;                /* of what is saved and recomputed: tells edits of those lists */
    /* Saved ones, largest first; recomputed ones; alive ones: else in the graph's order. */
    const gcut_plan_value *const *value;
    size_t n;
    const gcut_plan_loop *const *loop;
    size_t nloops;
    const gcut_replay_part *const *part; /* the whole graph's, then those of iterations of loops */
    size_t nparts;
    const char *machine,
        *machine_hash; /* the machine model that prices come from: its name, and of its contents */
    int threads,
        priced_threads; /* that the plan is for: options.threads, or the model's default number; and those of the
                           prices, which differ where the model has no section for that number */
    /* Of the plan file that was replayed: its machine model, where it is another one, else NULL; the limits for which the
     * plan was made, as above. */
    const char *file_machine, *file_machine_hash;
    int64_t file_budget, file_saved_budget;
    /* The convolutions, in the graph's order, whose kernels take the algorithm with less workspace, for a
     * budget. */
    const char *const *less_workspace;
    size_t nless_workspace;
} gcut_plan_info;

/* The sizes of one symbol around the plan's own, the others as they are, at which no plan is cheaper. */
typedef struct gcut_valid_range {
    const char *symbol;
    int64_t lo, hi;          /* it is the cheapest at both, and at every size between them that was tried */
    bool lo_exact, hi_exact; /* the next size is not allowed, or another plan is cheaper there */
    bool unbounded;          /* cheapest at every size tried, and the symbol has no upper limit */
} gcut_valid_range;

typedef struct gcut_plan_validity {
    const char *skipped;         /* why no range was searched; NULL */
    bool best;                   /* no plan is cheaper at the plan's own sizes */
    double above_ns;             /* else: the plan's cost less that of the cheapest cut found */
    double minimum_ns, bound_ns; /* that cut's cost, 0: not searched; no plan costs less than the bound */
    const gcut_valid_range *const *range; /* where best: one for each symbol */
    size_t n;
} gcut_plan_validity;

/* ---- two plan files compared ---- */

/* One of two plan files that are compared. */
typedef struct gcut_plan_side {
    const char *file, *policy;
    double lambda; /* price of a saved byte in ns, which cost_ns counts; 0 under a budget */
    int64_t budget,
        saved_budget; /* limits for which the plan was made, on the peak and on saved bytes; -1: none */
    const gcut_size *at;
    size_t nat;
    int64_t saved_bytes, peak_bytes; /* peak -1: not known */
    double recompute_ns, cost_ns;
    double step_ns;                     /* NAN: not known */
    const char *machine, *machine_hash; /* as of gcut_plan_info; hash NULL: the file does not say */
    const char *const *less_workspace;  /* as of gcut_plan_info */
    size_t nless_workspace;
} gcut_plan_side;

/* A value on which they decide differently. */
typedef struct gcut_plan_difference {
    const char *loop;              /* of whose iteration it is a value; NULL: of the whole graph */
    const gcut_replay_line *a, *b; /* NULL: it has no line there */
} gcut_plan_difference;

typedef struct gcut_plan_diff {
    bool equal;      /* plans of one graph, in which no value differs */
    bool same_graph; /* by its ops and names, or not decided: there are plans of iterations */
    const gcut_plan_side *a, *b;
    const gcut_plan_difference *const *difference;
    size_t n;
    const char *json;
} gcut_plan_diff;

/* ---- what was measured ---- */

/* Steps are measured in rounds: each runs once in a round, whose order is drawn from options.seed.  A median has
 * the interval of 95 % that resamples of the rounds give, from the same seed; NAN for too few rounds.  A ratio of
 * two medians has one by the same resamples, so it compares times of the same rounds, and the two steps are
 * separable if it does not contain 1. */
enum { GCUT_RESAMPLES = 2000, GCUT_LEAST_ROUNDS = 6 };

/* One measured time. */
typedef struct gcut_sample {
    int round, turn;  /* from 0; turn: its place in the round */
    size_t row;       /* of the table: which point or variant */
    const char *name; /* of that */
    double ns;
} gcut_sample;

/* ---- a profile ---- */

/* One kernel launch of the emitted code, or a matrix product with its epilogue.  Times are sums over one
 * training step: a loop's body runs its launches many times. */
typedef struct gcut_kernel_time {
    const char *family;     /* "gemm", "loop", "row loop", …: kernels with one prediction formula */
    const char *value, *op; /* the last value that it computes, and its op */
    const char *where;      /* its source line, "" = unknown */
    bool backward;          /* of the backward graph */
    int launch;             /* k<launch> of the emitted code */
    double runs;            /* in one training step */
    double predicted_ns, measured_ns;
    double flops;              /* of products, convolutions and attention: two per multiply-add */
    double bytes;              /* read and written */
    double lower_ns, upper_ns; /* quartiles of the measured time; measured_ns is its median */
    double least_ns;           /* the least of the measured times */
    const double *busy_ns;     /* by thread, how long of measured_ns it computed; NULL = not known */
} gcut_kernel_time;

typedef struct gcut_profile {
    double predicted_ns;               /* of a training step: the sum over kernels */
    double best_ns, median_ns, p90_ns; /* measured without the clock between kernels */
    double flops, bytes;               /* of one training step */
    /* By the machine model: of large products, of memory read and written. */
    double peak_flops_per_second, peak_bytes_per_second;
    int threads, steps;
    size_t n;
    const gcut_kernel_time *const *at; /* in running order */
    double median_lo_ns, median_hi_ns; /* its interval, with each step as a round */
    const gcut_sample *const *sample;  /* each of the steps that best, median and p90 are of */
    size_t nsamples;
    const char *samples; /* as CSV */
    int priced_threads; /* those that times are predicted for: `threads`, unless the model has no section for so
                            many or so few */
    const char *graph, *joint_hash; /* its name; of the joint graph, which the options determine, too */
    const char *machine;            /* the machine model of the predicted times and of the limits */
    const gcut_size *sizes;         /* of the symbols in these steps */
    size_t nsizes;
    bool means; /* of a step compiled ahead of time: each time is a mean, with the clock between kernels */
    /* The round trip of a cache line between the threads, over what it was when the machine was calibrated: far from 1 where a
     * host has moved the processors of a virtual machine.  NAN: unknown. */
    double line_ratio;
} gcut_profile;

/* ---- a frontier ---- */

/* One plan of a frontier. */
typedef struct gcut_frontier_point {
    const char *label;  /* "lambda 0.31"; of a baseline its policy */
    const char *policy; /* "mincut" unless a baseline */
    bool baseline;
    bool again;    /* a baseline that is the one of `mincut` once more, compiled and measured by itself: what
                      differs between these two is noise */
    double lambda; /* price of a saved byte in ns: at which the cut was found, 0 where a limit of bytes was;
                      of a baseline the one of the options */
    int64_t saved_bytes;
    int64_t peak_predicted; /* of the whole training step, exact */
    int64_t peak_measured;  /* -1: not measured */
    size_t recomputed;      /* values computed in both graphs */
    double cost_ns;         /* of saving and recomputing, predicted */
    double step_ns_predicted;
    double step_ns_best, step_ns_median, step_ns_lo, step_ns_hi; /* NAN: not measured */
    /* Of a baseline: the plan that a budget of its peak takes (options.budget), chosen by prediction alone, and
     * its time over this one's, predicted and measured.  Of `again`: `mincut`.  NULL: no baseline. */
    const struct gcut_frontier_point *ours;
    double ratio_predicted;
    double ratio, ratio_lo, ratio_hi; /* NAN: not measured */
    bool separable;
    const char *plan; /* its plan file */
} gcut_frontier_point;

typedef struct gcut_frontier {
    const char *graph;
    const gcut_size *at; /* the sizes of the plans */
    size_t nat;
    int threads, rounds; /* rounds 0: not measured */
    /* By falling peak, then the baselines.  Measured ones include each `ours`. */
    const gcut_frontier_point *const *point;
    size_t n;
    size_t plans, frontier; /* plans tried; of those, the number that no other beats in both peak and time */
    const char *text, *csv, *json, *svg;
    uint64_t seed;
    const gcut_sample *const *sample; /* every measured time, in the order in which they were taken */
    size_t nsamples;
    const char *samples; /* as CSV */
} gcut_frontier;

/* ---- memory over a training step ---- */

typedef enum gcut_memory_class {
    GCUT_MEMORY_PARAMETERS = 0,
    /* Of parameters: results or, where an optimizer reads them, in the arena. */
    GCUT_MEMORY_GRADIENTS = 1,
    GCUT_MEMORY_STATES = 2, /* of optimizers and running statistics */
    GCUT_MEMORY_INPUTS = 3, /* keys of random numbers and cotangents included */
    GCUT_MEMORY_RESULTS = 4,
    GCUT_MEMORY_SAVED = 5,      /* what crosses from the forward to the backward graph */
    GCUT_MEMORY_RECOMPUTED = 6, /* what the backward graph computes again */
    GCUT_MEMORY_TEMPORARIES = 7,
    GCUT_MEMORY_WORKSPACE = 8 /* of kernels */
} gcut_memory_class;
enum { GCUT_MEMORY_CLASSES = 9 };

/* Values that are in one buffer one after another: named after the saved one among them, else after the first. */
typedef struct gcut_memory_buffer {
    const char *name;
    const char *type; /* "f32[32,256]"; NULL: it holds no value of the joint graph */
    gcut_memory_class kind;
    int64_t bytes;          /* as placed: of the arena a multiple of 64 */
    int64_t offset;         /* in the arena; -1: it is the caller's or in the block of saved values */
    size_t first, last;     /* events: alive from the first to the last, both included */
    bool at_peak;           /* alive when the event `peak` has the most bytes */
    const char *op, *where; /* that makes it, or its role; source line and scope, "" = unknown */
    /* "%h2 relu": what the first and the last event make; NULL: the caller's. */
    const char *made_by, *last_read_by;
} gcut_memory_buffer;

/* A launch of the emitted code; a product and the epilogue after it are one.  Those of a loop's body follow the
 * loop, once. */
typedef struct gcut_memory_event {
    int launch; /* k<launch> of the emitted code */
    bool backward;
    const char *value, *op, *where;    /* that it is named after; source line and scope, "" = unknown */
    double start_ns, ns;               /* predicted, in a step; ns: of all its runs */
    int64_t live[GCUT_MEMORY_CLASSES]; /* bytes, where they are the most together during the event */
    int64_t bytes;                     /* the sum of live */
} gcut_memory_event;

typedef struct gcut_memory_profile {
    const char *graph, *policy;
    const gcut_size *at;
    size_t nat;
    int threads;
    double step_ns; /* predicted */
    /* Of the whole step, as in its plan: the sum of the classes at `peak`, and gap_bytes. */
    int64_t peak_bytes;
    int64_t arena_bytes;                   /* of it, in the arena and the block of saved values */
    int64_t gap_bytes;                     /* of the arena, what no buffer is in at `peak` */
    size_t peak;                           /* the first event with the most bytes; 0 without events */
    const gcut_memory_event *const *event; /* in running order */
    size_t nevents;
    const gcut_memory_buffer *const *buffer; /* the caller's, then the others by first event */
    size_t nbuffers;
    const struct gcut_memory_profile *against; /* the step of another plan; NULL */
    const char *json, *svg;
} gcut_memory_profile;

/* What the text of a profile contains. */
typedef enum gcut_memory_part {
    GCUT_MEMORY_SUMMARY = 0, /* classes at the peak, a picture of the step, the largest holders */
    GCUT_MEMORY_AT_PEAK = 1, /* all that is alive at the peak, by class, by op and by source line */
    GCUT_MEMORY_MAP = 2      /* every buffer of the arena: offset, bytes, first and last event */
} gcut_memory_part;

/* ---- kernels ---- */

/* An op of a launch. */
typedef struct gcut_fused_op {
    const char *value, *op, *where; /* its first result; source line and scope */
    /* "" of the kernel itself; "prologue": computed while a product packs it; "epilogue": on the tiles of a product,
     * which are in cache; "sum": added up by a product that packs what it adds up */
    const char *part;
    bool stored; /* in memory, where a later launch or the caller reads it */
} gcut_fused_op;

/* A launch of the emitted code. */
typedef struct gcut_fused_kernel {
    const char *family, *value, *op, *where; /* as of gcut_kernel_time; op "copy": it copies the value */
    bool backward;
    int launch;      /* k<launch> of the emitted code */
    double runs, ns; /* in a step; ns: predicted, of all runs */
    double flops, bytes;
    /* The loop or branch of the step that it is in, by its first result, and the op; NULL: it is in none. */
    const char *loop, *loop_op;
    size_t first;          /* index of the first kernel of that loop, else of this one */
    double unstored_bytes; /* of results of its ops that are never in memory, in all its runs, each once */
    const gcut_fused_op *const *made; /* in the order of the graph */
    size_t nmade;
} gcut_fused_kernel;

/* An op that reads from memory what another launch made. */
typedef struct gcut_unfused {
    const char *value, *op, *where;                /* what is read */
    const char *reader, *reader_op, *reader_where; /* who reads it */
    int from, to; /* launches; from is -1 where a loop, a branch or several launches make it */
    bool backward;
    bool again;                /* an op before it reads the value in the same launch, and has the bytes */
    const char *code, *reason; /* of the closed list in doc/inspection.md: its name and a sentence */
    /* What the pair costs: the bytes that `to` reads and, unless it is stored anyway, those that `from` writes, and
     * the predicted time of that traffic by itself, in all runs. */
    double bytes, ns;
    /* Why it would be stored if these two were one launch: "others read it", "saved for the backward graph",
     * "the caller's"; NULL: it would not. */
    const char *anyway;
} gcut_unfused;

/* A kernel reads what another one makes. */
typedef struct gcut_kernel_dependence {
    size_t kernel, on; /* indices of kernels, on < kernel; of a loop its first one stands for all */
} gcut_kernel_dependence;

typedef struct gcut_fusion {
    const char *graph, *policy; /* policy: "forward alone" with options.forward_only */
    const gcut_size *at;
    size_t nat;
    int threads;
    const char *machine; /* the machine model of the times */
    double step_ns;
    const gcut_fused_kernel *const *kernel; /* in running order */
    size_t nkernels;
    /* Each value and op of another kernel that reads it, in the order of the graphs. */
    const gcut_unfused *const *unfused;
    size_t nunfused;
    const gcut_kernel_dependence *dependence; /* by rising `kernel` */
    size_t ndependences;
    const char *json;
} gcut_fusion;

/* ---- what is probably not meant ---- */

typedef struct gcut_lint_finding {
    const char *rule;            /* out of the closed list in doc/inspection.md */
    const char *means, *instead; /* of the rule: what it is about, and what to do */
    const char *value, *where;   /* source line and scope, "" = unknown */
    const char *says;            /* of this value */
    double bytes;                /* that it is about; 0: none */
} gcut_lint_finding;

typedef struct gcut_lint_report {
    const char *graph;
    const gcut_size *at;
    size_t nat;
    const gcut_lint_finding *const *finding; /* by rule, then in the graph's order */
    size_t n;
    const char *json;
} gcut_lint_report;

/* ---- the largest size that fits a budget ---- */

/* A size that was tried. */
typedef struct gcut_fit_try {
    int64_t size;
    bool fits;
    const char *refused; /* why no plan was found, a sentence; NULL: it fits */
    int64_t peak_bytes;  /* of its plan, else the smallest found; -1: not known */
    int64_t bound_bytes; /* refused: no plan at all has a smaller peak; -1: not known */
    /* Of a size that fits: */
    const char *label;   /* of its plan, as of gcut_plan_info; else its policy */
    int64_t saved_bytes; /* that cross from the forward to the backward graph */
    double step_ns;      /* predicted; NAN: not known */
    double per_second;   /* sizes by predicted seconds: examples a second where the symbol counts examples */
    double recompute_share; /* time of what is recomputed, by the cut's prices, over step_ns */
    const char *plan;       /* its plan file */
} gcut_fit_try;

typedef struct gcut_fitted {
    const char *graph, *symbol;
    int64_t budget;
    const gcut_size *at; /* the sizes of the other symbols */
    size_t nat;
    int threads;
    int64_t most;                /* no larger size is looked for */
    const gcut_fit_try *largest; /* of those tried that fit */
    const gcut_fit_try *next;    /* the smallest refused one above it; NULL: there is none */
    bool adjacent;               /* the graph allows no size between these two */
    int64_t looked;              /* without `next`: the graph allows no size above `largest` up to this one */
    const gcut_fit_try *best;    /* that fits, with the most per second; NULL: times are not known */
    const gcut_fit_try *const *tried; /* by rising size */
    size_t n;
    const char *text, *json;
} gcut_fitted;

/* ---- variants of a step beside each other ---- */

/* Work of one graph of a variant in a training step. */
typedef struct gcut_variant_graph {
    int64_t ops;     /* nodes that compute: neither constants nor views */
    int64_t kernels; /* launches of the emitted code, each counted once; interpreted: ops */
    double launches; /* of a step: a loop's body counts as often as it runs */
    double bytes;    /* read and written in a step: each buffer once in a launch; interpreted: operands and
                        results of each op, views as what they are of */
} gcut_variant_graph;

typedef struct gcut_variant {
    const char *name;
    const char *policy;                           /* the policy of its plan; NULL: interpreted, no plan */
    const gcut_variant_graph *forward, *backward; /* backward NULL: there is none */
    int64_t saved_bytes;    /* that cross from the forward to the backward graph; -1: interpreted */
    int64_t peak_predicted; /* of the whole step; -1: interpreted */
    int64_t peak_measured;  /* -1: interpreted */
    double step_ns_best, step_ns_median, step_ns_lo, step_ns_hi;
    /* The time of the variant `to` over this one's; NAN: it is `to`. */
    double ratio, ratio_lo, ratio_hi;
    bool separable;
} gcut_variant;

typedef struct gcut_comparison {
    const char *graph;
    const gcut_size *at; /* the sizes of the runs */
    size_t nat;
    int threads, rounds;
    const gcut_variant *const *variant; /* in the order of the call, then `again` */
    size_t n;
    const gcut_variant *from; /* of the two that the sentence compares: `unfused`, else the first; NULL: there
                                 is only one */
    const gcut_variant *to;   /* the other, which all are compared with: `planned`, else the last */
    const char *sentence;     /* "" where there is only one */
    const char *text, *json;
    /* `to` once more, "planned again", compiled and measured by itself: what differs between the two is noise */
    const gcut_variant *again;
    uint64_t seed;
    const gcut_sample *const *sample; /* every measured time, in the order in which they were taken */
    size_t nsamples;
    const char *samples; /* as CSV */
} gcut_comparison;

#ifdef __cplusplus
}
#endif

#endif
