/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measures blocks: for each option, simulates the choice that saves every cut and that option in every block,
 * and attributes its recomputation and memory to epochs.
 */
#include "partition/budget/block_costs.h"

#include <math.h>

#include "partition/budget/simulator.h"

#define STRAGGLERS 8 /* nodes that may run after their block's epoch */

/* ---- epochs ---- */

/* By value: the latest block of a forward value that reading it in the backward graph needs, directly or
 * through either values; GCUT_NONE: none. */
static uint32_t *asked(const gcut_chain *c, gcut_arena *arena)
{
    const gcut_problem *p = c->p;
    const gcut_graph *g = p->g;
    uint32_t *ask = gcut_alloc(arena, g->values.n * sizeof *ask);
    for (gcut_ref v = 0; v < g->values.n; v++)
        ask[v] = v && p->facts->side[v] == GCUT_SIDE_FORWARD ? gcut_block_of(p, &c->b, v) : GCUT_NONE;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!n->nres || p->facts->side[n->res0] != GCUT_SIDE_EITHER) continue;
        for (uint32_t k = 0; k < n->nargs; k++) {
            uint32_t a = ask[gcut_arg(g, n, k)];
            for (gcut_ref v = n->res0; a != GCUT_NONE && v < n->res0 + n->nres; v++)
                if (ask[v] == GCUT_NONE || ask[v] < a) ask[v] = a;
        }
    }
    return ask;
}

/* By position in c->order: the latest block that the node's operands need. */
static uint32_t *asks(const gcut_chain *c, gcut_arena *arena)
{
    const uint32_t *ask = asked(c, arena);
    uint32_t *want = gcut_calloc(arena, (size_t)c->npos + 1, sizeof *want);
    for (uint32_t i = 0; i < c->npos; i++) {
        const gcut_node *n = gcut_node_at(c->p->g, c->order[i]);
        want[i] = GCUT_NONE;
        for (uint32_t k = 0; k < n->nargs; k++) {
            uint32_t a = ask[gcut_arg(c->p->g, n, k)];
            if (a != GCUT_NONE && (want[i] == GCUT_NONE || a > want[i])) want[i] = a;
        }
    }
    return want;
}

/* Drops cuts whose block no backward node needs. */
static void drop_idle(gcut_chain *c, gcut_arena *arena, gcut_arena *scratch)
{
    bool *keep = gcut_calloc(scratch, c->b.n, 1);
    const uint32_t *want = asks(c, scratch);
    for (uint32_t i = 0; i < c->npos; i++)
        if (want[i] != GCUT_NONE) keep[want[i]] = true;
    c->b = gcut_blocks_merge(c->p, arena, &c->b, keep);
}

/* Epochs never rise.  The epoch falls to the block that a node needs unless more than STRAGGLERS later nodes
 * still need later blocks: then this node runs early. */
static void find_epochs(gcut_chain *c, gcut_arena *arena, gcut_arena *scratch)
{
    const uint32_t *want = asks(c, scratch);
    uint32_t *left = gcut_calloc(scratch, c->b.n, sizeof *left), now = c->b.n - 1;
    c->epoch = gcut_calloc(arena, (size_t)c->npos + 1, sizeof *c->epoch);
    for (uint32_t i = 0; i < c->npos; i++)
        if (want[i] != GCUT_NONE) left[want[i]]++;
    for (uint32_t i = 0; i < c->npos; i++) {
        if (want[i] != GCUT_NONE) {
            uint32_t later = 0;
            for (uint32_t k = want[i] + 1; k < c->b.n && later <= STRAGGLERS; k++) later += left[k];
            if (want[i] < now && later <= STRAGGLERS) now = want[i];
            left[want[i]]--;
        }
        c->epoch[i] = now;
    }
    c->epoch[c->npos] = 0;
}

/* ---- options ---- */

static void find_owners(gcut_chain *c, gcut_arena *arena, gcut_arena *scratch)
{
    const gcut_problem *p = c->p;
    const uint32_t *ask = asked(c, scratch);
    c->owner = gcut_alloc(arena, p->g->values.n * sizeof *c->owner);
    for (gcut_ref v = 0; v < p->g->values.n; v++) {
        uint32_t def = v ? p->g->values.at[v].def : GCUT_NONE;
        bool forward = v && p->facts->side[v] == GCUT_SIDE_FORWARD;
        c->owner[v] = def == GCUT_NONE || c->b.through[v] ? GCUT_NONE : forward ? c->b.of[def] : ask[v];
    }
}

static bool *cuts_and(const gcut_chain *c, gcut_arena *arena, const bool *also)
{
    uint32_t nv = c->p->g->values.n;
    bool *saved = also ? gcut_memdup(arena, also, nv) : gcut_calloc(arena, nv, 1);
    for (gcut_ref v = 1; v < nv; v++) saved[v] |= c->b.through[v] || c->b.enter[v] != GCUT_NONE;
    return saved;
}

/* By event: its block in the forward graph, its epoch in the backward graph. */
static uint32_t *blocks_of_events(const gcut_chain *c, const gcut_live *l, gcut_arena *arena)
{
    uint32_t *of = gcut_calloc(arena, (size_t)l->nevents + 1, sizeof *of), now = 0, pos = 0;
    for (uint32_t t = 0; t < l->nevents; t++) {
        uint32_t i = l->node[t];
        if (t < l->nforward) {
            if (c->b.of[i] != GCUT_NONE) now = c->b.of[i];
            of[t] = now;
        } else {
            of[t] = c->epoch[pos];
            if (pos < c->npos && c->order[pos] == i) pos++;
        }
    }
    return of;
}

/* Bytes at each event, without the cuts that enter this block or earlier ones, what earlier blocks keep, and
 * the values in `through`. */
static int64_t *own_bytes(const gcut_chain *c, const gcut_live *l, const uint32_t *of, gcut_arena *arena)
{
    int64_t *own = gcut_memdup(arena, l->bytes, ((size_t)l->nevents + 1) * sizeof *own);
    for (uint32_t k = 0; k < l->ranges.n; k++) {
        const gcut_live_range *s = &l->ranges.at[k];
        if (!s->saved) continue;
        uint32_t enter = c->b.enter[s->value], owner = c->owner[s->value];
        for (uint32_t t = s->from; t <= s->to; t++)
            if (enter != GCUT_NONE ? enter <= of[t] : owner == GCUT_NONE || owner < of[t]) own[t] -= s->bytes;
    }
    return own;
}

static void measure_block(const gcut_chain *c, const gcut_choice *plan, uint32_t k, gcut_block_option *o)
{
    const gcut_problem *p = c->p;
    const gcut_graph *g = p->g;
    const char *why;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (plan->decision[v] != GCUT_PLAN_SAVED || c->owner[v] != k || c->b.enter[v] != GCUT_NONE) continue;
        o->keep += gcut_value_saved_bytes(p, v, plan->format[v]);
        o->trip_ns += gcut_save_price(p, v, 0, &why);
    }
}

static bool same_or_worse(const gcut_block_option *a, const gcut_block_option *b)
{
    return a->keep >= b->keep && a->work >= b->work && a->rec_ns + a->trip_ns >= b->rec_ns + b->trip_ns;
}

static void consider(gcut_block_cost *b, const gcut_block_option *o, uint32_t max)
{
    for (uint32_t k = 0; k < b->nopt; k++)
        if (same_or_worse(o, &b->opt[k])) return;
    if (b->nopt < max) b->opt[b->nopt++] = *o;
}

/* Adds one option to every block; the first, which keeps nothing (saved NULL), also sets advance_work. */
static void measure(gcut_chain *c, gcut_arena *arena, const bool *saved, uint32_t max)
{
    const gcut_problem *p = c->p;
    uint32_t nb = c->b.n;
    gcut_arena *scratch = gcut_arena_new(p->g->module->env, arena);
    const gcut_choice *plan = gcut_choice_saving(p, scratch, cuts_and(c, scratch, saved), NULL, 0);
    gcut_live l = gcut_live_grouped(p, plan, scratch, c->epoch);
    uint32_t *of = blocks_of_events(c, &l, scratch);
    int64_t *own = own_bytes(c, &l, of, scratch);
    gcut_block_option *o = gcut_calloc(scratch, nb, sizeof *o);
    for (uint32_t t = 0; t < l.nevents; t++) {
        gcut_ref v = gcut_node_at(p->g, l.node[t])->res0;
        if (t < l.nforward) {
            int64_t *w = &c->at[of[t]].advance_work;
            if (!saved && own[t] > *w) *w = own[t];
            continue;
        }
        if (own[t] > o[of[t]].work) o[of[t]].work = own[t];
        if (p->facts->side[v] == GCUT_SIDE_FORWARD) o[of[t]].rec_ns += p->price[v].recompute_ns;
    }
    for (uint32_t k = 0; k < nb; k++) {
        if (saved) measure_block(c, plan, k, &o[k]);
        o[k].saved = saved;
        consider(&c->at[k], &o[k], max);
    }
    gcut_arena_free(scratch);
}

static void measure_cuts(gcut_chain *c)
{
    const gcut_problem *p = c->p;
    const char *why;
    for (uint32_t k = 1; k < c->b.n; k++) {
        c->at[k].cut_bytes = p->price[c->b.cut[k]].bytes;
        c->at[k].cut_trip_ns = gcut_save_price(p, c->b.cut[k], 0, &why);
        if (isinf(c->at[k].cut_trip_ns)) c->at[k].cut_trip_ns = 0;
        int64_t *w = &c->at[k - 1].advance_work;
        *w = *w > c->at[k].cut_bytes ? *w - c->at[k].cut_bytes : 0;
    }
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        double ns = c->b.advance[i] ? p->price[gcut_node_at(p->g, i)->res0].recompute_ns : 0;
        if (c->b.advance[i]) c->at[c->b.of[i]].advance_ns += ns;
    }
}

gcut_chain *gcut_chain_of(const gcut_problem *p, gcut_arena *arena, const gcut_choice *const *plans,
                          uint32_t nplans)
{
    gcut_chain *c = gcut_calloc(arena, 1, sizeof *c);
    gcut_arena *scratch = gcut_arena_new(p->g->module->env, arena);
    c->p = p;
    c->b = gcut_blocks_of(p, scratch);
    c->order = gcut_backward_order(arena, p->facts, &c->npos);
    drop_idle(c, arena, scratch);
    c->at = gcut_calloc(arena, c->b.n, sizeof *c->at);
    for (uint32_t k = 0; k < c->b.n; k++)
        c->at[k].opt = gcut_calloc(arena, (size_t)nplans + 1, sizeof *c->at[k].opt);
    find_epochs(c, arena, scratch);
    find_owners(c, arena, scratch);
    measure(c, arena, NULL, nplans + 1);
    for (uint32_t i = 0; i < nplans; i++) {
        const bool *saved = gcut_saved_of(p, arena, plans[i]->decision);
        measure(c, arena, saved, nplans + 1);
    }
    measure_cuts(c);
    gcut_arena_free(scratch);
    return c;
}
