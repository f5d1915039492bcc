/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kernels: what their members read and how, what they depend on, and whether one reaches another.
 */
#include "kernels/lower/prologue.h"

static gcut_kernel *kernel_at(const gcut_lowered *h, uint32_t u)
{
    return &h->kernels.at[u];
}

uint32_t gcut_kernel_new(gcut_lowered *h, gcut_kernel_kind kind, uint32_t node)
{
    gcut_arena *a = h->g->module->arena;
    gcut_kernel u = {.kind = kind, .top = node};
    if (kind == GCUT_KERNEL_LOOP)
        u.loop = (gcut_loop_kernel){
            .inner = GCUT_DIM_BAD, .rows = GCUT_DIM_BAD, .scratch = GCUT_NONE, .partial = GCUT_NONE};
    else if (kind == GCUT_KERNEL_COPY)
        u.copy = (gcut_copy_kernel){.to = GCUT_NONE, .late = GCUT_NONE, .source = GCUT_NONE};
    else if (kind == GCUT_KERNEL_CONV)
        u.conv.workspace = GCUT_NONE;
    else if (gcut_kernel_is_attention(&u))
        u.attention.scratch = GCUT_NONE;
    if (node != GCUT_NONE) *GCUT_PUSH(a, &u.nodes) = node;
    *GCUT_PUSH(a, &h->kernels) = u;
    return h->kernels.n - 1;
}

/* ---- access ---- */

/* How the node that makes v is emitted; a parameter is just there. */
static gcut_emit emit_of(const gcut_lowered *h, gcut_ref v)
{
    const gcut_node *n = gcut_def(h->g, v);
    return n ? gcut_op_get((gcut_op)n->op)->emit : GCUT_EMIT_EXPAND;
}

bool gcut_root_is_const(const gcut_lowered *h, gcut_ref root)
{
    return emit_of(h, root) == GCUT_EMIT_CONST;
}

bool gcut_root_is_iota(const gcut_lowered *h, gcut_ref root)
{
    return emit_of(h, root) == GCUT_EMIT_IOTA;
}

gcut_access gcut_kernel_access(const gcut_lowered *h, uint32_t u, gcut_ref v, gcut_level user)
{
    gcut_module *m = h->g->module;
    const gcut_view *w = &h->view[v];
    const gcut_type *t = gcut_type_of(h->g, v);
    if (gcut_root_is_const(h, w->root)) return GCUT_ACCESS_CONST;
    if (gcut_root_is_iota(h, w->root)) return GCUT_ACCESS_IOTA;
    if (h->kernel_of[w->root] != u) return GCUT_ACCESS_LOAD;
    switch (h->level[w->root]) {
    case GCUT_LEVEL_FULL: /* a root's own view says where it is stored (concat.c); here it is at hand */
        if (user != GCUT_LEVEL_FULL) return GCUT_ACCESS_BLOCKED;
        return v == w->root || gcut_view_identity(h->g, t, w) ? GCUT_ACCESS_FULL : GCUT_ACCESS_BLOCKED;
    case GCUT_LEVEL_ROW:
        if (user == GCUT_LEVEL_ROW)
            return gcut_view_identity(h->g, t, w) ? GCUT_ACCESS_ROW : GCUT_ACCESS_BLOCKED;
        return gcut_view_row_repeat(m, t, w, kernel_at(h, u)->loop.inner) ? GCUT_ACCESS_ROW
                                                                          : GCUT_ACCESS_BLOCKED;
    default: return GCUT_ACCESS_BLOCKED;
    }
}

/* The kernel a value's storage comes from, or GCUT_NONE. */
uint32_t gcut_kernel_source(const gcut_lowered *h, gcut_ref v)
{
    return h->kernel_of[h->view[v].root];
}

/* ---- reads ---- */

bool gcut_prologue_has(const gcut_lowered *h, const gcut_prologue *c, gcut_ref root)
{
    for (uint32_t i = 0; i < c->nodes.n; i++)
        if (gcut_node_at(h->g, c->nodes.at[i])->res0 == root) return true;
    return false;
}

static bool prologue_read(const gcut_lowered *h, const gcut_prologue *c, gcut_cursor *at, gcut_ref *v)
{
    for (; at->link < c->nodes.n; at->link++, at->arg = 0) {
        const gcut_node *n = gcut_node_at(h->g, c->nodes.at[at->link]);
        while (at->arg < n->nargs) {
            *v = gcut_arg(h->g, n, at->arg++);
            if (!gcut_prologue_has(h, c, h->view[*v].root)) return true;
        }
    }
    return false;
}

bool gcut_kernel_read(const gcut_lowered *h, uint32_t kernel, gcut_cursor *at, gcut_ref *v)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    for (; at->i < u->nodes.n; at->i++, at->k = 0) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[at->i]);
        for (; at->k < n->nargs; at->k++, at->link = at->arg = 0) {
            const gcut_prologue *c =
                at->i == 0 ? gcut_kernel_prologue(u, at->k) : NULL; /* behind it is a sum */
            at->copy = GCUT_NONE;
            if (c && prologue_read(h, c, at, v)) return true;
            if (c) continue;
            if (at->i == 0) at->copy = gcut_kernel_copied(u, at->k);
            *v = gcut_arg(h->g, n, at->k++);
            at->link = at->arg = 0;
            return true;
        }
    }
    return false;
}

uint32_t gcut_read_buffer(const gcut_lowered *h, const gcut_cursor *at, gcut_ref v)
{
    return at->copy != GCUT_NONE ? h->kernels.at[at->copy].copy.to : h->buffer[h->view[v].root];
}

uint32_t gcut_copy_buffer(const gcut_lowered *h, const gcut_kernel *copy)
{
    return copy->copy.source == GCUT_NONE ? h->buffer[h->view[copy->copy.value].root]
                                          : h->kernels.at[copy->copy.source].copy.to;
}

/* ---- reachability ---- */

uint32_t gcut_kernel_deps(const gcut_lowered *h, uint32_t kernel, gcut_cursor *at)
{
    const gcut_kernel *u = kernel_at(h, kernel);
    for (;;) {
        uint32_t s;
        gcut_ref v;
        if (gcut_kernel_read(h, kernel, at, &v)) {
            s = gcut_kernel_source(h, v);
        } else if (u->kind == GCUT_KERNEL_COPY && at->i == 0) {
            at->i = 1; /* asked, not kept in `before`: kernels merge while grouping goes on */
            s = gcut_kernel_source(h, u->copy.value);
        } else if (at->k < u->before.n) {
            s = u->before.at[at->k++];
        } else {
            return GCUT_NONE;
        }
        if (s != GCUT_NONE && s != kernel) return s;
    }
}

void gcut_kernel_raise(gcut_lowered *h, uint32_t from, uint32_t to)
{
    for (uint32_t u = 0; u < h->kernels.n; u++) {
        gcut_kernel *w = kernel_at(h, u);
        if (w->top >= from && w->top < to) w->top = to;
    }
}

typedef struct walk {
    const gcut_lowered *h;
    uint32_t target, bottom;
    uint32_t number; /* a kernel was seen by this walk when it has its number */
} walk;

static bool reaches(const walk *w, uint32_t to)
{
    gcut_kernel *u = kernel_at(w->h, to);
    gcut_cursor cursor = {0};
    uint32_t s;
    if (u->seen == w->number || u->top < w->bottom) return false;
    u->seen = w->number;
    while ((s = gcut_kernel_deps(w->h, to, &cursor)) != GCUT_NONE)
        if (s == w->target || reaches(w, s)) return true;
    return false;
}

bool gcut_kernel_reaches(gcut_lowered *h, uint32_t from, uint32_t to, bool indirect)
{
    gcut_kernel *u = kernel_at(h, from), *v = kernel_at(h, to);
    walk w = {h, from, u->nodes.n ? u->nodes.at[u->nodes.n - 1] : 0, ++h->walks};
    bool found = !indirect && from == to;
    gcut_cursor cursor = {0};
    uint32_t s;
    v->seen = w.number;
    if (indirect) u->seen = w.number;
    if (v->top < w.bottom) return found;
    while (!found && (s = gcut_kernel_deps(h, to, &cursor)) != GCUT_NONE)
        found = indirect ? s != from && reaches(&w, s) : s == from || reaches(&w, s);
    return found;
}

/* ---- even steps ---- */

/* Operand v, if it is read from memory, steps evenly along the last `inner` elements of kernel u. */
static bool even_operand(const gcut_lowered *h, uint32_t u, gcut_ref v, gcut_dim inner)
{
    gcut_access x = gcut_kernel_access(h, u, v, GCUT_LEVEL_FULL);
    if (x != GCUT_ACCESS_LOAD && x != GCUT_ACCESS_IOTA) return true;
    const gcut_type *t = gcut_type_of(h->g, v);
    gcut_dim size, stride;
    uint32_t split = gcut_view_split(h->g->module, t, inner);
    return split <= t->rank &&
           gcut_view_collapse(h->g->module, t, &h->view[v], split, t->rank, &size, &stride);
}

bool gcut_kernel_takes_evenly(const gcut_lowered *h, uint32_t u, const gcut_node *n, gcut_dim inner)
{
    for (uint32_t k = 0; k < n->nargs; k++)
        if (!even_operand(h, u, gcut_arg(h->g, n, k), inner)) return false;
    return true;
}

bool gcut_kernel_is_even(const gcut_lowered *h, uint32_t u, gcut_dim inner)
{
    const gcut_kernel *w = kernel_at(h, u);
    for (uint32_t i = 0; i < w->nodes.n; i++)
        if (!gcut_kernel_takes_evenly(h, u, gcut_node_at(h->g, w->nodes.at[i]), inner)) return false;
    return true;
}
