/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lists `saved` and `recomputed` of a plan file, which are for readers: an edit of them is refused.
 */
#ifndef GCUT_PARTITION_REPORT_PLAN_LISTS_H
#define GCUT_PARTITION_REPORT_PLAN_LISTS_H

#include "base/json_read.h"
#include "partition/report/plan_file.h"
#include "partition/report/plan_queries.h"

/* Over the names in both lists, and which of the saved values are forced. */
const char *gcut_plan_lists_hash(const gcut_graph *g, const gcut_refs *saved, const gcut_refs *recomputed,
                                 const gcut_decision *decision, gcut_arena *arena);
/* Throws GCUT_ESYNTAX where the lists of the file were edited or, in a file without their hash, contradict
 * the lines of the part. */
void gcut_plan_lists_check(const gcut_jnode *file, const gcut_plan_part *part, gcut_arena *arena);

#endif
