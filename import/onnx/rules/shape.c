/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shapes, constants, and moving of elements at indices that are known at import.
 */
#include "import/onnx/rules.h"

#include <math.h>
#include <string.h>

/* ---- shapes ---- */

static void set_integers(gcut_onnx_node *n, const int64_t *at, uint32_t count, uint32_t rank)
{
    gcut_array x = gcut_onnx_array(n, GCUT_I64, rank, (int64_t[]){count});
    memcpy(x.u.i, at, count * sizeof *at);
    gcut_onnx_set_known(n, 0, &x);
}

/* The type of input i without making it a value. */
static gcut_type type_of_input(gcut_onnx_node *n, uint32_t i)
{
    const gcut_array *x = gcut_onnx_known(n, i);
    gcut_type t = {0};
    if (!x) return gcut_onnx_type(n, gcut_onnx_in(n, i));
    t.dtype = x->dtype;
    t.rank = x->rank;
    memcpy(t.dim, x->dim, sizeof t.dim);
    return t;
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

void gcut_onnx_shape(gcut_onnx_node *n)
{
    const gcut_type t = type_of_input(n, 0);
    int64_t start = gcut_onnx_int(n, "start", 0), end = gcut_onnx_int(n, "end", t.rank);
    start = clamp(start < 0 ? start + t.rank : start, 0, t.rank);
    end = clamp(end < 0 ? end + t.rank : end, start, t.rank);
    for (uint32_t r = 0; r < t.rank; r++) gcut_onnx_note_axis(n, t.dim[r]);
    set_integers(n, t.dim + start, (uint32_t)(end - start), 1);
}

void gcut_onnx_size(gcut_onnx_node *n)
{
    const gcut_type t = type_of_input(n, 0);
    const gcut_dim all = gcut_onnx_numel(n, &t, 0, t.rank);
    gcut_onnx_note_axis(n, all);
    set_integers(n, &all, 1, 0);
}

/* The sizes of a list; `what` is for errors. */
static uint32_t sizes(gcut_onnx_node *n, uint32_t i, const char *what, gcut_dim *out)
{
    const gcut_array *x = gcut_onnx_need(n, i, what);
    if (gcut_dtype_is_float(x->dtype) || x->rank > 1)
        GCUT_ONNX_WRONG(n, "expected a list of integers for %s", what);
    if (x->n > GCUT_MAX_RANK) GCUT_ONNX_UNSUPPORTED(n, "%s has more than %d sizes", what, GCUT_MAX_RANK);
    memcpy(out, x->u.i, (size_t)x->n * sizeof *out);
    return (uint32_t)x->n;
}

/* 0 stands for the size that the operand has there, -1 for what is left. */
void gcut_onnx_reshape_to(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_dim dim[GCUT_MAX_RANK], rest = 1;
    uint32_t rank;
    if (n->opset < 5) {
        const gcut_onnx_list l = gcut_onnx_ints(n, "shape");
        if (l.n > GCUT_MAX_RANK) GCUT_ONNX_UNSUPPORTED(n, "the shape has more than %d sizes", GCUT_MAX_RANK);
        for (rank = 0; rank < l.n; rank++) dim[rank] = l.at[rank];
    } else {
        rank = sizes(n, 1, "the shape", dim);
    }
    int infer = -1;
    for (uint32_t r = 0; r < rank; r++) {
        if (dim[r] == 0 && !gcut_onnx_int(n, "allowzero", 0) && r < t.rank) dim[r] = t.dim[r];
        if (dim[r] == -1 && infer < 0)
            infer = (int)r;
        else
            rest = gcut_onnx_dim(n, GCUT_DIM_MUL, rest, gcut_onnx_need_size(n, dim[r]));
    }
    if (infer >= 0)
        dim[infer] = rest == 0 ? 0 : gcut_onnx_dim(n, GCUT_DIM_DIV, gcut_onnx_numel(n, &t, 0, t.rank), rest);
    gcut_onnx_set(n, 0, gcut_onnx_reshape(n, x, dim, rank));
}

void gcut_onnx_flatten(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const int64_t axis = gcut_onnx_int(n, "axis", 1);
    const uint32_t at = axis == t.rank ? t.rank : gcut_onnx_axis(n, axis, t.rank);
    gcut_onnx_set(
        n, 0,
        gcut_onnx_reshape(
            n, x, (gcut_dim[]){gcut_onnx_numel(n, &t, 0, at), gcut_onnx_numel(n, &t, at, t.rank)}, 2));
}

void gcut_onnx_transpose(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const uint32_t rank = gcut_onnx_type(n, x).rank;
    const gcut_onnx_list given = gcut_onnx_ints(n, "perm");
    gcut_dim perm[GCUT_MAX_RANK];
    if (given.at && given.n != rank) GCUT_ONNX_WRONG(n, "'perm' has %u axes, the operand %u", given.n, rank);
    for (uint32_t r = 0; r < rank; r++)
        perm[r] = given.at ? gcut_onnx_axis(n, given.at[r], rank) : rank - 1 - r;
    gcut_onnx_set(n, 0, rank < 2 ? x : gcut_btranspose(&n->b, x, perm));
}

uint32_t gcut_onnx_axes_mask(const gcut_onnx_node *n, gcut_onnx_list axes, uint32_t rank)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < axes.n; i++) mask |= 1u << gcut_onnx_axis(n, axes.at[i], rank);
    return mask;
}

void gcut_onnx_squeeze(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const gcut_onnx_list axes = gcut_onnx_input_or_attr(n, 1, "axes");
    const uint32_t mask = gcut_onnx_axes_mask(n, axes, t.rank);
    gcut_dim dim[GCUT_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t r = 0; r < t.rank; r++) {
        if (axes.at ? !(mask >> r & 1) : t.dim[r] != 1)
            dim[rank++] = t.dim[r];
        else
            gcut_dim_require(n->b.g, t.dim[r], 1, n->b.loc, "squeezed");
    }
    gcut_onnx_set(n, 0, gcut_onnx_reshape(n, x, dim, rank));
}

void gcut_onnx_unsqueeze(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const gcut_onnx_list axes = gcut_onnx_input_or_attr(n, 1, "axes");
    const uint32_t rank = t.rank + axes.n;
    if (axes.n > GCUT_MAX_RANK || rank > GCUT_MAX_RANK)
        GCUT_ONNX_UNSUPPORTED(n, "the result has more than %d axes", GCUT_MAX_RANK);
    const uint32_t mask = gcut_onnx_axes_mask(n, axes, rank);
    gcut_dim dim[GCUT_MAX_RANK];
    if ((uint32_t)__builtin_popcount(mask) != axes.n) GCUT_ONNX_WRONG(n, "an axis is inserted twice");
    for (uint32_t r = 0, k = 0; r < rank; r++) dim[r] = mask >> r & 1 ? 1 : t.dim[k++];
    gcut_onnx_set(n, 0, gcut_onnx_reshape(n, x, dim, rank));
}

/* The shape repeats sizes of 1, in both directions. */
void gcut_onnx_expand(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_type to = {.dtype = t.dtype};
    gcut_dim want[GCUT_MAX_RANK];
    const uint32_t rank = sizes(n, 1, "the shape", want);
    to.rank = (uint8_t)(rank > t.rank ? rank : t.rank);
    for (uint32_t r = 0; r < to.rank; r++) {
        const int a = (int)(r + t.rank) - to.rank, b = (int)(r + rank) - to.rank;
        const gcut_dim have = a < 0 ? 1 : t.dim[a], wanted = b < 0 ? 1 : gcut_onnx_need_size(n, want[b]);
        to.dim[r] = have == 1 ? wanted : have;
        if (wanted != 1) gcut_dim_require(n->b.g, to.dim[r], wanted, n->b.loc, n->p->op_type);
    }
    gcut_onnx_set(n, 0, gcut_bspread(&n->b, x, &to));
}

/* As a broadcast: an axis of 1 before each, and one axis of both. */
void gcut_onnx_tile(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_dim times[GCUT_MAX_RANK], wide[2 * GCUT_MAX_RANK], axes[GCUT_MAX_RANK], dim[GCUT_MAX_RANK];
    if (n->opset < 6) GCUT_ONNX_UNSUPPORTED(n, "expected version 6 or later");
    if (sizes(n, 1, "the number of repeats", times) != t.rank)
        GCUT_ONNX_WRONG(n, "expected a number of repeats for each of %u axes", (unsigned)t.rank);
    for (uint32_t r = 0; r < t.rank; r++) dim[r] = t.dim[r];
    for (uint32_t r = 0; r < t.rank; r++) { /* axis by axis, since there may be no room for twice the axes */
        if (gcut_onnx_need_size(n, times[r]) == 1) continue;
        uint32_t rank = 0;
        for (uint32_t k = 0; k < t.rank; k++) {
            if (k == r) wide[rank++] = times[r];
            axes[k] = rank;
            wide[rank++] = dim[k];
        }
        if (rank > GCUT_MAX_RANK) { /* axes before and after r are one each */
            gcut_type now = gcut_onnx_type(n, x);
            const gcut_dim before = gcut_onnx_numel(n, &now, 0, r),
                           behind = gcut_onnx_numel(n, &now, r, t.rank);
            x = gcut_onnx_reshape(n, x, (gcut_dim[]){before, behind}, 2);
            x = gcut_bbroadcast(&n->b, x, (gcut_dim[]){before, times[r], behind}, 3, (gcut_dim[]){0, 2});
        } else {
            x = gcut_bbroadcast(&n->b, x, wide, rank, axes);
        }
        dim[r] = gcut_onnx_dim(n, GCUT_DIM_MUL, dim[r], times[r]);
        x = gcut_onnx_reshape(n, x, dim, t.rank);
    }
    gcut_onnx_set(n, 0, x);
}

/* ---- constants ---- */

void gcut_onnx_constant_of(gcut_onnx_node *n)
{
    const Onnx__AttributeProto *a = gcut_onnx_attr(n, "value");
    gcut_array x;
    if (a && a->t) {
        x = gcut_onnx_load(n, a->t);
    } else if ((a = gcut_onnx_attr(n, "value_float"))) {
        x = gcut_onnx_array(n, GCUT_F32, 0, NULL);
        x.u.f[0] = (double)a->f;
    } else if ((a = gcut_onnx_attr(n, "value_int"))) {
        x = gcut_onnx_array(n, GCUT_I64, 0, NULL);
        x.u.i[0] = a->i;
    } else if ((a = gcut_onnx_attr(n, "value_ints"))) {
        x = gcut_onnx_array(n, GCUT_I64, 1, (int64_t[]){(int64_t)a->n_ints});
        for (size_t i = 0; i < a->n_ints; i++) x.u.i[i] = a->ints[i];
    } else if ((a = gcut_onnx_attr(n, "value_floats"))) {
        x = gcut_onnx_array(n, GCUT_F32, 1, (int64_t[]){(int64_t)a->n_floats});
        for (size_t i = 0; i < a->n_floats; i++) x.u.f[i] = (double)a->floats[i];
    } else {
        GCUT_ONNX_UNSUPPORTED(n, "the constant is of strings, or sparse");
    }
    gcut_onnx_set_numbers(n, 0, &x);
}

void gcut_onnx_constant_of_shape(gcut_onnx_node *n)
{
    const Onnx__AttributeProto *a = gcut_onnx_attr(n, "value");
    gcut_type t = {.dtype = GCUT_F32};
    gcut_num value = {0};
    t.rank = (uint8_t)sizes(n, 0, "the shape", t.dim);
    for (uint32_t r = 0; r < t.rank; r++) gcut_onnx_need_size(n, t.dim[r]);
    if (a && a->t) {
        const gcut_array x = gcut_onnx_load(n, a->t);
        if (x.n != 1) GCUT_ONNX_WRONG(n, "expected one element for the attribute 'value'");
        t.dtype = x.dtype;
        value = gcut_array_number(&x, 0);
    }
    gcut_onnx_set(n, 0, gcut_bfull_of(&n->b, &t, value));
}

/* How many numbers start, start + step, … are before limit. */
static double steps(gcut_num start, gcut_num limit, gcut_num step)
{
    int64_t span;
    if (!start.is_int || !limit.is_int || __builtin_sub_overflow(limit.i, start.i, &span))
        return ceil((limit.f - start.f) / step.f);
    return (double)(span / step.i + (span % step.i && (span < 0) == (step.i < 0)));
}

/* start, start + step, … before limit.  The limit may be a size. */
void gcut_onnx_range(gcut_onnx_node *n)
{
    const gcut_array *start = gcut_onnx_need(n, 0, "the start"), *limit = gcut_onnx_need(n, 1, "the limit");
    const gcut_dtype t = start->dtype;
    const gcut_num step = gcut_onnx_need_number(n, 2, "the step"),
                   from = gcut_onnx_need_number(n, 0, "the start");
    gcut_dim count;
    if (limit->dtype != t || gcut_dtype_is_float(t) == step.is_int)
        GCUT_ONNX_WRONG(n, "start, limit and step have different dtypes");
    if (!(fabs(step.f) < 0x1p60) || step.f == 0) GCUT_ONNX_WRONG(n, "the step is %g", step.f);
    if (gcut_onnx_has_symbols(limit)) {
        if (step.i < 1 || from.i < 0)
            GCUT_ONNX_UNSUPPORTED(n, "the limit follows from sizes that are symbols");
        count =
            gcut_onnx_dim(n, GCUT_DIM_CEILDIV, gcut_onnx_dim(n, GCUT_DIM_SUB, limit->u.i[0], from.i), step.i);
    } else {
        const double c = steps(from, gcut_onnx_need_number(n, 1, "the limit"), step);
        if (c > 1e15) GCUT_ONNX_WRONG(n, "the range has more than 10^15 elements");
        count = c > 0 ? (int64_t)c : 0;
        if (c != c) GCUT_ONNX_WRONG(n, "the start or the limit is no number");
    }
    gcut_onnx_set(n, 0, gcut_onnx_progression(n, t, count, from, step));
}

void gcut_onnx_eye_like(gcut_onnx_node *n)
{
    gcut_type t = type_of_input(n, 0);
    const gcut_dtype to = gcut_onnx_attr(n, "dtype") ? gcut_onnx_dtype_attr(n, "dtype", 0) : t.dtype;
    if (t.rank != 2) GCUT_ONNX_WRONG(n, "expected a matrix");
    gcut_ref row = gcut_onnx_iota(n, &t, 0), col = gcut_onnx_iota(n, &t, 1);
    row = gcut_baddc(&n->b, row, (double)gcut_onnx_int(n, "k", 0));
    gcut_onnx_set(n, 0, gcut_bconvert(&n->b, gcut_b2(&n->b, GCUT_OP_eq, row, col), to));
}

/* ---- parts ---- */

void gcut_onnx_concat_of(gcut_onnx_node *n)
{
    const uint32_t count = gcut_onnx_inputs(n);
    if (!count) GCUT_ONNX_WRONG(n, "there is nothing to concatenate");
    gcut_ref *x = gcut_calloc(n->b.g->module->arena, count + 1, sizeof *x);
    for (uint32_t i = 0; i < count; i++) x[i] = gcut_onnx_in(n, i);
    const int64_t axis = gcut_onnx_int(n, "axis", n->opset < 4 ? 1 : 0);
    gcut_onnx_set(n, 0, gcut_onnx_concat(n, x, count, gcut_onnx_axis(n, axis, gcut_onnx_type(n, x[0]).rank)));
}

void gcut_onnx_split(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", 0), t.rank),
                   parts = (uint32_t)n->p->n_output;
    const gcut_onnx_list given = gcut_onnx_input_or_attr(n, 1, "split");
    if (!parts) GCUT_ONNX_WRONG(n, "there are no outputs");
    if (given.at && given.n != parts)
        GCUT_ONNX_WRONG(n, "'split' has %u sizes for %u outputs", given.n, parts);
    const gcut_dim each = gcut_onnx_dim(n, GCUT_DIM_CEILDIV, t.dim[axis], parts);
    gcut_dim at = 0;
    for (uint32_t k = 0; k < parts; k++) {
        gcut_dim end =
            gcut_onnx_dim(n, GCUT_DIM_ADD, at, given.at ? gcut_onnx_need_size(n, given.at[k]) : each);
        if (!given.at && k + 1 == parts) end = t.dim[axis];
        gcut_onnx_set(n, k, gcut_onnx_slice(n, x, axis, at, end, 1));
        at = end;
    }
    gcut_dim_require(n->b.g, at, t.dim[axis], n->b.loc, n->p->op_type);
}

static gcut_dim at_most(const gcut_onnx_node *n, gcut_dim a, gcut_dim b)
{
    return a == b || (gcut_dim_known(a) && a <= gcut_onnx_lowest(n, b))
               ? a
               : gcut_onnx_dim(n, GCUT_DIM_MIN, a, b);
}

/* max(a - b, 0) */
static gcut_dim less(const gcut_onnx_node *n, gcut_dim a, gcut_dim b)
{
    if (!gcut_dim_known(b) || b > gcut_onnx_lowest(n, a))
        a = a == b ? b : gcut_onnx_dim(n, GCUT_DIM_MAXOF, a, b);
    return gcut_onnx_dim(n, GCUT_DIM_SUB, a, b);
}

/* A bound of a slice along an axis of size d, counted from 0 and within the axis; backward in the flipped operand, in which
 * `at` is at -1 - at. */
static gcut_dim within(const gcut_onnx_node *n, int64_t at, gcut_dim d, bool backward)
{
    const int64_t huge = INT64_C(1) << 30; /* exporters write some large number for "to the end" */
    const bool from_end = gcut_onnx_is_negative(at) != backward;
    gcut_dim k = gcut_onnx_is_negative(at) ? -at - backward : gcut_onnx_dim(n, GCUT_DIM_ADD, at, backward);
    if (!gcut_dim_known(d) && k >= huge) return from_end ? 0 : d;
    return from_end ? less(n, d, k) : at_most(n, k, d);
}

static gcut_ref slice_axis(gcut_onnx_node *n, gcut_ref x, uint32_t axis, int64_t start, int64_t end,
                           int64_t step)
{
    const gcut_dim d = gcut_onnx_type(n, x).dim[axis];
    if (step == 0 || gcut_onnx_is_symbolic(step))
        GCUT_ONNX_WRONG(n, "expected a step that is a number, and not 0");
    gcut_dim from = within(n, start, d, step < 0), to = within(n, end, d, step < 0);
    if (step < 0) { /* from the first element at least */
        x = gcut_onnx_flip(n, x, axis);
        from = at_most(n, from, less(n, d, 1));
        step = -step;
    }
    if (gcut_dim_known(from) && gcut_dim_known(to) && to < from) to = from;
    return gcut_onnx_slice(n, x, axis, from, to, step);
}

void gcut_onnx_slice_of(gcut_onnx_node *n)
{
    if (gcut_onnx_has(n, 1) && !gcut_onnx_maybe(n, 1) && gcut_onnx_slice_at(n)) return;
    gcut_ref x = gcut_onnx_in(n, 0);
    const uint32_t rank = gcut_onnx_type(n, x).rank;
    const gcut_onnx_list start = gcut_onnx_input_or_attr(n, 1, "starts"),
                         end = gcut_onnx_input_or_attr(n, 2, "ends"),
                         axes = gcut_onnx_input_or_attr(n, 3, "axes"),
                         step = gcut_onnx_input_or_attr(n, 4, "steps");
    if (start.n != end.n || (axes.at && axes.n != start.n) || (step.at && step.n != start.n))
        GCUT_ONNX_WRONG(n, "the lists of a slice have different lengths");
    for (uint32_t i = 0; i < start.n; i++)
        x = slice_axis(n, x, gcut_onnx_axis(n, axes.at ? axes.at[i] : (int64_t)i, rank), start.at[i],
                       end.at[i], step.at ? step.at[i] : 1);
    gcut_onnx_set(n, 0, x);
}

/* ---- padding ---- */

/* Negative padding removes elements. */
static gcut_ref cut(gcut_onnx_node *n, gcut_ref x, uint32_t axis, int64_t low, int64_t high)
{
    const gcut_dim d = gcut_onnx_type(n, x).dim[axis];
    return gcut_onnx_slice(n, x, axis, gcut_onnx_is_negative(low) ? -low : 0,
                           gcut_onnx_is_negative(high) ? gcut_onnx_dim(n, GCUT_DIM_SUB, d, -high) : d, 1);
}

void gcut_onnx_pad_of(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const char *mode = gcut_onnx_text(n, "mode", "constant");
    const gcut_onnx_list pads = gcut_onnx_input_or_attr(n, 1, "pads"),
                         axes = gcut_onnx_input_or_attr(n, 3, "axes");
    const uint32_t count = axes.at ? axes.n : t.rank;
    gcut_num value = {.f = gcut_onnx_float(n, "value", 0)};
    if (gcut_onnx_has(n, 2)) value = gcut_onnx_need_number(n, 2, "the value of the padding");
    if (!pads.at || pads.n != 2 * count)
        GCUT_ONNX_WRONG(n, "expected two paddings for each of %u axes", (unsigned)count);
    const gcut_op op = !strcmp(mode, "reflect") ? GCUT_OP_reflection_pad
                       : !strcmp(mode, "edge")  ? GCUT_OP_replication_pad
                       : !strcmp(mode, "wrap")  ? GCUT_OP_circular_pad
                                                : GCUT_OP_pad;
    if (op == GCUT_OP_pad && strcmp(mode, "constant"))
        GCUT_ONNX_UNSUPPORTED(n, "there is no padding of the mode '%s'", mode);
    gcut_dim low[GCUT_MAX_RANK] = {0}, high[GCUT_MAX_RANK] = {0};
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t axis = axes.at ? gcut_onnx_axis(n, axes.at[i], t.rank) : i;
        const int64_t a = pads.at[i], b = pads.at[count + i];
        x = cut(n, x, axis, a, b);
        low[axis] = gcut_onnx_is_negative(a) ? 0 : a;
        high[axis] = gcut_onnx_is_negative(b) ? 0 : b;
        any |= low[axis] || high[axis];
    }
    const gcut_attr a[] = {gcut_attr_dims(n->b.g->module, GCUT_KEY_low, low, t.rank),
                           gcut_attr_dims(n->b.g->module, GCUT_KEY_high, high, t.rank)};
    if (any && op == GCUT_OP_pad)
        x = gcut_onnx_pad(n, x, low, high, value);
    else if (any)
        x = gcut_onnx_node_new(n, op, &x, 1, a, 2);
    gcut_onnx_set(n, 0, x);
}

/* ---- patterns of places ---- */

/* The upper or lower triangle of the last two axes. */
void gcut_onnx_trilu(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    if (t.rank < 2) GCUT_ONNX_WRONG(n, "expected a matrix");
    gcut_type last = {GCUT_I64, 2, {t.dim[t.rank - 2], t.dim[t.rank - 1]}}, all = t;
    gcut_ref row = gcut_onnx_iota(n, &last, 0), col = gcut_onnx_iota(n, &last, 1);
    if (gcut_onnx_has(n, 1))
        row = gcut_onnx_binary(n, GCUT_OP_add, row, gcut_onnx_reshape(n, gcut_onnx_in(n, 1), NULL, 0));
    gcut_ref keep = gcut_b2(&n->b, gcut_onnx_int(n, "upper", 1) ? GCUT_OP_ge : GCUT_OP_le, col, row);
    gcut_onnx_set(n, 0, gcut_bselect(&n->b, gcut_bspread(&n->b, keep, &all), x, gcut_bconst(&n->b, x, 0)));
}

/* [N, C, H, W]: blocks of the channels become blocks of pixels. */
void gcut_onnx_depth_to_space(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const int64_t b = gcut_onnx_int(n, "blocksize", 1);
    if (t.rank != 4 || b < 1 || b > INT16_MAX)
        GCUT_ONNX_WRONG(n, "expected an operand of four axes, and a block size of 1 to %d", INT16_MAX);
    const gcut_dim c = gcut_onnx_dim(n, GCUT_DIM_DIV, t.dim[1], b * b), h = t.dim[2], w = t.dim[3];
    const bool crd = !strcmp(gcut_onnx_text(n, "mode", "DCR"), "CRD");
    x = gcut_breshape(&n->b, x,
                      crd ? (gcut_dim[]){t.dim[0], c, b, b, h, w} : (gcut_dim[]){t.dim[0], b, b, c, h, w}, 6);
    x = gcut_btranspose(&n->b, x, crd ? (gcut_dim[]){0, 1, 4, 2, 5, 3} : (gcut_dim[]){0, 3, 4, 1, 5, 2});
    gcut_onnx_set(n, 0,
                  gcut_breshape(&n->b, x,
                                (gcut_dim[]){t.dim[0], c, gcut_onnx_dim(n, GCUT_DIM_MUL, h, b),
                                             gcut_onnx_dim(n, GCUT_DIM_MUL, w, b)},
                                4));
}

void gcut_onnx_space_to_depth(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const int64_t b = gcut_onnx_int(n, "blocksize", 1);
    if (t.rank != 4 || b < 1 || b > INT16_MAX)
        GCUT_ONNX_WRONG(n, "expected an operand of four axes, and a block size of 1 to %d", INT16_MAX);
    const gcut_dim h = gcut_onnx_dim(n, GCUT_DIM_DIV, t.dim[2], b),
                   w = gcut_onnx_dim(n, GCUT_DIM_DIV, t.dim[3], b);
    x = gcut_breshape(&n->b, x, (gcut_dim[]){t.dim[0], t.dim[1], h, b, w, b}, 6);
    x = gcut_btranspose(&n->b, x, (gcut_dim[]){0, 3, 5, 1, 2, 4});
    gcut_onnx_set(n, 0,
                  gcut_breshape(&n->b, x,
                                (gcut_dim[]){t.dim[0], gcut_onnx_dim(n, GCUT_DIM_MUL, t.dim[1], b * b), h, w},
                                4));
}
