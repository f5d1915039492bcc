/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_trace: recorded graphs beside graphs that are built by hand, branches beside the function itself.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"
#include "count_memory.h"
#include "traced.h"

static char *text_of(gcut_graph *g)
{
    char *text = gcut_show(g, NULL, GCUT_STAGE_PRIMAL, false);
    assert_non_null(text);
    return text;
}

/* ---- straight lines ---- */

static void layer(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    gcut_val y = gcut_relu(gcut_add(gcut_matmul(in[0], in[1]), in[2]));
    out[0] = gcut_mean(y);
}

static void straight_lines(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    float zeros[64] = {0};
    gcut_graph *e = gcut_eager(ctx), *h = gcut_graph_new(ctx, "layer");
    gcut_dim n = gcut_dim_now(e, "N", 1, 64, 4), m = gcut_dim_sym(h, "N", 1, 64);
    gcut_val in[3] = {gcut_write(gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(n, 3)), zeros),
                      gcut_write(gcut_param(e, "w", GCUT_F32, GCUT_SHAPE(3, 5)), zeros),
                      gcut_write(gcut_param(e, "b", GCUT_F32, GCUT_SHAPE(5)), zeros)};
    gcut_graph *t = gcut_trace(ctx, layer, NULL, in, 3, 1, &(gcut_trace_options){.name = "layer"});
    if (!t) fail_msg("%s", gcut_last_error(ctx));
    gcut_val p[3] = {gcut_input(h, "x", GCUT_F32, GCUT_SHAPE(m, 3)),
                     gcut_param(h, "w", GCUT_F32, GCUT_SHAPE(3, 5)),
                     gcut_param(h, "b", GCUT_F32, GCUT_SHAPE(5))},
             y;
    layer(NULL, h, p, &y);
    gcut_output(h, "out", y);
    assert_string_equal(text_of(t), text_of(h));
    gcut_graph_free(e); /* the trace has nothing of it */
    assert_string_equal(text_of(t), text_of(h));
    gcut_step *s = gcut_compile(t, &TEST_OPTIONS);
    must_run(ctx, s);
    gcut_ctx_free(ctx);
}

/* ---- branches ---- */

static void one_branch_is_guarded(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    const float one[] = {1}, three[] = {-3};
    gcut_graph *e = gcut_eager(ctx);
    gcut_val x = written(e, "x", one, 1);
    gcut_graph *t = gcut_trace(ctx, risky, NULL, &x, 1, 1, NULL);
    assert_non_null(t);
    gcut_options o = {.forward_only = true, .backend = GCUT_BACKEND_EAGER};
    gcut_step *s = gcut_compile(t, &o);
    float y;
    unsigned char guard;
    assert_int_equal(gcut_bind_n(s, "out", &y, 1, (int64_t[]){1}), GCUT_OK);
    assert_int_equal(gcut_bind_n(s, "guard", &guard, 0, NULL), GCUT_OK);
    gcut_bind_input(s, "x", one, 1);
    must_run(ctx, s);
    assert_true(y == 2 && guard == 1);
    gcut_bind_input(s, "x", three, 1);
    must_run(ctx, s);
    assert_true(guard == 0); /* y is of the wrong branch */
    gcut_ctx_free(ctx);
}

static gcut_graph *both(gcut_ctx *ctx, gcut_body *fn, const gcut_val *in, int nin, int nout)
{
    gcut_graph *t =
        gcut_trace(ctx, fn, NULL, in, nin, nout, &(gcut_trace_options){.name = "f", .branches = true});
    if (!t) fail_msg("%s", gcut_last_error(ctx));
    return t;
}

static void both_branches(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    const float one[] = {1};
    gcut_graph *e = gcut_eager(ctx);
    gcut_val x = written(e, "x", one, 1);
    runs = 0;
    gcut_graph *t = both(ctx, risky, &x, 1, 1);
    assert_int_equal(runs, 2);
    char *text = text_of(t);
    assert_null(strstr(text, "guard"));
    assert_non_null(strstr(text, "= if("));
    gcut_options o = {.forward_only = true};
    gcut_step *s = gcut_compile(t, &o);
    for (float v = -3; v <= 3; v++) {
        float y;
        gcut_bind_input(s, "x", &v, 1);
        gcut_bind(s, "out", &y, 1);
        must_run(ctx, s);
        assert_true(y == (v > 0 ? 2 * v : v - 1));
    }
    gcut_ctx_free(ctx);
}

/* Three levels, of which not every path asks for all, with work between and behind them. */
static void nested(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val x = in[0], zero = gcut_const(g, GCUT_F32, 0), s = gcut_sum(x);
    for (int k = 0; k < 3; k++) {
        if (!gcut_cond(gcut_gt(s, zero))) {
            x = gcut_scale(x, -1 - k);
            break;
        }
        x = gcut_sin(x);
        s = gcut_sum(gcut_sub(gcut_scale(x, 3), gcut_const(g, GCUT_F32, k + 1)));
    }
    out[0] = gcut_mul(x, x);
    out[1] = gcut_mean(out[0]);
}

static void nested_branches(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    float at[2] = {1, 1};
    gcut_graph *e = gcut_eager(ctx);
    gcut_val x = gcut_param(e, "x", GCUT_F32, GCUT_SHAPE(2));
    gcut_write(x, at);
    gcut_graph *t = both(ctx, nested, &x, 1, 2);
    gcut_options o = {.loss = "out1"};
    gcut_step *s = gcut_compile(t, &o);
    if (!s) fail_msg("%s", gcut_last_error(ctx));
    for (int k = -8; k <= 8; k++) {
        at[0] = (float)k * 0.4f, at[1] = 0.3f;
        float y[2], dx[2], loss;
        gcut_bind_input(s, "x", at, 2);
        gcut_bind(s, "out0", y, 2);
        gcut_bind_n(s, "out1", &loss, 0, NULL);
        gcut_bind(s, "grad.x", dx, 2);
        must_run(ctx, s);
        /* The same function at once, and its gradient along the branches it takes. */
        assert_int_equal(gcut_forget(e), GCUT_OK);
        gcut_write(x, at);
        gcut_val out[2];
        nested(NULL, e, &x, out);
        gcut_backward(out[1]);
        const float *own = gcut_data(out[0]), *d = gcut_data(gcut_gradient_of(x));
        for (int i = 0; i < 2; i++) {
            assert_true(fabsf(own[i] - y[i]) <= 1e-6f);
            assert_true(fabsf(d[i] - dx[i]) <= 1e-6f);
        }
    }
    gcut_ctx_free(ctx);
}

/* x = cos cos x; if (mean(x) > t) x /= 1.1; x y.  With t = 0.8 the sizes 10 and 8 take different branches. */
static double threshold;

static void cosines(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val x = gcut_cos(gcut_cos(in[0]));
    if (gcut_cond(gcut_gt(gcut_mean(x), gcut_const(g, GCUT_F32, threshold)))) x = gcut_scale(x, 1 / 1.1);
    out[0] = gcut_mul(x, in[1]);
}

static void cosine_chain(void **state)
{
    (void)state;
    float all[10], ones[10];
    for (int k = 0; k < 10; k++) all[k] = (float)(-2 + 4 * k / 9.0), ones[k] = 1;
    for (int way = 0; way < 2; way++) {
        threshold = way ? 0.8 : 0.5;
        gcut_ctx *ctx = new_ctx();
        gcut_graph *e = gcut_eager(ctx);
        gcut_dim n = gcut_dim_now(e, "N", 1, 10, 10);
        gcut_val in[2] = {gcut_write(gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(n)), all),
                          gcut_write(gcut_input(e, "y", GCUT_F32, GCUT_SHAPE(n)), ones)};
        gcut_graph *t = gcut_trace(ctx, cosines, NULL, in, 2, 1, NULL), *b = both(ctx, cosines, in, 2, 1);
        gcut_options o = {.forward_only = true};
        gcut_step *s = gcut_compile(t, &o), *full = gcut_compile(b, &o);
        for (int64_t size = 8; size <= 10; size += 2) {
            float y[10];
            unsigned char guard;
            double mean = 0;
            for (int k = 0; k < size; k++) mean += cos(cos(all[k])) / (double)size;
            gcut_bind_input(s, "x", all, size), gcut_bind_input(s, "y", ones, size);
            gcut_bind_n(s, "guard", &guard, 0, NULL);
            must_run(ctx, s);
            assert_int_equal(guard, (size == 8 && way) ? 0 : 1);
            gcut_bind_input(full, "x", all, size), gcut_bind_input(full, "y", ones, size);
            gcut_bind(full, "out", y, size);
            must_run(ctx, full);
            for (int k = 0; k < size; k++)
                assert_true(fabs(y[k] - cos(cos(all[k])) / (mean > threshold ? 1.1 : 1)) < 1e-6);
        }
        gcut_ctx_free(ctx);
    }
}

/* Arms whose results differ in type stay apart. */
static void uneven(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val zero = gcut_const(g, GCUT_F32, 0);
    out[0] = gcut_cond(gcut_gt(gcut_sum(in[0]), zero)) ? in[0] : gcut_slice(in[0], 0, 0, 1);
}

static void arms_of_two_types(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    const float a[] = {1, 2};
    gcut_graph *e = gcut_eager(ctx);
    gcut_val x = written(e, "x", a, 2);
    char *text = text_of(both(ctx, uneven, &x, 1, 1));
    assert_non_null(strstr(text, "guard"));
    assert_null(strstr(text, "= if("));
    char *once =
        text_of(gcut_trace(ctx, uneven, NULL, &x, 1, 1,
                           &(gcut_trace_options){.name = "f"})); /* the arm that the values lead to */
    assert_string_equal(text, once);
    gcut_ctx_free(ctx);
}

/* ---- mixed with text ---- */

static gcut_graph *callee;

/* One gate of a recurrent layer: tanh(gate(linear(x)) + h), where the gate branches. */
static void gate(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val y = gcut_matmul(in[0], in[2]), zero = gcut_const(g, GCUT_F32, 0);
    y = gcut_cond(gcut_gt(gcut_sum(y), zero)) ? y : gcut_neg(y);
    out[0] = gcut_tanh(gcut_add(y, in[1]));
}

static void traced_body_of_a_scan(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    float x[2 * 3] = {0.5f, -1, 2, 0.1f, 0.2f, -3}, w[9], h[6] = {0};
    for (int k = 0; k < 9; k++) w[k] = (float)cos(k);
    gcut_graph *e = gcut_eager(ctx);
    gcut_val in[3] = {gcut_write(gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(2, 3)), x),
                      gcut_write(gcut_input(e, "h", GCUT_F32, GCUT_SHAPE(2, 3)), h),
                      gcut_write(gcut_input(e, "w", GCUT_F32, GCUT_SHAPE(3, 3)), w)};
    gcut_graph *t =
        gcut_trace(ctx, gate, NULL, in, 3, 1, &(gcut_trace_options){.name = "gate", .branches = true});
    char *text = text_of(t), whole[8192];
    const char *body = strstr(text, "func @gate");
    assert_non_null(body);
    snprintf(whole, sizeof whole,
             "%s\nfunc @rnn(param %%w: f32[3, 3], input %%xs: f32[4, 2, 3], input %%h: f32[2, 3]) -> (out "
             "loss: f32[]) {\n"
             "  %%last, %%ys = scan(%%h, %%xs, carries=1) body(%%s, %%x) {\n"
             "    %%y = call(@gate, %%x, %%s, %%w)\n    yield %%y, %%y\n  }\n"
             "  %%loss = sum(%%ys)\n  return %%loss\n}\n",
             body);
    gcut_graph *rnn = graph_from(ctx, whole);
    /* The same in C, at once. */
    float xs[4 * 6];
    for (int k = 0; k < 24; k++) xs[k] = (float)sin(5 * k);
    gcut_graph *now = gcut_eager(ctx);
    gcut_val pw = gcut_write(gcut_param(now, "w", GCUT_F32, GCUT_SHAPE(3, 3)), w),
             s = gcut_write(gcut_input(now, "h", GCUT_F32, GCUT_SHAPE(2, 3)), h), sum = {0};
    for (int k = 0; k < 4; k++) {
        char name[8];
        snprintf(name, sizeof name, "x%d", k);
        gcut_val step[3] = {gcut_write(gcut_input(now, name, GCUT_F32, GCUT_SHAPE(2, 3)), xs + 6 * k), s, pw};
        gate(NULL, now, step, &s);
        sum = k ? gcut_add(sum, gcut_sum(s)) : gcut_sum(s);
    }
    gcut_backward(sum);
    gcut_options o = {0};
    gcut_step *step = gcut_compile(rnn, &o);
    if (!step) fail_msg("%s", gcut_last_error(ctx));
    float loss, dw[9];
    gcut_bind_input(step, "w", w, 3, 3), gcut_bind_input(step, "xs", xs, 4, 2, 3),
        gcut_bind_input(step, "h", h, 2, 3);
    gcut_bind_n(step, "loss", &loss, 0, NULL), gcut_bind(step, "grad.w", dw, 3, 3);
    must_run(ctx, step);
    const float *d = gcut_data(gcut_gradient_of(pw)), *l = gcut_data(sum);
    assert_true(fabsf(*l - loss) < 1e-5f);
    for (int k = 0; k < 9; k++) assert_true(fabsf(d[k] - dw[k]) < 1e-4f);
    gcut_ctx_free(ctx);
}

static void calls(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_call(g, callee, in, 1, out, 1);
    out[0] = gcut_exp(out[0]);
}

static void calls_of_text(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    callee = graph_from(
        ctx, "func @inner(input %a: f32[2]) -> (out b: f32[2]) {\n  %b = mul(%a, %a)\n  return %b\n}\n"
             "func @hand(input %a: f32[2]) -> (out b: f32[2]) {\n  %c = call(@inner, %a)\n"
             "  %b = neg(%c)\n  return %b\n}\n");
    const float a[] = {1, 2};
    gcut_graph *e = gcut_eager(ctx);
    gcut_val x = gcut_write(gcut_param(e, "x", GCUT_F32, GCUT_SHAPE(2)), a);
    gcut_graph *t = gcut_trace(ctx, calls, NULL, &x, 1, 1, NULL);
    if (!t) fail_msg("%s", gcut_last_error(ctx));
    gcut_val y;
    calls(NULL, e, &x, &y);
    const float *own = gcut_data(y);
    assert_true(fabsf(own[0] - expf(-1)) < 1e-6f && fabsf(own[1] - expf(-4)) < 1e-6f);
    gcut_graph_free(callee);
    gcut_options o = {.cotan = (const char *const[]){"out"}, .ncotan = 1};
    gcut_step *s = gcut_compile(t, &o);
    if (!s) fail_msg("%s", gcut_last_error(ctx));
    float dx[2];
    const float ones[] = {1, 1};
    gcut_bind_input(s, "x", a, 2), gcut_bind(s, "grad.x", dx, 2), gcut_bind_input(s, "dout", ones, 2);
    must_run(ctx, s);
    for (int k = 0; k < 2; k++) assert_true(fabsf(dx[k] + 2 * a[k] * expf(-a[k] * a[k])) < 1e-6f);
    gcut_ctx_free(ctx);
}

/* C code that computes with a symbol: the loop runs never, as the symbol is below 0. */
static void by_rows(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    out[0] = gcut_slice(in[0], 0, 0, 1);
    for (int64_t t = 1; t < gcut_shape_of(in[0]).dim[0]; t++)
        out[0] = gcut_add(out[0], gcut_slice(in[0], 0, t, t + 1));
}

static void loops_over_symbols(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    const float a[] = {1, 2, 3};
    for (int symbolic = 0; symbolic < 2; symbolic++) {
        gcut_graph *e = gcut_eager(ctx);
        gcut_dim n = symbolic ? gcut_dim_now(e, "N", 2, 100, 3) : 3;
        gcut_val x = gcut_write(gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(n)), a);
        gcut_graph *t = gcut_trace(ctx, by_rows, NULL, &x, 1, 1, NULL);
        assert_int_equal(t == NULL, symbolic);
        if (symbolic) assert_says(ctx, GCUT_EUSAGE, "depends on a size");
    }
    gcut_ctx_free(ctx);
}

/* At most 256 paths. */
static int choices;

static void chooses(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    out[0] = in[0];
    for (int k = 0; k < choices; k++)
        if (gcut_cond(gcut_gt(gcut_sum(out[0]), gcut_const(g, GCUT_F32, k)))) out[0] = gcut_scale(out[0], 2);
}

static void paths(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    const float a[] = {1, 2};
    gcut_graph *e = gcut_eager(ctx);
    gcut_val x = written(e, "x", a, 2);
    choices = 8;
    assert_non_null(both(ctx, chooses, &x, 1, 1));
    choices = 9;
    assert_null(gcut_trace(ctx, chooses, NULL, &x, 1, 1, &(gcut_trace_options){.branches = true}));
    assert_says(ctx, GCUT_EUSAGE, "more than 256 paths");
    gcut_ctx_free(ctx);
}

/* Functions of one name, of two files and of the trace itself. */
static gcut_graph *two[2];

static void calls_two(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val y = in[0], next, zero = gcut_const(g, GCUT_F32, 0);
    for (int k = 0; k < 4; k++, y = next) gcut_call(g, two[k % 2], &y, 1, &next, 1);
    out[0] = gcut_cond(gcut_gt(gcut_sum(y), zero)) ? y : gcut_neg(y);
}

static void functions_of_one_name(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    two[0] = graph_from(
        ctx, "func @f[N](input %a: f32[N]) -> (out b: f32[N]) {\n  %b = mul(%a, %a)\n  return %b\n}\n");
    two[1] = graph_from(
        ctx, "func @f[N](input %a: f32[N]) -> (out b: f32[N]) {\n  %b = neg(%a)\n  return %b\n}\n");
    const float a[] = {1, 2};
    gcut_graph *e = gcut_eager(ctx);
    gcut_val x = written(e, "x", a, 2);
    gcut_graph *t = both(ctx, calls_two, &x, 1, 1); /* which is called f */
    char *text = text_of(t);
    gcut_graph *again = gcut_parse(ctx, text, GCUT_TO_NUL, NULL, "f");
    if (!again) fail_msg("%s\n%s", gcut_last_error(ctx), text);
    gcut_options o = {.forward_only = true};
    gcut_step *s = gcut_compile(again, &o);
    float y[2];
    gcut_bind_input(s, "x", a, 2), gcut_bind(s, "out", y, 2);
    must_run(ctx, s);
    assert_true(y[0] == 1 && y[1] == 16); /* -(x^4), of which the sum is below 0 */
    gcut_ctx_free(ctx);
}

/* ---- large models, long loops ---- */

enum { LAYERS = 80, WIDTH = 8192, HIDDEN = 28672 };

static gcut_val block(const gcut_val *w, gcut_val x)
{
    gcut_dim n = gcut_shape_of(x).dim[0], t = gcut_shape_of(x).dim[1];
    gcut_val h = gcut_rms_norm(x, w[0], 1e-5), qkv[3];
    for (int k = 0; k < 3; k++)
        qkv[k] = gcut_transpose(gcut_reshape(gcut_matmul(h, w[1 + k]), n, t, k ? 8 : 64, 128), 0, 2, 1, 3);
    gcut_val y = gcut_attention(qkv[0], qkv[1], qkv[2], (gcut_attention_options){.causal = true});
    x = gcut_add(x, gcut_matmul(gcut_reshape(gcut_transpose(y, 0, 2, 1, 3), n, t, WIDTH), w[4]));
    h = gcut_rms_norm(x, w[5], 1e-5);
    return gcut_add(x, gcut_matmul(gcut_mul(gcut_silu(gcut_matmul(h, w[6])), gcut_matmul(h, w[7])), w[8]));
}

static void seventy_billion(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    out[0] = in[0];
    for (int k = 0; k < LAYERS; k++) out[0] = block(in + 1 + 9 * k, out[0]);
}

/* Recording computes nothing that no gcut_cond asks for. */
static void shapes_of_a_large_model(void **state)
{
    (void)state;
    memory_counter memory = {0};
    gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){count_memory, &memory});
    gcut_graph *e = gcut_eager(ctx);
    gcut_val in[1 + 9 * LAYERS];
    gcut_dim n = gcut_dim_now(e, "N", 1, 64, 8), t = gcut_dim_now(e, "T", 1, 4096, 2048);
    in[0] = gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(n, t, WIDTH));
    const gcut_shape shape[9] = {
        GCUT_SHAPE(WIDTH),         GCUT_SHAPE(WIDTH, WIDTH),  GCUT_SHAPE(WIDTH, 1024),
        GCUT_SHAPE(WIDTH, 1024),   GCUT_SHAPE(WIDTH, WIDTH),  GCUT_SHAPE(WIDTH),
        GCUT_SHAPE(WIDTH, HIDDEN), GCUT_SHAPE(WIDTH, HIDDEN), GCUT_SHAPE(HIDDEN, WIDTH)};
    for (int k = 0; k < LAYERS * 9; k++) {
        char name[16];
        snprintf(name, sizeof name, "l%d.w%d", k / 9, k % 9);
        in[1 + k] = gcut_param(e, name, GCUT_F32, shape[k % 9]);
    }
    gcut_graph *g = gcut_trace(ctx, seventy_billion, NULL, in, 1 + 9 * LAYERS, 1, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    assert_true(memory.most < (size_t)64 << 20);
    gcut_ctx_free(ctx);
    assert_int_equal(memory.now, 0);
}

static char advice[512];

static void listen(void *user, const char *sentence)
{
    (void)user;
    snprintf(advice, sizeof advice, "%s", sentence);
}

static void repeats(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)g;
    out[0] = in[0];
    for (int k = 0; k < *(const int *)user; k++) out[0] = gcut_scale(gcut_tanh(out[0]), k + 2); /* no scan */
}

static void long_loops_are_told(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    const float a[] = {1, 2};
    gcut_graph *e = gcut_eager(ctx);
    gcut_val x = written(e, "x", a, 2);
    gcut_ctx_set_hooks(ctx, &(gcut_hooks){.log = listen});
    for (int times = 8; times < 10; times++) {
        *advice = 0;
        assert_non_null(gcut_trace(ctx, repeats, &times, &x, 1, 1, NULL));
        assert_int_equal(*advice != 0, times > 8);
    }
    assert_non_null(strstr(advice, "test_trace.c:"));
    assert_non_null(strstr(advice, "'tanh' was recorded 9 times: "));
    assert_non_null(strstr(advice, "gcut_scan"));
    gcut_ctx_free(ctx);
}

/* A recurrence of `LENGTH` steps in a C loop; `twist` makes one iteration, or the use of its values, something else. */
enum { LENGTH = 12 };
static int twist, length;

static void unrolled(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val x = in[0], w = in[1], h = in[2], c = in[2], all[LENGTH];
    for (int t = 0; t < length; t++) {
        gcut_val xt = gcut_reshape(
            gcut_slice(x, 1, twist == 1 && t == 5 ? 0 : t, twist == 1 && t == 5 ? 1 : t + 1), 2, 3);
        gcut_val a = gcut_add(xt, gcut_matmul(h, w));
        c = gcut_add(gcut_scale(c, twist == 2 ? 0.1 * t : 0.5), a);
        h = twist == 3 && t == 7 ? gcut_sin(c) : gcut_tanh(c);
        all[t] = h;
    }
    (void)g;
    out[0] = gcut_sum(gcut_mul(gcut_concat(all, length, 0), gcut_concat(all, length, 0)));
    if (twist == 4) out[0] = gcut_add(out[0], gcut_sum(all[3]));
    out[1] = h;
}

static void loops_become_scans(void **state)
{
    (void)state;
    static const struct {
        int twist, length;
        bool scans;
    } cases[] = {{0, LENGTH, true},  {0, 8, false},      {1, LENGTH, false},
                 {2, LENGTH, false}, {3, LENGTH, false}, {4, LENGTH, true}};
    float x[2 * LENGTH * 3], w[9], h[6];
    for (int k = 0; k < 2 * LENGTH * 3; k++) x[k] = (float)sin(k);
    for (int k = 0; k < 9; k++) w[k] = (float)cos(k) / 2;
    for (int k = 0; k < 6; k++) h[k] = (float)k / 6;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        twist = cases[k].twist, length = cases[k].length;
        gcut_ctx *ctx = new_ctx();
        gcut_graph *e = gcut_eager(ctx);
        gcut_val in[3] = {gcut_write(gcut_param(e, "x", GCUT_F32, GCUT_SHAPE(2, LENGTH, 3)), x),
                          gcut_write(gcut_param(e, "w", GCUT_F32, GCUT_SHAPE(3, 3)), w),
                          gcut_write(gcut_param(e, "h", GCUT_F32, GCUT_SHAPE(2, 3)), h)},
                 out[2];
        gcut_graph *t = gcut_trace(ctx, unrolled, NULL, in, 3, 2, &(gcut_trace_options){.name = "f"});
        if (!t) fail_msg("%s", gcut_last_error(ctx));
        const char *text = text_of(t);
        if ((strstr(text, "= scan(") != NULL) != cases[k].scans) fail_msg("case %zu:\n%s", k, text);
        unrolled(NULL, e, in, out);
        gcut_backward(out[0]);
        gcut_options o = {.loss = "out0", .backend = GCUT_BACKEND_JOINT};
        gcut_step *s = gcut_compile(t, &o);
        if (!s) fail_msg("%s\n%s", gcut_last_error(ctx), text);
        gcut_bind_input(s, "x", x, 2, LENGTH, 3), gcut_bind_input(s, "w", w, 3, 3),
            gcut_bind_input(s, "h", h, 2, 3);
        must_run(ctx, s);
        static const char *const name[] = {"out0", "out1", "grad.x", "grad.w", "grad.h"};
        const gcut_val want[] = {out[0], out[1], gcut_gradient_of(in[0]), gcut_gradient_of(in[1]),
                                 gcut_gradient_of(in[2])};
        for (int i = 0; i < 5; i++) {
            gcut_value_info v;
            assert_true(value_of(s, name[i], &v));
            const float *a = gcut_data(want[i]), *b = v.at;
            for (size_t j = 0; j < (size_t)v.bytes / sizeof *b; j++)
                if (!(fabsf(a[j] - b[j]) <= 1e-4f * (1 + fabsf(a[j]))))
                    fail_msg("case %zu: %s[%zu] is %g, not %g", k, name[i], j, b[j], a[j]);
        }
        gcut_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_lines),
        cmocka_unit_test(one_branch_is_guarded),
        cmocka_unit_test(both_branches),
        cmocka_unit_test(nested_branches),
        cmocka_unit_test(cosine_chain),
        cmocka_unit_test(arms_of_two_types),
        cmocka_unit_test(traced_body_of_a_scan),
        cmocka_unit_test(calls_of_text),
        cmocka_unit_test(shapes_of_a_large_model),
        cmocka_unit_test(long_loops_are_told),
        cmocka_unit_test(loops_over_symbols),
        cmocka_unit_test(paths),
        cmocka_unit_test(functions_of_one_name),
        cmocka_unit_test(loops_become_scans),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
