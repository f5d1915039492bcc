/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * All breakpoints: take two plans, cut again at the lambda where their costs meet, until no new plan appears.
 *
 * Two plans that are both on the envelope are neighbours exactly when nothing is cheaper where their lines
 * meet; otherwise the plan found there splits the interval.  Every cut either adds a plan or closes an
 * interval, so there are about two per breakpoint.  The ends are the cheapest plan at lambda 0 and the
 * cheapest of those with the fewest bytes.  The cut that closes an interval has the flow that proves it: its
 * value is the bound at that lambda, and its residual network says which plans lie between
 * (partition/cut/equal_cuts.c).
 */
#include "partition/cut/frontier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/cut/min_cut.h"
#include "partition/cut/equal_cuts.h"

typedef struct search {
    gcut_cut_frontier *f;
    gcut_arena *arena, *scratch; /* of the result; of the search */
    gcut_arena *now;             /* of the current lambda */
    gcut_problem at;             /* with the formats of the current lambda */
    gcut_network *net;           /* at that lambda */
    bool corners;                /* corners only: no points on edges */
} search;

static void move_to(search *s, double lambda)
{
    s->at = gcut_problem_at(s->f->p, s->arena, lambda);
    gcut_arena_free(s->now);
    s->now = gcut_arena_new(gcut_arena_env(s->scratch), s->scratch);
    s->net = gcut_problem_network(&s->at, s->now);
    gcut_network_at(s->net, isinf(lambda) ? 0 : lambda);
}

static double cost_at(const gcut_cut_point *x, double lambda)
{
    return x->fixed_ns + lambda * (double)x->saved_bytes;
}

/* The point of a cut, with the cost and bytes of its plan, which leaves out what the backward graph does not
 * need. */
static gcut_cut_point point_of(const search *s, const bool *side)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(s->scratch), s->scratch);
    bool *saved = gcut_saved_by(s->f->p, s->arena, s->net, side);
    gcut_choice *c = gcut_choice_saving(&s->at, a, saved, NULL, 0);
    gcut_cut_point x = {
        .saved_bytes = c->saved_bytes, .fixed_ns = c->fixed_ns, .saved = saved, .format = s->at.format};
    x.side = gcut_memdup(s->arena, side, s->net->nvertices);
    gcut_arena_free(a);
    return x;
}

static gcut_cut cut_at(search *s, double lambda)
{
    move_to(s, lambda);
    gcut_cut cut = gcut_solve(s->net, s->now);
    double cost = gcut_bound_of_cut(s->f->p, &cut, lambda);
    *GCUT_PUSH(s->arena, &s->f->bounds) = (gcut_bound){lambda, cost};
    return cut;
}

static void emit(const search *s, gcut_cut_point x)
{
    *GCUT_PUSH(s->arena, &s->f->points) = x;
}

typedef struct found_point { /* a point and its place among those found */
    gcut_cut_point point;
    uint32_t index;
} found_point;

static int more_bytes(const void *a, const void *b)
{
    const found_point *x = a, *y = b;
    if (x->point.saved_bytes != y->point.saved_bytes)
        return x->point.saved_bytes > y->point.saved_bytes ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The points on the edge from a to b, whose costs meet at lambda, by falling bytes. */
static void fill_edge(const search *s, const gcut_cut_point *a, const gcut_cut_point *b, double lambda,
                      const gcut_cut *cut)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(s->scratch), s->scratch);
    gcut_sides sides = gcut_ties_between(scratch, s->net, cut, b->side, a->side);
    GCUT_VEC(found_point) found = {0};
    for (uint32_t i = 0; i < sides.n; i++) {
        gcut_cut_point x = point_of(s, sides.at[i]);
        x.from = x.to = lambda;
        x.between = true;
        *GCUT_PUSH(scratch, &found) = (found_point){x, i};
    }
    if (found.n) qsort(found.at, found.n, sizeof *found.at, more_bytes);
    double last_ns = a->fixed_ns;
    int64_t last_bytes = a->saved_bytes;
    for (uint32_t i = 0; i < found.n; i++) {
        const gcut_cut_point *x = &found.at[i].point;
        bool falls = x->saved_bytes < last_bytes && x->saved_bytes > b->saved_bytes;
        if (!falls || !(x->fixed_ns > last_ns) || !(x->fixed_ns < b->fixed_ns)) continue;
        emit(s, *x);
        last_ns = x->fixed_ns;
        last_bytes = x->saved_bytes;
    }
    gcut_arena_free(scratch);
}

/* Adds all points from corner a up to `last`.  The recursion may be as deep as there are corners, so the
 * pending ones are on an explicit stack. */
static void walk(search *s, gcut_cut_point a, gcut_cut_point last)
{
    GCUT_VEC(gcut_cut_point) right = {0};
    *GCUT_PUSH(s->scratch, &right) = last;
    while (right.n) {
        gcut_cut_point b = right.at[right.n - 1];
        if (b.saved_bytes >= a.saved_bytes) { /* the same plan, or one that ties */
            right.n--;
            continue;
        }
        double meet = (b.fixed_ns - a.fixed_ns) / (double)(a.saved_bytes - b.saved_bytes);
        if (!(meet > a.from)) { /* a costs more than b by a rounding error, and has more bytes */
            b.from = a.from;
            a = b;
            right.n--;
            continue;
        }
        gcut_cut cut = cut_at(s, meet);
        gcut_cut_point mid = point_of(s, cut.source_side);
        bool inside = mid.saved_bytes < a.saved_bytes && mid.saved_bytes > b.saved_bytes;
        double blur = cut.error + 1e-12 * cut.cost;
        if (inside && cost_at(&mid, meet) < cost_at(&a, meet) - blur) {
            *GCUT_PUSH(s->scratch, &right) = mid;
            continue;
        }
        a.to = b.from = meet;
        emit(s, a);
        if (!s->corners) fill_edge(s, &a, &b, meet, &cut);
        a = b;
        right.n--;
    }
    a.to = INFINITY;
    emit(s, a);
}

static int by_lambda(const void *a, const void *b)
{
    const gcut_bound *x = a, *y = b;
    if (x->lambda != y->lambda) return x->lambda < y->lambda ? -1 : 1;
    return (x->cost_ns > y->cost_ns) - (x->cost_ns < y->cost_ns);
}

static gcut_cut_frontier *find(const gcut_problem *p, gcut_arena *arena, bool corners)
{
    gcut_cut_frontier *f = gcut_calloc(arena, 1, sizeof *f);
    search s = {
        .f = f, .arena = arena, .scratch = gcut_arena_new(gcut_arena_env(arena), arena), .corners = corners};
    f->p = p;
    move_to(&s, INFINITY);
    gcut_cut_point last = point_of(&s, gcut_solve_smallest(s.net, s.now).source_side);
    gcut_cut cut = cut_at(&s, 0);
    walk(&s, point_of(&s, cut.source_side), last);
    qsort(f->bounds.at, f->bounds.n, sizeof *f->bounds.at, by_lambda);
    gcut_arena_free(s.scratch);
    return f;
}

gcut_cut_frontier *gcut_cut_frontier_of(const gcut_problem *p, gcut_arena *arena)
{
    return find(p, arena, false);
}

gcut_cut_frontier *gcut_corners_of(const gcut_problem *p, gcut_arena *arena)
{
    return find(p, arena, true);
}

/* ---- bounds and flips ---- */

gcut_choice *gcut_cut_point_choice(const gcut_cut_frontier *f, gcut_arena *arena, const gcut_cut_point *point)
{
    gcut_problem at = *f->p;
    at.format = point->format;
    gcut_choice *c = gcut_choice_saving(&at, arena, point->saved, NULL, point->from);
    c->lower_bound_ns = gcut_bound_printed(gcut_bound_for_lambda(f, point->from), c->cost_ns);
    return c;
}

const gcut_bound *gcut_bound_proving_bytes(const gcut_cut_frontier *f, int64_t bytes_across)
{
    const gcut_bound *best = &f->bounds.at[0];
    for (uint32_t i = 1; i < f->bounds.n; i++) {
        const gcut_bound *b = &f->bounds.at[i];
        double more = b->cost_ns - best->cost_ns;
        if (more > (b->lambda - best->lambda) * (double)bytes_across) best = b;
    }
    return best;
}

double gcut_bound_for_bytes(const gcut_cut_frontier *f, int64_t bytes_across)
{
    if (bytes_across < f->points.at[f->points.n - 1].saved_bytes) return INFINITY;
    const gcut_bound *b = gcut_bound_proving_bytes(f, bytes_across);
    return fmax(0, fma(-b->lambda, (double)bytes_across,
                       b->cost_ns)); /* one rounding: both terms may be much larger than the difference */
}

/* The cheapest cost is concave in lambda, so between two bounds it lies above the line through them; past the
 * last breakpoint its slope is the fewest bytes possible. */
double gcut_bound_for_lambda(const gcut_cut_frontier *f, double lambda)
{
    const gcut_bound *b = f->bounds.at;
    uint32_t n = f->bounds.n;
    int64_t least = f->points.at[f->points.n - 1].saved_bytes;
    if (lambda >= b[n - 1].lambda) return b[n - 1].cost_ns + (lambda - b[n - 1].lambda) * (double)least;
    uint32_t i = 0;
    while (b[i + 1].lambda <= lambda) i++;
    if (lambda == b[i].lambda) return b[i].cost_ns;
    double t = (lambda - b[i].lambda) / (b[i + 1].lambda - b[i].lambda);
    return b[i].cost_ns + t * (b[i + 1].cost_ns - b[i].cost_ns);
}

gcut_flips *gcut_flip_prices(const gcut_cut_frontier *f, gcut_arena *arena, double from)
{
    const gcut_problem *p = f->p;
    uint32_t nvalues = p->g->values.n;
    gcut_flips *flips = gcut_calloc(arena, nvalues, sizeof *flips);
    typedef GCUT_VEC(double) reals;
    reals *at = gcut_calloc(arena, nvalues, sizeof *at);
    gcut_plan_decision *before = NULL;
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    for (uint32_t i = 0; i < f->points.n; i++) {
        const gcut_cut_point *x = &f->points.at[i];
        if (x->between || !(x->to > from)) continue;
        gcut_plan_decision *decision = gcut_choice_saving(p, scratch, x->saved, NULL, 0)->decision;
        for (gcut_ref v = 1; v < nvalues; v++) {
            bool now = decision[v] == GCUT_PLAN_SAVED;
            if (!before)
                flips[v].saved = now;
            else if (now != (before[v] == GCUT_PLAN_SAVED))
                *GCUT_PUSH(arena, &at[v]) = x->from;
        }
        before = decision;
    }
    for (gcut_ref v = 1; v < nvalues; v++) flips[v].n = at[v].n, flips[v].at = at[v].at;
    gcut_arena_free(scratch);
    return flips;
}
