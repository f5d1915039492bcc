/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two cuts per moment and division of prices, each at the multiplier that bounds best.  Half of the nodes that may be
 * solved are for all moments without branches, the rest for the best ones with branches.
 */
#include "partition/budget/moment_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/infer.h"
#include "graph/ops/node_facts.h"
#include "partition/budget/least_storage.h"

/* Nodes of the networks that are solved for one bound, after which no further multiplier, branch or moment is tried. */
#define NODES_SOLVED 100000

#define MOST_BRANCHES 256 /* of one network */

/* Nodes that are walked to find moments; where all would be more, they are tried at equal distances. */
#define NODES_WALKED 20000000

typedef struct bounding {
    const gcut_problem *p;
    const gcut_graph *g;
    gcut_least_storage least;
    gcut_arena *arena;
    int64_t room;
    double *share;   /* by value: the part of the price of computing it that counts at the moment */
    bool saves_too;  /* likewise of that of saving it; else all of it counts at the boundary */
    uint64_t solved; /* nodes of the networks so far */
    uint64_t most;   /* then nothing further is tried */
    uint32_t parts;  /* into which the solutions of one network are divided */
} bounding;

typedef struct moment {
    uint32_t node;
    bool backward; /* the run of the node in the backward graph, else that in the forward graph */
    bool *
        after; /* by value: depends on the node's results; of a forward moment, all of the backward graph, too */
    bool *before; /* by value: they depend on it */
    bool *read;   /* by value: it is counted in what `room` leaves out for operands */
    int64_t
        room; /* without what the node writes, and at a forward moment or of a region without what it reads */
} moment;

typedef struct excess {
    uint32_t node;
    uint32_t rank; /* among those of its graph */
    int64_t bytes;
} excess;

/* ---- the largest bound of a network ---- */

/* A part of the solutions: what is decided of some values. */
typedef struct branch {
    double bound;    /* of every solution of it */
    uint32_t split;  /* the arc of the value to decide next; GCUT_NONE: nothing to gain */
    uint32_t parent; /* 1 + index of the branch it is a part of; 0: of none */
    uint32_t arc;    /* what it decides beyond that */
    bool kept;
    bool done;
} branch;

typedef GCUT_VEC(branch) branches;

/* The bytes that both cuts treat differently: the largest such save. */
static uint32_t largest_difference(const gcut_network *net, const gcut_cut *x, const gcut_cut *y)
{
    uint32_t best = GCUT_NONE;
    for (uint32_t i = 0; i < net->arcs.n; i++) {
        const gcut_arc *a = &net->arcs.at[i];
        if (a->kind != GCUT_ARC_SAVE || a->bytes == 0) continue;
        const bool in_x = x->source_side[a->from] && !x->source_side[a->to],
                   in_y = y->source_side[a->from] && !y->source_side[a->to];
        if (in_x != in_y && (best == GCUT_NONE || a->bytes > net->arcs.at[best].bytes)) best = i;
    }
    return best;
}

/* The maximum over lambda of (minimum cut at lambda - lambda * room), a concave function: between two cuts whose
 * bytes are above and below the room, it is at most where their lines meet.  Sets b->bound and b->split; *reached:
 * the cost of a solution within the room. */
static void relax(bounding *s, gcut_network *net, int64_t room, branch *b, double *reached)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(s->arena), s->arena);
    b->split = GCUT_NONE;
    b->bound = INFINITY;
    s->solved += s->g->nodes.n;
    gcut_network_at(net, 0);
    if (room >= 0 && gcut_network_feasible(net, a)) {
        gcut_cut high_cut = gcut_solve(net, a), low_cut = high_cut;
        gcut_cut_sums high = gcut_network_cut(net, high_cut.source_side), low = high;
        b->bound = high_cut.lower_bound;
        if (high.bytes > room) {
            low_cut = gcut_solve_smallest(net, a);
            low = gcut_network_cut(net, low_cut.source_side);
            if (low_cut.lower_bound > (double)room) b->bound = INFINITY;
        }
        while (low.bytes <= room && low.bytes < high.bytes && high.bytes > room && s->solved < s->most) {
            const double lambda = (low.fixed - high.fixed) / (double)(high.bytes - low.bytes),
                         all = lambda * (double)room;
            if (!(lambda > 0)) break;
            gcut_network_at(net, lambda);
            const gcut_cut cut = gcut_solve(net, a);
            const gcut_cut_sums x = gcut_network_cut(net, cut.source_side);
            s->solved += s->g->nodes.n;
            b->bound = fmax(b->bound, cut.lower_bound - all - 0x1p-49 * (cut.lower_bound + all));
            if (!(x.fixed + lambda * (double)x.bytes < (low.fixed + lambda * (double)low.bytes) * (1 - 1e-9)))
                break;
            if (x.bytes > room)
                high = x, high_cut = cut;
            else
                low = x, low_cut = cut;
        }
        if (low.bytes <= room) *reached = low.fixed;
        if (isfinite(b->bound)) b->split = largest_difference(net, &low_cut, &high_cut);
    }
    gcut_arena_free(a);
}

/* Sets the prices of what the branch and those above it decide: what is kept is paid for and takes room, what is not
 * must not be kept.  Returns what is paid. */
static double decide(gcut_network *net, const branches *all, const branch *b, int64_t *room)
{
    double paid = 0;
    for (; b->parent; b = &all->at[b->parent - 1]) {
        gcut_arc *x = &net->arcs.at[b->arc];
        if (b->kept) paid += x->fixed, *room -= x->bytes;
        x->fixed = b->kept ? 0 : INFINITY;
        x->bytes = 0;
    }
    return paid;
}

/* Branch and bound: the part with the lowest bound is divided by one value, kept or not. */
static double largest_bound(bounding *s, gcut_network *net, int64_t room)
{
    const size_t size = net->arcs.n * sizeof *net->arcs.at;
    gcut_arena *a = gcut_arena_new(gcut_arena_env(s->arena), s->arena);
    const gcut_arc *arcs = gcut_memdup(a, net->arcs.at, size);
    branches all = {0};
    double reached = INFINITY, best;
    branch *root = GCUT_PUSH(a, &all);
    *root = (branch){.parent = 0};
    relax(s, net, room, root, &reached);
    for (;;) {
        uint32_t at = GCUT_NONE;
        for (uint32_t i = 0; i < all.n; i++)
            if (!all.at[i].done && (at == GCUT_NONE || all.at[i].bound < all.at[at].bound)) at = i;
        best = fmin(all.at[at].bound, reached);
        if (all.at[at].split == GCUT_NONE || all.at[at].bound >= reached) break;
        if (all.n >= s->parts || s->solved >= s->most) break;
        all.at[at].done = true;
        for (int kept = 0; kept < 2; kept++) {
            branch b = {.parent = at + 1, .arc = all.at[at].split, .kept = kept};
            int64_t left = room;
            double cost = INFINITY;
            memcpy(net->arcs.at, arcs, size);
            const double paid = decide(net, &all, &b, &left);
            relax(s, net, left, &b, &cost);
            b.bound = fmax(b.bound + paid, all.at[at].bound);
            reached = fmin(reached, cost + paid);
            *GCUT_PUSH(a, &all) = b;
        }
    }
    gcut_arena_free(a);
    return best;
}

/* ---- networks ---- */

/* The least that saving v takes, in ns and in bytes, each over all its formats. */
static void least_save(const bounding *s, gcut_ref v, double *ns, int64_t *bytes)
{
    *ns = INFINITY;
    *bytes = INT64_MAX;
    static const gcut_format format[] = {GCUT_FORMAT_PLAIN, GCUT_FORMAT_BF16, GCUT_FORMAT_BITS,
                                         GCUT_FORMAT_GRAD};
    for (size_t k = 0; k < sizeof format / sizeof *format; k++) {
        if (!gcut_format_allowed(s->p, v, format[k])) continue;
        const double t = gcut_saved_ns(s->p, v, format[k]);
        const int64_t b = gcut_value_saved_bytes(s->p, v, format[k]);
        if (t < *ns) *ns = t;
        if (b < *bytes) *bytes = b;
    }
}

/* Results of one node have one entry of s->share. */
static void add_work(const bounding *s, gcut_network *net, const gcut_node *n, double price, bool reads)
{
    gcut_ref res[GCUT_MAX_RESULTS];
    for (uint32_t k = 0; k < n->nres; k++) res[k] = n->res0 + k;
    gcut_network_work(net, price, NULL, &s->g->args.at[n->arg0], reads ? n->nargs : 0, res, n->nres);
}

static double part_of(double price, double share)
{
    return isfinite(price) ? price * share : price;
}

/* What crosses; the constraints of the user are left out, which only lowers it. */
static gcut_network *boundary_network(const bounding *s, gcut_arena *a)
{
    const gcut_graph *g = s->g;
    gcut_network *net = gcut_network_new(a, g->values.n);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const char *why;
        if (s->p->facts->side[v] == GCUT_SIDE_BACKWARD) continue;
        double save = gcut_save_price(s->p, v, 0, &why), ns = save;
        int64_t bytes = 0;
        if (save > 0 && isfinite(save)) least_save(s, v, &ns, &bytes);
        gcut_network_value(net, v, part_of(ns, s->saves_too ? 1 - s->share[v] : 1), bytes, 0, NULL);
        if (s->p->facts->read[v]) gcut_network_read(net, v, NULL);
        if (!gcut_def(g, v)) gcut_network_work(net, INFINITY, NULL, NULL, 0, &v, 1);
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (n->nres == 0 || s->p->facts->side[n->res0] == GCUT_SIDE_BACKWARD) continue;
        const double again = gcut_value_runs_once(g, n->res0) ? INFINITY : s->p->price[n->res0].recompute_ns;
        add_work(s, net, n, part_of(again, 1 - s->share[n->res0]), true);
    }
    return net;
}

/* What the plan pays at the moment for a further run of n: nothing for what runs once in the backward graph. */
static double again_ns(const bounding *s, const gcut_node *n)
{
    const double share = s->share[n->res0];
    if (s->p->facts->side[n->res0] == GCUT_SIDE_BACKWARD || share == 0) return 0;
    return part_of(s->p->price[n->res0].recompute_ns, share);
}

static bool is_region(const gcut_node *n)
{
    return gcut_node_class(n) == GCUT_CLASS_CONTROL;
}

/* The run of n for which no plan pays is over at the moment.  What is fused into other kernels may be computed both
 * before and after. */
static bool has_run(const bounding *s, const moment *m, const gcut_node *n)
{
    if (m->backward && s->p->facts->side[n->res0] != GCUT_SIDE_BACKWARD) return true;
    return m->before[n->res0] &&
           (gcut_has_own_kernel(n) || is_region(n) || gcut_value_runs_once(s->g, n->res0));
}

/* To compute n after the moment.  What is late runs once. */
static double after_ns(const bounding *s, const moment *m, const gcut_node *n)
{
    if (!has_run(s, m, n)) return 0;
    const bool once = s->least.late[n->res0] || gcut_value_runs_once(s->g, n->res0);
    return once ? INFINITY : again_ns(s, n);
}

/* Saving or computing v cost at least this, if it is in memory at the moment.  Results of one node share a run. */
static double presence_ns(const bounding *s, gcut_ref v)
{
    const gcut_node *n = gcut_def(s->g, v);
    double ns;
    int64_t bytes;
    if (!n || !s->saves_too || s->share[v] == 0 || s->least.resident[v] || s->p->facts->kept[v] ||
        gcut_node_class(n) == GCUT_CLASS_VIEW)
        return 0;
    least_save(s, v, &ns, &bytes);
    return fmin(part_of(ns, s->share[v]), again_ns(s, n) / n->nres);
}

static void add_kept(const bounding *s, gcut_network *net, const moment *m, gcut_ref v)
{
    const bool constant = gcut_value_is(s->g, v, GCUT_CLASS_CONSTANT);
    gcut_network_value(net, v, constant ? INFINITY : presence_ns(s, v),
                       m->read[v] ? 0 : gcut_least_bytes(&s->least, v), 0, NULL);
    if (!gcut_def(s->g, v)) gcut_network_work(net, INFINITY, NULL, NULL, 0, &v, 1);
}

/* Node i is that of the moment, or runs after it and is not dead. */
static bool is_after(const bounding *s, const moment *m, uint32_t i)
{
    const gcut_node *n = gcut_node_at(s->g, i);
    return i == m->node || (n->nres && m->after[n->res0] && s->p->facts->live[i]);
}

/* What is kept or computed again for the readers after the moment. */
static gcut_network *moment_network(const bounding *s, const moment *m, gcut_arena *a)
{
    const gcut_graph *g = s->g;
    gcut_network *net = gcut_network_new(a, g->values.n);
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (!m->after[v]) add_kept(s, net, m, v);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (is_after(s, m, i)) {
            for (uint32_t k = 0; k < n->nargs && !(i == m->node && is_region(n)); k++)
                if (!m->after[gcut_arg(g, n, k)]) gcut_network_read(net, gcut_arg(g, n, k), NULL);
        } else if (n->nres && !m->after[n->res0]) {
            const double price = after_ns(s, m, n);
            add_work(s, net, n, price, isfinite(price));
        }
    }
    return net;
}

/* ---- moments ---- */

/* The fewest bytes in which a region finds its operands, without carried values, which are copied to its results before
 * it runs.  An operand is stored, or what it is a view of, or a copy of the view.  Sets m->read. */
static int64_t region_reads(const bounding *s, moment *m, gcut_arena *a)
{
    const gcut_graph *g = s->g;
    const gcut_node *at = gcut_node_at(g, m->node);
    /* By value: the most that an operand takes of it. */
    int64_t *bytes = gcut_calloc(a, g->values.n, sizeof *bytes), sum = 0;
    for (uint32_t k = at->op == GCUT_OP_if ? 0 : gcut_node_carries(g, at); k < at->nargs; k++) {
        gcut_ref v = gcut_arg(g, at, k);
        int64_t least = gcut_least_bytes(&s->least, v);
        m->read[v] = true;
        for (const gcut_node *n; (n = gcut_def(g, v)) && gcut_node_class(n) == GCUT_CLASS_VIEW;) {
            v = gcut_arg(g, n, 0);
            m->read[v] = true;
            if (gcut_least_bytes(&s->least, v) < least) least = gcut_least_bytes(&s->least, v);
        }
        if (gcut_value_is(g, v, GCUT_CLASS_CONSTANT) || least <= bytes[v]) continue;
        sum += least - bytes[v];
        bytes[v] = least;
    }
    return sum;
}

static moment moment_at(const bounding *s, uint32_t node, gcut_arena *a)
{
    const gcut_graph *g = s->g;
    const gcut_node *at = gcut_node_at(g, node);
    moment m = {.node = node, .backward = s->p->facts->side[at->res0] == GCUT_SIDE_BACKWARD};
    m.after = gcut_calloc(a, g->values.n, sizeof *m.after);
    m.before = gcut_calloc(a, g->values.n, sizeof *m.before);
    m.read = gcut_calloc(a, g->values.n, sizeof *m.read);
    for (gcut_ref v = at->res0; v < at->res0 + at->nres; v++) m.after[v] = true;
    for (gcut_ref v = 1; v < g->values.n; v++)
        m.after[v] |= !m.backward && s->p->facts->side[v] == GCUT_SIDE_BACKWARD;
    gcut_add_dependents(g, m.after);
    for (uint32_t k = 0; k < at->nargs; k++) m.before[gcut_arg(g, at, k)] = true;
    for (uint32_t i = node; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        if (gcut_any_result(n, m.before))
            for (uint32_t k = 0; k < n->nargs; k++) m.before[gcut_arg(g, n, k)] = true;
    }
    m.room = s->room - gcut_least_written(&s->least, at);
    if (!m.backward)
        m.room -= gcut_least_read(&s->least, node, m.read, a);
    else if (is_region(at))
        m.room -= region_reads(s, &m, a);
    return m;
}

/* ---- the division of prices ---- */

/* How the price of a value is divided between moment and boundary, where what reads it comes after the moment, directly
 * or through values of which that is true. */
typedef struct division {
    double share; /* that part counts at the moment */
    bool only;    /* where all readers come after it, not some */
} division;

static const division divisions[] = {{0.5, false}, {1, false}, {1, true}};

enum { DIVISIONS = sizeof divisions / sizeof *divisions };

/* At a forward moment: of the nodes whose run is over. */
static void divide_forward(bounding *s, const moment *m, const division *d)
{
    const gcut_graph *g = s->g;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) s->share[v] = has_run(s, m, n) * d->share;
    }
}

static void divide_backward(bounding *s, const moment *m, const division *d)
{
    const gcut_graph *g = s->g;
    gcut_arena *a = gcut_arena_new(gcut_arena_env(s->arena), s->arena);
    bool *later = gcut_calloc(a, g->values.n, 1), *sooner = gcut_calloc(a, g->values.n, 1);
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        if (n->nres == 0) continue;
        bool primal = s->p->facts->side[n->res0] != GCUT_SIDE_BACKWARD,
             late = primal ? gcut_any_result(n, later) : is_after(s, m, i),
             early = primal ? gcut_any_result(n, sooner) : !late;
        for (uint32_t k = 0; k < n->nargs; k++) {
            later[gcut_arg(g, n, k)] |= late;
            sooner[gcut_arg(g, n, k)] |= early;
        }
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
            s->share[v] = late && !(d->only && early) ? d->share : 0;
    }
    gcut_arena_free(a);
}

static void divide(bounding *s, const moment *m, const division *d)
{
    s->saves_too = m->backward;
    if (m->backward)
        divide_backward(s, m, d);
    else
        divide_forward(s, m, d);
}

/* Bytes that the moment of a node lacks where all that is read after it is kept. */
static excess excess_at(const bounding *s, uint32_t node)
{
    const gcut_graph *g = s->g;
    gcut_arena *a = gcut_arena_new(gcut_arena_env(s->arena), s->arena);
    const moment m = moment_at(s, node, a);
    bool *read = gcut_calloc(a, g->values.n, 1);
    excess out = {.node = node, .bytes = -m.room};
    for (uint32_t i = node; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!is_after(s, &m, i)) continue;
        for (uint32_t k = 0; k < n->nargs; k++) read[s->p->facts->base[gcut_arg(g, n, k)]] = true;
    }
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (read[v] && !m.after[v] && !m.read[v] && (m.backward || m.before[v]) &&
            !gcut_value_is(g, v, GCUT_CLASS_CONSTANT))
            out.bytes += gcut_least_bytes(&s->least, v);
    gcut_arena_free(a);
    return out;
}

static int by_bytes(const void *a, const void *b)
{
    const excess *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int by_rank(const void *a, const void *b)
{
    const excess *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : by_bytes(a, b);
}

static bool is_forward(const bounding *s, uint32_t i)
{
    return s->p->facts->side[gcut_node_at(s->g, i)->res0] == GCUT_SIDE_FORWARD;
}

static bool may_be_moment(const bounding *s, uint32_t i)
{
    const gcut_node *n = gcut_node_at(s->g, i);
    if (n->nres == 0) return false;
    if (gcut_has_own_kernel(n) && is_forward(s, i)) return true;
    return (gcut_has_own_kernel(n) || is_region(n)) && s->least.late[n->res0] && s->p->facts->live[i];
}

/* Those at which a plan that saves everything has not enough room, one of each graph in turn, those that lack most
 * first. */
static excess *find_moments(const bounding *s, uint32_t *n)
{
    const gcut_graph *g = s->g;
    excess *all = gcut_calloc(s->arena, (size_t)g->nodes.n + 1, sizeof *all);
    uint32_t there = 0, seen = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) there += may_be_moment(s, i);
    const uint64_t stride = 1 + (uint64_t)there * g->nodes.n / NODES_WALKED;
    *n = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        if (!may_be_moment(s, i) || seen++ % stride != 0) continue;
        all[*n] = excess_at(s, i);
        *n += all[*n].bytes > 0;
    }
    if (*n) qsort(all, *n, sizeof *all, by_bytes);
    uint32_t seen_of[2] = {0, 0};
    for (uint32_t i = 0; i < *n; i++) all[i].rank = seen_of[is_forward(s, all[i].node)]++;
    if (*n) qsort(all, *n, sizeof *all, by_rank);
    return all;
}

/* ---- the largest of all ---- */

/* A bound: of a moment with one division of prices, or of the boundary alone. */
typedef struct attempt {
    uint32_t node; /* of the moment; GCUT_NONE: the boundary */
    uint32_t division;
    double bound; /* without branches */
} attempt;

typedef GCUT_VEC(attempt) attempts;

static int by_bound(const void *a, const void *b)
{
    const attempt *x = a, *y = b;
    if (x->bound != y->bound) return x->bound > y->bound ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return (x->division > y->division) - (x->division < y->division);
}

static double bound_of(bounding *s, const attempt *of)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(s->arena), s->arena);
    double sum = 0;
    for (gcut_ref v = 0; v < s->g->values.n; v++) s->share[v] = 0;
    if (of->node != GCUT_NONE) {
        const moment m = moment_at(s, of->node, a);
        divide(s, &m, &divisions[of->division]);
        sum = largest_bound(s, moment_network(s, &m, a), m.room);
    }
    if (isfinite(sum)) sum += largest_bound(s, boundary_network(s, a), s->room);
    gcut_arena_free(a);
    return sum;
}

/* Each attempt without branches, while the limit allows it. */
static attempts try_all(bounding *s)
{
    uint32_t n;
    attempts all = {0};
    const excess *at = find_moments(s, &n);
    *GCUT_PUSH(s->arena, &all) = (attempt){.node = GCUT_NONE};
    all.at[0].bound = bound_of(s, &all.at[0]);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < DIVISIONS; k++) {
            attempt x = {.node = at[i].node, .division = k};
            if (s->solved >= s->most) return all;
            if (divisions[k].only && is_forward(s, x.node)) continue; /* nothing is read before */
            x.bound = bound_of(s, &x);
            *GCUT_PUSH(s->arena, &all) = x;
        }
    return all;
}

double gcut_moment_bound(const gcut_problem *p, gcut_arena *arena, int64_t room)
{
    bounding s = {.p = p, .g = p->g, .room = room, .most = NODES_SOLVED / 2, .parts = 1};
    s.arena = gcut_arena_new(gcut_arena_env(arena), arena);
    s.least = gcut_least_storage_of(s.arena, p->g, p->opt->at, p->opt->nat, p->opt->save_dtype == GCUT_BF16);
    s.share = gcut_calloc(s.arena, p->g->values.n, sizeof *s.share);
    const attempts all = try_all(&s);
    qsort(all.at, all.n, sizeof *all.at, by_bound);
    double best = all.at[0].bound;
    s.most = NODES_SOLVED;
    s.parts = MOST_BRANCHES;
    for (uint32_t i = 0; i < all.n && s.solved < s.most; i++) best = fmax(best, bound_of(&s, &all.at[i]));
    gcut_arena_free(s.arena);
    return best * (1 - 0x1p-40);
}
