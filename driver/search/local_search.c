/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rounds over all flips, until a round finds none.
 *
 * A round lowers the plan once for each of the most promising flips and takes those that are better, the best
 * first, each again from the plan so far; it goes on to less promising ones as long as none is better.  Values
 * that the graph has several times, as the layers of a network have, form a class: one of them stands for all, and
 * a flip that is better is first tried for the whole class.
 *
 * Better is what takes less time and, where a saved byte has a price, less of both together.
 *
 * A plan that does not fit the budget is better the fewer bytes are alive above it, summed over the steps of the
 * timeline: where several steps are equally full, no single flip lowers the peak.
 *
 * From a plan that fits and that no flip makes faster, an exchange is tried: a flip that makes it faster but too
 * large, and then flips of other values until it fits again.
 *
 * Without a budget a flip that was not better is tried again only after a change near its value: what others gain does
 * not depend on it, while under a budget it depends on the bytes that are left.
 */
#include "driver/search/local_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/node_facts.h"

enum {
    ALIKE_STEPS = 3,    /* values of a class have equal neighbours up to this distance */
    NEAR_STEPS = 6,     /* a change may make flips of values up to this distance better */
    FEW_VALUES = 160,   /* under a budget: with fewer values to flip, each is a class of its own */
    DOUBT_ADDED = 4,    /* a price is assumed to be at most DOUBT_ADDED times the time of its kernels */
    EXCESS_PARTS = 64,  /* flips of less than 1/EXCESS_PARTS of the bytes above the budget are not tried */
    TRIED_AT_ONCE = 12, /* flips of a round before those that were better are taken */
    EXCHANGES = 4,      /* begun, the most promising first, before the search ends */
};

typedef struct flip {
    gcut_ref v;
    gcut_flip_kind kind;
    double gain; /* promise_of, then gain_of */
} flip;

typedef GCUT_VEC(flip) flips;

typedef struct search {
    gcut_candidates *o;
    int64_t budget; /* INT64_MAX: none */
    double lambda;  /* ns that a saved byte is worth */
    const gcut_problem *p;
    gcut_arena *arena; /* of the result */
    gcut_arena *round;
    gcut_candidate best;
    uint64_t *alike; /* by value: its class */
    bool *keeps;     /* by value: its decision is not changed */
    bool formats;    /* they alone are flipped */
    bool stuck; /* the plan does not fit and no other kind is better: GCUT_FLIP_READERS alone are tried */
    bool *vain[GCUT_NFLIPS]; /* by value: not better when last tried, and nothing near it has changed */
    uint32_t flips;          /* taken */
    uint64_t end;            /* o->nodes_tried at which the search ends */
    /* The flips of the last round that are faster and do not fit; gain: the ns that they save, times ns for each byte
     * above.  One that saves little pays for little of what has to make room. */
    flips too_large;
} search;

/* ---- classes ---- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t hash_of_type(const gcut_type *t)
{
    uint64_t h = mix(t->dtype, t->rank);
    for (uint32_t d = 0; d < t->rank; d++) h = mix(h, (uint64_t)t->dim[d]);
    return h;
}

/* Equal where the graph around two values is the same up to a distance. */
static uint64_t *classes_of(const gcut_graph *g, gcut_arena *a)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(a), a);
    uint64_t *h = gcut_calloc(a, g->values.n, sizeof *h),
             *next = gcut_calloc(scratch, g->values.n, sizeof *next);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const gcut_node *n = gcut_def(g, v);
        h[v] = mix(hash_of_type(gcut_type_of(g, v)), n ? 1 + n->op * 16u + g->values.at[v].index : 0);
    }
    for (int step = 0; step < ALIKE_STEPS; step++) {
        memcpy(next, h, g->values.n * sizeof *h);
        for (uint32_t i = 0; i < g->nodes.n; i++) {
            const gcut_node *n = gcut_node_at(g, i);
            for (uint32_t k = 0; k < n->nargs; k++) {
                gcut_ref x = gcut_arg(g, n, k);
                for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
                    next[v] = mix(next[v], h[x] + k);
                    next[x] += mix(h[v], k); /* the order of readers does not matter */
                }
            }
        }
        memcpy(h, next, g->values.n * sizeof *h);
    }
    gcut_arena_free(scratch);
    return h;
}

/* ---- flips ---- */

/* What the search makes less. */
static double worth_of(const search *s, const gcut_candidate *x)
{
    return x->step_ns + s->lambda * (double)x->choice->saved_bytes;
}

static bool has_budget(const search *s)
{
    return s->budget != INT64_MAX;
}

/* An estimate of what this choice may gain, by which flips are ordered.  Without a budget: the most that it may gain by
 * these prices.  Of a plan that fits a budget: the prices of what is no longer saved or recomputed, as if all else were
 * free.  Of one that does not: the bytes of the values whose decision changes, for each ns by the prices.  0: it is too
 * small to be tried. */
static double promise_of(const search *s, const gcut_choice *c)
{
    const gcut_choice *now = s->best.choice;
    double ns = 0, added = 0, bytes = 0, worth = GCUT_FLIP_WORTH * s->best.step_ns;
    for (gcut_ref v = 1; v < s->p->g->values.n; v++) {
        if (gcut_same_decision(c, now, v)) continue;
        bytes += (double)s->p->price[v].bytes;
        ns += s->p->opt->machine.kernel_ns;
        if (now->decision[v] == GCUT_PLAN_RECOMPUTED && isfinite(s->p->price[v].recompute_ns))
            ns += s->p->price[v].recompute_ns;
        if (now->decision[v] == GCUT_PLAN_SAVED) ns += gcut_saved_ns(s->p, v, now->format[v]);
        if (c->decision[v] == GCUT_PLAN_RECOMPUTED && isfinite(s->p->price[v].recompute_ns))
            added += s->p->price[v].recompute_ns;
        if (c->decision[v] == GCUT_PLAN_SAVED) added += gcut_saved_ns(s->p, v, c->format[v]);
    }
    if (bytes == 0) ns = now->recompute_ns - c->recompute_ns; /* the same decisions, fewer copies */
    if (!has_budget(s)) {
        double gain = GCUT_PRICE_DOUBT * ns - added / DOUBT_ADDED +
                      s->lambda * (double)(now->saved_bytes - c->saved_bytes);
        return gain > worth ? gain : 0;
    }
    double excess = (double)s->best.peak_bytes - (double)s->budget;
    if (excess > 0) return bytes * EXCESS_PARTS > excess ? bytes / fmax(added - ns, worth) : 0;
    return ns * GCUT_PRICE_DOUBT > worth ? ns : 0;
}

/* The plan so far with that choice; its step_ns stays NAN where it cannot be better. */
static gcut_candidate evaluate(search *s, const gcut_choice *c)
{
    gcut_candidate x = s->best;
    x.choice = c;
    x.peak_bytes = -1;
    x.step_ns = NAN;
    int64_t most = s->best.peak_bytes > s->budget ? s->best.peak_bytes : s->budget;
    gcut_candidates_tell(s->o);
    if (gcut_candidate_least(s->o, &x) <= most) gcut_candidate_peak(s->o, &x);
    return x;
}

/* How much better x is than the plan so far: ns, 0 where that is not worth a change; where the plan so far does
 * not fit, bytes_above for each ns. */
static double gain_of(const search *s, const gcut_candidate *x)
{
    double longer = worth_of(s, x) - worth_of(s, &s->best), worth = GCUT_FLIP_WORTH * s->best.step_ns;
    if (isnan(x->step_ns)) return 0;
    if (s->best.peak_bytes <= s->budget) return x->peak_bytes <= s->budget && -longer > worth ? -longer : 0;
    return fmax(0, gcut_bytes_above(s->o, &s->best, s->budget) - gcut_bytes_above(s->o, x, s->budget)) /
           fmax(longer, worth);
}

/* No flip of the class of v, whose values have its decision now, is better. */
static void settle(search *s, gcut_ref v, gcut_flip_kind kind)
{
    const gcut_plan_decision *now = s->best.choice->decision;
    for (gcut_ref u = 1; u < s->p->g->values.n; u++)
        if (s->alike[u] == s->alike[v] && now[u] == now[v]) s->vain[kind][u] = true;
}

/* What is near a value whose decision differs may be better again. */
static void unsettle(search *s, const gcut_plan_decision *from, const gcut_plan_decision *to)
{
    const gcut_graph *g = s->p->g;
    bool *differs = gcut_calloc(s->round, g->values.n, sizeof *differs);
    for (gcut_ref v = 1; v < g->values.n; v++) differs[v] = from[v] != to[v];
    const bool *near = gcut_near_values(s->round, g, differs, NEAR_STEPS);
    for (gcut_ref v = 1; v < g->values.n; v++)
        for (int k = 0; k < GCUT_NFLIPS; k++) s->vain[k][v] = s->vain[k][v] && !near[v];
}

/* Takes that choice if it is worth it. */
static bool take(search *s, const gcut_choice *c)
{
    if (!c) return false;
    gcut_candidate x = evaluate(s, c);
    if (!(gain_of(s, &x) > 0)) return false;
    unsettle(s, s->best.choice->decision, c->decision);
    x.choice = gcut_copy_choice(s->p, s->arena, c);
    s->best = x;
    s->flips++;
    return true;
}

static int by_gain(const void *a, const void *b)
{
    const flip *x = a, *y = b;
    if (x->gain != y->gain) return x->gain > y->gain ? -1 : 1;
    return x->v != y->v ? (x->v > y->v) - (x->v < y->v) : (int)x->kind - (int)y->kind;
}

/* Formats are flipped last: by the prices, which assume a trip to DRAM, packed masks are always the better ones. */
static bool is_tried(const search *s, gcut_flip_kind kind)
{
    switch (kind) {
    case GCUT_FLIP_FORMAT: return s->formats;
    case GCUT_FLIP_READERS: return s->stuck && !s->formats;
    case GCUT_FLIP_COPY_PER_READER:
    case GCUT_FLIP_SWAP: return false; /* of tabu search (tabu_search.c) */
    default: return !s->stuck && !s->formats;
    }
}

/* Notes v in `seen`.  True: no other value of its class and with its decision was noted, as one with copies or as any. */
static bool note_first(const search *s, gcut_arena *a, gcut_map *seen, gcut_ref v, bool copied)
{
    return !(*gcut_map_at(a, seen, mix(s->alike[v], 2 * (uint64_t)s->best.choice->decision[v] + copied)))++;
}

/* The promising flips, the most promising first.  One value of each class is flipped: for GCUT_FLIP_ONE_COPY the first that has
 * copies, for all other kinds the first. */
static flips find_flips(search *s)
{
    const gcut_graph *g = s->p->g;
    const gcut_choice *now = s->best.choice;
    gcut_arena *round = s->round;
    gcut_map seen = {0};
    flips out = {0};
    uint32_t *runs = gcut_calloc(round, (size_t)g->nodes.n + 1, sizeof *runs);
    for (uint32_t t = 0; t < now->backward.n; t++) runs[now->backward.node[t]]++;
    const bool few = has_budget(s) && gcut_count_flippable(s->p, now) <= FEW_VALUES;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (s->keeps[v] || !gcut_is_flippable(s->p, now, v)) continue;
        const bool saved = now->decision[v] == GCUT_PLAN_SAVED,
                   copied = !saved && runs[g->values.at[v].def] > 1,
                   first = note_first(s, round, &seen, v, false) || few,
                   first_copied = copied && (note_first(s, round, &seen, v, true) || few);
        for (int k = 0; k < GCUT_NFLIPS; k++) {
            if (!gcut_flip_applies((gcut_flip_kind)k, now->decision[v])) continue;
            if (!is_tried(s, (gcut_flip_kind)k) || s->vain[k][v]) continue;
            if (k == GCUT_FLIP_ONE_COPY ? !first_copied : !first) continue;
            s->round = gcut_arena_new(gcut_arena_env(round), round);
            const gcut_choice *c = gcut_flipped(s->p, s->round, now, &v, 1, (gcut_flip_kind)k);
            double promise = c ? promise_of(s, c) : 0;
            if (promise > 0) *GCUT_PUSH(round, &out) = (flip){v, (gcut_flip_kind)k, promise};
            gcut_arena_free(s->round);
        }
    }
    s->round = round;
    if (out.n) qsort(out.at, out.n, sizeof *out.at, by_gain);
    return out;
}

/* Keeps those that are better than the plan so far, the best first. */
static void keep_better(search *s, flips *m)
{
    const bool fits = s->best.peak_bytes <= s->budget;
    uint32_t kept = 0;
    s->too_large.n = 0;
    for (uint32_t i = 0; i < m->n && s->o->nodes_tried < s->end; i++) {
        if (kept && i >= TRIED_AT_ONCE) break;
        const flip f = m->at[i];
        gcut_candidate x = evaluate(s, gcut_flipped(s->p, s->round, s->best.choice, &f.v, 1, f.kind));
        double gain = gain_of(s, &x), shorter = s->best.step_ns - x.step_ns;
        if (gain > 0)
            m->at[kept++] = (flip){f.v, f.kind, gain};
        else if (!has_budget(s))
            settle(s, f.v, f.kind);
        if (fits && x.peak_bytes > s->budget && shorter > GCUT_FLIP_WORTH * s->best.step_ns)
            *GCUT_PUSH(s->arena, &s->too_large) =
                (flip){f.v, f.kind, shorter * shorter / gcut_bytes_above(s->o, &x, s->budget)};
    }
    m->n = kept;
    if (kept) qsort(m->at, kept, sizeof *m->at, by_gain);
}

static bool apply(search *s, const flip *m)
{
    const gcut_graph *g = s->p->g;
    const gcut_choice *now = s->best.choice;
    gcut_ref *all = gcut_calloc(s->round, g->values.n, sizeof *all);
    uint32_t n = 0;
    if (!gcut_is_flippable(s->p, now, m->v)) return false;
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (s->alike[v] == s->alike[m->v] && now->decision[v] == now->decision[m->v] &&
            now->format[v] == now->format[m->v] && gcut_is_flippable(s->p, now, v) && !s->keeps[v])
            all[n++] = v;
    if (n > 1 && take(s, gcut_flipped(s->p, s->round, now, all, n, m->kind))) return true;
    return take(s, gcut_flipped(s->p, s->round, now, &m->v, 1, m->kind));
}

/* Rounds until one finds nothing better. */
static void improve(search *s)
{
    for (bool goes_on = true; goes_on && s->o->nodes_tried < s->end;) {
        s->round = gcut_arena_new(gcut_arena_env(s->o->arena), s->o->arena);
        flips m = find_flips(s);
        uint32_t better = 0;
        keep_better(s, &m);
        bool fits = s->best.peak_bytes <= s->budget;
        for (uint32_t i = 0; i < m.n && fits == (s->best.peak_bytes <= s->budget); i++)
            better += apply(s, &m.at[i]);
        gcut_arena_free(s->round);
        s->stuck = !better && !s->stuck && !fits && !s->formats;
        goes_on = better || s->stuck;
    }
}

/* Begins with a flip that makes the plan too large, which then stays.  True: the result fits and is faster. */
static bool exchange(search *s, const flip *f)
{
    search t = *s;
    t.round = gcut_arena_new(gcut_arena_env(s->o->arena), s->o->arena);
    const gcut_choice *c = gcut_flipped(s->p, t.round, s->best.choice, &f->v, 1, f->kind);
    t.best = evaluate(&t, c);
    t.best.choice = gcut_copy_choice(s->p, s->arena, c);
    t.flips++;
    gcut_arena *mine = t.round;
    t.too_large = (flips){0};
    s->keeps[f->v] = true;
    improve(&t);
    s->keeps[f->v] = false;
    gcut_arena_free(mine);
    if (!(gain_of(s, &t.best) > 0)) return false;
    s->best = t.best;
    s->flips = t.flips;
    return true;
}

static search search_of(gcut_candidates *o, const gcut_candidate *from, int64_t budget, double lambda,
                        uint64_t nodes)
{
    const gcut_graph *g = from->base->planned;
    search s = {.o = o,
                .budget = budget,
                .lambda = lambda,
                .p = from->base->problem,
                .arena = o->arena,
                .best = *from};
    s.end = o->nodes_tried + nodes;
    s.best.peak_bytes = -1;
    s.best.settled = 0;
    gcut_candidate_peak(o, &s.best);
    s.alike = classes_of(g, o->arena);
    s.keeps = gcut_calloc(o->arena, g->values.n, sizeof *s.keeps);
    for (int k = 0; k < GCUT_NFLIPS; k++) s.vain[k] = gcut_calloc(o->arena, g->values.n, sizeof *s.vain[k]);
    return s;
}

/* Its label says how often it was changed. */
static gcut_candidate result_of(const search *s)
{
    gcut_candidate best = s->best;
    *(s->formats ? &best.formats : &best.flips) += s->flips;
    gcut_candidate_name(&best, s->o->arena);
    return best;
}

gcut_candidate gcut_candidate_refined(gcut_candidates *o, const gcut_candidate *from, int64_t budget,
                                      double lambda, uint64_t nodes)
{
    if (from->settled == budget && lambda == 0) return *from;
    search s = search_of(o, from, budget, lambda, nodes);
    if (isnan(s.best.step_ns)) return s.best;
    improve(&s);
    for (bool better = s.best.peak_bytes <= budget; better && o->nodes_tried < s.end;) {
        const flips from_here = s.too_large;
        if (from_here.n) qsort(from_here.at, from_here.n, sizeof *from_here.at, by_gain);
        better = false;
        for (uint32_t k = 0; k < from_here.n && k < EXCHANGES && !better && o->nodes_tried < s.end; k++)
            better = exchange(&s, &from_here.at[k]);
        if (better) improve(&s);
    }
    s.best.settled = lambda == 0 && o->nodes_tried < s.end ? budget : 0;
    return result_of(&s);
}

gcut_candidate gcut_candidate_reformatted(gcut_candidates *o, const gcut_candidate *from, int64_t budget,
                                          uint64_t nodes)
{
    search s = search_of(o, from, budget, 0, nodes);
    if (isnan(s.best.step_ns)) return s.best;
    s.formats = true;
    improve(&s);
    return result_of(&s);
}

/* Nodes of the graphs that are lowered for one plan. */
#define NODES_REFINED 200000

void gcut_plan_refine(gcut_pipeline *p)
{
    const gcut_plan *cut = p->plan;
    gcut_arena *a = gcut_arena_new(p->env, p->arena);
    gcut_candidates *o;
    const gcut_candidate from = gcut_candidate_alone(p, a, &o);
    const gcut_candidate best =
        gcut_candidate_refined(o, &from, INT64_MAX, cut->options.lambda, NODES_REFINED);
    if (best.flips) {
        p->plan = gcut_candidate_plan(&best, best.base->problem);
        p->plan->lower_bound_ns = cut->lower_bound_ns;
        p->plan->flips = best.flips;
        const char *label = gcut_printf(a, "%u flip%s", best.flips, best.flips == 1 ? "" : "s");
        p->plan->label = gcut_intern_name(p->planned->module, label);
    }
    gcut_arena_free(a);
}
