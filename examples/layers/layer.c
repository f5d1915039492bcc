/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A layer y = tanh(x w), called forward and backward; fails unless dw is x' (dy (1 - y^2)).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gradcut/gradcut.h>

enum { N = 4, IN = 3, OUT = 2 };
static float w[IN * OUT] = {.5f, -1, .25f, 2, -.75f, 1}, x[N * IN] = {1, 2, 3, -1, 0, 1, 2, -2, 1, 0, 1, -3};
static float y[N * OUT], dy[N * OUT] = {1, 1, -1, 2, 0, 1, 3, -2}, dw[IN * OUT], dx[N * IN];

int main(void)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "layer");
    gcut_dim n = gcut_dim_sym(g, "N", 1, 4096);
    gcut_val a = gcut_transient(gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(n, IN)));
    gcut_output(g, "y", gcut_tanh(gcut_matmul(a, gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(IN, OUT)))));
    const char *by[] = {"w", "x"}; /* y is the only float result: its cotangent is dy */
    gcut_step *s = gcut_compile(g, (&(gcut_options){.apart = true, .wrt = by, .nwrt = 2}));
    gcut_bind(s, "w", w, IN, OUT), gcut_bind(s, "x", x, N, IN), gcut_bind(s, "y", y, N, OUT);
    gcut_bind(s, "dy", dy, N, OUT), gcut_bind(s, "grad.w", dw, IN, OUT), gcut_bind(s, "grad.x", dx, N, IN);
    void *saved = aligned_alloc(64, (size_t)gcut_saved_bytes(s));
    gcut_bind_saved(s, saved, (size_t)gcut_saved_bytes(s));
    if (gcut_run_forward(s) != GCUT_OK || gcut_run_backward(s) != GCUT_OK)
        return fprintf(stderr, "%s\n", gcut_last_error(ctx)), 1;
    for (int k = 0; k < IN * OUT; k++) {
        float want = 0;
        for (int i = 0, j = k % OUT; i < N; i++)
            want += x[i * IN + k / OUT] * dy[i * OUT + j] * (1 - y[i * OUT + j] * y[i * OUT + j]);
        if (!(fabsf(dw[k] - want) <= 1e-5f)) return fprintf(stderr, "dw[%d]\n", k), 1;
    }
    gcut_ctx_free(ctx);
    free(saved);
    return 0;
}
