/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Budgets on the peak: the fastest plan that local search finds from the candidates, or the values that make up the
 * smallest peak.
 */
#include "driver/search/budget_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "driver/search/candidates.h"
#include "driver/search/constrained_candidates.h"
#include "driver/search/flips.h"
#include "driver/search/less_workspace.h"
#include "driver/search/local_search.h"
#include "driver/search/peak_bound.h"
#include "driver/search/tabu_search.h"
#include "graph/ops/value_bytes.h"
#include "partition/bounds/moment_bound.h"
#include "partition/cut/frontier.h"

/* A lower bound of the cost of every plan of that base that fits the budget, above the least work of all bases.  Where
 * each saved value has a buffer of its own, a plan saves at most budget - resident bytes (a value stored in a gradient's
 * buffer counts 0).  It computes at least once what it does not save, so its decisions are a cut whose price is at most
 * the cost of the plan; the frontier bounds the price of every cut that saves at most these bytes. */
static double base_bound(const gcut_candidates *o, const gcut_candidate_base *b, int64_t budget)
{
    const int64_t room = budget - o->resident;
    return b->work_ns - o->least_work +
           fmax(gcut_bound_for_bytes(b->frontier ? b->frontier : gcut_corners_of(b->problem, o->arena), room),
                gcut_moment_bound(b->problem, o->arena, room));
}

/* The least of all bases: where loops are planned, it covers the plans of iterations that the search considers.  NAN
 * where saved values may share a buffer. */
static double cost_bound(const gcut_candidates *o, const gcut_candidate *of, int64_t budget)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < o->bases.n; i++) {
        if (!o->bases.at[i]->own_buffers) return NAN;
        least = fmin(least, base_bound(o, o->bases.at[i], budget));
    }
    return gcut_bound_printed(least, gcut_candidate_cost(o, of));
}

/* ---- budgets that no plan fits ---- */

#define HOLDERS 12 /* lines of the table */

/* Lists the values alive at the peak of a lowered pipeline, largest first. */
static void holders_text(const gcut_pipeline *q, gcut_text *t)
{
    gcut_arena *a = t->arena;
    gcut_peak peak = gcut_program_peak(q->program, q->at, q->nat, q->threads, a);
    int64_t rest = 0;
    gcut_text_add(t, "it is reached in the %s graph, at %s, where these are alive:",
                  peak.backward ? "backward" : "forward", peak.at);
    gcut_text_add(t, "\n%s  parameters, states, inputs and results",
                  gcut_bytes_text(a, gcut_resident_bytes(q->joint, q->at, q->nat)));
    for (uint32_t i = 0; i < peak.n; i++) {
        const gcut_holder *h = &peak.holder[i];
        if (i >= HOLDERS) rest += h->bytes;
        if (i >= HOLDERS) continue;
        gcut_text_add(t, "\n%s  %s%s%s, from %s to %s", gcut_bytes_text(a, h->bytes),
                      strchr(h->name, ' ') ? "" : "%", h->name, h->saved ? " (saved)" : "", h->made_by,
                      h->last_read_by);
    }
    if (rest) gcut_text_add(t, "\n%s  %u more", gcut_bytes_text(a, rest), peak.n - HOLDERS);
    int64_t gaps = q->peak_bytes - gcut_resident_bytes(q->joint, q->at, q->nat) - peak.alive_bytes;
    if (gaps > 0) gcut_text_add(t, "\n%s  in gaps between them", gcut_bytes_text(a, gaps));
}

/* whose: the plan or plans with this smallest peak; rest: text that ends the message. */
static _Noreturn void complain(const gcut_pipeline *q, int64_t budget, const char *whose, const char *rest)
{
    gcut_arena *a = q->arena;
    gcut_text t = {.arena = a};
    holders_text(q, &t);
    gcut_fail(q->env, GCUT_EPLAN, (gcut_place){.file = q->module->file}, t.at,
              "@%s does not run in the budget of %s: the smallest peak of %s is %s%s", q->primal->name,
              gcut_bytes_text(a, budget), whose, gcut_bytes_text(a, q->peak_bytes), rest);
}

/* Throws: no plan that was found fits; `least` is that of gcut_budget_least, whose peak is a budget that is met. */
static _Noreturn void refuse(gcut_candidates *o, const gcut_candidate *least)
{
    gcut_arena *a = o->arena;
    int64_t bound = gcut_peak_bound(o->p);
    GCUT_ASSERT(bound <= least->peak_bytes);
    o->p->peak_bytes = least->peak_bytes;
    o->p->bound_bytes = bound;
    complain(gcut_candidate_lower(o, least, a), o->p->opt.budget,
             gcut_printf(a, "the search (%u plans tried)", o->known.n),
             gcut_printf(a, "; no plan at all takes less than %s", gcut_bytes_text(a, bound)));
}

/* ---- local search ---- */

/* Nodes of the graphs that a search lowers, in rounds over all flips or in tabu searches.  A budget has one search, one
 * more with less workspace, and one from the best plan of both. */
#define NODES_OF_ROUNDS UINT64_C(200000)
#define NODES_OF_TABU UINT64_C(400000)
/* Tabu search is for graphs of which one flip of each value lowers at most this many nodes: an eighth of its limit, because
 * several searches share it, or five eighths for the one search from the best plan. */
#define TABU_FROM_START (NODES_OF_TABU / 8)
#define TABU_FROM_BEST (NODES_OF_TABU * 5 / 8)
/* Iterations without a better plan after which it ends. */
#define PATIENCE_FROM_START 10
#define PATIENCE_FROM_BEST 100
#define PATIENCE_AFTER_FLIP 20
/* A search ends when this many starts in a row have given no better plan; of starts with less workspace, fewer. */
#define STARTS_IN_VAIN 24
#define CHANGED_IN_VAIN 6
/* The smallest peak is searched for in targets, each this part of the arena below the peak found so far: a far target
 * counts the bytes of many steps, a near one those of the fullest. */
static const int64_t target_parts[] = {16, 64, 256};
#define TARGETS 8 /* tried at most */

typedef GCUT_VEC(gcut_candidate) starts;

static int by_peak(const void *a, const void *b)
{
    const gcut_candidate *x = a, *y = b;
    if (x->peak_bytes != y->peak_bytes) return x->peak_bytes < y->peak_bytes ? -1 : 1;
    if (x->step_ns != y->step_ns) return x->step_ns < y->step_ns ? -1 : 1;
    return strcmp(x->label, y->label);
}

/* Which candidates a search starts from, by their index in the list, depends on the graph and the budget alone, not on
 * what was lowered before: all of them where they are few, else those that gcut_candidates_fit compares with the budget,
 * or those that the next function chooses. */

/* Chooses the candidates that may have the smallest peak. */
static void choose_smallest(gcut_candidates *o, bool *chosen)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < o->list.n; i++) {
        gcut_candidate *of = &o->list.at[i];
        if (gcut_candidate_least(o, of) >= least) continue;
        gcut_candidates_tell(o);
        int64_t peak = gcut_candidate_peak(o, of);
        if (peak < least) least = peak;
        chosen[i] = true;
    }
}

/* Appends the candidates from which a search starts: first those that have a smaller peak than all faster ones, then
 * the others, each group by rising peak. */
static void add_starts(const gcut_candidates *o, const bool *chosen, starts *out)
{
    starts others = {0};
    int64_t least = INT64_MAX;
    const bool all = gcut_candidates_are_few(o);
    uint32_t first = out->n;
    for (uint32_t k = 0; k < o->list.n; k++) {
        const gcut_candidate *x = &o->list.at[k];
        if (!all && !chosen[k]) continue;
        *(x->peak_bytes < least ? GCUT_PUSH(o->arena, out) : GCUT_PUSH(o->arena, &others)) = *x;
        if (x->peak_bytes < least) least = x->peak_bytes;
    }
    if (out->n > first) qsort(out->at + first, out->n - first, sizeof *out->at, by_peak);
    if (others.n) qsort(others.at, others.n, sizeof *others.at, by_peak);
    for (uint32_t k = 0; k < others.n; k++) *GCUT_PUSH(o->arena, out) = others.at[k];
}

/* Is x the better plan for the budget?  One that fits and is faster; while none fits, a smaller peak. */
static bool is_better(const gcut_candidate *x, const gcut_candidate *best, int64_t budget)
{
    if (best->peak_bytes <= budget) return x->peak_bytes <= budget && gcut_candidate_is_faster(x, best);
    return x->peak_bytes < best->peak_bytes ||
           (x->peak_bytes == best->peak_bytes && x->step_ns < best->step_ns);
}

/* The nodes that a start may lower: all that are left, or half of all where it does not fit the budget. */
static uint64_t nodes_for(const gcut_candidates *o, const gcut_candidate *start, uint64_t begin,
                          int64_t budget)
{
    const uint64_t all = gcut_tabu_affords(start, TABU_FROM_START) ? NODES_OF_TABU : NODES_OF_ROUNDS;
    const uint64_t spent = o->nodes_tried - begin, left = spent < all ? all - spent : 0;
    return start->peak_bytes <= budget || left < all / 2 ? left : all / 2;
}

static const gcut_candidate none_yet = {.peak_bytes = INT64_MAX, .step_ns = INFINITY};

/* By tabu search where the graph is small enough, else in rounds over all flips. */
static gcut_candidate search_from_start(gcut_candidates *o, const gcut_candidate *start, int64_t budget,
                                        uint64_t nodes)
{
    if (!gcut_tabu_affords(start, TABU_FROM_START)) return gcut_candidate_refined(o, start, budget, 0, nodes);
    return gcut_candidate_tabu(o, start, budget, PATIENCE_FROM_START, nodes);
}

/* Of what it finds from these starts the fastest that fits, or, where none does, the one with the smallest
 * peak. */
static gcut_candidate search_from(gcut_candidates *o, const starts *from, int64_t budget)
{
    const uint64_t begin = o->nodes_tried;
    gcut_candidate best = none_yet;
    uint32_t vain = 0;
    for (uint32_t k = 0; k < from->n && vain < STARTS_IN_VAIN; k++) {
        const uint64_t left = nodes_for(o, &from->at[k], begin, budget);
        if (!left) break;
        gcut_candidate x = search_from_start(o, &from->at[k], budget, left);
        const bool better = is_better(&x, &best, budget);
        if (better) best = x;
        vain = better ? 0 : vain + 1;
    }
    return best;
}

/* By rising time; what has none comes last. */
static int by_time(const void *a, const void *b)
{
    const gcut_candidate *x = a, *y = b;
    const double s = isnan(x->step_ns) ? INFINITY : x->step_ns, t = isnan(y->step_ns) ? INFINITY : y->step_ns;
    return s != t ? (s > t) - (s < t) : by_peak(a, b);
}

/* The starts that fit with less workspace alone, the fastest first, then `others` if they are asked for, which may fit
 * once flips have made them smaller. */
static starts in_less_workspace(const gcut_candidates *o, const starts *from, int64_t budget, bool others)
{
    starts out = {0};
    for (uint32_t k = 0; k < from->n; k++) {
        const gcut_candidate *x = &from->at[k];
        if (x->peak_bytes > budget && x->least_bytes <= budget) *GCUT_PUSH(o->arena, &out) = *x;
    }
    if (out.n) qsort(out.at, out.n, sizeof *out.at, by_time);
    for (uint32_t k = 0; others && k < from->n; k++)
        if (from->at[k].least_bytes > budget) *GCUT_PUSH(o->arena, &out) = from->at[k];
    return out;
}

/* The better one of `best` and what it finds from these starts and `best`, each with less workspace first.  Starts on
 * which less workspace has no effect are left out. */
static gcut_candidate search_less_workspace(gcut_candidates *o, const starts *from, gcut_candidate best,
                                            int64_t budget)
{
    const uint64_t begin = o->nodes_tried;
    starts all = {0};
    const starts in = in_less_workspace(o, from, budget, best.peak_bytes > budget);
    if (best.peak_bytes != none_yet.peak_bytes) *GCUT_PUSH(o->arena, &all) = best;
    for (uint32_t k = 0; k < in.n; k++) *GCUT_PUSH(o->arena, &all) = in.at[k];
    uint32_t vain = 0;
    for (uint32_t k = 0; k < all.n && vain < CHANGED_IN_VAIN; k++) {
        const gcut_candidate *start = &all.at[k];
        const bool fits =
            best.peak_bytes <= budget; /* less workspace takes longer: only a faster start helps */
        if (start->peak_bytes <= budget || (fits && start->least_bytes > budget)) continue;
        if (fits && start->step_ns > best.step_ns) continue;
        if (!nodes_for(o, start, begin, budget)) break;
        gcut_candidate x = gcut_candidate_with_less_workspace(o, start, budget);
        if (x.less_workspace == start->less_workspace || (fits && x.peak_bytes > budget)) continue;
        const uint64_t left = nodes_for(o, &x, begin, budget);
        if (!left) break;
        x = search_from_start(o, &x, budget, left);
        x = gcut_candidate_with_less_workspace(o, &x, budget);
        const bool better = is_better(&x, &best, budget);
        if (better) best = x;
        vain = better ? 0 : vain + 1;
    }
    return best;
}

/* Searches without and with less workspace; without first, so that no plan is slower because workspace is a choice.  Where
 * starts fit with less alone, these come first, and the others are searched only if none of these leads to a fit. */
static gcut_candidate search_both(gcut_candidates *o, const starts *from, int64_t budget)
{
    bool as_it_is = false, with_less = false;
    for (uint32_t k = 0; k < from->n; k++) {
        as_it_is |= from->at[k].peak_bytes <= budget;
        with_less |= from->at[k].least_bytes <= budget;
    }
    if (as_it_is || !with_less) return search_less_workspace(o, from, search_from(o, from, budget), budget);
    const gcut_candidate less = search_less_workspace(o, from, none_yet, budget);
    if (less.peak_bytes <= budget) return less;
    const gcut_candidate plain = search_from(o, from, budget);
    return is_better(&plain, &less, budget) ? plain : less;
}

/* What it finds for the budget from the candidates and `extra`, which may be NULL; where nothing fits, the plan with the
 * smallest peak. */
static gcut_candidate search_within(gcut_candidates *o, int64_t budget, const gcut_candidate *extra)
{
    starts from = {0};
    bool *chosen = gcut_calloc(o->arena, (size_t)o->list.n + 1, sizeof *chosen);
    const uint32_t fit = gcut_candidates_fit(o, budget, chosen);
    if (extra) *GCUT_PUSH(o->arena, &from) = *extra;
    if (fit == GCUT_NONE)
        choose_smallest(o, chosen);
    else
        *GCUT_PUSH(o->arena, &from) = o->list.at[fit];
    add_starts(o, chosen, &from);
    gcut_candidate best = search_both(o, &from, budget);
    if (gcut_tabu_affords(&best, TABU_FROM_BEST))
        best = gcut_candidate_tabu(o, &best, budget, PATIENCE_FROM_BEST, NODES_OF_TABU);
    /* No flip of the result is better, though a search was cut short, or estimated the effects of flips. */
    if (best.peak_bytes <= budget) best = gcut_candidate_refined(o, &best, budget, 0, NODES_OF_ROUNDS);
    return gcut_candidate_reformatted(o, &best, budget, NODES_OF_ROUNDS);
}

/* The plan with the smallest peak that falling targets lead to. */
static gcut_candidate search_downwards(gcut_candidates *o)
{
    starts from = {0};
    if (gcut_candidates_are_few(o)) gcut_candidates_lower(o, NULL, NULL);
    bool *chosen = gcut_calloc(o->arena, (size_t)o->list.n + 1, sizeof *chosen);
    choose_smallest(o, chosen);
    add_starts(o, chosen, &from);
    gcut_candidate least = from.at[0];
    for (uint32_t k = 0, part = 0; k < TARGETS && part < sizeof target_parts / sizeof *target_parts; k++) {
        starts again = {0};
        const int64_t arena = least.peak_bytes - o->resident, down = arena / target_parts[part];
        const int64_t target = least.peak_bytes - (down > 0 ? down : 1);
        *GCUT_PUSH(o->arena, &again) = least;
        for (uint32_t i = 0; i < from.n; i++) *GCUT_PUSH(o->arena, &again) = from.at[i];
        const gcut_candidate x = search_both(o, &again, target);
        if (x.peak_bytes > target) part++;
        if (x.peak_bytes < least.peak_bytes) least = x;
    }
    return least;
}

/* ---- thorough searches ---- */

/* Is x so much better than `best` that a constraint which leads to it counts?  While nothing fits: x does. */
static bool is_worth_it(const gcut_candidate *x, const gcut_candidate *best, int64_t budget)
{
    if (x->peak_bytes > budget) return false;
    return best->peak_bytes > budget || x->step_ns < best->step_ns * (1 - GCUT_FLIP_WORTH);
}

/* What a search finds under the constraint that v has another decision than in *best.  none_yet where v is not in the joint
 * graph: --save and --recompute refuse the names of values that plans of loops add. */
static gcut_candidate search_constrained(gcut_candidates *o, const gcut_candidate *best, int64_t budget,
                                         gcut_ref v)
{
    if (!gcut_graph_find(o->p->joint, best->base->planned->values.at[v].name)) return none_yet;
    gcut_arena *a = gcut_arena_new(gcut_arena_env(o->arena), o->arena);
    const gcut_candidate x = gcut_budget_best(gcut_candidates_constrained(o, best, v, a), budget);
    const gcut_candidate adopted = gcut_candidate_adopted(o, &x);
    gcut_arena_free(a);
    return adopted;
}

/* Searches with the other decision of one value after the other, beginning after *v: by tabu search from *best, or by whole
 * searches under constraints.  Takes the first better plan.  False: there is none. */
static bool improve_one(gcut_candidates *o, gcut_candidate *best, int64_t budget, bool constrained,
                        gcut_ref *v)
{
    const gcut_ref values = best->base->planned->values.n;
    for (gcut_ref tried = 1; tried < values; tried++) {
        *v = *v + 1 < values ? *v + 1 : 1;
        if (!gcut_is_flippable(best->base->problem, best->choice, *v)) continue;
        const gcut_candidate x =
            constrained ? search_constrained(o, best, budget, *v)
                        : gcut_candidate_tabu_after_flip(o, best, budget, *v, PATIENCE_AFTER_FLIP);
        if (!(constrained ? is_worth_it(&x, best, budget) : is_better(&x, best, budget))) continue;
        *best = x;
        return true;
    }
    return false;
}

/* Changes one decision after the other, first in tabu searches from the best plan, then by constraints on whole searches,
 * until no constraint leads to a better plan.  Does nothing unless the options ask for it. */
static gcut_candidate search_thoroughly(gcut_candidates *o, const gcut_candidate *from, int64_t budget)
{
    gcut_candidate best = *from;
    gcut_ref flipped = 0, constrained = 0;
    for (bool goes_on = o->p->opt.thorough; goes_on;) {
        while (improve_one(o, &best, budget, false, &flipped)) {
        }
        goes_on = improve_one(o, &best, budget, true, &constrained);
        if (goes_on) best = search_within(o, budget, &best);
    }
    return best;
}

/* ---- the smallest peak, and the best plan of a budget ---- */

/* The plan with the smallest peak, without thorough searches. */
static gcut_candidate quick_least(gcut_candidates *o)
{
    gcut_candidate least = search_downwards(o);
    /* The fastest plan for a budget may have a smaller peak, which is a budget that is met, too. */
    for (;;) {
        gcut_candidate x = search_within(o, least.peak_bytes, NULL);
        if (x.peak_bytes > least.peak_bytes) x = search_within(o, least.peak_bytes, &least);
        if (x.peak_bytes >= least.peak_bytes) return least;
        least = x;
    }
}

gcut_candidate gcut_budget_least(gcut_candidates *o)
{
    gcut_candidate least = quick_least(o);
    for (;;) {
        const gcut_candidate x = search_thoroughly(o, &least, least.peak_bytes - 1);
        if (x.peak_bytes >= least.peak_bytes) return least;
        least = x;
    }
}

gcut_candidate gcut_budget_best(gcut_candidates *o, int64_t budget)
{
    gcut_candidate best = search_within(o, budget, NULL);
    if (best.peak_bytes > budget) {
        best = gcut_budget_least(o);
        if (best.peak_bytes <= budget) best = search_within(o, budget, &best);
    }
    if (best.peak_bytes <= budget) best = search_thoroughly(o, &best, budget);
    best.budget = budget;
    return best;
}

void gcut_budget_plan(gcut_pipeline *p)
{
    gcut_arena *a = gcut_arena_new(p->env, p->arena);
    gcut_candidates *o = gcut_candidates_of(p, a);
    /* The smallest peak is a budget like any other. */
    const int64_t budget = p->opt.budget == GCUT_BUDGET_MIN ? gcut_budget_least(o).peak_bytes : p->opt.budget;
    const gcut_candidate best = gcut_budget_best(o, budget), *of = &best;
    if (of->peak_bytes > budget) refuse(o, of);
    p->planned = of->base->planned;
    p->plan = gcut_candidate_plan(of, of->base->problem);
    gcut_candidate_record(p->plan, o, of, budget);
    p->plan->lower_bound_ns = cost_bound(o, of, budget);
    gcut_arena_free(a);
}

void gcut_budget_check(const gcut_pipeline *p)
{
    if (p->peak_bytes <= p->opt.budget) return;
    complain(p, p->opt.budget, p->plan ? "this plan" : "the forward graph alone",
             !p->plan && gcut_is_own_joint(p->primal, true)
                 ? "; it has gradients of its own, for which what is saved is planned without --forward "
                   "(options.forward_only)"
                 : "");
}
