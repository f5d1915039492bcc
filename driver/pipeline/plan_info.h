/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans as data, for the implementation of the public API.  These functions throw.
 */
#ifndef GCUT_DRIVER_PIPELINE_PLAN_INFO_H
#define GCUT_DRIVER_PIPELINE_PLAN_INFO_H

#include "partition/partition.h"

/* As gcut_plan_look and gcut_plan_valid_at: computed once for each plan, in the arena of its module. */
const gcut_plan_info *gcut_plan_info_of(const gcut_plan *plan);
const gcut_plan_validity *gcut_plan_validity_of(const gcut_plan *plan);
/* Writes the plan file. */
void gcut_plan_file_text(const gcut_plan *plan, gcut_text *out);

#endif
