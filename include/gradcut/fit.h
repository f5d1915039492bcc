/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The largest batch that fits a budget.
 */
#ifndef GRADCUT_FIT_H
#define GRADCUT_FIT_H

#include "gradcut/gradcut.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcut_fit_options {
    const char *symbol; /* the size that is enlarged; NULL = the graph's only symbol */
    int64_t most;       /* no larger one is tried; 0 = the most that the graph allows, up to 2^40 */
} gcut_fit_options;

/* The largest size of a symbol for which a plan keeps options.budget, and the size with the most per second as
 * predicted.  Sizes are doubled and bisected, each planned as gcut_plan_new would with that size in options.at;
 * those that the graph does not allow are skipped.  What is claimed was tried: `largest` fits, `next` does not,
 * no larger size that was tried does (doc/plans.md).  how NULL = defaults.  The caller's
 * (gcut_free); NULL on error: GCUT_EPLAN where the smallest size does not fit, nor the three after it; GCUT_EUSAGE
 * where options.budget is not a number of bytes, or options.at or options.fix has the symbol; GCUT_EDIM where the
 * graph allows no size up to `most`. */
GCUT_API gcut_fitted *gcut_fit_sized(size_t size, size_t how_size, gcut_graph *g, const gcut_options *opt,
                                     const gcut_fit_options *how);
#define gcut_fit(...) gcut_fit_sized(sizeof(gcut_options), sizeof(gcut_fit_options), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
