/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tables of reports as data, which the texts of commands and the page print.  The first row has the titles.
 */
#ifndef GCUT_REPORT_TABLES_H
#define GCUT_REPORT_TABLES_H

#include "base/table.h"
#include "gradcut/plan.h"

/* report/plans/saved_table.c: the saved values, the largest first. */
gcut_table gcut_saved_table(const gcut_plan_info *p, const gcut_table_options *o, gcut_arena *a);

/* report/plans/recomputed_table.c: the values that the backward graph computes again, the longest first. */
gcut_table gcut_recomputed_table(const gcut_plan_info *p, const gcut_table_options *o, gcut_arena *a);

/* report/steps/memory_tables.c: classes at the peak; buffers alive there; every buffer of the arena; what is alive during
 * each event; what the buffers at the peak hold, by op, scope or source line. */
gcut_table gcut_memory_classes(const gcut_memory_profile *m, gcut_arena *a);
gcut_table gcut_memory_holders(const gcut_memory_profile *m, const gcut_table_options *o, gcut_arena *a);
enum { GCUT_MEMORY_BY_OP, GCUT_MEMORY_BY_SCOPE, GCUT_MEMORY_BY_LINE, GCUT_MEMORY_TOTALS };
gcut_table gcut_memory_map(const gcut_memory_profile *m, const gcut_table_options *o, gcut_arena *a);
gcut_table gcut_memory_events(const gcut_memory_profile *m, const gcut_table_options *o, gcut_arena *a);
/* By class, of the text's picture: P of parameters. */
extern const char gcut_memory_letters[GCUT_MEMORY_CLASSES + 1];
gcut_table gcut_memory_totals(const gcut_memory_profile *m, int by, const gcut_table_options *o,
                              gcut_arena *a);

/* report/steps/fusion_text.c: kernels and what is in them; values that another kernel reads from memory, and what the
 * codes of their reasons mean.  *pairs: how many values and readers there are, whatever the options leave out. */
gcut_table gcut_fused_table(const gcut_fusion *f, const gcut_table_options *o, gcut_arena *a);
gcut_table gcut_unfused_table(const gcut_fusion *f, const gcut_table_options *o, gcut_arena *a,
                              gcut_table *reasons, uint32_t *pairs);

/* report/steps/profile_text.c: kernels with measured times, the longest first. */
gcut_table gcut_profile_table(const gcut_profile *p, const gcut_table_options *o, gcut_arena *a);

/* report/steps/lint.c: findings from..to-1, which are of one rule; the end of those that begin at `from`. */
gcut_table gcut_lint_table(const gcut_lint_report *r, size_t from, size_t to, const gcut_table_options *o,
                           gcut_arena *a);
size_t gcut_lint_rule_end(const gcut_lint_report *r, size_t from);

/* report/searches/frontier_text.c: a row for each point. */
gcut_table gcut_frontier_table(const gcut_frontier *s, const gcut_table_options *o, gcut_arena *a);

#endif
