/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a loop computes for a concat alone is stored where the concat wants it.
 *
 * in:  a lowered graph whose results have their places.   out: such operands share the buffer of the concat,
 * and their views say where in it they are; the concat copies what is left, or has no kernel.
 *
 * The buffer lives from the first loop that stores there, as any does.  So it must be one that nobody else
 * reads or writes before: memory of the concat's own, or the part of a stack that this iteration makes.
 */
#include "kernels/lower/place.h"
#include "kernels/lower/reads.h"

/* Rows from which on a flat loop is as fast in rows. */
#define SHORT_ROW 64

static bool is_fresh(const gcut_program *p, const gcut_lowered *h, uint32_t buffer)
{
    if (buffer == GCUT_NONE) return true;
    const gcut_buffer *b = &p->buffers.at[buffer];
    return b->kind == GCUT_BUFFER_PART ||
           (b->kind == GCUT_BUFFER_ARENA && b->saved && h->parent == GCUT_NONE);
}

/* Operand k of that concat alone reads v, and nothing views it. */
static bool is_for(const gcut_lowered *h, gcut_ref v, uint32_t concat)
{
    return h->reads->views[v] == 0 && gcut_only_reader(h, v) == concat && gcut_reads(h, concat, v) == 1;
}

/* The loop walks `rows` rows of `inner` elements, or all of them as one stretch, which that row is then; a
 * flat loop may be given the rows. */
static bool walks_rows(gcut_lowered *h, uint32_t kernel, gcut_dim rows, gcut_dim inner)
{
    gcut_kernel *u = &h->kernels.at[kernel];
    if (!u->loop.flat) return u->loop.inner == inner;
    if (rows == 1) return true;
    if (u->loop.blocked || !gcut_dim_known(inner) || inner < SHORT_ROW || !gcut_kernel_is_even(h, u, inner))
        return false;
    u->loop.flat = false;
    u->loop.rows = rows;
    u->loop.inner = inner;
    return true;
}

/* Operand k, `at` elements along the axis. */
static void place_operand(gcut_lowered *h, uint32_t kernel, const gcut_node *n, uint32_t k, gcut_dim at)
{
    gcut_module *m = h->g->module;
    gcut_ref v = gcut_arg(h->g, n, k);
    uint32_t maker = h->kernel_of[v], axis = (uint32_t)gcut_attr_get(h->g, n, GCUT_KEY_axis)->u.dim;
    const gcut_type *t = gcut_type_of(h->g, v);
    gcut_dim rows = 1, inner = 1;
    if (h->view[v].root != v || maker == GCUT_NONE || h->buffer[v] != GCUT_NONE) return;
    if (h->kernels.at[maker].kind != GCUT_KERNEL_LOOP || h->level[v] != GCUT_LEVEL_FULL) return;
    if (h->view[v].bits || h->view[v].widens || h->kernels.at[kernel].operand_copy[k] != GCUT_NONE) return;
    for (uint32_t d = 0; d < axis; d++) rows = gcut_dim_make(m->dims, GCUT_DIM_MUL, rows, t->dim[d]);
    for (uint32_t d = axis; d < t->rank; d++) inner = gcut_dim_make(m->dims, GCUT_DIM_MUL, inner, t->dim[d]);
    if (!is_for(h, v, kernel) || !walks_rows(h, maker, rows, inner)) return;
    gcut_view c = gcut_view_contiguous(m, gcut_type_of(h->g, n->res0), v);
    c.offset = gcut_dim_make(m->dims, GCUT_DIM_MUL, at, c.stride[axis]);
    h->view[v] = c;
    h->buffer[v] = h->buffer[n->res0];
}

void gcut_place_concats(gcut_program *p, gcut_lowered *h)
{
    if (h->unfused) return;
    gcut_module *m = h->g->module;
    for (uint32_t u = 0; u < h->kernels.n; u++) {
        const gcut_kernel *w = &h->kernels.at[u];
        if (w->dead || w->kind != GCUT_KERNEL_CONCAT) continue;
        const gcut_node *n = gcut_node_at(h->g, w->nodes.at[0]);
        if (h->view[n->res0].root != n->res0 || !is_fresh(p, h, h->buffer[n->res0])) continue;
        gcut_place_store(p, h, n->res0);
        gcut_dim at = 0, axis = gcut_attr_get(h->g, n, GCUT_KEY_axis)->u.dim;
        for (uint32_t k = 0; k < n->nargs; k++) {
            place_operand(h, u, n, k, at);
            at =
                gcut_dim_make(m->dims, GCUT_DIM_ADD, at, gcut_type_of(h->g, gcut_arg(h->g, n, k))->dim[axis]);
        }
    }
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
