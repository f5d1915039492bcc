/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ops of shapes and constants.
 */
#include "import/onnx/export/writer.h"

#define TYPE(v) gcut_type_of(w->here->g, v)

static const gcut_attr *dims_attr(const gcut_onnx_writer *w, const gcut_node *n, gcut_attr_key key)
{
    return gcut_attr_get(w->here->g, n, key);
}

void gcut_export_reshape(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const char *x = gcut_onnx_operand(w, n, 0);
    const gcut_type *from = gcut_onnx_operand_type(w, n, 0), *to = TYPE(n->res0);
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_reshaped(w, x, from, to, gcut_onnx_own(w, n, 0)));
}

void gcut_export_transpose(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const gcut_attr *perm = dims_attr(w, n, GCUT_KEY_perm);
    gcut_onnx_set_whole(w, n, 0,
                        gcut_onnx_put1(w, "Transpose", gcut_onnx_own(w, n, 0), gcut_onnx_operand(w, n, 0)));
    gcut_onnx_put_ints(w, "perm", perm->u.dims, perm->n);
}

/* Axes of size 1 are inserted so that the operand's axes are aligned at the end; nothing is expanded yet. */
void gcut_export_broadcast(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const gcut_ref x = gcut_arg(w->here->g, n, 0);
    const gcut_attr *axes = dims_attr(w, n, GCUT_KEY_axes);
    const gcut_type *from = TYPE(x), *to = TYPE(n->res0);
    const gcut_onnx_view *of = gcut_onnx_view_of(w, x);
    const bool scalar = !of->whole && of->rank == 0;
    const char *name = scalar ? of->name : gcut_onnx_whole(w, x);
    uint32_t given = 0, repeated = 0;
    for (uint32_t k = 0; k < from->rank; k++)
        if (!scalar && from->dim[k] == to->dim[axes->u.dims[k]]) given |= 1u << axes->u.dims[k];
    for (uint32_t r = 0; r < to->rank; r++)
        if (!(given >> r & 1) && to->dim[r] != 1) repeated |= 1u << r;
    const uint32_t first = scalar || !from->rank ? to->rank : (uint32_t)axes->u.dims[0];
    int64_t gap[GCUT_MAX_RANK];
    uint32_t gaps = 0;
    for (uint32_t r = first, k = 0; r < to->rank; r++) {
        if (k < from->rank && axes->u.dims[k] == (gcut_dim)r)
            k++;
        else
            gap[gaps++] = r - first;
    }
    const char *own = !first && !repeated ? gcut_onnx_own(w, n, 0) : NULL;
    if (gaps) name = gcut_onnx_put2(w, "Unsqueeze", own, name, gcut_onnx_integers(w, gap, gaps));
    gcut_onnx_set_view(w, n, 0, (gcut_onnx_view){name, to->rank - first, repeated, NULL});
}

/* Only axes of which something is cut off. */
void gcut_export_slice(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const gcut_type *t = gcut_onnx_operand_type(w, n, 0);
    const gcut_attr *start = dims_attr(w, n, GCUT_KEY_start), *limit = dims_attr(w, n, GCUT_KEY_limit),
                    *step = dims_attr(w, n, GCUT_KEY_step);
    gcut_dim from[GCUT_MAX_RANK], to[GCUT_MAX_RANK], by[GCUT_MAX_RANK], axis[GCUT_MAX_RANK];
    uint32_t axes = 0;
    bool steps = false;
    for (uint32_t r = 0; r < t->rank; r++) {
        const gcut_dim s = step ? step->u.dims[r] : 1;
        if (start->u.dims[r] == 0 && limit->u.dims[r] == t->dim[r] && s == 1) continue;
        from[axes] = start->u.dims[r];
        to[axes] = limit->u.dims[r];
        by[axes] = s;
        steps |= s != 1;
        axis[axes++] = r;
    }
    const char *x = gcut_onnx_operand(w, n, 0), *in[5] = {x};
    if (!axes) {
        gcut_onnx_set_whole(w, n, 0, x);
        return;
    }
    in[1] = gcut_onnx_put_sizes(w, from, axes);
    in[2] = gcut_onnx_put_sizes(w, to, axes);
    in[3] = gcut_onnx_integers(w, axis, axes);
    if (steps) in[4] = gcut_onnx_put_sizes(w, by, axes);
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put(w, "Slice", gcut_onnx_own(w, n, 0), in, steps ? 5 : 4));
}

/* value NULL: by the mode */
static const char *padded(gcut_onnx_writer *w, const char *x, const char *out, const gcut_dim *low,
                          const gcut_dim *high, uint32_t rank, const char *mode, const char *value)
{
    gcut_dim pads[2 * GCUT_MAX_RANK];
    for (uint32_t r = 0; r < rank; r++) {
        pads[r] = low[r];
        pads[rank + r] = high[r];
    }
    const char *in[] = {x, gcut_onnx_put_sizes(w, pads, 2 * rank), value};
    x = gcut_onnx_put(w, "Pad", out, in, value ? 3 : 2);
    gcut_onnx_put_text(w, "mode", mode);
    return x;
}

/* Interior padding along axis r, of which there is one size less than elements: each element gets an axis of its own, which
 * is padded at its end, and the last padding is cut off. */
static const char *spaced(gcut_onnx_writer *w, const char *x, gcut_type *t, uint32_t r, gcut_dim by,
                          const char *value)
{
    gcut_dims *dims = w->g->module->dims;
    static const gcut_dim none[GCUT_MAX_RANK];
    gcut_dim pads[GCUT_MAX_RANK] = {0};
    gcut_type split = {t->dtype, 4, {1, t->dim[r], 1, 1}}, joined = *t;
    const gcut_dim zero = 0;
    for (uint32_t k = 0; k < t->rank; k++) {
        gcut_dim *d = &split.dim[k > r ? 3 : 0];
        if (k != r) *d = gcut_dim_make(dims, GCUT_DIM_MUL, *d, t->dim[k]);
    }
    x = gcut_onnx_reshaped(w, x, t, &split, NULL);
    pads[2] = by;
    x = padded(w, x, NULL, none, pads, 4, "constant", value);
    const gcut_dim wide = gcut_dim_make(dims, GCUT_DIM_ADD, by, 1);
    joined.dim[r] = gcut_dim_make(dims, GCUT_DIM_MUL, t->dim[r], wide);
    x = gcut_onnx_reshaped(w, x, NULL, &joined, NULL);
    const gcut_dim last = gcut_dim_make(dims, GCUT_DIM_MAXOF, joined.dim[r], by);
    joined.dim[r] = gcut_dim_make(dims, GCUT_DIM_SUB, last, by);
    const char *in[] = {x, gcut_onnx_integers(w, &zero, 1), gcut_onnx_put_size(w, joined.dim[r]),
                        gcut_onnx_integers(w, &(int64_t){r}, 1)};
    *t = joined;
    return gcut_onnx_put(w, "Slice", NULL, in, 4);
}

void gcut_export_pad(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    gcut_type t = *gcut_onnx_operand_type(w, n, 0);
    const gcut_attr *low = dims_attr(w, n, GCUT_KEY_low), *high = dims_attr(w, n, GCUT_KEY_high),
                    *interior = dims_attr(w, n, GCUT_KEY_interior);
    const char *value = gcut_onnx_scalar_of(w, t.dtype, gcut_attr_get(w->here->g, n, GCUT_KEY_value)->u.num);
    const char *x = gcut_onnx_operand(w, n, 0);
    for (uint32_t r = 0; interior && r < t.rank; r++)
        if (interior->u.dims[r] != 0) x = spaced(w, x, &t, r, interior->u.dims[r], value);
    gcut_onnx_set_whole(
        w, n, 0, padded(w, x, gcut_onnx_own(w, n, 0), low->u.dims, high->u.dims, t.rank, "constant", value));
}

void gcut_export_border(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    const gcut_attr *low = dims_attr(w, n, GCUT_KEY_low), *high = dims_attr(w, n, GCUT_KEY_high);
    gcut_onnx_set_whole(w, n, 0,
                        padded(w, gcut_onnx_operand(w, n, 0), gcut_onnx_own(w, n, 0), low->u.dims,
                               high->u.dims, low->n, as, NULL));
}

void gcut_export_concat(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const char **in = gcut_calloc(w->a, n->nargs + 1, sizeof *in);
    for (uint32_t k = 0; k < n->nargs; k++) in[k] = gcut_onnx_operand(w, n, k);
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put(w, "Concat", gcut_onnx_own(w, n, 0), in, n->nargs));
    gcut_onnx_put_int(w, "axis", gcut_attr_get(w->here->g, n, GCUT_KEY_axis)->u.dim);
}

/* Slices from the last element to the first. */
void gcut_export_flip(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const gcut_attr *axes = dims_attr(w, n, GCUT_KEY_axes);
    int64_t from[GCUT_MAX_RANK], to[GCUT_MAX_RANK];
    for (uint32_t k = 0; k < axes->n; k++) {
        from[k] = -1;
        to[k] = INT64_MIN;
    }
    const char *backwards = gcut_onnx_integers(w, from, axes->n);
    const char *in[] = {gcut_onnx_operand(w, n, 0), backwards, gcut_onnx_integers(w, to, axes->n),
                        gcut_onnx_integers(w, axes->u.dims, axes->n), backwards};
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put(w, "Slice", gcut_onnx_own(w, n, 0), in, 5));
}

/* ---- constants ---- */

void gcut_export_dim(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    gcut_onnx_set_whole(w, n, 0,
                        gcut_onnx_put_size_scalar(w, gcut_attr_get(w->here->g, n, GCUT_KEY_of)->u.dim));
}

/* A scalar, which is repeated along all axes. */
void gcut_export_full(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const gcut_type *t = TYPE(n->res0);
    gcut_onnx_view v = {
        .name = gcut_onnx_scalar_of(w, t->dtype, gcut_attr_get(w->here->g, n, GCUT_KEY_value)->u.num)};
    for (uint32_t r = 0; r < t->rank; r++)
        if (t->dim[r] != 1) v.repeated |= 1u << r;
    gcut_onnx_set_view(w, n, 0, v);
}

void gcut_export_iota(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const gcut_type *t = TYPE(n->res0);
    const uint32_t axis = (uint32_t)gcut_attr_get(w->here->g, n, GCUT_KEY_axis)->u.dim;
    const char *limit = gcut_onnx_put_size_scalar(w, t->dim[axis]);
    const gcut_num zero = {true, 0, 0}, one = {true, 1, 1};
    int64_t after[GCUT_MAX_RANK];
    gcut_onnx_view v = {.rank = t->rank - axis};
    for (uint32_t r = 0; r < t->rank; r++) {
        if (r > axis) after[r - axis - 1] = r - axis;
        if (r != axis && t->dim[r] != 1) v.repeated |= 1u << r;
    }
    /* The last node makes the value itself where nothing repeats. */
    const bool whole = v.rank == t->rank && !v.repeated, casts = t->dtype != GCUT_I64;
    const char *own = whole ? gcut_onnx_own(w, n, 0) : NULL;
    const char *x =
        gcut_onnx_put3(w, "Range", casts || v.rank > 1 ? NULL : own, gcut_onnx_scalar_of(w, GCUT_I64, zero),
                       limit, gcut_onnx_scalar_of(w, GCUT_I64, one));
    if (casts) {
        x = gcut_onnx_put1(w, "Cast", v.rank > 1 ? NULL : own, x);
        gcut_onnx_put_int(w, "to", gcut_onnx_data_type(t->dtype));
    }
    if (v.rank > 1) x = gcut_onnx_put2(w, "Unsqueeze", own, x, gcut_onnx_integers(w, after, v.rank - 1));
    v.name = x;
    gcut_onnx_set_view(w, n, 0, v);
}
