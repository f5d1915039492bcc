/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Minimum cuts are the closed sets of the residual network: no arc with residual capacity leaves the source
 * side.  They are unions of strongly connected components; a component can be added once the heads of its
 * arcs are in the set.  gcut_scc lists components in that order.
 */
#include "partition/cut/equal_cuts.h"

#include <math.h>

#include "partition/cut/strong_components.h"

typedef struct listing {
    gcut_arena *arena;
    const gcut_network *net;
    gcut_sides out;
    GCUT_VEC(int64_t) bytes; /* of the listed cuts and of both ends */
} listing;

static void add_side(listing *l, const bool *side)
{
    int64_t bytes = gcut_network_cut(l->net, side).bytes;
    for (uint32_t i = 0; i < l->bytes.n; i++)
        if (l->bytes.at[i] == bytes) return;
    *GCUT_PUSH(l->arena, &l->bytes) = bytes;
    *GCUT_PUSH(l->arena, &l->out) = gcut_memdup(l->arena, side, l->net->nvertices);
}

gcut_sides gcut_ties_between(gcut_arena *arena, const gcut_network *net, const gcut_cut *cut,
                             const bool *from, const bool *to)
{
    uint32_t n = net->nvertices;
    listing l = {.arena = arena, .net = net};
    const gcut_cut_sums ends[2] = {gcut_network_cut(net, from), gcut_network_cut(net, to)};
    for (int k = 0; k < 2; k++) *GCUT_PUSH(arena, &l.bytes) = ends[k].bytes;
    /* Residual capacity across a cut is at most its cost less the flow: ignoring arcs of up to that much
     * closes both ends. */
    double dearer = fmax(ends[0].price, ends[1].price);
    double eps = fmax(cut->tolerance, (dearer - cut->flow) * (1 + 1e-6) + 1e-13 * cut->flow);
    gcut_arcs_by_tail arcs = gcut_residual_arcs(arena, n, &cut->residual, eps);
    bool *side = gcut_memdup(arena, from, n), *among = gcut_calloc(arena, n, 1);
    for (uint32_t v = 0; v < n; v++) among[v] = to[v] && !from[v];
    gcut_components up = gcut_scc(arena, n, &arcs, among);
    for (uint32_t c = 0; c < up.n; c++) {
        for (uint32_t k = up.first[c]; k < up.first[c + 1]; k++) side[up.vertex[k]] = true;
        add_side(&l, side);
    }
    for (uint32_t v = 0; v < n; v++) among[v] = from[v] && !to[v];
    gcut_components down = gcut_scc(arena, n, &arcs, among);
    for (uint32_t c = down.n; c-- > 0;) {
        for (uint32_t k = down.first[c]; k < down.first[c + 1]; k++) side[down.vertex[k]] = false;
        add_side(&l, side);
    }
    return l.out;
}
