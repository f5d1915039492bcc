/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Columns of loops: into which rows of a loop's elements its function is cut.
 *
 * in:  L2, where reductions have decided the columns of their loops.   out: L3.   keeps: members, views.
 *
 * A loop without reductions over rows or columns is walked in the longest trailing stretch over which every
 * operand steps evenly; where that is all of it, it is flat.
 */
#include "machine/lower/lower.h"

typedef struct columns {
    bool flat;
    gcut_dim inner, rows;
} columns;

void gcut_loop_make_flat(gcut_lowered *h, gcut_kernel *loop)
{
    loop->loop.flat = true;
    loop->loop.inner = GCUT_CHUNK;
    loop->loop.rows = gcut_dim_make(h->g->module->dims, GCUT_DIM_CEILDIV, loop->loop.numel, GCUT_CHUNK);
}

/* The number of rows of `inner` elements of type t, which are numel together; GCUT_DIM_BAD: none. */
static gcut_dim rows_of(const gcut_lowered *h, gcut_dim numel, const gcut_type *t, gcut_dim inner)
{
    uint32_t k = gcut_view_split(h->g->module, t, inner);
    gcut_dim r = 1;
    if (k > t->rank) return GCUT_DIM_BAD;
    for (uint32_t d = 0; d < k; d++) r = gcut_dim_times(h->g->module, r, t->dim[d]);
    return numel == gcut_dim_times(h->g->module, r, inner) ? r : GCUT_DIM_BAD;
}

/* Of the types with as many elements as the loop, among operands and results, the first of the highest rank.
 */
static const gcut_type *finest_type(const gcut_lowered *h, const gcut_kernel *u)
{
    const gcut_type *best = NULL;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        for (uint32_t k = 0; k <= n->nargs; k++) {
            const gcut_type *t = gcut_type_of(h->g, k < n->nargs ? gcut_arg(h->g, n, k) : n->res0);
            if (gcut_type_numel(h->g->module, t) == u->loop.numel && (!best || t->rank > best->rank))
                best = t;
        }
    }
    GCUT_ASSERT(best != NULL);
    return best;
}

static columns decide(const gcut_lowered *h, const gcut_kernel *u)
{
    if (gcut_kernel_is_even(h, u, u->loop.numel)) return (columns){.flat = true};
    const gcut_type *t = finest_type(h, u);
    columns c = {.inner = GCUT_DIM_BAD};
    for (uint32_t k = 1; k < t->rank; k++) {
        c.inner = 1;
        for (uint32_t d = k; d < t->rank; d++) c.inner = gcut_dim_times(h->g->module, c.inner, t->dim[d]);
        if (c.inner != 1 && gcut_kernel_is_even(h, u, c.inner)) break;
    }
    if (c.inner == GCUT_DIM_BAD || c.inner == 1) c.inner = t->rank ? t->dim[t->rank - 1] : 1;
    c.rows = rows_of(h, u->loop.numel, t, c.inner);
    return c;
}

void gcut_choose_loop_columns(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    for (uint32_t i = 0; i < h->kernels.n; i++) {
        gcut_kernel *u = &h->kernels.at[i];
        if (u->dead || u->kind != GCUT_KERNEL_LOOP || u->loop.inner != GCUT_DIM_BAD) continue;
        const columns c = decide(h, u);
        if (c.flat) {
            gcut_loop_make_flat(h, u);
        } else {
            u->loop.inner = c.inner;
            u->loop.rows = c.rows;
        }
    }
}
