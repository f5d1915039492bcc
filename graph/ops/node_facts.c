/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The class of a node's op, what a kernel fuses, and what it computes in.
 */
#include "graph/ops/node_facts.h"

bool gcut_value_is(const gcut_graph *g, gcut_ref v, gcut_class c)
{
    const gcut_node *n = gcut_def(g, v);
    return n && gcut_node_class(n) == c;
}

/* ---- what a kernel fuses ---- */

gcut_axes_position gcut_axes_position_of(const gcut_type *t, uint32_t mask)
{
    bool some = false, kept_before = false, kept_after = false, broken = false, last = false;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->dim[d] == 1) continue;
        bool red = mask >> d & 1;
        if (red && some && !last) broken = true;
        if (!red && !some) kept_before = true;
        if (!red && some) kept_after = true;
        some = some || red;
        last = red;
    }
    if (!kept_before && !kept_after) return GCUT_EVERY;
    if (broken || (kept_before && kept_after) || !some) return GCUT_MIDDLE;
    return kept_before ? GCUT_TRAILING : GCUT_LEADING;
}

bool gcut_node_takes_in(const gcut_graph *g, const gcut_node *n)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    switch (info->emit) {
    case GCUT_EMIT_POINT:
    case GCUT_EMIT_CAST:
    case GCUT_EMIT_BOUNDED: return true;
    case GCUT_EMIT_REDUCE:
        return gcut_axes_position_of(gcut_type_of(g, gcut_arg(g, n, 0)), gcut_attr_axes(g, n)) != GCUT_MIDDLE;
    case GCUT_EMIT_EXPAND: /* its decomposition consists of such ops */
        return info->class == GCUT_CLASS_POINTWISE || info->class == GCUT_CLASS_REDUCTION;
    default: return false;
    }
}

/* Slices have a start, transpositions a permutation. */
bool gcut_view_keeps_order(const gcut_graph *g, const gcut_node *n)
{
    const gcut_type *t = gcut_type_of(g, n->res0);
    const gcut_attr *perm = gcut_attr_get(g, n, GCUT_KEY_perm);
    gcut_dim last = 0;
    if (gcut_attr_get(g, n, GCUT_KEY_start)) return false;
    for (uint32_t d = 0; perm && d < t->rank; d++) {
        if (t->dim[d] == 1) continue;
        if (perm->u.dims[d] < last) return false;
        last = perm->u.dims[d];
    }
    return true;
}

gcut_dtype gcut_node_widest(const gcut_graph *g, const gcut_node *n)
{
    gcut_dtype t = gcut_type_of(g, n->res0)->dtype;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_dtype u = gcut_type_of(g, gcut_arg(g, n, k))->dtype;
        if (gcut_dtype_bytes(u) > gcut_dtype_bytes(t)) t = u;
    }
    return t;
}
