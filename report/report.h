/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room report/: results for people and for programs, in plans/ (plans, reasons), searches/ (frontiers, fits, comparisons),
 * steps/ (memory, kernels, times, lint), graphs/ (outlines, Graphviz) and page/ (all of it as HTML).
 *
 *   takes:  the public structs of gradcut/plan.h, gradcut/explanation.h and gradcut/nodes.h
 *   gives:  text, JSON, CSV, SVG, HTML and DOT
 *   keeps:  pure functions: same struct, same bytes
 */
#ifndef GCUT_REPORT_REPORT_H
#define GCUT_REPORT_REPORT_H

#include "base/json.h"
#include "gradcut/explanation.h"
#include "gradcut/plan.h"

/* report/plans/plan_text.c: totals and saved table: `gradcut plan`; the table alone: `gradcut saved`. */
void gcut_write_plan_text(const gcut_plan_info *p, const gcut_plan_validity *v, const gcut_table_options *o,
                          gcut_text *out);
/* Its first lines, which say how it was chosen, and its totals. */
void gcut_write_plan_totals(const gcut_plan_info *p, gcut_text *out);
void gcut_write_saved_text(const gcut_plan_info *p, const gcut_table_options *o, gcut_text *out);
/* report/plans/saved_table.c: its first part, the saved values. */
void gcut_write_saved_values(const gcut_plan_info *p, const gcut_table_options *o, gcut_text *out);
/* "%h2' relu, %mask gt": a prime marks what is itself recomputed; long lists are cut short.  folded: of a group of
 * values (fold.h), "2 x %block*.mask gt". */
const char *gcut_readers_text(gcut_arena *a, const gcut_plan_value *v, bool folded);
/* report/plans/plan_json.c: the plan file. */
/* certificate: JSON, the value of that member; NULL = there is none. */
void gcut_write_plan_json(const gcut_plan_info *p, const gcut_plan_validity *v, const char *certificate,
                          gcut_text *out);

/* report/plans/explanation_text.c, report/plans/explanation_json.c */
void gcut_write_explanation_text(const gcut_explanation *e, gcut_text *out);
void gcut_write_explanation_json(const gcut_explanation *e, gcut_text *out);

/* report/plans/cost_explanation.c.  Kernels whose runs do not add up to their time are a bug, and abort. */
void gcut_write_cost_text(const gcut_cost_explanation *e, gcut_text *out);
void gcut_write_cost_json(const gcut_cost_explanation *e, gcut_text *out);

/* report/plans/plan_diff.c */
void gcut_write_diff_text(const gcut_plan_diff *d, const gcut_table_options *o, gcut_text *out);
void gcut_write_diff_json(const gcut_plan_diff *d, gcut_text *out);

/* report/searches/frontier_text.c, report/searches/frontier_svg.c */
void gcut_write_frontier_text(const gcut_frontier *f, const gcut_table_options *o, gcut_text *out);
void gcut_write_frontier_csv(const gcut_frontier *f, gcut_text *out);
void gcut_write_frontier_json(const gcut_frontier *f, gcut_text *out);
typedef struct gcut_frontier_mark { /* another plan in the picture */
    const char *label;
    int64_t peak_bytes;
    double step_ns; /* predicted */
} gcut_frontier_mark;
/* mark may be NULL; it is left out where the times are measured. */
void gcut_write_frontier_svg(const gcut_frontier *f, const gcut_frontier_mark *mark, gcut_text *out);
/* Its predicted time; without one, the cost of saving and recomputing. */
double gcut_frontier_predicted_ns(const gcut_frontier_point *p);
/* The median of its measured times, else as predicted. */
double gcut_frontier_point_ns(const gcut_frontier_point *p);

/* report/steps/memory_text.c, report/steps/memory_json.c, report/steps/memory_svg.c */
void gcut_write_memory_text(const gcut_memory_profile *m, gcut_memory_part part, const gcut_table_options *o,
                            gcut_text *out);
void gcut_write_memory_json(const gcut_memory_profile *m, gcut_text *out);
/* pointed: with texts that a pointer reads, kernel by kernel. */
void gcut_write_memory_svg(const gcut_memory_profile *m, bool pointed, gcut_text *out);
/* report/steps/memory_schedule.c: comments of the text IR. */
void gcut_write_memory_schedule(const gcut_memory_profile *m, gcut_text *out);
const char *gcut_memory_word(gcut_memory_class c);       /* "parameters"; "" for none */
double gcut_memory_end_ns(const gcut_memory_profile *m); /* when the last event ends */
/* The event with the most bytes of those that run in column c of n, which are `all` ns wide together; NULL: none does.
 * *from: 0 for column 0, kept for those that follow. */
const gcut_memory_event *gcut_memory_fullest(const gcut_memory_profile *m, int c, int n, double all,
                                             size_t *from);

/* report/steps/fusion_text.c, report/steps/fusion_json.c */
void gcut_write_fusion_text(const gcut_fusion *f, const gcut_table_options *o, gcut_text *out);
void gcut_write_unfused(const gcut_unfused *x, gcut_text *out);
void gcut_write_fusion_json(const gcut_fusion *f, gcut_text *out);
bool gcut_launch_makes(const gcut_fusion *f, int launch, const char *value);

/* report/steps/lint.c */
void gcut_write_lint_text(const gcut_lint_report *r, const gcut_table_options *o, gcut_text *out);
void gcut_write_lint_json(const gcut_lint_report *r, gcut_text *out);

/* report/steps/profile_text.c, report/steps/profile_trace.c, report/steps/profile_svg.c */
void gcut_write_profile_text(const gcut_profile *p, const gcut_table_options *o, gcut_text *out);
void gcut_write_profile_trace(const gcut_profile *p, const gcut_memory_profile *m, gcut_text *out);
void gcut_write_profile_svg(const gcut_profile *p, gcut_text *out);
/* report/steps/profile_flame.c */
void gcut_write_profile_flame(const gcut_profile *p, gcut_text *out);
/* report/steps/profile_json.c */
void gcut_write_profile_json(const gcut_profile *p, gcut_text *out);
/* Flops and bytes per second of a kernel, 0 without a time; and the larger of what these are of the limits. */
double gcut_kernel_flops_rate(const gcut_kernel_time *k);
double gcut_kernel_bytes_rate(const gcut_kernel_time *k);
double gcut_kernel_share(const gcut_profile *p, const gcut_kernel_time *k);

/* report/searches/fit.c */
void gcut_write_fit_text(const gcut_fitted *f, gcut_text *out);
void gcut_write_fit_json(const gcut_fitted *f, gcut_text *out);

/* report/searches/measured.c */
/* "33.8 ms (33.1 ms to 34.9 ms)"; NULL where it was not measured. */
const char *gcut_median_text(gcut_arena *a, double ns, double lo, double hi);
/* "0.982 (0.961 to 1.013), not separable"; NULL where it was not measured. */
const char *gcut_ratio_text(gcut_arena *a, double ratio, double lo, double hi, bool separable);
/* A line that says how a table was measured. */
void gcut_write_rounds(int rounds, uint64_t seed, gcut_text *out);
/* Where two measurements of one plan are separable, a line that says so. */
void gcut_write_again(const char *name, bool separable, gcut_text *out);
void gcut_write_samples_csv(const gcut_sample *const *sample, size_t n, gcut_text *out);
void gcut_json_samples(gcut_json *j, const gcut_sample *const *sample, size_t n);
void gcut_csv_string(gcut_text *out, const char *s);

/* report/searches/comparison.c */
const char *gcut_comparison_sentence(gcut_arena *a, const gcut_comparison *c);
void gcut_write_comparison_text(const gcut_comparison *c, gcut_text *out);
void gcut_write_comparison_json(const gcut_comparison *c, gcut_text *out);

/* ---- words ---- */

/* "saved", "recomputed", "free", "unused", "backward" */
const char *gcut_decision_word(gcut_plan_decision d);
/* A source location with control characters of the file name, which a terminal would execute, as '?'. */
const char *gcut_place_text(gcut_arena *a, const char *where);
/* ", at N=4, T=8" with `first` before the first of them; "" for none. */
void gcut_write_sizes(const gcut_size *at, size_t n, const char *first, gcut_text *out);
/* The price in ns per saved byte, and the limit of saved bytes or -1, with GCUT_LAMBDA_FASTEST and
 * GCUT_SAVE_NOTHING as 0. */
double gcut_plan_price(const gcut_plan_info *p);
int64_t gcut_plan_saved_limit(int64_t saved_budget);
/* "replayed, made for a budget of 24,000 bytes (23.4 KiB)"; NULL: the plan is no replay of one that had a limit. */
const char *gcut_replayed_text(gcut_arena *a, const gcut_plan_info *p);
/* Members of an object: "name:kind other:kind" with a value for each.  Kinds: s, a string or NULL; i, an
 * int64_t; k, an int64_t that is unknown (null) below 0; r, a double; b, a bool. */
void gcut_json_members(gcut_json *j, const char *form, ...);
/* A member that is a list of names. */
void gcut_json_names(gcut_json *j, const char *key, const char *const *name, size_t n);

#endif
