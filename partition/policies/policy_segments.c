/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checkpoints of segments: Chen, Xu, Zhang and Guestrin, "Training Deep Nets with Sublinear Memory Cost"
 * (2016).
 *
 * A value is a station when it alone crosses from the forward nodes before it to those after it: later nodes
 * depend on the data only through it.  n stations make n + 1 blocks; about sqrt(n + 1) segments of blocks are
 * formed, as equal in bytes as the stations allow, and the stations between them are saved.  The backward
 * graph recomputes a segment when it reaches it, because it recomputes a value just before its first reader.
 *
 * Values that depend only on parameters, constants and keys may cross any station and are not counted: tables
 * of angles, transposed weights, masks of positions.  A graph without stations is recomputed as a whole.
 */
#include "partition/policies/policy.h"

#include <math.h>

typedef struct path {
    const gcut_problem *p;
    bool *data;     /* by value: it depends on an input or a state */
    uint32_t *last; /* by value: the last forward node that reads its storage */
} path;

static bool takes_part(const path *c, gcut_ref v)
{
    return c->p->facts->side[v] == GCUT_SIDE_FORWARD && c->data[v];
}

static void find_data(path *c)
{
    const gcut_graph *g = c->p->g;
    for (uint32_t i = 0; i < g->params.n; i++) {
        gcut_role r = g->params.at[i].role;
        c->data[g->params.at[i].value] =
            r == GCUT_ROLE_input || r == GCUT_ROLE_state || gcut_value_is_lost(g, g->params.at[i].value);
    }
    gcut_add_dependents(g, c->data);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        for (uint32_t k = 0; n->nres && k < n->nargs && takes_part(c, n->res0); k++)
            c->last[c->p->facts->base[gcut_arg(g, n, k)]] = i;
    }
}

/* Counts results of nodes only: the caller keeps parameters, so they cross at no cost. */
static bool crosses(const path *c, gcut_ref v)
{
    return takes_part(c, v) && c->p->facts->base[v] == v && gcut_def(c->p->g, v) != NULL;
}

/* total[i]: bytes of the results of forward nodes 0..i.  Returns the number of stations. */
static uint32_t find_stations(const path *c, gcut_arena *arena, gcut_ref *station, double *total)
{
    const gcut_graph *g = c->p->g;
    uint32_t *ends = gcut_calloc(arena, (size_t)g->nodes.n + 1, sizeof *ends);
    uint32_t open = 0, count = 0;
    double sum = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        open -= ends[i];
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
            if (!crosses(c, v)) continue;
            sum += (double)c->p->price[v].bytes;
            if (c->last[v] <= i) continue;
            open++;
            ends[c->last[v]]++;
        }
        total[i] = sum;
        gcut_ref v = n->res0;
        bool own = n->nres == 1 && crosses(c, v) && c->last[v] > i;
        if (own && open == 1 && !c->p->facts->kept[v]) station[count++] = v;
    }
    return count;
}

bool *gcut_policy_sqrt(const gcut_problem *p, gcut_arena *arena)
{
    const gcut_graph *g = p->g;
    path c = {p, gcut_calloc(arena, g->values.n, 1), gcut_calloc(arena, g->values.n, sizeof *c.last)};
    bool *saved = gcut_calloc(arena, g->values.n, 1);
    gcut_ref *station = gcut_calloc(arena, (size_t)g->nodes.n + 1, sizeof *station);
    double *total = gcut_calloc(arena, (size_t)g->nodes.n + 1, sizeof *total);
    find_data(&c);
    uint32_t n = find_stations(&c, arena, station, total);
    if (n == 0) return saved;
    uint32_t segments = (uint32_t)ceil(sqrt((double)n + 1)), made = 1;
    for (uint32_t k = 0; k < n && made < segments; k++) {
        double before = total[g->values.at[station[k]].def], all = total[g->nodes.n - 1];
        if (before * segments < all * made) continue;
        saved[station[k]] = true;
        while (made < segments && before * segments >= all * made) made++;
    }
    return saved;
}
