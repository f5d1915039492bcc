/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tarjan's algorithm without recursion.
 */
#include "partition/cut/strong_components.h"

#include <string.h>

#define UNSEEN UINT32_MAX

typedef struct walk {
    const gcut_arcs_by_tail *arcs;
    const bool *among;
    uint32_t *number, *low; /* by vertex, Tarjan's; `low` of a finished one is UNSEEN */
    uint32_t *next;         /* by vertex: the arc to look at next */
    uint32_t *path, *stack;
    uint32_t npath, nstack, count;
    gcut_components *out;
} walk;

static void enter(walk *w, uint32_t v)
{
    w->number[v] = w->low[v] = w->count++;
    w->next[v] = w->arcs->first[v];
    w->path[w->npath++] = v;
    w->stack[w->nstack++] = v;
}

static void leave(walk *w, uint32_t v)
{
    w->npath--;
    if (w->npath && w->low[v] < w->low[w->path[w->npath - 1]]) w->low[w->path[w->npath - 1]] = w->low[v];
    if (w->low[v] != w->number[v]) return;
    uint32_t at = w->out->first[w->out->n], u;
    do {
        u = w->stack[--w->nstack];
        w->out->vertex[at++] = u;
        w->low[u] = UNSEEN;
    } while (u != v);
    w->out->first[++w->out->n] = at;
}

static void visit(walk *w, uint32_t root)
{
    enter(w, root);
    while (w->npath) {
        uint32_t v = w->path[w->npath - 1];
        if (w->next[v] == w->arcs->first[v + 1]) {
            leave(w, v);
            continue;
        }
        uint32_t u = w->arcs->head[w->next[v]++];
        if (!w->among[u]) continue;
        if (w->number[u] == UNSEEN)
            enter(w, u);
        else if (w->low[u] != UNSEEN && w->number[u] < w->low[v])
            w->low[v] = w->number[u];
    }
}

gcut_components gcut_scc(gcut_arena *arena, uint32_t n, const gcut_arcs_by_tail *arcs, const bool *among)
{
    size_t size = (size_t)n + 1;
    gcut_components out = {0, gcut_calloc(arena, size, sizeof *out.first),
                           gcut_alloc(arena, size * sizeof *out.vertex)};
    walk w = {.arcs = arcs, .among = among, .out = &out};
    uint32_t **each[] = {&w.number, &w.low, &w.next, &w.path, &w.stack};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        *each[i] = gcut_alloc(arena, size * sizeof **each[i]);
    memset(w.number, 0xff, size * sizeof *w.number);
    for (uint32_t v = 0; v < n; v++)
        if (among[v] && w.number[v] == UNSEEN) visit(&w, v);
    return out;
}

gcut_arcs_by_tail gcut_residual_arcs(gcut_arena *arena, uint32_t n, const gcut_residual *r, double more_than)
{
    gcut_ends *arc = gcut_alloc(arena, ((size_t)r->n + 1) * sizeof *arc);
    uint32_t narcs = 0;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->at[i].by > more_than) arc[narcs++] = (gcut_ends){r->at[i].from, r->at[i].to};
    return gcut_sort_by_tail(arena, n, arc, narcs);
}
