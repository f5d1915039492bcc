/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolutions and pools, by their definition: every element of x that a window covers, one by one.
 */
#include "interp/eval.h"

/* The window on x [N,C,H,W] for each position of y [N,O,OH,OW]. */
typedef struct sliding {
    int64_t window[2], stride[2], dilation[2];
    int64_t pad[4];       /* top, left, bottom, right */
    const int64_t *x, *y; /* the two shapes */
} sliding;

static sliding attrs_of(const gcut_eval *e, const gcut_array *x, const gcut_array *y)
{
    sliding v = {.dilation = {1, 1}, .x = x->dim, .y = y->dim};
    gcut_eval_dims(e, GCUT_KEY_window, v.window);
    if (!gcut_eval_dims(e, GCUT_KEY_stride, v.stride))
        for (int d = 0; d < 2; d++) v.stride[d] = v.window[d];
    gcut_eval_dims(e, GCUT_KEY_dilation, v.dilation);
    gcut_eval_dims(e, GCUT_KEY_pad, v.pad);
    return v;
}

/* The row and column of x under tap (kh, kw) of the window at (oh, ow); false in the padding. */
static bool under(const sliding *v, int64_t oh, int64_t ow, int64_t kh, int64_t kw, int64_t at[2])
{
    at[0] = oh * v->stride[0] + kh * v->dilation[0] - v->pad[0];
    at[1] = ow * v->stride[1] + kw * v->dilation[1] - v->pad[1];
    return at[0] >= 0 && at[0] < v->x[2] && at[1] >= 0 && at[1] < v->x[3];
}

/* ---- convolutions ---- */

typedef struct conv {
    sliding v;
    const gcut_array *x, *w, *y; /* two operands and the result */
    int64_t in, out;             /* channels of x and of y in a group */
} conv;

/* The terms of y[n, o, oh, ow]: sum over c, kh, kw of x[n, c, ih, iw] w[o, c, kh, kw].  Each adds the product
 * of two factors to the third, the result. */
static void each_term(const conv *c, int64_t n, int64_t o, int64_t oh, int64_t ow, const gcut_array *result)
{
    const int64_t *xd = c->x->dim, *wd = c->w->dim, *yd = c->y->dim;
    int64_t iy = ((n * yd[1] + o) * yd[2] + oh) * yd[3] + ow, first = o / c->out * c->in, at[2];
    for (int64_t k = 0; k < c->in; k++)
        for (int64_t kh = 0; kh < wd[2]; kh++)
            for (int64_t kw = 0; kw < wd[3]; kw++) {
                if (!under(&c->v, oh, ow, kh, kw, at)) continue;
                int64_t ix = ((n * xd[1] + first + k) * xd[2] + at[0]) * xd[3] + at[1];
                int64_t iw = ((o * wd[1] + k) * wd[2] + kh) * wd[3] + kw;
                const double *x = c->x->u.f, *w = c->w->u.f, *y = c->y->u.f;
                if (result == c->y)
                    c->y->u.f[iy] += x[ix] * w[iw];
                else if (result == c->x)
                    c->x->u.f[ix] += y[iy] * w[iw];
                else
                    c->w->u.f[iw] += x[ix] * y[iy];
            }
}

/* conv2d, conv2d_input and conv2d_weight: y, x or w of one trilinear form. */
void gcut_eval_conv2d(gcut_eval *e)
{
    bool gives_x = e->node->op == GCUT_OP_conv2d_input, gives_w = e->node->op == GCUT_OP_conv2d_weight;
    conv c;
    c.x = gives_x ? &e->out : &e->arg[0];
    c.w = gives_w ? &e->out : &e->arg[1];
    c.y = gives_x ? &e->arg[0] : gives_w ? &e->arg[1] : &e->out;
    c.v = attrs_of(e, c.x, c.y);
    c.in = c.w->dim[1];
    c.out = c.w->dim[0] / gcut_attr_get(e->g, e->node, GCUT_KEY_groups)->u.dim;
    for (int64_t n = 0; n < c.y->dim[0]; n++)
        for (int64_t o = 0; o < c.y->dim[1]; o++)
            for (int64_t oh = 0; oh < c.y->dim[2]; oh++)
                for (int64_t ow = 0; ow < c.y->dim[3]; ow++) each_term(&c, n, o, oh, ow, &e->out);
}

/* ---- pools ---- */

/* The first largest element in the window of element k of y, a flat index into x; a NaN is larger than
 * anything. -1 when the window covers padding alone. */
static int64_t first_largest(const sliding *v, const double *x, int64_t k)
{
    int64_t ow = k % v->y[3], oh = k / v->y[3] % v->y[2], plane = k / v->y[3] / v->y[2], best = -1, at[2];
    for (int64_t kh = 0; kh < v->window[0]; kh++)
        for (int64_t kw = 0; kw < v->window[1]; kw++) {
            if (!under(v, oh, ow, kh, kw, at)) continue;
            int64_t i = (plane * v->x[2] + at[0]) * v->x[3] + at[1];
            if (best < 0 || x[i] > x[best] || (isnan(x[i]) && !isnan(x[best]))) best = i;
        }
    return best;
}

void gcut_eval_max_pool2d(gcut_eval *e)
{
    sliding v = attrs_of(e, &e->arg[0], &e->out);
    for (int64_t k = 0; k < e->out.n; k++) {
        int64_t i = first_largest(&v, e->arg[0].u.f, k);
        e->out.u.f[k] = i < 0 ? -INFINITY : e->arg[0].u.f[i];
    }
}

/* y[k] goes to the first largest element under window k. */
void gcut_eval_max_pool2d_grad(gcut_eval *e)
{
    sliding v = attrs_of(e, &e->arg[0], &e->arg[1]);
    for (int64_t k = 0; k < e->arg[1].n; k++) {
        int64_t i = first_largest(&v, e->arg[0].u.f, k);
        if (i >= 0) e->out.u.f[i] += e->arg[1].u.f[k];
    }
}

void gcut_eval_max_pool2d_take(gcut_eval *e)
{
    sliding v = attrs_of(e, &e->arg[0], &e->out);
    for (int64_t k = 0; k < e->out.n; k++) {
        int64_t i = first_largest(&v, e->arg[0].u.f, k);
        e->out.u.f[k] = i < 0 ? 0 : e->arg[1].u.f[i];
    }
}

/* Between y[k] and every element of x in window k, with weight 1 / (KH KW): adds x to y, or y to x. */
static void average(const sliding *v, double *x, double *y, int64_t k, bool spreads)
{
    int64_t ow = k % v->y[3], oh = k / v->y[3] % v->y[2], plane = k / v->y[3] / v->y[2], at[2];
    double size = (double)(v->window[0] * v->window[1]), sum = 0;
    for (int64_t kh = 0; kh < v->window[0]; kh++)
        for (int64_t kw = 0; kw < v->window[1]; kw++) {
            if (!under(v, oh, ow, kh, kw, at)) continue;
            int64_t i = (plane * v->x[2] + at[0]) * v->x[3] + at[1];
            if (spreads)
                x[i] += y[k] / size;
            else
                sum += x[i];
        }
    if (!spreads) y[k] = sum / size;
}

void gcut_eval_avg_pool2d(gcut_eval *e)
{
    sliding v = attrs_of(e, &e->arg[0], &e->out);
    for (int64_t k = 0; k < e->out.n; k++) average(&v, e->arg[0].u.f, e->out.u.f, k, false);
}

void gcut_eval_avg_pool2d_grad(gcut_eval *e)
{
    sliding v = attrs_of(e, &e->out, &e->arg[0]);
    for (int64_t k = 0; k < e->arg[0].n; k++) average(&v, e->out.u.f, e->arg[0].u.f, k, true);
}
