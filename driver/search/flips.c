/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans with one decision changed.
 */
#include "driver/search/flips.h"

#include <math.h>
#include <string.h>

#include "graph/ops/node_facts.h"

bool gcut_flip_applies(gcut_flip_kind kind, gcut_plan_decision decision)
{
    if (kind == GCUT_FLIP_VALUE || kind == GCUT_FLIP_NODE) return true;
    const bool of_recomputed = kind == GCUT_FLIP_ONE_COPY || kind == GCUT_FLIP_COPY_PER_READER;
    return of_recomputed == (decision == GCUT_PLAN_RECOMPUTED);
}

bool gcut_is_flippable(const gcut_problem *p, const gcut_choice *c, gcut_ref v)
{
    if (p->force[v] != GCUT_CONSTRAINT_NONE || !gcut_def(p->g, v)) return false;
    if (c->decision[v] != GCUT_PLAN_SAVED && c->decision[v] != GCUT_PLAN_RECOMPUTED) return false;
    const char *why;
    return isfinite(gcut_save_price(p, v, 0, &why)) && isfinite(p->price[v].recompute_ns) &&
           !gcut_value_runs_once(p->g, v);
}

uint32_t gcut_count_flippable(const gcut_problem *p, const gcut_choice *c)
{
    uint32_t n = 0;
    for (gcut_ref v = 1; v < p->g->values.n; v++) n += gcut_is_flippable(p, c, v);
    return n;
}

/* The same one where v has no choice: in a gradient's memory it costs nothing. */
static gcut_format changed_format(const gcut_problem *p, gcut_ref v, gcut_format format)
{
    const gcut_format other = gcut_other_format(p, v);
    if (other == GCUT_FORMAT_GRAD) return format;
    return format == GCUT_FORMAT_PLAIN ? other : GCUT_FORMAT_PLAIN;
}

static gcut_problem in_formats_of(const gcut_problem *p, gcut_arena *arena, const gcut_choice *from)
{
    gcut_problem q = *p;
    q.format = gcut_memdup(arena, p->format, p->g->values.n * sizeof *p->format);
    for (gcut_ref v = 1; v < p->g->values.n; v++)
        if (from->decision[v] == GCUT_PLAN_SAVED) q.format[v] = from->format[v];
    return q;
}

/* The values of `changed` get their other format. */
static gcut_choice *choice_with(const gcut_problem *p, gcut_arena *arena, const gcut_choice *from,
                                const bool *saved, const gcut_ref *changed, uint32_t nchanged)
{
    gcut_recomputations *again =
        gcut_schedule_recomputations(arena, p->facts, from->decision, &from->backward);
    gcut_problem q = in_formats_of(p, arena, from);
    for (uint32_t i = 0; i < nchanged; i++)
        q.format[changed[i]] = changed_format(p, changed[i], q.format[changed[i]]);
    return gcut_choice_saving(&q, arena, saved, again, from->lambda);
}

bool gcut_same_decision(const gcut_choice *x, const gcut_choice *y, gcut_ref v)
{
    return x->decision[v] == y->decision[v] &&
           (x->decision[v] != GCUT_PLAN_SAVED || x->format[v] == y->format[v]);
}

static bool same_decisions(const gcut_problem *p, const gcut_choice *x, const gcut_choice *y)
{
    bool same = true;
    for (gcut_ref v = 1; same && v < p->g->values.n; v++) same = gcut_same_decision(x, y, v);
    return same;
}

/* Adds the operands of v that c recomputes and `from` does not.  False: there are none. */
static bool save_operands(const gcut_problem *p, const gcut_choice *from, const gcut_choice *c, gcut_ref v,
                          bool *saved)
{
    const gcut_node *x = gcut_def(p->g, v);
    bool any = false;
    for (uint32_t k = 0; k < x->nargs; k++) {
        gcut_ref u = p->facts->base[gcut_arg(p->g, x, k)];
        if (c->decision[u] != GCUT_PLAN_RECOMPUTED || from->decision[u] == GCUT_PLAN_RECOMPUTED) continue;
        saved[u] = any = true;
    }
    return any;
}

/* Adds what c recomputes from v, but for views.  False: there is nothing. */
static bool save_readers(const gcut_problem *p, const gcut_choice *c, gcut_ref v, bool *saved)
{
    const gcut_graph *g = p->g;
    bool any = false;
    for (uint32_t i = g->values.at[v].def + 1; i < g->nodes.n; i++) {
        const gcut_node *x = gcut_node_at(g, i);
        bool reads = false;
        for (uint32_t k = 0; k < x->nargs; k++) reads |= p->facts->base[gcut_arg(g, x, k)] == v;
        if (!reads || gcut_node_class(x) == GCUT_CLASS_VIEW) continue;
        for (gcut_ref u = x->res0; u < x->res0 + x->nres; u++)
            if (c->decision[u] == GCUT_PLAN_RECOMPUTED) saved[u] = any = true;
    }
    return any;
}

/* Flips what has the decision of v among the results of its node, of which it must be the first.  False: it is not, or
 * there is no other. */
static bool flip_run(const gcut_problem *p, const gcut_choice *from, gcut_ref v, bool *saved)
{
    const gcut_node *x = gcut_def(p->g, v);
    uint32_t n = 0;
    for (gcut_ref r = x->res0; r < x->res0 + x->nres; r++) {
        if (from->decision[r] != from->decision[v] || !gcut_is_flippable(p, from, r)) continue;
        if (r < v) return false;
        saved[r] = from->decision[v] != GCUT_PLAN_SAVED;
        n++;
    }
    return n > 1;
}

/* Removes all copies of the values of the list but the first.  NULL: there are no others. */
static const gcut_choice *copied_once(const gcut_problem *p, gcut_arena *arena, const gcut_choice *from,
                                      const gcut_ref *v, uint32_t n)
{
    bool *once = gcut_calloc(arena, (size_t)p->g->nodes.n + 1, sizeof *once), any = false;
    gcut_recomputations *copies =
        gcut_schedule_recomputations(arena, p->facts, from->decision, &from->backward);
    uint32_t npos;
    gcut_backward_order(arena, p->facts, &npos);
    for (uint32_t i = 0; i < n; i++) once[p->g->values.at[v[i]].def] = true;
    for (uint32_t i = 0; i <= npos; i++) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < copies[i].n; k++)
            if (!once[copies[i].at[k]]) copies[i].at[kept++] = copies[i].at[k];
        any |= kept < copies[i].n;
        copies[i].n = kept;
    }
    if (!any) return NULL;
    const gcut_problem q = in_formats_of(p, arena, from);
    return gcut_choice_saving(&q, arena, gcut_saved_of(p, arena, from->decision), copies, from->lambda);
}

/* Copies each value of the list, with the elementwise chain that computes it, before each node of the backward order that
 * reads it.  NULL: the schedule has these copies already. */
static const gcut_choice *copied_per_reader(const gcut_problem *p, gcut_arena *arena, const gcut_choice *from,
                                            const gcut_ref *v, uint32_t n)
{
    bool *copied = gcut_calloc(arena, p->g->values.n, sizeof *copied);
    gcut_recomputations *copies =
        gcut_schedule_recomputations(arena, p->facts, from->decision, &from->backward);
    uint32_t npos;
    const uint32_t *order = gcut_backward_order(arena, p->facts, &npos);
    for (uint32_t i = 0; i < n; i++) copied[v[i]] = true;
    for (uint32_t i = 0; i < npos; i++) {
        const gcut_node *x = gcut_node_at(p->g, order[i]);
        gcut_recomputations more = {0};
        for (uint32_t k = 0; k < x->nargs; k++) {
            const gcut_ref u = p->facts->base[gcut_arg(p->g, x, k)];
            if (copied[u]) *GCUT_PUSH(arena, &more) = p->g->values.at[u].def;
        }
        gcut_schedule_add_chains(arena, p->facts, from->decision, &more);
        for (uint32_t k = 0; k < more.n; k++) *GCUT_PUSH(arena, &copies[i]) = more.at[k];
    }
    const gcut_problem q = in_formats_of(p, arena, from);
    const gcut_choice *c =
        gcut_choice_saving(&q, arena, gcut_saved_of(p, arena, from->decision), copies, from->lambda);
    return gcut_schedule_equal(&c->backward, &from->backward) ? NULL : c;
}

const gcut_choice *gcut_flipped(const gcut_problem *p, gcut_arena *arena, const gcut_choice *from,
                                const gcut_ref *v, uint32_t n, gcut_flip_kind kind)
{
    bool *saved = gcut_saved_of(p, arena, from->decision), any = false;
    if (kind == GCUT_FLIP_ONE_COPY) return copied_once(p, arena, from, v, n);
    if (kind == GCUT_FLIP_COPY_PER_READER) return copied_per_reader(p, arena, from, v, n);
    if (kind != GCUT_FLIP_FORMAT)
        for (uint32_t i = 0; i < n; i++) saved[v[i]] = from->decision[v[i]] != GCUT_PLAN_SAVED;
    for (uint32_t i = 0; i < n; i++)
        if (kind == GCUT_FLIP_NODE && !flip_run(p, from, v[i], saved)) return NULL;
    const gcut_choice *c = choice_with(p, arena, from, saved, v, kind == GCUT_FLIP_FORMAT ? n : 0);
    for (uint32_t i = 0; i < n; i++) {
        if (kind == GCUT_FLIP_OPERANDS) any |= save_operands(p, from, c, v[i], saved);
        if (kind == GCUT_FLIP_READERS) any |= save_readers(p, c, v[i], saved);
    }
    if (any) c = choice_with(p, arena, from, saved, NULL, 0);
    if ((kind == GCUT_FLIP_OPERANDS || kind == GCUT_FLIP_READERS) && !any) return NULL;
    if (kind == GCUT_FLIP_READERS && c->saved_bytes >= from->saved_bytes) return NULL;
    return same_decisions(p, c, from) ? NULL : c;
}

const gcut_choice *gcut_flip_swapped(const gcut_problem *p, gcut_arena *arena, const gcut_choice *from,
                                     gcut_ref v, gcut_ref instead)
{
    bool *saved = gcut_saved_of(p, arena, from->decision);
    saved[v] = false;
    saved[instead] = true;
    return choice_with(p, arena, from, saved, NULL, 0);
}

const gcut_choice *gcut_copy_choice(const gcut_problem *p, gcut_arena *arena, const gcut_choice *c)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    const gcut_choice *copy = choice_with(p, arena, c, gcut_saved_of(p, scratch, c->decision), NULL, 0);
    gcut_arena_free(scratch);
    return copy;
}

bool *gcut_near_values(gcut_arena *arena, const gcut_graph *g, const bool *from, int distance)
{
    bool *near = gcut_memdup(arena, from, g->values.n * sizeof *near);
    for (int k = 0; k < distance; k++) {
        bool *next = gcut_memdup(arena, near, g->values.n * sizeof *near);
        for (uint32_t at = 0; at < g->nodes.n; at++) {
            const gcut_node *n = gcut_node_at(g, at);
            bool any = false;
            for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) any |= near[v];
            for (uint32_t i = 0; i < n->nargs; i++) {
                next[gcut_arg(g, n, i)] |= any;
                for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) next[v] |= near[gcut_arg(g, n, i)];
            }
        }
        near = next;
    }
    return near;
}

double gcut_bytes_above(const gcut_candidates *o, const gcut_candidate *x, int64_t budget)
{
    const gcut_known_plan *known = &o->known.at[x->known - 1];
    int64_t most = 0;
    double sum = 0;
    if (x->peak_bytes <= budget) return 0;
    for (uint32_t i = 0; i < known->nsteps; i++)
        if (known->alive[i] > most) most = known->alive[i];
    const int64_t room = budget - (x->peak_bytes - most);
    for (uint32_t i = 0; i < known->nsteps; i++)
        if (known->alive[i] > room) sum += (double)(known->alive[i] - room);
    return sum;
}
