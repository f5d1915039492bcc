/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Candidates under one more constraint, as if the caller had given --save %v or --recompute %v.  The constraint leads a search
 * another way, which may end in a better plan.
 */
#include "driver/search/constrained_candidates.h"

#include "driver/search/flips.h"

/* The list and that name. */
static const char *const *with_name(gcut_arena *a, const char *const *list, size_t *n, const char *name)
{
    const char **out = gcut_calloc(a, *n + 1, sizeof *out);
    for (size_t i = 0; i < *n; i++) out[i] = list[i];
    out[(*n)++] = name;
    return out;
}

static void constrain(gcut_settings *opt, const gcut_candidate *of, gcut_ref v, gcut_arena *a)
{
    const char *name = of->base->planned->values.at[v].name;
    if (of->choice->decision[v] == GCUT_PLAN_SAVED)
        opt->recompute = with_name(a, opt->recompute, &opt->nrecompute, name);
    else
        opt->save = with_name(a, opt->save, &opt->nsave, name);
}

/* The base of o with the loops of that one. */
static const gcut_candidate_base *base_like(const gcut_candidates *o, const gcut_candidate_base *like)
{
    for (uint32_t i = 0; i < o->bases.n; i++)
        if (gcut_graph_same(o->bases.at[i]->planned, like->planned)) return o->bases.at[i];
    return NULL;
}

gcut_candidate gcut_candidate_adopted(gcut_candidates *o, const gcut_candidate *x)
{
    gcut_candidate y = *x;
    y.base = base_like(o, x->base);
    if (!y.base) return (gcut_candidate){.peak_bytes = INT64_MAX};
    y.options = &y.base->options;
    y.choice = gcut_copy_choice(y.base->problem, o->arena, x->choice);
    if (x->less_workspace) {
        gcut_refs *less = gcut_calloc(o->arena, 1, sizeof *less);
        for (uint32_t i = 0; i < x->less_workspace->n; i++)
            *GCUT_PUSH(o->arena, less) = x->less_workspace->at[i];
        y.less_workspace = less;
    }
    y.origin = gcut_keep(o->arena, x->origin);
    gcut_candidate_name(&y, o->arena);
    y.peak_bytes = -1;
    y.settled = 0;
    y.known = 0;
    gcut_candidate_peak(o, &y);
    return y;
}

gcut_candidates *gcut_candidates_constrained(gcut_candidates *o, const gcut_candidate *of, gcut_ref v,
                                             gcut_arena *arena)
{
    gcut_pipeline *p = gcut_memdup(arena, o->p, sizeof *p);
    p->opt.thorough = false;
    constrain(&p->opt, of, v, arena);
    return gcut_candidates_of(p, arena);
}
