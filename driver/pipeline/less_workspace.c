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
#include "driver/pipeline/less_workspace.h"

#include <math.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "graph/ops/node_facts.h"

/* The convolution that a value of a split graph is computed by, among those of `g`: a further copy has a
 * number behind its name.  0: none. */
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

/* What takes less workspace already, and those that run while more than `most` bytes are alive; NULL: there
 * are no others. */
static const gcut_refs *more(gcut_candidates *o, const gcut_candidate *of, const gcut_spares *spares,
                             int64_t most)
{
    const gcut_graph *g = of->base->planned;
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(o->arena), o->arena);
    bool *less = gcut_calloc(scratch, g->values.n, sizeof *less), any = false;
    gcut_refs *out = gcut_calloc(o->arena, 1, sizeof *out);
    for (uint32_t i = 0; of->less_workspace && i < of->less_workspace->n; i++)
        less[of->less_workspace->at[i]] = true;
    for (uint32_t i = 0; i < spares->n; i++) {
        const gcut_ref v = convolution_of(g, spares->at[i].value, scratch);
        if (!v || less[v] || spares->at[i].alive <= most) continue;
        less[v] = any = true;
    }
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (less[v]) *GCUT_PUSH(o->arena, out) = v;
    gcut_arena_free(scratch);
    return any ? out : NULL;
}

/* One step of it; false: there is none. */
static bool spare(gcut_candidates *o, gcut_candidate *x, int64_t budget)
{
    gcut_pipeline *q = gcut_candidate_lower(o, x, o->arena);
    const gcut_spares spares =
        gcut_program_spares(q->program, q->at, q->nat, gcut_rt_threads(q->opt.threads), o->arena);
    const int64_t other = x->peak_bytes - spares.most, goal = budget - other;
    o->nodes_tried += x->base->planned->nodes.n;
    const gcut_refs *less = more(o, x, &spares, goal > spares.least ? goal : spares.least);
    gcut_arena_free(q->arena);
    if (!less) return false;
    gcut_candidate next = *x;
    if (!x->less_workspace) next.label = gcut_printf(o->arena, "%s, less workspace", x->label);
    next.less_workspace = less;
    next.peak_bytes = -1;
    next.step_ns = NAN;
    if (gcut_candidate_peak(o, &next) >= x->peak_bytes) return false;
    *x = next;
    return true;
}

gcut_candidate gcut_candidate_spared(gcut_candidates *o, const gcut_candidate *from, int64_t budget)
{
    gcut_candidate x = *from;
    while (gcut_candidate_peak(o, &x) > budget && x.least_bytes < x.peak_bytes && spare(o, &x, budget))
        continue;
    return x;
}
