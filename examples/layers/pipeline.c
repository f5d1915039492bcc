/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two layers as the stages of a pipeline: three micro-batches go through both, then come back in the opposite
 * order.  Fails unless every gradient has the bits that the two layers as one graph give.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gradcut/gradcut.h>

enum { STAGES = 2, BATCHES = 3, N = 8, WIDTH = 16, ROOM = N * WIDTH };

static gcut_ctx *ctx;
static float x[BATCHES][ROOM], target[BATCHES][ROOM], w[STAGES][WIDTH * WIDTH];

static void must(bool good)
{
    if (good) return;
    fprintf(stderr, "pipeline: %s\n", gcut_last_error(ctx));
    exit(1);
}

/* One layer, or several in one graph. */
static gcut_step *layers(const char *const *weights, int n)
{
    gcut_graph *g = gcut_graph_new(ctx, "layers");
    gcut_dim rows = gcut_dim_sym(g, "N", 1, 4096);
    gcut_val v = gcut_transient(gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(rows, WIDTH)));
    for (int i = 0; i < n; i++)
        v = gcut_tanh(gcut_matmul(v, gcut_param(g, weights[i], GCUT_F32, GCUT_SHAPE(WIDTH, WIDTH))));
    gcut_output(g, "y", v);
    gcut_transient(v);
    const char *by[] = {"*"};
    gcut_step *s = gcut_compile(g, (&(gcut_options){.apart = true, .wrt = by, .nwrt = 1}));
    for (int i = 0; s && i < n; i++) gcut_bind(s, weights[i], w[weights[i][1] - '0'], WIDTH, WIDTH);
    must(s && gcut_bind(s, "x", x[0], N, WIDTH) == GCUT_OK); /* fixes N */
    return s;
}

/* The caller's own loss, half the squared distance: dy = y - target. */
static void loss_gradient(const float *y, int batch, float *dy)
{
    for (int i = 0; i < ROOM; i++) dy[i] = y[i] - target[batch][i];
}

static void run_pipeline(gcut_step *const stage[STAGES], float dx[BATCHES][ROOM],
                         float dw[STAGES][BATCHES][WIDTH * WIDTH])
{
    static float h[ROOM], y[ROOM], dh[ROOM], dy[BATCHES][ROOM]; /* h and y are written anew by each batch */
    void *block[BATCHES][STAGES];
    int64_t bytes[STAGES];
    for (int k = 0; k < STAGES; k++) must((bytes[k] = gcut_saved_bytes(stage[k])) > 0);
    for (int b = 0; b < BATCHES; b++) {
        for (int k = 0; k < STAGES; k++) {
            block[b][k] = aligned_alloc(64, (size_t)bytes[k]);
            gcut_bind(stage[k], "x", k ? h : x[b], N, WIDTH);
            gcut_bind(stage[k], "y", k ? y : h, N, WIDTH);
            gcut_bind_saved(stage[k], block[b][k], (size_t)bytes[k]);
            must(gcut_run_forward(stage[k]) == GCUT_OK);
        }
        loss_gradient(y, b, dy[b]);
    }
    for (int b = BATCHES; b-- > 0;)
        for (int k = STAGES; k-- > 0;) {
            gcut_bind(stage[k], "dy", k ? dy[b] : dh, N, WIDTH);
            gcut_bind(stage[k], "grad.x", k ? dh : dx[b], N, WIDTH);
            gcut_bind(stage[k], k ? "grad.w1" : "grad.w0", dw[k][b], WIDTH, WIDTH);
            gcut_bind_saved(stage[k], block[b][k], (size_t)bytes[k]);
            must(gcut_run_backward(stage[k]) == GCUT_OK);
            free(block[b][k]);
        }
}

static void compare(gcut_step *whole, const char *name, const float *got, size_t n)
{
    const gcut_value_info *v = gcut_step_value(whole, name);
    must(v);
    if (memcmp(v->at, got, n * sizeof *got) == 0) return;
    fprintf(stderr, "pipeline: %s has other bits than in one graph\n", name);
    exit(1);
}

int main(void)
{
    static float dx[BATCHES][ROOM], dw[STAGES][BATCHES][WIDTH * WIDTH], y[ROOM], dy[ROOM];
    static const char *const names[STAGES] = {"w0", "w1"};
    for (int b = 0; b < BATCHES; b++)
        for (int i = 0; i < ROOM; i++)
            x[b][i] = (float)((i * 7 + b * 5) % 13 - 6) / 8, target[b][i] = (float)((i * 5 + b) % 7 - 3) / 4;
    for (int i = 0; i < WIDTH * WIDTH; i++)
        w[0][i] = (float)(i * 11 % 17 - 8) / 32, w[1][i] = (float)(i * 13 % 19 - 9) / 32;
    ctx = gcut_ctx_new(NULL);
    gcut_step *const stage[STAGES] = {layers(names, 1), layers(names + 1, 1)};
    run_pipeline(stage, dx, dw);
    gcut_step *whole = layers(names, STAGES);
    for (int b = 0; b < BATCHES; b++) {
        gcut_bind(whole, "x", x[b], N, WIDTH), gcut_bind(whole, "y", y, N, WIDTH);
        gcut_bind(whole, "dy", dy, N, WIDTH);
        must(gcut_run_forward(whole) == GCUT_OK);
        loss_gradient(y, b, dy);
        must(gcut_run_backward(whole) == GCUT_OK);
        compare(whole, "grad.x", dx[b], ROOM);
        compare(whole, "grad.w0", dw[0][b], WIDTH * WIDTH);
        compare(whole, "grad.w1", dw[1][b], WIDTH * WIDTH);
    }
    gcut_ctx_free(ctx);
    return 0;
}
