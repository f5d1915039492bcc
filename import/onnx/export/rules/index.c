/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ops of indices.
 */
#include "import/onnx/export/writer.h"

static uint32_t axis_attr(const gcut_onnx_writer *w, const gcut_node *n)
{
    return (uint32_t)gcut_attr_get(w->here->g, n, GCUT_KEY_axis)->u.dim;
}

static const gcut_node *made_by(const gcut_graph *g, gcut_ref v, gcut_op op)
{
    const gcut_node *n = gcut_def(g, v);
    return n && n->op == op ? n : NULL;
}

/* Is every element of v the number or size d? */
static bool is_size(const gcut_graph *g, gcut_ref v, gcut_dim d)
{
    const gcut_node *n = gcut_def(g, v);
    while (n && n->op == GCUT_OP_broadcast) n = gcut_def(g, gcut_arg(g, n, 0));
    if (n && n->op == GCUT_OP_dim) return gcut_attr_get(g, n, GCUT_KEY_of)->u.dim == d;
    return n && n->op == GCUT_OP_full && gcut_dim_known(d) &&
           gcut_attr_num(g, n, GCUT_KEY_value) == (double)d;
}

/* i of "i < 0 ? i + size : i", which the import of Gather writes; v itself where it is another value. */
static gcut_ref from_either_end(const gcut_graph *g, gcut_ref v, gcut_dim size)
{
    const gcut_node *s = made_by(g, v, GCUT_OP_select);
    const gcut_node *negative = s ? made_by(g, gcut_arg(g, s, 0), GCUT_OP_lt) : NULL,
                    *sum = s ? made_by(g, gcut_arg(g, s, 1), GCUT_OP_add) : NULL;
    const gcut_ref i = s ? gcut_arg(g, s, 2) : 0;
    const bool same = negative && sum && gcut_arg(g, negative, 0) == i && gcut_arg(g, sum, 0) == i &&
                      is_size(g, gcut_arg(g, negative, 1), 0) && is_size(g, gcut_arg(g, sum, 1), size);
    return same ? i : v;
}

/* Negative indices of Gather count from the end. */
void gcut_export_take(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const gcut_graph *g = w->here->g;
    const gcut_dim size = gcut_onnx_operand_type(w, n, 0)->dim[axis_attr(w, n)];
    const char *x = gcut_onnx_operand(w, n, 0),
               *i = gcut_onnx_whole(w, from_either_end(g, gcut_arg(g, n, 1), size));
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put2(w, "Gather", gcut_onnx_own(w, n, 0), x, i));
    gcut_onnx_put_int(w, "axis", axis_attr(w, n));
}

void gcut_export_pick(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const char *axis = gcut_onnx_integers(w, &(int64_t){axis_attr(w, n)}, 1);
    const char *x = gcut_onnx_operand(w, n, 0),
               *i = gcut_onnx_put2(w, "Unsqueeze", NULL, gcut_onnx_operand(w, n, 1), axis);
    x = gcut_onnx_put2(w, "GatherElements", NULL, x, i);
    gcut_onnx_put_int(w, "axis", axis_attr(w, n));
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put2(w, "Squeeze", gcut_onnx_own(w, n, 0), x, axis));
}

/* The axes of the indices become one, and the indices are repeated to the shape of what is added. */
void gcut_export_scatter_add(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    gcut_dims *dims = w->g->module->dims;
    const uint32_t axis = axis_attr(w, n);
    const gcut_type *x = gcut_onnx_operand_type(w, n, 0), *i = gcut_onnx_operand_type(w, n, 1),
                    *u = gcut_onnx_operand_type(w, n, 2);
    gcut_type added = *x, index = {i->dtype, (uint8_t)(x->rank - axis), {0}};
    gcut_dim count = 1;
    for (uint32_t r = 0; r < i->rank; r++) count = gcut_dim_make(dims, GCUT_DIM_MUL, count, i->dim[r]);
    added.dim[axis] = count;
    for (uint32_t r = 0; r < index.rank; r++) index.dim[r] = r ? 1 : count;
    const char *to = gcut_onnx_operand(w, n, 0), *at = gcut_onnx_operand(w, n, 1),
               *what = gcut_onnx_operand(w, n, 2);
    if (i->rank != 1) what = gcut_onnx_reshaped(w, what, u, &added, NULL);
    if (i->rank != 1 || index.rank != 1) at = gcut_onnx_reshaped(w, at, i, &index, NULL);
    if (x->rank > 1)
        at = gcut_onnx_put2(w, "Expand", NULL, at, gcut_onnx_put_sizes(w, added.dim, added.rank));
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put3(w, "ScatterElements", gcut_onnx_own(w, n, 0), to, at, what));
    gcut_onnx_put_int(w, "axis", axis);
    gcut_onnx_put_text(w, "reduction", "add");
}
