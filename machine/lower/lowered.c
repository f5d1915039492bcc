/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kernels: what their members read and how, and what they depend on.
 */
#include "machine/lower/lowered.h"

const gcut_kernel_facts gcut_kernel_table[] = {
#define KIND(id, name, class, packed) {name, class, packed},
#include "machine/lower/kernel_kinds.def"
#undef KIND
};

uint32_t gcut_kernel_new(gcut_lowered *h, gcut_kernel_kind kind, uint32_t node)
{
    gcut_arena *a = h->g->module->arena;
    gcut_kernel u = {.kind = kind, .workspace_each = GCUT_NONE, .workspace_all = GCUT_NONE};
    if (kind == GCUT_KERNEL_LOOP)
        u.loop = (gcut_loop_kernel){.inner = GCUT_DIM_BAD, .rows = GCUT_DIM_BAD, .product = GCUT_NONE};
    if (kind == GCUT_KERNEL_COPY)
        u.copy = (gcut_copy_kernel){.to = GCUT_NONE, .runs_before = GCUT_NONE, .source = GCUT_NONE};
    if (node != GCUT_NONE) *GCUT_PUSH(a, &u.nodes) = node;
    *GCUT_PUSH(a, &h->kernels) = u;
    return h->kernels.n - 1;
}

/* ---- access ---- */

/* How the node that makes v is emitted; a parameter is just there. */
static gcut_emit emit_of(const gcut_lowered *h, gcut_ref v)
{
    const gcut_node *n = gcut_def(h->g, v);
    return n ? gcut_op_of(n)->emit : GCUT_EMIT_EXPAND;
}

bool gcut_root_is_const(const gcut_lowered *h, gcut_ref root)
{
    return emit_of(h, root) == GCUT_EMIT_CONST;
}

bool gcut_root_is_iota(const gcut_lowered *h, gcut_ref root)
{
    return emit_of(h, root) == GCUT_EMIT_IOTA;
}

bool gcut_kernel_has(const gcut_lowered *h, const gcut_kernel *u, gcut_ref root)
{
    const uint32_t node = h->g->values.at[root].def;
    uint32_t low = 0, high = u->nodes.n;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (u->nodes.at[mid] < node)
            low = mid + 1;
        else
            high = mid;
    }
    return low < u->nodes.n && u->nodes.at[low] == node;
}

/* Is the root computed by that kernel, or loop of a prologue? */
static bool makes(const gcut_lowered *h, const gcut_kernel *u, gcut_ref root)
{
    if (u->kind == GCUT_KERNEL_LOOP && u->loop.called) return gcut_kernel_has(h, u, root);
    return h->kernel_of[root] != GCUT_NONE && &h->kernels.at[h->kernel_of[root]] == u;
}

gcut_access gcut_kernel_access(const gcut_lowered *h, const gcut_kernel *u, gcut_ref v, gcut_level user)
{
    gcut_module *m = h->g->module;
    const gcut_view *view = &h->view[v];
    const gcut_type *t = gcut_type_of(h->g, v);
    if (gcut_root_is_const(h, view->root)) return GCUT_ACCESS_CONST;
    if (gcut_root_is_iota(h, view->root)) return GCUT_ACCESS_IOTA;
    if (!makes(h, u, view->root)) return GCUT_ACCESS_LOAD;
    switch (h->level[view->root]) {
    case GCUT_LEVEL_FULL: /* a root's own view says where it is stored (concat.c); here it is at hand */
        if (user != GCUT_LEVEL_FULL) return GCUT_ACCESS_BLOCKED;
        return v == view->root || gcut_view_identity(h->g, t, view) ? GCUT_ACCESS_FULL : GCUT_ACCESS_BLOCKED;
    case GCUT_LEVEL_ROW:
        if (user == GCUT_LEVEL_ROW)
            return gcut_view_identity(h->g, t, view) ? GCUT_ACCESS_ROW : GCUT_ACCESS_BLOCKED;
        return gcut_view_row_repeat(m, t, view, u->loop.inner) ? GCUT_ACCESS_ROW : GCUT_ACCESS_BLOCKED;
    default: return GCUT_ACCESS_BLOCKED;
    }
}

uint32_t gcut_kernel_source(const gcut_lowered *h, gcut_ref v)
{
    return h->kernel_of[h->view[v].root];
}

bool gcut_kernel_has_rows(const gcut_lowered *h, const gcut_kernel *loop)
{
    for (uint32_t i = 0; i < loop->nodes.n; i++)
        if (h->level[gcut_node_at(h->g, loop->nodes.at[i])->res0] == GCUT_LEVEL_ROW) return true;
    return false;
}

/* ---- reads ---- */

gcut_ref gcut_kernel_sum(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    return gcut_kernel_sums(u) ? gcut_node_at(h->g, u->nodes.at[1])->res0 : 0;
}

bool gcut_next_use(const gcut_lowered *h, const gcut_kernel *u, gcut_use *x)
{
    for (; x->i < u->nodes.n; x->i++, x->next = 0) {
        x->n = gcut_node_at(h->g, u->nodes.at[x->i]);
        if (x->next == x->n->nargs) continue;
        x->k = x->next++;
        x->v = gcut_arg(h->g, x->n, x->k);
        return true;
    }
    return false;
}

bool gcut_kernel_read(const gcut_lowered *h, uint32_t kernel, gcut_cursor *at, gcut_ref *v)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    while (at->prologue || gcut_next_use(h, u, &at->use)) {
        const bool product = at->use.i == 0; /* after it is a sum */
        const gcut_prologue *c = product ? gcut_operand_prologue(u, at->use.k) : NULL;
        at->copy = product && !c ? gcut_kernel_copied(u, at->use.k) : GCUT_NONE;
        *v = at->use.v;
        if (!c) return true;
        at->prologue = true;
        while (gcut_next_use(h, &c->loop, &at->link)) {
            *v = at->link.v;
            if (!gcut_kernel_has(h, &c->loop, h->view[*v].root)) return true;
        }
        at->prologue = false;
        at->link = (gcut_use){0};
    }
    return false;
}

uint32_t gcut_read_buffer(const gcut_lowered *h, const gcut_cursor *at, gcut_ref v)
{
    return at->copy != GCUT_NONE ? h->kernels.at[at->copy].copy.to : h->buffer[h->view[v].root];
}

bool gcut_kernel_reads_buffer(const gcut_lowered *h, uint32_t kernel, uint32_t buffer)
{
    gcut_cursor at = {0};
    for (gcut_ref v; gcut_kernel_read(h, kernel, &at, &v);)
        if (gcut_read_buffer(h, &at, v) == buffer) return true;
    return false;
}

uint32_t gcut_copy_buffer(const gcut_lowered *h, const gcut_kernel *copy)
{
    return copy->copy.source == GCUT_NONE ? h->buffer[h->view[copy->copy.value].root]
                                          : h->kernels.at[copy->copy.source].copy.to;
}

uint32_t gcut_kernel_deps(const gcut_lowered *h, uint32_t kernel, gcut_cursor *at)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    const uint32_t copied =
        u->kind == GCUT_KERNEL_COPY; /* not kept in `before`: kernels merge while grouping goes on */
    uint32_t s;
    for (gcut_ref v; gcut_kernel_read(h, kernel, at, &v);)
        if ((s = gcut_kernel_source(h, v)) != GCUT_NONE && s != kernel) return s;
    while (at->before < u->before.n + copied) {
        const uint32_t k = at->before++;
        s = k < copied ? gcut_kernel_source(h, u->copy.value) : u->before.at[k - copied];
        if (s != GCUT_NONE && s != kernel) return s;
    }
    return GCUT_NONE;
}

/* ---- even steps ---- */

/* Operand v, if it is read from memory, steps evenly along the last `inner` elements of the loop. */
static bool even_operand(const gcut_lowered *h, const gcut_kernel *u, gcut_ref v, gcut_dim inner)
{
    gcut_access x = gcut_kernel_access(h, u, v, GCUT_LEVEL_FULL);
    if (x != GCUT_ACCESS_LOAD && x != GCUT_ACCESS_IOTA) return true;
    const gcut_type *t = gcut_type_of(h->g, v);
    gcut_dim size, stride;
    uint32_t split = gcut_view_split(h->g->module, t, inner);
    return split <= t->rank &&
           gcut_view_collapse(h->g->module, t, &h->view[v], split, t->rank, &size, &stride);
}

bool gcut_kernel_takes_evenly(const gcut_lowered *h, const gcut_kernel *u, const gcut_node *n, gcut_dim inner)
{
    for (uint32_t k = 0; k < n->nargs; k++)
        if (!even_operand(h, u, gcut_arg(h->g, n, k), inner)) return false;
    return true;
}

bool gcut_kernel_is_even(const gcut_lowered *h, const gcut_kernel *u, gcut_dim inner)
{
    for (gcut_use x = {0}; gcut_next_use(h, u, &x);)
        if (!even_operand(h, u, x.v, inner)) return false;
    return true;
}
