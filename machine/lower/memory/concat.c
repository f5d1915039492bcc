/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a loop computes for a concat alone is stored where the concat wants it.
 *
 * in:  L4, and results have their places.   out: such operands share the buffer of the concat,
 * and their views say where in it they are; the concat copies what is left, or has no kernel.
 *
 * The buffer lives from the first loop that stores there, as any does.  So it must be one that nobody else
 * reads or writes before: memory of the concat's own, or the part of a stack that this iteration makes.
 */
#include "machine/lower/memory/concat.h"

#include "machine/lower/fusion/reads.h"
#include "machine/lower/fusion/reason.h"
#include "machine/lower/memory/buffers.h"

static bool is_fresh(const gcut_program *p, const gcut_lowered *h, uint32_t buffer)
{
    if (buffer == GCUT_NONE) return true;
    const gcut_buffer *b = &p->buffers.at[buffer];
    return b->kind == GCUT_BUFFER_PART ||
           (b->kind == GCUT_BUFFER_ARENA && b->saved && h->parent == GCUT_NONE);
}

/* Where in a concat an operand is, and how its loop would have to walk it. */
typedef struct part {
    gcut_ref v;
    uint32_t loop, axis;
    gcut_dim rows, inner;
} part;

static part part_of(const gcut_lowered *h, const gcut_node *n, uint32_t k)
{
    const gcut_ref v = gcut_arg(h->g, n, k);
    const gcut_type *t = gcut_type_of(h->g, v);
    const uint32_t axis = (uint32_t)gcut_attr_get(h->g, n, GCUT_KEY_axis)->u.dim;
    return (part){v, h->kernel_of[v], axis, gcut_dim_product(h->g->module, t->dim, axis),
                  gcut_dim_product(h->g->module, t->dim + axis, t->rank - axis)};
}

/* The loop walks x.rows rows of x.inner elements, or all of them as one stretch, which that row is then; a
 * flat loop may be given the rows. */
static gcut_reason decide_rows(const gcut_lowered *h, const part *x)
{
    const gcut_kernel *u = &h->kernels.at[x->loop];
    if (!u->loop.flat) return u->loop.inner == x->inner ? GCUT_REASON_fused : GCUT_REASON_rows;
    if (x->rows == 1) return GCUT_REASON_fused;
    if (u->loop.blocked) return GCUT_REASON_blocked;
    if (!gcut_dim_known(x->inner) || x->inner < GCUT_SHORT_ROW) return GCUT_REASON_short_rows;
    return gcut_kernel_is_even(h, u, x->inner) ? GCUT_REASON_fused : GCUT_REASON_uneven;
}

/* Operand k of the concat can be made where the concat wants it. */
static gcut_reason decide_operand(const gcut_lowered *h, uint32_t kernel, uint32_t k, const part *x)
{
    if (x->loop == GCUT_NONE || h->kernels.at[x->loop].kind != GCUT_KERNEL_LOOP)
        return GCUT_REASON_producer_stores;
    if (h->view[x->v].root != x->v || h->buffer[x->v] != GCUT_NONE) return GCUT_REASON_no_storage;
    if (h->level[x->v] != GCUT_LEVEL_FULL) return GCUT_REASON_other_elements;
    if (h->view[x->v].bits || h->view[x->v].widens || h->kernels.at[kernel].operand_copy[k] != GCUT_NONE)
        return GCUT_REASON_other_order;
    /* Operand k of that concat alone reads it, and nothing views it. */
    const bool alone =
        h->reads->views[x->v] == 0 && gcut_only_reader(h, x->v) == kernel && gcut_reads(h, kernel, x->v) == 1;
    return alone ? decide_rows(h, x) : GCUT_REASON_other_readers;
}

/* `at` elements along the axis. */
static void store_part(gcut_lowered *h, const gcut_node *n, const part *x, gcut_dim at)
{
    gcut_module *m = h->g->module;
    gcut_kernel *u = &h->kernels.at[x->loop];
    gcut_view c = gcut_view_contiguous(m, gcut_type_of(h->g, n->res0), x->v);
    c.offset = gcut_dim_times(m, at, c.stride[x->axis]);
    h->view[x->v] = c;
    h->buffer[x->v] = h->buffer[n->res0];
    if (!u->loop.flat || x->rows == 1) return;
    u->loop.flat = false;
    u->loop.rows = x->rows;
    u->loop.inner = x->inner;
}

static void store_in_concat(gcut_program *p, gcut_lowered *h, uint32_t kernel)
{
    const uint32_t node = h->kernels.at[kernel].nodes.at[0];
    const gcut_node *n = gcut_node_at(h->g, node);
    const bool fresh = h->view[n->res0].root == n->res0 && is_fresh(p, h, h->buffer[n->res0]);
    gcut_dim at = 0;
    if (fresh) gcut_store_in_arena(p, h, n->res0);
    for (uint32_t k = 0; k < n->nargs; k++) {
        const part x = part_of(h, n, k);
        const gcut_reason r = fresh ? decide_operand(h, kernel, k, &x) : GCUT_REASON_concat_in_use;
        gcut_set_reason(h, node, k, r);
        if (r == GCUT_REASON_fused) store_part(h, n, &x, at);
        at = gcut_dim_make(h->g->module->dims, GCUT_DIM_ADD, at, gcut_type_of(h->g, x.v)->dim[x.axis]);
    }
}

void gcut_store_in_concats(gcut_program *p, gcut_lowered *h)
{
    for (uint32_t u = 0; u < h->kernels.n && !h->unfused; u++)
        if (!h->kernels.at[u].dead && h->kernels.at[u].kind == GCUT_KERNEL_CONCAT) store_in_concat(p, h, u);
}

bool gcut_concat_has(const gcut_lowered *h, uint32_t kernel, uint32_t k)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    if (u->kind != GCUT_KERNEL_CONCAT || u->operand_copy[k] != GCUT_NONE) return false;
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    gcut_ref v = gcut_arg(h->g, n, k);
    return h->view[v].root == v && h->buffer[v] == h->buffer[n->res0];
}

bool gcut_kernel_is_idle(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    if (u->kind != GCUT_KERNEL_CONCAT) return false;
    for (uint32_t k = 0; k < gcut_node_at(h->g, u->nodes.at[0])->nargs; k++)
        if (!gcut_concat_has(h, kernel, k)) return false;
    return true;
}
