/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The compiler from end to end.
 */
#ifndef GCUT_DRIVER_PIPELINE_COMPILE_H
#define GCUT_DRIVER_PIPELINE_COMPILE_H

#include "driver/pipeline/pipeline.h"

/* Makes every stage up to `goal`.  Throws.  The pipeline's arena is a child of parent. */
gcut_pipeline *gcut_pipeline_new(gcut_graph *user, const gcut_settings *opt, gcut_stage_name goal,
                                 gcut_arena *parent);

/* The same with another table of passes, which must outlive it; for tests of a wrong pass. */
gcut_pipeline *gcut_pipeline_by(const gcut_pass_table *passes, gcut_graph *user, const gcut_settings *opt,
                                gcut_stage_name goal, gcut_arena *parent);

/* As gcut_pipeline_new up to kernels, of a graph that is no pair: there is a plan. */
gcut_pipeline *gcut_pipeline_planned(gcut_graph *user, const gcut_settings *opt, gcut_arena *parent);

/* The same for a plan alone: with GCUT_GRAPHS_NEEDED. */
gcut_pipeline *gcut_pipeline_of_plan(gcut_graph *user, const gcut_settings *opt, gcut_arena *parent);

/* As gcut_pipeline_new, replaying that plan file, which the options do not name. */
gcut_pipeline *gcut_pipeline_replay(gcut_graph *user, const gcut_settings *opt, gcut_stage_name goal,
                                    gcut_arena *parent, gcut_plan_file *file);

/* Makes the stages of p after its last one up to `goal`, without a dump.  Throws; where that is GCUT_EPLAN,
 * because nothing fits the budget, p->peak_bytes is the smallest peak found. */
void gcut_pipeline_continue(gcut_pipeline *p, gcut_stage_name goal);

/* The pipeline of a step from the cache, from the text of its joint graph; it has neither plan nor program.
 * Throws. */
gcut_pipeline *gcut_pipeline_restore(gcut_graph *user, const gcut_settings *opt, gcut_arena *parent,
                                     const char *joint, size_t n);

#endif
