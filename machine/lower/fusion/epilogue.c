/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loops that run on the tiles of a matrix product while they are in cache.
 *
 * in:  L7.   out: L8: such loops have the rows of their product.   keeps: members, buffers, order.
 */
#include "machine/lower/fusion/epilogue.h"

#include "machine/lower/fusion/reason.h"
#include "machine/lower/lower.h"

/* Of a product of type t, over all batches. */
static gcut_dim rows_of(const gcut_lowered *h, const gcut_type *t)
{
    return gcut_dim_product(h->g->module, t->dim, t->rank - 1);
}

/* What members of the loop read of product c, and of the sum that is complete after its last tile. */
static gcut_reason reads_tiles(const gcut_lowered *h, uint32_t gemm, const gcut_kernel *u, gcut_ref c)
{
    const gcut_ref sum = gcut_kernel_sum(h, gemm);
    bool reads = false;
    for (gcut_use x = {0}; gcut_next_use(h, u, &x);) {
        const gcut_type *t = gcut_type_of(h->g, x.v);
        /* An updated parameter is stored where the product still reads its old value for the next tile. */
        const uint32_t to = h->buffer[x.n->res0];
        if (to != GCUT_NONE && gcut_kernel_reads_buffer(h, gemm, to)) return GCUT_REASON_overwrites_operand;
        if (sum && h->view[x.v].root == sum) return GCUT_REASON_reads_sum;
        if (h->view[x.v].root != c) continue;
        reads = true;
        if (!gcut_view_identity(h->g, t, &h->view[x.v]) || gcut_type_numel(h->g->module, t) != u->loop.numel)
            return GCUT_REASON_other_elements;
    }
    return reads ? GCUT_REASON_fused : GCUT_REASON_not_adjacent;
}

/* Row r of the loop reads row r of the product and no other: it can run tile by tile right after it.  The
 * loop is looked at as if it had these rows. */
static gcut_reason decide(const gcut_lowered *h, uint32_t gemm, const gcut_kernel *u, gcut_dim rows,
                          gcut_dim inner)
{
    const gcut_kernel *product = &h->kernels.at[gemm];
    const gcut_ref c = gcut_node_at(h->g, product->nodes.at[0])->res0;
    const gcut_type *t = gcut_type_of(h->g, c);
    if (h->unfused) return GCUT_REASON_unfused;
    if (u->loop.blocked) return GCUT_REASON_blocked;
    if (h->view[c].root != c) return GCUT_REASON_other_order;
    if (rows_of(h, t) != rows || t->dim[t->rank - 1] != inner) return GCUT_REASON_other_shape;
    return reads_tiles(h, gemm, u, c);
}

/* Has the loop no rows of its own?  A flat one has none, and in others they may be longer than the product's,
 * all of a batch under one number for example. */
static bool can_divide(const gcut_lowered *h, const gcut_kernel *u, const gcut_type *t)
{
    return u->loop.flat || (u->loop.inner != t->dim[t->rank - 1] && !gcut_kernel_has_rows(h, u));
}

/* Such a loop after a product of its shape gets the product's rows, if they are long and it walks them
 * evenly. */
static gcut_reason decide_divided(const gcut_lowered *h, uint32_t gemm, const gcut_kernel *u,
                                  const gcut_type *t)
{
    const gcut_dim inner = t->dim[t->rank - 1];
    if (u->loop.blocked) return GCUT_REASON_blocked;
    if (!gcut_dim_known(inner) || inner < GCUT_SHORT_ROW) return GCUT_REASON_short_rows;
    if (gcut_type_numel(h->g->module, t) != u->loop.numel) return GCUT_REASON_other_shape;
    if (!gcut_kernel_is_even(h, u, inner)) return GCUT_REASON_uneven;
    return decide(h, gemm, u, rows_of(h, t), inner);
}

bool gcut_takes_columns(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    if (u->kind != GCUT_KERNEL_LOOP || u->loop.blocked || u->loop.flat) return false;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        bool row = h->level[n->res0] == GCUT_LEVEL_ROW;
        if (gcut_op_of(n)->emit == GCUT_EMIT_REDUCE) return false;
        if (row && h->buffer[n->res0] != GCUT_NONE) return false; /* tiles side by side would all store it */
    }
    return true;
}

/* By every operand of the loop that the product makes; GCUT_NONE: any product. */
static void note(gcut_lowered *h, uint32_t gemm, uint32_t kernel, gcut_reason r)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    for (gcut_use x = {0}; gcut_next_use(h, u, &x);) {
        const uint32_t s = gcut_kernel_source(h, x.v);
        if (s == gemm || (gemm == GCUT_NONE && s != GCUT_NONE && h->kernels.at[s].kind == GCUT_KERNEL_GEMM))
            gcut_set_reason(h, u->nodes.at[x.i], x.k, r);
    }
}

static const gcut_type *type_of_product(const gcut_lowered *h, uint32_t gemm)
{
    return gcut_type_of(h->g, gcut_node_at(h->g, h->kernels.at[gemm].nodes.at[0])->res0);
}

gcut_reason gcut_decide_epilogue(const gcut_lowered *h, uint32_t gemm, const gcut_kernel *u)
{
    const gcut_type *t = type_of_product(h, gemm);
    return can_divide(h, u, t) ? decide_divided(h, gemm, u, t)
                               : decide(h, gemm, u, u->loop.rows, u->loop.inner);
}

static void make(gcut_lowered *h, uint32_t gemm, uint32_t kernel)
{
    gcut_kernel *u = &h->kernels.at[kernel];
    const gcut_type *t = type_of_product(h, gemm);
    const gcut_reason r = gcut_decide_epilogue(h, gemm, u);
    note(h, gemm, kernel, r);
    if (r != GCUT_REASON_fused) return;
    u->loop.product = gemm;
    if (!can_divide(h, u, t)) return;
    u->loop.flat = false;
    u->loop.rows = rows_of(h, t);
    u->loop.inner = t->dim[t->rank - 1];
}

void gcut_make_epilogues(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    for (uint32_t i = 0; i < h->order.n; i++) {
        const uint32_t gemm = i ? h->order.at[i - 1] : GCUT_NONE, kernel = h->order.at[i];
        if (h->kernels.at[kernel].kind != GCUT_KERNEL_LOOP) continue;
        note(h, GCUT_NONE, kernel, GCUT_REASON_not_adjacent);
        if (i && h->kernels.at[gemm].kind == GCUT_KERNEL_GEMM) make(h, gemm, kernel);
    }
}
