/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plan options from the user's options and a plan file.
 */
#ifndef GCUT_DRIVER_OPTIONS_PLAN_OPTIONS_H
#define GCUT_DRIVER_OPTIONS_PLAN_OPTIONS_H

#include "driver/pipeline/pipeline.h"

/* The plan options that the user's options ask for; throws on those that no plan can meet. */
gcut_plan_options gcut_pipeline_plan_options(const gcut_pipeline *p);
/* Takes `file`, or reads the plan file of the options where that is NULL.  Its policy and price replace those
 * of the options; its sizes apply where the options give none. */
void gcut_pipeline_read_plan(gcut_pipeline *p, gcut_plan_file *file);
/* p->at, except for the sizes in the plan file, which are taken from there. */
const gcut_dim_binding *gcut_pipeline_planned_sizes(const gcut_pipeline *p);

#endif
