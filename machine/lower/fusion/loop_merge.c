/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which loops can be one: of equal elements and rows, where each element that one reads of the other is computed in the
 * same iteration.
 */
#include "machine/lower/fusion/loop_merge.h"

#include <stdlib.h>

#include "machine/lower/fusion/kernel_paths.h"

bool gcut_loop_is_long(const gcut_lowered *h, gcut_dim numel)
{
    int64_t n;
    return !gcut_dim_eval(h->g->module->dims, numel, h->at, h->nat, &n) || n >= GCUT_UNEVEN_LEAST;
}

/* Every value of loop `from` that a member of `to` reads is at hand where it is read. */
static bool at_hand(const gcut_lowered *h, uint32_t from, const gcut_kernel *to, gcut_dim inner)
{
    for (gcut_use x = {0}; gcut_next_use(h, to, &x);) {
        /* A row reduction consumes FULL values although its own level is ROW. */
        const bool row = h->level[x.n->res0] == GCUT_LEVEL_ROW && gcut_op_of(x.n)->emit != GCUT_EMIT_REDUCE;
        const gcut_view *view = &h->view[x.v];
        const gcut_type *t = gcut_type_of(h->g, x.v);
        if (gcut_kernel_source(h, x.v) != from) continue;
        gcut_level l = h->level[view->root];
        if (l != GCUT_LEVEL_FULL && l != GCUT_LEVEL_ROW) return false;
        if (l == GCUT_LEVEL_FULL && row) return false;
        if (!(l == GCUT_LEVEL_ROW && !row ? gcut_view_row_repeat(h->g->module, t, view, inner)
                                          : gcut_view_identity(h->g, t, view)))
            return false;
    }
    return true;
}

gcut_reason gcut_loops_match(const gcut_lowered *h, uint32_t a, uint32_t b)
{
    const gcut_kernel *x = &h->kernels.at[a], *y = &h->kernels.at[b];
    if (x->kind != GCUT_KERNEL_LOOP || y->kind != GCUT_KERNEL_LOOP) return GCUT_REASON_producer_stores;
    if (h->unfused) return GCUT_REASON_unfused;
    if (x->loop.numel != y->loop.numel) return GCUT_REASON_elements;
    if (x->loop.inner != GCUT_DIM_BAD && y->loop.inner != GCUT_DIM_BAD &&
        (x->loop.inner != y->loop.inner || x->loop.flat != y->loop.flat))
        return GCUT_REASON_rows;
    if ((x->loop.flat || y->loop.flat) && !gcut_loop_is_long(h, x->loop.numel) &&
        !(gcut_kernel_is_even(h, x, x->loop.numel) && gcut_kernel_is_even(h, y, y->loop.numel)))
        return GCUT_REASON_uneven;
    if (x->nodes.n + y->nodes.n > GCUT_MAX_MEMBERS) return GCUT_REASON_members;
    if (x->loop.complete || y->loop.complete) return GCUT_REASON_complete;
    const gcut_dim inner = x->loop.inner != GCUT_DIM_BAD ? x->loop.inner : y->loop.inner;
    return at_hand(h, b, x, inner) && at_hand(h, a, y, inner) ? GCUT_REASON_fused
                                                              : GCUT_REASON_other_elements;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void gcut_loops_merge(gcut_lowered *h, uint32_t a, uint32_t b)
{
    gcut_kernel *x = &h->kernels.at[a], *y = &h->kernels.at[b];
    gcut_kernels_join(h, a, b);
    for (uint32_t i = 0; i < y->nodes.n; i++) {
        uint32_t node = y->nodes.at[i];
        *GCUT_PUSH(h->g->module->arena, &x->nodes) = node;
        h->kernel_of[gcut_node_at(h->g, node)->res0] = a;
    }
    qsort(x->nodes.at, x->nodes.n, sizeof *x->nodes.at, by_number);
    for (uint32_t i = 0; i < y->before.n; i++) *GCUT_PUSH(h->g->module->arena, &x->before) = y->before.at[i];
    if (x->loop.inner == GCUT_DIM_BAD)
        x->loop.inner = y->loop.inner, x->loop.rows = y->loop.rows, x->loop.flat = y->loop.flat;
    x->loop.blocked = x->loop.blocked || y->loop.blocked;
    x->loop.recomputed = x->loop.recomputed || y->loop.recomputed;
    y->dead = true;
    y->nodes.n = y->before.n = 0;
}
