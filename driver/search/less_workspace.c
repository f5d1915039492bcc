/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolutions that take the algorithm with less workspace.
 *
 * A plan is lowered; of the convolutions that run where more bytes are alive than the budget allows, those
 * that have an alternative take it, and the plan is lowered again, until it fits or the peak is held by
 * something else.  A budget below what all alternatives together reach asks for no more than they do.
 *
 * All copies of a convolution change with it, so that a recomputed value has the bits of the one that was
 * computed first.
 */
#include "driver/search/less_workspace.h"

#include <math.h>
#include <string.h>

#include "graph/ops/node_facts.h"

/* The convolution that a value of a split graph is computed by, among those of `g`: a further copy has a
 * number after its name.  0: none. */
static gcut_ref convolution_of(const gcut_graph *g, const char *name, gcut_arena *scratch)
{
    const char *dot = strrchr(name, '.');
    for (int cut = 0; cut < 2; cut++) {
        if (cut && !dot) return 0;
        const gcut_ref v = gcut_graph_find(g, cut ? gcut_strndup(scratch, name, (size_t)(dot - name)) : name);
        const gcut_node *n = v ? gcut_def(g, v) : NULL;
        if (n && gcut_is_convolution(n)) return v;
    }
    return 0;
}

/* The convolutions that take less workspace already, and those that could and that run while more than `most` bytes
 * are alive; NULL: no convolution is added. */
static const gcut_refs *with_more(gcut_candidates *o, const gcut_candidate *of, const gcut_alternatives *all,
                                  int64_t most)
{
    const gcut_graph *g = of->base->planned;
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(o->arena), o->arena);
    bool *less = gcut_calloc(scratch, g->values.n, sizeof *less), any = false;
    gcut_refs *out = gcut_calloc(o->arena, 1, sizeof *out);
    for (uint32_t i = 0; of->less_workspace && i < of->less_workspace->n; i++)
        less[of->less_workspace->at[i]] = true;
    for (uint32_t i = 0; i < all->n; i++) {
        const gcut_ref v = convolution_of(g, all->at[i].value, scratch);
        if (!v || less[v] || all->at[i].alive <= most) continue;
        less[v] = any = true;
    }
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (less[v]) *GCUT_PUSH(o->arena, out) = v;
    gcut_arena_free(scratch);
    return any ? out : NULL;
}

/* Changes the convolutions that run above the budget; false: there are none, or the peak stays. */
static bool change(gcut_candidates *o, gcut_candidate *x, int64_t budget)
{
    const gcut_alternatives all = o->known.at[x->known - 1].alternatives;
    const int64_t other = x->peak_bytes - all.most, goal = budget - other;
    const gcut_refs *less = with_more(o, x, &all, goal > all.least ? goal : all.least);
    if (!less) return false;
    gcut_candidate next = *x;
    next.less_workspace = less;
    gcut_candidate_name(&next, o->arena);
    next.peak_bytes = -1;
    next.step_ns = NAN;
    next.settled = 0;
    if (gcut_candidate_peak(o, &next) >= x->peak_bytes) return false;
    *x = next;
    return true;
}

gcut_candidate gcut_candidate_with_less_workspace(gcut_candidates *o, const gcut_candidate *from,
                                                  int64_t budget)
{
    gcut_candidate x = *from;
    while (gcut_candidate_peak(o, &x) > budget && x.least_bytes < x.peak_bytes && change(o, &x, budget))
        continue;
    return x;
}
