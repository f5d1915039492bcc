/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Building the network, arc by arc.
 */
#include "partition/cut/network.h"

#include <math.h>

void gcut_network_make_room(gcut_network *n, uint32_t narcs)
{
    GCUT_ASSERT(!n->arcs.n);
    n->arcs.at = gcut_alloc(n->arena, ((size_t)narcs + 1) * sizeof *n->arcs.at);
    n->arcs.cap = narcs;
}

gcut_network *gcut_network_new(gcut_arena *arena, uint32_t nvalues)
{
    gcut_network *n = gcut_calloc(arena, 1, sizeof *n);
    n->arena = arena;
    n->nvertices = 2;
    n->nvalues = nvalues;
    n->in = gcut_calloc(arena, (size_t)nvalues + 1, sizeof *n->in);
    n->out = gcut_calloc(arena, (size_t)nvalues + 1, sizeof *n->out);
    return n;
}

static void add(gcut_network *n, gcut_arc a)
{
    GCUT_ASSERT(a.from != a.to && a.from < n->nvertices && a.to < n->nvertices);
    GCUT_ASSERT(a.price >= 0); /* false for NaN too */
    a.fixed = a.price;
    *GCUT_PUSH(n->arena, &n->arcs) = a;
}

void gcut_network_value(gcut_network *n, uint32_t v, double save, int64_t bytes, int32_t weight,
                        const char *reason)
{
    GCUT_ASSERT(v < n->nvalues && !n->in[v] && bytes >= 0);
    n->in[v] = n->nvertices++;
    n->out[v] = n->nvertices++;
    add(n, (gcut_arc){.from = n->in[v],
                      .to = n->out[v],
                      .price = save,
                      .kind = GCUT_ARC_SAVE,
                      .value = v,
                      .bytes = bytes,
                      .weight = weight,
                      .reason = reason});
}

void gcut_network_work(gcut_network *n, double recompute, const char *reason, const uint32_t *args,
                       uint32_t nargs, const uint32_t *res, uint32_t nres)
{
    GCUT_ASSERT(nres > 0);
    uint32_t work = nres == 1 ? n->in[res[0]] : n->nvertices++;
    add(n, (gcut_arc){.from = GCUT_NET_SOURCE,
                      .to = work,
                      .price = recompute,
                      .kind = GCUT_ARC_RECOMPUTE,
                      .value = res[0],
                      .reason = reason});
    for (uint32_t k = 0; k < nargs; k++) {
        GCUT_ASSERT(n->out[args[k]]);
        add(n, (gcut_arc){.from = n->out[args[k]],
                          .to = work,
                          .price = INFINITY,
                          .kind = GCUT_ARC_OPERAND,
                          .value = res[0],
                          .reason = "to recompute a value its operands must be available"});
    }
    for (uint32_t k = 0; nres > 1 && k < nres; k++)
        add(n, (gcut_arc){.from = work,
                          .to = n->in[res[k]],
                          .price = INFINITY,
                          .kind = GCUT_ARC_OPERAND,
                          .value = res[k],
                          .reason = "a result is recomputed with its node"});
}

void gcut_network_read(gcut_network *n, uint32_t v, const char *reason)
{
    GCUT_ASSERT(n->out[v]);
    add(n, (gcut_arc){.from = n->out[v],
                      .to = GCUT_NET_SINK,
                      .price = INFINITY,
                      .kind = GCUT_ARC_READ,
                      .value = v,
                      .reason = reason});
}

void gcut_network_at(gcut_network *n, double lambda)
{
    for (uint32_t i = 0; i < n->arcs.n; i++) {
        gcut_arc *a = &n->arcs.at[i];
        a->price = a->fixed + lambda * (double)a->bytes;
        GCUT_ASSERT(a->price >= 0);
    }
}

gcut_cut_sums gcut_network_cut(const gcut_network *n, const bool *source_side)
{
    gcut_cut_sums sum = {0};
    for (uint32_t i = 0; i < n->arcs.n; i++) {
        const gcut_arc *a = &n->arcs.at[i];
        if (!source_side[a->from] || source_side[a->to]) continue;
        sum.price += a->price;
        sum.fixed += a->fixed;
        sum.bytes += a->bytes;
    }
    return sum;
}

/* Counting sort: counts two places on, then starts one place on, which filling moves to where they belong. */
gcut_arcs_by_tail gcut_sort_by_tail(gcut_arena *arena, uint32_t nvertices, const gcut_ends *arc,
                                    uint32_t narcs)
{
    uint32_t *first = gcut_calloc(arena, (size_t)nvertices + 2, sizeof *first);
    uint32_t *head = gcut_alloc(arena, ((size_t)narcs + 1) * sizeof *head);
    for (uint32_t i = 0; i < narcs; i++) first[arc[i].tail + 2]++;
    for (uint32_t v = 1; v <= nvertices; v++) first[v + 1] += first[v];
    for (uint32_t i = 0; i < narcs; i++) head[first[arc[i].tail + 1]++] = arc[i].head;
    return (gcut_arcs_by_tail){first, head};
}
