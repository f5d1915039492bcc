/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tabu search (Glover, Tabu Search, ORSA Journal on Computing 1, 1989) with strategic oscillation around the budget.
 *
 * Each step takes the flip that leads to the least
 *
 *   time of the step + price * bytes alive above the budget,
 *
 * which may be more than before.  For the next steps its value does not change again, unless that gives the best plan of
 * all: so the search leaves a local optimum instead of returning to it.  The price falls while plans fit and rises while
 * they do not, so that the search crosses the budget again and again.
 *
 * The effect of a flip on the time and on the bytes above is kept from when it was last tried, until its value changes.
 * By these effects flips are ordered; they are tried until the next one promises less than the best that was tried.
 */
#include "driver/search/tabu_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TENURE = 6,      /* steps for which a value keeps its decision */
    SWAP_STEPS = 2,  /* values up to this distance are saved in the place of one */
    SIDE_STEPS = 3,  /* the price changes after so many steps on one side of the budget */
    FIRST_PRICE = 5, /* the step's time / FIRST_PRICE for all bytes of the arena */
};
#define RAISED 1.5
#define LOWERED 0.7

/* What a flip added when it was last tried. */
typedef struct effect {
    double ns, above;
    uint32_t step; /* at which it was tried */
} effect;

typedef struct move {
    gcut_ref v;
    gcut_flip_kind kind;
    gcut_ref instead; /* of GCUT_FLIP_SWAP */
    uint32_t effect;  /* its index */
    double guess; /* what the step takes the least of; -INFINITY: it was not tried since its value changed */
} move;

typedef GCUT_VEC(move) moves;

typedef struct tabu {
    gcut_candidates *o;
    int64_t budget;
    const gcut_problem *p;
    gcut_arena *own, *round; /* of this search, of one step */
    gcut_candidate now, best;
    double above, best_above; /* bytes alive above the budget */
    double price;             /* ns for each of them */
    uint32_t step, best_step;
    uint32_t *until;   /* by value: the last step at which it keeps its decision */
    uint32_t *changed; /* by value: the last step at which it changed */
    const bool **near; /* by value and value */
    gcut_map index;    /* of effects, by move, plus 1 */
    GCUT_VEC(effect) effects;
} tabu;

static double total(const tabu *s, double ns, double above)
{
    return ns + s->price * fmax(0, above);
}

static void add_move(tabu *s, moves *all, gcut_ref v, gcut_flip_kind kind, gcut_ref instead)
{
    const uint64_t key = ((uint64_t)v * s->p->g->values.n + instead) * GCUT_NFLIPS + kind;
    uint32_t *at = gcut_map_at(s->own, &s->index, key);
    if (!*at) {
        *GCUT_PUSH(s->own, &s->effects) = (effect){0};
        *at = s->effects.n;
    }
    const effect *e = &s->effects.at[*at - 1];
    const bool known = e->step > s->changed[v] && e->step > s->changed[instead];
    const double guess = known ? total(s, s->now.step_ns + e->ns, s->above + e->above) : -INFINITY;
    *GCUT_PUSH(s->round, all) = (move){v, kind, instead, *at - 1, guess};
}

/* Values near v that are recomputed once v is: each may be saved in its place. */
static void add_swaps(tabu *s, moves *all, gcut_ref v)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(s->round), s->round);
    const gcut_choice *c = gcut_flipped(s->p, scratch, s->now.choice, &v, 1, GCUT_FLIP_VALUE);
    for (gcut_ref u = 1; c && u < s->p->g->values.n; u++)
        if (u != v && s->near[v][u] && c->decision[u] == GCUT_PLAN_RECOMPUTED &&
            gcut_is_flippable(s->p, c, u))
            add_move(s, all, v, GCUT_FLIP_SWAP, u);
    gcut_arena_free(scratch);
}

static int by_guess(const void *a, const void *b)
{
    const move *x = a, *y = b;
    if (x->guess != y->guess) return x->guess < y->guess ? -1 : 1;
    if (x->v != y->v) return x->v < y->v ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    return (x->instead > y->instead) - (x->instead < y->instead);
}

/* Formats are no moves: gcut_candidate_reformatted chooses them once the decisions are made. */
static moves moves_of(tabu *s)
{
    moves all = {0};
    for (gcut_ref v = 1; v < s->p->g->values.n; v++) {
        const gcut_plan_decision d = s->now.choice->decision[v];
        if (!gcut_is_flippable(s->p, s->now.choice, v)) continue;
        for (int k = 0; k < GCUT_NFLIPS; k++)
            if (k != GCUT_FLIP_FORMAT && k != GCUT_FLIP_SWAP && gcut_flip_fits((gcut_flip_kind)k, d))
                add_move(s, &all, v, (gcut_flip_kind)k, 0);
        if (d == GCUT_PLAN_SAVED) add_swaps(s, &all, v);
    }
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_guess);
    return all;
}

static const gcut_choice *choice_of(const tabu *s, const move *m)
{
    return m->kind == GCUT_FLIP_SWAP ? gcut_flip_swapped(s->p, s->round, s->now.choice, m->v, m->instead)
                                     : gcut_flipped(s->p, s->round, s->now.choice, &m->v, 1, m->kind);
}

/* Lowers x, whose choice is given; its bytes above the budget. */
static double lower(const tabu *s, gcut_candidate *x)
{
    x->peak_bytes = -1;
    x->settled = 0;
    gcut_candidates_tell(s->o);
    gcut_candidate_peak(s->o, x);
    return gcut_bytes_above(s->o, x, s->budget);
}

/* True: x is the best plan so far. */
static bool keep_best(tabu *s, const gcut_candidate *x, double above)
{
    const bool fits = s->best.peak_bytes <= s->budget;
    if (fits ? x->peak_bytes > s->budget || !gcut_candidate_is_faster(x, &s->best) : above >= s->best_above)
        return false;
    s->best = *x;
    s->best.choice = gcut_flip_kept(s->p, s->o->arena, x->choice);
    s->best_above = above;
    s->best_step = s->step;
    return true;
}

/* Tries moves while one may be the best.  False: there is none that is not tabu. */
static bool find_best(tabu *s, uint64_t end, gcut_candidate *out, double *out_above, move *taken)
{
    const moves all = moves_of(s);
    double least = INFINITY;
    for (uint32_t i = 0; i < all.n && all.at[i].guess < least && s->o->nodes_tried < end; i++) {
        const move *m = &all.at[i];
        const bool is_tabu = s->until[m->v] >= s->step || s->until[m->instead] >= s->step;
        if (is_tabu && s->best_above == 0 && m->guess >= s->best.step_ns) continue;
        gcut_candidate x = s->now;
        x.choice = choice_of(s, m);
        if (!x.choice) continue;
        const double above = lower(s, &x), sum = total(s, x.step_ns, above);
        x.flips++;
        s->effects.at[m->effect] = (effect){x.step_ns - s->now.step_ns, above - s->above, s->step};
        if ((!keep_best(s, &x, above) && is_tabu) || sum >= least) continue;
        least = sum;
        *out = x;
        *out_above = above;
        *taken = *m;
    }
    return least < INFINITY;
}

/* Steps on this side of the budget: a multiple of SIDE_STEPS changes the price. */
static void adapt(tabu *s, uint32_t on_side)
{
    if (on_side % SIDE_STEPS == 0) s->price *= s->above > 0 ? RAISED : LOWERED;
}

static tabu tabu_of(gcut_candidates *o, const gcut_candidate *from, int64_t budget)
{
    const gcut_graph *g = from->base->planned;
    tabu s = {.o = o, .budget = budget, .p = from->base->problem, .now = *from};
    s.own = gcut_arena_new(gcut_arena_env(o->arena), o->arena);
    s.above = lower(&s, &s.now);
    s.until = gcut_calloc(s.own, g->values.n, sizeof *s.until);
    s.changed = gcut_calloc(s.own, g->values.n, sizeof *s.changed);
    s.near = gcut_calloc(s.own, g->values.n, sizeof *s.near);
    bool *one = gcut_calloc(s.own, g->values.n, sizeof *one);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        one[v] = true;
        s.near[v] = gcut_near_values(s.own, g, one, SWAP_STEPS);
        one[v] = false;
    }
    s.best = s.now;
    s.best_above = s.above;
    s.price = s.now.step_ns / FIRST_PRICE / (double)(s.now.peak_bytes - o->resident + 1);
    return s;
}

gcut_candidate gcut_candidate_tabu(gcut_candidates *o, const gcut_candidate *from, int64_t budget,
                                   uint32_t steps, uint64_t nodes)
{
    const uint64_t end = o->nodes_tried + nodes;
    tabu s = tabu_of(o, from, budget);
    uint32_t on_side = 0;
    for (bool goes_on = !isnan(s.now.step_ns); goes_on && s.step - s.best_step < steps;) {
        gcut_candidate x = {0};
        double above = 0;
        move m = {0};
        s.step++;
        s.round = gcut_arena_new(gcut_arena_env(s.own), s.own);
        goes_on = o->nodes_tried < end && find_best(&s, end, &x, &above, &m);
        if (goes_on) {
            on_side = (above > 0) == (s.above > 0) ? on_side + 1 : 1;
            s.now = x;
            s.now.choice = gcut_flip_kept(s.p, s.own, x.choice);
            s.above = above;
            s.changed[m.v] = s.changed[m.instead] = s.step;
            s.until[m.v] = s.until[m.instead] = s.step + TENURE;
            s.changed[0] = s.until[0] = 0;
            adapt(&s, on_side);
        }
        gcut_arena_free(s.round);
    }
    gcut_candidate best = s.best;
    gcut_candidate_name(&best, o->arena);
    gcut_arena_free(s.own);
    return best;
}

bool gcut_tabu_affords(const gcut_candidate *from, uint64_t nodes)
{
    const uint64_t flips = gcut_count_flippable(from->base->problem, from->choice);
    return flips * from->base->planned->nodes.n <= nodes;
}
