/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The op `resize`: Resize between elements.  The nearest element is taken by its index, floor(i n / m) in integers:
 * runtimes compute the index of Resize in single precision, and some of them take a neighbour then.
 */
#include "import/onnx/export/writer.h"

#include <string.h>

#include "graph/dim/dim.h"

/* Elements floor(i n / m), i < m, of an axis of n. */
static const char *nearest_along(gcut_onnx_writer *w, const char *x, uint32_t axis, gcut_dim n, gcut_dim m,
                                 const char *own)
{
    const char *i = gcut_onnx_put3(w, "Range", NULL, gcut_onnx_scalar(w, GCUT_I64, 0),
                                   gcut_onnx_put_size_scalar(w, m), gcut_onnx_scalar(w, GCUT_I64, 1));
    i = gcut_onnx_put2(w, "Mul", NULL, i, gcut_onnx_put_size(w, n));
    i = gcut_onnx_put2(w, "Div", NULL, i, gcut_onnx_put_size(w, m));
    x = gcut_onnx_put2(w, "Gather", own, x, i);
    gcut_onnx_put_int(w, "axis", axis);
    return x;
}

/* The shape [A, 1, ..] that ends with the resized axes, at least two: onnxruntime's cubic mode takes no other. */
static gcut_type in_images(gcut_onnx_writer *w, const gcut_type *t, uint32_t resized)
{
    const uint32_t last = resized > 2 ? resized : 2;
    gcut_type to = {.dtype = t->dtype, .rank = (uint8_t)(last + 2)};
    for (uint32_t r = 0; r < to.rank; r++) to.dim[r] = 1;
    for (uint32_t r = 0; r < t->rank; r++) {
        const uint32_t from_end = t->rank - r;
        gcut_dim *d = &to.dim[from_end <= last ? to.rank - from_end : 0];
        *d = gcut_dim_make(w->g->module->dims, GCUT_DIM_MUL, *d, t->dim[r]);
    }
    return to;
}

void gcut_export_resize(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const gcut_graph *g = w->here->g;
    const gcut_type *from = gcut_onnx_operand_type(w, n, 0), *to = gcut_type_of(g, n->res0);
    const gcut_attr *shape = gcut_attr_get(g, n, GCUT_KEY_shape);
    const char *mode = gcut_attr_get(g, n, GCUT_KEY_mode)->u.str, *x = gcut_onnx_operand(w, n, 0),
               *own = gcut_onnx_own(w, n, 0);
    uint32_t left = 0;
    for (uint32_t r = 0; r < from->rank; r++) left += from->dim[r] != to->dim[r];
    if (!left) {
        gcut_onnx_set_whole(w, n, 0, x);
        return;
    }
    if (!strcmp(mode, "nearest")) {
        for (uint32_t r = 0; r < from->rank; r++)
            if (from->dim[r] != to->dim[r])
                x = nearest_along(w, x, r, from->dim[r], to->dim[r], --left ? NULL : own);
        gcut_onnx_set_whole(w, n, 0, x);
        return;
    }
    const gcut_type images = in_images(w, from, shape->n), sizes = in_images(w, to, shape->n);
    const bool fits = images.rank == from->rank;
    if (!fits) x = gcut_onnx_reshaped(w, x, from, &images, NULL);
    const gcut_type *t = fits ? to : &sizes;
    x = gcut_onnx_put(w, "Resize", fits ? own : NULL,
                      (const char *const[]){x, "", "", gcut_onnx_put_sizes(w, t->dim, t->rank)}, 4);
    gcut_onnx_put_text(w, "mode", mode);
    gcut_onnx_put_text(w, "coordinate_transformation_mode",
                       gcut_attr_flag(g, n, GCUT_KEY_align_corners) ? "align_corners" : "half_pixel");
    if (!strcmp(mode, "cubic")) gcut_onnx_put_float(w, "cubic_coeff_a", -0.75);
    gcut_onnx_set_whole(w, n, 0, fits ? x : gcut_onnx_reshaped(w, x, &sizes, to, own));
}
