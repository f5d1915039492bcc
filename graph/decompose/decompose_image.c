/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of ops that give the last axes other sizes, as those of images [N, C, H, W].
 */
#include "graph/decompose/decompose_rule.h"

#include <string.h>

/* x with `axis` repeated: [.., n, f, ..], element k of the new axis being a copy. */
static gcut_ref phases(gcut_build *b, gcut_ref x, uint32_t axis, gcut_dim factor)
{
    const gcut_type t = type_of(b, x);
    gcut_dim axes[GCUT_MAX_RANK];
    gcut_type wide = {.dtype = t.dtype, .rank = (uint8_t)(t.rank + 1)};
    for (uint32_t d = 0; d < t.rank; d++) {
        axes[d] = d <= axis ? d : d + 1;
        wide.dim[axes[d]] = t.dim[d];
    }
    wide.dim[axis + 1] = factor;
    return gcut_bbroadcast(b, x, wide.dim, wide.rank, axes);
}

/* [.., n, f, ..] -> [.., n f, ..] */
static gcut_ref join_phases(gcut_build *b, gcut_ref x, uint32_t axis)
{
    gcut_type t = type_of(b, x), to = {.rank = (uint8_t)(t.rank - 1)};
    for (uint32_t d = 0; d < to.rank; d++) to.dim[d] = t.dim[d <= axis ? d : d + 1];
    to.dim[axis] = gcut_dim_make(b->g->module->dims, GCUT_DIM_MUL, t.dim[axis], t.dim[axis + 1]);
    return gcut_breshape(b, x, to.dim, to.rank);
}

/* x with each element of the axis `factor` times. */
static gcut_ref repeated(gcut_build *b, gcut_ref x, uint32_t axis, gcut_dim factor)
{
    return join_phases(b, phases(b, x, axis, factor), axis);
}

/* ---- interpolation ---- */

typedef struct interpolation {
    bool cubic; /* else linear */
    bool align_corners;
} interpolation;

/* op of v and a size */
static gcut_ref with_size(composite *c, gcut_op op, gcut_ref v, gcut_dim size)
{
    const gcut_type t = type_of(B, v);
    return gcut_b2(B, op, v, gcut_bsize(B, size, t.dtype, &t));
}

/* v, one value for each element of the axis, repeated to the shape of `like`. */
static gcut_ref along(composite *c, gcut_ref v, gcut_ref like, uint32_t axis)
{
    const gcut_type t = type_of(B, like);
    return gcut_bbroadcast(B, v, t.dim, t.rank, (gcut_dim[]){axis});
}

/* Element i of an axis of size m lies at numerator / denominator of one of size n. */
typedef struct position {
    gcut_ref numerator;
    gcut_dim denominator;
} position;

/* With align_corners the centres of the outermost elements stay, else the edges of the axis: at i (n - 1) / (m - 1), or at
 * (i + 1/2) n / m - 1/2. */
static position position_of(composite *c, gcut_dim n, gcut_dim m, bool align_corners)
{
    gcut_ref i = gcut_biota(B, &(gcut_type){GCUT_I64, 1, {m}}, 0);
    if (align_corners)
        return (position){gcut_btimes(B, i, dim2(c, GCUT_DIM_SUB, n, 1)),
                          dim2(c, GCUT_DIM_MAXOF, dim2(c, GCUT_DIM_SUB, m, 1), 1)};
    gcut_ref odd = gcut_baddc(B, gcut_bscale(B, i, 2), 1);
    return (position){with_size(c, GCUT_OP_sub, gcut_btimes(B, odd, n), m), dim2(c, GCUT_DIM_MUL, m, 2)};
}

/* x at the places i + k of an axis, or at its ends where those lie outside. */
static gcut_ref neighbours(composite *c, gcut_ref x, uint32_t axis, gcut_ref i, int k)
{
    const gcut_dim last = dim2(c, GCUT_DIM_SUB, type_of(B, x).dim[axis], 1);
    i = gcut_baddc(B, i, k);
    i = gcut_b2(B, GCUT_OP_max, gcut_bconst(B, i, 0), with_size(c, GCUT_OP_min, i, last));
    return gcut_btake(B, x, i, (int)axis);
}

/* The weight of an inner neighbour, at a distance d of 0 to 1, or of an outer one, of 1 to 2 (Keys 1981, with a = -0.75 as in
 * PyTorch). */
static gcut_ref cubic_weight(composite *c, gcut_ref d, bool outer)
{
    const double a = -0.75;
    const double inner_terms[] = {a + 2, -(a + 3), 0, 1}, outer_terms[] = {a, -5 * a, 8 * a, -4 * a};
    const double *term = outer ? outer_terms : inner_terms;
    gcut_ref w = gcut_bconst(B, d, term[0]);
    for (int k = 1; k < 4; k++) w = gcut_baddc(B, gcut_b2(B, GCUT_OP_mul, w, d), term[k]);
    return w;
}

static gcut_ref weighted(composite *c, gcut_ref x, uint32_t axis, gcut_ref i, int k, gcut_ref weight)
{
    gcut_ref v = neighbours(c, x, axis, i, k);
    return gcut_b2(B, GCUT_OP_mul, v, along(c, weight, v, axis));
}

/* Positions are integers up to the last division, so that the result is exact where an element lies on another. */
static gcut_ref interpolated(composite *c, gcut_ref x, uint32_t axis, gcut_dim m, interpolation how)
{
    const gcut_type t = type_of(B, x);
    position p = position_of(c, t.dim[axis], m, how.align_corners);
    if (!how.cubic) p.numerator = gcut_b2(B, GCUT_OP_max, p.numerator, gcut_bconst(B, p.numerator, 0));
    gcut_ref i = with_size(c, GCUT_OP_div, p.numerator, p.denominator);
    gcut_ref rest = gcut_bconvert(B, with_size(c, GCUT_OP_mod, p.numerator, p.denominator), t.dtype);
    gcut_ref f = with_size(c, GCUT_OP_div, rest, p.denominator), one = gcut_bconst(B, f, 1);
    gcut_ref g = gcut_b2(B, GCUT_OP_sub, one, f);
    if (!how.cubic)
        return gcut_b2(B, GCUT_OP_add, weighted(c, x, axis, i, 0, g), weighted(c, x, axis, i, 1, f));
    gcut_ref sum = weighted(c, x, axis, i, -1, cubic_weight(c, gcut_baddc(B, f, 1), true));
    sum = gcut_b2(B, GCUT_OP_add, sum, weighted(c, x, axis, i, 0, cubic_weight(c, f, false)));
    sum = gcut_b2(B, GCUT_OP_add, sum, weighted(c, x, axis, i, 1, cubic_weight(c, g, false)));
    return gcut_b2(B, GCUT_OP_add, sum,
                   weighted(c, x, axis, i, 2, cubic_weight(c, gcut_baddc(B, g, 1), true)));
}

/* One axis after the other.  Bilinear is PyTorch's with align_corners=False: pixels are squares, and beyond
 * the centres of the outermost ones their value stays. */
gcut_ref gcut_decompose_upsample(composite *c)
{
    const bool linear = strcmp(attr(c, GCUT_KEY_mode)->u.str, "nearest") != 0;
    gcut_ref y = c->x[0];
    for (uint32_t k = 0; k < 2; k++) {
        const gcut_dim factor = attr(c, GCUT_KEY_factor)->u.dims[k], n = type_of(B, y).dim[2 + k];
        if (factor == 1) continue;
        y = linear ? interpolated(c, y, 2 + k, dim2(c, GCUT_DIM_MUL, n, factor), (interpolation){0})
                   : repeated(B, y, 2 + k, factor);
    }
    return y;
}

/* ---- any sizes ---- */

/* Element floor(i n / m): a slice where n is a multiple of m, a repetition where m is one of n. */
static gcut_ref nearest(composite *c, gcut_ref x, uint32_t axis, gcut_dim m)
{
    const gcut_type t = type_of(B, x);
    const gcut_dim n = t.dim[axis];
    const bool known = gcut_dim_known(n) && gcut_dim_known(m) && n > 0 && m > 0;
    if (known && n % m == 0) {
        gcut_dim start[GCUT_MAX_RANK] = {0}, limit[GCUT_MAX_RANK], step[GCUT_MAX_RANK];
        for (uint32_t d = 0; d < t.rank; d++) limit[d] = t.dim[d], step[d] = d == axis ? n / m : 1;
        return gcut_bslice(B, x, start, limit, step);
    }
    if (known && m % n == 0 && t.rank < GCUT_MAX_RANK) return repeated(B, x, axis, m / n);
    gcut_ref i = gcut_biota(B, &(gcut_type){GCUT_I64, 1, {m}}, 0);
    return gcut_btake(B, x, with_size(c, GCUT_OP_div, gcut_btimes(B, i, n), m), (int)axis);
}

/* Axis by axis. */
gcut_ref gcut_decompose_resize(composite *c)
{
    const gcut_attr *shape = attr(c, GCUT_KEY_shape);
    const char *mode = attr(c, GCUT_KEY_mode)->u.str;
    const interpolation how = {!strcmp(mode, "cubic"), flag(c, GCUT_KEY_align_corners)};
    gcut_ref y = c->x[0];
    for (uint32_t k = 0; k < shape->n; k++) {
        const uint32_t axis = type_of(B, y).rank - shape->n + k;
        const gcut_dim m = shape->u.dims[k];
        if (m == type_of(B, y).dim[axis]) continue;
        y = !strcmp(mode, "nearest") ? nearest(c, y, axis, m) : interpolated(c, y, axis, m, how);
    }
    return y;
}

/* The first largest element along the axis, which gets the whole derivative; NaN wins. */
static gcut_ref first_largest(composite *c, gcut_ref x, uint32_t axis)
{
    const gcut_ref i = op_with_axis(B, GCUT_OP_argmax, &x, 1, axis);
    return op_with_axis(B, GCUT_OP_pick, (gcut_ref[]){x, i}, 2, axis);
}

/* Windows of one size: the axis is m of them. */
static gcut_ref even_windows(composite *c, gcut_op op, gcut_ref x, uint32_t axis, gcut_dim m)
{
    gcut_type t = type_of(B, x), to = {t.dtype, (uint8_t)(t.rank + 1), {0}};
    for (uint32_t d = 0; d < t.rank; d++) to.dim[d <= axis ? d : d + 1] = t.dim[d];
    to.dim[axis] = m;
    to.dim[axis + 1] = dim2(c, GCUT_DIM_DIV, t.dim[axis], m);
    x = gcut_breshape(B, x, to.dim, to.rank);
    return op == GCUT_OP_argmax ? first_largest(c, x, axis + 1) : gcut_breduce(B, op, x, 1u << (axis + 1));
}

/* Window i is floor(i n / m), ..., ceil((i + 1) n / m) - 1: at most ceil(n / m) + 1 places, of which those beyond it are its
 * last one for a maximum, and 0 for a mean. */
static gcut_ref windows(composite *c, gcut_op op, gcut_ref x, uint32_t axis, gcut_dim m)
{
    const gcut_dim n = type_of(B, x).dim[axis];
    const gcut_type t = {GCUT_I64, 2, {m, dim2(c, GCUT_DIM_ADD, dim2(c, GCUT_DIM_CEILDIV, n, m), 1)}};
    gcut_ref i = gcut_biota(B, &t, 0), place = gcut_biota(B, &t, 1);
    gcut_ref from = with_size(c, GCUT_OP_div, gcut_btimes(B, i, n), m);
    gcut_ref end = gcut_btimes(B, gcut_baddc(B, i, 1), n);
    end = with_size(c, GCUT_OP_div, with_size(c, GCUT_OP_add, end, dim2(c, GCUT_DIM_SUB, m, 1)), m);
    gcut_ref at = gcut_b2(B, GCUT_OP_add, from, place);
    gcut_ref v = gcut_btake(B, x, gcut_b2(B, GCUT_OP_min, at, gcut_baddc(B, end, -1)), (int)axis);
    if (op == GCUT_OP_argmax) return first_largest(c, v, axis + 1);
    const gcut_type tv = type_of(B, v);
    gcut_ref inside =
        gcut_bbroadcast(B, gcut_b2(B, GCUT_OP_lt, at, end), tv.dim, tv.rank, (gcut_dim[]){axis, axis + 1});
    gcut_ref sum =
        gcut_breduce(B, GCUT_OP_sum, gcut_bselect(B, inside, v, gcut_bconst(B, v, 0)), 1u << (axis + 1));
    gcut_ref size = gcut_breduce(B, GCUT_OP_max_reduce, gcut_b2(B, GCUT_OP_sub, end, from), 2);
    return gcut_b2(B, GCUT_OP_div, sum, along(c, gcut_bconvert(B, size, tv.dtype), sum, axis));
}

/* From the last axis to the first, so that of equal elements the first one in memory is taken, as by PyTorch. */
static gcut_ref adaptive_pool(composite *c, gcut_op op)
{
    const gcut_attr *shape = attr(c, GCUT_KEY_shape);
    gcut_ref y = c->x[0];
    for (uint32_t k = shape->n; k-- > 0;) {
        const uint32_t axis = type_of(B, y).rank - shape->n + k;
        const gcut_dim n = type_of(B, y).dim[axis], m = shape->u.dims[k];
        if (m != n)
            y = dim2(c, GCUT_DIM_MOD, n, m) == 0 ? even_windows(c, op, y, axis, m)
                                                 : windows(c, op, y, axis, m);
    }
    return y;
}

gcut_ref gcut_decompose_adaptive_avg_pool(composite *c)
{
    return adaptive_pool(c, GCUT_OP_mean);
}

gcut_ref gcut_decompose_adaptive_max_pool(composite *c)
{
    return adaptive_pool(c, GCUT_OP_argmax);
}
