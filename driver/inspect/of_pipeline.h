/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Structures of gradcut/inspect.h made from a pipeline up to kernels (gcut_pipeline_new), so that several are of one plan.
 * What they point to is in `keep`; their JSON and pictures are not made.  These functions throw.
 */
#ifndef GCUT_DRIVER_INSPECT_OF_PIPELINE_H
#define GCUT_DRIVER_INSPECT_OF_PIPELINE_H

#include "driver/pipeline/compile.h"

typedef void gcut_fill_of_pipeline(const gcut_pipeline *p, const gcut_made *m);
/* Allocates an object of `object` bytes and fills it from the pipeline of a graph.  size: sizeof(gcut_options) where the
 * caller was compiled.  NULL after a failure. */
void *gcut_made_of_graph(gcut_graph *g, const gcut_options *given, size_t size, size_t object,
                         gcut_fill_of_pipeline *fill);

/* The policy of its plan, or what it has instead of a plan. */
const char *gcut_policy_of(const gcut_pipeline *p, gcut_arena *keep);
void gcut_memory_of(const gcut_pipeline *p, gcut_arena *keep, gcut_arena *scratch, gcut_memory_profile *out);
/* Adds the step of a plan file, at the same sizes, to what gcut_memory_of made of the graph with these settings. */
void gcut_memory_add_against(gcut_graph *g, const gcut_settings *opt, const char *plan, gcut_arena *keep,
                             gcut_arena *scratch, gcut_memory_profile *out);
/* Points into the pipeline, too. */
const gcut_stage_info *gcut_stage_info_of(const gcut_pipeline *p, gcut_stage_name stage, gcut_arena *keep);
void gcut_stage_info_fill(const gcut_pipeline *p, gcut_stage_name stage, gcut_arena *keep,
                          gcut_stage_info *out);
/* The dependences of f, whose kernels are there, *n of them, from costs with terms and the placement of their buffers
 * (kernel_dependences.c). */
const gcut_kernel_dependence *gcut_kernel_dependences(const gcut_fusion *f, const gcut_costs *costs,
                                                      const gcut_placed *buffer, uint32_t nbuffers,
                                                      gcut_arena *keep, size_t *n);
void gcut_fusion_of(const gcut_pipeline *p, gcut_arena *keep, gcut_arena *scratch, gcut_fusion *out);
/* Without a backward graph nothing about gradients. */
void gcut_lint_of(const gcut_pipeline *p, gcut_arena *keep, gcut_arena *scratch, gcut_lint_report *out);

#endif
