/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mlp.gcut compiled ahead of time with --apart, for two micro-batches.  Fails unless the gradients have the
 * bits of mlp_layer_step, which runs both graphs in one call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlp_layer.h"

enum { BATCHES = 2, N = 32, IN = 128, OUT = 64, NW1 = 128 * 256, NW2 = 256 * 64 };

static float x[BATCHES][N * IN], y[N * OUT], dy[BATCHES][N * OUT], grad_x[N * IN];
static float grad_w1[BATCHES][NW1], grad_b1[256], grad_w2[NW2], grad_b2[64], whole[NW1];
static gcut_rt_error e;

static void must(gcut_rt_status status)
{
    char text[256];
    if (status == GCUT_RT_OK) return;
    gcut_rt_message(&e, text, sizeof text);
    fprintf(stderr, "%s\n", text);
    exit(1);
}

int main(void)
{
    mlp_layer_plan plan;
    mlp_layer_io io = {.y = y, .grad_b1 = grad_b1, .grad_w2 = grad_w2, .grad_b2 = grad_b2, .grad_x = grad_x};
    must(mlp_layer_init(&plan, N, 0, &e)); /* sizes and threads; blocks and arena have these bytes */
    void *arena = aligned_alloc(64, (size_t)plan.head.arena_bytes), *saved[BATCHES];
    void *weights = aligned_alloc(64, (size_t)(mlp_layer_values(&plan, NULL) + 63) / 64 * 64);
    mlp_layer_bind(&plan, weights, &io);
    must(mlp_layer_init_values(&plan, &io, 0, &e));
    for (int b = 0; b < BATCHES; b++) {
        for (int i = 0; i < N * IN; i++) x[b][i] = (float)((i * 7 + b * 3) % 11 - 5) / 4;
        for (int i = 0; i < N * OUT; i++) dy[b][i] = (float)((i * 5 + b) % 9 - 4) / 8;
        saved[b] = aligned_alloc(64, (size_t)plan.head.saved_bytes);
        io.x = x[b];
        must(mlp_layer_forward(&plan, &io, saved[b], arena, &e));
    }
    io.x = NULL; /* #transient: the backward call does not read it */
    for (int b = BATCHES; b-- > 0;) {
        io.dy = dy[b], io.grad_w1 = grad_w1[b];
        must(mlp_layer_backward(&plan, &io, saved[b], arena, &e));
    }
    if (mlp_layer_backward(&plan, &io, saved[0], arena, &e) != GCUT_RT_EBLOCK)
        return fprintf(stderr, "a block was used twice\n"), 1;
    for (int b = 0; b < BATCHES; b++) {
        io.x = x[b], io.dy = dy[b], io.grad_w1 = whole;
        must(mlp_layer_step(&plan, &io, saved[b], arena, &e));
        if (memcmp(whole, grad_w1[b], sizeof whole) != 0) return fprintf(stderr, "batch %d differs\n", b), 1;
        free(saved[b]);
    }
    free(arena), free(weights);
    return 0;
}
