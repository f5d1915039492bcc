/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plain C functions as graphs (doc/tracing.md): a branch on a value, a loop, a value that is read in the middle, sizes that
 * change from call to call.  Exit status 1 when a part gives something else than C code would.
 */
#include <math.h>
#include <stdbool.h>

#include "die.h"
#include "gradcut/trace.h"

static gcut_ctx *ctx;

static void check(bool good, const char *what)
{
    if (!good) die("tracing: %s: %s%s", what, gcut_last_error(ctx), gcut_last_error(NULL));
}

static gcut_jit_value vector(float *at, int64_t n)
{
    return (gcut_jit_value){.at = at, .dtype = GCUT_F32, .rank = 1, .dim = {n}};
}

/* ---- a branch on a value ---- */

static void risky(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val x = in[0], zero = gcut_const(g, GCUT_F32, 0);
    if (gcut_cond(gcut_gt(gcut_sum(x), zero)))
        out[0] = gcut_scale(x, 2);
    else
        out[0] = gcut_sub(x, gcut_const(g, GCUT_F32, 1));
}

static void traced_branch(void)
{
    gcut_graph *e = gcut_eager(ctx);
    gcut_val x = gcut_write(gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(1)), (float[]){1});
    gcut_graph *one = gcut_trace(ctx, risky, NULL, &x, 1, 1, NULL);
    gcut_graph *both =
        gcut_trace(ctx, risky, NULL, &x, 1, 1, &(gcut_trace_options){.name = "risky", .branches = true});
    check(one && both, "traced_branch");
    char *guarded = gcut_show(one, NULL, GCUT_STAGE_PRIMAL, false),
         *whole = gcut_show(both, NULL, GCUT_STAGE_PRIMAL, false);
    printf("%s\n%s\n", guarded, whole);
}

static void called_branch(void)
{
    gcut_jit *f = gcut_jit_new(ctx, "risky", risky, NULL, NULL, NULL);
    check(f, "called_branch");
    float values[] = {1, 4, -3, 1, -1};
    for (int k = 0; k < 5; k++) {
        gcut_jit_value x = vector(&values[k], 1), y;
        check(gcut_jit_call(f, &x, 1, &y, 1) == GCUT_OK, "called_branch");
        const float got = *(const float *)y.at, want = values[k] > 0 ? 2 * values[k] : values[k] - 1;
        check(got == want, "risky is something else");
    }
    gcut_jit_info *i = gcut_jit_explain(f);
    printf("%s\n", i->text);
    gcut_free(i);
    gcut_jit_free(f);
}

/* ---- a loop ---- */

static void cell(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    gcut_val h = in[0], x = in[1];
    out[0] = out[1] =
        gcut_tanh(gcut_add(gcut_scale(h, 0.5), x)); /* the next h, and a result of this iteration */
}

static void loop(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val both[2];
    gcut_scan(g, &(gcut_loop){.carry = &in[0], .ncarry = 1, .xs = &in[1], .nxs = 1, .nys = 1, .body = cell},
              both);
    out[0] = both[1];
}

static void scripted_loop(void)
{
    gcut_jit *f = gcut_jit_new(ctx, "loop", loop, NULL, NULL, NULL);
    check(f, "scripted_loop");
    float h[1] = {0}, xs[20];
    for (int k = 0; k < 20; k++) xs[k] = (float)k / 20;
    for (int64_t length = 5; length <= 20; length += 5) {
        gcut_jit_value in[2] = {vector(h, 1), {.at = xs, .dtype = GCUT_F32, .rank = 2, .dim = {length, 1}}},
                       ys;
        check(gcut_jit_call(f, in, 2, &ys, 1) == GCUT_OK, "scripted_loop");
        float want = 0;
        for (int64_t t = 0; t < length; t++) {
            want = tanhf(0.5f * want + xs[t]);
            check(fabsf(((float *)ys.at)[t] - want) < 1e-6f, "the loop gives something else");
        }
    }
    gcut_jit_info *i = gcut_jit_explain(f);
    printf("%s\n", i->text);
    gcut_free(i);
    gcut_jit_free(f);
}

/* ---- a value that is read in the middle ---- */

static void reads(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    gcut_val y = gcut_exp(in[0]);
    const float *largest = gcut_data(gcut_max_reduce(y));
    out[0] = largest && *largest > 10 ? gcut_log(y) : y;
}

static void graph_break(void)
{
    gcut_graph *e = gcut_eager(ctx);
    gcut_val x = gcut_write(gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(2)), (float[]){1, 2}), y;
    reads(NULL, e, &x, &y); /* at once, it may */
    check(gcut_data(y) != NULL, "graph_break");
    check(!gcut_trace(ctx, reads, NULL, &x, 1, 1, NULL), "a trace has read a value");
    printf("%s\n", gcut_last_error(ctx));
    gcut_clear_errors(ctx);
}

/* ---- sizes ---- */

static void step(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    gcut_val x = in[0], w = in[1], y = gcut_matmul(x, w);
    out[0] = gcut_mean(gcut_mul(y, y));
    gcut_grad(out[0], &w, 1, &out[1]);
}

static void dynamic_batch(void)
{
    static float x[64 * 3], w[3 * 2];
    for (int k = 0; k < 64 * 3; k++) x[k] = sinf((float)k);
    for (int k = 0; k < 6; k++) w[k] = cosf((float)k);
    gcut_jit *f = gcut_jit_new(ctx, "step", step, NULL, NULL, NULL);
    check(f, "dynamic_batch");
    const int64_t batch[] = {32, 32, 20, 64, 7, 32};
    for (int k = 0; k < 6; k++) {
        gcut_jit_value in[2] = {{.at = x, .dtype = GCUT_F32, .rank = 2, .dim = {batch[k], 3}},
                                {.at = w, .dtype = GCUT_F32, .rank = 2, .dim = {3, 2}}},
                       out[2];
        check(gcut_jit_call(f, in, 2, out, 2) == GCUT_OK, "dynamic_batch");
    }
    gcut_jit_info *i = gcut_jit_explain(f);
    printf("%s\n", i->text);
    gcut_free(i);
    gcut_jit_free(f);
}

/* The C loop runs once for each row: the number of rows decides what is recorded. */
static void by_rows(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    out[0] = gcut_slice(in[0], 0, 0, 1);
    for (int64_t t = 1; t < gcut_shape_of(in[0]).dim[0]; t++)
        out[0] = gcut_tanh(gcut_add(out[0], gcut_slice(in[0], 0, t, t + 1)));
}

static void recompile_storm(void)
{
    static float x[16 * 4];
    gcut_jit *f = gcut_jit_new(ctx, "by_rows", by_rows, NULL, NULL, &(gcut_jit_options){.entries = 3});
    check(f, "recompile_storm");
    for (int64_t rows = 3; rows < 9; rows++) {
        gcut_jit_value in = {.at = x, .dtype = GCUT_F32, .rank = 2, .dim = {rows, 4}}, out;
        check(gcut_jit_call(f, &in, 1, &out, 1) == GCUT_OK, "recompile_storm");
    }
    gcut_jit_info *i = gcut_jit_explain(f);
    printf("%s\n", i->text);
    gcut_free(i);
    gcut_jit_free(f);
}

/* ---- a model that is trained ---- */

enum { ROWS = 64 };

/* in: rows, what they should give, the weights; out: the mean square of the error. */
static void fit(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    gcut_val error = gcut_sub(gcut_matmul(in[0], in[2]), in[1]);
    out[0] = gcut_mean(gcut_mul(error, error));
}

static void trained(void)
{
    float x[ROWS][2], t[ROWS], w[2] = {0, 0};
    for (int k = 0; k < ROWS; k++) {
        x[k][0] = sinf((float)k), x[k][1] = cosf(3 * (float)k);
        t[k] = 2 * x[k][0] - x[k][1];
    }
    gcut_graph *e = gcut_eager(ctx);
    gcut_dim n = gcut_dim_now(e, "N", 1, GCUT_DIM_MAX, ROWS);
    gcut_val in[3] = {gcut_write(gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(n, 2)), x),
                      gcut_write(gcut_input(e, "t", GCUT_F32, GCUT_SHAPE(n, 1)), t),
                      gcut_param(e, "w", GCUT_F32, GCUT_SHAPE(2, 1))};
    /* By hand: each call computes, gcut_backward adds up gradients, gcut_forget ends the iteration. */
    float loss = 0;
    for (int step = 0; step < 50; step++) {
        gcut_val out;
        gcut_write(in[2], w);
        fit(NULL, e, in, &out);
        gcut_backward(out);
        const float *dw = gcut_data(gcut_gradient_of(in[2])), *now = gcut_data(out);
        check(dw && now, "trained");
        loss = *now;
        for (int k = 0; k < 2; k++) w[k] -= 0.1f * dw[k];
        gcut_forget(e);
    }
    printf("eager: loss %.4f, w %.3f %.3f\n", loss, w[0], w[1]);
    /* Compiled: the trace has the types of in[], not their contents. */
    gcut_graph *g = gcut_trace(ctx, fit, NULL, in, 3, 1, &(gcut_trace_options){.name = "fit"});
    gcut_step *s = g ? gcut_compile(g, &(gcut_options){.loss = "out", .optimizer = "sgd(lr=0.1)"}) : NULL;
    check(s, "compiled");
    w[0] = w[1] = 0;
    gcut_bind_input(s, "x", &x[0][0], ROWS, 2);
    gcut_bind_input(s, "t", t, ROWS, 1);
    gcut_bind(s, "w", w, 2, 1); /* the step updates it */
    gcut_bind_n(s, "out", &loss, 0, NULL);
    for (int step = 0; step < 50; step++) check(gcut_run(s) == GCUT_OK, "run");
    printf("compiled: loss %.4f, w %.3f %.3f\n", loss, w[0], w[1]);
    check(fabsf(w[0] - 2) < 0.2f && fabsf(w[1] + 1) < 0.2f, "w");
}

int main(void)
{
    ctx = gcut_ctx_new(NULL);
    check(ctx, "no memory");
    traced_branch();
    called_branch();
    scripted_loop();
    graph_break();
    dynamic_batch();
    recompile_storm();
    trained();
    gcut_ctx_free(ctx);
    return 0;
}
