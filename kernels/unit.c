/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Units: what their members read and how, what they depend on, and whether one reaches another.
 */
#include "kernels/lower.h"

static gcut_unit *unit_at(const gcut_half *h, uint32_t u)
{
    return &h->units.at[u];
}

uint32_t gcut_unit_new(gcut_half *h, gcut_unit_kind kind, uint32_t node)
{
    gcut_arena *a = h->g->module->arena;
    gcut_unit u = {.kind = kind,
                   .copy_to = GCUT_NONE,
                   .copy_aside = GCUT_NONE,
                   .copy_late = GCUT_NONE,
                   .inner = GCUT_DIM_BAD,
                   .rows = GCUT_DIM_BAD,
                   .scratch = GCUT_NONE,
                   .partial = GCUT_NONE,
                   .top = node};
    if (node != GCUT_NONE) *GCUT_PUSH(a, &u.nodes) = node;
    *GCUT_PUSH(a, &h->units) = u;
    return h->units.n - 1;
}

/* ---- access ---- */

/* How the node that makes v is emitted; a parameter is just there. */
static gcut_emit emit_of(const gcut_half *h, gcut_ref v)
{
    const gcut_node *n = gcut_def(h->g, v);
    return n ? gcut_op_get((gcut_op)n->op)->emit : GCUT_EMIT_EXPAND;
}

bool gcut_root_is_const(const gcut_half *h, gcut_ref root)
{
    return emit_of(h, root) == GCUT_EMIT_CONST;
}

bool gcut_root_is_iota(const gcut_half *h, gcut_ref root)
{
    return emit_of(h, root) == GCUT_EMIT_IOTA;
}

gcut_access gcut_unit_access(const gcut_half *h, uint32_t u, gcut_ref v, gcut_level user)
{
    gcut_module *m = h->g->module;
    const gcut_view *w = &h->view[v];
    const gcut_type *t = gcut_type_of(h->g, v);
    if (gcut_root_is_const(h, w->root)) return GCUT_X_CONST;
    if (gcut_root_is_iota(h, w->root)) return GCUT_X_IOTA;
    if (h->unit_of[w->root] != u) return GCUT_X_LOAD;
    switch (h->level[w->root]) {
    case GCUT_L_FULL: /* a root's own view says where it is stored (concat.c); here it is at hand */
        if (user != GCUT_L_FULL) return GCUT_X_BLOCKED;
        return v == w->root || gcut_view_identity(h->g, t, w) ? GCUT_X_FULL : GCUT_X_BLOCKED;
    case GCUT_L_ROW:
        if (user == GCUT_L_ROW) return gcut_view_identity(h->g, t, w) ? GCUT_X_ROW : GCUT_X_BLOCKED;
        return gcut_view_row_repeat(m, t, w, unit_at(h, u)->inner) ? GCUT_X_ROW : GCUT_X_BLOCKED;
    default: return GCUT_X_BLOCKED;
    }
}

/* The unit a value's storage comes from, or GCUT_NONE. */
uint32_t gcut_unit_source(const gcut_half *h, gcut_ref v)
{
    return h->unit_of[h->view[v].root];
}

/* ---- reads ---- */

bool gcut_chain_has(const gcut_half *h, const gcut_chain *c, gcut_ref root)
{
    for (uint32_t i = 0; i < c->nodes.n; i++)
        if (gcut_node_at(h->g, c->nodes.at[i])->res0 == root) return true;
    return false;
}

static bool chain_read(const gcut_half *h, const gcut_chain *c, gcut_cursor *at, gcut_ref *v)
{
    for (; at->link < c->nodes.n; at->link++, at->arg = 0) {
        const gcut_node *n = gcut_node_at(h->g, c->nodes.at[at->link]);
        while (at->arg < n->nargs) {
            *v = gcut_arg(h->g, n, at->arg++);
            if (!gcut_chain_has(h, c, h->view[*v].root)) return true;
        }
    }
    return false;
}

bool gcut_unit_read(const gcut_half *h, uint32_t unit, gcut_cursor *at, gcut_ref *v)
{
    const gcut_unit *u = &h->units.at[unit];
    for (; at->i < u->nodes.n; at->i++, at->k = 0) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[at->i]);
        for (; at->k < n->nargs; at->k++, at->link = at->arg = 0) {
            const gcut_chain *c = at->i == 0 ? gcut_unit_chain(u, at->k) : NULL; /* behind it is a sum */
            at->copy = GCUT_NONE;
            if (c && chain_read(h, c, at, v)) return true;
            if (c) continue;
            if (at->i == 0 && u->operand_copy) at->copy = u->operand_copy[at->k];
            *v = gcut_arg(h->g, n, at->k++);
            at->link = at->arg = 0;
            return true;
        }
    }
    return false;
}

uint32_t gcut_read_buffer(const gcut_half *h, const gcut_cursor *at, gcut_ref v)
{
    return at->copy != GCUT_NONE ? h->units.at[at->copy].copy_to : h->buffer[h->view[v].root];
}

/* ---- reachability ---- */

uint32_t gcut_unit_deps(const gcut_half *h, uint32_t unit, gcut_cursor *at)
{
    const gcut_unit *u = unit_at(h, unit);
    for (;;) {
        uint32_t s;
        gcut_ref v;
        if (gcut_unit_read(h, unit, at, &v)) {
            s = gcut_unit_source(h, v);
        } else if (u->kind == GCUT_U_COPY && at->i == 0) {
            at->i = 1; /* asked, not kept in `before`: units merge while grouping goes on */
            s = gcut_unit_source(h, u->copy_from);
        } else if (at->k < u->before.n) {
            s = u->before.at[at->k++];
        } else {
            return GCUT_NONE;
        }
        if (s != GCUT_NONE && s != unit) return s;
    }
}

void gcut_unit_raise(gcut_half *h, uint32_t from, uint32_t to)
{
    for (uint32_t u = 0; u < h->units.n; u++) {
        gcut_unit *w = unit_at(h, u);
        if (w->top >= from && w->top < to) w->top = to;
    }
}

typedef struct walk {
    const gcut_half *h;
    uint32_t target, bottom;
    uint32_t number; /* a unit was seen by this walk when it has its number */
} walk;

static bool reaches(const walk *w, uint32_t to)
{
    gcut_unit *u = unit_at(w->h, to);
    gcut_cursor cursor = {0};
    uint32_t s;
    if (u->seen == w->number || u->top < w->bottom) return false;
    u->seen = w->number;
    while ((s = gcut_unit_deps(w->h, to, &cursor)) != GCUT_NONE)
        if (s == w->target || reaches(w, s)) return true;
    return false;
}

bool gcut_unit_reaches(gcut_half *h, uint32_t from, uint32_t to, bool indirect)
{
    gcut_unit *u = unit_at(h, from), *v = unit_at(h, to);
    walk w = {h, from, u->nodes.n ? u->nodes.at[u->nodes.n - 1] : 0, ++h->walks};
    bool found = !indirect && from == to;
    gcut_cursor cursor = {0};
    uint32_t s;
    v->seen = w.number;
    if (indirect) u->seen = w.number;
    if (v->top < w.bottom) return found;
    while (!found && (s = gcut_unit_deps(h, to, &cursor)) != GCUT_NONE)
        found = indirect ? s != from && reaches(&w, s) : s == from || reaches(&w, s);
    return found;
}

/* ---- even steps ---- */

/* Operand v, if it is read from memory, steps evenly along the last `inner` elements of unit u. */
static bool even_operand(const gcut_half *h, uint32_t u, gcut_ref v, gcut_dim inner)
{
    gcut_access x = gcut_unit_access(h, u, v, GCUT_L_FULL);
    if (x != GCUT_X_LOAD && x != GCUT_X_IOTA) return true;
    const gcut_type *t = gcut_type_of(h->g, v);
    gcut_dim size, stride;
    uint32_t split = gcut_view_split(h->g->module, t, inner);
    return split <= t->rank &&
           gcut_view_collapse(h->g->module, t, &h->view[v], split, t->rank, &size, &stride);
}

bool gcut_unit_takes_evenly(const gcut_half *h, uint32_t u, const gcut_node *n, gcut_dim inner)
{
    for (uint32_t k = 0; k < n->nargs; k++)
        if (!even_operand(h, u, gcut_arg(h->g, n, k), inner)) return false;
    return true;
}

bool gcut_unit_is_even(const gcut_half *h, uint32_t u, gcut_dim inner)
{
    const gcut_unit *w = unit_at(h, u);
    for (uint32_t i = 0; i < w->nodes.n; i++)
        if (!gcut_unit_takes_evenly(h, u, gcut_node_at(h->g, w->nodes.at[i]), inner)) return false;
    return true;
}
