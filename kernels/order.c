/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order in which the kernels of a half run, and the lifetimes of buffers
 * that follow from it.
 *
 * in: a placed half.   out: order; then steps, birth and death of every buffer.
 *
 * One timeline for the whole program: a body's steps follow its owner's, so that a body's temporaries share
 * memory with each other and with everything that does not live through the region.
 */
#include <stdlib.h>

#include "kernels/lower.h"

/* The preferred position of a unit: at its last node; a copy, right after what it copies, and of a parameter
 * before everything, so that it does not come between a product and its epilogue.  One more than the node. */
static uint32_t preferred(const gcut_half *h, uint32_t u)
{
    const gcut_unit *w = &h->units.at[u];
    if (w->kind != GCUT_U_COPY) return gcut_unit_result(w) + 1;
    if (w->copy_late != GCUT_NONE) return w->copy_late + 1;
    uint32_t def = h->g->values.at[w->copy_from].def;
    return def == GCUT_NONE ? 0 : def + 2;
}

/* A unit whose last node comes late must not hold up, and so let others overtake, one that depends on it: it
 * runs no later than the preferred position of its dependents. */
static uint32_t *positions(const gcut_half *h, gcut_arena *a)
{
    uint32_t *at = gcut_calloc(a, h->units.n + 1, sizeof *at);
    for (uint32_t u = 0; u < h->units.n; u++) at[u] = h->units.at[u].dead ? 0 : preferred(h, u);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t u = h->units.n; u-- > 0;) {
            gcut_cursor cursor = {0};
            for (uint32_t s; !h->units.at[u].dead && (s = gcut_unit_deps(h, u, &cursor)) != GCUT_NONE;)
                if (at[s] > at[u]) at[s] = at[u], changed = true;
        }
    }
    return at;
}

/* The units in the order of their preferred positions, and by unit its rank there. */
typedef struct ranking {
    uint32_t *unit, *rank, n;
} ranking;

typedef struct preferred_position {
    uint32_t at, unit;
} preferred_position;

static int earlier_first(const void *x, const void *y)
{
    const preferred_position *a = x, *b = y;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return (a->unit > b->unit) - (a->unit < b->unit);
}

static ranking rank_units(const gcut_half *h, gcut_arena *a, const uint32_t *at)
{
    const size_t room = (size_t)h->units.n + 1;
    ranking r = {gcut_calloc(a, room, sizeof *r.unit), gcut_calloc(a, room, sizeof *r.rank), 0};
    preferred_position *all = gcut_calloc(a, room, sizeof *all);
    for (uint32_t u = 0; u < h->units.n; u++)
        if (!h->units.at[u].dead) all[r.n++] = (preferred_position){at[u], u};
    qsort(all, r.n, sizeof *all, earlier_first);
    for (uint32_t i = 0; i < r.n; i++) r.unit[i] = all[i].unit, r.rank[all[i].unit] = i;
    return r;
}

typedef GCUT_VEC(uint32_t) unit_list;

/* Of the units whose dependencies have run, the one of the lowest rank is next.  No unit ranks before one
 * that it depends on, but for ties, so `low`, below which none is ready, hardly ever falls. */
void gcut_order_half(gcut_program *p, gcut_half *h)
{
    gcut_arena *a = gcut_arena_new(p->module->env, p->module->arena);
    const ranking r = rank_units(h, a, positions(h, a));
    unit_list *after = gcut_calloc(a, (size_t)h->units.n + 1, sizeof *after);
    uint32_t *waits = gcut_calloc(a, (size_t)h->units.n + 1, sizeof *waits), low = 0;
    bool *ran = gcut_calloc(a, (size_t)h->units.n + 1, 1);
    for (uint32_t i = 0; i < r.n; i++) {
        gcut_cursor cursor = {0};
        for (uint32_t s; (s = gcut_unit_deps(h, r.unit[i], &cursor)) != GCUT_NONE; waits[r.unit[i]]++)
            *GCUT_PUSH(a, &after[s]) = r.unit[i];
    }
    for (uint32_t left = r.n; left--;) {
        while (low < r.n && (ran[r.unit[low]] || waits[r.unit[low]])) low++;
        GCUT_ASSERT(low < r.n); /* K2 */
        const uint32_t best = r.unit[low];
        ran[best] = true;
        *GCUT_PUSH(p->module->arena, &h->order) = best;
        for (uint32_t k = 0; k < after[best].n; k++) {
            const uint32_t u = after[best].at[k];
            if (--waits[u] == 0 && r.rank[u] < low) low = r.rank[u];
        }
    }
    gcut_arena_free(a);
}

static void touch(gcut_program *p, uint32_t b, int step)
{
    if (b == GCUT_NONE) return;
    while (p->buffers.at[b].kind == GCUT_P_PART) b = p->buffers.at[b].whole;
    gcut_buffer *buf = &p->buffers.at[b];
    if (buf->birth < 0 || step < buf->birth) buf->birth = step;
    if (step > buf->death) buf->death = step;
}

/* Everything that a unit reads or writes lives at a step. */
static void touch_unit(gcut_program *p, const gcut_half *h, uint32_t unit, int step)
{
    const gcut_unit *u = &h->units.at[unit];
    touch(p, u->scratch, step);
    touch(p, u->partial, step);
    if (u->kind == GCUT_U_COPY) {
        touch(p, u->copy_to, step);
        touch(p,
              u->copy_aside == GCUT_NONE ? h->buffer[h->view[u->copy_from].root]
                                         : h->units.at[u->copy_aside].copy_to,
              step);
    }
    for (uint32_t k = 0; k < u->nodes.n; k++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[k]);
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) touch(p, h->buffer[h->view[v].root], step);
    }
    gcut_cursor at = {0};
    for (gcut_ref v; gcut_unit_read(h, unit, &at, &v);) touch(p, gcut_read_buffer(h, &at, v), step);
    for (uint32_t k = 0; k < 2; k++)
        if (u->chain[k]) touch(p, u->chain[k]->room, step);
}

/* A product and its epilogue run interleaved, tile by tile: what either of them touches lives while both do.
 * What a region touches lives through every step of its bodies, which may run many times. */
static void lifetimes(gcut_program *p, gcut_half *h)
{
    for (uint32_t i = 0; i < h->order.n; i++) {
        const gcut_unit *u = &h->units.at[h->order.at[i]];
        touch_unit(p, h, h->order.at[i], u->step);
        touch_unit(p, h, h->order.at[i], u->end - 1);
        if (i == 0 || !gcut_is_epilogue(h, h->order.at[i - 1], h->order.at[i])) continue;
        touch_unit(p, h, h->order.at[i], u->step - 1);
        touch_unit(p, h, h->order.at[i - 1], u->step);
    }
}

int gcut_time_half(gcut_program *p, gcut_half *h, int first)
{
    int step = first;
    for (uint32_t i = 0; i < h->order.n; i++) {
        gcut_unit *u = &h->units.at[h->order.at[i]];
        u->step = step++;
        for (uint32_t k = 0; k < u->bodies.n; k++)
            step = gcut_time_half(p, p->halves.at[u->bodies.at[k]], step);
        u->end = step;
    }
    h->first = first;
    h->end = step;
    lifetimes(p, h);
    return step;
}
