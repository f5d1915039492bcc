/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Flip prices: at which lambda does the cheapest plan stop saving a tensor?
 *
 * A plan costs fixed + lambda * bytes, so the cheapest cost as a function of lambda is the lower envelope
 * of straight lines.  Two plans that are both on it are neighbours exactly when nothing is cheaper where
 * their lines meet; otherwise the plan found there splits the interval.  Every cut either adds a plan or
 * closes an interval, so the whole family takes about two cuts per breakpoint, shared by all tensors.
 */
#include "partition/decide.h"

#include <math.h>

typedef struct family {
    const gcut_problem *p;
    gcut_arena *arena;
    GCUT_VEC(gcut_choice *) plans; /* from `from` to `to`: bytes fall */
    GCUT_VEC(double) meets;        /* meets[i]: where plans i and i+1 cost the same */
} family;

static double cost_at(const gcut_choice *c, double lambda)
{
    return c->fixed_ns + lambda * (double)c->saved_bytes;
}

/* What the solver's quantisation and the sums of doubles may hide. */
static double blur(const gcut_choice *c)
{
    return c->cost_ns - c->lower_bound_ns + 1e-9 * c->cost_ns;
}

/* The plans strictly between a and b, then the breakpoint before b.  The depth is the number of plans at
 * worst, so the pending intervals are kept in an explicit stack. */
static void between(family *f, gcut_choice *first, gcut_choice *last)
{
    GCUT_VEC(gcut_choice *) right = {0};
    gcut_choice *a = first;
    *GCUT_PUSH(f->arena, &f->plans) = a;
    *GCUT_PUSH(f->arena, &right) = last;
    while (right.n) {
        gcut_choice *b = right.at[right.n - 1];
        if (b->saved_bytes >= a->saved_bytes) { /* the same plan, or one that ties */
            right.n--;
            continue;
        }
        double meet = (b->fixed_ns - a->fixed_ns) / (double)(a->saved_bytes - b->saved_bytes);
        gcut_choice *mid = gcut_choose(f->p, f->arena, GCUT_POLICY_MINCUT, meet);
        bool inside = mid->saved_bytes < a->saved_bytes && mid->saved_bytes > b->saved_bytes;
        if (inside && cost_at(mid, meet) < cost_at(a, meet) - blur(mid)) {
            *GCUT_PUSH(f->arena, &right) = mid;
            continue;
        }
        *GCUT_PUSH(f->arena, &f->meets) = meet;
        *GCUT_PUSH(f->arena, &f->plans) = b;
        a = b;
        right.n--;
    }
}

gcut_flips *gcut_flip_prices(const gcut_problem *p, gcut_arena *arena, double from, double to)
{
    gcut_arena *scratch = gcut_arena_new(p->g->module->env, arena);
    family f = {.p = p, .arena = scratch};
    between(&f, gcut_choose(p, scratch, GCUT_POLICY_MINCUT, from),
            gcut_choose(p, scratch, GCUT_POLICY_MINCUT, to));
    gcut_flips *flips = gcut_calloc(arena, p->g->values.n, sizeof *flips);
    for (gcut_ref v = 1; v < p->g->values.n; v++) {
        if (f.plans.at[0]->fate[v] != GCUT_F_SAVED) continue;
        GCUT_VEC(double) at = {0};
        for (uint32_t i = 0; i + 1 < f.plans.n; i++)
            if ((f.plans.at[i]->fate[v] == GCUT_F_SAVED) != (f.plans.at[i + 1]->fate[v] == GCUT_F_SAVED))
                *GCUT_PUSH(arena, &at) = f.meets.at[i];
        flips[v] = (gcut_flips){true, at.n, at.at};
    }
    gcut_arena_free(scratch);
    return flips;
}
