/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Resize and Upsample.  What the ops `upsample` and `resize` mean becomes one of them.  Else each axis, one after the other,
 * becomes a sum of few selections of its elements, each with a weight for each place of the result: one selection for the
 * nearest element, two for linear, four for cubic interpolation.  Selections are views where they can be, else `take` at
 * constant indices.
 *
 *   x(p)       the place in the operand of place p of the result
 *   y[p] = sum over i of w(i - x(p)) x[i],   i near x(p); i beyond an end is the element at that end
 */
#include "import/onnx/rules.h"

#include <math.h>
#include <string.h>

typedef enum coordinates { /* x(p) */
                           HALF_PIXEL,
                           HALF_PIXEL_SYMMETRIC,
                           PYTORCH_HALF_PIXEL,
                           ALIGN_CORNERS,
                           ASYMMETRIC,
                           TF_HALF_PIXEL,
                           CROP_AND_RESIZE,
} coordinates;
typedef enum rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL } rounding;
typedef enum interpolation { NEAREST, LINEAR, CUBIC } interpolation;

typedef struct resize_options {
    interpolation mode;
    coordinates from;
    rounding nearest;
    double cubic_a;       /* the parameter of the cubic kernel */
    bool exclude_outside; /* elements beyond the ends have no weight */
    bool antialias;
    double beyond; /* the result where x(p) is outside, of CROP_AND_RESIZE */
} resize_options;

typedef struct scaling {
    gcut_dim in, out;
    int64_t factor;    /* out = in * factor; 0: that is not so */
    double width;      /* in * scale, which is out before rounding, if `in` is a number */
    double start, end; /* the part of the operand that is resized; 0, 1: all */
} scaling;

/* The index of a name in a list that ends with NULL. */
static int named(gcut_onnx_node *n, const char *attr, const char *otherwise, const char *const *name)
{
    const char *given = gcut_onnx_text(n, attr, otherwise);
    for (int k = 0; name[k]; k++)
        if (!strcmp(name[k], given)) return k;
    GCUT_ONNX_UNSUPPORTED(n, "there is no '%s' of the name '%s'", attr, given);
}

static bool stays(const resize_options *w, const scaling *s)
{
    return s->factor == 1 && (w->from != CROP_AND_RESIZE || (s->start == 0 && s->end == 1));
}

/* ---- places and weights ---- */

/* x(p).  Products come before the quotient, so that places halfway between elements are exact. */
static double place(const resize_options *w, const scaling *s, int64_t k)
{
    const double p = (double)k, d = (double)s->in, last = d - 1, out = (double)s->out,
                 centre = (p + 0.5) * d / s->width;
    switch (w->from) {
    case HALF_PIXEL: return centre - 0.5;
    case HALF_PIXEL_SYMMETRIC: return d / 2 * (1 - out / s->width) + centre - 0.5;
    case PYTORCH_HALF_PIXEL: return out > 1 ? centre - 0.5 : 0;
    case ALIGN_CORNERS: return s->width == 1 ? 0 : p * last / (s->width - 1);
    case ASYMMETRIC: return p * d / s->width;
    case TF_HALF_PIXEL: return centre;
    case CROP_AND_RESIZE:
        return out > 1 ? s->start * last + p * (s->end - s->start) * last / (out - 1)
                       : 0.5 * (s->start + s->end) * last;
    }
    return 0;
}

static int64_t clamp(double x, int64_t size)
{
    return x < 0 ? 0 : x > (double)(size - 1) ? size - 1 : (int64_t)x;
}

static int64_t nearest(const resize_options *w, const scaling *s, int64_t p)
{
    const double x = place(w, s, p);
    switch (w->nearest) {
    case PREFER_FLOOR: return clamp(ceil(x - 0.5), s->in);
    case PREFER_CEIL: return clamp(floor(x + 0.5), s->in);
    case FLOOR: return clamp(floor(x), s->in);
    case CEIL: return clamp(ceil(x), s->in);
    }
    return 0;
}

/* w(d): of linear interpolation, or Keys' cubic convolution with the parameter a. */
static double kernel(const resize_options *w, double d)
{
    const double a = w->cubic_a;
    d = fabs(d);
    if (w->mode == LINEAR) return d < 1 ? 1 - d : 0;
    if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? a * (((d - 5) * d + 8) * d - 4) : 0;
}

/* Selections: element p of selection k has the index at[k * out + p] and the weight weight[k * out + p]. */
typedef struct selections {
    int64_t n, out;
    int64_t *at;
    double *weight;
} selections;

static selections selections_new(gcut_onnx_node *n, int64_t count, int64_t out)
{
    gcut_arena *a = n->b.g->module->arena;
    selections s = {.n = count, .out = out};
    uint64_t all;
    if (__builtin_mul_overflow((uint64_t)count, (uint64_t)out, &all)) all = UINT64_MAX;
    gcut_onnx_count_elements(n->o, all); /* before they take memory */
    s.at = gcut_calloc(a, (size_t)(count * out) + 1, sizeof *s.at);
    s.weight = gcut_calloc(a, (size_t)(count * out) + 1, sizeof *s.weight);
    return s;
}

static selections select_nearest(gcut_onnx_node *n, const resize_options *w, const scaling *s)
{
    selections e = selections_new(n, 1, s->out);
    for (int64_t p = 0; p < s->out; p++) {
        e.at[p] = nearest(w, s, p);
        e.weight[p] = 1;
    }
    return e;
}

/* Against aliasing, the kernel is as much wider as the axis gets shorter, and its weights add up to 1 again. */
static selections interpolate(gcut_onnx_node *n, const resize_options *w, const scaling *s)
{
    const bool shrinks = w->antialias && s->width > 0 && s->width < (double)s->in;
    const double stretch = shrinks ? (double)s->in / s->width : 1;
    if (!(stretch < 0x1p31))
        GCUT_ONNX_UNSUPPORTED(n, "expected an axis that gets at most 2^31 times shorter");
    const int64_t each = (int64_t)ceil((w->mode == LINEAR ? 1 : 2) * stretch); /* side of x(p) */
    selections e = selections_new(n, 2 * each, s->out);
    for (int64_t p = 0; p < s->out; p++) {
        const double x = place(w, s, p), base = floor(x);
        double all = 0, inside = 0;
        for (int64_t k = 0; k < e.n; k++) {
            const double i = base + (double)(k + 1 - each), weight = kernel(w, (i - x) / stretch);
            const bool outside = i < 0 || i > (double)(s->in - 1);
            all += weight;
            inside += outside ? 0 : weight;
            e.at[k * s->out + p] = clamp(i, s->in);
            e.weight[k * s->out + p] = w->exclude_outside && outside ? 0 : weight;
        }
        const double total = w->exclude_outside ? inside : stretch > 1 ? all : 1;
        for (int64_t k = 0; k < e.n && total != 0; k++) e.weight[k * s->out + p] /= total;
    }
    return e;
}

/* ---- selections as ops ---- */

/* Each element of the axis `factor` times. */
static gcut_ref repeat(gcut_onnx_node *n, gcut_ref x, uint32_t axis, int64_t factor)
{
    gcut_type t = gcut_onnx_type(n, x);
    const gcut_dim before = gcut_onnx_numel(n, &t, 0, axis), d = t.dim[axis],
                   behind = gcut_onnx_numel(n, &t, axis + 1, t.rank);
    x = gcut_onnx_reshape(n, x, (gcut_dim[]){before, d, behind}, 3);
    x = gcut_bbroadcast(&n->b, x, (gcut_dim[]){before, d, factor, behind}, 4, (gcut_dim[]){0, 1, 3});
    t.dim[axis] = gcut_onnx_dim(n, GCUT_DIM_MUL, d, factor);
    return gcut_onnx_reshape(n, x, t.dim, t.rank);
}

static bool is_repetition(const int64_t *at, int64_t count, int64_t factor)
{
    for (int64_t p = 0; p < count; p++)
        if (at[p] != p / factor) return false;
    return true;
}

/* The elements of the axis at these indices. */
static gcut_ref select_at(gcut_onnx_node *n, gcut_ref x, uint32_t axis, const int64_t *at, int64_t count)
{
    const gcut_type t = gcut_onnx_type(n, x);
    const int64_t d = t.dim[axis], step = count > 1 ? at[1] - at[0] : 1;
    if (count == 0) return gcut_onnx_slice(n, x, axis, 0, 0, 1);
    if (gcut_onnx_is_progression(at, count) && step >= 0) {
        gcut_type to = t;
        to.dim[axis] = count;
        if (step > 0) return gcut_onnx_slice(n, x, axis, at[0], at[count - 1] + 1, step);
        return gcut_bspread(&n->b, gcut_onnx_slice(n, x, axis, at[0], at[0] + 1, 1), &to);
    }
    if (count % d == 0 && is_repetition(at, count, count / d)) return repeat(n, x, axis, count / d);
    gcut_array i = gcut_onnx_array(n, GCUT_I64, 1, &count);
    memcpy(i.u.i, at, (size_t)count * sizeof *at);
    return gcut_btake(&n->b, x, gcut_onnx_constant(n, &i), (int)axis);
}

/* x with a factor for each place of the axis. */
static gcut_ref weigh(gcut_onnx_node *n, gcut_ref x, uint32_t axis, const double *weight, int64_t count)
{
    const gcut_type t = gcut_onnx_type(n, x);
    bool ones = true;
    for (int64_t p = 0; p < count; p++) ones &= weight[p] == 1;
    if (ones) return x;
    gcut_array w = gcut_onnx_array(n, t.dtype, 1, &count);
    memcpy(w.u.f, weight, (size_t)count * sizeof *weight);
    return gcut_b2(&n->b, GCUT_OP_mul, x,
                   gcut_bbroadcast(&n->b, gcut_onnx_constant(n, &w), t.dim, t.rank, (gcut_dim[]){axis}));
}

/* As a product with a matrix of the weights. */
static gcut_ref sum_product(gcut_onnx_node *n, gcut_ref x, uint32_t axis, const selections *e)
{
    const gcut_type t = gcut_onnx_type(n, x);
    gcut_array m = gcut_onnx_array(n, t.dtype, 2, (int64_t[]){e->out, t.dim[axis]});
    for (int64_t k = 0; k < e->n; k++)
        for (int64_t p = 0; p < e->out; p++)
            m.u.f[p * t.dim[axis] + e->at[k * e->out + p]] += e->weight[k * e->out + p];
    x = gcut_baxis_first(&n->b, x, axis, false);
    gcut_type first = gcut_onnx_type(n, x);
    const gcut_dim others = gcut_onnx_numel(n, &first, 1, first.rank);
    x = gcut_onnx_reshape(n, x, (gcut_dim[]){first.dim[0], others}, 2);
    x = gcut_bmatmul(&n->b, gcut_onnx_constant(n, &m), x, false, false);
    first.dim[0] = e->out;
    return gcut_baxis_first(&n->b, gcut_onnx_reshape(n, x, first.dim, first.rank), axis, true);
}

enum { MOST_SELECTIONS = 4 }; /* more are a product with a matrix */

static gcut_ref sum_selections(gcut_onnx_node *n, gcut_ref x, uint32_t axis, const selections *e)
{
    gcut_ref sum = 0;
    if (e->n > MOST_SELECTIONS && e->out > 0) return sum_product(n, x, axis, e);
    for (int64_t k = 0; k < e->n; k++) {
        const double *weight = e->weight + k * e->out;
        bool zero = true;
        for (int64_t p = 0; p < e->out; p++) zero &= weight[p] == 0;
        if (zero && (sum || k + 1 < e->n)) continue;
        gcut_ref y = select_at(n, x, axis, e->at + k * e->out, e->out);
        y = weigh(n, y, axis, weight, e->out);
        sum = sum ? gcut_b2(&n->b, GCUT_OP_add, sum, y) : y;
    }
    return sum;
}

/* ---- one axis ---- */

/* Does the op `upsample` with the mode "bilinear" mean the same? */
static bool is_upsample(const resize_options *w, const scaling *s)
{
    return w->mode == LINEAR && s->factor > 1 &&
           (w->from == HALF_PIXEL || w->from == HALF_PIXEL_SYMMETRIC || w->from == PYTORCH_HALF_PIXEL);
}

/* Is each element repeated `factor` times, whatever the size is?  x(p + factor) = x(p) + 1, so that a few elements show
 * what becomes of all, and x(p) grows, so that the first and the last place of an element show what becomes of those between
 * them. */
static bool repeats(const resize_options *w, const scaling *s)
{
    const int64_t few = 4, f = s->factor;
    if (w->mode != NEAREST || f < 2 || f > INT32_MAX || w->from == ALIGN_CORNERS ||
        w->from == CROP_AND_RESIZE)
        return false;
    const scaling sample = {.in = few, .out = few * f, .width = (double)(few * f), .factor = f};
    for (int64_t k = 0; k < few; k++)
        if (nearest(w, &sample, k * f) != k || nearest(w, &sample, k * f + f - 1) != k) return false;
    return true;
}

/* Does the op `resize` mean the same, of sizes that may be symbols?  pytorch_half_pixel differs from half_pixel where the
 * result has one element: PyTorch computes that by half_pixel. */
static bool is_resize(const resize_options *w, const scaling *s)
{
    const bool known = gcut_dim_known(s->in) && gcut_dim_known(s->out), grows = known && s->in <= s->out;
    if ((known && (s->width != (double)s->out || s->in == 0)) || (w->antialias && !grows)) return false;
    if (w->mode == NEAREST) return w->from == ASYMMETRIC && w->nearest == FLOOR;
    if (w->mode == CUBIC && (w->exclude_outside || w->cubic_a != -0.75)) return false;
    return w->from == ALIGN_CORNERS || w->from == HALF_PIXEL || w->from == HALF_PIXEL_SYMMETRIC ||
           (w->from == PYTORCH_HALF_PIXEL && s->out != 1);
}

/* The last axes of x, from the first one on that does not stay. */
static gcut_ref resize_last(gcut_onnx_node *n, gcut_ref x, const resize_options *w, const scaling *s)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    gcut_module *m = n->b.g->module;
    const uint32_t rank = gcut_onnx_type(n, x).rank;
    gcut_dim to[GCUT_MAX_RANK];
    uint32_t first = 0;
    while (first < rank && stays(w, &s[first])) first++;
    for (uint32_t r = first; r < rank; r++) to[r] = s[r].out;
    const gcut_attr a[] = {gcut_attr_dims(m, GCUT_KEY_shape, to + first, rank - first),
                           gcut_attr_str(m, GCUT_KEY_mode, modes[w->mode]),
                           gcut_attr_bool(GCUT_KEY_align_corners, w->from == ALIGN_CORNERS)};
    return gcut_onnx_node_new(n, GCUT_OP_resize, &x, 1, a, w->mode == NEAREST ? 2 : 3);
}

static gcut_ref upsample(gcut_onnx_node *n, gcut_ref x, int64_t f, int64_t g, const char *mode)
{
    const gcut_attr a[] = {gcut_attr_dims(n->b.g->module, GCUT_KEY_factor, (gcut_dim[]){f, g}, 2),
                           gcut_attr_str(n->b.g->module, GCUT_KEY_mode, mode)};
    return gcut_onnx_node_new(n, GCUT_OP_upsample, &x, 1, a, 2);
}

static gcut_ref upsample_axis(gcut_onnx_node *n, gcut_ref x, uint32_t axis, int64_t factor)
{
    gcut_type t = gcut_onnx_type(n, x);
    const gcut_dim before = gcut_onnx_numel(n, &t, 0, axis),
                   behind = gcut_onnx_numel(n, &t, axis + 1, t.rank);
    x = gcut_onnx_reshape(n, x, (gcut_dim[]){before, 1, t.dim[axis], behind}, 4);
    t.dim[axis] = gcut_onnx_dim(n, GCUT_DIM_MUL, t.dim[axis], factor);
    return gcut_onnx_reshape(n, upsample(n, x, factor, 1, "bilinear"), t.dim, t.rank);
}

/* The stated value at the places whose x(p) is outside of the operand. */
static gcut_ref extrapolate(gcut_onnx_node *n, gcut_ref y, uint32_t axis, const resize_options *w,
                            const scaling *s)
{
    const gcut_type t = gcut_onnx_type(n, y);
    gcut_array inside = gcut_onnx_array(n, GCUT_BOOL, 1, &s->out);
    bool all = true;
    for (int64_t p = 0; p < s->out; p++) {
        const double x = place(w, s, p);
        inside.u.i[p] = x >= 0 && x <= (double)(s->in - 1);
        all &= inside.u.i[p] != 0;
    }
    if (all) return y;
    gcut_ref mask = gcut_bbroadcast(&n->b, gcut_onnx_constant(n, &inside), t.dim, t.rank, (gcut_dim[]){axis});
    return gcut_bselect(&n->b, mask, y, gcut_bconst(&n->b, y, w->beyond));
}

static gcut_ref resize_axis(gcut_onnx_node *n, gcut_ref x, uint32_t axis, const resize_options *w,
                            const scaling *s)
{
    if (stays(w, s)) return x;
    if (repeats(w, s)) return repeat(n, x, axis, s->factor);
    if (is_upsample(w, s)) return upsample_axis(n, x, axis, s->factor);
    if (!gcut_dim_known(s->in) || !gcut_dim_known(s->out))
        GCUT_ONNX_UNSUPPORTED(n,
                              "axis %u is resized from or to a size that is a symbol: that needs 'nearest' "
                              "with 'asymmetric' and 'floor', or "
                              "'linear' or 'cubic' with 'half_pixel' or 'align_corners'",
                              (unsigned)axis);
    if (s->in == 0 && s->out != 0) GCUT_ONNX_WRONG(n, "axis %u has no elements", (unsigned)axis);
    const selections e = w->mode == NEAREST ? select_nearest(n, w, s) : interpolate(n, w, s);
    x = sum_selections(n, x, axis, &e);
    return w->from == CROP_AND_RESIZE ? extrapolate(n, x, axis, w, s) : x;
}

static gcut_ref resize(gcut_onnx_node *n, gcut_ref x, const resize_options *w, const scaling *s)
{
    const gcut_type t = gcut_onnx_type(n, x);
    if (t.rank == 4 && gcut_dtype_is_float(t.dtype) && stays(w, &s[0]) && stays(w, &s[1]) &&
        !(stays(w, &s[2]) && stays(w, &s[3]))) {
        const bool stay[] = {stays(w, &s[2]), stays(w, &s[3])};
        if ((stay[0] || repeats(w, &s[2])) && (stay[1] || repeats(w, &s[3])))
            return upsample(n, x, s[2].factor, s[3].factor, "nearest");
        if ((stay[0] || is_upsample(w, &s[2])) && (stay[1] || is_upsample(w, &s[3])))
            return upsample(n, x, s[2].factor, s[3].factor, "bilinear");
    }
    bool all = gcut_dtype_is_float(t.dtype), any = false;
    for (uint32_t r = 0; r < t.rank; r++) {
        if (stays(w, &s[r])) continue;
        any = true;
        all &= is_resize(w, &s[r]);
    }
    if (all && any) return resize_last(n, x, w, s);
    const bool real = w->mode == NEAREST || gcut_dtype_is_float(t.dtype);
    if (!real) x = gcut_bconvert(&n->b, x, GCUT_F32);
    for (int grow = 0; grow < 2; grow++) /* axes that shrink come first: the others have less to do then */
        for (uint32_t r = 0; r < t.rank; r++) {
            const bool shrinks = gcut_dim_known(s[r].in) && gcut_dim_known(s[r].out) && s[r].out < s[r].in;
            if (shrinks == !grow) x = resize_axis(n, x, r, w, &s[r]);
        }
    return real ? x : gcut_bconvert(&n->b, gcut_b1(&n->b, GCUT_OP_round, x), t.dtype);
}

/* ---- sizes of the result ---- */

/* From a scale, of single precision as the op states it. */
static void scale_by(gcut_onnx_node *n, scaling *s, double scale)
{
    if (!(scale > 0) || scale > 1e6) GCUT_ONNX_WRONG(n, "expected a scale of more than 0, found %g", scale);
    const bool whole = scale == floor(scale);
    if (!gcut_dim_known(s->in)) {
        if (!whole)
            GCUT_ONNX_UNSUPPORTED(n, "a size that is a symbol is scaled by %g, which is no whole number",
                                  scale);
        s->factor = (int64_t)scale;
        s->out = gcut_onnx_dim(n, GCUT_DIM_MUL, s->in, s->factor);
        return;
    }
    s->width = (double)s->in * scale;
    s->out = (int64_t)floorf((float)s->in * (float)(s->end - s->start) * (float)scale);
    s->factor = whole && s->out == s->in * (int64_t)scale ? (int64_t)scale : 0;
}

static void resize_to(gcut_onnx_node *n, scaling *s, gcut_dim out)
{
    s->out = out;
    s->factor = s->in == out;
    if (gcut_dim_known(s->in) && gcut_dim_known(out)) {
        s->width = (double)out;
        if (s->in > 0 && out % s->in == 0) s->factor = out / s->in;
    }
    for (int64_t f = 2; f <= 64 && !gcut_dim_known(out) && !s->factor; f++)
        if (gcut_onnx_dim(n, GCUT_DIM_MUL, s->in, f) == out) s->factor = f;
}

/* Sizes of one scale, the smallest or largest of those that the stated sizes ask for. */
static void keep_ratio(gcut_onnx_node *n, scaling *s, const uint32_t *axis, gcut_onnx_list size,
                       bool smallest)
{
    double out = 0, in = 0; /* the scale is out / in */
    for (uint32_t i = 0; i < size.n; i++) {
        const scaling *a = &s[axis[i]];
        if (!gcut_dim_known(a->in) || !gcut_dim_known(size.at[i]) || a->in == 0)
            GCUT_ONNX_UNSUPPORTED(n, "'keep_aspect_ratio_policy' needs sizes that are numbers, and not 0");
        const double cross = (double)size.at[i] * in - out * (double)a->in;
        if (i > 0 && (smallest ? cross >= 0 : cross <= 0)) continue;
        out = (double)size.at[i];
        in = (double)a->in;
    }
    for (uint32_t i = 0; i < size.n; i++) {
        scaling *a = &s[axis[i]];
        a->width = (double)a->in * out / in;
        a->out = (int64_t)floor(a->width + 0.5);
        a->factor = a->width == (double)a->out && a->out % a->in == 0 ? a->out / a->in : 0;
    }
}

static void scale_all(gcut_onnx_node *n, scaling *s, const uint32_t *axis, uint32_t count,
                      const double *scale, int64_t scales)
{
    if (scales != count)
        GCUT_ONNX_WRONG(n, "expected a scale for each of %u axes, found %lld", (unsigned)count,
                        (long long)scales);
    for (uint32_t i = 0; i < count; i++) scale_by(n, &s[axis[i]], scale[i]);
}

static void size_all(gcut_onnx_node *n, scaling *s, const uint32_t *axis, uint32_t count)
{
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    if (!gcut_onnx_has(n, 3)) GCUT_ONNX_WRONG(n, "expected scales or sizes");
    const gcut_onnx_list size = gcut_onnx_input_or_attr(n, 3, "sizes");
    const int policy = named(n, "keep_aspect_ratio_policy", "stretch", policies);
    if (size.n != count)
        GCUT_ONNX_WRONG(n, "expected a size for each of %u axes, found %u", (unsigned)count,
                        (unsigned)size.n);
    for (uint32_t i = 0; i < count; i++)
        if (!gcut_onnx_is_symbolic(size.at[i]) && size.at[i] < 0)
            GCUT_ONNX_WRONG(n, "expected a size, found %lld", (long long)size.at[i]);
    if (policy > 0)
        keep_ratio(n, s, axis, size, policy == 1);
    else
        for (uint32_t i = 0; i < count; i++) resize_to(n, &s[axis[i]], size.at[i]);
}

/* ---- rules ---- */

static const double *numbers(gcut_onnx_node *n, uint32_t i, const char *what, int64_t *count)
{
    const gcut_array *x = gcut_onnx_need(n, i, what);
    if (!gcut_dtype_is_float(x->dtype) || x->rank != 1)
        GCUT_ONNX_WRONG(n, "expected a list of floats for %s", what);
    *count = x->n;
    return x->u.f;
}

static void start(scaling *s, const gcut_type *t, uint32_t *axis)
{
    for (uint32_t r = 0; r < t->rank; r++) {
        s[r] = (scaling){.in = t->dim[r], .out = t->dim[r], .factor = 1, .end = 1};
        s[r].width = gcut_dim_known(t->dim[r]) ? (double)t->dim[r] : 0;
        axis[r] = r;
    }
}

/* Both ops before version 11. */
static void resize_first(gcut_onnx_node *n, const double *scale, int64_t scales)
{
    static const char *const modes[] = {"nearest", "linear", NULL};
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    scaling s[GCUT_MAX_RANK];
    uint32_t axis[GCUT_MAX_RANK];
    const resize_options w = {
        .mode = (interpolation)named(n, "mode", "nearest", modes), .from = ASYMMETRIC, .nearest = FLOOR};
    start(s, &t, axis);
    scale_all(n, s, axis, t.rank, scale, scales);
    gcut_onnx_set(n, 0, resize(n, x, &w, s));
}

void gcut_onnx_upsample(gcut_onnx_node *n)
{
    int64_t count;
    if (n->opset >= 9) {
        const double *scale = numbers(n, 1, "the scales", &count);
        resize_first(n, scale, count);
        return;
    }
    const Onnx__AttributeProto *a = gcut_onnx_attr(n, "scales");
    if (!a) GCUT_ONNX_UNSUPPORTED(n, "expected the attribute 'scales', as versions from 7 on have it");
    double *scale = gcut_calloc(n->b.g->module->arena, a->n_floats + 1, sizeof *scale);
    for (size_t k = 0; k < a->n_floats; k++) scale[k] = (double)a->floats[k];
    resize_first(n, scale, (int64_t)a->n_floats);
}

static resize_options resize_options_of(gcut_onnx_node *n)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    static const char *const from[] = {
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
        "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
    return (resize_options){
        .mode = (interpolation)named(n, "mode", "nearest", modes),
        .from = (coordinates)named(n, "coordinate_transformation_mode", "half_pixel", from),
        .nearest = (rounding)named(n, "nearest_mode", "round_prefer_floor", roundings),
        .cubic_a = gcut_onnx_float(n, "cubic_coeff_a", -0.75),
        .exclude_outside = gcut_onnx_int(n, "exclude_outside", 0) != 0,
        .antialias = gcut_onnx_int(n, "antialias", 0) != 0,
        .beyond = gcut_onnx_float(n, "extrapolation_value", 0),
    };
}

void gcut_onnx_resize(gcut_onnx_node *n)
{
    int64_t scales = 0, bounds;
    if (n->opset < 11) {
        const double *scale = numbers(n, 1, "the scales", &scales);
        resize_first(n, scale, scales);
        return;
    }
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const resize_options w = resize_options_of(n);
    const gcut_onnx_list axes = gcut_onnx_ints(n, "axes");
    const uint32_t count = axes.at ? axes.n : t.rank;
    scaling s[GCUT_MAX_RANK];
    uint32_t axis[GCUT_MAX_RANK];
    start(s, &t, axis);
    if (count > t.rank) GCUT_ONNX_WRONG(n, "'axes' has more axes than the operand");
    for (uint32_t i = 0; i < axes.n; i++) axis[i] = gcut_onnx_axis(n, axes.at[i], t.rank);
    if (w.from == CROP_AND_RESIZE) {
        const double *bound = numbers(n, 1, "the region that is resized", &bounds);
        if (bounds != 2 * (int64_t)count)
            GCUT_ONNX_WRONG(n, "expected two bounds of the region for each of %u axes", (unsigned)count);
        for (uint32_t i = 0; i < count; i++) s[axis[i]].start = bound[i], s[axis[i]].end = bound[count + i];
    }
    const double *scale = gcut_onnx_has(n, 2) ? numbers(n, 2, "the scales", &scales) : NULL;
    if (scales > 0) /* an empty list stands for none */
        scale_all(n, s, axis, count, scale, scales);
    else
        size_all(n, s, axis, count);
    gcut_onnx_set(n, 0, resize(n, x, &w, s));
}
