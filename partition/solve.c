/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Minimum cuts by GLPK's maximum flow: the only file that includes glpk.h.
 *
 * GLPK 5.0's traps, and what is done about each:
 *   - glp_maxflow_ffalg takes doubles but wants integers in 0..INT_MAX: prices are quantised here.
 *   - "infinite" can only be INT_MAX, and when the finite capacities add up to it an infinite arc is cut
 *     without a word: their sum stays below 2^30, and no infinite arc in the cut is asserted.
 *   - bad vertex numbers and self-loops end the process: the network's builder has checked both.
 *   - it prints, and a fatal error prints even with the terminal off: a terminal hook swallows everything.
 *   - a fatal error, which is lack of memory once arguments are right, calls the error hook and then
 *     abort(): the hook leaves by gcut_throw.  The environment is unusable after that and is freed first.
 *   - the environment belongs to the thread: it is freed where it was made, before gcut_solve returns or
 *     throws, and only when this file made it, because glp_free_env destroys a host program's objects too.
 *     Nothing else that can throw runs while it is open.
 *
 * Quantisation.  With quantum q every finite price p becomes round(p/q), off by at most q/2.  A minimum cut
 * need not contain both arcs of one value (if `in` is on the sink's side its save arc is not cut), so of
 * A finite arcs at most A/2 are in either of two cuts; hence
 *     cost(found) <= minimum + A/2 * q   and   minimum >= flow * q - A/4 * q >= flow * q - A/2 * q.
 * A found cut of cost U also says that no arc dearer than U is in a minimum cut: such arcs become
 * infinite, the sum of the finite ones shrinks, and the solve is repeated with a finer quantum while that
 * helps.  q is a power of two, so integer prices of moderate sum are represented exactly.
 *
 * Ties.  The minimum cuts of a network are the sets that contain the source, not the sink, and that no arc
 * of the residual network leaves.  So among minimum cuts, the best by a second key is a minimum cut of a
 * second network: every arc with residual capacity becomes infinite, and every saturated save arc (only
 * those can be in a minimum cut) gets its key as capacity.  Its own residual network then describes the
 * minimum cuts by both keys, and so on: price, bytes, number of tensors.  The closed sets that remain form
 * a lattice which does not depend on the flow GLPK happened to find; its least element is what the source
 * reaches, and that is the answer.
 */
#include "partition/solve.h"

#include <float.h>
#include <glpk.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define FINITE_SUM ((int64_t)1 << 30) /* the finite capacities of one solve stay below this */

/* One arc of one level of the cascade price -> bytes -> tensors. */
typedef struct link {
    uint32_t from, to;
    uint32_t arc; /* index in the network: SAVE arcs still in play; UINT32_MAX for all others */
    int64_t cap;  /* INT_MAX = infinite */
    int64_t flow;
} link;

typedef GCUT_VEC(link) links;

typedef struct session {
    gcut_env *env;
    glp_graph *graph;
    bool open, owns_env;
    int term;
} session;

/* ---- GLPK ---- */

typedef struct arc_data {
    double cap, flow;
} arc_data;

static int swallow(void *info, const char *s)
{
    (void)info;
    (void)s;
    return 1;
}

static void close_session(void *what)
{
    session *s = what;
    if (!s->open) return;
    s->open = false;
    if (s->graph) glp_delete_graph(s->graph);
    s->graph = NULL;
    glp_error_hook(NULL, NULL);
    glp_term_hook(NULL, NULL);
    glp_term_out(s->term);
    if (s->owns_env) glp_free_env();
}

/* Called by GLPK instead of dying.  Its graph is in an unknown state: freed only with the whole environment.
 */
static void on_error(void *what)
{
    session *s = what;
    s->open = false;
    s->graph = NULL;
    glp_error_hook(NULL, NULL);
    if (s->owns_env) glp_free_env();
    gcut_fail(s->env, GCUT_ENOMEM, (gcut_place){0}, NULL, "GLPK ran out of memory in the minimum cut");
}

static void open_session(session *s)
{
    int made = glp_init_env();
    if (made > 1) gcut_fail(s->env, GCUT_ENOMEM, (gcut_place){0}, NULL, "GLPK could not be initialised");
    s->open = true;
    s->owns_env = made == 0;
    s->term = glp_term_out(GLP_OFF);
    glp_term_hook(swallow, NULL);
    glp_error_hook(on_error, s);
}

/* Fills the links' flows; returns the value of the flow. */
static int64_t max_flow(gcut_arena *arena, links *l, uint32_t nvertices)
{
    session *s = gcut_calloc(arena, 1, sizeof *s);
    s->env = gcut_arena_env(arena);
    glp_arc **made = gcut_calloc(arena, (size_t)l->n + 1, sizeof *made);
    gcut_arena_defer(arena, close_session, s);
    open_session(s);
    s->graph = glp_create_graph(0, sizeof(arc_data));
    glp_add_vertices(s->graph, (int)nvertices);
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->at[i].cap == 0) continue;
        made[i] = glp_add_arc(s->graph, (int)l->at[i].from + 1, (int)l->at[i].to + 1);
        ((arc_data *)made[i]->data)->cap = (double)l->at[i].cap;
    }
    double value = 0;
    int rc = glp_maxflow_ffalg(s->graph, (int)GCUT_NET_SOURCE + 1, (int)GCUT_NET_SINK + 1,
                               (int)offsetof(arc_data, cap), &value, (int)offsetof(arc_data, flow), -1);
    for (uint32_t i = 0; i < l->n; i++)
        l->at[i].flow = made[i] ? (int64_t)((arc_data *)made[i]->data)->flow : 0;
    close_session(s);
    GCUT_ASSERT(rc == 0);
    return (int64_t)value;
}

/* ---- reachability ---- */

/* Marks what `start` reaches in the residual network (forwards), or what reaches it (backwards). */
static bool *reach(gcut_arena *arena, const links *l, uint32_t nvertices, uint32_t start, bool backwards)
{
    uint32_t *first = gcut_calloc(arena, (size_t)nvertices + 2, sizeof *first);
    uint32_t *edge = gcut_alloc(arena, (2 * (size_t)l->n + 1) * sizeof *edge);
    uint32_t *queue = gcut_alloc(arena, (size_t)nvertices * sizeof *queue);
    bool *seen = gcut_calloc(arena, nvertices, 1);
    /* Counting sort of the residual arcs by tail: counts two places on, then starts one place on, which
     * filling moves to where they belong. */
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < 2 * l->n; i++) {
            const link *a = &l->at[i / 2];
            bool against = i % 2;
            if ((against ? a->flow : a->cap - a->flow) == 0) continue;
            bool from_to = against != backwards;
            uint32_t tail = from_to ? a->to : a->from, head = from_to ? a->from : a->to;
            if (pass == 0)
                first[tail + 2]++;
            else
                edge[first[tail + 1]++] = head;
        }
        for (uint32_t v = 1; pass == 0 && v <= nvertices; v++) first[v + 1] += first[v];
    }
    uint32_t n = 0;
    queue[n++] = start;
    seen[start] = true;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = first[queue[k]]; e < first[queue[k] + 1]; e++)
            if (!seen[edge[e]]) {
                seen[edge[e]] = true;
                queue[n++] = edge[e];
            }
    return seen;
}

/* ---- one solve at one quantum ---- */

/* Finite prices above `limit` count as infinite. */
static double finite_price(const gcut_arc *a, double limit)
{
    return a->price <= limit ? a->price : INFINITY;
}

/* The finest power of two for which the rounded capacities add up to less than FINITE_SUM. */
static double choose_quantum(const gcut_network *net, double limit)
{
    double sum = 0, n = 0;
    for (uint32_t i = 0; i < net->arcs.n; i++) {
        double p = finite_price(&net->arcs.at[i], limit);
        if (isinf(p)) continue;
        sum += p;
        n += 1;
    }
    double room = (double)(FINITE_SUM - 1) - n; /* rounding adds at most one half each */
    GCUT_ASSERT(room > 0 && sum < INFINITY);
    if (sum == 0) return ldexp(1, -60);
    int e;
    double m = frexp(sum / room, &e); /* sum/room = m * 2^e, 1/2 <= m < 1 */
    return ldexp(1, m == 0.5 ? e - 1 : e);
}

static links *quantised(const gcut_network *net, gcut_arena *arena, double quantum, double limit)
{
    links *l = gcut_calloc(arena, 1, sizeof *l);
    int64_t sum = 0;
    for (uint32_t i = 0; i < net->arcs.n; i++) {
        const gcut_arc *a = &net->arcs.at[i];
        double p = finite_price(a, limit);
        int64_t cap = isinf(p) ? INT_MAX : (int64_t)nearbyint(p / quantum);
        if (!isinf(p)) sum += cap;
        *GCUT_PUSH(arena, l) = (link){a->from, a->to, a->kind == GCUT_ARC_SAVE ? i : UINT32_MAX, cap, 0};
    }
    GCUT_ASSERT(sum < FINITE_SUM);
    return l;
}

/* Without a path of infinite arcs from source to sink some cut is finite, and GLPK's flow stays finite. */
static bool has_finite_cut(const gcut_network *net, gcut_arena *arena)
{
    links l = {0};
    for (uint32_t i = 0; i < net->arcs.n; i++)
        if (isinf(net->arcs.at[i].price))
            *GCUT_PUSH(arena, &l) = (link){net->arcs.at[i].from, net->arcs.at[i].to, UINT32_MAX, INT_MAX, 0};
    return !reach(arena, &l, net->nvertices, GCUT_NET_SOURCE, false)[GCUT_NET_SINK];
}

static double cut_cost(const gcut_network *net, const bool *side)
{
    double cost = 0;
    for (uint32_t i = 0; i < net->arcs.n; i++) {
        const gcut_arc *a = &net->arcs.at[i];
        if (!side[a->from] || side[a->to]) continue;
        GCUT_ASSERT(!isinf(a->price)); /* a cut infinite arc would be a wrong plan */
        cost += a->price;
    }
    return cost;
}

/* ---- ties ---- */

static int64_t key_of(const gcut_arc *a, int level)
{
    return level == 1 ? a->bytes : a->weight;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* The network of the next key.  Arcs between vertices whose side is already decided are left out; what is
 * undecided is divided by its common divisor, and only if that is still too much, by a power of two. */
static links *next_level(const gcut_network *net, const links *l, gcut_arena *arena, int level)
{
    bool *in_s = reach(arena, l, net->nvertices, GCUT_NET_SOURCE, false);
    bool *in_t = reach(arena, l, net->nvertices, GCUT_NET_SINK, true);
    links *out = gcut_calloc(arena, 1, sizeof *out);
    int64_t unit = 0;
    double sum = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const link *a = &l->at[i];
        if (a->cap > a->flow) *GCUT_PUSH(arena, out) = (link){a->from, a->to, UINT32_MAX, INT_MAX, 0};
        if (a->flow > 0) *GCUT_PUSH(arena, out) = (link){a->to, a->from, UINT32_MAX, INT_MAX, 0};
        bool decided = in_s[a->to] || in_t[a->from] || (in_s[a->from] && in_t[a->to]);
        if (a->arc == UINT32_MAX || a->cap > a->flow || decided) continue;
        int64_t key = key_of(&net->arcs.at[a->arc], level);
        *GCUT_PUSH(arena, out) = (link){a->from, a->to, a->arc, key, 0};
        unit = gcd(unit, key);
        sum += (double)key;
    }
    if (unit == 0) unit = 1;
    while (sum / (double)unit >= (double)FINITE_SUM) unit *= 2;
    for (uint32_t i = 0; i < out->n; i++)
        if (out->at[i].arc != UINT32_MAX) out->at[i].cap /= unit;
    return out;
}

static bool in_play(const links *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->at[i].arc != UINT32_MAX) return true;
    return false;
}

static bool *settle_ties(const gcut_network *net, links *l, gcut_arena *arena)
{
    for (int level = 1; level <= 2; level++) {
        links *next = next_level(net, l, arena, level);
        if (!in_play(next)) break;
        max_flow(arena, next, net->nvertices);
        l = next;
    }
    return reach(arena, l, net->nvertices, GCUT_NET_SOURCE, false);
}

/* ---- the solve ---- */

static uint32_t finite_arcs(const gcut_network *net)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < net->arcs.n; i++) n += !isinf(net->arcs.at[i].price);
    return n;
}

gcut_cut gcut_solve(const gcut_network *net, gcut_arena *arena)
{
    GCUT_ASSERT(net->nvertices < INT_MAX - 1 && net->arcs.n < FINITE_SUM / 2);
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    if (!has_finite_cut(net, scratch))
        gcut_fail(gcut_arena_env(arena), GCUT_EPLAN, (gcut_place){0}, NULL,
                  "some value must be neither saved nor recomputed");
    gcut_cut cut = {.quantum = choose_quantum(net, DBL_MAX)};
    double limit = DBL_MAX;
    links *l;
    for (;;) {
        l = quantised(net, scratch, cut.quantum, limit);
        cut.flow = max_flow(scratch, l, net->nvertices);
        double u = cut_cost(net, reach(scratch, l, net->nvertices, GCUT_NET_SOURCE, false));
        if (u >= limit) break;
        limit = u;
        double finer = choose_quantum(net, limit);
        if (finer > cut.quantum / 4) break;
        cut.quantum = finer;
    }
    cut.source_side = gcut_memdup(arena, settle_ties(net, l, scratch), net->nvertices);
    cut.cost = cut_cost(net, cut.source_side);
    cut.error = finite_arcs(net) / 2.0 * cut.quantum;
    cut.lower_bound = fmax(0, (double)cut.flow * cut.quantum - cut.error);
    GCUT_ASSERT(cut.source_side[GCUT_NET_SOURCE] && !cut.source_side[GCUT_NET_SINK]);
    gcut_arena_free(scratch);
    return cut;
}
