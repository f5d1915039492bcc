/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans of choices that a search has made; gcut_plan_make, of partition.h, chooses itself.
 */
#ifndef GCUT_PARTITION_PLAN_H
#define GCUT_PARTITION_PLAN_H

#include "partition/cut/decisions.h"

/* A plan of that choice; memory from the joint graph's module. */
gcut_plan *gcut_plan_from(const gcut_problem *p, const gcut_plan_options *opt, const gcut_choice *c);

#endif
