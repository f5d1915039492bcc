/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loops that run on the tiles of a matrix product while they are in cache.
 */
#include "kernels/lower.h"

/* Shorter rows cost more to begin than a flat loop's chunks. */
#define SHORT_ROW 64

/* An updated parameter is stored where the product still reads its old value for the next tile. */
static bool overwrites_operand(const gcut_half *h, uint32_t gemm, gcut_ref v)
{
    gcut_cursor at = {0};
    if (h->buffer[v] == GCUT_NONE) return false;
    for (gcut_ref x; gcut_unit_read(h, gemm, &at, &x);)
        if (gcut_read_buffer(h, &at, x) == h->buffer[v]) return true;
    return false;
}

bool gcut_is_epilogue(const gcut_half *h, uint32_t gemm, uint32_t unit)
{
    const gcut_unit *w = &h->units.at[gemm], *u = &h->units.at[unit];
    if (h->unfused) return false;
    if (w->kind != GCUT_U_GEMM || u->kind != GCUT_U_LOOP || u->blocked || u->flat) return false;
    gcut_module *m = h->g->module;
    gcut_ref c = gcut_node_at(h->g, w->nodes.at[0])->res0;
    const gcut_type *tc = gcut_type_of(h->g, c);
    if (h->view[c].root != c || tc->rank != 2 || tc->dim[0] != u->rows || tc->dim[1] != u->inner)
        return false;
    const gcut_ref sum = gcut_unit_sum(h, gemm); /* complete behind the last tile */
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
                gcut_type_numel(m, gcut_type_of(h->g, v)) != u->numel)
                return false;
        }
    }
    return reads;
}

bool gcut_takes_columns(const gcut_half *h, uint32_t unit)
{
    const gcut_unit *u = &h->units.at[unit];
    if (u->kind != GCUT_U_LOOP || u->blocked || u->flat) return false;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        bool row = h->level[n->res0] == GCUT_L_ROW;
        if (gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_REDUCE) return false;
        if (row && h->buffer[n->res0] != GCUT_NONE) return false; /* tiles side by side would all store it */
    }
    return true;
}

static void shape(gcut_half *h, uint32_t gemm, uint32_t unit)
{
    gcut_unit *u = &h->units.at[unit];
    const gcut_unit before = *u;
    if (h->units.at[gemm].kind != GCUT_U_GEMM || u->kind != GCUT_U_LOOP || !u->flat || u->blocked) return;
    const gcut_type *t = gcut_type_of(h->g, gcut_node_at(h->g, h->units.at[gemm].nodes.at[0])->res0);
    if (t->rank != 2 || !gcut_dim_known(t->dim[1]) || t->dim[1] < SHORT_ROW) return;
    if (gcut_type_numel(h->g->module, t) != u->numel) return;
    u->flat = false;
    u->rows = t->dim[0];
    u->inner = t->dim[1];
    if (!gcut_unit_is_even(h, unit, u->inner) || !gcut_is_epilogue(h, gemm, unit)) *u = before;
}

void gcut_shape_epilogues(gcut_half *h)
{
    for (uint32_t i = 1; i < h->order.n; i++) shape(h, h->order.at[i - 1], h->order.at[i]);
}
