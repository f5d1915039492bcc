/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The class of a node's op, what a kernel fuses and computes in, and which algorithm a convolution takes.
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

bool gcut_node_ends_kernel(const gcut_graph *g, const gcut_node *n)
{
    const gcut_class class = gcut_node_class(n);
    if (class != GCUT_CLASS_REDUCTION) return class != GCUT_CLASS_POINTWISE;
    const gcut_type *t = gcut_type_of(g, gcut_arg(g, n, 0));
    const bool reduces =
        gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_REDUCE || gcut_attr_flag(g, n, GCUT_KEY_keep);
    if (!reduces && gcut_type_of(g, n->res0)->rank >= t->rank) return false;
    return gcut_axes_position_of(t, gcut_attr_axes(g, n)) != GCUT_TRAILING;
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

/* ---- convolutions ---- */

/* Below this number of channels the transforms of GCUT_WINDOW_tiled cost more than they save. */
#define FEW_CHANNELS 24
/* The tiled gradient of w transforms in + out channels of x and y, and saves multiplications of in * out pairs of them.
 * It is used from this ratio of in * out to in + out on.  For 8 images of 16 * 16 it took, with one and with two threads on
 * AVX-512, 0.98 and 1.24 times as long as the plain one at a ratio of 32 (64 and 64 channels), 0.82 and 0.99 times at 48
 * (96 and 96; bench/bench_rt.c). */
#define PRODUCTS_PER_TRANSFORM 48

/* Is the list [a, b]? */
static bool both(const gcut_dim *list, gcut_dim a, gcut_dim b)
{
    return list[0] == a && list[1] == b;
}

static bool few(gcut_dim channels)
{
    return gcut_dim_known(channels) && channels < FEW_CHANNELS;
}

/* Symbolic sizes count as large, and never as those of a tiled window; nor does what shall take less
 * workspace. */
gcut_window gcut_conv_window(const gcut_graph *g, const gcut_node *n)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    GCUT_ASSERT(gcut_is_convolution(n));
    gcut_ref w = info->way == GCUT_WAY_conv_w ? n->res0 : gcut_arg(g, n, 1);
    const gcut_dim *d = gcut_type_of(g, w)->dim; /* [O, C / groups, KH, KW] */
    const gcut_dim *stride = gcut_attr_get(g, n, GCUT_KEY_stride)->u.dims,
                   *dilation = gcut_attr_get(g, n, GCUT_KEY_dilation)->u.dims,
                   groups = gcut_attr_get(g, n, GCUT_KEY_groups)->u.dim,
                   out = gcut_dim_known(d[0]) ? d[0] / groups : d[0];
    bool known = gcut_dim_known(d[0]) && gcut_dim_known(d[1]);
    if (groups != 1 && d[1] == 1) return GCUT_WINDOW_depthwise;
    if (!both(stride, 1, 1))
        return both(stride, d[2], d[3]) && both(dilation, 1, 1) ? GCUT_WINDOW_patches : GCUT_WINDOW_strided;
    if (both(d + 2, 1, 1)) return GCUT_WINDOW_point;
    if (d[1] == 1) return GCUT_WINDOW_single;
    if (few(d[1]) || few(out)) return GCUT_WINDOW_narrow;
    if (gcut_mark_find(&n->marks, GCUT_MARK_less_workspace)) known = false;
    if (known && info->way == GCUT_WAY_conv_w && d[1] * out < PRODUCTS_PER_TRANSFORM * (d[1] + out))
        known = false;
    return known && both(d + 2, 3, 3) && both(dilation, 1, 1) ? GCUT_WINDOW_tiled : GCUT_WINDOW_plain;
}

bool gcut_pool_is_2x2(const gcut_graph *g, const gcut_node *n)
{
    const gcut_attr *window = gcut_attr_get(g, n, GCUT_KEY_window),
                    *stride = gcut_attr_get(g, n, GCUT_KEY_stride), *pad = gcut_attr_get(g, n, GCUT_KEY_pad);
    if (n->op == GCUT_OP_max_pool2d_take) return false; /* one kernel for all windows */
    for (uint32_t k = 0; k < 2; k++)
        if (window->u.dims[k] != 2 || (stride && stride->u.dims[k] != 2)) return false;
    for (uint32_t k = 0; pad && k < pad->n; k++)
        if (pad->u.dims[k] != 0) return false;
    return true;
}
