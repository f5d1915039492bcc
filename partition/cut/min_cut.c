/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Minimum cuts in real prices by GLPK's integer maximum flow.
 *
 * Rounds.  Capacities are real, GLPK wants integers.  With quantum q every capacity becomes floor(c/q), so
 * the flow found, times q, is a flow of the real network, and what crosses the cut found that carries no flow
 * is the whole error: cost(cut) - value(flow) = gap <= arcs * q.  The next round searches the residual
 * network: no more than the gap can flow through it, so capacities above the gap count as infinite and the
 * quantum is gap / 2^30.  Every round gains a factor of about 2^30 / arcs; two or three reach the precision
 * of doubles. q is a power of two, so prices that are integers of moderate sum are represented exactly, and
 * the gap is then 0.
 *
 * In the first round the gap is the sum of all finite capacities; in each the flow stays below 2^30 quanta,
 * so no arc of INT32_MAX is ever full.  That none of the infinite ones is cut is asserted.
 *
 * Ties.  The minimum cuts of a network are the sets that contain the source, not the sink, and that no arc of
 * the residual network leaves.  So among minimum cuts, the best by a second key is a minimum cut of a second
 * network: every arc with residual capacity becomes infinite, and every full arc of finite price (only those
 * can be in a minimum cut) gets its key as capacity.  Its own residual network then describes the minimum
 * cuts by both keys, and so on: price, bytes, number of tensors.  The closed sets that remain form a lattice
 * which does not depend on the flow GLPK happened to find; its least element is what the source reaches, and
 * that is the answer.
 *
 * Residual capacities up to a tolerance of 1e-12 of the cut's cost count as none: prices are sums of doubles,
 * and plans that cost the same on paper must tie here.  A cut closed under what remains costs at most arcs *
 * tolerance more than the minimum.
 */
#include "partition/cut/min_cut.h"

#include <math.h>
#include <string.h>

#include "partition/cut/glpk.h"

#define FLOW_LIMIT ((double)(1 << 30)) /* quanta of one round */
#define PRECISION 1e-12                /* of a cost */
#define ROUNDS 6
/* A network of this many arcs gets an initial flow by PHASES phases of shortest augmenting paths (Dinic), which leave GLPK
 * few paths to find. */
#define MANY_ARCS 1024
#define PHASES 100

/* An arc of the network for one key. */
typedef struct link {
    uint32_t from, to;
    uint32_t
        arc; /* index in the network of a finite arc that a later key may cut; UINT32_MAX for all others */
    double cap, flow;
} link;

/* Residual arcs: 2i is arc i, 2i + 1 the same arc against its direction. */
typedef struct links {
    GCUT_VEC(link) arc;
    uint32_t nvertices;
    double tolerance, quantum;
    gcut_arcs_by_tail edges; /* the residual arcs by tail; `head` has their indices */
} links;

typedef enum key { KEY_PRICE, KEY_BYTES, KEY_WEIGHT } key;
#define NKEYS 3

/* ---- reachability ---- */

static double room(const link *a, bool against)
{
    return against ? a->flow : a->cap - a->flow;
}

static uint32_t head_of(const links *l, uint32_t e)
{
    return e % 2 ? l->arc.at[e / 2].from : l->arc.at[e / 2].to;
}

static double room_of(const links *l, uint32_t e)
{
    return room(&l->arc.at[e / 2], e % 2);
}

/* Call it once, after the last arc was added: only flows change later. */
static void sort_edges(gcut_arena *arena, links *l)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    gcut_ends *edge = gcut_alloc(scratch, (2 * (size_t)l->arc.n + 1) * sizeof *edge);
    for (uint32_t e = 0; e < 2 * l->arc.n; e++) edge[e] = (gcut_ends){head_of(l, e ^ 1), e};
    l->edges = gcut_sort_by_tail(arena, l->nvertices, edge, 2 * l->arc.n);
    gcut_arena_free(scratch);
}

/* Marks what `start` reaches in the residual network (forwards), or what reaches it (backwards). */
static bool *reach(gcut_arena *arena, const links *l, double more_than, uint32_t start, bool backwards)
{
    uint32_t *queue = gcut_alloc(arena, (size_t)l->nvertices * sizeof *queue), n = 0;
    bool *seen = gcut_calloc(arena, l->nvertices, 1);
    queue[n++] = start;
    seen[start] = true;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = l->edges.first[queue[k]]; i < l->edges.first[queue[k] + 1]; i++) {
            const uint32_t e = l->edges.head[i], v = head_of(l, e);
            if (seen[v] || !(room_of(l, backwards ? e ^ 1 : e) > more_than)) continue;
            seen[v] = true;
            queue[n++] = v;
        }
    return seen;
}

/* ---- a maximum flow ---- */

/* The finest power of two that divides `most` into at most FLOW_LIMIT quanta. */
static double quantum_for(double most)
{
    int e;
    double m = frexp(most / FLOW_LIMIT, &e); /* = m * 2^e, 1/2 <= m < 1 */
    return ldexp(1, m == 0.5 ? e - 1 : e);
}

static int32_t quanta(double room_for, double quantum)
{
    double n = floor(room_for / quantum);
    return n < (double)INT32_MAX ? (int32_t)n : INT32_MAX;
}

/* The residual capacity from which an arc is given to GLPK. */
static double less_than(double quantum)
{
    return nextafter(quantum, 0);
}

/* Augments the flow by whole quanta.  Only arcs on some residual path from source to sink are given to GLPK.
 */
static void augment(gcut_arena *arena, links *l, double quantum)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    bool *near = reach(scratch, l, less_than(quantum), GCUT_NET_SOURCE, false);
    bool *ahead = reach(scratch, l, less_than(quantum), GCUT_NET_SINK, true);
    uint32_t *name = gcut_calloc(scratch, l->nvertices, sizeof *name), n = 0;
    for (uint32_t v = 0; v < l->nvertices; v++)
        if (near[v] && ahead[v]) name[v] = n++;
    GCUT_VEC(gcut_pipe) pipes = {0};
    GCUT_VEC(uint32_t) whose = {0};
    for (uint32_t i = 0; i < 2 * l->arc.n && near[GCUT_NET_SINK]; i++) {
        const link *a = &l->arc.at[i / 2];
        bool against = i % 2;
        uint32_t from = against ? a->to : a->from, to = against ? a->from : a->to;
        int32_t cap = quanta(room(a, against), quantum);
        if (cap == 0 || !near[from] || !ahead[from] || !near[to] || !ahead[to]) continue;
        *GCUT_PUSH(scratch, &pipes) = (gcut_pipe){name[from], name[to], cap, 0};
        *GCUT_PUSH(scratch, &whose) = i;
    }
    if (pipes.n) gcut_glpk_flow(scratch, n, pipes.at, pipes.n, name[GCUT_NET_SOURCE], name[GCUT_NET_SINK]);
    for (uint32_t k = 0; k < pipes.n; k++) {
        double more = quantum * (double)pipes.at[k].flow;
        l->arc.at[whose.at[k] / 2].flow += whose.at[k] % 2 ? -more : more;
    }
    /* An arc that GLPK saturates is saturated here too, though the rounded sum may leave a quantum. */
    for (uint32_t k = 0; k < pipes.n; k++) {
        if (whose.at[k] % 2) continue;
        bool both = k + 1 < pipes.n && whose.at[k + 1] == whose.at[k] + 1;
        int32_t net = pipes.at[k].flow - (both ? pipes.at[k + 1].flow : 0);
        link *a = &l->arc.at[whose.at[k] / 2];
        while (net == pipes.at[k].cap && room(a, false) >= quantum) a->flow = nextafter(a->flow, INFINITY);
    }
    gcut_arena_free(scratch);
}

/* ---- an initial flow ---- */

/* A walk over the residual arcs. */
typedef struct residual {
    links *l;
    const uint32_t *first, *edge; /* of vertex v: edge[first[v]] to edge[first[v + 1] - 1] */
    uint32_t *next;               /* by vertex: the edge to look at next */
    uint32_t *far;                /* by vertex: arcs on the way to the sink, + 1; 0 = there is none */
    uint32_t *path, *queue;
} residual;

static residual residual_of(gcut_arena *a, links *l)
{
    const size_t nv = l->nvertices;
    residual r = {.l = l, .first = l->edges.first, .edge = l->edges.head};
    r.next = gcut_alloc(a, nv * sizeof *r.next);
    r.far = gcut_alloc(a, nv * sizeof *r.far);
    r.path = gcut_alloc(a, nv * sizeof *r.path);
    r.queue = gcut_alloc(a, nv * sizeof *r.queue);
    return r;
}

/* Fills `far`; false: the source does not reach the sink. */
static bool measure(residual *r)
{
    uint32_t n = 0;
    memset(r->far, 0, r->l->nvertices * sizeof *r->far);
    r->queue[n++] = GCUT_NET_SINK;
    r->far[GCUT_NET_SINK] = 1;
    for (uint32_t k = 0; k < n && !r->far[GCUT_NET_SOURCE]; k++) {
        const uint32_t v = r->queue[k];
        for (uint32_t i = r->first[v]; i < r->first[v + 1]; i++) {
            const uint32_t u = head_of(r->l, r->edge[i]);
            if (r->far[u] || !(room_of(r->l, r->edge[i] ^ 1) > 0)) continue;
            r->far[u] = r->far[v] + 1;
            r->queue[n++] = u;
        }
    }
    return r->far[GCUT_NET_SOURCE] != 0;
}

/* Does the search go on by that edge?  Forwards only, in a network without cycles, or nearer to the sink. */
static bool leads(const residual *r, uint32_t v, uint32_t e, bool forwards)
{
    const uint32_t u = head_of(r->l, e);
    if (!(room_of(r->l, e) > 0) || (u != GCUT_NET_SINK && r->next[u] == r->first[u + 1])) return false;
    return forwards ? e % 2 == 0 : r->far[u] && r->far[u] + 1 == r->far[v];
}

/* Adds the least room on the path to its flow.  Returns the depth of the first arc that is full. */
static uint32_t push(residual *r, uint32_t depth)
{
    double least = INFINITY;
    uint32_t full = 0;
    for (uint32_t k = 0; k < depth; k++) least = fmin(least, room_of(r->l, r->path[k]));
    GCUT_ASSERT(least < INFINITY); /* a path of infinite arcs would be a wrong network */
    for (uint32_t k = depth; k-- > 0;) {
        link *a = &r->l->arc.at[r->path[k] / 2];
        bool against = r->path[k] % 2, all = room(a, against) == least;
        if (all)
            a->flow = against ? 0 : a->cap;
        else
            a->flow += against ? -least : least;
        if (all) full = k;
    }
    return full;
}

/* Depth first from the source, until every path that `leads` allows has a full arc.  A vertex without a way on
 * is tried once only. */
static void block(residual *r, bool forwards)
{
    uint32_t depth = 0;
    memcpy(r->next, r->first, r->l->nvertices * sizeof *r->next);
    for (uint32_t v = GCUT_NET_SOURCE;;) {
        if (v == GCUT_NET_SINK) {
            depth = push(r, depth);
            v = head_of(r->l, r->path[depth] ^ 1);
        } else if (r->next[v] < r->first[v + 1]) {
            const uint32_t e = r->edge[r->next[v]];
            if (leads(r, v, e, forwards)) {
                r->path[depth++] = e;
                v = head_of(r->l, e);
            } else {
                r->next[v]++;
            }
        } else if (depth > 0) {
            v = head_of(r->l, r->path[--depth] ^ 1);
        } else {
            break;
        }
    }
}

/* Finds an initial flow, which saves GLPK most augmenting paths: first along forward arcs, wherever they lead.
 * GLPK walks through the network for each path that is left.  In a large one, such as a stack of blocks, there
 * are as many as blocks, so shortest paths of the residual network (Dinic) come before: few phases find all.
 * The networks of later keys have cycles, and are not walked along forward arcs. */
static void push_initial(gcut_arena *arena, links *l, bool acyclic)
{
    if (!acyclic && l->arc.n < MANY_ARCS) return;
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    residual r = residual_of(scratch, l);
    if (acyclic) block(&r, true);
    for (int k = 0; l->arc.n >= MANY_ARCS && k < PHASES && measure(&r); k++) block(&r, false);
    gcut_arena_free(scratch);
}

/* The gap: cost of the cut less value of the flow, as a sum of residual capacities, without cancellation. */
static double gap_of(const links *l, const bool *side)
{
    double gap = 0;
    for (uint32_t i = 0; i < l->arc.n; i++) {
        const link *a = &l->arc.at[i];
        if (side[a->from] && !side[a->to]) gap += room(a, false);
        if (!side[a->from] && side[a->to]) gap += room(a, true);
    }
    return gap;
}

static double capacity_of(const links *l, const bool *side)
{
    double sum = 0;
    for (uint32_t i = 0; i < l->arc.n; i++)
        if (side[l->arc.at[i].from] && !side[l->arc.at[i].to]) sum += l->arc.at[i].cap;
    return sum;
}

/* Fills the flows and the tolerance; returns the gap that remains. `precision` is of the cut's capacity. */
static double maximise(gcut_arena *arena, links *l, double precision)
{
    double most = 0, gap;
    for (uint32_t i = 0; i < l->arc.n; i++)
        if (!isinf(l->arc.at[i].cap)) most += room(&l->arc.at[i], false);
    GCUT_ASSERT(most < INFINITY);
    if (most == 0) most = ldexp(1, -30);
    for (int round = 1;; round++) {
        gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
        l->quantum = quantum_for(most);
        augment(scratch, l, l->quantum);
        /* Arcs with less than a quantum are full for GLPK, those with one are not. */
        bool *side = reach(scratch, l, less_than(l->quantum), GCUT_NET_SOURCE, false);
        GCUT_ASSERT(!side[GCUT_NET_SINK]);
        double want = precision * capacity_of(l, side);
        GCUT_ASSERT(want < INFINITY); /* a cut infinite arc would be a wrong plan */
        gap = gap_of(l, side);
        gcut_arena_free(scratch);
        l->tolerance = gap == 0 || l->quantum < want ? want : l->quantum;
        if (gap == 0 || l->quantum < want || gap > most / 2 || round == ROUNDS) return gap;
        most = gap;
    }
}

/* ---- the first key ---- */

static double key_of(const gcut_arc *a, key k)
{
    if (isinf(a->price)) return INFINITY;
    if (k == KEY_PRICE) return a->price;
    if (a->kind != GCUT_ARC_SAVE) return 0;
    return k == KEY_BYTES ? (double)a->bytes : (double)a->weight;
}

static links *first_links(const gcut_network *net, gcut_arena *arena, key k)
{
    links *l = gcut_calloc(arena, 1, sizeof *l);
    l->nvertices = net->nvertices;
    l->arc.at = gcut_alloc(arena, ((size_t)net->arcs.n + 1) * sizeof *l->arc.at);
    l->arc.n = l->arc.cap = net->arcs.n;
    for (uint32_t i = 0; i < net->arcs.n; i++) {
        const gcut_arc *a = &net->arcs.at[i];
        l->arc.at[i] = (link){a->from, a->to, isinf(a->price) ? UINT32_MAX : i, key_of(a, k), 0};
    }
    sort_edges(arena, l);
    return l;
}

/* Without a path of infinite arcs from source to sink some cut is finite, and GLPK's flow stays finite. */
bool gcut_network_feasible(const gcut_network *net, gcut_arena *arena)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    links l = {.nvertices = net->nvertices};
    for (uint32_t i = 0; i < net->arcs.n; i++)
        if (isinf(net->arcs.at[i].price))
            *GCUT_PUSH(scratch, &l.arc) =
                (link){net->arcs.at[i].from, net->arcs.at[i].to, UINT32_MAX, INFINITY, 0};
    sort_edges(scratch, &l);
    bool feasible = !reach(scratch, &l, 0, GCUT_NET_SOURCE, false)[GCUT_NET_SINK];
    gcut_arena_free(scratch);
    return feasible;
}

/* ---- the next keys ---- */

/* The network of the next key.  Arcs between vertices whose side is already decided are left out. */
static links *next_links(const gcut_network *net, const links *l, gcut_arena *arena, key k)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    bool *in_s = reach(scratch, l, l->tolerance, GCUT_NET_SOURCE, false);
    bool *in_t = reach(scratch, l, l->tolerance, GCUT_NET_SINK, true);
    links *out = gcut_calloc(arena, 1, sizeof *out);
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->arc.n; i++) n += 1u + (room(&l->arc.at[i], true) > l->tolerance);
    out->arc.at = gcut_alloc(arena, ((size_t)n + 1) * sizeof *out->arc.at);
    out->arc.cap = n;
    out->nvertices = l->nvertices;
    for (uint32_t i = 0; i < l->arc.n; i++) {
        const link *a = &l->arc.at[i];
        bool open = room(a, false) > l->tolerance;
        if (open) *GCUT_PUSH(arena, &out->arc) = (link){a->from, a->to, UINT32_MAX, INFINITY, 0};
        if (room(a, true) > l->tolerance)
            *GCUT_PUSH(arena, &out->arc) = (link){a->to, a->from, UINT32_MAX, INFINITY, 0};
        bool decided = in_s[a->to] || in_t[a->from] || (in_s[a->from] && in_t[a->to]);
        if (a->arc == UINT32_MAX || open || decided) continue;
        *GCUT_PUSH(arena, &out->arc) = (link){a->from, a->to, a->arc, key_of(&net->arcs.at[a->arc], k), 0};
    }
    gcut_arena_free(scratch);
    sort_edges(arena, out);
    return out;
}

static bool in_play(const links *l)
{
    for (uint32_t i = 0; i < l->arc.n; i++)
        if (l->arc.at[i].arc != UINT32_MAX) return true;
    return false;
}

static double precision_of(key k)
{
    return k == KEY_PRICE ? PRECISION : 0; /* bytes and tensors are whole numbers */
}

static bool *settle_ties(const gcut_network *net, const links *l, gcut_arena *arena, const key *keys)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena), *before = scratch;
    for (int k = 1; k < NKEYS; k++) {
        scratch = gcut_arena_new(gcut_arena_env(arena), arena);
        links *next = next_links(net, l, scratch, keys[k]);
        if (!in_play(next)) break;
        push_initial(scratch, next, false);
        maximise(scratch, next, precision_of(keys[k]));
        l = next;
        gcut_arena_free(before);
        before = scratch;
    }
    return reach(arena, l, l->tolerance, GCUT_NET_SOURCE, false);
}

/* ---- the solve ---- */

static void keep_residual(gcut_cut *cut, const links *l, gcut_arena *arena)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < 2 * l->arc.n; i++) n += room(&l->arc.at[i / 2], i % 2) > 0;
    cut->residual.at = gcut_alloc(arena, ((size_t)n + 1) * sizeof *cut->residual.at);
    cut->residual.cap = n;
    for (uint32_t i = 0; i < 2 * l->arc.n; i++) {
        const link *a = &l->arc.at[i / 2];
        double by = room(a, i % 2);
        if (by > 0)
            *GCUT_PUSH(arena, &cut->residual) =
                (gcut_residual_arc){i % 2 ? a->to : a->from, i % 2 ? a->from : a->to, by};
    }
}

static double flow_value(const links *l)
{
    double sum = 0;
    for (uint32_t i = 0; i < l->arc.n; i++) {
        if (l->arc.at[i].from == GCUT_NET_SOURCE) sum += l->arc.at[i].flow;
        if (l->arc.at[i].to == GCUT_NET_SOURCE) sum -= l->arc.at[i].flow;
    }
    return sum;
}

static gcut_cut solve(const gcut_network *net, gcut_arena *arena, const key *keys)
{
    GCUT_ASSERT(net->nvertices < INT32_MAX - 1 && net->arcs.n < (uint32_t)FLOW_LIMIT / 2);
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    if (!gcut_network_feasible(net, scratch))
        gcut_fail(gcut_arena_env(arena), GCUT_EPLAN, (gcut_place){0}, NULL,
                  "some value must be neither saved nor recomputed");
    links *l = first_links(net, scratch, keys[0]);
    push_initial(scratch, l, true);
    maximise(scratch, l, precision_of(keys[0]));
    gcut_cut cut = {.tolerance = l->tolerance, .flow = flow_value(l)};
    keep_residual(&cut, l, arena);
    cut.source_side = gcut_memdup(arena, settle_ties(net, l, scratch, keys), net->nvertices);
    cut.cost = gcut_network_cut(net, cut.source_side).price;
    GCUT_ASSERT(cut.cost < INFINITY); /* a cut infinite arc would be a wrong plan */
    /* A sum of n doubles is off by at most n * 2^-53 of it; a flow's is of at most as many as there are arcs.
     */
    cut.lower_bound = fmax(0, cut.flow * (1 - ldexp(net->arcs.n, -53)));
    cut.error = cut.cost - cut.lower_bound;
    GCUT_ASSERT(cut.source_side[GCUT_NET_SOURCE] && !cut.source_side[GCUT_NET_SINK]);
    gcut_arena_free(scratch);
    return cut;
}

gcut_cut gcut_solve(const gcut_network *net, gcut_arena *arena)
{
    static const key keys[NKEYS] = {KEY_PRICE, KEY_BYTES, KEY_WEIGHT};
    return solve(net, arena, keys);
}

gcut_cut gcut_solve_smallest(const gcut_network *net, gcut_arena *arena)
{
    static const key keys[NKEYS] = {KEY_BYTES, KEY_PRICE, KEY_WEIGHT};
    return solve(net, arena, keys);
}

double *gcut_flow_of(const gcut_network *net, gcut_arena *arena)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    links *l = first_links(net, scratch, KEY_PRICE);
    push_initial(scratch, l, true);
    maximise(scratch, l, precision_of(KEY_PRICE));
    double *flow = gcut_alloc(arena, ((size_t)l->arc.n + 1) * sizeof *flow);
    for (uint32_t i = 0; i < l->arc.n; i++) flow[i] = l->arc.at[i].flow;
    gcut_arena_free(scratch);
    return flow;
}
