/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Collects plans, simulates their peaks, and drops the dominated ones.
 */
#include "partition/budget/simulated_plans.h"

#include <math.h>
#include <stdlib.h>

#include "partition/cut/frontier.h"
#include "partition/budget/second_copies.h"
#include "partition/budget/checkpoint_levels.h"
#include "partition/budget/simulator.h"
#include "partition/policies/policy.h"

#define FROM_FRONTIER 64
#define FROM_LEVELS 120
#define OPTIONS 6  /* plans of the frontier whose savings are considered for each block; > 2 */
#define IMPROVED 8 /* plans that get second copies */
/* A costlier plan gets second copies only below this share of the smallest peak so far. */
#define CLEARLY 0.995
#define MARGIN 1.3 /* a larger peak than this is dropped; the simulator omits workspace and gaps */

static int cheaper(const void *a, const void *b)
{
    const gcut_simulated_plan *m = a, *n = b;
    const gcut_choice *x = m->choice, *y = n->choice;
    if (x->fixed_ns != y->fixed_ns) return x->fixed_ns < y->fixed_ns ? -1 : 1;
    if (x->saved_bytes != y->saved_bytes) return x->saved_bytes < y->saved_bytes ? 1 : -1;
    return (m->simulated_peak < n->simulated_peak) - (m->simulated_peak > n->simulated_peak);
}

static void add(gcut_simulated_plans *f, gcut_arena *arena, const gcut_problem *p, gcut_choice *c,
                const char *label)
{
    int64_t peak = gcut_live_peak(p, c);
    for (uint32_t i = 0; i < f->by_cost.n; i++) {
        const gcut_simulated_plan *o = &f->by_cost.at[i];
        if (o->choice->fixed_ns == c->fixed_ns && o->choice->saved_bytes == c->saved_bytes &&
            o->simulated_peak == peak)
            return;
    }
    *GCUT_PUSH(arena, &f->by_cost) = (gcut_simulated_plan){c, label, peak};
}

/* Adds every corner if there are few, and otherwise points at equal intervals of the index. */
static void add_frontier(gcut_simulated_plans *f, gcut_arena *arena, const gcut_problem *p)
{
    const gcut_cut_frontier *h = f->frontier = gcut_cut_frontier_of(p, arena);
    uint32_t n = h->points.n, corners = 0;
    for (uint32_t i = 0; i < n; i++) corners += !h->points.at[i].between;
    for (uint32_t i = 0, k = 0; i < n; i++) {
        const gcut_cut_point *x = &h->points.at[i];
        bool take = n <= FROM_FRONTIER || i == n - 1 || (uint64_t)i * FROM_FRONTIER / n != k;
        if (corners <= FROM_FRONTIER / 2) take |= !x->between;
        k = (uint32_t)((uint64_t)i * FROM_FRONTIER / n);
        if (!take && i) continue;
        add(f, arena, p, gcut_cut_point_choice(h, arena, x),
            x->between ? gcut_printf(arena, "between lambda %.4g, %u", x->from, i)
                       : gcut_printf(arena, "lambda %.4g", x->from));
    }
}

/* Plans of the frontier at equal intervals of the index, save-all first. */
static uint32_t options_of(const gcut_simulated_plans *f, const gcut_choice **out)
{
    uint32_t n = f->by_cost.n, k = 0;
    out[k++] = f->by_cost.at[0].choice;
    for (uint32_t i = 0; i + 1 < OPTIONS && n > 1; i++) {
        const gcut_choice *c = f->by_cost.at[1 + (uint64_t)i * (n - 2) / (OPTIONS - 2)].choice;
        if (c != out[k - 1]) out[k++] = c;
    }
    return k;
}

static void add_levels(gcut_simulated_plans *f, gcut_arena *arena, const gcut_problem *p)
{
    const gcut_choice *options[OPTIONS];
    const gcut_chain *c = gcut_chain_of(p, arena, options, options_of(f, options));
    if (c->b.n < 2) return;
    gcut_level_plans l = gcut_levels_of(c, arena, FROM_LEVELS);
    for (uint32_t i = 0; i < l.at.n; i++)
        add(f, arena, p, l.at.at[i].choice,
            gcut_printf(arena, "levels %u of %u, %lld bytes", l.at.at[i].saved, c->b.n,
                        (long long)l.at.at[i].bytes));
}

/* ---- the choice among them ---- */

/* Sorts by cost, and drops plans with a peak above `margin` times that of a cheaper one. */
static void drop_dominated(gcut_simulated_plans *f, double margin)
{
    uint32_t n = 0;
    double least = 0;
    qsort(f->by_cost.at, f->by_cost.n, sizeof *f->by_cost.at, cheaper);
    for (uint32_t i = 0; i < f->by_cost.n; i++) {
        gcut_simulated_plan m = f->by_cost.at[i];
        double peak = (double)m.simulated_peak;
        if (n && peak > least * margin) continue;
        if (!n || peak < least) least = peak;
        f->by_cost.at[n++] = m;
    }
    f->by_cost.n = n;
}

/* Drops, of the two neighbours with the closest costs, the one with the higher peak; keeps both ends. */
static void limit(gcut_simulated_plans *f)
{
    while (f->by_cost.n > GCUT_MAX_SIMULATED) {
        uint32_t best = 1;
        double least = -1;
        for (uint32_t i = 1; i + 2 < f->by_cost.n; i++) {
            const gcut_simulated_plan *a = &f->by_cost.at[i], *b = a + 1;
            double gap = (b->choice->fixed_ns - a->choice->fixed_ns) / (a->choice->fixed_ns + 1);
            if (least >= 0 && gap >= least) continue;
            least = gap;
            best = a->simulated_peak < b->simulated_peak ? i + 1 : i;
        }
        for (uint32_t i = best; i + 1 < f->by_cost.n; i++) f->by_cost.at[i] = f->by_cost.at[i + 1];
        f->by_cost.n--;
    }
}

static void add_second_copies(gcut_simulated_plans *f, gcut_arena *arena, const gcut_problem *p,
                              const gcut_simulated_plan *m)
{
    gcut_choices more = {0};
    gcut_second_copies(p, arena, m->choice, &more);
    for (uint32_t c = 0; c < more.n; c++) {
        const char *label = gcut_printf(arena, "%s, %u second cop%s", m->label, c + 1, c ? "ies" : "y");
        add(f, arena, p, more.at[c], label);
        add(f, arena, p, gcut_chains_copied(p, arena, more.at[c]), gcut_printf(arena, "%s of chains", label));
    }
}

/* Adds plans with second copies, made from plans over the whole range of costs and from those with the lowest
 * peaks. */
static void improve(gcut_simulated_plans *f, gcut_arena *arena, const gcut_problem *p)
{
    gcut_simulated_plans all = {0}, best = {0};
    for (uint32_t i = 0; i < f->by_cost.n; i++) {
        *GCUT_PUSH(arena, &all.by_cost) = f->by_cost.at[i];
        *GCUT_PUSH(arena, &best.by_cost) = f->by_cost.at[i];
    }
    drop_dominated(&all, INFINITY);
    drop_dominated(&best, CLEARLY);
    for (uint32_t i = 0; i < IMPROVED; i++) {
        uint32_t n = all.by_cost.n;
        if (i < n) add_second_copies(f, arena, p, &all.by_cost.at[(uint64_t)i * (n - 1) / (IMPROVED - 1)]);
        if (i < best.by_cost.n) add_second_copies(f, arena, p, &best.by_cost.at[best.by_cost.n - 1 - i]);
    }
}

gcut_simulated_plans *gcut_simulated_plans_of(const gcut_problem *p, gcut_arena *arena)
{
    gcut_simulated_plans *f = gcut_calloc(arena, 1, sizeof *f);
    add(f, arena, p, gcut_choose(p, arena, gcut_policy_get(GCUT_POLICY_SAVE_ALL)->saved, 0), "save-all");
    add_frontier(f, arena, p);
    add_levels(f, arena, p);
    improve(f, arena, p);
    drop_dominated(f, MARGIN);
    limit(f);
    return f;
}
