/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Values of the graph as tensors of the model.
 */
#include "import/onnx/export/writer.h"

const gcut_onnx_view *gcut_onnx_view_of(gcut_onnx_writer *w, gcut_ref v)
{
    const gcut_onnx_view *x = &w->here->view[v];
    GCUT_ASSERT(x->name);
    return x;
}

void gcut_onnx_set_view(gcut_onnx_writer *w, const gcut_node *n, uint32_t k, gcut_onnx_view view)
{
    const gcut_type *t = gcut_type_of(w->here->g, n->res0 + k);
    if (view.rank == t->rank && !view.repeated) view.whole = view.name;
    w->here->view[n->res0 + k] = view;
}

void gcut_onnx_set_whole(gcut_onnx_writer *w, const gcut_node *n, uint32_t k, const char *name)
{
    gcut_onnx_set_view(w, n, k,
                       (gcut_onnx_view){.name = name, .rank = gcut_type_of(w->here->g, n->res0 + k)->rank});
}

const char *gcut_onnx_whole(gcut_onnx_writer *w, gcut_ref v)
{
    gcut_onnx_view *x = &w->here->view[v];
    const gcut_type *t = gcut_type_of(w->here->g, v);
    GCUT_ASSERT(x->name);
    if (!x->whole) {
        const char *base = w->base, *own = w->here->own[v];
        w->base = own;
        x->whole = gcut_onnx_put2(w, "Expand", own, x->name, gcut_onnx_put_sizes(w, t->dim, t->rank));
        w->base = base;
    }
    return x->whole;
}

/* A literal shape says 0 for a size that stays, unless it has the size 0, and -1 for one that follows from the others. */
const char *gcut_onnx_reshaped(gcut_onnx_writer *w, const char *x, const gcut_type *from, const gcut_type *to,
                               const char *out)
{
    int64_t literal[GCUT_MAX_RANK];
    uint32_t open = 0;
    bool empty = false;
    for (uint32_t r = 0; r < to->rank; r++) empty |= to->dim[r] == 0;
    for (uint32_t r = 0; r < to->rank; r++) {
        literal[r] = to->dim[r];
        if (gcut_dim_known(to->dim[r])) continue;
        const bool stays = !empty && from && r < from->rank && from->dim[r] == to->dim[r];
        literal[r] = stays ? 0 : -1;
        open += !stays;
    }
    const bool symbolic = open > 1 || (open && empty);
    const char *shape =
        symbolic ? gcut_onnx_put_sizes(w, to->dim, to->rank) : gcut_onnx_integers(w, literal, to->rank);
    const char *y = gcut_onnx_put2(w, "Reshape", out, x, shape);
    if (empty) gcut_onnx_put_int(w, "allowzero", 1);
    return y;
}
