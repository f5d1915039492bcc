/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A layer with an op of its own: y = q(x) w, where q rounds to halves and passes gradients on where |x| <= 1.
 * Fails unless dx is that of the stated derivative.
 */
#include <math.h>
#include <stdio.h>

#include <gradcut/gradcut.h>

enum { N = 5 };

static gcut_val quantize(gcut_graph *g, gcut_val x)
{
    gcut_graph *f = gcut_function(g, "quantize"), *vjp = gcut_function(g, "quantize.vjp");
    gcut_val y, a = gcut_input(f, "x", GCUT_F32, GCUT_SHAPE(N));
    gcut_output(f, "y", gcut_scale(gcut_round(gcut_scale(a, 2)), 0.5));
    /* The parameters of the derivative are what it reads: x, and the cotangent of y. */
    gcut_val b = gcut_input(vjp, "x", GCUT_F32, GCUT_SHAPE(N)),
             dy = gcut_cotan(vjp, "dy", GCUT_F32, GCUT_SHAPE(N));
    gcut_val inside = gcut_le(gcut_abs(b), gcut_const(vjp, GCUT_F32, 1));
    gcut_gradient(vjp, "x", gcut_mul(gcut_cast(inside, GCUT_F32), dy));
    gcut_custom(g, f, vjp, &x, 1, &y, 1);
    return y;
}

int main(void)
{
    float x[N] = {-1.5f, -0.6f, 0.2f, 0.8f, 1.1f}, w[N] = {1, 2, 3, 4, 5}, dy[N] = {1, -1, 2, -2, 3};
    float y[N], dx[N], dw[N];
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "quantized");
    gcut_val a = gcut_transient(gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(N)));
    gcut_output(g, "y", gcut_mul(quantize(g, a), gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(N))));
    const char *by[] = {"w", "x"};
    gcut_step *s = gcut_compile(g, (&(gcut_options){.apart = true, .wrt = by, .nwrt = 2}));
    gcut_bind(s, "x", x, N), gcut_bind(s, "w", w, N), gcut_bind(s, "y", y, N);
    gcut_bind(s, "dy", dy, N), gcut_bind(s, "grad.x", dx, N), gcut_bind(s, "grad.w", dw, N);
    if (gcut_run_forward(s) != GCUT_OK || gcut_run_backward(s) != GCUT_OK)
        return fprintf(stderr, "%s\n", gcut_last_error(ctx)), 1;
    for (int i = 0; i < N; i++)
        if (dx[i] != (fabsf(x[i]) <= 1 ? w[i] * dy[i] : 0) || dw[i] != y[i] / w[i] * dy[i])
            return fprintf(stderr, "dx[%d] is %g, dw[%d] is %g\n", i, (double)dx[i], i, (double)dw[i]), 1;
    gcut_ctx_free(ctx);
    return 0;
}
