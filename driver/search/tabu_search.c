/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tabu search (F. Glover, Tabu Search, Part I, ORSA Journal on Computing 1, 1989) with strategic oscillation around the
 * budget.
 *
 * Each iteration takes the flip that leads to the smallest
 *
 *   predicted time of the training step + price * bytes alive above the budget,
 *
 * even if that is more than before.  The flipped value keeps its decision for TENURE iterations, unless a flip of it leads
 * to the best plan so far: the search does not return to the local optimum that it has left.  The price falls while plans
 * fit the budget and rises while they do not, so that the search crosses the budget in both directions.
 *
 * The search stores what each flip added to the time and to the bytes when it was last tried, until its value changes.  An
 * iteration tries flips in the order of these estimates, and stops where the next estimate is above the best flip tried.
 */
#include "driver/search/tabu_search.h"

#include <math.h>
#include <stdlib.h>

enum {
    TENURE = 6,        /* iterations for which a value keeps its decision */
    SWAP_DISTANCE = 2, /* nodes, at most, between the two values of a swap */
    PRICE_PERIOD = 3,  /* iterations in a row that fit the budget, or do not, before the price changes */
};
#define FIRST_PRICE 0.2 /* of the time of the training step, for all bytes of the arena */
#define PRICE_RISE 1.5
#define PRICE_FALL 0.7

/* What a flip added when it was last tried. */
typedef struct effect {
    double ns, above;
    uint32_t iteration; /* of the trial; 0: none yet */
} effect;

typedef struct move {
    gcut_ref v;
    gcut_flip_kind kind;
    gcut_ref instead; /* of GCUT_FLIP_SWAP; else v */
    uint32_t effect;  /* its index */
    double estimate;  /* of what an iteration minimizes; -INFINITY: not known */
} move;

typedef GCUT_VEC(move) moves;

typedef struct trial {
    gcut_candidate plan;
    double above; /* bytes alive above the budget */
    move flip;
    bool is_best; /* of all plans tried */
} trial;

typedef struct tabu {
    gcut_candidates *o;
    int64_t budget;
    const gcut_problem *p;
    gcut_arena *own, *scratch; /* of the search, of one iteration */
    gcut_candidate now, best;
    double above, best_above;
    double price; /* ns for a byte above the budget */
    uint32_t iteration, best_iteration;
    uint32_t in_a_row;    /* plans that fit the budget, or plans that do not */
    uint32_t *tabu_until; /* by value: an iteration */
    uint32_t *changed;    /* by value: the iteration that changed it last */
    const bool **near;    /* by value: which values may be saved in its place; NULL: not known */
    gcut_map index;       /* of effects, by move, plus 1 */
    GCUT_VEC(effect) effects;
} tabu;

static double objective(const tabu *s, double ns, double above)
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
    const bool known = e->iteration > s->changed[v] && e->iteration > s->changed[instead];
    const double estimate = known ? objective(s, s->now.step_ns + e->ns, s->above + e->above) : -INFINITY;
    *GCUT_PUSH(s->scratch, all) = (move){v, kind, instead, *at - 1, estimate};
}

static const bool *values_near(tabu *s, gcut_ref v)
{
    if (s->near[v]) return s->near[v];
    bool *one = gcut_calloc(s->scratch, s->p->g->values.n, sizeof *one);
    one[v] = true;
    return s->near[v] = gcut_near_values(s->own, s->p->g, one, SWAP_DISTANCE);
}

/* What is recomputed once v is may be saved in its place. */
static void add_swaps(tabu *s, moves *all, gcut_ref v)
{
    const bool *near = values_near(s, v);
    const gcut_choice *c = gcut_flipped(s->p, s->scratch, s->now.choice, &v, 1, GCUT_FLIP_VALUE);
    for (gcut_ref u = 1; c && u < s->p->g->values.n; u++)
        if (u != v && near[u] && c->decision[u] == GCUT_PLAN_RECOMPUTED && gcut_is_flippable(s->p, c, u))
            add_move(s, all, v, GCUT_FLIP_SWAP, u);
}

static int by_estimate(const void *a, const void *b)
{
    const move *x = a, *y = b;
    if (x->estimate != y->estimate) return x->estimate < y->estimate ? -1 : 1;
    if (x->v != y->v) return x->v < y->v ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    return (x->instead > y->instead) - (x->instead < y->instead);
}

/* Formats are chosen after the decisions, by gcut_candidate_reformatted. */
static moves find_moves(tabu *s)
{
    static const gcut_flip_kind kinds[] = {GCUT_FLIP_VALUE,           GCUT_FLIP_NODE,     GCUT_FLIP_ONE_COPY,
                                           GCUT_FLIP_COPY_PER_READER, GCUT_FLIP_OPERANDS, GCUT_FLIP_READERS};
    moves all = {0};
    for (gcut_ref v = 1; v < s->p->g->values.n; v++) {
        const gcut_plan_decision d = s->now.choice->decision[v];
        if (!gcut_is_flippable(s->p, s->now.choice, v)) continue;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (gcut_flip_applies(kinds[k], d)) add_move(s, &all, v, kinds[k], v);
        if (d == GCUT_PLAN_SAVED) add_swaps(s, &all, v);
    }
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_estimate);
    return all;
}

static const gcut_choice *choice_after(const tabu *s, const move *m)
{
    return m->kind == GCUT_FLIP_SWAP ? gcut_flip_swapped(s->p, s->scratch, s->now.choice, m->v, m->instead)
                                     : gcut_flipped(s->p, s->scratch, s->now.choice, &m->v, 1, m->kind);
}

/* Lowers x; its bytes alive above the budget. */
static double lower(const tabu *s, gcut_candidate *x)
{
    x->peak_bytes = -1;
    x->settled = 0;
    gcut_candidates_tell(s->o);
    gcut_candidate_peak(s->o, x);
    return gcut_bytes_above(s->o, x, s->budget);
}

static bool is_best(const tabu *s, const trial *t)
{
    if (s->best_above > 0) return t->above < s->best_above;
    return t->above == 0 && gcut_candidate_is_faster(&t->plan, &s->best);
}

/* Lowers the plan with that flip, and stores it if it is the best.  False: the flip changes nothing. */
static bool try_flip(tabu *s, const move *m, trial *out)
{
    trial t = {.plan = s->now, .flip = *m};
    t.plan.choice = choice_after(s, m);
    if (!t.plan.choice) return false;
    t.plan.flips++;
    t.above = lower(s, &t.plan);
    t.is_best = is_best(s, &t);
    if (t.is_best) {
        s->best = t.plan;
        s->best.choice = gcut_copy_choice(s->p, s->o->arena, t.plan.choice);
        s->best_above = t.above;
        s->best_iteration = s->iteration;
    }
    *out = t;
    return true;
}

/* The flip that this iteration takes.  False: every flip is tabu, or all nodes are spent. */
static bool find_best(tabu *s, uint64_t end, trial *out)
{
    const moves all = find_moves(s);
    double least = INFINITY;
    for (uint32_t i = 0; i < all.n && all.at[i].estimate < least && s->o->nodes_tried < end; i++) {
        const move *m = &all.at[i];
        const bool is_tabu = s->tabu_until[m->v] >= s->iteration || s->tabu_until[m->instead] >= s->iteration;
        if (is_tabu && s->best_above == 0 && m->estimate >= s->best.step_ns) continue;
        trial t;
        if (!try_flip(s, m, &t)) continue;
        s->effects.at[m->effect] =
            (effect){t.plan.step_ns - s->now.step_ns, t.above - s->above, s->iteration};
        const double sum = objective(s, t.plan.step_ns, t.above);
        if ((is_tabu && !t.is_best) || sum >= least) continue;
        least = sum;
        *out = t;
    }
    return least < INFINITY;
}

static void adopt(tabu *s, const trial *t)
{
    s->in_a_row = (t->above > 0) == (s->above > 0) ? s->in_a_row + 1 : 1;
    s->now = t->plan;
    s->now.choice = gcut_copy_choice(s->p, s->own, t->plan.choice);
    s->above = t->above;
    s->changed[t->flip.v] = s->changed[t->flip.instead] = s->iteration;
    s->tabu_until[t->flip.v] = s->tabu_until[t->flip.instead] = s->iteration + TENURE;
    if (s->in_a_row % PRICE_PERIOD == 0) s->price *= s->above > 0 ? PRICE_RISE : PRICE_FALL;
}

static tabu tabu_of(gcut_candidates *o, const gcut_candidate *from, int64_t budget)
{
    const uint32_t values = from->base->planned->values.n;
    tabu s = {.o = o, .budget = budget, .p = from->base->problem, .now = *from};
    s.own = gcut_arena_new(gcut_arena_env(o->arena), o->arena);
    s.above = lower(&s, &s.now);
    s.tabu_until = gcut_calloc(s.own, values, sizeof *s.tabu_until);
    s.changed = gcut_calloc(s.own, values, sizeof *s.changed);
    s.near = gcut_calloc(s.own, values, sizeof *s.near);
    s.best = s.now;
    s.best_above = s.above;
    s.price = FIRST_PRICE * s.now.step_ns / (double)(s.now.peak_bytes - o->resident + 1);
    return s;
}

/* Flips v, which then keeps its decision.  False: that changes nothing. */
static bool begin_with(tabu *s, gcut_ref v)
{
    const move first = {.v = v, .kind = GCUT_FLIP_VALUE, .instead = v};
    trial t;
    s->scratch = gcut_arena_new(gcut_arena_env(s->own), s->own);
    const bool begun = try_flip(s, &first, &t);
    if (begun) adopt(s, &t);
    gcut_arena_free(s->scratch);
    s->tabu_until[v] = UINT32_MAX;
    return begun;
}

/* Iterates until a limit is reached, frees the search and returns the best plan. */
static gcut_candidate finish(tabu *s, uint32_t patience, uint64_t end)
{
    for (bool goes_on = true; goes_on && s->iteration - s->best_iteration < patience;) {
        trial t = {0};
        s->iteration++;
        s->scratch = gcut_arena_new(gcut_arena_env(s->own), s->own);
        goes_on = find_best(s, end, &t);
        if (goes_on) adopt(s, &t);
        gcut_arena_free(s->scratch);
    }
    gcut_candidate best = s->best;
    gcut_candidate_name(&best, s->o->arena);
    gcut_arena_free(s->own);
    return best;
}

gcut_candidate gcut_candidate_tabu(gcut_candidates *o, const gcut_candidate *from, int64_t budget,
                                   uint32_t patience, uint64_t nodes)
{
    const uint64_t end = o->nodes_tried + nodes;
    tabu s = tabu_of(o, from, budget);
    return finish(&s, isnan(s.now.step_ns) ? 0 : patience, end);
}

gcut_candidate gcut_candidate_tabu_after_flip(gcut_candidates *o, const gcut_candidate *from, int64_t budget,
                                              gcut_ref v, uint32_t patience)
{
    tabu s = tabu_of(o, from, budget);
    const bool begun = !isnan(s.now.step_ns) && begin_with(&s, v);
    return finish(&s, begun ? patience : 0, UINT64_MAX);
}

bool gcut_tabu_affords(const gcut_candidate *from, uint64_t nodes)
{
    const uint64_t values = gcut_count_flippable(from->base->problem, from->choice);
    return values * from->base->planned->nodes.n <= nodes;
}
