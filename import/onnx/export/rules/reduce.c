/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reductions, and ops along an axis.
 */
#include <string.h>

#include "import/onnx/export/writer.h"

static int64_t axis_attr(const gcut_onnx_writer *w, const gcut_node *n)
{
    return gcut_attr_get(w->here->g, n, GCUT_KEY_axis)->u.dim;
}

/* ReduceSum has its axes as an input since opset 13, the others since 18. */
void gcut_export_reduce(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    const uint32_t mask = gcut_attr_axes(w->here->g, n), rank = gcut_onnx_operand_type(w, n, 0)->rank;
    int64_t axes[GCUT_MAX_RANK];
    uint32_t naxes = 0;
    for (uint32_t r = 0; r < rank; r++)
        if (mask >> r & 1) axes[naxes++] = r;
    const gcut_dtype t = gcut_onnx_operand_type(w, n, 0)->dtype, work = gcut_onnx_computed_in(as, t);
    const char *x = gcut_onnx_operand(w, n, 0), *result = gcut_onnx_own(w, n, 0),
               *own = work == t || !naxes ? result : NULL;
    const bool input = w->opset >= 18 || !strcmp(as, "ReduceSum");
    if (naxes && work != t) x = gcut_onnx_put_cast(w, NULL, x, work);
    if (!naxes)
        x = gcut_onnx_put1(w, "Identity", own, x);
    else if (input)
        x = gcut_onnx_put2(w, as, own, x, gcut_onnx_integers(w, axes, naxes));
    else
        x = gcut_onnx_put1(w, as, own, x);
    if (naxes && !input) gcut_onnx_put_ints(w, "axes", axes, naxes);
    if (naxes) gcut_onnx_put_int(w, "keepdims", gcut_attr_flag(w->here->g, n, GCUT_KEY_keep));
    if (!own) x = gcut_onnx_put_cast(w, result, x, t);
    gcut_onnx_set_whole(w, n, 0, x);
}

/* ArgMax, ArgMin */
void gcut_export_arg(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put1(w, as, gcut_onnx_own(w, n, 0), gcut_onnx_operand(w, n, 0)));
    gcut_onnx_put_int(w, "axis", axis_attr(w, n));
    gcut_onnx_put_int(w, "keepdims", 0);
}

void gcut_export_cumsum(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const int64_t axis = axis_attr(w, n);
    const gcut_dtype t = gcut_onnx_operand_type(w, n, 0)->dtype, work = gcut_onnx_computed_in("CumSum", t);
    const char *x = gcut_onnx_operand(w, n, 0), *own = gcut_onnx_own(w, n, 0),
               *along = gcut_onnx_scalar_of(w, GCUT_I64, (gcut_num){true, axis, (double)axis});
    if (work != t) x = gcut_onnx_put_cast(w, NULL, x, work);
    x = gcut_onnx_put2(w, "CumSum", work == t ? own : NULL, x, along);
    gcut_onnx_put_int(w, "reverse", gcut_attr_flag(w->here->g, n, GCUT_KEY_reverse));
    gcut_onnx_set_whole(w, n, 0, work == t ? x : gcut_onnx_put_cast(w, own, x, t));
}

/* Softmax, LogSoftmax */
void gcut_export_along(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put1(w, as, gcut_onnx_own(w, n, 0), gcut_onnx_operand(w, n, 0)));
    gcut_onnx_put_int(w, "axis", axis_attr(w, n));
}

/* ---- elements in order ---- */

/* TopK of the first k elements, sorted; values or indices under that name, the others under a name of their own. */
static const char *top_k(gcut_onnx_writer *w, const gcut_node *n, gcut_dim k, bool largest,
                         const char *values, const char *indices)
{
    const char *x = gcut_onnx_operand(w, n, 0), *count = gcut_onnx_put_size(w, k);
    const char *name = gcut_onnx_put2(w, "TopK", values, x, count);
    gcut_onnx_put_output(w, indices ? indices : gcut_onnx_fresh(w, w->base));
    gcut_onnx_put_int(w, "axis", axis_attr(w, n));
    gcut_onnx_put_int(w, "largest", largest);
    gcut_onnx_put_int(w, "sorted", 1);
    return name;
}

static gcut_dim size_along(const gcut_onnx_writer *w, const gcut_node *n)
{
    return gcut_type_of(w->here->g, gcut_arg(w->here->g, n, 0))->dim[axis_attr(w, n)];
}

void gcut_export_argsort(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const char *own = gcut_onnx_own(w, n, 0);
    top_k(w, n, size_along(w, n), gcut_attr_flag(w->here->g, n, GCUT_KEY_descending), NULL, own);
    gcut_onnx_set_whole(w, n, 0, own);
}

void gcut_export_sort(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const bool descending = gcut_attr_flag(w->here->g, n, GCUT_KEY_descending);
    gcut_onnx_set_whole(w, n, 0, top_k(w, n, size_along(w, n), descending, gcut_onnx_own(w, n, 0), NULL));
}

void gcut_export_topk(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const gcut_graph *g = w->here->g;
    const char *values = gcut_onnx_own(w, n, 0), *indices = gcut_onnx_own(w, n, 1);
    top_k(w, n, gcut_attr_get(g, n, GCUT_KEY_k)->u.dim, gcut_attr_flag(g, n, GCUT_KEY_largest), values,
          indices);
    gcut_onnx_set_whole(w, n, 0, values);
    gcut_onnx_set_whole(w, n, 1, indices);
}
