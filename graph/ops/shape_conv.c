/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shape rules of convolutions and pools of x [N, C, ...], whose window slides over the axes after the second: the spatial
 * axes.  Of n elements with `lo` and `hi` of padding, a window whose taps lie `dilation` apart spans dilation * (k - 1) + 1
 * and has (lo + n + hi - span) div stride + 1 positions.
 */
#include "graph/ops/shape_rule.h"

/* The first spatial axis, and the most of them. */
enum { FIRST = 2, MOST_AXES = 3 };

/* The number of spatial axes: two, or with any_number as many as operand 1 says.  All operands have as many. */
static uint32_t spatial_axes(infer *s, bool any_number)
{
    const gcut_type *x = in(s, 0);
    if (any_number && (x->rank <= FIRST || x->rank > FIRST + MOST_AXES))
        BAD(s, "'%s': operand 1 is %s, expected [N, C] and one to three axes", opname(s), show(s, x));
    for (uint32_t k = 0; k < s->nargs; k++)
        if (in(s, k)->rank != (any_number ? x->rank : 4))
            BAD(s, "'%s': operand %u is %s, expected %s axes", opname(s), k + 1, show(s, in(s, k)),
                !any_number    ? "four"
                : x->rank == 3 ? "three"
                : x->rank == 4 ? "four"
                               : "five");
    return x->rank - FIRST;
}

/* The product of two such numbers is an int64_t. */
#define MOST INT32_MAX

/* n constants from lo to MOST; NULL when absent. */
static const gcut_dim *constants(infer *s, gcut_attr_key key, uint32_t n, int64_t lo)
{
    const gcut_attr *a = attr(s, key);
    if (!a) return NULL;
    if (a->n != n)
        BAD(s, "'%s': %s has %u item%s, expected %u", opname(s), gcut_attr_name(key), a->n,
            a->n == 1 ? "" : "s", n);
    for (uint32_t i = 0; i < n; i++)
        if (!gcut_dim_known(a->u.dims[i]) || a->u.dims[i] < lo || a->u.dims[i] > MOST)
            BAD(s, "'%s': %s must be constants from %lld to %lld, not %s", opname(s), gcut_attr_name(key),
                (long long)lo, (long long)MOST, show_dim(s, a->u.dims[i]));
    return a->u.dims;
}

/* A size attribute of two items, which may be symbolic: the sizes of an image. */
static const gcut_dim *two(infer *s, gcut_attr_key key)
{
    const gcut_attr *a = attr(s, key);
    if (a->n != 2)
        BAD(s, "'%s': %s has %u item%s, expected 2", opname(s), gcut_attr_name(key), a->n,
            a->n == 1 ? "" : "s");
    return a->u.dims;
}

/* The lists have an item for each spatial axis; pad those before, then those after. */
typedef struct sliding {
    uint32_t n;
    const gcut_dim *window;
    const gcut_dim *stride, *dilation; /* NULL: 1 */
    const gcut_dim *pad;               /* NULL: 0 */
} sliding;

static gcut_dim item(const gcut_dim *list, uint32_t d, gcut_dim otherwise)
{
    return list ? list[d] : otherwise;
}

static const char *axis_name(const sliding *v, uint32_t d)
{
    static const char *const names[MOST_AXES] = {"planes", "rows", "columns"};
    return names[MOST_AXES - v->n + d];
}

static gcut_dim padding(infer *s, const sliding *v, uint32_t d)
{
    return dim2(s, GCUT_DIM_ADD, item(v->pad, d, 0), item(v->pad, v->n + d, 0));
}

static gcut_dim lower(infer *s, gcut_dim d)
{
    int64_t lo, hi;
    gcut_dim_range(s->g->module->dims, d, s->g->decls.at, s->g->decls.n, &lo, &hi);
    return lo;
}

static gcut_dim span_of(infer *s, const sliding *v, uint32_t d)
{
    gcut_dim k = v->window[d];
    if (k == 0) BAD(s, "'%s': the window has no %s", opname(s), axis_name(v, d));
    if (lower(s, k) < 1) require_le(s, 1, k);
    if (!v->dilation) return k;
    return dim2(s, GCUT_DIM_ADD, dim2(s, GCUT_DIM_MUL, dim2(s, GCUT_DIM_SUB, k, 1), v->dilation[d]), 1);
}

/* The number of window positions along spatial axis d of n elements. */
static gcut_dim places(infer *s, const sliding *v, uint32_t d, gcut_dim n)
{
    gcut_dim span = span_of(s, v, d);
    gcut_dim padded = dim2(s, GCUT_DIM_ADD, n, padding(s, v, d));
    if (gcut_dim_known(span) && gcut_dim_known(padded) && span > padded)
        BAD(s, "'%s': the window spans %lld %s, but the padded input has only %lld", opname(s),
            (long long)span, axis_name(v, d), (long long)padded);
    gcut_dim room = dim2(s, GCUT_DIM_SUB, padded, span);
    if (lower(s, room) < 0) require_le(s, span, padded);
    return dim2(s, GCUT_DIM_ADD, dim2(s, GCUT_DIM_DIV, room, item(v->stride, d, 1)), 1);
}

/* ---- convolutions ---- */

typedef struct conv {
    sliding v;
    gcut_dim groups;
} conv;

static conv conv_attrs(infer *s, const gcut_dim *window, bool any_number)
{
    const uint32_t n = spatial_axes(s, any_number);
    conv c = {.v = {n, window, constants(s, GCUT_KEY_stride, n, 1), constants(s, GCUT_KEY_dilation, n, 1),
                    constants(s, GCUT_KEY_pad, 2 * n, 0)},
              .groups = attr(s, GCUT_KEY_groups)->u.dim};
    if (!gcut_dim_known(c.groups) || c.groups < 1)
        BAD(s, "'%s': groups must be a constant of at least 1, not %s", opname(s), show_dim(s, c.groups));
    same_dtype(s, 0, 1);
    return c;
}

/* channels / groups; throws when it is not a whole number.  `what` names the operand in the message. */
static gcut_dim per_group(infer *s, gcut_dim channels, gcut_dim groups, const char *what)
{
    gcut_dim rest = dim2(s, GCUT_DIM_MOD, channels, groups);
    if (gcut_dim_known(rest) && rest != 0)
        BAD(s, "'%s': %s %s channels do not divide into %lld groups", opname(s), show_dim(s, channels), what,
            (long long)groups);
    if (rest != 0) require(s, rest, 0);
    return dim2(s, GCUT_DIM_DIV, channels, groups);
}

/* Sizes a and b of an axis must agree; `which` says what they are. */
static void agree(infer *s, gcut_dim a, gcut_dim b, const char *which)
{
    if (gcut_dims_differ(s->g, a, b))
        BAD(s, "'%s': %s: %s and %s differ", opname(s), which, show_dim(s, a), show_dim(s, b));
    require(s, a, b);
}

static void convolution(infer *s, bool any_number)
{
    const gcut_type *x = in(s, 0), *w = in(s, 1);
    conv c = conv_attrs(s, w->dim + FIRST, any_number);
    agree(s, x->dim[1], dim2(s, GCUT_DIM_MUL, w->dim[1], c.groups), "the channels of x and of w");
    per_group(s, w->dim[0], c.groups, "output");
    *s->out = (gcut_type){.dtype = x->dtype, .rank = x->rank, .dim = {x->dim[0], w->dim[0]}};
    for (uint32_t d = 0; d < c.v.n; d++) s->out->dim[FIRST + d] = places(s, &c.v, d, x->dim[FIRST + d]);
}

void gcut_shape_conv2d(infer *s)
{
    convolution(s, false);
}

void gcut_shape_conv_nd(infer *s)
{
    convolution(s, true);
}

void gcut_shape_conv2d_input(infer *s)
{
    const gcut_type *y = in(s, 0), *w = in(s, 1);
    conv c = conv_attrs(s, w->dim + FIRST, false);
    const gcut_dim *size = two(s, GCUT_KEY_shape);
    agree(s, y->dim[1], w->dim[0], "the channels of y and of w");
    per_group(s, w->dim[0], c.groups, "output");
    for (uint32_t d = 0; d < 2; d++)
        agree(s, y->dim[FIRST + d], places(s, &c.v, d, size[d]), "y and the positions of the window");
    *s->out = (gcut_type){
        .dtype = y->dtype,
        .rank = 4,
        .dim = {y->dim[0], dim2(s, GCUT_DIM_MUL, w->dim[1], c.groups), size[0], size[1]},
    };
}

void gcut_shape_conv2d_weight(infer *s)
{
    const gcut_type *x = in(s, 0), *y = in(s, 1);
    const gcut_dim *window = two(s, GCUT_KEY_window);
    conv c = conv_attrs(s, window, false);
    agree(s, x->dim[0], y->dim[0], "the batches of x and of y");
    per_group(s, y->dim[1], c.groups, "output");
    for (uint32_t d = 0; d < 2; d++)
        agree(s, y->dim[FIRST + d], places(s, &c.v, d, x->dim[FIRST + d]),
              "y and the positions of the window");
    *s->out = (gcut_type){
        .dtype = x->dtype,
        .rank = 4,
        .dim = {y->dim[1], per_group(s, x->dim[1], c.groups, "input"), window[0], window[1]},
    };
}

/* (n - 1) * stride + span - lo - hi + output_pad; output_pad < stride names one of the sizes that conv2d would reduce to
 * n, and more of it are zeros. */
static void transposed(infer *s, bool any_number)
{
    const gcut_type *x = in(s, 0), *w = in(s, 1);
    conv c = conv_attrs(s, w->dim + FIRST, any_number);
    const gcut_dim *more = constants(s, GCUT_KEY_output_pad, c.v.n, 0);
    agree(s, x->dim[1], w->dim[0], "the channels of x and of w");
    per_group(s, x->dim[1], c.groups, "input");
    *s->out = (gcut_type){
        .dtype = x->dtype, .rank = x->rank, .dim = {x->dim[0], dim2(s, GCUT_DIM_MUL, w->dim[1], c.groups)}};
    for (uint32_t d = 0; d < c.v.n; d++) {
        gcut_dim n = x->dim[FIRST + d], cut = padding(s, &c.v, d);
        if (n == 0) BAD(s, "'%s': x has no %s", opname(s), axis_name(&c.v, d));
        if (lower(s, n) < 1) require_le(s, 1, n);
        gcut_dim steps = dim2(s, GCUT_DIM_MUL, dim2(s, GCUT_DIM_SUB, n, 1), item(c.v.stride, d, 1));
        gcut_dim whole = dim2(s, GCUT_DIM_ADD, steps, span_of(s, &c.v, d));
        whole = dim2(s, GCUT_DIM_ADD, whole, item(more, d, 0));
        if (gcut_dim_known(whole) && whole < cut)
            BAD(s, "'%s': padding takes %lld of %lld %s away", opname(s), (long long)cut, (long long)whole,
                axis_name(&c.v, d));
        if (lower(s, dim2(s, GCUT_DIM_SUB, whole, cut)) < 0) require_le(s, cut, whole);
        s->out->dim[FIRST + d] = dim2(s, GCUT_DIM_SUB, whole, cut);
    }
}

void gcut_shape_conv_transpose2d(infer *s)
{
    transposed(s, false);
}

void gcut_shape_conv_transpose_nd(infer *s)
{
    transposed(s, true);
}

/* ---- pools ---- */

/* Padding is narrower than the window, so that every window covers an element. */
static sliding pool_attrs(infer *s, bool any_number)
{
    const uint32_t n = spatial_axes(s, any_number);
    sliding v = {n, constants(s, GCUT_KEY_window, n, 1), constants(s, GCUT_KEY_stride, n, 1), NULL,
                 constants(s, GCUT_KEY_pad, 2 * n, 0)};
    if (!v.stride) v.stride = v.window;
    for (uint32_t i = 0; v.pad && i < 2 * n; i++)
        if (v.pad[i] >= v.window[i % n])
            BAD(s, "'%s': a padding of %lld is not below the window's %lld", opname(s), (long long)v.pad[i],
                (long long)v.window[i % n]);
    return v;
}

/* With `ceil` also a last window that is not full, if it begins within the operand or the padding before it. */
static void windows_of(infer *s, const sliding *v, bool ceil)
{
    *s->out = *in(s, 0);
    for (uint32_t d = 0; d < v->n; d++) {
        const gcut_dim n = in(s, 0)->dim[FIRST + d];
        gcut_dim *out = &s->out->dim[FIRST + d];
        *out = places(s, v, d, n);
        if (!ceil) continue;
        if (!gcut_dim_known(n))
            BAD(s, "'%s': ceil needs a number of %s, not %s", opname(s), axis_name(v, d), show_dim(s, n));
        const int64_t begins = n + item(v->pad, d, 0),
                      room = begins + item(v->pad, v->n + d, 0) - v->window[d];
        const int64_t last =
            room / v->stride[d] + (room % v->stride[d] != 0); /* the last window, by its number */
        if (last <= (begins - 1) / v->stride[d])
            *out = last + 1; /* no product, which may be beyond 64 bits */
    }
}

/* x, and optionally an operand t of x's type: the windows of x. */
void gcut_shape_pool(infer *s)
{
    sliding v = pool_attrs(s, false);
    if (s->nargs == 2) {
        same_dtype(s, 0, 1);
        same_shape(s, 0, 1);
    }
    windows_of(s, &v, false);
}

void gcut_shape_pool_nd(infer *s)
{
    sliding v = pool_attrs(s, true);
    windows_of(s, &v, attr(s, GCUT_KEY_ceil)->u.flag);
}

/* x and y, one value for each window of x: the type of x. */
void gcut_shape_pool_grad(infer *s)
{
    sliding v = pool_attrs(s, false);
    const gcut_type *x = in(s, 0), *y = in(s, 1);
    same_dtype(s, 0, 1);
    for (uint32_t d = 0; d < 2; d++) {
        agree(s, y->dim[d], x->dim[d], d ? "the channels of x and of y" : "the batches of x and of y");
        agree(s, y->dim[FIRST + d], places(s, &v, d, x->dim[FIRST + d]), "y and the positions of the window");
    }
    *s->out = *x;
}

/* y, with the size of x as an attribute. */
void gcut_shape_unpool(infer *s)
{
    sliding v = pool_attrs(s, false);
    const gcut_type *y = in(s, 0);
    const gcut_dim *size = two(s, GCUT_KEY_shape);
    for (uint32_t d = 0; d < 2; d++)
        agree(s, y->dim[FIRST + d], places(s, &v, d, size[d]), "y and the positions of the window");
    *s->out = (gcut_type){.dtype = y->dtype, .rank = 4, .dim = {y->dim[0], y->dim[1], size[0], size[1]}};
}
