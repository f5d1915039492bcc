/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plain C functions as graphs: values that are computed at once, and recording (doc/tracing.md).
 *
 * A function of type gcut_body computes out[] from in[] by the calls of gradcut/ops.h.  With values of an eager graph it
 * computes; gcut_trace records the same calls as a graph; gcut_jit compiles what it records for the sizes of each call.
 */
#ifndef GRADCUT_TRACE_H
#define GRADCUT_TRACE_H

#include "gradcut/gradcut.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- eager graphs ---- */

/* A graph whose values are computed by the calls that make them: small ones by the interpreter at their dtype, large
 * ones by compiled steps of one op.  Inputs, parameters, states and keys, "parameters" below, need contents first.  A call
 * that fails gives null, sets the error of the context and changes nothing else: gcut_graph_ok stays true.  NULL without
 * memory.  Free it with gcut_graph_free. */
GCUT_API gcut_graph *gcut_eager(gcut_ctx *ctx);
/* Declares a symbol of an eager graph with lo <= size <= hi, whose size is `size` here; for gcut_trace, which records with the
 * symbol.  gcut_shape_of gives the symbol, with which C code must not compute.  0 on error. */
GCUT_API gcut_dim gcut_dim_now_at(gcut_here at, gcut_graph *g, const char *name, int64_t lo, int64_t hi,
                                  int64_t size);
/* Copies the contents of a parameter of an eager graph: packed row-major, of its dtype.  They can be replaced until an op
 * has read them, and after gcut_forget.  Returns v, null when it fails. */
GCUT_API gcut_val gcut_write_at(gcut_here at, gcut_val v, const void *contents);
/* The contents of a value of an eager graph, packed row-major, valid until gcut_forget or gcut_graph_free.  NULL with an
 * error on any other graph, also on one under recording: gcut_cond chooses a branch there. */
GCUT_API const void *gcut_data_at(gcut_here at, gcut_val v);
/* What a bool scalar is, to branch in C: of an eager graph, or of one under recording, which notes the outcome.  false with
 * an error on any other graph. */
GCUT_API bool gcut_cond_at(gcut_here at, gcut_val v);
/* Adds the gradients of a scalar by every float parameter (gcut_param) of the eager graph to those of earlier calls since
 * gcut_forget.  An error is in the context (gcut_last_status). */
GCUT_API void gcut_backward_at(gcut_here at, gcut_val loss);
/* That sum of a parameter; null with an error before gcut_backward. */
GCUT_API gcut_val gcut_gradient_of_at(gcut_here at, gcut_val param);
/* Removes all values of an eager graph but the parameters that were declared before the first op, which stay valid with
 * their contents; a later call on a removed value is an error.  Gradients and the functions beside the graph are removed,
 * too.  For the end of an iteration: what it made is no longer needed.  GCUT_EUSAGE on another graph, and in a recorded
 * function. */
GCUT_API gcut_status gcut_forget(gcut_graph *g);
#define gcut_dim_now(g, name, lo, hi, size) gcut_dim_now_at(GCUT_HERE, g, name, lo, hi, size)
#define gcut_write(...) gcut_write_at(GCUT_HERE, __VA_ARGS__)
#define gcut_data(v) gcut_data_at(GCUT_HERE, v)
#define gcut_cond(v) gcut_cond_at(GCUT_HERE, v)
#define gcut_backward(loss) gcut_backward_at(GCUT_HERE, loss)
#define gcut_gradient_of(param) gcut_gradient_of_at(GCUT_HERE, param)

/* ---- recording ---- */

typedef struct gcut_trace_options {
    const char *name; /* of the graph; NULL = "traced" */
    /* Runs the function again for each outcome of its gcut_cond that its inputs do not lead to, so that the graph has both
     * branches of each.  false: with a result `guard`, true where the recorded branches are the right ones. */
    bool branches;
    uint8_t reserved[7]; /* 0 */
} gcut_trace_options;

/* Records fn(user, g, in, out) as a graph with parameters of the names, roles, types and symbols of the values in[],
 * which are parameters of an eager graph, and results out0, out1, …, or `out` where there is one.  fn may name further
 * results by gcut_output, gcut_gradient and gcut_next.  Branches of gcut_cond become `if` regions where both are
 * recorded and give the same types.  fn may be run several times and must do the same each time; it must not read data,
 * run a step, call a gcut_jit, free a graph, a step, a gcut_jit or a context, or build on another thread: such a call
 * fails, and the trace with it.  One run may ask gcut_cond 64 times; with `branches` there may be 256 paths.  Where
 * in[] has symbols, what is recorded must be the same with their sizes in place of them.  fn may leave by longjmp or an
 * exception: the context stays usable, and frees what was recorded.  At least 9 equal iterations of a loop become a
 * scan; the log hook is told of the line that is in the graph most often, if that is as often.  opt NULL = defaults.
 * The caller's (gcut_graph_free); NULL on any error. */
GCUT_API gcut_graph *gcut_trace_sized(size_t size, gcut_here at, gcut_ctx *ctx, gcut_body *fn, void *user,
                                      const gcut_val *in, int nin, int nout, const gcut_trace_options *opt);
#define gcut_trace(...) gcut_trace_sized(sizeof(gcut_trace_options), GCUT_HERE, __VA_ARGS__)

/* ---- compiled for each call ---- */

/* An argument or a result: packed row-major memory. */
typedef struct gcut_jit_value {
    void *at;
    gcut_dtype dtype;
    int rank;
    int64_t dim[GCUT_MAX_RANK];
} gcut_jit_value;

typedef struct gcut_jit gcut_jit;

typedef struct gcut_jit_options {
    int entries;         /* at most; calls that need another are interpreted; 0 = 8 */
    bool background;     /* compile on another thread; calls are interpreted until it is done */
    bool fixed;          /* no size becomes a symbol: each set of sizes has an entry */
    uint8_t reserved[2]; /* 0 */
} gcut_jit_options;

/* The function as a callable that compiles itself.  The first call of a set of dtypes, ranks, sizes and a number of results
 * records fn, and compiles it as an entry.  A call that differs from an entry by sizes alone makes them symbols of a new
 * one, if what fn does at both varies as these sizes do; sizes 0 and 1 stay numbers.  fn itself only sees numbers.  A branch
 * of gcut_cond that no call took before is recorded when a call takes it, and is compiled beside the other one.  Sizes that
 * an entry did not have before are checked by recording fn again.  fn must do what gcut_trace asks of it.  name: of the graphs.  opt: how entries are
 * compiled, without derivatives, which fn makes by gcut_grad, and without sizes; NULL = {0}.  The jit has the hooks and
 * external kernels that ctx has now.  Its hooks and allocator are called on the threads that call the jit, and on those that
 * compile in the background, also by several at a time.  The caller's (gcut_jit_free); NULL on error. */
GCUT_API gcut_jit *gcut_jit_new_sized(size_t size, size_t how_size, gcut_here at, gcut_ctx *ctx,
                                      const char *name, gcut_body *fn, void *user, const gcut_options *opt,
                                      const gcut_jit_options *how);
#define gcut_jit_new(...)                                                                                    \
    gcut_jit_new_sized(sizeof(gcut_options), sizeof(gcut_jit_options), GCUT_HERE, __VA_ARGS__)
/* Not while another thread calls it, nor by a recorded function.  Waits for compilations in the background. */
GCUT_API void gcut_jit_free(gcut_jit *jit);
/* Calls it with at most 256 arguments, aligned for their dtypes: out[k] is set to the k-th result, whose memory is valid
 * until this thread's next call of it, of which it may be an argument.  Several threads may call at the same time: each has
 * steps of its own, until gcut_jit_free.  One thread at a time records and compiles, others that need that wait; where fn
 * leaves by longjmp or an exception, until that thread calls the jit again.  After a failure gcut_last_error(NULL) has the
 * message. */
GCUT_API gcut_status gcut_jit_call(gcut_jit *jit, const gcut_jit_value *in, int nin, gcut_jit_value *out,
                                   int nout);

/* Runs the entry that the arguments fit by every backend on them, as gcut_crosscheck does: the report names the first op
 * that differs.  A call with these dtypes, ranks and sizes was made before.  tol 0 = by dtype.  The caller's (gcut_free);
 * NULL on error: gcut_last_error(NULL) has the message about wrong arguments, the context any other.  Not while another thread
 * calls the jit or uses its context. */
GCUT_API gcut_check_report *gcut_jit_check(gcut_jit *jit, const gcut_jit_value *in, int nin, double tol);

/* What a call missed: how it differs from the closest entry there was. */
typedef struct gcut_jit_miss {
    int64_t call; /* its number, from 0 */
    int entry; /* the closest one, in the order they were made; -1: none had these dtypes, ranks and results */
    int arg, axis; /* which size differs first; -1: none does, or there is no closest entry */
    int64_t expected, found;
    bool at_least; /* any size from `expected` on fits: the axis has a symbol */
    const char *text;
} gcut_jit_miss;

typedef struct gcut_jit_entry {
    const char *text;  /* its arguments: "f32[N, 3], f32[5]; N >= 2" */
    const char *graph; /* what is compiled, as text */
    const char
        *note;    /* why sizes that changed stay numbers, with the line that needs them; NULL: they do not */
    int64_t hits; /* calls that it fitted after the one that made it */
    int64_t
        sizes;    /* sets of sizes at which fn is known to do what the entry does, along each recorded path */
    int branches; /* recorded outcomes of gcut_cond */
} gcut_jit_entry;

typedef struct gcut_jit_info {
    size_t nentries, nmisses;           /* of misses, the last 64 */
    const gcut_jit_entry *const *entry; /* in the order they were made */
    const gcut_jit_miss *const *miss;
    int64_t calls, hits, misses; /* misses: calls that no entry fitted */
    int64_t recordings;          /* runs of fn */
    int64_t side_exits;          /* calls that took a branch which was not recorded */
    int64_t compiled;            /* compilations that succeeded */
    int64_t interpreted;         /* calls that were interpreted */
    int64_t fallbacks;           /* compilations that failed */
    const char *text;            /* all of it */
} gcut_jit_info;
/* The caller's (gcut_free); NULL on error.  Not while another thread calls the jit. */
GCUT_API gcut_jit_info *gcut_jit_explain(gcut_jit *jit);

#ifdef __cplusplus
}
#endif

#endif
