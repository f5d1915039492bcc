/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sharpest direction of a loss: the largest eigenvalue of its Hessian, by
 * power iteration with Hessian-vector products, which are ordinary values of
 * the graph.  The Hessian itself is never formed.
 *
 * The network is t ~ tanh(x W1 + b1) W2 with the mean squared error over N
 * rows.  By W2 alone the loss is quadratic with the Hessian 2/N A'A, A = tanh(x
 * W1 + b1), which is the check: exit status 1 when the two disagree.
 */
#include <string.h>

#include "die.h"
#include "gradcut/gradcut.h"
#include "random.h"

enum { ROWS = 64, IN = 4, HIDDEN = 8, NW1 = IN * HIDDEN, NALL = NW1 + HIDDEN + HIDDEN, ITERATIONS = 300 };

/* w1, b1 and w2 one after the other. */
typedef struct vector {
    float at[NALL];
} vector;

static gcut_ctx *ctx;
static gcut_step *step;
static float x[ROWS][IN], t[ROWS];
static vector weights, direction, product;

static void ok(bool good)
{
    if (!good) die("hvp: %s", gcut_last_error(ctx));
}

/* One value of the graph for each part of a vector. */
static void declare(gcut_graph *g, const char *const name[3], gcut_val out[3], bool param)
{
    const gcut_shape shape[3] = {GCUT_SHAPE(IN, HIDDEN), GCUT_SHAPE(HIDDEN), GCUT_SHAPE(HIDDEN, 1)};
    for (int k = 0; k < 3; k++)
        out[k] =
            param ? gcut_param(g, name[k], GCUT_F32, shape[k]) : gcut_input(g, name[k], GCUT_F32, shape[k]);
}

static void bind(const char *const name[3], vector *v)
{
    ok(gcut_bind(step, name[0], v->at, IN, HIDDEN) == GCUT_OK);
    ok(gcut_bind(step, name[1], v->at + NW1, HIDDEN) == GCUT_OK);
    ok(gcut_bind(step, name[2], v->at + NW1 + HIDDEN, HIDDEN, 1) == GCUT_OK);
}

static void build(void)
{
    static const char *const w_name[] = {"w1", "b1", "w2"}, *const v_name[] = {"v1", "vb", "v2"},
                             *const hv_name[] = {"h1", "hb", "h2"};
    gcut_val w[3], v[3], hv[3];
    gcut_graph *g = gcut_graph_new(ctx, "sharpness");
    declare(g, w_name, w, true);
    declare(g, v_name, v, false);
    gcut_val in = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(ROWS, IN));
    gcut_val target = gcut_input(g, "t", GCUT_F32, GCUT_SHAPE(ROWS, 1));
    gcut_val hidden = gcut_tanh(gcut_add(gcut_matmul(in, w[0]), w[1]));
    gcut_val loss = gcut_mse(gcut_matmul(hidden, w[2]), target);
    gcut_hvp(loss, w, 3, v, hv);
    for (int k = 0; k < 3; k++) gcut_output(g, hv_name[k], hv[k]);
    gcut_options opt = {0};
    opt.forward_only = true;
    ok((step = gcut_compile(g, &opt)) != NULL);
    ok(gcut_bind(step, "x", x, ROWS, IN) == GCUT_OK && gcut_bind(step, "t", t, ROWS, 1) == GCUT_OK);
    bind(w_name, &weights);
    bind(v_name, &direction);
    bind(hv_name, &product);
}

static double inner(const vector *a, const vector *b, int from)
{
    double sum = 0;
    for (int i = from; i < NALL; i++) sum += (double)a->at[i] * b->at[i];
    return sum;
}

/* The eigenvalue of largest magnitude of the Hessian by the weights at `from` and after, the others held
 * fixed; `direction` becomes its eigenvector. */
static double sharpest(rng *r, int from)
{
    double lambda = 0;
    memset(&direction, 0, sizeof direction);
    for (int i = from; i < NALL; i++) direction.at[i] = (float)rng_normal(r);
    for (int n = 0; n < ITERATIONS; n++) {
        double length = sqrt(inner(&direction, &direction, from));
        for (int i = from; i < NALL; i++) direction.at[i] = (float)(direction.at[i] / length);
        ok(gcut_run(step) == GCUT_OK);
        lambda = inner(&direction, &product, from);
        if (n < ITERATIONS - 1)
            memcpy(direction.at + from, product.at + from, sizeof(float) * (size_t)(NALL - from));
    }
    return lambda;
}

/* |2/N A'A d - lambda d| for the part of `direction` that belongs to w2, which has length 1. */
static double residual_by_hand(double lambda)
{
    const float *d = direction.at + NW1 + HIDDEN;
    double r[HIDDEN] = {0}, sum = 0;
    for (int n = 0; n < ROWS; n++) {
        double a[HIDDEN], ad = 0;
        for (int h = 0; h < HIDDEN; h++) {
            double z = weights.at[NW1 + h];
            for (int i = 0; i < IN; i++) z += (double)x[n][i] * weights.at[i * HIDDEN + h];
            a[h] = tanh(z);
            ad += a[h] * d[h];
        }
        for (int h = 0; h < HIDDEN; h++) r[h] += 2.0 / ROWS * a[h] * ad;
    }
    for (int h = 0; h < HIDDEN; h++) sum += (r[h] - lambda * d[h]) * (r[h] - lambda * d[h]);
    return sqrt(sum);
}

int main(void)
{
    rng r = {2022};
    for (int n = 0; n < ROWS; n++)
        for (int i = 0; i < IN; i++) {
            x[n][i] = (float)rng_normal(&r);
            t[n] += sinf(x[n][i]);
        }
    for (int i = 0; i < NALL; i++) weights.at[i] = (float)(0.5 * rng_normal(&r));
    ctx = gcut_ctx_new(NULL);
    if (!ctx) die("hvp: out of memory");
    build();
    double all = sharpest(&r, 0), apart = 0;
    for (int i = 0; i < NALL; i++) apart += pow(product.at[i] - all * direction.at[i], 2);
    printf("every weight: largest eigenvalue %.6f, |H v - lambda v| %.1e\n", all, sqrt(apart));
    double last = sharpest(&r, NW1 + HIDDEN), off = residual_by_hand(last);
    printf("w2 alone:     largest eigenvalue %.6f, |2/N A'A v - lambda v| %.1e\n", last, off);
    gcut_ctx_free(ctx);
    /* The last row of the power iteration is rounded to f32, and w2's block cannot exceed the whole. */
    return sqrt(apart) < 1e-4 * fabs(all) && off < 1e-4 * last && fabs(all) >= last * (1 - 1e-5) ? 0 : 1;
}
