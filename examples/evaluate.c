/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training and evaluation: one graph of a model.  gcut_eval makes of it the function that is evaluated, without dropout
 * and with the running statistics instead of the batch's, and gcut_share lets it read the values of the training step.
 * A row is then evaluated alike whatever stands beside it, which is checked, as is that the loss falls: exit
 * status 1 when not.
 */
#include "die.h"
#include "gradcut/gradcut.h"
#include "gradcut/train.h"
#include "random.h"

enum { ROWS = 64, IN = 8, HIDDEN = 16, CLASSES = 2, STEPS = 300 };

static gcut_ctx *ctx;
static float x[ROWS][IN];
static int32_t t[ROWS];

static void ok(bool good)
{
    if (!good) die("evaluate: %s", gcut_last_error(ctx));
}

static gcut_val normalised(gcut_graph *g, gcut_val h)
{
    gcut_shape c = GCUT_SHAPE(HIDDEN);
    gcut_val gain = gcut_param(g, "gain", GCUT_F32, c), bias = gcut_param(g, "bias", GCUT_F32, c);
    gcut_val mean = gcut_state(g, "mean", GCUT_F32, c), var = gcut_state(g, "var", GCUT_F32, c), next[2];
    gcut_initial(gain, "splat(1.0)"), gcut_initial(bias, "splat(0.0)");
    gcut_initial(mean, "splat(0.0)"), gcut_initial(var, "splat(1.0)");
    gcut_val y = gcut_batch_norm(h, gain, bias, mean, var, 1e-5, 0.1, next);
    gcut_next(g, "mean", next[0]), gcut_next(g, "var", next[1]);
    return y;
}

static gcut_graph *model(void)
{
    gcut_graph *g = gcut_graph_new(ctx, "model");
    gcut_dim N = gcut_dim_sym(g, "N", 1, GCUT_DIM_MAX);
    gcut_val in = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(N, IN));
    gcut_val w1 = gcut_param(g, "w1", GCUT_F32, GCUT_SHAPE(IN, HIDDEN));
    gcut_val w2 = gcut_param(g, "w2", GCUT_F32, GCUT_SHAPE(HIDDEN, CLASSES));
    gcut_initial(w1, "normal(1, 0.4)"), gcut_initial(w2, "normal(2, 0.3)");
    gcut_val h = gcut_relu(normalised(g, gcut_matmul(in, w1)));
    gcut_val z = gcut_matmul(gcut_dropout(h, gcut_rng(g, "key"), 0.2), w2);
    gcut_output(g, "logits", z);
    gcut_output(g, "loss", gcut_cross_entropy(z, gcut_input(g, "t", GCUT_I32, GCUT_SHAPE(N))));
    ok(gcut_graph_ok(g));
    return g;
}

static float evaluated(gcut_step *s, int first, int rows, float logits[][CLASSES])
{
    float loss;
    ok(gcut_bind_input(s, "x", x[first], rows, IN) == GCUT_OK &&
       gcut_bind_input(s, "t", &t[first], rows) == GCUT_OK);
    ok(gcut_bind(s, "logits", logits[0], rows, CLASSES) == GCUT_OK && gcut_bind(s, "loss", &loss) == GCUT_OK);
    ok(gcut_run(s) == GCUT_OK);
    return loss;
}

int main(void)
{
    static float all[ROWS][CLASSES], one[1][CLASSES];
    gcut_options adamw = {.loss = "loss", .optimizer = "adamw(lr=0.01)"}, forward = {.forward_only = true};
    rng r = {1};
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < IN; k++) x[i][k] = (float)rng_normal(&r);
        t[i] = x[i][0] * x[i][1] > 0;
    }
    ctx = gcut_ctx_new(NULL);
    if (!ctx) die("evaluate: out of memory");
    gcut_graph *g = model();
    gcut_step *training = gcut_compile(g, &adamw), *evaluation = gcut_compile(gcut_eval(g), &forward);
    ok(training && evaluation && gcut_share(training, evaluation) == GCUT_OK);
    ok(gcut_bind_input(training, "x", x, ROWS, IN) == GCUT_OK &&
       gcut_bind_input(training, "t", t, ROWS) == GCUT_OK);
    ok(gcut_prepare(training) == GCUT_OK);
    int64_t *key = gcut_step_value(training, "key")->at;
    const float before = evaluated(evaluation, 0, ROWS, all);
    for (int i = 0; i < STEPS; i++, ++*key)
        ok(gcut_run(training) == GCUT_OK); /* other values dropped each time */
    const float after = evaluated(evaluation, 0, ROWS, all);
    for (int i = 0; i < ROWS; i++) {
        evaluated(evaluation, i, 1, one);
        for (int k = 0; k < CLASSES; k++)
            wrong += !(fabsf(one[0][k] - all[i][k]) <= 1e-4f * (1 + fabsf(all[i][k])));
    }
    printf("loss %.3f before, %.3f after %d steps; %d logits depend on the batch\n", before, after, STEPS,
           wrong);
    gcut_ctx_free(ctx);
    return wrong || !(after < before / 2);
}
