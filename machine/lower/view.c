/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Views: strides and an offset, in elements, over contiguous storage.  Sizes
 * are symbolic, so "equal" means equal normal form.
 */
#include "machine/lower/view.h"

gcut_dim gcut_dim_product(gcut_module *m, const gcut_dim *d, uint32_t n)
{
    gcut_dim p = 1;
    for (uint32_t i = 0; i < n; i++) p = gcut_dim_times(m, p, d[i]);
    return p;
}

gcut_view gcut_view_contiguous(gcut_module *m, const gcut_type *t, gcut_ref root)
{
    gcut_view v = {.root = root};
    gcut_dim s = 1;
    for (uint32_t d = t->rank; d-- > 0;) {
        v.stride[d] = s;
        s = gcut_dim_times(m, s, t->dim[d]);
    }
    return v;
}

bool gcut_view_packed(gcut_module *m, const gcut_type *t, const gcut_view *v)
{
    gcut_view c = gcut_view_contiguous(m, t, v->root);
    if (v->offset != 0) return false;
    for (uint32_t d = 0; d < t->rank; d++)
        if (t->dim[d] != 1 && v->stride[d] != c.stride[d]) return false;
    return true;
}

bool gcut_view_identity(const gcut_graph *g, const gcut_type *t, const gcut_view *v)
{
    gcut_module *m = g->module;
    return !v->bits && gcut_view_packed(m, t, v) &&
           gcut_type_numel(m, t) == gcut_type_numel(m, gcut_type_of(g, v->root));
}

bool gcut_view_whole(gcut_module *m, const gcut_type *t, const gcut_view *v)
{
    return !v->widens && !v->bits && gcut_view_packed(m, t, v);
}

uint32_t gcut_view_split(gcut_module *m, const gcut_type *t, gcut_dim inner)
{
    gcut_dim n = 1;
    for (uint32_t k = t->rank;; k--) {
        if (n == inner) {
            while (k > 0 && t->dim[k - 1] == 1) k--;
            return k;
        }
        if (k == 0) return t->rank + 1u;
        n = gcut_dim_times(m, n, t->dim[k - 1]);
    }
}

bool gcut_view_row_repeat(gcut_module *m, const gcut_type *t, const gcut_view *v, gcut_dim inner)
{
    uint32_t k = gcut_view_split(m, t, inner);
    if (k > t->rank || v->offset != 0 || v->bits) return false;
    gcut_dim s = 1;
    for (uint32_t d = t->rank; d-- > 0;) {
        if (t->dim[d] == 1) continue;
        if (v->stride[d] != (d >= k ? 0 : s)) return false;
        if (d < k) s = gcut_dim_times(m, s, t->dim[d]);
    }
    return true;
}

bool gcut_view_collapse(gcut_module *m, const gcut_type *t, const gcut_view *v, uint32_t begin, uint32_t end,
                        gcut_dim *size, gcut_dim *stride)
{
    *size = 1;
    *stride = 0;
    bool started = false;
    for (uint32_t d = end; d-- > begin;) {
        if (t->dim[d] == 1) continue;
        if (!started)
            *stride = v->stride[d];
        else if (v->stride[d] != gcut_dim_times(m, *size, *stride))
            return false;
        started = true;
        *size = gcut_dim_times(m, *size, t->dim[d]);
    }
    return true;
}

/* Cuts old and new shape into the shortest runs of equal product; a run of several old axes must chain. */
static bool reshape(gcut_module *m, const gcut_type *from, const gcut_type *to, const gcut_view *in,
                    gcut_view *out)
{
    uint32_t i = 0, j = 0;
    while (i < from->rank || j < to->rank) {
        gcut_dim po = 1;
        bool found = false;
        for (uint32_t a = i; a <= from->rank && !found; a++) {
            if (a > i) po = gcut_dim_times(m, po, from->dim[a - 1]);
            gcut_dim pn = 1;
            for (uint32_t b = j; b <= to->rank && !found; b++) {
                if (b > j) pn = gcut_dim_times(m, pn, to->dim[b - 1]);
                if (po != pn || (a == i && b == j)) continue;
                gcut_dim size, stride;
                if (!gcut_view_collapse(m, from, in, i, a, &size, &stride)) return false;
                for (uint32_t d = b; d-- > j;) {
                    out->stride[d] = stride;
                    stride = gcut_dim_times(m, stride, to->dim[d]);
                }
                i = a;
                j = b;
                found = true;
            }
        }
        if (!found) return false;
    }
    return true;
}

static void broadcast(gcut_graph *g, const gcut_node *n, const gcut_type *from, const gcut_view *in,
                      gcut_view *out)
{
    const gcut_dim *axes = gcut_attr_get(g, n, GCUT_KEY_axes)->u.dims;
    for (uint32_t d = 0; d < GCUT_MAX_RANK; d++) out->stride[d] = 0;
    for (uint32_t d = 0; d < from->rank; d++) out->stride[axes[d]] = from->dim[d] == 1 ? 0 : in->stride[d];
}

static void slice(gcut_graph *g, const gcut_node *n, const gcut_type *from, const gcut_view *in,
                  gcut_view *out)
{
    gcut_module *m = g->module;
    const gcut_dim *start = gcut_attr_get(g, n, GCUT_KEY_start)->u.dims;
    const gcut_attr *step = gcut_attr_get(g, n, GCUT_KEY_step);
    for (uint32_t d = 0; d < from->rank; d++) {
        out->offset =
            gcut_dim_make(m->dims, GCUT_DIM_ADD, out->offset, gcut_dim_times(m, start[d], in->stride[d]));
        if (step) out->stride[d] = gcut_dim_times(m, in->stride[d], step->u.dims[d]);
    }
}

bool gcut_view_through(gcut_graph *g, const gcut_node *n, const gcut_view *in, gcut_view *out)
{
    gcut_module *m = g->module;
    gcut_type from = *gcut_type_of(g, gcut_arg(g, n, 0)), to = *gcut_type_of(g, n->res0);
    *out = *in;
    switch ((gcut_op)n->op) {
    case GCUT_OP_stop_gradient: return true;
    case GCUT_OP_broadcast: broadcast(g, n, &from, in, out); return true;
    case GCUT_OP_slice: slice(g, n, &from, in, out); return true;
    case GCUT_OP_transpose: {
        const gcut_dim *perm = gcut_attr_get(g, n, GCUT_KEY_perm)->u.dims;
        for (uint32_t d = 0; d < to.rank; d++) out->stride[d] = in->stride[perm[d]];
        return true;
    }
    case GCUT_OP_reshape:
        if (gcut_view_packed(m, &from, in)) {
            *out = gcut_view_contiguous(m, &to, in->root);
            out->widens = in->widens;
            out->bits = in->bits;
            return true;
        }
        return reshape(m, &from, &to, in, out);
    default: GCUT_NEVER("not a view"); return false;
    }
}
