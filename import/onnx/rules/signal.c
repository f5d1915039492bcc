/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Signals: windows and mel filters, which are constants, and Fourier transforms as products with constant matrices.  A
 * complex number is an axis of two, a real one an axis of one.
 */
#include "import/onnx/rules.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* A number that is 1 or more. */
static int64_t length(gcut_onnx_node *n, uint32_t i, const char *what)
{
    const gcut_array *x = gcut_onnx_need(n, i, what);
    if (x->n != 1 || gcut_dtype_is_float(x->dtype)) GCUT_ONNX_WRONG(n, "expected an integer for %s", what);
    if (gcut_onnx_is_symbolic(x->u.i[0]))
        GCUT_ONNX_UNSUPPORTED(n, "%s follows from sizes that are symbols", what);
    if (x->u.i[0] < 1 || x->u.i[0] > INT64_C(1) << 30)
        GCUT_ONNX_WRONG(n, "expected a number from 1 to 2^30 for %s, found %lld", what, (long long)x->u.i[0]);
    return x->u.i[0];
}

/* Constants of the dtype that the attribute states; others than floats are cut off. */
static void set_as(gcut_onnx_node *n, const gcut_array *x)
{
    const gcut_dtype t = gcut_onnx_dtype_attr(n, "output_datatype", 1);
    gcut_array y = gcut_onnx_array(n, t, x->rank, x->dim);
    for (int64_t k = 0; k < x->n; k++)
        if (gcut_dtype_is_float(t))
            y.u.f[k] = t == GCUT_F64 ? x->u.f[k] : (double)(float)x->u.f[k];
        else
            y.u.i[k] = (int64_t)x->u.f[k];
    gcut_onnx_set_known(n, 0, &y);
}

/* ---- windows ---- */

/* a0 - a1 cos(2 pi k / N) + a2 cos(4 pi k / N), where N is the size, or one less of a symmetric window. */
void gcut_onnx_window(gcut_onnx_node *n)
{
    static const struct {
        const char *name;
        double a[3];
    } windows[] = {{"HannWindow", {0.5, 0.5, 0}},
                   {"HammingWindow", {25.0 / 46, 21.0 / 46, 0}},
                   {"BlackmanWindow", {0.42, 0.5, 0.08}}};
    const int64_t size = length(n, 0, "the size of the window");
    const double *a = windows[0].a;
    const double period = (double)(gcut_onnx_int(n, "periodic", 1) ? size : size > 1 ? size - 1 : 1);
    for (size_t k = 0; k < sizeof windows / sizeof *windows; k++)
        if (!strcmp(windows[k].name, n->p->op_type)) a = windows[k].a;
    gcut_array x = gcut_onnx_array(n, GCUT_F64, 1, &size);
    for (int64_t k = 0; k < size; k++) {
        const double angle = 2 * PI * (double)k / period;
        x.u.f[k] = a[0] - a[1] * cos(angle) + a[2] * cos(2 * angle);
    }
    set_as(n, &x);
}

/* ---- mel filters ---- */

static double mel_of(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

static double hertz_of(double mel)
{
    return 700 * (pow(10, mel / 2595) - 1);
}

/* [bins of a one-sided transform, filters]: triangles between every other of places that are equally spaced on the mel
 * scale; the places are bins. */
void gcut_onnx_mel_weights(gcut_onnx_node *n)
{
    const int64_t filters = length(n, 0, "the number of mel filters"),
                  size = length(n, 1, "the length of the transform"), rate = length(n, 2, "the sample rate"),
                  bins = size / 2 + 1;
    const double low = mel_of(gcut_onnx_need_number(n, 3, "the lower edge").f),
                 high = mel_of(gcut_onnx_need_number(n, 4, "the upper edge").f),
                 step = (high - low) / (double)(filters + 2);
    if (bins * filters > INT64_C(1) << 23) GCUT_ONNX_UNSUPPORTED(n, "the matrix has more than 2^23 elements");
    gcut_array x = gcut_onnx_array(n, GCUT_F64, 2, (int64_t[]){bins, filters});
    for (int64_t m = 0; m < filters; m++) {
        double bin[3]; /* the triangle's left end, its top, its right end */
        for (int64_t e = 0; e < 3; e++)
            bin[e] = floor((double)(size + 1) * hertz_of(low + (double)(m + e) * step) / (double)rate);
        if (!(bin[0] >= 0 && bin[1] >= bin[0] && bin[2] >= bin[1] && bin[1] < (double)bins &&
              bin[2] <= (double)bins))
            GCUT_ONNX_WRONG(n, "filter %lld is not within the bins of the transform", (long long)m);
        for (int64_t k = (int64_t)bin[0]; k <= (int64_t)bin[2] && k < bins; k++) {
            const double at = (double)k;
            double *w = &x.u.f[k * filters + m];
            if (at == bin[1])
                *w = 1;
            else
                *w = at < bin[1] ? (at - bin[0]) / (bin[1] - bin[0]) : (bin[2] - at) / (bin[2] - bin[1]);
        }
    }
    set_as(n, &x);
}

/* ---- Fourier transforms ---- */

typedef struct transform {
    int64_t size; /* N */
    bool inverse, onesided;
    int64_t in, out;             /* elements that are read, and those of the result */
    int64_t in_parts, out_parts; /* 1: real, 2: complex */
} transform;

enum { MOST_WEIGHTS = 1 << 23 };

static void check_size(gcut_onnx_node *n, const transform *f)
{
    const double all = (double)f->in * (double)f->out * (double)(f->in_parts * f->out_parts);
    if (all > MOST_WEIGHTS)
        GCUT_ONNX_UNSUPPORTED(n, "a transform of %lld elements is a matrix of more than 2^23 weights",
                              (long long)f->size);
}

/* The weight of part q of element i in part r of element k of the result.  With a = 2 pi i k / N it is that of
 * (x0 + i x1) (cos a -+ i sin a), divided by N if inverse.  The elements that a one-sided spectrum leaves out are
 * conjugates of others, which count twice. */
static double fourier_weight(const transform *f, int64_t i, int64_t q, int64_t k, int64_t r)
{
    const double angle = 2 * PI * (double)(i * k % f->size) / (double)f->size,
                 sine = f->inverse ? sin(angle) : -sin(angle);
    double w = q == r ? cos(angle) : q == 0 ? sine : -sine;
    if (fabs(w) < 1e-12) w = 0; /* at a multiple of a right angle */
    if (!f->inverse) return w;
    if (f->onesided && i > 0 && 2 * i != f->size) w *= 2;
    return w / (double)f->size;
}

/* x [.., axis, .., parts] as a product [rows, in in_parts] [in in_parts, out out_parts]. */
static gcut_ref transform_axis(gcut_onnx_node *n, gcut_ref x, uint32_t axis, const transform *f)
{
    gcut_type t = gcut_onnx_type(n, x);
    const uint32_t last = t.rank - 2u;
    gcut_dim perm[GCUT_MAX_RANK];
    gcut_array m = gcut_onnx_array(n, t.dtype, 2, (int64_t[]){f->in * f->in_parts, f->out * f->out_parts});
    double *w = m.u.f;
    for (int64_t i = 0; i < f->in; i++)
        for (int64_t q = 0; q < f->in_parts; q++)
            for (int64_t k = 0; k < f->out; k++)
                for (int64_t r = 0; r < f->out_parts; r++) *w++ = fourier_weight(f, i, q, k, r);
    for (uint32_t r = 0; r < t.rank; r++) perm[r] = r;
    perm[axis] = last; /* the axis and the last before the parts change places, and back */
    perm[last] = axis;
    if (axis != last) x = gcut_btranspose(&n->b, x, perm);
    t = gcut_onnx_type(n, x);
    const gcut_dim rows = gcut_onnx_numel(n, &t, 0, last);
    x = gcut_onnx_reshape(n, x, (gcut_dim[]){rows, f->in * f->in_parts}, 2);
    x = gcut_bmatmul(&n->b, x, gcut_onnx_constant(n, &m), false, false);
    t.dim[last] = f->out;
    t.dim[last + 1] = f->out_parts;
    x = gcut_onnx_reshape(n, x, t.dim, t.rank);
    return axis != last ? gcut_btranspose(&n->b, x, perm) : x;
}

static uint32_t dft_axis(gcut_onnx_node *n, uint32_t rank)
{
    int64_t axis = n->opset < 20 ? gcut_onnx_int(n, "axis", 1) : -2;
    if (n->opset >= 20 && gcut_onnx_has(n, 2)) {
        const gcut_onnx_list given = gcut_onnx_input_or_attr(n, 2, "axis");
        if (given.n != 1) GCUT_ONNX_WRONG(n, "expected one element for the axis");
        axis = given.at[0];
    }
    const uint32_t at = gcut_onnx_axis(n, axis, rank);
    if (at + 1 == rank) GCUT_ONNX_WRONG(n, "the last axis is that of complex numbers");
    return at;
}

void gcut_onnx_dft(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    if (t.rank < 2 || (t.dim[t.rank - 1] != 1 && t.dim[t.rank - 1] != 2))
        GCUT_ONNX_WRONG(n, "expected an operand whose last axis has one or two elements");
    const uint32_t axis = dft_axis(n, t.rank);
    transform f = {.inverse = gcut_onnx_int(n, "inverse", 0) != 0,
                   .onesided = gcut_onnx_int(n, "onesided", 0) != 0,
                   .in_parts = t.dim[t.rank - 1],
                   .out_parts = 2};
    const bool given = gcut_onnx_has(n, 1), whole = f.inverse && f.onesided; /* of half a spectrum */
    if (!gcut_dim_known(t.dim[axis]))
        GCUT_ONNX_UNSUPPORTED(n, "axis %u has a size that is a symbol", (unsigned)axis);
    if (t.dim[axis] > GCUT_ONNX_INT_MAX) GCUT_ONNX_UNSUPPORTED(n, "axis %u is too long", (unsigned)axis);
    f.size = given   ? length(n, 1, "the length of the transform")
             : whole ? 2 * (t.dim[axis] - 1)
                     : t.dim[axis];
    if (f.size < 1) GCUT_ONNX_WRONG(n, "axis %u is too short", (unsigned)axis);
    f.in = whole ? f.size / 2 + 1 : f.size; /* beyond the end the operand is 0 */
    if (f.in > t.dim[axis]) f.in = t.dim[axis];
    f.out = f.onesided && !f.inverse ? f.size / 2 + 1 : f.size;
    if (whole) f.out_parts = 1;
    check_size(n, &f);
    x = gcut_onnx_slice(n, x, axis, 0, f.in, 1);
    gcut_onnx_set(n, 0, transform_axis(n, x, axis, &f));
}

/* A convolution of the signal, whose filters are the rows of the matrix, times the window: x [B, parts, 1, L] becomes
 * [B, 2 out, 1, frames]. */
void gcut_onnx_stft(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), window = gcut_onnx_has(n, 2) ? gcut_onnx_in(n, 2) : 0;
    const gcut_type t = gcut_onnx_type(n, x);
    const int64_t step = length(n, 1, "the step between frames");
    const int64_t parts = t.rank == 3 && gcut_dim_known(t.dim[2]) ? t.dim[2] : 1;
    if (t.rank < 2 || t.rank > 3 || parts < 1 || parts > 2)
        GCUT_ONNX_WRONG(n, "expected a signal [batch, length, 1 or 2]");
    if (window) gcut_onnx_need_rank(n, window, 1, "a window");
    const gcut_dim size = gcut_onnx_has(n, 3) ? length(n, 3, "the length of frames")
                          : window            ? gcut_onnx_type(n, window).dim[0]
                                              : t.dim[1];
    if (!gcut_dim_known(size)) GCUT_ONNX_UNSUPPORTED(n, "the length of frames is a symbol");
    if (window && gcut_onnx_type(n, window).dim[0] != size)
        GCUT_ONNX_WRONG(n, "expected a window as long as frames are");
    transform f = {.size = size, .in = size, .in_parts = parts, .out_parts = 2};
    f.onesided = gcut_onnx_int(n, "onesided", 1) != 0;
    f.out = f.onesided ? size / 2 + 1 : size;
    check_size(n, &f);
    gcut_array m = gcut_onnx_array(n, t.dtype, 4, (int64_t[]){2 * f.out, parts, 1, size});
    double *w = m.u.f;
    for (int64_t k = 0; k < f.out; k++)
        for (int64_t r = 0; r < 2; r++)
            for (int64_t q = 0; q < parts; q++)
                for (int64_t i = 0; i < size; i++) *w++ = fourier_weight(&f, i, q, k, r);
    gcut_ref filter = gcut_onnx_constant(n, &m);
    if (window)
        filter =
            gcut_b2(&n->b, GCUT_OP_mul, filter, gcut_bbroadcast(&n->b, window, m.dim, 4, (gcut_dim[]){3}));
    if (parts == 2) x = gcut_btranspose(&n->b, x, (gcut_dim[]){0, 2, 1});
    x = gcut_onnx_reshape(n, x, (gcut_dim[]){t.dim[0], parts, 1, t.dim[1]}, 4);
    const gcut_attr stride = gcut_attr_dims(n->b.g->module, GCUT_KEY_stride, (gcut_dim[]){1, step}, 2);
    x = gcut_onnx_node_new(n, GCUT_OP_conv2d, (gcut_ref[]){x, filter}, 2, &stride, 1);
    const gcut_dim frames = gcut_onnx_type(n, x).dim[3];
    x = gcut_onnx_reshape(n, x, (gcut_dim[]){t.dim[0], f.out, 2, frames}, 4);
    gcut_onnx_set(n, 0, gcut_btranspose(&n->b, x, (gcut_dim[]){0, 3, 1, 2}));
}
