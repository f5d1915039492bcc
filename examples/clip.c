/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An update of one's own in the graph: gradients by gcut_grad, clipped by their global norm, and SGD with momentum
 * written out.  The step is planned like one with a built-in optimizer: it is trained once with every value saved and
 * once under the smallest budget that a plan meets.  Exit status 1 unless both have the same bits after each training
 * step, the loss falls, and the measured peak is the budget's.
 */
#include <string.h>

#include "die.h"
#include "gradcut/gradcut.h"
#include "random.h"

enum { ROWS = 512, WIDTH = 64, LAYERS = 8, STEPS = 60 };

static gcut_ctx *ctx;
static float x[ROWS][WIDTH], t[ROWS][WIDTH];

static void ok(bool good)
{
    if (!good) die("clip: %s", gcut_last_error(ctx));
}

/* The values dw become dw * min(1, most / norm); returns the norm. */
static gcut_val clip_by_norm(gcut_graph *g, gcut_val *dw, int n, double most)
{
    gcut_val sum = gcut_const(g, GCUT_F32, 0), one = gcut_const(g, GCUT_F32, 1);
    for (int k = 0; k < n; k++) sum = gcut_add(sum, gcut_sum(gcut_mul(dw[k], dw[k])));
    gcut_val norm = gcut_sqrt(sum), by = gcut_min(one, gcut_div(gcut_const(g, GCUT_F32, most), norm));
    for (int k = 0; k < n; k++) dw[k] = gcut_mul(dw[k], by);
    return norm;
}

static gcut_graph *model(void)
{
    static char name[LAYERS][16], moment[LAYERS][16], contents[LAYERS][32];
    gcut_graph *g = gcut_graph_new(ctx, "clip");
    gcut_shape rows = GCUT_SHAPE(gcut_dim_sym(g, "N", 1, GCUT_DIM_MAX), WIDTH),
               square = GCUT_SHAPE(WIDTH, WIDTH);
    gcut_val h = gcut_input(g, "x", GCUT_F32, rows), target = gcut_input(g, "t", GCUT_F32, rows);
    gcut_val rate = gcut_input(g, "rate", GCUT_F32, GCUT_SCALAR), decay = gcut_const(g, GCUT_F32, 0.9);
    gcut_val w[LAYERS], dw[LAYERS];
    for (int k = 0; k < LAYERS; k++) {
        snprintf(name[k], sizeof name[k], "w%d", k);
        snprintf(contents[k], sizeof contents[k], "normal(%d, 0.15)", k + 1);
        w[k] = gcut_initial(gcut_param(g, name[k], GCUT_F32, square), contents[k]);
        h = gcut_tanh(gcut_matmul(h, w[k]));
    }
    gcut_val loss = gcut_mse(h, target);
    gcut_output(g, "loss", loss);

    gcut_grad(loss, w, LAYERS, dw);
    gcut_output(g, "norm", clip_by_norm(g, dw, LAYERS, 0.1));
    for (int k = 0; k < LAYERS; k++) {
        snprintf(moment[k], sizeof moment[k], "m%d", k);
        gcut_val m = gcut_initial(gcut_state(g, moment[k], GCUT_F32, square), "splat(0.0)");
        m = gcut_add(gcut_mul(m, decay), dw[k]);
        gcut_next(g, moment[k], m);
        gcut_next(g, name[k], gcut_sub(w[k], gcut_mul(m, rate)));
    }
    ok(gcut_graph_ok(g));
    return g;
}

/* Loss and norm after each training step; returns the measured peak. */
static int64_t train(gcut_graph *g, const gcut_options *opt, float trace[STEPS][2], const char *how)
{
    float rate = 1;
    gcut_step *s = gcut_compile(g, opt);
    ok(s && gcut_bind(s, "rate", &rate) == GCUT_OK && gcut_bind(s, "x", x, ROWS, WIDTH) == GCUT_OK &&
       gcut_bind(s, "t", t, ROWS, WIDTH) == GCUT_OK);
    for (int k = 0; k < STEPS; k++) {
        ok(gcut_bind(s, "loss", &trace[k][0]) == GCUT_OK && gcut_bind(s, "norm", &trace[k][1]) == GCUT_OK);
        ok(gcut_run(s) == GCUT_OK);
    }
    const gcut_stats *st = gcut_step_stats(s);
    const int64_t peak = st->peak_bytes;
    if (peak != st->predicted_bytes)
        die("clip: measured %lld bytes, predicted %lld", (long long)peak, (long long)st->predicted_bytes);
    printf("%-12s peak %9lld bytes, saved %8lld; loss %.6f to %.6f, norm %.4f to %.4f\n", how,
           (long long)peak, (long long)st->saved_bytes, (double)trace[0][0], (double)trace[STEPS - 1][0],
           (double)trace[0][1], (double)trace[STEPS - 1][1]);
    gcut_step_free(s);
    return peak;
}

int main(void)
{
    static float all[STEPS][2], least[STEPS][2];
    const gcut_size at = {"N", ROWS};
    rng r = {1};
    if (!(ctx = gcut_ctx_new(NULL))) die("clip: out of memory");
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < WIDTH; k++) x[i][k] = (float)rng_normal(&r);
        for (int k = 0; k < WIDTH; k++) t[i][k] = 0.5f * x[i][(k + 1) % WIDTH];
    }
    gcut_graph *g = model();
    gcut_options opt = {.policy = "save-all", .at = &at, .nat = 1};
    const int64_t most = train(g, &opt, all, "save-all");
    opt.policy = NULL, opt.budget = GCUT_BUDGET_MIN;
    const int64_t peak = train(g, &opt, least, "budget min");
    const bool same = !memcmp(all, least, sizeof all), falls = all[STEPS - 1][0] < 0.9f * all[0][0];
    if (!same) fprintf(stderr, "clip: the budget changes the training\n");
    if (!falls) fprintf(stderr, "clip: the loss does not fall\n");
    gcut_ctx_free(ctx);
    return !same || !falls || peak >= most;
}
