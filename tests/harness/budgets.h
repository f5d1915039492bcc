/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Budgets of a graph, and the plans of a budget under one more constraint.  After cmocka.h.
 */
#ifndef GCUT_TESTS_BUDGETS_H
#define GCUT_TESTS_BUDGETS_H

#include <string.h>

#include "driver/search/local_search.h"
#include "public.h"

/* Above the search's own threshold by what rounding of sums may add. */
#define WORTH (GCUT_FLIP_WORTH * 1.001)

static inline gcut_plan *plan_of(gcut_graph *g, const gcut_options *o)
{
    gcut_plan *plan = gcut_plan_new(g, o);
    assert_non_null(plan);
    return plan;
}

static inline int64_t peak_of(gcut_graph *g, const gcut_options *o)
{
    gcut_plan *plan = plan_of(g, o);
    const int64_t peak = gcut_plan_look(plan)->peak_bytes;
    gcut_plan_free(plan);
    return peak;
}

/* The budget at that share of the way from the smallest peak found to the peak of save-all. */
static inline int64_t budget_at(gcut_graph *g, double share)
{
    gcut_options all = TEST_OPTIONS, least = all;
    all.policy = "save-all";
    least.budget = GCUT_BUDGET_MIN;
    const int64_t most = peak_of(g, &all), lo = peak_of(g, &least);
    assert_true(lo > 0 && lo <= most);
    return lo + (int64_t)(share * (double)(most - lo));
}

/* Forces *name to have another decision than that. */
static inline void constrain(gcut_options *o, const char *const *name, gcut_plan_decision decision)
{
    const bool saved = decision == GCUT_PLAN_SAVED;
    *(saved ? &o->recompute : &o->save) = name;
    *(saved ? &o->nrecompute : &o->nsave) = 1;
}

/* A search with one decision of p forced the other way finds no faster plan: for one value of `every`. */
static inline void no_constraint_is_faster(gcut_ctx *ctx, const char *label, gcut_graph *g,
                                           const gcut_plan_info *p, const gcut_options *o, size_t every)
{
    for (size_t i = every / 3; i < p->n; i += every) {
        const char *value = p->value[i]->name;
        const gcut_plan_decision d = p->value[i]->decision;
        gcut_options with = *o;
        if (d != GCUT_PLAN_SAVED && d != GCUT_PLAN_RECOMPUTED) continue;
        assert_false(p->value[i]->forced);
        constrain(&with, &value, d);
        gcut_plan *other = gcut_plan_new(g, &with);
        gcut_clear_errors(ctx);
        if (other && gcut_plan_look(other)->step_ns < p->step_ns * (1 - WORTH))
            fail_msg("%s, budget %lld: %.0f ns, and with another decision for %%%s %.0f", label,
                     (long long)o->budget, p->step_ns, value, gcut_plan_look(other)->step_ns);
        gcut_plan_free(other);
    }
}

#endif
