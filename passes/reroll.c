/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Unrolled loops become scans.
 *
 * A run of nodes is an unrolled loop when it is K > 8 copies of one body, the iterations: node i of each iteration has the op,
 * attributes and types of node i of the first one, and each of its operands is, in all iterations alike,
 *
 *   inner    a value of the same iteration,
 *   carried  a value of the iteration before, and in the first iteration a value from before the loop,
 *   fixed    one and the same value from before the loop,
 *
 * or node i is a slice of a fixed value, of width 1 along one axis, whose start grows by 1 with each iteration.  The scan has
 * the carried values and, sliced, the values that are read so; it stacks values of iterations that are read behind it.
 *
 *   takes:  a graph whose nodes have no order but that of their operands; bodies are not looked into
 *   gives:  the graph with scans, whose values are equal; g itself where there is no such run
 *   keeps:  results, parameters, locations
 */
#include <string.h>

#include "graph/build.h"
#include "graph/rewrite.h"
#include "passes/passes.h"

enum { LONGEST = 512 }; /* nodes of a body */

typedef struct loop {
    const gcut_graph *g;
    uint32_t begin, period, count; /* the first node, nodes of an iteration, iterations */
    gcut_ref base;                 /* the first value of the first iteration */
    uint32_t width;                /* values of an iteration */
    int axis;                      /* of all slices and stacked values; -1: not determined */
} loop;

static gcut_ref base_of(const loop *l, uint32_t t)
{
    return l->base + t * l->width;
}

/* ---- finding one ---- */

/* Is node i of iteration t a slice that walks?  Its axis. */
static bool walks(const loop *l, uint32_t i, uint32_t t, int *axis)
{
    const gcut_graph *g = l->g;
    const gcut_node *a = gcut_node_at(g, l->begin + i), *b = gcut_node_at(g, l->begin + t * l->period + i);
    const gcut_attr *s = gcut_attr_get(g, a, GCUT_KEY_start), *e = gcut_attr_get(g, a, GCUT_KEY_limit),
                    *u = gcut_attr_get(g, b, GCUT_KEY_start), *v = gcut_attr_get(g, b, GCUT_KEY_limit);
    if (gcut_attr_get(g, a, GCUT_KEY_step) || gcut_attr_get(g, b, GCUT_KEY_step) ||
        gcut_arg(g, a, 0) != gcut_arg(g, b, 0) || gcut_arg(g, a, 0) >= l->base)
        return false;
    *axis = -1;
    for (uint32_t d = 0; d < s->n; d++) {
        if (s->u.dims[d] == u->u.dims[d] && e->u.dims[d] == v->u.dims[d]) continue;
        const bool one = gcut_dim_known(s->u.dims[d]) && gcut_dim_known(e->u.dims[d]) &&
                         e->u.dims[d] == s->u.dims[d] + 1 && u->u.dims[d] == s->u.dims[d] + t &&
                         v->u.dims[d] == u->u.dims[d] + 1;
        if (!one || *axis >= 0) return false;
        *axis = (int)d;
    }
    return *axis >= 0;
}

/* Is operand k of node i of iteration t what it is in iteration 1? */
static bool same_operand(const loop *l, uint32_t i, uint32_t k, uint32_t t)
{
    const gcut_graph *g = l->g;
    const gcut_ref x = gcut_arg(g, gcut_node_at(g, l->begin + t * l->period + i), k),
                   one = gcut_arg(g, gcut_node_at(g, l->begin + l->period + i), k);
    if (one >= base_of(l, 1)) return x == one - base_of(l, 1) + base_of(l, t);
    if (one < l->base) return x == one;
    if (t) return x == one - l->base + base_of(l, t - 1);
    return x < l->base && gcut_type_equal(gcut_type_of(g, x), gcut_type_of(g, one));
}

/* Is iteration t like the first two?  With t = 1, the first one is compared with the second. */
static bool fits(loop *l, uint32_t t)
{
    const gcut_graph *g = l->g;
    for (uint32_t i = 0; i < l->period; i++) {
        const gcut_node *a = gcut_node_at(g, l->begin + i),
                        *b = gcut_node_at(g, l->begin + t * l->period + i);
        int axis;
        if (a->op != b->op || a->nargs != b->nargs || a->nres != b->nres || a->nregs || b->nregs ||
            a->marks.n || b->marks.n)
            return false;
        if (a->op == GCUT_OP_slice && walks(l, i, 1, &axis)) {
            if (!walks(l, i, t, &axis) || (l->axis >= 0 && l->axis != axis)) return false;
            l->axis = axis;
            continue;
        }
        if (!gcut_nodes_alike(g, a, g, b)) return false;
        for (uint32_t k = 0; k < a->nargs; k++)
            if (!same_operand(l, i, k, t) || !same_operand(l, i, k, 0)) return false;
    }
    return true;
}

/* The most iterations of `period` nodes from node `begin` on. */
static loop iterations(const gcut_graph *g, uint32_t begin, uint32_t period)
{
    loop l = {
        .g = g, .begin = begin, .period = period, .count = 1, .base = g->nodes.at[begin].res0, .axis = -1};
    const gcut_node *last = gcut_node_at(g, begin + period - 1);
    l.width = last->res0 + last->nres - l.base;
    while (begin + (l.count + 1) * period <= g->nodes.n &&
           g->nodes.at[begin + l.count * period].res0 == base_of(&l, l.count) && fits(&l, l.count))
        l.count++;
    return l;
}

static bool carries(const loop *l)
{
    for (uint32_t i = 0; i < l->period; i++) {
        const gcut_node *n = gcut_node_at(l->g, l->begin + l->period + i);
        for (uint32_t k = 0; k < n->nargs; k++)
            if (gcut_arg(l->g, n, k) >= l->base && gcut_arg(l->g, n, k) < base_of(l, 1)) return true;
    }
    return false;
}

static loop find(const gcut_graph *g, uint32_t begin)
{
    for (uint32_t p = 1; p <= LONGEST && begin + GCUT_REROLL_LEAST * p <= g->nodes.n; p++) {
        if (g->nodes.at[begin].op != g->nodes.at[begin + p].op) continue;
        loop l = iterations(g, begin, p);
        if (l.count >= GCUT_REROLL_LEAST && carries(&l)) return l;
    }
    return (loop){0};
}

/* ---- the scan ---- */

typedef struct carried {
    uint32_t value; /* of an iteration */
    gcut_ref first; /* from before the loop */
    gcut_ref param; /* of the body */
} carried;

typedef struct scan {
    loop l;
    gcut_rewrite *rw;
    gcut_arena *a;
    GCUT_VEC(carried) carry;
    GCUT_VEC(uint32_t) slices; /* node i of an iteration */
    bool *
        stacked; /* by value of an iteration: it is read behind the loop, but for the last one of a carried value */
} scan;

static carried *carry_of(scan *s, uint32_t value, gcut_ref first)
{
    for (uint32_t k = 0; k < s->carry.n; k++)
        if (s->carry.at[k].value == value && s->carry.at[k].first == first) return &s->carry.at[k];
    return NULL;
}

static void find_carried(scan *s)
{
    const loop *l = &s->l;
    const gcut_graph *g = l->g;
    for (uint32_t i = 0; i < l->period; i++) {
        const gcut_node *a = gcut_node_at(g, l->begin + i), *b = gcut_node_at(g, l->begin + l->period + i);
        int axis;
        if (a->op == GCUT_OP_slice && walks(l, i, 1, &axis)) {
            *GCUT_PUSH(s->a, &s->slices) = i;
            continue;
        }
        for (uint32_t k = 0; k < a->nargs; k++) {
            const gcut_ref x = gcut_arg(g, b, k), first = gcut_arg(g, a, k);
            if (x < l->base || x >= base_of(l, 1) || carry_of(s, x - l->base, first)) continue;
            *GCUT_PUSH(s->a, &s->carry) = (carried){.value = x - l->base, .first = first};
        }
    }
}

/* Marks what is read behind the loop; the last value of a carried one is a result of the scan anyway. */
static void note_use(scan *s, gcut_ref v)
{
    const loop *l = &s->l;
    if (v < l->base || v >= base_of(l, l->count)) return;
    const uint32_t t = (v - l->base) / l->width, o = (v - l->base) % l->width;
    for (uint32_t k = 0; t + 1 == l->count && k < s->carry.n; k++)
        if (s->carry.at[k].value == o) return;
    s->stacked[o] = true;
}

static void find_stacked(scan *s)
{
    const gcut_graph *g = s->l.g;
    s->stacked = gcut_calloc(s->a, s->l.width + 1, sizeof *s->stacked);
    for (uint32_t n = s->l.begin + s->l.count * s->l.period; n < g->nodes.n; n++)
        for (uint32_t k = 0; k < gcut_node_at(g, n)->nargs; k++)
            note_use(s, gcut_arg(g, gcut_node_at(g, n), k));
    for (uint32_t k = 0; k < g->results.n; k++) note_use(s, g->results.at[k].value);
}

static gcut_type without_axis(const gcut_type *t, int axis)
{
    gcut_type out = {.dtype = t->dtype};
    for (int d = 0; d < t->rank; d++)
        if (d != axis) out.dim[out.rank++] = t->dim[d];
    return out;
}

static gcut_ref body_param(scan *s, gcut_graph *body, const char *kind, uint32_t k, const gcut_type *t)
{
    gcut_ref v = gcut_param_new(body, GCUT_ROLE_input,
                                gcut_name_fresh(body, gcut_printf(s->a, "%s%u", kind, (unsigned)k)), t);
    body->values.at[v].made_up = true;
    return v;
}

/* The first iteration, as a body. */
static gcut_graph *body_of(scan *s)
{
    const loop *l = &s->l;
    const gcut_graph *g = l->g;
    gcut_graph *body = gcut_body_new(s->rw->dst);
    gcut_ref *own = gcut_calloc(s->a, l->width + 1, sizeof *own),
             *slice = gcut_calloc(s->a, s->slices.n + 1, sizeof *slice);
    for (uint32_t k = 0; k < s->carry.n; k++)
        s->carry.at[k].param =
            body_param(s, body, "body.", k, gcut_type_of(g, l->base + s->carry.at[k].value));
    for (uint32_t k = 0; k < s->slices.n; k++) {
        gcut_type t = without_axis(gcut_type_of(g, g->nodes.at[l->begin + s->slices.at[k]].res0), l->axis);
        slice[k] = body_param(s, body, "body.", s->carry.n + k, &t);
    }
    for (uint32_t i = 0, at = 0; i < l->period; i++) {
        const gcut_node *a = gcut_node_at(g, l->begin + i), *b = gcut_node_at(g, l->begin + l->period + i);
        if (at < s->slices.n && s->slices.at[at] == i) {
            const gcut_type *t = gcut_type_of(g, a->res0);
            gcut_build build = {.g = body, .loc = a->loc};
            own[a->res0 - l->base] = gcut_breshape(&build, slice[at++], t->dim, t->rank);
            continue;
        }
        gcut_ref *args = gcut_calloc(s->a, a->nargs + 1, sizeof *args);
        for (uint32_t k = 0; k < a->nargs; k++) {
            const gcut_ref x = gcut_arg(g, b, k), first = gcut_arg(g, a, k);
            args[k] = x >= base_of(l, 1) ? own[x - base_of(l, 1)]
                      : x >= l->base     ? carry_of(s, x - l->base, first)->param
                                         : gcut_body_capture(body, s->rw->map[x]);
        }
        gcut_ref r = gcut_node_copy(body, g, l->begin + i, args, NULL, a->loc, NULL);
        for (uint32_t k = 0; k < a->nres; k++) own[a->res0 - l->base + k] = r + k;
    }
    uint32_t y = 0;
    for (uint32_t k = 0; k < s->carry.n; k++)
        gcut_result_new(body, GCUT_ROLE_out, gcut_printf(s->a, "y%u", (unsigned)y++),
                        own[s->carry.at[k].value]);
    for (uint32_t o = 0; o < l->width; o++)
        if (s->stacked[o])
            gcut_result_new(body, GCUT_ROLE_out, gcut_printf(s->a, "y%u", (unsigned)y++), own[o]);
    return body;
}

/* The part of a sliced value that the loop walks over. */
static gcut_ref walked(scan *s, gcut_build *b, uint32_t i)
{
    const loop *l = &s->l;
    const gcut_node *n = gcut_node_at(l->g, l->begin + i);
    const gcut_ref x = s->rw->map[gcut_arg(l->g, n, 0)];
    const gcut_type *t = gcut_type_of(b->g, x);
    gcut_dim start[GCUT_MAX_RANK], limit[GCUT_MAX_RANK];
    bool whole = true;
    for (uint32_t d = 0; d < t->rank; d++) {
        start[d] = gcut_attr_get(l->g, n, GCUT_KEY_start)->u.dims[d];
        limit[d] = gcut_attr_get(l->g, n, GCUT_KEY_limit)->u.dims[d];
        if ((int)d == l->axis) limit[d] = start[d] + l->count;
        whole = whole && start[d] == 0 && limit[d] == t->dim[d];
    }
    return whole ? x : gcut_bslice(b, x, start, limit, NULL);
}

/* Value o of iteration t out of the stacked ones. */
static gcut_ref taken(scan *s, gcut_build *b, gcut_ref all, uint32_t o, uint32_t t)
{
    const gcut_type *whole = gcut_type_of(b->g, all), *one = gcut_type_of(s->l.g, s->l.base + o);
    gcut_dim start[GCUT_MAX_RANK] = {0}, limit[GCUT_MAX_RANK];
    memcpy(limit, whole->dim, sizeof limit);
    start[s->l.axis] = t, limit[s->l.axis] = t + 1;
    return gcut_breshape(b, gcut_bslice(b, all, start, limit, NULL), one->dim, one->rank);
}

/* Can all stacked values be stacked along the axis? */
static bool stacks(const scan *s)
{
    for (uint32_t o = 0; o < s->l.width; o++) {
        const gcut_type *t = gcut_type_of(s->l.g, s->l.base + o);
        if (s->stacked[o] && (t->rank < s->l.axis || t->rank == GCUT_MAX_RANK)) return false;
    }
    return true;
}

static void emit(scan *s)
{
    const loop *l = &s->l;
    gcut_rewrite *rw = s->rw;
    gcut_build b = {.g = rw->dst, .loc = l->g->nodes.at[l->begin].loc};
    gcut_ref *args = gcut_calloc(s->a, s->carry.n + s->slices.n + 1, sizeof *args);
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->carry.n; k++) args[n++] = rw->map[s->carry.at[k].first];
    for (uint32_t k = 0; k < s->slices.n; k++) args[n++] = walked(s, &b, s->slices.at[k]);
    gcut_graph *body = body_of(s);
    gcut_attr attrs[3] = {gcut_attr_dim(GCUT_KEY_carries, s->carry.n), gcut_attr_dim(GCUT_KEY_axis, l->axis),
                          gcut_attr_dim(GCUT_KEY_length, l->count)};
    gcut_ref y = gcut_bregion_node(&b, GCUT_OP_scan, args, n, &body, 1, attrs, s->slices.n ? 2 : 3);
    gcut_ref *all = gcut_calloc(s->a, l->width + 1, sizeof *all);
    for (uint32_t o = 0, k = s->carry.n; o < l->width; o++)
        if (s->stacked[o]) all[o] = y + k++;
    for (uint32_t k = 0; k < s->carry.n; k++)
        rw->map[base_of(l, l->count - 1) + s->carry.at[k].value] = y + k;
    for (uint32_t t = 0; t < l->count; t++)
        for (uint32_t o = 0; o < l->width; o++) {
            gcut_ref *to = &rw->map[base_of(l, t) + o];
            if (all[o] && !*to) *to = taken(s, &b, all[o], o, t);
        }
}

gcut_graph *gcut_reroll(gcut_graph *g, const char *name)
{
    gcut_arena *a = gcut_arena_new(g->module->env, g->module->arena);
    gcut_rewrite rw = {0};
    for (uint32_t n = 0; n < g->nodes.n;) {
        scan s = {.l = find(g, n), .a = a};
        bool rolls = s.l.count > 0;
        if (rolls) {
            if (s.l.axis < 0) s.l.axis = 0;
            find_carried(&s);
            find_stacked(&s);
            rolls = stacks(&s);
        }
        if (rolls && !rw.dst) {
            rw = gcut_rewrite_begin(g, name);
            for (uint32_t k = 0; k < n; k++) gcut_rewrite_copy(&rw, k);
        }
        s.rw = &rw;
        if (rolls) emit(&s);
        if (!rolls && rw.dst) gcut_rewrite_copy(&rw, n);
        n += rolls ? s.l.count * s.l.period : 1;
    }
    gcut_arena_free(a);
    if (!rw.dst) return g;
    gcut_graph *out = gcut_rewrite_end(&rw);
    gcut_bodies_canonical(out);
    return out;
}
