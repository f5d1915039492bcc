/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports on a graph and its step: memory, kernels, profiles, frontier, lint, outlines, C, the page.  The structures are in
 * plan.h.
 */
#ifndef GRADCUT_INSPECT_H
#define GRADCUT_INSPECT_H

#include "gradcut/gradcut.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcut_memory_options {
    /* A plan file: its step, at the same sizes, is shown beside that of the options; NULL. */
    const char *against;
} gcut_memory_options;

/* How much memory a step of the options takes at each time.  The peak is that of the plan, to the byte.  The caller's
 * (gcut_free); NULL on error. */
GCUT_API gcut_memory_profile *gcut_memory_new_sized(size_t size, size_t how_size, gcut_graph *g,
                                                    const gcut_options *opt, const gcut_memory_options *how);
#define gcut_memory_new(...)                                                                                 \
    gcut_memory_new_sized(sizeof(gcut_options), sizeof(gcut_memory_options), __VA_ARGS__)

/* table: NULL = {0}.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_memory_text_sized(size_t size, gcut_ctx *ctx, const gcut_memory_profile *m,
                                      gcut_memory_part part, const gcut_table_options *table);
#define gcut_memory_text(...) gcut_memory_text_sized(sizeof(gcut_table_options), __VA_ARGS__)
/* "parameters", "gradients", … */
GCUT_API const char *gcut_memory_class_name(gcut_memory_class c);

/* The kernels of the step of the options, what is in each, and why ops of two launches are not in one.  The caller's
 * (gcut_free); NULL on error. */
GCUT_API gcut_fusion *gcut_fusion_new_sized(size_t size, gcut_graph *g, const gcut_options *opt);
#define gcut_fusion_new(...) gcut_fusion_new_sized(sizeof(gcut_options), __VA_ARGS__)
/* Both tables.  table: NULL = {0}.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_fusion_text_sized(size_t size, gcut_ctx *ctx, const gcut_fusion *f,
                                      const gcut_table_options *table);
#define gcut_fusion_text(...) gcut_fusion_text_sized(sizeof(gcut_table_options), __VA_ARGS__)
/* Why the op that makes `value` and the one that makes `reader` do not share a launch, or in which they do.  The
 * caller's (gcut_free); NULL on error, with GCUT_EPLAN where no kernel has one of them or `reader` does not read
 * `value`. */
GCUT_API char *gcut_fusion_why(gcut_ctx *ctx, const gcut_fusion *f, const char *value, const char *reader);

/* The table of a frontier (gcut_frontier_new).  Of the options `columns` and `bold` apply; NULL = {0}.  The caller's
 * (gcut_free); NULL on error. */
GCUT_API char *gcut_frontier_text_sized(size_t size, gcut_ctx *ctx, const gcut_frontier *f,
                                        const gcut_table_options *table);
#define gcut_frontier_text(...) gcut_frontier_text_sized(sizeof(gcut_table_options), __VA_ARGS__)

/* A profile (gcut_step_profile) kernel by kernel: measured time with its quartiles, predicted time, rates, and the share
 * that they are of the machine model's limits.  table: NULL = {0}.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_profile_text_sized(size_t size, gcut_ctx *ctx, const gcut_profile *p,
                                       const gcut_table_options *table);
#define gcut_profile_text(...) gcut_profile_text_sized(sizeof(gcut_table_options), __VA_ARGS__)
/* The same as a trace that Chrome and Perfetto open: one step, each kernel with its measured time after the one before,
 * nested in the scopes that values are named after; with m, of the same options, the bytes alive as counters.  m may be
 * NULL.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_profile_trace(gcut_ctx *ctx, const gcut_profile *p, const gcut_memory_profile *m);
/* The same as a picture: each kernel by the flops that it does for a byte and its rate, below the limits of the machine
 * model.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_profile_svg(gcut_ctx *ctx, const gcut_profile *p);

/* The same as a flame graph: scopes and kernels as wide as the time that they took, each below what it is a part of.  The
 * caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_profile_flame(gcut_ctx *ctx, const gcut_profile *p);

/* A profile as JSON, and such a file read: it has no samples.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_profile_json(gcut_ctx *ctx, const gcut_profile *p);
GCUT_API gcut_profile *gcut_profile_read(gcut_ctx *ctx, const char *path);

/* The profile of a step that was compiled ahead of time, from its times (gcut_rt_write_times) and the graph and options that
 * it was emitted with.  Kernels have means over its steps, and no spread; its median is their sum.  The caller's
 * (gcut_free); NULL on error. */
GCUT_API gcut_profile *gcut_profile_of_times_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                                   const char *path);
#define gcut_profile_of_times(...) gcut_profile_of_times_sized(sizeof(gcut_options), __VA_ARGS__)

/* What is correct in a graph, and probably not meant or slower than it needs to be, at the sizes of the options.  With
 * options.forward_only nothing about gradients.  The caller's (gcut_free); NULL on error. */
GCUT_API gcut_lint_report *gcut_lint_sized(size_t size, gcut_graph *g, const gcut_options *opt);
#define gcut_lint(...) gcut_lint_sized(sizeof(gcut_options), __VA_ARGS__)
/* table: NULL = {0}.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_lint_text_sized(size_t size, gcut_ctx *ctx, const gcut_lint_report *r,
                                    const gcut_table_options *table);
#define gcut_lint_text(...) gcut_lint_text_sized(sizeof(gcut_table_options), __VA_ARGS__)

/* The graph for Graphviz: the ops of a scope, cut to `depth` components, are one node, with what the plan of the options
 * saves and recomputes there; depth 0: each op is one.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_graph_dot_sized(size_t size, gcut_graph *g, const gcut_options *opt, int depth);
#define gcut_graph_dot(...) gcut_graph_dot_sized(sizeof(gcut_options), __VA_ARGS__)
/* An outline of the graph: its functions, scopes and ops, and which of these a gradient reaches.  The caller's (gcut_free);
 * NULL on error. */
GCUT_API char *gcut_graph_tree_sized(size_t size, gcut_graph *g, const gcut_options *opt);
#define gcut_graph_tree(...) gcut_graph_tree_sized(sizeof(gcut_options), __VA_ARGS__)
/* The graph, with options.fix applied, as C: a function `gcut_graph *build_<name>(gcut_ctx *ctx)` that makes, by calls of
 * gradcut.h, a graph whose text without locations (gcut_show, the primal stage) is the same.  The caller's (gcut_free);
 * NULL on error, with GCUT_EUNSUPPORTED where it has what no call makes (doc/ir.md, "As C"). */
GCUT_API char *gcut_graph_c_sized(size_t size, gcut_graph *g, const gcut_options *opt);
#define gcut_graph_c(...) gcut_graph_c_sized(sizeof(gcut_options), __VA_ARGS__)
/* Kernels by how many have to run one after another before them, and the critical path by predicted time; all
 * kernels of a loop are as one.  table: NULL = {0}.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_graph_levels_sized(size_t size, gcut_ctx *ctx, const gcut_fusion *f,
                                       const gcut_table_options *table);
#define gcut_graph_levels(...) gcut_graph_levels_sized(sizeof(gcut_table_options), __VA_ARGS__)

typedef struct gcut_report_options {
    const char *against;           /* as of gcut_memory_options */
    const gcut_profile *profile;   /* of steps at the same sizes, on any machine; NULL: none were measured */
    const gcut_frontier *frontier; /* of the graph at the same sizes; NULL: none is shown */
} gcut_report_options;

/* All that is known of the step of the options as one page: HTML that a browser shows without a network and without
 * scripts.  Same input, same bytes.  GCUT_EPLAN where the profile is of another graph, of other options or sizes.  The caller's
 * (gcut_free); NULL on error. */
GCUT_API char *gcut_report_html_sized(size_t size, size_t how_size, gcut_graph *g, const gcut_options *opt,
                                      const gcut_report_options *how);
#define gcut_report_html(...)                                                                                \
    gcut_report_html_sized(sizeof(gcut_options), sizeof(gcut_report_options), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
