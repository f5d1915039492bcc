/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pictures and outlines of a graph, from a stage as data (gradcut/nodes.h).
 */
#ifndef GCUT_REPORT_GRAPHS_GRAPHS_H
#define GCUT_REPORT_GRAPHS_GRAPHS_H

#include "base/arena.h"
#include "gradcut/nodes.h"
#include "gradcut/plan.h"

/* report/graphs/dot.c: the primal stage for Graphviz, ops of a scope, cut to `depth` components, as one node. */
void gcut_write_dot(const gcut_stage_info *primal, const gcut_plan_info *plan, int depth, gcut_text *out);
/* report/graphs/tree.c: functions, their scopes and ops.  has_gradient: by value of each graph, whether a gradient reaches
 * it; NULL: not known. */
void gcut_write_tree(const gcut_stage_info *primal, const bool *const *has_gradient, gcut_text *out);
/* report/graphs/levels.c: kernels that do not depend on each other, and the critical path. */
void gcut_write_levels(const gcut_fusion *f, const gcut_table_options *o, gcut_text *out);

#endif
