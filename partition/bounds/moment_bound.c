/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two cuts per moment and division of prices, each at the multiplier that bounds best: of all moments with a few divisions
 * and without branches, then of the best ones with branches, then of these with better divisions, which steps along the
 * slope find.
 */
#include "partition/bounds/moment_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/infer.h"
#include "graph/ops/node_facts.h"
#include "partition/bounds/least_storage.h"
#include "partition/bounds/budgeted_cut.h"

/* The limit of work, in nodes of networks solved, of each of four parts: all moments, the best of them with branches, steps
 * along the slope, and the best of those with branches.  At the limit a part tries nothing further. */
#define NODES_SOLVED 50000

#define MOST_BRANCHES 256 /* of one network */

/* A step along the slope is as long as a linear bound would need to reach (1 + AIM) times the best one so far (Polyak's
 * rule).  After STEPS_IN_VAIN steps that gave no better one it aims half as far; of one moment no more than STEPS are
 * tried. */
#define AIM 0.1
#define STEPS 40
#define STEPS_IN_VAIN 3

/* Nodes that are walked to find moments; where all would be more, they are tried at equal distances. */
#define NODES_WALKED 20000000

typedef struct moment moment;

typedef struct bounding {
    const gcut_problem *p;
    const gcut_graph *g;
    gcut_least_storage least;
    gcut_arena *arena;
    int64_t room;
    double *share;    /* by value: the part of the price of computing it that counts at the moment */
    bool saves_too;   /* the share divides the price of saving it, too; else that counts at the boundary */
    const moment *at; /* whose network is solved; NULL: that of the boundary */
    double *slope;    /* by value, for the first result of a node: what its share adds to the bound */
    gcut_budgeted_cut cut; /* counts nodes of graphs */
} bounding;

struct moment {
    uint32_t node;
    bool backward; /* the run of the node in the backward graph, else that in the forward graph */
    /* By value: depends on the node's results; of a forward moment, all of the backward graph, too. */
    bool *after;
    bool *before; /* by value: the node's results depend on it */
    bool *read;   /* by value: it is an operand whose bytes were taken off `room` */
    /* Bytes for saved values: the limit less what the node writes, and at a forward moment or of a region less what it
     * reads. */
    int64_t room;
};

typedef struct excess {
    uint32_t node;
    uint32_t rank; /* among those of its graph */
    int64_t bytes;
} excess;

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

/* What v takes where it crosses; INFINITY: it cannot. */
static double boundary_save(const bounding *s, gcut_ref v, int64_t *bytes)
{
    const char *why;
    double ns = gcut_save_price(s->p, v, 0, &why);
    *bytes = 0;
    if (ns > 0 && isfinite(ns)) least_save(s, v, &ns, bytes);
    return ns;
}

/* What crosses.  Of the constraints of the user only those that forbid saving count; without the others the bound is no
 * larger. */
static gcut_network *boundary_network(const bounding *s, gcut_arena *a)
{
    const gcut_graph *g = s->g;
    gcut_network *net = gcut_network_new(a, g->values.n);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (s->p->facts->side[v] == GCUT_SIDE_BACKWARD) continue;
        int64_t bytes;
        const double ns = boundary_save(s, v, &bytes);
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

/* Saving or computing v cost at least this, if it is in memory at the moment and all of its price counts there.
 * Results of one node share a run. */
static double presence(const bounding *s, gcut_ref v)
{
    const gcut_node *n = gcut_def(s->g, v);
    double ns;
    int64_t bytes;
    if (!n || !s->saves_too || s->least.resident[v] || s->p->facts->kept[v] ||
        gcut_node_class(n) == GCUT_CLASS_VIEW || s->p->facts->side[v] == GCUT_SIDE_BACKWARD)
        return 0;
    least_save(s, v, &ns, &bytes);
    return fmin(ns, s->p->price[n->res0].recompute_ns / n->nres);
}

static double presence_ns(const bounding *s, gcut_ref v)
{
    return s->share[v] == 0 ? 0 : part_of(presence(s, v), s->share[v]);
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

/* ---- slopes ---- */

static double if_finite(double x)
{
    return isfinite(x) ? x : 0;
}

/* Adds what the arcs of the cut count for each unit of share: prices of the moment rise with it, and those of the
 * boundary fall. */
static void add_slopes(void *user, const gcut_network *net, const gcut_cut *cut, double weight)
{
    const bounding *s = user;
    for (uint32_t i = 0; i < net->arcs.n; i++) {
        const gcut_arc *x = &net->arcs.at[i];
        const gcut_node *n = gcut_def(s->g, x->value);
        if (!n || !cut->source_side[x->from] || cut->source_side[x->to]) continue;
        const bool counts = s->at ? has_run(s, s->at, n) && s->p->facts->side[n->res0] != GCUT_SIDE_BACKWARD
                                  : !gcut_value_runs_once(s->g, n->res0);
        int64_t bytes;
        double price = 0;
        if (x->kind == GCUT_ARC_RECOMPUTE && counts) price = s->p->price[n->res0].recompute_ns;
        if (x->kind == GCUT_ARC_SAVE && s->saves_too)
            price = s->at ? presence(s, x->value) : boundary_save(s, x->value, &bytes);
        s->slope[n->res0] += (s->at ? weight : -weight) * if_finite(price);
    }
}

/* The prices that the share of node n divides; 0: none. */
static double divided(const bounding *s, const gcut_node *n)
{
    int64_t bytes;
    if (n->nres == 0 || s->p->facts->side[n->res0] == GCUT_SIDE_BACKWARD) return 0;
    return if_finite(s->p->price[n->res0].recompute_ns) + if_finite(boundary_save(s, n->res0, &bytes));
}

/* A step of that length along the slope, in ns of divided prices (a projected subgradient).  False: it is flat. */
static bool climb(bounding *s, double ns)
{
    const gcut_graph *g = s->g;
    double norm = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        const double all = divided(s, n);
        if (all == 0) continue;
        double *x = &s->slope[n->res0];
        if (s->share[n->res0] <= 0) *x = fmax(*x, 0);
        if (s->share[n->res0] >= 1) *x = fmin(*x, 0);
        *x /= all;
        norm += *x * *x;
    }
    for (uint32_t i = 0; norm > 0 && i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        const double all = divided(s, n);
        if (all == 0) continue;
        const double to = s->share[n->res0] + ns / norm * s->slope[n->res0] / all;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) s->share[v] = fmin(1, fmax(0, to));
    }
    return norm > 0;
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
    double bound;  /* without branches */
    double *share; /* by value; NULL: those of the division */
} attempt;

typedef GCUT_VEC(attempt) attempts;

static int by_bound(const void *a, const void *b)
{
    const attempt *x = a, *y = b;
    if (x->bound != y->bound) return x->bound > y->bound ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return (x->division > y->division) - (x->division < y->division);
}

/* By the shares as they are.  m: NULL for the boundary alone. */
static double bound_at(bounding *s, const moment *m)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(s->arena), s->arena);
    double sum = 0;
    s->at = m;
    if (m) sum = gcut_budgeted_cut_bound(&s->cut, moment_network(s, m, a), m->room);
    s->at = NULL;
    if (isfinite(sum)) sum += gcut_budgeted_cut_bound(&s->cut, boundary_network(s, a), s->room);
    gcut_arena_free(a);
    return sum;
}

static double bound_of(bounding *s, const attempt *of)
{
    const size_t size = s->g->values.n * sizeof *s->share;
    gcut_arena *a = gcut_arena_new(gcut_arena_env(s->arena), s->arena);
    memset(s->share, 0, size);
    moment m;
    if (of->node != GCUT_NONE) {
        m = moment_at(s, of->node, a);
        if (!of->share) divide(s, &m, &divisions[of->division]);
    }
    if (of->share) memcpy(s->share, of->share, size), s->saves_too = m.backward;
    const double bound = bound_at(s, of->node == GCUT_NONE ? NULL : &m);
    gcut_arena_free(a);
    return bound;
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
        for (uint32_t k = 0; k < DIVISIONS && s->cut.solved < s->cut.most; k++) {
            attempt x = {.node = at[i].node, .division = k};
            if (divisions[k].only && is_forward(s, x.node)) continue; /* nothing is read before */
            x.bound = bound_of(s, &x);
            *GCUT_PUSH(s->arena, &all) = x;
        }
    return all;
}

/* Looks for a better division of prices, without branches, while the limit allows it: the bound is a concave function of
 * the shares. */
static void ascend(bounding *s, attempt *of)
{
    const size_t size = s->g->values.n * sizeof *s->share;
    gcut_arena *a = gcut_arena_new(gcut_arena_env(s->arena), s->arena);
    double aim = AIM;
    s->slope = gcut_calloc(a, s->g->values.n, sizeof *s->slope);
    s->cut.tell = add_slopes;
    s->cut.user = s;
    const moment m = moment_at(s, of->node, a);
    memset(s->share, 0, size);
    divide(s, &m, &divisions[of->division]);
    for (uint32_t step = 0, vain = 0; step < STEPS && s->cut.solved < s->cut.most; step++) {
        memset(s->slope, 0, size);
        const double bound = bound_at(s, &m);
        if (!isfinite(bound)) break;
        if (bound > of->bound || !of->share) {
            if (!of->share) of->share = gcut_alloc(s->arena, size);
            memcpy(of->share, s->share, size);
            of->bound = bound;
            vain = 0;
        } else if (++vain == STEPS_IN_VAIN) {
            memcpy(s->share, of->share, size);
            aim /= 2;
            vain = 0;
        }
        if (of->bound <= 0 || !climb(s, (1 + aim) * of->bound - bound)) break;
    }
    s->cut.tell = NULL;
    gcut_arena_free(a);
}

/* The best of them, with branches. */
static double best_of(bounding *s, attempts *all)
{
    if (all->n == 0) return 0;
    qsort(all->at, all->n, sizeof *all->at, by_bound);
    double best = all->at[0].bound;
    s->cut.branches = MOST_BRANCHES;
    s->cut.most = s->cut.solved + NODES_SOLVED;
    for (uint32_t i = 0; i < all->n && s->cut.solved < s->cut.most; i++)
        best = fmax(best, bound_of(s, &all->at[i]));
    s->cut.branches = 1;
    return best;
}

double gcut_moment_bound(const gcut_problem *p, gcut_arena *arena, int64_t room)
{
    bounding s = {.p = p, .g = p->g, .room = room};
    s.arena = gcut_arena_new(gcut_arena_env(arena), arena);
    s.cut = (gcut_budgeted_cut){.arena = s.arena, .size = p->g->nodes.n, .most = NODES_SOLVED, .branches = 1};
    s.least = gcut_least_storage_of(s.arena, p->g, p->opt->at, p->opt->nat, p->opt->save_dtype == GCUT_BF16);
    s.share = gcut_calloc(s.arena, p->g->values.n, sizeof *s.share);
    attempts all = try_all(&s), ascended = {0};
    double best = best_of(&s, &all);
    s.cut.most = s.cut.solved + NODES_SOLVED;
    for (uint32_t i = 0; i < all.n && isfinite(best) && s.cut.solved < s.cut.most; i++) {
        if (all.at[i].node == GCUT_NONE) continue;
        attempt *x = GCUT_PUSH(s.arena, &ascended);
        *x = all.at[i];
        ascend(&s, x);
    }
    best = fmax(best, best_of(&s, &ascended));
    gcut_arena_free(s.arena);
    return best * (1 - 0x1p-40);
}
