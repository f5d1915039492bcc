/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Minimum cuts are the closed sets of the residual network: no arc with room leaves the source's side.  They
 * are unions of strongly connected components, and a component may join when all that its arcs lead to has
 * joined.  Tarjan's algorithm finds components in just that order, those that others lead to first.
 */
#include "partition/ties.h"

#include <math.h>
#include <string.h>

#define UNSEEN UINT32_MAX

typedef struct walk {
    const uint32_t *first, *head; /* arcs with room by tail */
    const bool *among;            /* by vertex: only these take part */
    uint32_t *number, *low;       /* by vertex, Tarjan's; `low` of a finished one is UNSEEN */
    uint32_t *next;               /* by vertex: the arc to look at next */
    uint32_t *path, *stack;
    uint32_t npath, nstack, count;
    uint32_t *comp, *vertex; /* vertices by component, comp[i] .. comp[i + 1] */
    uint32_t ncomps;
} walk;

static void enter(walk *w, uint32_t v)
{
    w->number[v] = w->low[v] = w->count++;
    w->next[v] = w->first[v];
    w->path[w->npath++] = v;
    w->stack[w->nstack++] = v;
}

static void leave(walk *w, uint32_t v)
{
    w->npath--;
    if (w->npath && w->low[v] < w->low[w->path[w->npath - 1]]) w->low[w->path[w->npath - 1]] = w->low[v];
    if (w->low[v] != w->number[v]) return;
    uint32_t at = w->comp[w->ncomps], u;
    do {
        u = w->stack[--w->nstack];
        w->vertex[at++] = u;
        w->low[u] = UNSEEN;
    } while (u != v);
    w->comp[++w->ncomps] = at;
}

static void visit(walk *w, uint32_t root)
{
    enter(w, root);
    while (w->npath) {
        uint32_t v = w->path[w->npath - 1];
        if (w->next[v] == w->first[v + 1]) {
            leave(w, v);
            continue;
        }
        uint32_t u = w->head[w->next[v]++];
        if (!w->among[u]) continue;
        if (w->number[u] == UNSEEN)
            enter(w, u);
        else if (w->low[u] != UNSEEN && w->number[u] < w->low[v])
            w->low[v] = w->number[u];
    }
}

/* Components of the vertices `among`. */
static walk components(gcut_arena *arena, uint32_t n, const uint32_t *first, const uint32_t *head,
                       const bool *among)
{
    size_t size = (size_t)n + 1;
    walk w = {.first = first, .head = head, .among = among};
    uint32_t **each[] = {&w.number, &w.low, &w.next, &w.path, &w.stack, &w.comp, &w.vertex};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        *each[i] = gcut_alloc(arena, size * sizeof **each[i]);
    memset(w.number, 0xff, size * sizeof *w.number);
    w.comp[0] = 0;
    for (uint32_t v = 0; v < n; v++)
        if (among[v] && w.number[v] == UNSEEN) visit(&w, v);
    return w;
}

static double cost_of(const gcut_network *net, const bool *side)
{
    double cost = 0;
    for (uint32_t i = 0; i < net->arcs.n; i++)
        if (side[net->arcs.at[i].from] && !side[net->arcs.at[i].to]) cost += net->arcs.at[i].price;
    return cost;
}

static int64_t bytes_of(const gcut_network *net, const bool *side)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < net->arcs.n; i++)
        if (side[net->arcs.at[i].from] && !side[net->arcs.at[i].to]) bytes += net->arcs.at[i].bytes;
    return bytes;
}

/* Arcs with more room than `eps`, by tail. */
static void adjacency(gcut_arena *arena, uint32_t n, const gcut_residual *r, double eps, uint32_t **first,
                      uint32_t **head)
{
    *first = gcut_calloc(arena, (size_t)n + 2, sizeof **first);
    *head = gcut_alloc(arena, ((size_t)r->n + 1) * sizeof **head);
    for (uint32_t i = 0; i < r->n; i++) (*first)[r->at[i].from + 2] += r->at[i].by > eps;
    for (uint32_t v = 1; v <= n; v++) (*first)[v + 1] += (*first)[v];
    for (uint32_t i = 0; i < r->n; i++)
        if (r->at[i].by > eps) (*head)[(*first)[r->at[i].from + 1]++] = r->at[i].to;
}

typedef struct listing {
    gcut_arena *arena;
    const gcut_network *net;
    gcut_sides out;
    GCUT_VEC(int64_t) bytes; /* those listed, and the two ends */
} listing;

static void add_side(listing *l, const bool *side)
{
    int64_t bytes = bytes_of(l->net, side);
    for (uint32_t i = 0; i < l->bytes.n; i++)
        if (l->bytes.at[i] == bytes) return;
    *GCUT_PUSH(l->arena, &l->bytes) = bytes;
    *GCUT_PUSH(l->arena, &l->out) = gcut_memdup(l->arena, side, l->net->nvertices);
}

gcut_sides gcut_ties_between(gcut_arena *arena, const gcut_network *net, const gcut_cut *cut,
                             const bool *from, const bool *to)
{
    uint32_t n = net->nvertices, *first, *head;
    listing l = {.arena = arena, .net = net};
    *GCUT_PUSH(arena, &l.bytes) = bytes_of(net, from);
    *GCUT_PUSH(arena, &l.bytes) = bytes_of(net, to);
    /* What has room across a cut is at most its cost less the flow: with that much counted as none both ends
     * are closed. */
    double dearer = fmax(cost_of(net, from), cost_of(net, to));
    double eps = fmax(cut->tolerance, (dearer - cut->flow) * (1 + 1e-6) + 1e-13 * cut->flow);
    adjacency(arena, n, &cut->residual, eps, &first, &head);
    bool *side = gcut_memdup(arena, from, n), *among = gcut_calloc(arena, n, 1);
    for (uint32_t v = 0; v < n; v++) among[v] = to[v] && !from[v];
    walk up = components(arena, n, first, head, among);
    for (uint32_t c = 0; c < up.ncomps; c++) {
        for (uint32_t k = up.comp[c]; k < up.comp[c + 1]; k++) side[up.vertex[k]] = true;
        add_side(&l, side);
    }
    for (uint32_t v = 0; v < n; v++) among[v] = from[v] && !to[v];
    walk down = components(arena, n, first, head, among);
    for (uint32_t c = down.ncomps; c-- > 0;) {
        for (uint32_t k = down.comp[c]; k < down.comp[c + 1]; k++) side[down.vertex[k]] = false;
        add_side(&l, side);
    }
    return l.out;
}
