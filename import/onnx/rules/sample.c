/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Samples of images at places that are values.  An image [N, C, D1, …] becomes rows of C elements, one
 * for each of its pixels, and a sample is a sum of rows with weights: along each axis there are taps, indices with a
 * weight each, and a sample has all combinations of the taps of its axes.
 */
#include "import/onnx/rules.h"

#include <string.h>

enum { MOST_TAPS = 4, MOST_AXES = 3 };

/* Along one axis: values of the shape of the places.  The indices are of i64 and within the axis; a weight of 0 (no
 * value) is 1.  What is not `inside` counts as 0, whatever the pixel is. */
typedef struct taps {
    uint32_t n;
    gcut_dim size;                                                /* of the axis */
    gcut_ref at[MOST_TAPS], weight[MOST_TAPS], inside[MOST_TAPS]; /* inside 0: all are */
} taps;

/* ---- values ---- */

/* A size as a value, of the shape of `like`. */
static gcut_ref size_like(gcut_onnx_node *n, gcut_dim d, gcut_ref like)
{
    const gcut_type t = gcut_onnx_type(n, like);
    return gcut_bsize(&n->b, d, t.dtype, &t);
}

static gcut_ref mul(gcut_onnx_node *n, gcut_ref x, gcut_ref y)
{
    return gcut_b2(&n->b, GCUT_OP_mul, x, y);
}

static gcut_ref add(gcut_onnx_node *n, gcut_ref x, gcut_ref y)
{
    return gcut_b2(&n->b, GCUT_OP_add, x, y);
}

static gcut_ref sub(gcut_onnx_node *n, gcut_ref x, gcut_ref y)
{
    return gcut_b2(&n->b, GCUT_OP_sub, x, y);
}

static gcut_ref one_less(gcut_onnx_node *n, gcut_ref x) /* 1 - x */
{
    return sub(n, gcut_bconst(&n->b, x, 1), x);
}

/* x within [0, size - 1], of a float or of an integer. */
static gcut_ref within(gcut_onnx_node *n, gcut_ref x, gcut_dim size)
{
    gcut_ref last = gcut_baddc(&n->b, size_like(n, size, x), -1);
    x = gcut_b2(&n->b, GCUT_OP_max, x, gcut_bconst(&n->b, x, 0));
    return gcut_b2(&n->b, GCUT_OP_min, x, last);
}

/* Places of 16 bits are too coarse for indices. */
static gcut_ref as_places(gcut_onnx_node *n, gcut_ref x)
{
    return gcut_onnx_type(n, x).dtype == GCUT_F64 ? x : gcut_bconvert(&n->b, x, GCUT_F32);
}

/* A place that is a whole number as an index.  A cast saturates, and NaN becomes 0, so that every index is within the
 * axis. */
static gcut_ref as_index(gcut_onnx_node *n, gcut_ref place, gcut_dim size)
{
    return within(n, gcut_bconvert(&n->b, place, GCUT_I64), size);
}

/* ---- sums of rows ---- */

/* [N, C, D1, …] as [N D1 …, C] */
static gcut_ref rows_of(gcut_onnx_node *n, gcut_ref x)
{
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_dim perm[GCUT_MAX_RANK] = {0};
    for (uint32_t r = 1; r + 1 < t.rank; r++) perm[r] = r + 1;
    perm[t.rank - 1] = 1;
    const gcut_dim pixels = gcut_onnx_dim(n, GCUT_DIM_MUL, t.dim[0], gcut_onnx_numel(n, &t, 2, t.rank));
    return gcut_onnx_reshape(n, gcut_btranspose(&n->b, x, perm), (gcut_dim[]){pixels, t.dim[1]}, 2);
}

/* [N, O1, …, C] as [N, C, O1, …] */
static gcut_ref channels_second(gcut_onnx_node *n, gcut_ref x)
{
    const uint32_t rank = gcut_onnx_type(n, x).rank;
    gcut_dim perm[GCUT_MAX_RANK] = {0, rank - 1};
    for (uint32_t r = 2; r < rank; r++) perm[r] = r - 1;
    return gcut_btranspose(&n->b, x, perm);
}

/* The rows at the taps of axes k, k + 1, …, with their weights, and combined by `op`, as [places.., C].  `before` is the
 * index along the batch and the axes before k, as one axis. */
static gcut_ref combine(gcut_onnx_node *n, gcut_ref rows, const taps *axis, uint32_t axes, gcut_ref before,
                        gcut_op op)
{
    static const gcut_dim places[] = {0, 1, 2, 3, 4, 5, 6, 7};
    gcut_ref all = 0;
    before = mul(n, before, size_like(n, axis->size, before));
    for (uint32_t j = 0; j < axis->n; j++) {
        gcut_ref i = add(n, before, axis->at[j]);
        gcut_ref y = axes == 1 ? gcut_btake(&n->b, rows, i, 0) : combine(n, rows, axis + 1, axes - 1, i, op);
        const gcut_type t = gcut_onnx_type(n, y);
        if (axis->weight[j]) y = mul(n, y, gcut_bbroadcast(&n->b, axis->weight[j], t.dim, t.rank, places));
        if (axis->inside[j])
            y = gcut_bselect(&n->b, gcut_bbroadcast(&n->b, axis->inside[j], t.dim, t.rank, places), y,
                             gcut_bconst(&n->b, y, 0));
        all = all ? gcut_b2(&n->b, op, all, y) : y;
    }
    return all;
}

/* ---- GridSample ---- */

typedef struct grid_options {
    bool nearest, cubic, corners; /* neither nearest nor cubic: linear */
    bool zeros, border;           /* neither: reflection */
} grid_options;

/* Reflected at the ends of the axis, as often as it takes: a triangular wave. */
static gcut_ref reflect(gcut_onnx_node *n, gcut_ref p, gcut_dim size, bool corners)
{
    const double low = corners ? 0 : -0.5;
    gcut_ref width = size_like(n, size, p), one = gcut_bconst(&n->b, p, 1);
    if (corners) /* of one pixel there is nothing to reflect; its index is put within the axis later */
        width = gcut_b2(&n->b, GCUT_OP_max, gcut_baddc(&n->b, width, -1), one);
    p = low == 0 ? p : gcut_baddc(&n->b, p, -low);
    p = gcut_b2(&n->b, GCUT_OP_mod, p, gcut_bscale(&n->b, width, 2));
    p = sub(n, width, gcut_b1(&n->b, GCUT_OP_abs, sub(n, p, width)));
    return low == 0 ? p : gcut_baddc(&n->b, p, low);
}

/* A place beyond the outermost centres, or edges of pixels, is that of the outermost pixel. */
static gcut_ref to_border(gcut_onnx_node *n, gcut_ref p, gcut_dim size, bool corners)
{
    gcut_ref last = gcut_baddc(&n->b, size_like(n, size, p), -1), zero = gcut_bconst(&n->b, p, 0);
    gcut_ref low = corners ? zero : gcut_bconst(&n->b, p, -0.5),
             high = corners ? last : gcut_baddc(&n->b, last, 0.5);
    p = gcut_bselect(&n->b, gcut_b2(&n->b, GCUT_OP_lt, p, low), zero, p);
    return gcut_bselect(&n->b, gcut_b2(&n->b, GCUT_OP_gt, p, high), last, p);
}

/* ((a x + b) x + c) x + d */
static gcut_ref polynomial(gcut_onnx_node *n, gcut_ref x, double a, double b, double c, double d)
{
    gcut_ref y = gcut_baddc(&n->b, gcut_bscale(&n->b, x, a), b);
    y = gcut_baddc(&n->b, mul(n, y, x), c);
    return gcut_baddc(&n->b, mul(n, y, x), d);
}

/* The weight of the tap k - 1 to the right of floor(p), of Keys' cubic convolution with a = -3/4, where f = p - floor(p). */
static gcut_ref cubic_weight(gcut_onnx_node *n, gcut_ref f, uint32_t k)
{
    static const double a = -0.75;
    gcut_ref d = k == 0 || k == 1 ? f : one_less(n, f);
    if (k == 0 || k == 3) d = gcut_baddc(&n->b, d, 1);
    return k == 1 || k == 2 ? polynomial(n, d, a + 2, -(a + 3), 0, 1)
                            : polynomial(n, d, a, -5 * a, 8 * a, -4 * a);
}

static taps grid_taps(gcut_onnx_node *n, gcut_ref p, gcut_dim size, const grid_options *w, gcut_dtype t)
{
    taps a = {.n = w->nearest ? 1 : w->cubic ? 4 : 2, .size = size};
    if (w->nearest) p = gcut_b1(&n->b, GCUT_OP_round, p);
    if (w->border) p = to_border(n, p, size, w->corners);
    if (!w->border && !w->zeros) p = reflect(n, p, size, w->corners);
    gcut_ref base = gcut_b1(&n->b, w->nearest ? GCUT_OP_round : GCUT_OP_floor, p);
    gcut_ref f = w->nearest ? 0 : sub(n, p, base);
    for (uint32_t k = 0; k < a.n; k++) {
        const double shift = w->cubic ? (double)k - 1 : (double)k;
        gcut_ref i = shift == 0 ? base : gcut_baddc(&n->b, base, shift);
        gcut_ref weight = w->nearest ? 0 : w->cubic ? cubic_weight(n, f, k) : k == 0 ? one_less(n, f) : f;
        if (w->zeros) {
            gcut_ref last = gcut_baddc(&n->b, size_like(n, size, i), -1), zero = gcut_bconst(&n->b, i, 0);
            a.inside[k] = gcut_b2(&n->b, GCUT_OP_and, gcut_b2(&n->b, GCUT_OP_ge, i, zero),
                                  gcut_b2(&n->b, GCUT_OP_le, i, last));
        } else if (!w->border) {
            i = reflect(n, i, size, w->corners);
        }
        a.at[k] = as_index(n, i, size);
        a.weight[k] = weight ? gcut_bconvert(&n->b, weight, t) : 0;
    }
    return a;
}

static grid_options grid_options_of(gcut_onnx_node *n)
{
    const char *mode = gcut_onnx_text(n, "mode", "linear"),
               *padding = gcut_onnx_text(n, "padding_mode", "zeros");
    const grid_options w = {.nearest = !strcmp(mode, "nearest"),
                            .cubic = !strcmp(mode, "cubic") || !strcmp(mode, "bicubic"),
                            .corners = gcut_onnx_int(n, "align_corners", 0) != 0,
                            .zeros = !strcmp(padding, "zeros"),
                            .border = !strcmp(padding, "border")};
    if (!w.nearest && !w.cubic && strcmp(mode, "linear") && strcmp(mode, "bilinear"))
        GCUT_ONNX_UNSUPPORTED(n, "there is no sampling of the mode '%s'", mode);
    if (!w.zeros && !w.border && strcmp(padding, "reflection"))
        GCUT_ONNX_UNSUPPORTED(n, "there is no padding of the mode '%s'", padding);
    return w;
}

/* The grid [N, O1, …, axes] has places from -1 to 1, those of the last axis first. */
void gcut_onnx_grid_sample(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), grid = as_places(n, gcut_onnx_in(n, 1));
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_type places = gcut_onnx_type(n, grid);
    const grid_options w = grid_options_of(n);
    const uint32_t axes = t.rank - 2u;
    const gcut_dtype compute = gcut_dtype_is_float(t.dtype) ? t.dtype : GCUT_F32;
    taps axis[MOST_AXES];
    if (t.rank < 3 || t.rank > MOST_AXES + 2)
        GCUT_ONNX_UNSUPPORTED(n, "expected an operand of 1 to %d axes besides batch and channels", MOST_AXES);
    if (places.rank != t.rank || places.dim[t.rank - 1] != (gcut_dim)axes)
        GCUT_ONNX_WRONG(n, "expected a grid of as many axes as the operand, the last of them of %u",
                        (unsigned)axes);
    gcut_dim_require(n->b.g, places.dim[0], t.dim[0], n->b.loc, n->p->op_type);
    places.rank--;
    for (uint32_t k = 0; k < axes; k++) {
        const gcut_dim d = t.dim[2 + k], of = (gcut_dim)(axes - 1 - k);
        gcut_ref p = gcut_onnx_slice(n, grid, places.rank, of, of + 1, 1);
        p = gcut_baddc(&n->b, gcut_onnx_reshape(n, p, places.dim, places.rank), 1);
        gcut_ref size = size_like(n, d, p);
        if (w.corners)
            p = mul(n, p, gcut_baddc(&n->b, size, -1));
        else
            p = gcut_baddc(&n->b, mul(n, p, size), -1);
        axis[k] = grid_taps(n, gcut_bscale(&n->b, p, 0.5), d, &w, compute);
    }
    gcut_ref rows = rows_of(n, gcut_bconvert(&n->b, x, compute));
    gcut_ref y = combine(n, rows, axis, axes, gcut_onnx_iota(n, &places, 0), GCUT_OP_add);
    gcut_onnx_set(n, 0, gcut_bconvert(&n->b, channels_second(n, y), t.dtype));
}

/* ---- RoiAlign ---- */

typedef struct roi_options {
    double scale;  /* of the image to the operand */
    double offset; /* of pixels */
    bool max;
    int64_t out[2], samples[2]; /* along height and width; samples for each element of the result */
} roi_options;

/* Taps of the samples of all regions along one axis, [R, out * samples], as values of [R, H samples, W samples]. */
static taps roi_taps(gcut_onnx_node *n, gcut_ref regions, uint32_t k, gcut_dim size, const roi_options *w,
                     gcut_dtype t)
{
    const gcut_type tr = gcut_onnx_type(n, regions);
    const int64_t count = w->out[k] * w->samples[k];
    const gcut_dim all[] = {tr.dim[0], w->out[0] * w->samples[0], w->out[1] * w->samples[1]},
                   mine[] = {tr.dim[0], count};
    gcut_ref bound[2];
    for (uint32_t e = 0; e < 2; e++) { /* a region is x1, y1, x2, y2 */
        const gcut_dim column = 2 * e + (1 - k);
        bound[e] = gcut_onnx_slice(n, regions, 1, column, column + 1, 1);
        bound[e] = gcut_bscale(&n->b, gcut_onnx_reshape(n, bound[e], tr.dim, 1), w->scale);
        if (w->offset != 0) bound[e] = gcut_baddc(&n->b, bound[e], -w->offset);
    }
    gcut_ref extent = sub(n, bound[1], bound[0]);
    if (w->offset == 0) extent = gcut_b2(&n->b, GCUT_OP_max, extent, gcut_bconst(&n->b, extent, 1));
    gcut_array part = gcut_onnx_array(n, tr.dtype, 1, &count);
    for (int64_t j = 0; j < count; j++) part.u.f[j] = ((double)j + 0.5) / (double)count;
    gcut_ref p = gcut_bbroadcast(&n->b, gcut_onnx_constant(n, &part), mine, 2, (gcut_dim[]){1});
    p = mul(n, p, gcut_bbroadcast(&n->b, extent, mine, 2, (gcut_dim[]){0}));
    p = add(n, p, gcut_bbroadcast(&n->b, bound[0], mine, 2, (gcut_dim[]){0}));
    /* Beyond one pixel around the operand a sample is 0. */
    gcut_ref low = gcut_b2(&n->b, GCUT_OP_ge, p, gcut_bconst(&n->b, p, -1));
    gcut_ref high = gcut_b2(&n->b, GCUT_OP_le, p, size_like(n, size, p));
    gcut_ref inside = gcut_b2(&n->b, GCUT_OP_and, low, high);
    p = within(n, p, size);
    gcut_ref base = gcut_b1(&n->b, GCUT_OP_floor, p), f = sub(n, p, base);
    taps a = {.n = 2, .size = size};
    for (uint32_t j = 0; j < 2; j++) {
        gcut_ref i = as_index(n, j ? gcut_baddc(&n->b, base, 1) : base, size);
        gcut_ref weight = j ? f : one_less(n, f);
        a.at[j] = gcut_bbroadcast(&n->b, i, all, 3, (gcut_dim[]){0, 1 + k});
        a.inside[j] = gcut_bbroadcast(&n->b, inside, all, 3, (gcut_dim[]){0, 1 + k});
        a.weight[j] = gcut_bbroadcast(&n->b, gcut_bconvert(&n->b, weight, t), all, 3, (gcut_dim[]){0, 1 + k});
    }
    return a;
}

/* Of regions [R, 4] that have equal numbers of samples: [R, C, H, W]. */
static gcut_ref align(gcut_onnx_node *n, gcut_ref rows, gcut_ref regions, gcut_ref batch,
                      const gcut_dim *size, const roi_options *w)
{
    const gcut_type t = gcut_onnx_type(n, rows);
    taps axis[2];
    for (uint32_t k = 0; k < 2; k++) axis[k] = roi_taps(n, regions, k, size[k], w, t.dtype);
    const gcut_type places = gcut_onnx_type(n, axis[0].at[0]);
    batch = gcut_bbroadcast(&n->b, batch, places.dim, 3, (gcut_dim[]){0});
    gcut_ref y = combine(n, rows, axis, 2, batch, w->max ? GCUT_OP_max : GCUT_OP_add);
    y = gcut_onnx_reshape(
        n, y, (gcut_dim[]){places.dim[0], w->out[0], w->samples[0], w->out[1], w->samples[1], t.dim[1]}, 6);
    y = gcut_onnx_reduce(n, w->max ? GCUT_OP_max_reduce : GCUT_OP_mean, y, 1u << 2 | 1u << 4, false);
    return channels_second(n, y);
}

/* One region after the other, whose sizes decide on the numbers of samples. */
static gcut_ref align_each(gcut_onnx_node *n, gcut_ref rows, gcut_ref regions, gcut_ref batch,
                           const gcut_dim *size, roi_options w)
{
    const gcut_array *bound = gcut_onnx_need(n, 1, "the regions, where 'sampling_ratio' is 0,");
    const gcut_dim channels = gcut_onnx_type(n, rows).dim[1];
    gcut_ref *part = gcut_calloc(n->b.g->module->arena, (size_t)bound->dim[0] + 1, sizeof *part);
    for (int64_t r = 0; r < bound->dim[0]; r++) {
        for (uint32_t k = 0; k < 2; k++) {
            double extent = (bound->u.f[4 * r + 3 - k] - bound->u.f[4 * r + 1 - k]) * w.scale;
            if (w.offset == 0 && extent < 1) extent = 1;
            extent /= (double)w.out[k];
            if (!(extent <= 1e4)) GCUT_ONNX_WRONG(n, "region %lld is too large", (long long)r);
            w.samples[k] = extent > 0 ? (int64_t)extent + (extent > (double)(int64_t)extent) : 0;
        }
        gcut_ref one = gcut_onnx_slice(n, regions, 0, r, r + 1, 1),
                 of = gcut_onnx_slice(n, batch, 0, r, r + 1, 1);
        if (w.samples[0] && w.samples[1]) {
            part[r] = align(n, rows, one, of, size, &w);
        } else { /* no samples */
            const gcut_type t = {gcut_onnx_type(n, rows).dtype, 4, {1, channels, w.out[0], w.out[1]}};
            part[r] = gcut_bfull(&n->b, &t, 0);
        }
    }
    if (bound->dim[0] == 0) GCUT_ONNX_UNSUPPORTED(n, "there are no regions");
    return gcut_onnx_concat(n, part, (uint32_t)bound->dim[0], 0);
}

void gcut_onnx_roi_align(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), regions = gcut_onnx_in(n, 1),
             batch = gcut_bconvert(&n->b, gcut_onnx_in(n, 2), GCUT_I64);
    if (!gcut_dtype_is_float(gcut_onnx_type(n, regions).dtype))
        GCUT_ONNX_WRONG(n, "expected regions of floats");
    regions = as_places(n, regions);
    const gcut_type t = gcut_onnx_type(n, x), tr = gcut_onnx_type(n, regions);
    const char *mode = gcut_onnx_text(n, "mode", "avg"),
               *from = gcut_onnx_text(n, "coordinate_transformation_mode",
                                      n->opset < 16 ? "output_half_pixel" : "half_pixel");
    const int64_t samples = gcut_onnx_int(n, "sampling_ratio", 0);
    const roi_options w = {.scale = gcut_onnx_float(n, "spatial_scale", 1),
                           .offset = !strcmp(from, "half_pixel") ? 0.5 : 0,
                           .max = !strcmp(mode, "max"),
                           .out = {gcut_onnx_int(n, "output_height", 1), gcut_onnx_int(n, "output_width", 1)},
                           .samples = {samples, samples}};
    if (t.rank != 4 || tr.rank != 2 || tr.dim[1] != 4)
        GCUT_ONNX_WRONG(n, "expected an operand of four axes, and regions of four numbers each");
    gcut_onnx_need_rank(n, batch, 1, "the images of the regions");
    if (w.out[0] < 1 || w.out[1] < 1 || samples < 0 || w.out[0] > 1 << 16 || w.out[1] > 1 << 16 ||
        samples > 1 << 12)
        GCUT_ONNX_WRONG(n, "expected a height and a width of 1 or more, and no negative 'sampling_ratio'");
    if (!w.max && strcmp(mode, "avg")) GCUT_ONNX_UNSUPPORTED(n, "there is no pool of the mode '%s'", mode);
    gcut_ref rows = rows_of(n, x);
    gcut_onnx_set(n, 0,
                  (samples ? align(n, rows, regions, batch, t.dim + 2, &w)
                           : align_each(n, rows, regions, batch, t.dim + 2, w)));
}
