/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of the backward graph: updates and the gradients of parameters as early as possible, other nodes where
 * the joint graph has them, recomputation as late as possible.
 */
#include "partition/cut/schedule.h"

#include "graph/ops/node_facts.h"

#include <stdlib.h>
#include <string.h>

bool gcut_crosses(const gcut_graph *g, gcut_ref v, gcut_plan_decision decision)
{
    if (decision == GCUT_PLAN_SAVED) return true;
    bool made = gcut_def(g, v) || gcut_value_is_lost(g, v);
    return decision == GCUT_PLAN_ALIVE && made && !gcut_value_is(g, v, GCUT_CLASS_CONSTANT);
}

bool *gcut_needed_nodes(gcut_arena *arena, const gcut_graph *g, bool *need, const bool *given)
{
    bool *runs = gcut_calloc(arena, (size_t)g->nodes.n + 1, 1);
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) runs[i] |= need[v] && !(given && given[v]);
        for (uint32_t k = 0; runs[i] && k < n->nargs; k++) need[gcut_arg(g, n, k)] = true;
    }
    return runs;
}

/* ---- the order of BACKWARD nodes ---- */

/* A `next` or `grad` result with its tail: the elementwise nodes and the contraction before them that nothing else
 * needs.  The tail runs as soon as the other BACKWARD nodes that it reads have run: an operand that only it still
 * needs is dead before the next contraction has a result.  Where a tail reads none, that of a `next`, such as
 * running statistics, runs after the first BACKWARD node that reads the same forward value; that of a `grad` whose
 * contraction is EITHER, before the first that needs the same EITHER operand; others stay where the graph has
 * them. */
typedef struct update {
    uint32_t sink;
    uint32_t waits;          /* BACKWARD nodes outside of tails that have not run yet */
    GCUT_VEC(uint32_t) tail; /* in graph order */
    bool placed;             /* or its nodes stay */
} update;

typedef GCUT_VEC(update *) updates;

typedef struct ordering {
    gcut_arena *arena;
    const gcut_facts *f;
    const gcut_graph *g;
    bool *tail;        /* by node */
    bool *placed;      /* by node */
    uint32_t *seen_by; /* by node: the last update that has looked at it, counted from 1 */
    updates all;
    updates *after;   /* by node: the updates that wait for it */
    updates *reading; /* by value: the updates that wait for a reader of its storage */
    updates *first;   /* by EITHER value: the updates that run before its first reader */
    bool *seen;       /* by EITHER value: a node that was placed needs it */
    GCUT_VEC(gcut_ref) wanted;
    uint32_t *out;
    uint32_t n;
} ordering;

static bool is_backward(const ordering *o, uint32_t i)
{
    const gcut_node *n = gcut_node_at(o->g, i);
    return o->f->live[i] && n->nres && o->f->side[n->res0] == GCUT_SIDE_BACKWARD;
}

static bool is_updated(gcut_role role)
{
    return role == GCUT_ROLE_next || role == GCUT_ROLE_grad;
}

/* Elementwise nodes, and the last contraction before them, that lead to `next` and `grad` results and nowhere
 * else. */
static void find_tails(ordering *o)
{
    const gcut_graph *g = o->g;
    bool *other = gcut_calloc(o->arena, g->values.n, 1); /* by value: a node outside of tails reads it */
    for (uint32_t i = 0; i < g->results.n; i++)
        other[g->results.at[i].value] |= !is_updated(g->results.at[i].role);
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!is_backward(o, i)) continue;
        gcut_class c = gcut_node_class(n);
        bool elementwise = c == GCUT_CLASS_POINTWISE || c == GCUT_CLASS_VIEW || c == GCUT_CLASS_CONSTANT;
        o->tail[i] = elementwise || c == GCUT_CLASS_CONTRACTION;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) o->tail[i] &= !other[v];
        for (uint32_t k = 0; !(elementwise && o->tail[i]) && k < n->nargs; k++)
            other[gcut_arg(g, n, k)] = true;
    }
}

static int by_index(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Collects the tail of u and the nodes that it waits for. */
static void gather(ordering *o, update *u)
{
    const gcut_graph *g = o->g;
    const uint32_t me = o->all.n + 1;
    GCUT_VEC(gcut_ref) forward = {0};
    *GCUT_PUSH(o->arena, &u->tail) = u->sink;
    o->seen_by[u->sink] = me;
    for (uint32_t t = 0; t < u->tail.n; t++) {
        const gcut_node *n = gcut_node_at(g, u->tail.at[t]);
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref v = gcut_arg(g, n, k);
            uint32_t def = g->values.at[v].def;
            if (def == GCUT_NONE || o->seen_by[def] == me) continue;
            o->seen_by[def] = me;
            if (!is_backward(o, def)) {
                if (!gcut_value_is(g, v, GCUT_CLASS_CONSTANT)) *GCUT_PUSH(o->arena, &forward) = o->f->base[v];
            } else if (o->tail[def]) {
                *GCUT_PUSH(o->arena, &u->tail) = def;
            } else {
                u->waits++;
                *GCUT_PUSH(o->arena, &o->after[def]) = u;
            }
        }
    }
    qsort(u->tail.at, u->tail.n, sizeof *u->tail.at, by_index);
    for (uint32_t k = 0; u->waits == 0 && k < forward.n; k++)
        *GCUT_PUSH(o->arena, &o->reading[forward.at[k]]) = u;
}

static bool is_either(const ordering *o, gcut_ref v)
{
    return gcut_def(o->g, v) && o->f->side[v] == GCUT_SIDE_EITHER &&
           !gcut_value_is(o->g, v, GCUT_CLASS_CONSTANT);
}

/* A `grad` whose tail waits for nothing: finds the EITHER operands of its contractions.  False: it has none. */
static bool find_first(ordering *o, update *u)
{
    const gcut_graph *g = o->g;
    bool any = false;
    for (uint32_t t = 0; t < u->tail.n; t++) {
        const gcut_node *n = gcut_node_at(g, u->tail.at[t]);
        for (uint32_t k = 0; k < n->nargs; k++) {
            const gcut_ref v = gcut_arg(g, n, k);
            const gcut_node *c = gcut_def(g, v);
            if (!is_either(o, v) || gcut_node_class(c) != GCUT_CLASS_CONTRACTION) continue;
            for (uint32_t j = 0; j < c->nargs; j++) {
                const gcut_ref e = gcut_arg(g, c, j);
                if (!is_either(o, e)) continue;
                *GCUT_PUSH(o->arena, &o->first[e]) = u;
                any = true;
            }
        }
    }
    return any;
}

static void find_updates(ordering *o)
{
    const gcut_graph *g = o->g;
    for (uint32_t i = 0; i < g->results.n; i++) {
        uint32_t def = g->values.at[g->results.at[i].value].def;
        if (!is_updated(g->results.at[i].role) || def == GCUT_NONE || !is_backward(o, def)) continue;
        if (!o->tail[def]) continue;
        update *u = gcut_calloc(o->arena, 1, sizeof *u);
        u->sink = def;
        gather(o, u);
        u->placed = u->waits == 0 && g->results.at[i].role == GCUT_ROLE_grad && !find_first(o, u);
        for (uint32_t k = 0; u->placed && k < u->tail.n; k++) o->tail[u->tail.at[k]] = false;
        *GCUT_PUSH(o->arena, &o->all) = u;
    }
}

static void place_node(ordering *o, uint32_t i)
{
    if (!o->placed[i]) o->out[o->n++] = i;
    o->placed[i] = true;
}

static void place_update(ordering *o, update *u)
{
    for (uint32_t k = 0; !u->placed && k < u->tail.n; k++) place_node(o, u->tail.at[k]);
    u->placed = true;
}

/* Places what runs before the first node that needs v or what v is computed from. */
static void need(ordering *o, gcut_ref v)
{
    o->wanted.n = 0;
    *GCUT_PUSH(o->arena, &o->wanted) = v;
    while (o->wanted.n) {
        v = o->wanted.at[--o->wanted.n];
        if (!is_either(o, v) || o->seen[v]) continue;
        o->seen[v] = true;
        const gcut_node *n = gcut_def(o->g, v);
        for (uint32_t k = 0; k < n->nargs; k++) *GCUT_PUSH(o->arena, &o->wanted) = gcut_arg(o->g, n, k);
        for (uint32_t k = 0; k < o->first[v].n; k++) place_update(o, o->first[v].at[k]);
    }
}

const uint32_t *gcut_backward_order(gcut_arena *arena, const gcut_facts *f, uint32_t *n)
{
    const gcut_graph *g = f->g;
    size_t nn = (size_t)g->nodes.n + 1;
    if (f->order) {
        *n = f->norder;
        return f->order;
    }
    ordering o = {.arena = gcut_arena_new(gcut_arena_env(arena), arena), .f = f, .g = g};
    o.seen_by = gcut_calloc(o.arena, nn, sizeof *o.seen_by);
    o.tail = gcut_calloc(o.arena, nn, 1);
    o.placed = gcut_calloc(o.arena, nn, 1);
    o.after = gcut_calloc(o.arena, nn, sizeof *o.after);
    o.reading = gcut_calloc(o.arena, g->values.n, sizeof *o.reading);
    o.first = gcut_calloc(o.arena, g->values.n, sizeof *o.first);
    o.seen = gcut_calloc(o.arena, g->values.n, sizeof *o.seen);
    o.out = gcut_alloc(arena, nn * sizeof *o.out);
    find_tails(&o);
    find_updates(&o);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        if (!is_backward(&o, i) || o.tail[i]) continue;
        const gcut_node *x = gcut_node_at(g, i);
        for (uint32_t k = 0; k < x->nargs; k++) need(&o, gcut_arg(g, x, k));
        place_node(&o, i);
        for (uint32_t k = 0; k < o.after[i].n; k++)
            if (--o.after[i].at[k]->waits == 0) place_update(&o, o.after[i].at[k]);
        for (uint32_t k = 0; k < x->nargs; k++) {
            const updates *r = &o.reading[f->base[gcut_arg(g, x, k)]];
            for (uint32_t e = 0; e < r->n; e++) place_update(&o, r->at[e]);
        }
    }
    for (uint32_t k = 0; k < o.all.n; k++) place_update(&o, o.all.at[k]); /* those that wait for nothing */
    *n = o.n;
    gcut_arena_free(o.arena);
    return o.out;
}

/* ---- copies ---- */

typedef struct filling {
    gcut_arena *arena;
    const gcut_facts *f;
    const gcut_plan_decision *decision;
    bool *there; /* by node: computed so far */
    bool *here;  /* by node: to be computed in this gap */
    GCUT_VEC(uint32_t) gap;
    GCUT_VEC(uint32_t) out;
} filling;

static void want_node(filling *s, uint32_t i)
{
    if (s->here[i]) return;
    s->here[i] = true;
    *GCUT_PUSH(s->arena, &s->gap) = i;
}

static void want_value(filling *s, gcut_ref v)
{
    uint32_t def = s->f->g->values.at[v].def;
    if (def != GCUT_NONE && !s->there[def] && !gcut_crosses(s->f->g, v, s->decision[v])) want_node(s, def);
}

static void close_gap(filling *s)
{
    const gcut_graph *g = s->f->g;
    for (uint32_t k = 0; k < s->gap.n; k++) {
        const gcut_node *n = gcut_node_at(g, s->gap.at[k]);
        for (uint32_t j = 0; j < n->nargs; j++) want_value(s, gcut_arg(g, n, j));
    }
}

static bool is_elementwise(const gcut_node *n)
{
    const gcut_class c = gcut_node_class(n);
    return c == GCUT_CLASS_POINTWISE || c == GCUT_CLASS_VIEW;
}

void gcut_schedule_add_chains(gcut_arena *arena, const gcut_facts *f, const gcut_plan_decision *decision,
                              gcut_recomputations *copies)
{
    const gcut_graph *g = f->g;
    gcut_arena *a = gcut_arena_new(gcut_arena_env(arena), arena);
    bool *there = gcut_calloc(a, (size_t)g->nodes.n + 1, 1);
    for (uint32_t k = 0; k < copies->n; k++) there[copies->at[k]] = true;
    for (uint32_t k = 0; k < copies->n; k++) {
        const gcut_node *n = gcut_node_at(g, copies->at[k]);
        for (uint32_t j = 0; is_elementwise(n) && j < n->nargs; j++) {
            const gcut_ref v = gcut_arg(g, n, j);
            const uint32_t def = g->values.at[v].def;
            if (def == GCUT_NONE || there[def] || decision[v] != GCUT_PLAN_RECOMPUTED) continue;
            if (!is_elementwise(gcut_node_at(g, def)) ||
                gcut_type_numel(g->module, gcut_type_of(g, v)) !=
                    gcut_type_numel(g->module, gcut_type_of(g, n->res0)))
                continue;
            there[def] = true;
            *GCUT_PUSH(arena, copies) = def;
        }
    }
    gcut_arena_free(a);
}

/* What BACKWARD node i of the order reads; the results where there is none. */
static void want_reads(filling *s, const uint32_t *order, uint32_t n, uint32_t i)
{
    const gcut_graph *g = s->f->g;
    const gcut_node *x = i < n ? gcut_node_at(g, order[i]) : NULL;
    for (uint32_t k = 0; x && k < x->nargs; k++) want_value(s, gcut_arg(g, x, k));
    for (uint32_t k = 0; !x && k < g->results.n; k++)
        if (gcut_result_is_late(&g->results.at[k])) want_value(s, g->results.at[k].value);
}

/* Closes the gap over operands, appends it in the graph's order. */
static void fill_gap(filling *s, gcut_arena *arena)
{
    close_gap(s);
    if (s->gap.n) qsort(s->gap.at, s->gap.n, sizeof *s->gap.at, by_index);
    for (uint32_t k = 0; k < s->gap.n; k++) {
        *GCUT_PUSH(arena, &s->out) = s->gap.at[k];
        s->there[s->gap.at[k]] = true;
        s->here[s->gap.at[k]] = false;
    }
    s->gap.n = 0;
}

/* Only nodes with a RECOMPUTED result may be copied: the backward graph has the operands of no others. */
static bool is_recomputed(const filling *s, uint32_t i)
{
    const gcut_node *n = gcut_node_at(s->f->g, i);
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
        if (s->decision[v] == GCUT_PLAN_RECOMPUTED) return true;
    return false;
}

gcut_schedule gcut_schedule_with(gcut_arena *arena, const gcut_facts *f, const gcut_plan_decision *decision,
                                 const gcut_recomputations *copies)
{
    uint32_t n;
    filling s = {.arena = gcut_arena_new(gcut_arena_env(arena), arena), .f = f, .decision = decision};
    s.there = gcut_calloc(s.arena, (size_t)f->g->nodes.n + 1, 1);
    s.here = gcut_calloc(s.arena, (size_t)f->g->nodes.n + 1, 1);
    const uint32_t *order = gcut_backward_order(s.arena, f, &n);
    for (uint32_t i = 0; i <= n; i++) {
        for (uint32_t k = 0; copies && k < copies[i].n; k++)
            if (is_recomputed(&s, copies[i].at[k])) want_node(&s, copies[i].at[k]);
        want_reads(&s, order, n, i);
        fill_gap(&s, arena);
        if (i == n) break;
        *GCUT_PUSH(arena, &s.out) = order[i];
        s.there[order[i]] = true;
    }
    gcut_schedule out = {s.out.n, s.out.at};
    gcut_arena_free(s.arena);
    return out;
}

gcut_recomputations *gcut_schedule_recomputations(gcut_arena *arena, const gcut_facts *f,
                                                  const gcut_plan_decision *decision,
                                                  const gcut_schedule *sched)
{
    uint32_t n, at = 0;
    size_t nn = (size_t)f->g->nodes.n + 1;
    filling s = {.arena = gcut_arena_new(gcut_arena_env(arena), arena), .f = f, .decision = decision};
    s.there = gcut_calloc(s.arena, nn, 1);
    s.here = gcut_calloc(s.arena, nn, 1);
    const uint32_t *order = gcut_backward_order(s.arena, f, &n);
    gcut_recomputations *copies = gcut_calloc(arena, (size_t)n + 1, sizeof *copies);
    for (uint32_t i = 0; i <= n; i++) {
        want_reads(&s, order, n, i);
        close_gap(&s); /* `here`: needed without a requested copy; by S3 the schedule contains it */
        for (; at < sched->n && (i == n || sched->node[at] != order[i]); at++) {
            if (!s.here[sched->node[at]]) *GCUT_PUSH(arena, &copies[i]) = sched->node[at];
            s.there[sched->node[at]] = true;
        }
        for (uint32_t k = 0; k < s.gap.n; k++) s.here[s.gap.at[k]] = false;
        s.gap.n = 0;
        if (i < n) s.there[order[i]] = true, at++;
    }
    gcut_arena_free(s.arena);
    return copies;
}

bool gcut_schedule_equal(const gcut_schedule *x, const gcut_schedule *y)
{
    /* A schedule of no nodes has no array; memcmp takes no NULL. */
    return x->n == y->n && (x->n == 0 || !memcmp(x->node, y->node, x->n * sizeof *x->node));
}
