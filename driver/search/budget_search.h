/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Budgets on the peak of the whole step.
 */
#ifndef GCUT_DRIVER_SEARCH_BUDGET_SEARCH_H
#define GCUT_DRIVER_SEARCH_BUDGET_SEARCH_H

#include "driver/search/candidates.h"

/* The fastest plan that the search finds for that budget; where it finds none that fits, gcut_budget_least.
 * Every plan "at equal peak" is found by this function.  The candidates are lowered and sorted. */
gcut_candidate gcut_budget_best(gcut_candidates *o, int64_t budget);
/* The plan with the smallest peak that the search finds: a budget of this peak is met. */
gcut_candidate gcut_budget_least(gcut_candidates *o);

/* Sets p->planned and p->plan for p->opt.budget.  Throws GCUT_EPLAN, with the smallest peak and the values
 * alive there, when nothing fits. */
void gcut_budget_plan(gcut_pipeline *p);
/* Throws the same error for a lowered pipeline whose peak exceeds the budget. */
void gcut_budget_check(const gcut_pipeline *p);

#endif
