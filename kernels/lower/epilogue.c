/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loops that run on the tiles of a matrix product while they are in cache.
 */
#include "kernels/lower/epilogue.h"

#include "kernels/lower/lower.h"

/* Shorter rows cost more to begin than a flat loop's chunks. */
#define SHORT_ROW 64

/* An updated parameter is stored where the product still reads its old value for the next tile. */
static bool overwrites_operand(const gcut_lowered *h, uint32_t gemm, gcut_ref v)
{
    gcut_cursor at = {0};
    if (h->buffer[v] == GCUT_NONE) return false;
    for (gcut_ref x; gcut_kernel_read(h, gemm, &at, &x);)
        if (gcut_read_buffer(h, &at, x) == h->buffer[v]) return true;
    return false;
}

bool gcut_is_epilogue(const gcut_lowered *h, uint32_t gemm, uint32_t kernel)
{
    const gcut_kernel *w = &h->kernels.at[gemm], *u = &h->kernels.at[kernel];
    if (h->unfused) return false;
    if (w->kind != GCUT_KERNEL_GEMM || u->kind != GCUT_KERNEL_LOOP || u->loop.blocked || u->loop.flat)
        return false;
    gcut_module *m = h->g->module;
    gcut_ref c = gcut_node_at(h->g, w->nodes.at[0])->res0;
    const gcut_type *tc = gcut_type_of(h->g, c);
    if (h->view[c].root != c || tc->rank != 2 || tc->dim[0] != u->loop.rows || tc->dim[1] != u->loop.inner)
        return false;
    const gcut_ref sum = gcut_kernel_sum(h, gemm); /* complete behind the last tile */
    bool reads = false;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        if (overwrites_operand(h, gemm, n->res0)) return false;
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref v = gcut_arg(h->g, n, k);
            if (sum && h->view[v].root == sum) return false;
            if (h->view[v].root != c) continue;
            reads = true;
            if (!gcut_view_identity(h->g, gcut_type_of(h->g, v), &h->view[v]) ||
                gcut_type_numel(m, gcut_type_of(h->g, v)) != u->loop.numel)
                return false;
        }
    }
    return reads;
}

bool gcut_takes_columns(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    if (u->kind != GCUT_KERNEL_LOOP || u->loop.blocked || u->loop.flat) return false;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        bool row = h->level[n->res0] == GCUT_LEVEL_ROW;
        if (gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_REDUCE) return false;
        if (row && h->buffer[n->res0] != GCUT_NONE) return false; /* tiles side by side would all store it */
    }
    return true;
}

static void shape(gcut_lowered *h, uint32_t gemm, uint32_t kernel)
{
    gcut_kernel *u = &h->kernels.at[kernel];
    const gcut_kernel before = *u;
    if (h->kernels.at[gemm].kind != GCUT_KERNEL_GEMM || u->kind != GCUT_KERNEL_LOOP || !u->loop.flat ||
        u->loop.blocked)
        return;
    const gcut_type *t = gcut_type_of(h->g, gcut_node_at(h->g, h->kernels.at[gemm].nodes.at[0])->res0);
    if (t->rank != 2 || !gcut_dim_known(t->dim[1]) || t->dim[1] < SHORT_ROW) return;
    if (gcut_type_numel(h->g->module, t) != u->loop.numel) return;
    u->loop.flat = false;
    u->loop.rows = t->dim[0];
    u->loop.inner = t->dim[1];
    if (!gcut_kernel_is_even(h, kernel, u->loop.inner) || !gcut_is_epilogue(h, gemm, kernel)) *u = before;
}

void gcut_shape_epilogues(gcut_lowered *h)
{
    for (uint32_t i = 1; i < h->order.n; i++) shape(h, h->order.at[i - 1], h->order.at[i]);
}
