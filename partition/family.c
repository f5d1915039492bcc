/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The family of plans: minimum cuts from one end of lambda to the other, and save-all.
 */
#include "partition/family.h"

#include <stdlib.h>

static int cheaper(const void *a, const void *b)
{
    const gcut_choice *x = ((const gcut_member *)a)->choice, *y = ((const gcut_member *)b)->choice;
    if (x->fixed_ns != y->fixed_ns) return x->fixed_ns < y->fixed_ns ? -1 : 1;
    return (x->saved_bytes > y->saved_bytes) - (x->saved_bytes < y->saved_bytes);
}

static void add(gcut_family *f, gcut_arena *arena, gcut_choice *c, const char *label)
{
    for (uint32_t i = 0; i < f->by_cost.n; i++) {
        const gcut_choice *o = f->by_cost.at[i].choice;
        if (o->fixed_ns == c->fixed_ns && o->saved_bytes == c->saved_bytes) return;
    }
    *GCUT_PUSH(arena, &f->by_cost) = (gcut_member){c, label};
}

gcut_family *gcut_family_of(const gcut_problem *p, gcut_arena *arena)
{
    gcut_family *f = gcut_calloc(arena, 1, sizeof *f);
    add(f, arena, gcut_choose(p, arena, GCUT_POLICY_SAVE_ALL, 0), "save-all");
    add(f, arena, gcut_choose(p, arena, GCUT_POLICY_MINCUT, 0), "lambda 0");
    for (double lambda = 1e-3; lambda < 2e3; lambda *= 2)
        add(f, arena, gcut_choose(p, arena, GCUT_POLICY_MINCUT, lambda),
            gcut_printf(arena, "lambda %.2g", lambda));
    qsort(f->by_cost.at, f->by_cost.n, sizeof *f->by_cost.at, cheaper);
    return f;
}
