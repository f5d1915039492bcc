/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds the cheapest plan that saves at most B bytes.
 *
 * The first point of the frontier that fits costs U; no plan that fits costs less than LB = L - lambda * B,
 * where L is the minimum cut at the lambda with the best bound.  A plan in between is a minimum cut at no
 * lambda, but almost one at this: its cost there is at most U + lambda * B = L + D with D = U - LB, so no arc
 * of residual capacity above D leaves its source side.  A strongly connected component of such arcs is on one
 * side; it is with the source if the source reaches it, with the sink if it reaches the sink.  An integer
 * program decides the remaining components, usually few:
 *
 *     z_c = 1    component c is on the sink's side
 *     y_cd >= z_d - z_c    an arc from c to d is cut
 *     z_d <= z_c    for an arc of residual capacity above D
 *     w <= y     a value is saved in its other format, where both may be best
 *     minimise the prices at lambda 0 of the cut arcs, whose bytes are at most B
 *
 * With too many components the point of the frontier stays, with its gap.
 *
 * Only the z and w need be integers.  Costs are divided by D, so that the solver's tolerances are relative to
 * the gap.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/cut/frontier.h"
#include "partition/cut/glpk.h"
#include "partition/cut/strong_components.h"

#define MOST_BINARIES 4000
#define MOST_NODES 4000
#define MOST_WORK 8000000 /* nodes times terms of the program */

#define WITH_SOURCE (UINT32_MAX - 1)
#define WITH_SINK UINT32_MAX

/* The arcs that are cut when component `to` is on the sink side and `from` is not. */
typedef struct edge {
    uint32_t from, to;
    bool never; /* must not be cut */
    double ns, bytes;
    uint32_t index; /* in the order in which they are found */
} edge;

/* The other storage format of a value whose save arc may be cut. */
typedef struct other {
    gcut_ref value;
    uint32_t from, to;
    double ns, bytes; /* less those of the format at the current lambda */
} other;

typedef struct program {
    gcut_arena *arena;
    const gcut_network *net;
    double room;    /* bytes that may be saved */
    double unit_ns; /* of the costs */
    uint32_t *var;  /* by vertex: the number of its component, or WITH_… */
    uint32_t nvars;
    double ns, bytes;         /* of the arcs that are cut in any case */
    double *at_ns, *at_bytes; /* by component: of the arcs cut when it is on the sink side, less those cut
                                 when it is not */
    GCUT_VEC(edge) edges;
    GCUT_VEC(other) others;
    uint32_t first_other; /* their variables */
    gcut_lp lp;
} program;

typedef struct incumbent {
    gcut_choice *choice;
    const bool *side;          /* by vertex */
    const gcut_format *format; /* by value */
} incumbent;

/* ---- components ---- */

static void name_components(program *q, const gcut_residual *residual, double spread)
{
    uint32_t n = q->net->nvertices;
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(q->arena), q->arena);
    bool *all = gcut_alloc(scratch, n);
    memset(all, 1, n);
    gcut_arcs_by_tail arcs = gcut_residual_arcs(scratch, n, residual, spread);
    gcut_components comp = gcut_scc(scratch, n, &arcs, all);
    bool *source = gcut_calloc(scratch, n, 1), *sink = gcut_calloc(scratch, n, 1); /* by component */
    uint32_t *of = q->var;
    for (uint32_t c = 0; c < comp.n; c++)
        for (uint32_t k = comp.first[c]; k < comp.first[c + 1]; k++) of[comp.vertex[k]] = c;
    source[of[GCUT_NET_SOURCE]] = sink[of[GCUT_NET_SINK]] = true;
    for (uint32_t c = 0; c < comp.n; c++) /* heads of arcs come first */
        for (uint32_t k = comp.first[c]; k < comp.first[c + 1]; k++)
            for (uint32_t e = arcs.first[comp.vertex[k]]; e < arcs.first[comp.vertex[k] + 1]; e++)
                sink[c] |= sink[of[arcs.head[e]]];
    for (uint32_t c = comp.n; c-- > 0;)
        for (uint32_t k = comp.first[c]; source[c] && k < comp.first[c + 1]; k++)
            for (uint32_t e = arcs.first[comp.vertex[k]]; e < arcs.first[comp.vertex[k] + 1]; e++)
                source[of[arcs.head[e]]] = true;
    uint32_t *name = gcut_alloc(scratch, ((size_t)comp.n + 1) * sizeof *name);
    for (uint32_t c = 0; c < comp.n; c++) {
        GCUT_ASSERT(!source[c] || !sink[c]); /* else the flow was not a maximum */
        name[c] = source[c] ? WITH_SOURCE : sink[c] ? WITH_SINK : q->nvars++;
    }
    for (uint32_t v = 0; v < n; v++) of[v] = name[of[v]];
    gcut_arena_free(scratch);
}

/* ---- cut arcs ---- */

static void add_edge(program *q, edge e)
{
    e.index = q->edges.n;
    *GCUT_PUSH(q->arena, &q->edges) = e;
}

static void add_cut(program *q, uint32_t from, uint32_t to, double ns, double bytes)
{
    if (from == to || from == WITH_SINK || to == WITH_SOURCE) return;
    if (from != WITH_SOURCE && to != WITH_SINK) {
        add_edge(q, (edge){.from = from, .to = to, .ns = ns, .bytes = bytes});
        return;
    }
    if (to == WITH_SINK) q->ns += ns, q->bytes += bytes;
    if (from == WITH_SOURCE && to != WITH_SINK) q->at_ns[to] += ns, q->at_bytes[to] += bytes;
    if (from != WITH_SOURCE) q->at_ns[from] -= ns, q->at_bytes[from] -= bytes;
}

/* Edges with the same ends in the order in which they are added up: sums of ns have the same bits with every qsort. */
static int by_ends(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool same_ends(const edge *x, const edge *y)
{
    return x->from == y->from && x->to == y->to;
}

static bool is_var(uint32_t c)
{
    return c != WITH_SOURCE && c != WITH_SINK;
}

static void collect(program *q, const gcut_residual *residual, double spread)
{
    q->at_ns = gcut_calloc(q->arena, (size_t)q->nvars + 1, sizeof *q->at_ns);
    q->at_bytes = gcut_calloc(q->arena, (size_t)q->nvars + 1, sizeof *q->at_bytes);
    for (uint32_t i = 0; i < q->net->arcs.n; i++) {
        const gcut_arc *a = &q->net->arcs.at[i];
        if (!isinf(a->fixed)) add_cut(q, q->var[a->from], q->var[a->to], a->fixed, (double)a->bytes);
    }
    for (uint32_t i = 0; i < residual->n; i++) {
        uint32_t from = q->var[residual->at[i].from], to = q->var[residual->at[i].to];
        if (residual->at[i].by > spread && from != to && is_var(from) && is_var(to))
            add_edge(q, (edge){.from = from, .to = to, .never = true});
    }
    if (q->edges.n) qsort(q->edges.at, q->edges.n, sizeof *q->edges.at, by_ends);
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->edges.n; i++) {
        const edge *e = &q->edges.at[i];
        edge *last = &q->edges.at[n - (n > 0)];
        if (n && same_ends(e, last))
            last->never |= e->never, last->ns += e->ns, last->bytes += e->bytes;
        else
            q->edges.at[n++] = *e;
    }
    q->edges.n = n;
}

/* Collects the formats in which a plan of cost at most L + spread may save a value: not worse in both time
 * and bytes, and at lambda not dearer by more than spread. */
static void collect_others(program *q, const gcut_problem *at, double lambda, double spread)
{
    for (uint32_t i = 0; i < q->net->arcs.n; i++) {
        const gcut_arc *a = &q->net->arcs.at[i];
        gcut_ref v = a->value;
        bool forced = at->force[v] == GCUT_CONSTRAINT_SAVE, paid = a->kind == GCUT_ARC_SAVE && a->weight > 0;
        bool saveable = a->kind == GCUT_ARC_SAVE && !isinf(a->fixed) && (forced || paid);
        gcut_format now = at->format[v], odd = gcut_other_format(at, v);
        if (!saveable || odd == GCUT_FORMAT_PLAIN) continue;
        if (now == odd) odd = GCUT_FORMAT_PLAIN;
        double ns = gcut_saved_ns(at, v, odd) - gcut_saved_ns(at, v, now);
        double bytes = (double)(gcut_value_saved_bytes(at, v, odd) - gcut_value_saved_bytes(at, v, now));
        uint32_t from = q->var[a->from], to = q->var[a->to];
        bool never = from == WITH_SINK || to == WITH_SOURCE || (from == to && is_var(from));
        if (forced) never = false, from = WITH_SOURCE, to = WITH_SINK;
        if (never || (ns >= 0 && bytes >= 0) || ns + lambda * bytes > spread) continue;
        *GCUT_PUSH(q->arena, &q->others) = (other){v, from, to, ns, bytes};
    }
}

/* ---- the program ---- */

static void term(program *q, uint32_t row, uint32_t var, double times)
{
    if (times != 0) *GCUT_PUSH(q->arena, &q->lp.terms) = (gcut_lp_term){row, var, times};
}

static void write_program(program *q)
{
    double weight = q->room > 1 ? q->room : 1;
    *GCUT_PUSH(q->arena, &q->lp.rows) = (gcut_lp_row){-INFINITY, (q->room - q->bytes) / weight};
    for (uint32_t c = 0; c < q->nvars; c++) {
        *GCUT_PUSH(q->arena, &q->lp.vars) = (gcut_lp_var){0, 1, q->at_ns[c] / q->unit_ns, true};
        term(q, 0, c, q->at_bytes[c] / weight);
    }
    for (uint32_t i = 0; i < q->edges.n; i++) {
        const edge *e = &q->edges.at[i];
        uint32_t row = q->lp.rows.n;
        if (!e->never && e->ns == 0 && e->bytes == 0) continue;
        *GCUT_PUSH(q->arena, &q->lp.rows) = (gcut_lp_row){-INFINITY, 0};
        term(q, row, e->to, 1);
        term(q, row, e->from, -1);
        if (e->never) continue;
        uint32_t y = q->lp.vars.n;
        *GCUT_PUSH(q->arena, &q->lp.vars) = (gcut_lp_var){0, 1, e->ns / q->unit_ns, false};
        term(q, row, y, -1);
        term(q, 0, y, e->bytes / weight);
    }
}

/* w <= 1 only where the arc is cut: w <= z_to, w <= 1 - z_from. */
static void write_others(program *q)
{
    double weight = q->room > 1 ? q->room : 1;
    q->first_other = q->lp.vars.n;
    for (uint32_t i = 0; i < q->others.n; i++) {
        const other *o = &q->others.at[i];
        uint32_t w = q->lp.vars.n;
        *GCUT_PUSH(q->arena, &q->lp.vars) = (gcut_lp_var){0, 1, o->ns / q->unit_ns, true};
        term(q, 0, w, o->bytes / weight);
        if (is_var(o->to)) {
            term(q, q->lp.rows.n, w, 1);
            term(q, q->lp.rows.n, o->to, -1);
            *GCUT_PUSH(q->arena, &q->lp.rows) = (gcut_lp_row){-INFINITY, 0};
        }
        if (is_var(o->from)) {
            term(q, q->lp.rows.n, w, 1);
            term(q, q->lp.rows.n, o->from, 1);
            *GCUT_PUSH(q->arena, &q->lp.rows) = (gcut_lp_row){-INFINITY, 1};
        }
    }
}

static bool *side_of(const program *q, const double *x)
{
    bool *side = gcut_calloc(q->arena, q->net->nvertices, 1);
    for (uint32_t v = 0; v < q->net->nvertices; v++)
        side[v] = q->var[v] == WITH_SOURCE || (is_var(q->var[v]) && x[q->var[v]] < 0.5);
    return side;
}

/* The plan of a solution x: the format at lambda, or the other one where w = 1. */
static incumbent plan_of(const program *q, gcut_arena *arena, const gcut_problem *at, const double *x)
{
    gcut_problem p = *at;
    p.format = gcut_memdup(arena, at->format, at->g->values.n * sizeof *at->format);
    for (uint32_t i = 0; i < q->others.n; i++) {
        gcut_ref v = q->others.at[i].value;
        bool odd = x[q->first_other + i] > 0.5;
        if (odd)
            p.format[v] = at->format[v] == GCUT_FORMAT_PLAIN ? gcut_other_format(at, v) : GCUT_FORMAT_PLAIN;
    }
    const bool *side = gcut_memdup(arena, side_of(q, x), q->net->nvertices);
    bool *saved = gcut_saved_by(&p, q->arena, q->net, side);
    return (incumbent){gcut_choice_saving(&p, arena, saved, NULL, 0), side, p.format};
}

/* The variables of a cut, in the order of write_program and write_others. */
static double *variables_of(const program *q, const gcut_problem *at, const incumbent *best)
{
    const bool *side = best->side;
    double *x = gcut_calloc(q->arena, (size_t)q->lp.vars.n + 1, sizeof *x);
    for (uint32_t v = 0; v < q->net->nvertices; v++)
        if (is_var(q->var[v])) x[q->var[v]] = !side[v];
    uint32_t y = q->nvars;
    for (uint32_t i = 0; i < q->edges.n; i++) {
        const edge *e = &q->edges.at[i];
        if (e->never || (e->ns == 0 && e->bytes == 0)) continue;
        x[y++] = fmax(0, x[e->to] - x[e->from]);
    }
    for (uint32_t i = 0; i < q->others.n; i++) {
        const other *o = &q->others.at[i];
        bool cut = (!is_var(o->to) || x[o->to] > 0.5) && (!is_var(o->from) || x[o->from] < 0.5);
        x[q->first_other + i] = cut && best->format[o->value] != at->format[o->value];
    }
    return x;
}

/* ---- the plan ---- */

typedef struct search {
    gcut_arena *arena; /* of the result */
    gcut_problem at;   /* at the lambda that bounds best */
    gcut_network *net;
    gcut_cut cut;
    double lambda;
    int64_t bytes;
    double bound; /* no plan within the limit costs less */
    incumbent best;
} search;

/* True when the gap between plan and bound is more than rounding. */
static bool is_open(const search *h)
{
    double ns = h->best.choice->fixed_ns;
    return ns - h->bound > 1e-9 * ns + 1e-6;
}

/* Solves the program, if it is small enough: gives a bound, and a plan that may be better. */
static void improve(search *h)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(h->arena), h->arena);
    double before = h->best.choice->fixed_ns, unit = before - h->bound;
    double spread = fmax(unit * (1 + 1e-6) + h->cut.error, h->cut.tolerance); /* D */
    program q = {.arena = scratch, .net = h->net, .unit_ns = unit};
    const gcut_forced_saves forced = gcut_forced_saves_at(&h->at, h->lambda);
    q.ns = forced.ns;
    q.room = (double)h->bytes - forced.bytes;
    q.var = gcut_calloc(scratch, h->net->nvertices, sizeof *q.var);
    name_components(&q, &h->cut.residual, spread);
    collect_others(&q, &h->at, h->lambda, spread);
    if (q.nvars + q.others.n <= MOST_BINARIES) {
        collect(&q, &h->cut.residual, spread);
        write_program(&q);
        write_others(&q);
        uint32_t nodes = MOST_WORK / (q.lp.terms.n + 1);
        gcut_lp_answer x = gcut_glpk_intopt(scratch, &q.lp, variables_of(&q, &h->at, &h->best),
                                            nodes < MOST_NODES ? nodes : MOST_NODES);
        h->bound = fmax(h->bound, (x.bound - 1e-6) * unit + q.ns);
        incumbent found = x.found ? plan_of(&q, h->arena, &h->at, x.x) : h->best;
        if (found.choice->saved_bytes <= h->bytes && found.choice->fixed_ns < before) h->best = found;
    }
    gcut_arena_free(scratch);
}

static gcut_choice *search_below(const gcut_cut_frontier *f, gcut_arena *arena, const gcut_cut_point *point,
                                 int64_t bytes)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    search h = {.arena = arena, .bytes = bytes, .bound = gcut_bound_for_bytes(f, bytes)};
    h.best = (incumbent){gcut_cut_point_choice(f, arena, point), point->side, point->format};
    if (is_open(&h)) {
        h.lambda = gcut_bound_proving_bytes(f, bytes)->lambda;
        h.at = gcut_problem_at(f->p, scratch, h.lambda);
        h.net = gcut_problem_network(&h.at, scratch);
        gcut_network_at(h.net, h.lambda);
        h.cut = gcut_solve(h.net, scratch);
        improve(&h);
    }
    gcut_arena_free(scratch);
    h.best.choice->lower_bound_ns = h.bound;
    return h.best.choice;
}

/* Names the values that must be saved: forced ones, and loop-carried ones, which cannot be recomputed. */
static _Noreturn void refuse(const gcut_cut_frontier *f, int64_t bytes)
{
    const gcut_problem *p = f->p;
    const gcut_graph *g = p->g;
    const gcut_cut_point *least = &f->points.at[f->points.n - 1];
    gcut_text who = {.arena = g->module->arena};
    gcut_choice *c = gcut_cut_point_choice(f, g->module->arena, least);
    gcut_place place = {.file = g->module->file};
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (c->decision[v] != GCUT_PLAN_SAVED) continue;
        const gcut_node *n = gcut_def(g, v);
        if (n && !place.line) place = gcut_loc_place(g->module, n->loc);
        gcut_text_add(&who, "%s%%%s %s, %lld bytes", who.n ? "; " : "", g->values.at[v].name,
                      p->force[v] == GCUT_CONSTRAINT_SAVE ? "must be saved" : "cannot be computed again",
                      (long long)gcut_value_saved_bytes(p, v, c->format[v]));
    }
    gcut_fail(g->module->env, GCUT_EPLAN, place, who.at,
              "@%s cannot save %lld bytes or less: %lld must be saved", g->name, (long long)bytes,
              (long long)least->saved_bytes);
}

gcut_choice *gcut_frontier_at_most(const gcut_cut_frontier *f, gcut_arena *arena, int64_t saved_bytes)
{
    uint32_t i = 0;
    while (i < f->points.n && f->points.at[i].saved_bytes > saved_bytes) i++;
    if (i == f->points.n) refuse(f, saved_bytes);
    gcut_choice *c = search_below(f, arena, &f->points.at[i], saved_bytes);
    c->lambda = 0;
    c->cost_ns = c->fixed_ns;
    c->lower_bound_ns = gcut_bound_printed(c->lower_bound_ns, c->cost_ns);
    return c;
}

gcut_choice *gcut_choose_at_most(const gcut_problem *p, gcut_arena *arena, int64_t saved_bytes)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    gcut_choice *c = gcut_frontier_at_most(gcut_cut_frontier_of(p, scratch), arena, saved_bytes);
    gcut_arena_free(scratch);
    return c;
}
