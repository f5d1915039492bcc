/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Greedy: a value that is computed before the peak and next read after it gets a second copy at that reader.
 */
#include "partition/budget/second_copies.h"

#include <stdlib.h>

#include "graph/ops/node_facts.h"
#include "partition/budget/simulator.h"

#define CANDIDATES 6    /* per copy, the largest */
#define MOST_EVENTS 3e6 /* events of simulated schedules */
#define WORTH 0.96      /* of the temporaries' peak so far: a smaller gain is not worth a plan of its own */

typedef struct improving {
    const gcut_problem *p;
    gcut_arena *arena; /* of one round */
    const bool *saved;
    const uint32_t *order;
    uint32_t npos;
} improving;

/* The event of the first reader of v's storage after `from`, directly or by a view; GCUT_NONE: a result. */
static uint32_t next_reader(const improving *m, const gcut_live *l, gcut_ref v, uint32_t from)
{
    const gcut_graph *g = m->p->g;
    for (uint32_t t = from + 1; t < l->nevents; t++) {
        const gcut_node *n = gcut_node_at(g, l->node[t]);
        for (uint32_t k = 0; gcut_node_class(n) != GCUT_CLASS_VIEW && k < n->nargs; k++)
            if (m->p->facts->base[gcut_arg(g, n, k)] == v) return t;
    }
    return GCUT_NONE;
}

/* The first position of gcut_backward_order at or after event t. */
static uint32_t position_of(const improving *m, const gcut_live *l, uint32_t t)
{
    uint32_t pos = 0;
    for (uint32_t k = l->nforward; k < t; k++) pos += pos < m->npos && m->order[pos] == l->node[k];
    return pos;
}

typedef struct candidate {
    const gcut_live_range *s;
    uint32_t reader; /* event */
} candidate;

static int larger(const void *a, const void *b)
{
    const gcut_live_range *x = ((const candidate *)a)->s, *y = ((const candidate *)b)->s;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->value > y->value) - (x->value < y->value);
}

static uint32_t find_candidates(const improving *m, const gcut_choice *c, const gcut_live *l, candidate *out)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < l->ranges.n; k++) {
        const gcut_live_range *s = &l->ranges.at[k];
        if (c->decision[s->value] != GCUT_PLAN_RECOMPUTED || s->from < l->nforward) continue;
        if (s->from >= l->peak_event || s->to <= l->peak_event) continue;
        if (m->p->facts->side[s->value] != GCUT_SIDE_FORWARD) continue;
        uint32_t t = next_reader(m, l, s->value, l->peak_event - 1);
        if (t == l->peak_event || t == GCUT_NONE || t > s->to) continue;
        out[n++] = (candidate){s, t};
    }
    qsort(out, n, sizeof *out, larger);
    return n < CANDIDATES ? n : CANDIDATES;
}

/* Of v's node and the nodes it depends on: all that are recomputed and not stored at event t. */
static void mark_chain(const improving *m, const gcut_choice *c, const gcut_live *l, gcut_ref v, uint32_t t,
                       gcut_recomputations *out)
{
    const gcut_graph *g = m->p->g;
    bool *need = gcut_calloc(m->arena, g->values.n, 1), *given = gcut_calloc(m->arena, g->values.n, 1);
    for (uint32_t k = 0; k < l->ranges.n; k++)
        if (l->ranges.at[k].from < t && l->ranges.at[k].to >= t) given[l->ranges.at[k].value] = true;
    given[v] = false;
    for (gcut_ref r = 1; r < g->values.n; r++) given[r] |= c->decision[r] != GCUT_PLAN_RECOMPUTED;
    need[v] = true;
    const bool *copied = gcut_needed_nodes(m->arena, g, need, given);
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (copied[i]) *GCUT_PUSH(m->arena, out) = i;
}

/* Of the plans with a second copy of one value of `l`'s peak, the one that lowers the peak most for its cost;
 * or NULL. */
static gcut_choice *one_more(improving *m, gcut_arena *arena, const gcut_choice *c, const gcut_live *l,
                             double *left)
{
    candidate *found = gcut_calloc(m->arena, (size_t)l->ranges.n + 1, sizeof *found);
    uint32_t n = find_candidates(m, c, l, found);
    gcut_choice *best = NULL;
    double most = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (*left <= 0) break;
        gcut_recomputations more = {0};
        gcut_recomputations *copies =
            gcut_schedule_recomputations(m->arena, m->p->facts, c->decision, &c->backward);
        uint32_t pos = position_of(m, l, found[k].reader);
        mark_chain(m, c, l, found[k].s->value, found[k].reader, &more);
        for (uint32_t j = 0; j < more.n; j++) *GCUT_PUSH(m->arena, &copies[pos]) = more.at[j];
        gcut_choice *x = gcut_choice_saving(m->p, m->arena, m->saved, copies, c->lambda);
        int64_t peak = gcut_live_peak(m->p, x);
        *left -= x->backward.n + l->nforward;
        double gain = (double)(l->peak_bytes - peak) / (x->fixed_ns - c->fixed_ns + 1);
        if (peak >= l->peak_bytes || gain <= most) continue;
        most = gain;
        best = x;
    }
    if (!best) return NULL;
    const gcut_recomputations *copies =
        gcut_schedule_recomputations(m->arena, m->p->facts, best->decision, &best->backward);
    return gcut_choice_saving(m->p, arena, m->saved, copies, c->lambda);
}

void gcut_second_copies(const gcut_problem *p, gcut_arena *arena, const gcut_choice *c, gcut_choices *out)
{
    gcut_env *env = p->g->module->env;
    gcut_arena *scratch = gcut_arena_new(env, arena);
    improving m = {.p = p, .saved = gcut_saved_of(p, scratch, c->decision)};
    m.order = gcut_backward_order(scratch, p->facts, &m.npos);
    double left = MOST_EVENTS, given = 0;
    while (left > 0) {
        m.arena = gcut_arena_new(env, scratch);
        gcut_live l = gcut_live_of(p, c, m.arena);
        left -= l.nevents;
        double peak = (double)(l.peak_bytes - l.resident_bytes);
        if (given == 0) given = peak;
        if (peak <= WORTH * given) {
            *GCUT_PUSH(arena, out) = (gcut_choice *)c;
            given = peak;
        }
        c = one_more(&m, arena, c, &l, &left);
        gcut_arena_free(m.arena);
        if (!c) break;
    }
    gcut_arena_free(scratch);
}

gcut_choice *gcut_chains_copied(const gcut_problem *p, gcut_arena *arena, const gcut_choice *c)
{
    gcut_arena *scratch = gcut_arena_new(p->g->module->env, arena);
    uint32_t n;
    gcut_backward_order(scratch, p->facts, &n);
    gcut_recomputations *copies = gcut_schedule_recomputations(scratch, p->facts, c->decision, &c->backward);
    for (uint32_t k = 0; k <= n; k++) gcut_schedule_add_chains(scratch, p->facts, c->decision, &copies[k]);
    gcut_choice *out =
        gcut_choice_saving(p, arena, gcut_saved_of(p, scratch, c->decision), copies, c->lambda);
    gcut_arena_free(scratch);
    return out;
}
