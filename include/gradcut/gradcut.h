/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gradcut: differentiate a tensor graph, cut it into a forward and a backward graph, compile both for CPUs.
 *
 * Errors.  A function that makes an object returns NULL on failure, any other returns a status other than
 * GCUT_OK; gcut_last_error returns the message that the context keeps.  No function prints, exits or aborts
 * on wrong input, and none crashes on NULL: the error names the argument.  When the handle itself is NULL,
 * gcut_last_error(NULL) returns the message.
 *
 * Ownership.  The caller owns the objects that functions make and frees them by their free function;
 * gcut_ctx_free frees the remaining ones.  A pointer to const is borrowed; its comment says for how long.
 *
 * Structures in 1.x, which tests/api/test_interface.c compares with the headers:
 *   - The caller fills these, zero means the default, and the macros pass their size, so they may grow at their end:
 *     gcut_options, gcut_calibrate_options, gcut_frontier_options, gcut_compare_options, gcut_hooks, gcut_loop,
 *     gcut_external_call, gcut_fit_options, gcut_table_options, gcut_memory_options, gcut_report_options,
 *     gcut_load_options, gcut_import_options, gcut_export_options, gcut_trace_options, gcut_jit_options.
 *   - The library fills these and hands them out by pointer, in lists too, so they may grow at their end; a program
 *     neither declares nor copies one: gcut_value_info, gcut_stats, gcut_kernel_time, gcut_profile, gcut_check_report,
 *     gcut_machine_report, gcut_cache_info, gcut_plan_value, gcut_plan_loop, gcut_replay_line, gcut_replay_part,
 *     gcut_plan_info, gcut_valid_range, gcut_plan_validity, gcut_explained_reader, gcut_explained_change,
 *     gcut_explained_op, gcut_explained_other, gcut_explained_step, gcut_kernel_change, gcut_explanation,
 *     gcut_explained_term, gcut_explained_run, gcut_explained_kernel, gcut_cost_explanation, gcut_plan_side,
 *     gcut_plan_difference, gcut_plan_diff, gcut_sample, gcut_frontier_point, gcut_frontier, gcut_variant_graph,
 *     gcut_variant, gcut_comparison, gcut_mark_info, gcut_attr_info, gcut_region_info, gcut_node_info,
 *     gcut_graph_value, gcut_data_info, gcut_param_info, gcut_result_info, gcut_symbol_info, gcut_check_info,
 *     gcut_graph_info, gcut_stage_info, gcut_rewrite_info, gcut_buffer_info, gcut_pass_time, gcut_fit_try, gcut_fitted,
 *     gcut_memory_buffer, gcut_memory_event, gcut_memory_profile, gcut_fused_op, gcut_fused_kernel, gcut_unfused,
 *     gcut_fusion, gcut_lint_finding, gcut_lint_report, gcut_import_info, gcut_export_info, gcut_jit_miss,
 *     gcut_jit_entry, gcut_jit_info.
 *   - These are passed by value, or listed by value, and stay as they are: gcut_allocator, gcut_feed, gcut_size,
 *     gcut_shape, gcut_val, gcut_here, gcut_conv, gcut_pool, gcut_plan_reader, gcut_plan_op, gcut_kernel_dependence,
 *     gcut_pad_options, gcut_cross_entropy_options, gcut_var_options, gcut_std_options, gcut_attention_options,
 *     gcut_conv_nd_options, gcut_conv_transpose_nd_options, gcut_max_pool_nd_options, gcut_avg_pool_nd_options,
 *     gcut_resize_options, gcut_jit_value.
 *
 * Threads.  Two threads may use two contexts at a time, but not one or what is made from it, save by gcut_jit_call.
 */
#ifndef GRADCUT_H
#define GRADCUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gradcut/explanation.h"
#include "gradcut/nodes.h"
#include "gradcut/plan.h"
#include "gradcut/status.h"
#include "gradcut/value.h"
#include "gradcut/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcut_ctx gcut_ctx;
typedef struct gcut_step gcut_step; /* a function, ready to run */
typedef struct gcut_plan gcut_plan; /* what is saved, what is recomputed */

/* ---- context and errors ---- */

/* Memory hook with the contract of realloc (size 0 frees). */
typedef struct gcut_allocator {
    void *(*fn)(void *user, void *block, size_t size);
    void *user;
} gcut_allocator;

/* allocator NULL = the C library's.  Returns NULL when out of memory. */
GCUT_API gcut_ctx *gcut_ctx_new(const gcut_allocator *allocator);
/* Frees everything that was made from it and not freed.  NULL is allowed, as in every free function. */
GCUT_API void gcut_ctx_free(gcut_ctx *ctx);

/* Callbacks of a context; a NULL member is not called.  They may call functions on the context, whose
 * failures are then its last error, but must not free objects that the current call uses. */
typedef struct gcut_hooks {
    /* `done` of `total` parts of `what` are done; total 0 = not known.  Called before each stage of a plan, for each
     * candidate plan, before each compilation of a calibration and between its measurements.  Returning true cancels:
     * the current call frees what it made and returns NULL or GCUT_ECANCELLED. */
    bool (*progress)(void *user, const char *what, size_t done, size_t total);
    /* One line of a log: the command line of each run of the C compiler and linker. */
    void (*log)(void *user, const char *sentence);
    void *user;
    /* Each pass, in order; the cache is not used then.  Passes on candidate plans count as `refine` or `search`. */
    void (*pass)(void *user, const gcut_pass_time *time);
} gcut_hooks;
GCUT_API gcut_status gcut_ctx_set_hooks_sized(size_t size, gcut_ctx *ctx, const gcut_hooks *hooks);
/* Copied; NULL = none.  gcut_ctx_set_hooks(ctx, &(gcut_hooks){.progress = show, .user = bar}) */
#define gcut_ctx_set_hooks(...) gcut_ctx_set_hooks_sized(sizeof(gcut_hooks), __VA_ARGS__)

/* The errors of the last failed call, each as "file:line:col: error: sentence", the source line and a caret;
 * "" when no call failed since gcut_clear_errors.  ctx NULL: the last error on this thread of a call that had
 * no context.  Valid until the next call on the context. */
GCUT_API const char *gcut_last_error(const gcut_ctx *ctx);
/* Its status; GCUT_OK when no call failed since gcut_clear_errors. */
GCUT_API gcut_status gcut_last_status(const gcut_ctx *ctx);
/* Every error since gcut_clear_errors, oldest first; "" past the last.  Valid until gcut_clear_errors. */
GCUT_API size_t gcut_error_count(const gcut_ctx *ctx);
GCUT_API const char *gcut_error(const gcut_ctx *ctx, size_t i);
GCUT_API void gcut_clear_errors(gcut_ctx *ctx);
GCUT_API const char *gcut_status_text(gcut_status s);
/* "1.0.0", of the library that runs; GCUT_VERSION_MAJOR, _MINOR and _PATCH are those of this header. */
GCUT_API const char *gcut_version(void);

/* Frees a string or a report that the caller owns. */
GCUT_API void gcut_free(void *made);
/* Replaces the file by the text as a whole: after an error, or where the process dies, it is as it was. */
GCUT_API gcut_status gcut_write_text(gcut_ctx *ctx, const char *path, const char *text);

/* ---- sizes; their type, shapes and dtypes are in gradcut/value.h ---- */

/* A symbol with lo <= size <= hi, both included; the same, before it is used, as a multiple of `of`. */
GCUT_API gcut_dim gcut_dim_sym_at(gcut_here at, gcut_graph *g, const char *name, int64_t lo, int64_t hi);
GCUT_API gcut_dim gcut_dim_multiple_at(gcut_here at, gcut_graph *g, gcut_dim symbol, int64_t of);
GCUT_API gcut_dim gcut_dim_add_at(gcut_here at, gcut_graph *g, gcut_dim a, gcut_dim b);
GCUT_API gcut_dim gcut_dim_sub_at(gcut_here at, gcut_graph *g, gcut_dim a, gcut_dim b);
GCUT_API gcut_dim gcut_dim_mul_at(gcut_here at, gcut_graph *g, gcut_dim a, gcut_dim b);
GCUT_API gcut_dim gcut_dim_div_at(gcut_here at, gcut_graph *g, gcut_dim a, gcut_dim b); /* floor */
#define gcut_dim_sym(g, name, lo, hi) gcut_dim_sym_at(GCUT_HERE, g, name, lo, hi)
#define gcut_dim_multiple(g, symbol, of) gcut_dim_multiple_at(GCUT_HERE, g, symbol, of)
#define gcut_dim_add(g, a, b) gcut_dim_add_at(GCUT_HERE, g, a, b)
#define gcut_dim_sub(g, a, b) gcut_dim_sub_at(GCUT_HERE, g, a, b)
#define gcut_dim_mul(g, a, b) gcut_dim_mul_at(GCUT_HERE, g, a, b)
#define gcut_dim_div(g, a, b) gcut_dim_div_at(GCUT_HERE, g, a, b)

/* ---- building a graph ---- */

GCUT_API gcut_graph *gcut_graph_new(gcut_ctx *ctx, const char *name);
/* false when a call on g failed, or g is NULL. */
GCUT_API bool gcut_graph_ok(const gcut_graph *g);
/* A function of a text file ("-" = standard input); fn NULL = its last one.  NULL on any error. */
GCUT_API gcut_graph *gcut_load(gcut_ctx *ctx, const char *path, const char *fn);
/* The same from memory: `length` bytes, or up to the first 0 for GCUT_TO_NUL.  `name` stands for the file in
 * errors and tables; NULL = "<memory>".  Files that the text names are searched beside it. */
#define GCUT_TO_NUL SIZE_MAX
GCUT_API gcut_graph *gcut_parse(gcut_ctx *ctx, const char *text, size_t length, const char *name,
                                const char *fn);
/* Frees the graph with every function of its file, and those made by gcut_function; its values are invalid
 * afterwards.  Steps and plans made from it stay valid. */
GCUT_API void gcut_graph_free(gcut_graph *g);
/* The i-th function of the file that g comes from, in its order; NULL past the last. */
GCUT_API gcut_graph *gcut_graph_sibling(gcut_graph *g, size_t i);
/* Valid as long as the graph; "" for NULL. */
GCUT_API const char *gcut_graph_name(const gcut_graph *g);

/* Sets the scope of the values made from here on.  A value without gcut_name is named after its scope and op:
 * block0.attention.softmax, then block0.attention.softmax.2 in the scope "block0/attention", or softmax
 * without a scope (doc/ir.md, "Locations").  NULL ends the scope. */
GCUT_API void gcut_scope(gcut_graph *g, const char *scope);

GCUT_API gcut_val gcut_input_at(gcut_here at, gcut_graph *g, const char *name, gcut_dtype dtype,
                                gcut_shape shape);
GCUT_API gcut_val gcut_param_at(gcut_here at, gcut_graph *g, const char *name, gcut_dtype dtype,
                                gcut_shape shape);
GCUT_API gcut_val gcut_state_at(gcut_here at, gcut_graph *g, const char *name, gcut_dtype dtype,
                                gcut_shape shape);
/* A key for the random ops, i64[].  The numbers drawn are a pure function of the key: for new numbers the
 * caller writes another key before the run (gcut_step_value has its memory; adding 1 is enough). */
GCUT_API gcut_val gcut_rng_at(gcut_here at, gcut_graph *g, const char *name);
/* For the derivative function of gcut_custom: its parameter d<result>, the cotangent of a result. */
GCUT_API gcut_val gcut_cotan_at(gcut_here at, gcut_graph *g, const char *name, gcut_dtype dtype,
                                gcut_shape shape);
/* Results: the gradient by the parameter of that name, any value, the new value of a param or state. */
GCUT_API void gcut_gradient_at(gcut_here at, gcut_graph *g, const char *name, gcut_val v);
GCUT_API void gcut_output_at(gcut_here at, gcut_graph *g, const char *name, gcut_val v);
GCUT_API void gcut_next_at(gcut_here at, gcut_graph *g, const char *name, gcut_val v);
/* The initial contents of a param, input or state that is not bound, as `data` in the text IR: "splat(1)",
 * "normal(7, 0.02)" (seed, deviation), "uniform(7, -0.1, 0.1)", "dense([1, 2])", "file(\"w.npy\")" in the
 * folder of the graph's file, else in the current folder.  Returns param. */
GCUT_API gcut_val gcut_initial_at(gcut_here at, gcut_val param, const char *contents);
/* Declares that an integer input has values lo <= i < hi; an unbound one has such.  Returns input. */
GCUT_API gcut_val gcut_range_at(gcut_here at, gcut_val input, int64_t lo, int64_t hi);
/* Marks an input that only the backward call is given and the forward graph must not read, or a gcut_output
 * result that the backward call computes.  Returns v. */
GCUT_API gcut_val gcut_late_at(gcut_here at, gcut_val v);
/* Marks an input, a key or a gcut_output result whose memory may be overwritten before the backward call: it is
 * saved where that needs it.  Without the mark, the caller must keep the contents until then.  Returns v. */
GCUT_API gcut_val gcut_transient_at(gcut_here at, gcut_val v);
/* Of any value; rank 0 and GCUT_NO_DTYPE for a null value. */
GCUT_API gcut_shape gcut_shape_of(gcut_val v);
GCUT_API gcut_dtype gcut_dtype_of(gcut_val v);
/* Any op of the table by name, its attributes as in the text IR: gcut_apply(g, "softmax", v, 1, "axis=1"). */
GCUT_API gcut_val gcut_apply_at(gcut_here at, gcut_graph *g, const char *op, const gcut_val *in, int n,
                                const char *attrs);
/* The same for an op with nout results: out[0..nout), null values when it fails. */
GCUT_API void gcut_apply_multi_at(gcut_here at, gcut_graph *g, const char *op, const gcut_val *in, int n,
                                  const char *attrs, gcut_val *out, int nout);
#define gcut_input(g, name, dtype, shape) gcut_input_at(GCUT_HERE, g, name, dtype, shape)
#define gcut_param(g, name, dtype, shape) gcut_param_at(GCUT_HERE, g, name, dtype, shape)
#define gcut_state(g, name, dtype, shape) gcut_state_at(GCUT_HERE, g, name, dtype, shape)
#define gcut_rng(g, name) gcut_rng_at(GCUT_HERE, g, name)
#define gcut_cotan(g, name, dtype, shape) gcut_cotan_at(GCUT_HERE, g, name, dtype, shape)
#define gcut_gradient(g, name, v) gcut_gradient_at(GCUT_HERE, g, name, v)
#define gcut_output(g, name, v) gcut_output_at(GCUT_HERE, g, name, v)
#define gcut_next(g, name, v) gcut_next_at(GCUT_HERE, g, name, v)
#define gcut_apply(...) gcut_apply_at(GCUT_HERE, __VA_ARGS__)
#define gcut_apply_multi(...) gcut_apply_multi_at(GCUT_HERE, __VA_ARGS__)
#define gcut_initial(param, contents) gcut_initial_at(GCUT_HERE, param, contents)
#define gcut_range(input, lo, hi) gcut_range_at(GCUT_HERE, input, lo, hi)
#define gcut_late(v) gcut_late_at(GCUT_HERE, v)
#define gcut_transient(v) gcut_transient_at(GCUT_HERE, v)

/* The ops: one function each, and shorter forms of some. */
#include "gradcut/ops.h"
#include "gradcut/shorthand.h"

/* Derivatives are ordinary values of the same graph, which can be returned and differentiated again; zero by a
 * value on which the result does not depend.  xs may be any values, not only parameters; xs and the
 * differentiated values must be of one graph, or of one region's body. */
/* dxs[k] = d loss / d xs[k] of a scalar.  Where gcut_next results are made of gradients, or gcut_gradient results
 * for an optimizer, the step computes what depends on them in its backward graph, which is planned like that of
 * options.loss: with a budget, policies, and all else (doc/partition.md, "Gradients in the graph"). */
GCUT_API void gcut_grad_at(gcut_here at, gcut_val loss, const gcut_val *xs, int nx, gcut_val *dxs);
/* Reverse mode: dxs = J' dys with J the Jacobian of ys by xs; dys[k] has the type of ys[k]. */
GCUT_API void gcut_vjp_at(gcut_here at, const gcut_val *ys, const gcut_val *dys, int ny, const gcut_val *xs,
                          int nx, gcut_val *dxs);
/* Forward mode: tys = J txs; txs[k] has the type of xs[k]. */
GCUT_API void gcut_jvp_at(gcut_here at, const gcut_val *ys, int ny, const gcut_val *xs, const gcut_val *txs,
                          int nx, gcut_val *tys);
/* hvs = H vs with H the Hessian of a scalar with respect to all xs together. */
GCUT_API void gcut_hvp_at(gcut_here at, gcut_val loss, const gcut_val *xs, int nx, const gcut_val *vs,
                          gcut_val *hvs);
#define gcut_grad(loss, xs, nx, dxs) gcut_grad_at(GCUT_HERE, loss, xs, nx, dxs)
#define gcut_vjp(ys, dys, ny, xs, nx, dxs) gcut_vjp_at(GCUT_HERE, ys, dys, ny, xs, nx, dxs)
#define gcut_jvp(ys, ny, xs, txs, nx, tys) gcut_jvp_at(GCUT_HERE, ys, ny, xs, txs, nx, tys)
#define gcut_hvp(loss, xs, nx, vs, hvs) gcut_hvp_at(GCUT_HERE, loss, xs, nx, vs, hvs)

/* ---- control flow ---- */

/* Builds the body of a region: in[] are its arguments, out[] receives its results.  It may use every value of
 * the enclosing graphs; a new value that is computed from those alone is added to the enclosing graph.
 * To add a constant or an op to the body itself, pass `body` or compute from one of in[].  Values of the body
 * cannot be used outside of it. */
typedef void gcut_body(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out);

typedef struct gcut_loop {
    const gcut_val *carry; /* their values at the start */
    int ncarry;
    gcut_body *body; /* scan: in = carried values, slices; out = new carried values, nys further ones */
    gcut_body *cond; /* while: out[0], a bool scalar, is true for another iteration */
    void *user;
    const gcut_val *xs; /* scan: sliced along `axis`, one slice an iteration */
    int nxs, nys;
    int axis;
    gcut_dim length; /* scan: the number of iterations; 0 = the size of xs along `axis` */
    bool reverse;    /* scan: from the last slice to the first */
    gcut_dim bound;  /* while: the most iterations, needed for a derivative; 0 = any number */
} gcut_loop;

/* out: the final carried values, then the nys results stacked along `axis`.  size: of *loop. */
GCUT_API void gcut_scan_at(gcut_here at, gcut_graph *g, size_t size, const gcut_loop *loop, gcut_val *out);
/* out: the carried values when cond is first false, or after `bound` iterations. */
GCUT_API void gcut_while_at(gcut_here at, gcut_graph *g, size_t size, const gcut_loop *loop, gcut_val *out);
/* p: a bool scalar; only the body it chooses runs. */
GCUT_API void gcut_if_at(gcut_here at, gcut_val p, gcut_body *then, gcut_body *otherwise, void *user,
                         gcut_val *out, int nout);
/* A function beside g, which g can call once it is complete.  NULL on any error. */
GCUT_API gcut_graph *gcut_function(gcut_graph *g, const char *name);
/* in: the parameters of callee in order, which give its symbols sizes.  A callee not beside g is copied. */
GCUT_API void gcut_call_at(gcut_here at, gcut_graph *g, gcut_graph *callee, const gcut_val *in, int n,
                           gcut_val *out, int nout);
/* The same with a stated derivative, the function vjp.  Its parameters are the values of the call that it
 * needs: gcut_input(vjp, "x", …) a parameter or result x of f, gcut_cotan(vjp, "dy", …) the cotangent of the
 * float result y.  Its results are gradients: gcut_gradient(vjp, "x", dx) for the float parameter x of f; a
 * parameter without one has the gradient 0.  A result whose cotangent vjp does not take adds nothing. */
GCUT_API void gcut_custom_at(gcut_here at, gcut_graph *g, gcut_graph *f, gcut_graph *vjp, const gcut_val *in,
                             int n, gcut_val *out, int nout);
/* gcut_scan(g, &(gcut_loop){.carry = &s0, .ncarry = 1, .xs = &xs, .nxs = 1, .body = step}, out) */
#define gcut_scan(g, ...) gcut_scan_at(GCUT_HERE, g, sizeof(gcut_loop), __VA_ARGS__)
#define gcut_while(g, ...) gcut_while_at(GCUT_HERE, g, sizeof(gcut_loop), __VA_ARGS__)
#define gcut_if(...) gcut_if_at(GCUT_HERE, __VA_ARGS__)
#define gcut_call(...) gcut_call_at(GCUT_HERE, __VA_ARGS__)
#define gcut_custom(...) gcut_custom_at(GCUT_HERE, __VA_ARGS__)

/* ---- external kernels ---- */

/* Registers a C function that the op `external` calls by name (doc/custom.md).  It must be registered before
 * a step that calls it is compiled; the step keeps that function.  fn NULL removes it. */
struct gcut_rt_external; /* gradcut/rt_external.h */
GCUT_API gcut_status gcut_external(gcut_ctx *ctx, const char *kernel,
                                   void (*fn)(const struct gcut_rt_external *));

/* The op `external` in C: operands, result types, and cost. */
typedef struct gcut_external_call {
    const char *kernel;
    const gcut_val *in;
    int nin;
    const gcut_dtype *dtypes; /* of each result */
    const gcut_shape *shapes;
    int nout;
    bool pure;             /* its results depend on its operands alone: it may be recomputed or left out */
    gcut_dim flops, bytes; /* 0 = not declared: no flops, the bytes of operands and results */
} gcut_external_call;
/* size: of *of; out[0..nout), null values when it fails. */
GCUT_API void gcut_call_external_at(gcut_here at, gcut_graph *g, size_t size, const gcut_external_call *of,
                                    gcut_val *out);
/* gcut_call_external(g, &(gcut_external_call){.kernel = "my_kernel", …}, out) */
#define gcut_call_external(g, ...)                                                                           \
    gcut_call_external_at(GCUT_HERE, g, sizeof(gcut_external_call), __VA_ARGS__)

/* ---- options ---- */

/* All but the first are interpreted; the variant `planned` of gcut_compare is compiled. */
typedef enum gcut_backend {
    GCUT_BACKEND_COMPILED = 0, /* kernels */
    GCUT_BACKEND_EAGER = 1,    /* the joint graph as reverse mode makes it, before other passes */
    GCUT_BACKEND_JOINT = 2,    /* the joint graph after its passes */
    GCUT_BACKEND_PLANNED = 3   /* the forward and the backward graph */
} gcut_backend;

/* How a run treats inputs that were not given. */
typedef enum gcut_unbound {
    GCUT_UNBOUND_REFUSED = 0,
    GCUT_UNBOUND_RANDOM = 1 /* floats normal(0, 1), integers from their range, from options.seed */
} gcut_unbound;

#define GCUT_POLICIES                                                                                        \
    "mincut, save-all, recompute-all, torch, torch:B, sqrt, every-2nd-matmul, attention-only"
#define GCUT_OPTIONAL_PASSES                                                                                 \
    "gather, fold, cse, merge, dce, algebra, head, products, shifts, loops, refine, sink, localize"

/* {0} = compiled, mincut at 0.05 ns a saved byte, no budget, no optimizer.  Strings and lists are copied by
 * every function that takes options, a macro over NAME_sized, which is told the caller's size of gcut_options.
 * gradcut/options.def has the range and default of what the command line sets too: all but unbound and profile. */
typedef struct gcut_options {
    gcut_backend backend;
    gcut_unbound unbound;
    const char *policy; /* how saved values are chosen: one of GCUT_POLICIES, B from 0 to 1; NULL = mincut */
    double lambda;      /* price of a saved byte in ns; 0 = 0.05; or GCUT_LAMBDA_FASTEST */
    int64_t budget; /* bytes that the peak of a training step may take; 0 = no limit; or GCUT_BUDGET_MIN */
    int64_t saved_budget; /* bytes that may be saved; 0 = no limit; or GCUT_SAVE_NOTHING.  Excludes budget */
    const char *plan;     /* a plan file to replay instead of deciding; NULL = none */
    const char *save_dtype;   /* "bf16": f32 values may be saved rounded to it; NULL = as they are */
    const char *machine;      /* a model's file or "shipped"; NULL = GRADCUT_MACHINE, calibrate's, shipped */
    const char *optimizer;    /* NULL = none; "adamw(lr=3e-4, weight_decay=0.01)" */
    const char *loss;         /* the scalar result to differentiate; NULL = see ncotan */
    const char *dump;         /* a folder for every stage; NULL = GRADCUT_DUMP, else none */
    const char *const *cotan; /* float results to differentiate instead, y along a cotangent dy of its type */
    size_t ncotan;            /* without them and a loss: the only scalar float out, else every float out */
    const char *const *wrt;   /* globs over the names of what to differentiate by; none = every float param */
    size_t nwrt;
    const gcut_size *at; /* sizes to plan for; a symbol not named takes the smallest it allows that is >= 4 */
    size_t nat;
    const char *const *save, *const *recompute; /* names of values that must be saved, or recomputed */
    size_t nsave, nrecompute;
    int threads;       /* that a plan is for and a step has; 0: the machine model's default number for a plan,
                          OMP_NUM_THREADS, else every core for a step, or as many as its budget has room for */
    uint64_t seed;     /* of values that are neither bound nor declared as data, and of measured rounds */
    bool keep_grads;   /* gradients stay results when there is an optimizer */
    bool forward_only; /* compile and run without derivatives; plans ignore it */
    bool apart;        /* forward and backward are called apart: gcut_run_forward, gcut_run_backward */
    bool f64;          /* interpreted backends compute in f64 */
    bool profile;      /* the compiled step can time its kernels: gcut_step_profile */
    bool line;         /* for debuggers: emitted C has #line directives and variables named after values */
    bool unfused; /* every op is a kernel of its own that overwrites nothing: a baseline of the same bits */
    bool no_algebra; /* no identities of real numbers (doc/kernels.md): results as the graph computes them */
    bool eval;       /* as forward_only, of the function as it is evaluated: gcut_eval of gradcut/train.h */
    bool thorough;   /* under a budget, search again with each decision of the plan forced the other way */
    uint8_t reserved[6];        /* 0; later flags are put here, as padding would not be initialised */
    const char *const *without; /* names of GCUT_OPTIONAL_PASSES that are left out, wherever they run */
    size_t nwithout;
    const gcut_size *fix; /* symbols that become numbers of the graph, in its signature too */
    size_t nfix;
} gcut_options;

/* ---- looking at a graph ---- */

typedef enum gcut_stage_name {
    GCUT_STAGE_PRIMAL = 0,
    GCUT_STAGE_JOINT = 1,
    GCUT_STAGE_SPLIT = 2,
    GCUT_STAGE_KERNEL = 3,
    GCUT_STAGE_MEMORY =
        4 /* of gcut_show alone: the kernel stage after the schedule of its memory, as comments */
} gcut_stage_name;

/* Canonical text of a stage; opt NULL = defaults.  The caller's (gcut_free).  NULL on error. */
GCUT_API char *gcut_show_sized(size_t size, gcut_graph *g, const gcut_options *opt, gcut_stage_name stage,
                               bool locations);
#define gcut_show(...) gcut_show_sized(sizeof(gcut_options), __VA_ARGS__)
/* The same stage as data, evaluated at options.at: its graphs, node by node (gradcut/nodes.h).  Equal graphs
 * and options give equal stages, also in gcut_plan_new and gcut_compile; with options.plan they follow the
 * plan file, also at other sizes.  The caller's (gcut_free); NULL on error. */
GCUT_API gcut_stage_info *gcut_stage_look_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                                gcut_stage_name stage);
#define gcut_stage_look(...) gcut_stage_look_sized(sizeof(gcut_options), __VA_ARGS__)
/* A sentence that counts a graph's nodes, parameters and results.  The caller's (gcut_free). */
GCUT_API char *gcut_describe(gcut_graph *g);

/* Every op of the table, or with a model the ops in it, with its kernel for each dtype and its derivatives;
 * as a table or as JSON.  The caller's (gcut_free). */
GCUT_API char *gcut_ops(gcut_ctx *ctx, gcut_graph *model, bool json);

/* ---- plans ---- */

/* A plan at options.at.  NULL on error.  Free it with gcut_plan_free. */
GCUT_API gcut_plan *gcut_plan_new_sized(size_t size, gcut_graph *g, const gcut_options *opt);
#define gcut_plan_new(...) gcut_plan_new_sized(sizeof(gcut_options), __VA_ARGS__)
GCUT_API void gcut_plan_free(gcut_plan *plan); /* not of gcut_step_plan, which the step owns */
/* The totals of `gradcut plan` and the table of `gradcut saved` as text, and the plan file, which options.plan
 * replays: all of it from gcut_plan_look and gcut_plan_valid_at.  table: NULL = {0}.  The caller's (gcut_free). */
GCUT_API char *gcut_plan_text_sized(size_t size, const gcut_plan *plan, const gcut_table_options *table);
#define gcut_plan_text(...) gcut_plan_text_sized(sizeof(gcut_table_options), __VA_ARGS__)
GCUT_API char *gcut_plan_saved_text_sized(size_t size, const gcut_plan *plan,
                                          const gcut_table_options *table);
#define gcut_plan_saved_text(...) gcut_plan_saved_text_sized(sizeof(gcut_table_options), __VA_ARGS__)
GCUT_API char *gcut_plan_json(const gcut_plan *plan);
/* The plan as data.  Valid as long as the plan; NULL on error. */
GCUT_API const gcut_plan_info *gcut_plan_look(const gcut_plan *plan);
/* For which sizes the plan stays the cheapest.  The first call on a plan searches: up to some forty cuts for each symbol.
 * Valid as long as the plan; NULL on error. */
GCUT_API const gcut_plan_validity *gcut_plan_valid_at(const gcut_plan *plan);

/* Why a value of the plan is saved or recomputed: the arc that decided, the cheapest plan with the other decision, its
 * readers, and the peak and kernels of the step with that one flip.  The caller's (gcut_free); NULL on error. */
GCUT_API gcut_explanation *gcut_explain_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                              const char *value);
#define gcut_explain(...) gcut_explain_sized(sizeof(gcut_options), __VA_ARGS__)
/* What makes the predicted time of a value's kernels, and the price of computing it again. The caller's (gcut_free). */
GCUT_API gcut_cost_explanation *gcut_explain_cost_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                                        const char *value);
#define gcut_explain_cost(...) gcut_explain_cost_sized(sizeof(gcut_options), __VA_ARGS__)

/* Compares two plan files: the values on which they decide differently, and both totals.  The caller's
 * (gcut_free); NULL on error. */
GCUT_API gcut_plan_diff *gcut_diff_plans(gcut_ctx *ctx, const char *a, const char *b);
/* table: NULL = {0}.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_diff_text_sized(size_t size, gcut_ctx *ctx, const gcut_plan_diff *d,
                                    const gcut_table_options *table);
#define gcut_diff_text(...) gcut_diff_text_sized(sizeof(gcut_table_options), __VA_ARGS__)

/* Writes base.c and base.h (shared false) or base.so; the step's C name is the last part of base. */
GCUT_API gcut_status gcut_emit_files_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                           const char *base, bool shared);
#define gcut_emit_files(...) gcut_emit_files_sized(sizeof(gcut_options), __VA_ARGS__)

/* ---- running ---- */

/* NULL on error.  One step runs at every size that its symbols allow, so sizes are not needed yet.  The step
 * stays valid when the graph is freed. */
GCUT_API gcut_step *gcut_compile_sized(size_t size, gcut_graph *g, const gcut_options *opt);
#define gcut_compile(...) gcut_compile_sized(sizeof(gcut_options), __VA_ARGS__)
GCUT_API void gcut_step_free(gcut_step *step);
/* Valid as long as the step; NULL for a step without derivatives.  The cache keeps C but no plan: for a step
 * from the cache the first call plans again, which takes as long as gcut_plan_new, and returns NULL with
 * GCUT_EPLAN when the plan file or the machine model has changed since. */
GCUT_API const gcut_plan *gcut_step_plan(gcut_step *step);

/* Binds a parameter, input, state or cotangent by its name, or a result ("loss", "grad.w"), to memory of the
 * caller: packed row-major, of the declared dtype, aligned for it; it stays the caller's and must outlive the
 * runs.  gcut_bind(step, "x", buffer, 32, 784); no sizes for a scalar.  Binding the same value again replaces
 * its memory; another size places the arena anew before the next run.  A bool is a byte 0 or 1, which runs do
 * not check: what they compute of another byte is not defined. */
GCUT_API gcut_status gcut_bind_n(gcut_step *step, const char *name, void *at, int rank, const int64_t *dims);
/* The same for values that the step only reads; refused for results and updated values. */
GCUT_API gcut_status gcut_bind_input_n(gcut_step *step, const char *name, const void *at, int rank,
                                       const int64_t *dims);
/* Copies the values into memory of the step, which the step also updates. */
GCUT_API gcut_status gcut_set_n(gcut_step *step, const char *name, const void *from, int rank,
                                const int64_t *dims);
/* The same, refused unless `dtype` is the declared one.  The macros gcut_bind, gcut_bind_input and gcut_set
 * pass the dtype of the pointer (gradcut/dtype.h); GCUT_NO_DTYPE, of a void *, fits any. */
GCUT_API gcut_status gcut_bind_as(gcut_step *step, const char *name, gcut_dtype dtype, void *at, int rank,
                                  const int64_t *dims);
GCUT_API gcut_status gcut_bind_input_as(gcut_step *step, const char *name, gcut_dtype dtype, const void *at,
                                        int rank, const int64_t *dims);
GCUT_API gcut_status gcut_set_as(gcut_step *step, const char *name, gcut_dtype dtype, const void *from,
                                 int rank, const int64_t *dims);
#ifndef __cplusplus
/* The memory, then its sizes and one 0 more. */
#define GCUT_BIND_(call, step, name, ...)                                                                    \
    call(step, name, GCUT_DTYPE_AT_(GCUT_FIRST_1_(__VA_ARGS__)), GCUT_FIRST_1_(__VA_ARGS__),                 \
         (int)GCUT_COUNT_(GCUT_AFTER_1_(__VA_ARGS__)) - 1, (const int64_t[]){GCUT_AFTER_1_(__VA_ARGS__)})
#define gcut_bind(step, name, ...) GCUT_BIND_(gcut_bind_as, step, name, __VA_ARGS__, 0)
#define gcut_bind_input(step, name, ...) GCUT_BIND_(gcut_bind_input_as, step, name, __VA_ARGS__, 0)
#define gcut_set(step, name, ...) GCUT_BIND_(gcut_set_as, step, name, __VA_ARGS__, 0)
#endif

/* The step's own memory of a value that is not bound, for the caller to write; prepares the step.  The value
 * counts as given until the sizes change.  NULL on error. */
GCUT_API void *gcut_fill(gcut_step *step, const char *name);

/* Takes the sizes from bound values and options.at, places the arena, and fills the values that are not
 * bound: from data declarations, zeros for the optimizer's states, lr from the optimizer, 1 for cotangents,
 * else random from the seed, keys included.  gcut_run calls it when needed. */
GCUT_API gcut_status gcut_prepare(gcut_step *step);
/* Forward, backward and updates.  Refuses to run while an input is missing (options.unbound). */
GCUT_API gcut_status gcut_run(gcut_step *step);
/* Runs the forward graph alone.  Without options.apart it may also begin gradients (doc/partition.md, "Loss
 * heads"), which are complete only after gcut_run. */
GCUT_API gcut_status gcut_run_forward(gcut_step *step);

/* ---- forward and backward called apart ---- */

/* For steps with options.apart.  gcut_run_forward fills a block of saved values; gcut_run_backward takes
 * cotangents and #late inputs, computes gradients and updates, and uses the block up.  Several blocks may be
 * filled at a time, for micro-batches or pipeline stages; the arena is free between calls.  Values outside
 * the block must be the same in both calls: parameters, states, and inputs, keys and results that are not
 * #transient.  gcut_run makes one call after the other. */

/* Bytes of a block at the current sizes; prepares the step.  0 for a step without a block; -1 on error. */
GCUT_API int64_t gcut_saved_bytes(gcut_step *step);
/* Sets the block of the following calls: `bytes` bytes, aligned to 64.  NULL: the step's own block, the
 * default, which is lost when sizes change.  The caller owns the block and may copy it between the calls. */
GCUT_API gcut_status gcut_bind_saved(gcut_step *step, void *block, size_t bytes);
/* GCUT_EUSAGE for a block that was not filled by a forward call of this step at these sizes, or was used, or
 * was filled before a backward call updated parameters or states. */
GCUT_API gcut_status gcut_run_backward(gcut_step *step);

typedef struct gcut_value_info {
    const char *name; /* results: "loss", "grad.w" */
    const char *role; /* "param", "input", "state", "rng", "cotan", "out", "grad" */
    gcut_dtype dtype;
    int rank;
    int64_t dim[GCUT_MAX_RANK]; /* valid after gcut_prepare */
    int64_t bytes;              /* likewise */
    void *at;     /* the caller's or the step's memory; NULL before gcut_prepare, and after one that failed */
    bool bound;   /* by the caller, or set */
    bool updated; /* a param or state that the step overwrites with its next value */
} gcut_value_info;
GCUT_API size_t gcut_step_value_count(const gcut_step *step);
/* Valid as long as the step; brought up to date by each call.  NULL: there is no i-th value. */
GCUT_API const gcut_value_info *gcut_step_value_at(gcut_step *step, size_t i);
/* The same by name; NULL, with an error that lists the names: no such value. */
GCUT_API const gcut_value_info *gcut_step_value(gcut_step *step, const char *name);

typedef struct gcut_stats {
    int64_t peak_bytes; /* measured: bytes of every bound or owned value plus the touched part of the arena */
    int64_t predicted_bytes; /* the plan's peak at these sizes and threads */
    int64_t arena_bytes;
    int64_t saved_bytes;                   /* of the arena; with options.apart of the block, beside it */
    int64_t forward_bytes, backward_bytes; /* options.apart, predicted: of the values that are there in each
                                              call, the block, and the arena that the call touches; else 0 */
    int64_t step_ns;                       /* of the last run */
    int threads;
    const char *blis; /* BLIS's kernels for this machine; "none": interpreted */
    const char *gemm; /* of large products: "avx512", gradcut's own kernel, or the name in `blis` */
} gcut_stats;
/* Valid after a run.  Measuring the touched arena reads all of it once.  Valid as long as the step, brought
 * up to date by each call; NULL for NULL. */
GCUT_API const gcut_stats *gcut_step_stats(gcut_step *step);

/* Runs a step compiled with options.profile four times to warm up, then `steps` times without and `steps` times
 * with timing of each kernel, and takes medians.  steps = 0: as many as take a second, 20 to 5000.  These runs train like
 * any others.  The caller's (gcut_free); NULL with GCUT_EUSAGE: not compiled, or without options.profile, or steps < 0. */
GCUT_API gcut_profile *gcut_step_profile(gcut_step *step, int steps);

/* ---- checking ---- */

typedef struct gcut_check_report {
    bool ok;
    double max_rel_error;
    const char *worst; /* which value */
    int64_t worst_index;
    const char *culprit; /* crosscheck: the first op that differs, with its source line; else NULL */
    const char *text;    /* a table for people */
    const char *json;
} gcut_check_report;

/* A value of a step and the .npy file that it is read from. */
typedef struct gcut_feed {
    const char *name, *npy;
} gcut_feed;
/* gcut_set from each file, whose dtype must be the declared one. */
GCUT_API gcut_status gcut_step_feed(gcut_step *step, const gcut_feed *feed, size_t n);
GCUT_API gcut_status gcut_step_value_save(gcut_step *step, const char *name, const char *npy);

/* Runs every backend on the same values; values not in `feed` are random.  tol 0 = by dtype.  The caller's
 * (gcut_free); NULL on error. */
GCUT_API gcut_check_report *gcut_crosscheck_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                                  const gcut_feed *feed, size_t nfeed, double tol);
#define gcut_crosscheck(...) gcut_crosscheck_sized(sizeof(gcut_options), __VA_ARGS__)
/* The graph after each pass, interpreted in f64 on the same values, up to the first pass that changes a
 * result, which `culprit` names, with the value, its source line and both numbers; tol 0 = 4e-12.  The caller's. */
GCUT_API gcut_check_report *gcut_check_passes_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                                    const gcut_feed *feed, size_t nfeed, double tol);
#define gcut_check_passes(...) gcut_check_passes_sized(sizeof(gcut_options), __VA_ARGS__)
/* Compares gradients with central differences in f64; tol 0 = 1e-5.  Elements at which the loss has a kink
 * are not compared, and counted in the text.  The caller's (gcut_free); NULL on error. */
GCUT_API gcut_check_report *gcut_gradcheck_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                                 const gcut_feed *feed, size_t nfeed, double tol);
#define gcut_gradcheck(...) gcut_gradcheck_sized(sizeof(gcut_options), __VA_ARGS__)

/* The plan file with the certificate that gcut_certify checks.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_plan_certificate(const gcut_plan *plan);
/* Checks the certificate of the plan file options.plan without the planner (doc/plans.md).  Of the report, which
 * is the caller's, `text` says what holds, `culprit` what does not, and `worst` in which member. */
GCUT_API gcut_check_report *gcut_certify_sized(size_t size, gcut_graph *g, const gcut_options *opt);
#define gcut_certify(...) gcut_certify_sized(sizeof(gcut_options), __VA_ARGS__)

/* ---- the machine model ---- */

typedef struct gcut_calibrate_options {
    int threads;         /* the most that are measured; 0 = OMP_NUM_THREADS, else every core */
    double seconds;      /* of measuring, after up to five compilations, each up to half a minute; 0 = 30 */
    const char *path;    /* file to write; NULL = where models are looked for, "" = none */
    bool force;          /* write the model of a busy machine too, with a note in it */
    uint8_t reserved[7]; /* 0 */
} gcut_calibrate_options;

typedef struct gcut_machine_report {
    const char *text, *json; /* the model as a table, and as the file has it */
    const char *busy;        /* by what was measured: why the machine was busy; NULL: it was quiet */
    const char *path;        /* of gcut_machine_here: for options.machine */
    const char *said;        /* likewise: a line for the user; NULL: nothing to say */
} gcut_machine_report;

/* Measures this machine and writes its model, which prices later plans.  opt NULL = defaults.  The caller's
 * (gcut_free); NULL on error, with GCUT_EUNSUPPORTED where the machine was too busy for a model that holds
 * (doc/machine.md). */
GCUT_API gcut_machine_report *gcut_calibrate_sized(size_t size, gcut_ctx *ctx,
                                                   const gcut_calibrate_options *opt);
#define gcut_calibrate(...) gcut_calibrate_sized(sizeof(gcut_calibrate_options), __VA_ARGS__)
/* For programs that compare predicted times with measured ones: `path` is the model that options.machine =
 * `machine` finds, where that is not the shipped one for lack of any.  Else this machine is measured in about two
 * seconds, once for each processor, number of cores and build of gradcut, and kept in the cache; `path` is then
 * valid as long as the report.  No other function looks there.  The caller's (gcut_free); NULL on error. */
GCUT_API gcut_machine_report *gcut_machine_here(gcut_ctx *ctx, const char *machine);

/* ---- the frontier ---- */

typedef struct gcut_frontier_options {
    int points; /* how many points to return, both ends included; 0 = 12 */
    int rounds; /* > 0: compile the points and run each once in every round */
    const gcut_feed *feed;
    size_t nfeed;
} gcut_frontier_options;

/* The plans that no other plan beats in both peak and time, and the plans of the other policies.  The
 * caller's (gcut_free); NULL on error. */
GCUT_API gcut_frontier *gcut_frontier_new_sized(size_t size, size_t how_size, gcut_graph *g,
                                                const gcut_options *opt, const gcut_frontier_options *how);
#define gcut_frontier_new(...)                                                                               \
    gcut_frontier_new_sized(sizeof(gcut_options), sizeof(gcut_frontier_options), __VA_ARGS__)

/* ---- before and after ---- */

typedef struct gcut_compare_options {
    /* Each is compared once:
     *   eager     the interpreter, as GCUT_BACKEND_EAGER
     *   unfused   compiled with policy save-all, every op a kernel of its own (options.unfused)
     *   planned   compiled, with the options as they are
     *   a policy  one of GCUT_POLICIES, compiled: save-all differs from unfused by fusion, and from planned
     *             by the plan
     * Of the options that decide what is saved, all variants but `planned` use lambda alone. */
    const char *const *variant;
    size_t nvariants;
    int rounds; /* runs of each variant; 0 = 20 */
    const gcut_feed *feed;
    size_t nfeed;
} gcut_compare_options;

/* Compiles the variants, runs them in rounds on the same values (random where not in `feed`), and reports ops,
 * bytes moved, memory and times of each.  These runs train like any others.  The caller's (gcut_free); NULL
 * on error, with GCUT_EUSAGE for a list that is empty, has an unknown name, or one twice. */
GCUT_API gcut_comparison *gcut_compare_sized(size_t size, size_t how_size, gcut_graph *g,
                                             const gcut_options *opt, const gcut_compare_options *how);
#define gcut_compare(...) gcut_compare_sized(sizeof(gcut_options), sizeof(gcut_compare_options), __VA_ARGS__)

/* ---- the cache of compiled steps ---- */

/* What $XDG_CACHE_HOME/gradcut holds. */
typedef struct gcut_cache_info {
    const char *folder;     /* NULL: there is no home */
    const char *unused;     /* why it is not used, a sentence; NULL: it is */
    int64_t steps, objects; /* entries: plans with their C, and shared objects */
    int64_t bytes, limit;   /* of all entries together: now, and at most */
    int64_t hits, misses;   /* look-ups of these since it was emptied */
    int64_t models;         /* entries of gcut_machine_here */
} gcut_cache_info;
/* The caller's (gcut_free); NULL on error. */
GCUT_API gcut_cache_info *gcut_cache_look(gcut_ctx *ctx);
/* Removes every entry; *removed (may be NULL) = their number.  Loaded steps stay valid. */
GCUT_API gcut_status gcut_cache_clear(gcut_ctx *ctx, int64_t *removed);

#ifdef __cplusplus
}

/* gcut_bind(step, "x", buffer, 32, 784) and its kind: the sizes are what follows.  The second form is for
 * void pointers, null and what converts to one. */
#define GCUT_BIND_(name, type)                                                                               \
    template <typename T, typename... Sizes>                                                                 \
    inline gcut_status name(gcut_step *step, const char *value, T *at, Sizes... sizes)                       \
    {                                                                                                        \
        const int64_t dims[sizeof...(sizes) + 1] = {static_cast<int64_t>(sizes)..., 0};                      \
        return name##_as(step, value, gcut_dtype_at_<T>, at, static_cast<int>(sizeof...(sizes)), dims);      \
    }                                                                                                        \
    template <typename... Sizes>                                                                             \
    inline gcut_status name(gcut_step *step, const char *value, type at, Sizes... sizes)                     \
    {                                                                                                        \
        const int64_t dims[sizeof...(sizes) + 1] = {static_cast<int64_t>(sizes)..., 0};                      \
        return name##_n(step, value, at, static_cast<int>(sizeof...(sizes)), dims);                          \
    }
GCUT_BIND_(gcut_bind, void *)
GCUT_BIND_(gcut_bind_input, const void *)
GCUT_BIND_(gcut_set, const void *)
#undef GCUT_BIND_
#endif

#endif
