/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Normalisations with running statistics: states whose next values come from
 * the model itself, in every backend, with and without an optimizer.
 */
#include "backends.h"
#include "cases.h"
#include "public.h"

static const char net[] =
    "func @net[N in 1..](param %w: f32[3, 2], param %gain: f32[2], param %bias: f32[2], state %mean: f32[2], "
    "state %var: f32[2], input %x: f32[N, 3], input %t: f32[N, 2]) -> (out loss: f32[], next mean: f32[2], "
    "next var: f32[2]) {\n"
    "  %h = matmul(%x, %w)\n  %y, %m, %v = batch_norm(%h, %gain, %bias, %mean, %var, momentum=0.25)\n"
    "  %r = tanh(%y)\n  %loss = mse(%r, %t)\n  return %loss, %m, %v\n}\n";

enum { ROWS = 5, STEPS = 3 };

typedef struct result {
    float w[6], gain[2], bias[2], mean[2], var[2], loss;
} result;

/* What a step starts from. */
static result initial(void)
{
    result r = {.gain = {1, 2}, .bias = {0.5f, -0.5f}, .mean = {0.1f, -0.2f}, .var = {1, 2}};
    for (int i = 0; i < 6; i++) r.w[i] = sinf(1.3f * (float)i + 0.3f);
    return r;
}

static void data(float *x, float *t)
{
    for (int i = 0; i < 3 * ROWS; i++) x[i] = cosf(0.7f * (float)i);
    for (int i = 0; i < 2 * ROWS; i++) t[i] = 0.5f * sinf((float)i);
}

static result train(gcut_ctx *ctx, gcut_graph *g, const backend_case *b, const char *optimizer)
{
    float x[3 * ROWS], t[2 * ROWS];
    result r = initial();
    data(x, t);
    gcut_step *s = step_of(ctx, g, b, false, optimizer);
    gcut_bind(s, "w", r.w, 3, 2);
    gcut_bind(s, "gain", r.gain, 2);
    gcut_bind(s, "bias", r.bias, 2);
    gcut_bind(s, "mean", r.mean, 2);
    gcut_bind(s, "var", r.var, 2);
    gcut_bind(s, "x", x, ROWS, 3);
    gcut_bind(s, "t", t, ROWS, 2);
    gcut_bind(s, "loss", &r.loss);
    for (int k = 0; k < STEPS; k++) assert_ok(ctx, gcut_run(s));
    gcut_step_free(s);
    return r;
}

static void assert_near(const char *what, const float *got, const float *want, size_t n, double tol)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tol))
            fail_msg("%s: [%zu] is %.9g, expected %.9g", what, i, (double)got[i], (double)want[i]);
}

/* running <- running + momentum (batch - running), three times on one batch; the batch's variance unbiased.
 */
static void closed_form(const float *w, float *mean, float *var)
{
    float x[3 * ROWS], t[2 * ROWS];
    data(x, t);
    for (int c = 0; c < 2; c++) {
        double h[ROWS], m = 0, v = 0;
        for (int r = 0; r < ROWS; r++) {
            h[r] = 0;
            for (int k = 0; k < 3; k++) h[r] += (double)x[3 * r + k] * (double)w[2 * k + c];
            m += h[r] / ROWS;
        }
        for (int r = 0; r < ROWS; r++) v += (h[r] - m) * (h[r] - m) / (ROWS - 1);
        for (int k = 0; k < STEPS; k++) {
            mean[c] = (float)((double)mean[c] + 0.25 * (m - (double)mean[c]));
            var[c] = (float)((double)var[c] + 0.25 * (v - (double)var[c]));
        }
    }
}

static void states_take_what_the_model_gives(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, net);
    result want = initial();
    closed_form(want.w, want.mean, want.var);
    for (size_t b = 0; b < NBACKENDS; b++) {
        TRY("backend %zu", b);
        result got = train(ctx, g, &backends[b], NULL);
        assert_near(backends[b].name, got.mean, want.mean, 2, 1e-6);
        assert_near(backends[b].name, got.var, want.var, 2, 1e-6);
        assert_memory_equal(got.w, want.w, sizeof got.w); /* nothing trains without an optimizer */
    }
    gcut_ctx_free(ctx);
}

static void beside_an_optimizer(void **state)
{
    (void)state;
    static const char *const optimizers[] = {"sgd(lr=0.1)", "momentum(lr=0.1)", "adamw(lr=0.01, eps=1e-3)"};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, net);
    for (size_t o = 0; o < sizeof optimizers / sizeof *optimizers; o++) {
        TRY("optimizer %zu", o);
        result want = train(ctx, g, &backends[0], optimizers[o]), start = initial();
        assert_memory_not_equal(want.w, start.w, sizeof start.w);
        assert_memory_not_equal(want.mean, start.mean, sizeof start.mean);
        for (size_t b = 1; b < NBACKENDS; b++) {
            result got = train(ctx, g, &backends[b], optimizers[o]);
            assert_near(backends[b].name, (float *)&got, (float *)&want, sizeof got / sizeof(float), 2e-5);
        }
    }
    gcut_ctx_free(ctx);
}

/* The forward graph alone gives no new statistics unless it is asked for nothing else: evaluation keeps them.
 */
static void forward_only_updates_too(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, net);
    result want = initial();
    float x[3 * ROWS], t[2 * ROWS];
    data(x, t);
    closed_form(want.w, want.mean, want.var);
    for (size_t b = 0; b < NBACKENDS; b++) {
        TRY("backend %zu", b);
        result r = initial();
        gcut_step *s = forward_step(ctx, g, &backends[b]);
        gcut_bind(s, "w", r.w, 3, 2);
        gcut_bind(s, "gain", r.gain, 2);
        gcut_bind(s, "bias", r.bias, 2);
        gcut_bind(s, "mean", r.mean, 2);
        gcut_bind(s, "var", r.var, 2);
        gcut_bind(s, "x", x, ROWS, 3);
        gcut_bind(s, "t", t, ROWS, 2);
        for (int k = 0; k < STEPS; k++) assert_ok(ctx, gcut_run(s));
        assert_near(backends[b].name, r.mean, want.mean, 2, 1e-6);
        assert_near(backends[b].name, r.var, want.var, 2, 1e-6);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

static void the_builder_gives_all_results(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_dim n = gcut_dim_sym(g, "N", 1, GCUT_DIM_MAX);
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(n, 4, 3, 3)), next[2];
    gcut_val gain = gcut_param(g, "gain", GCUT_F32, GCUT_SHAPE(4)),
             bias = gcut_param(g, "bias", GCUT_F32, GCUT_SHAPE(4));
    gcut_val mean = gcut_state(g, "mean", GCUT_F32, GCUT_SHAPE(4)),
             var = gcut_state(g, "var", GCUT_F32, GCUT_SHAPE(4));
    gcut_val y = gcut_batch_norm(x, gain, bias, mean, var, 1e-5, 0.1, next);
    gcut_next(g, "mean", next[0]);
    gcut_next(g, "var", next[1]);
    gcut_output(g, "loss", gcut_sum(gcut_mul(y, y), 0, 1, 2, 3));
    gcut_check_report r = crosscheck(g, NULL, NULL, 0, 0);
    if (!r.ok) fail_msg("%s%s", r.text ? r.text : "", gcut_last_error(ctx));

    const gcut_val in[] = {x, gain, bias, mean, var};
    gcut_val one = gcut_apply(g, "batch_norm", in, 5, "");
    assert_true(one.id == 0);
    assert_non_null(strstr(gcut_last_error(ctx), "'batch_norm' has 3 results, not 1"));
    gcut_batch_norm(x, gain, bias, mean, var, 1e-5, 0.1, next);
    assert_true(next[0].id == 0 && next[1].id == 0);
    gcut_ctx_free(ctx);
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *params, *expr, *says;
    } cases[] = {
        {"input %x: f32[4], input %c: f32[4]", "%y, %m, %v = batch_norm(%x, %c, %c, %c, %c)",
         "expected [N, C, ...]"},
        {"input %x: f32[2, 3], input %c: f32[4]", "%y, %m, %v = batch_norm(%x, %c, %c, %c, %c)",
         "can never be equal"},
        {"input %x: f32[2, 3], input %c: f64[3]", "%y, %m, %v = batch_norm(%x, %c, %c, %c, %c)",
         "dtypes must be equal"},
        {"input %x: f32[2, 4], input %c: f32[4]", "%y = batch_norm(%x, %c, %c, %c, %c)", "has 3 results"},
        {"input %x: f32[2, 4], input %c: f32[4]", "%y = group_norm(%x, %c, %c, groups=3)", "do not divide"},
        {"input %x: f32[2, 4], input %c: f32[4]", "%y = group_norm(%x, %c, %c, groups=0)",
         "must be a number >= 1"},
        {"input %x: f32[2, 4], input %c: f32[4]", "%y = instance_norm(%x, %c, %c)",
         "expected [N, C, .., ..]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        snprintf(text, sizeof text, "func @f(%s) -> () {\n  %s\n  return\n}\n", cases[i].params,
                 cases[i].expr);
        assert_null(load_text(ctx, text));
        if (!strstr(gcut_last_error(ctx), cases[i].says))
            fail_msg("%s: expected '%s' in: %s", cases[i].expr, cases[i].says, gcut_last_error(ctx));
        gcut_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_take_what_the_model_gives), cmocka_unit_test(beside_an_optimizer),
        cmocka_unit_test(forward_only_updates_too),         cmocka_unit_test(the_builder_gives_all_results),
        cmocka_unit_test(wrong_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
