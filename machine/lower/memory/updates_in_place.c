/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Results that are written over what they update.
 *
 * in:  L4, and parameters have their buffers.   out: results in the buffers of the parameters that they
 *      update, or copies there; edges that keep old values readable until then.
 *
 * `next w` updates w, `grad w` what the forward graph has begun of it; and a kernel may change one of its
 * operands: a scatter_add what rows are added to, a product with a number what it multiplies.
 */
#include "machine/lower/memory/updates_in_place.h"

#include "machine/lower/fusion/kernel_paths.h"
#include "machine/lower/fusion/reads.h"
#include "machine/lower/fusion/reason.h"
#include "machine/lower/memory/buffers.h"

/* The SCATTER kernel adds rows to `old`, all of it, and reads it for nothing else. */
static bool adds_to(const gcut_lowered *h, const gcut_kernel *u, gcut_ref old)
{
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(h->g, n, k);
        if ((h->view[v].root == old) != (k == 0)) return false;
        if (k == 0 && !gcut_view_identity(h->g, gcut_type_of(h->g, v), &h->view[v])) return false;
    }
    return true;
}

/* Kernel u may overwrite `old` while it makes r: it reads old only at the very element it then writes. */
static bool pointwise_over(const gcut_lowered *h, uint32_t kernel, gcut_ref r, gcut_ref old)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    if (u->kind == GCUT_KERNEL_REGION) return false; /* carries begin with a copy to their result's memory */
    if (!gcut_reads(h, kernel, old)) return true;
    if (u->kind == GCUT_KERNEL_SCATTER) return adds_to(h, u, old);
    if (u->kind != GCUT_KERNEL_LOOP || h->level[r] != GCUT_LEVEL_FULL) return false;
    for (gcut_use x = {0}; gcut_next_use(h, u, &x);) {
        if (h->view[x.v].root != old) continue;
        const gcut_type *t = gcut_type_of(h->g, x.v);
        if (!gcut_view_identity(h->g, t, &h->view[x.v])) return false;
        if (gcut_type_numel(h->g->module, t) != u->loop.numel) return false;
        if (h->level[x.n->res0] != GCUT_LEVEL_FULL) return false;
    }
    /* Later phases of a row would read what an earlier phase overwrote. */
    return !gcut_kernel_has_rows(h, u);
}

/* v may be written where the parameter `old` (0: none) lives: every other reader can run before its kernel.
 */
static gcut_reason decide_overwrite(const gcut_lowered *h, gcut_ref v, gcut_ref old)
{
    const uint32_t u = gcut_kernel_source(h, v);
    if (!gcut_can_own_buffer(h, v)) return GCUT_REASON_no_storage;
    if (old && !pointwise_over(h, u, h->view[v].root, old)) return GCUT_REASON_reads_elsewhere;
    return old && gcut_kernel_reaches_reader(h, u, old) ? GCUT_REASON_read_later : GCUT_REASON_fused;
}

/* The readers of `old` run before kernel u. */
static void read_before(gcut_lowered *h, gcut_ref old, uint32_t u)
{
    for (uint32_t i = 0; old && i < h->reads->of[old].n; i++)
        if (h->reads->of[old].at[i].kernel != u)
            *GCUT_PUSH(h->g->module->arena, &h->kernels.at[u].before) = h->reads->of[old].at[i].kernel;
}

/* `next w`: in place when every reader of the old value can run before, else by a copy after all of them.  A
 * copy never reads what another `next` overwrites: a value that is itself a parameter was set aside before
 * (gcut_store_updates). */
static void store_next(gcut_lowered *h, gcut_ref v, uint32_t to, uint32_t aside)
{
    gcut_ref old = gcut_param_in(h, to);
    uint32_t u = gcut_kernel_source(h, v);
    const gcut_reason r = aside == GCUT_NONE ? decide_overwrite(h, v, old) : GCUT_REASON_no_storage;
    h->memory_reason[v] = (uint8_t)r;
    if (r == GCUT_REASON_fused) {
        h->buffer[h->view[v].root] = to;
    } else {
        u = gcut_copy_new(h, v, to, aside);
        if (aside != GCUT_NONE) *GCUT_PUSH(h->g->module->arena, &h->kernels.at[u].before) = aside;
    }
    read_before(h, old, u);
}

void gcut_store_updates(gcut_program *p, gcut_lowered *h, const gcut_update *u, uint32_t n)
{
    gcut_graph *g = h->g;
    uint32_t *aside = gcut_calloc(p->module->arena, n + 1, sizeof *aside);
    for (uint32_t i = 0; i < n; i++) {
        gcut_ref v = u[i].v;
        aside[i] = GCUT_NONE;
        if (gcut_def(g, h->view[v].root) == NULL)
            aside[i] = gcut_copy_new(h, v, gcut_buffer_in_arena(p, gcut_type_of(g, v), g->values.at[v].name),
                                     GCUT_NONE);
    }
    for (uint32_t i = 0; i < n; i++) store_next(h, u[i].v, u[i].to, aside[i]);
}

/* Is kernel u the only one that reads v's storage, and no result is in it? */
static bool reads_alone(const gcut_lowered *h, uint32_t u, gcut_ref v)
{
    const gcut_ref root = h->view[v].root;
    const gcut_readers *r = &h->reads->of[root];
    return h->buffer[root] == GCUT_NONE && (r->n == 0 || (r->n == 1 && r->at[0].kernel == u));
}

/* The operand that the kernel changes by what else it reads, and does not read twice: rows are added to it,
 * or it is multiplied by a number.  GCUT_NONE: none. */
static uint32_t changed_operand(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    bool scatter = u->kind == GCUT_KERNEL_SCATTER, loop = u->kind == GCUT_KERNEL_LOOP && u->nodes.n == 1;
    if (u->dead || (!scatter && !loop)) return GCUT_NONE;
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    if (scatter) return adds_to(h, u, h->view[gcut_arg(h->g, n, 0)].root) ? 0 : GCUT_NONE;
    for (uint32_t k = 0; n->op == GCUT_OP_mul && k < 2; k++) {
        gcut_ref x = gcut_arg(h->g, n, k), factor = h->view[gcut_arg(h->g, n, 1 - k)].root;
        bool same = gcut_view_identity(h->g, gcut_type_of(h->g, x), &h->view[x]) && h->view[x].root != factor;
        if (same && gcut_type_of(h->g, factor)->rank == 0) return k;
    }
    return GCUT_NONE;
}

/* The value and what it is made of, all of it, in one buffer. */
static bool is_inplace(const gcut_lowered *h, gcut_ref x, gcut_ref y)
{
    uint32_t from = h->buffer[h->view[x].root];
    return from != GCUT_NONE && from == h->buffer[h->view[y].root];
}

/* Operand x of kernel u is made where u's result y will be, and u changes it there. */
static gcut_reason decide_change(const gcut_lowered *h, uint32_t u, gcut_ref x, gcut_ref y)
{
    const uint32_t to = h->buffer[h->view[y].root];
    if (to == GCUT_NONE || !gcut_view_identity(h->g, gcut_type_of(h->g, y), &h->view[y]))
        return GCUT_REASON_no_storage;
    if (!reads_alone(h, u, x)) return GCUT_REASON_other_readers;
    return decide_overwrite(h, x, gcut_param_in(h, to));
}

void gcut_store_changed(gcut_program *p, gcut_lowered *h)
{
    if (h->unfused) return;
    for (uint32_t u = h->kernels.n; u-- > 0;) { /* the last first: what is changed may be changed again */
        uint32_t k = changed_operand(h, u);
        if (k == GCUT_NONE) continue;
        const gcut_node *n = gcut_node_at(h->g, h->kernels.at[u].nodes.at[0]);
        gcut_ref x = gcut_arg(h->g, n, k);
        if (h->kernels.at[u].kind == GCUT_KERNEL_SCATTER) gcut_store_in_arena(p, h, n->res0);
        const gcut_reason r = decide_change(h, u, x, n->res0);
        h->memory_reason[n->res0] = (uint8_t)r;
        if (r != GCUT_REASON_fused) continue;
        h->buffer[h->view[x].root] = h->buffer[h->view[n->res0].root];
        read_before(h, gcut_param_in(h, h->buffer[h->view[x].root]), gcut_kernel_source(h, x));
    }
}

bool gcut_scatter_is_inplace(const gcut_lowered *h, uint32_t kernel)
{
    if (h->kernels.at[kernel].kind != GCUT_KERNEL_SCATTER) return false;
    const gcut_node *n = gcut_node_at(h->g, h->kernels.at[kernel].nodes.at[0]);
    return is_inplace(h, gcut_arg(h->g, n, 0), n->res0);
}

gcut_ref gcut_scaling_factor(const gcut_lowered *h, uint32_t kernel)
{
    uint32_t k = h->kernels.at[kernel].kind == GCUT_KERNEL_LOOP ? changed_operand(h, kernel) : GCUT_NONE;
    if (k == GCUT_NONE) return 0;
    const gcut_node *n = gcut_node_at(h->g, h->kernels.at[kernel].nodes.at[0]);
    gcut_ref factor = h->view[gcut_arg(h->g, n, 1 - k)].root;
    gcut_dtype t = gcut_type_of(h->g, factor)->dtype;
    bool plain = h->buffer[factor] != GCUT_NONE && (t == GCUT_F32 || t == GCUT_F64);
    return plain && is_inplace(h, gcut_arg(h->g, n, k), n->res0) ? factor : 0;
}
