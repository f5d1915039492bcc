/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Results of any shape along cotangents of theirs, late inputs, and memory that is gone when the backward
 * call comes.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"

static const gcut_backend backends[] = {GCUT_BACKEND_EAGER, GCUT_BACKEND_JOINT, GCUT_BACKEND_PLANNED,
                                        GCUT_BACKEND_COMPILED};

/* Runs of each backend at one and two threads. */
static gcut_step *run_number(gcut_graph *g, gcut_options o, int k)
{
    o.backend = backends[k % 4];
    o.threads = 1 + k / 4;
    return gcut_compile(g, &o);
}

#define COS                                                                                                  \
    "func @cc(param %x: f32[5, 5, 5]) -> (out z: f32[5, 5, 5]) {\n"                                          \
    "  %a = cos(%x)\n  %z = cos(%a)\n  return %z\n}\n"

/* z = cos cos x: dx = sin(cos x) sin(x) dz. */
static void tensor_cotangent(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, COS);
    float x[125], g_[125], dx[125];
    for (int i = 0; i < 125; i++) x[i] = (float)(i - 60) / 20, g_[i] = (float)(i % 11) - 5;
    for (int k = 0; k < 8; k++) {
        gcut_step *s = run_number(g, (gcut_options){0}, k);
        assert_int_equal(gcut_bind_input(s, "x", x, 5, 5, 5), GCUT_OK);
        assert_int_equal(gcut_bind(s, "grad.x", dx, 5, 5, 5), GCUT_OK);
        assert_int_equal(gcut_run(s), GCUT_EUSAGE); /* a tensor of ones is no default */
        assert_says(ctx, GCUT_EUSAGE, "the cotangent 'dz' f32[5, 5, 5] was given no values");
        assert_int_equal(gcut_bind_input(s, "dz", g_, 5, 5, 5), GCUT_OK);
        must_run(ctx, s);
        for (int i = 0; i < 125; i++)
            assert_true(fabs(dx[i] - sin(cos((double)x[i])) * sin((double)x[i]) * g_[i]) <= 2e-6);
        gcut_step_free(s);
    }
    gcut_check_report r = gradcheck(g, &TEST_OPTIONS, NULL, 0, 0);
    assert_true(r.ok);
    gcut_ctx_free(ctx);
}

/* Of its input, once the caller's activation, x alone is saved where time is dear. */
static void transient_input(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "cc");
    gcut_val x = gcut_transient(gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(5, 5, 5)));
    gcut_val z = gcut_cos(gcut_name(gcut_cos(x), "a"));
    gcut_output(g, "z", z);
    gcut_transient(z);
    const char *wrt = "x";
    for (int threads = 1; threads <= 2; threads++) {
        gcut_options o = {.wrt = &wrt, .nwrt = 1, .lambda = 1, .threads = threads};
        gcut_plan *p = gcut_plan_new(g, &o);
        if (!p) fail_msg("%s", gcut_last_error(ctx));
        const gcut_plan_info *i = gcut_plan_look(p);
        assert_that(i->n, ==, 2);
        assert_that(i->value[1]->decision, ==, GCUT_PLAN_RECOMPUTED);
        assert_string_equal(i->value[0]->name, "x");
        assert_int_equal(i->saved_bytes, 500);
        gcut_plan_free(p);
    }
    for (int k = 0; k < 8; k++) {
        gcut_options o = TEST_OPTIONS;
        o.wrt = &wrt, o.nwrt = 1;
        gcut_step *s = run_number(g, o, k);
        must_run(ctx, s);
        const float *at = gcut_step_value(s, "x")->at, *dx = gcut_step_value(s, "grad.x")->at;
        for (int i = 0; i < 125; i++)
            assert_true(fabs(dx[i] - sin(cos((double)at[i])) * sin((double)at[i])) <= 2e-6);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

#define TWO                                                                                                  \
    "func @two[N in 1..](param %w: f32[N], input %x: f32[N]) -> (out y: f32[N], out n: i32[N], out m: "      \
    "f32[], "                                                                                                \
    "out again: f32[N], out same: f32[N]) {\n"                                                               \
    "  %y = mul(%x, %w)\n  %e = exp(%w)\n  %m = mean(%e)\n  %n = cast(%y, to=\"i32\")\n"                     \
    "  return %y, %n, %m, %y, %w\n}\n"

/* dw = x (dy + dagain) + exp(w)/N dm + dsame, by whichever of them are asked for. */
static void several_results(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, TWO);
    enum { N = 9 };
    float w[N], x[N], dw[N], c[3][N], dm = 3;
    for (int i = 0; i < N; i++) {
        w[i] = (float)i / 8 - 0.5f, x[i] = (float)(i % 4) - 1.5f;
        for (int k = 0; k < 3; k++) c[k][i] = (float)((i * (k + 2)) % 5) - 2;
    }
    static const char *const names[] = {"y", "m", "again", "same"};
    for (unsigned set = 0; set < 16; set++)
        for (int k = 0; k < 8; k++) {
            const char *some[4];
            size_t n = 0;
            for (int j = 0; j < 4; j++)
                if (set >> j & 1) some[n++] = names[j];
            gcut_options o = {.cotan = some, .ncotan = n};
            /* Without names: the only scalar. */
            bool has[4] = {set & 1, set & 2 || !set, set & 4, set & 8};
            gcut_step *s = run_number(g, o, k);
            if (!s) fail_msg("%s", gcut_last_error(ctx));
            gcut_bind_input(s, "w", w, N), gcut_bind_input(s, "x", x, N), gcut_bind(s, "grad.w", dw, N);
            if (has[0]) assert_int_equal(gcut_bind_input(s, "dy", c[0], N), GCUT_OK);
            if (has[1]) assert_int_equal(gcut_bind_input(s, "dm", &dm), GCUT_OK);
            if (has[2]) assert_int_equal(gcut_bind_input(s, "dagain", c[1], N), GCUT_OK);
            if (has[3]) assert_int_equal(gcut_bind_input(s, "dsame", c[2], N), GCUT_OK);
            must_run(ctx, s);
            for (int i = 0; i < N; i++) {
                double want = (has[0] ? x[i] * c[0][i] : 0) + (has[2] ? x[i] * c[1][i] : 0) +
                              (has[1] ? exp((double)w[i]) / N * dm : 0) + (has[3] ? c[2][i] : 0);
                if (!(fabs(dw[i] - want) <= 1e-5)) fail_msg("set %u, run %d: dw[%d]", set, k, i);
            }
            gcut_step_free(s);
        }
    gcut_ctx_free(ctx);
}

static void named_badly(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, TWO);
    static const char *const twice[] = {"y", "y"}, *const integer[] = {"n"}, *const none[] = {"q"};
    assert_null(gcut_plan_new(g, (&(gcut_options){.cotan = twice, .ncotan = 2})));
    assert_says(ctx, GCUT_EUSAGE, "the cotangent of 'y' is asked for twice");
    assert_null(gcut_plan_new(g, (&(gcut_options){.cotan = integer, .ncotan = 1})));
    assert_says(ctx, GCUT_EGRAD, "the result 'n' is i32[N], not a float");
    assert_null(gcut_plan_new(g, (&(gcut_options){.cotan = none, .ncotan = 1})));
    assert_says(ctx, GCUT_EGRAD, "no result 'q'");
    assert_null(gcut_plan_new(g, (&(gcut_options){.cotan = twice, .ncotan = 1, .loss = "m"})));
    assert_says(ctx, GCUT_EUSAGE, "a loss is asked for, 'm', and results with cotangents, 'y' first");
    assert_null(gcut_plan_new(g, (&(gcut_options){.loss = "y"})));
    assert_says(ctx, GCUT_EGRAD, "the result 'y' is f32[N], not a float scalar");
    assert_says(ctx, GCUT_EGRAD, "options.cotan");
    assert_null(gcut_plan_new(g, (&(gcut_options){.ncotan = 1})));
    assert_says(ctx, GCUT_EUSAGE, "options.cotan is NULL");
    static const struct {
        const char *head, *says;
    } rows[] = {
        {"(param %x: f32[4] #late) -> (out y: f32[4])",
         "%x is declared `param`: only inputs and `out` results can be #late"},
        {"(param %x: f32[4] #transient) -> (out y: f32[4])", "%x is declared `param`: only inputs, keys and"},
        {"(input %x: f32[4] #late #transient) -> (out y: f32[4])", "it cannot be gone by then"},
        {"(param %x: f32[4]) -> (grad x: f32[4] #transient)", "'grad x' cannot be #transient"},
        {"(param %x: f32[4]) -> (next x: f32[4] #late)", "'next x' cannot be #late"},
        {"(param %x: f32[4]) -> (out y: f32[4] #late #transient)", "'out y' is given with the backward call"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        snprintf(text, sizeof text, "gcut 1\nfunc @f%s {\n  %%y = exp(%%x)\n  return %%y\n}\n", rows[i].head);
        assert_null(gcut_parse(ctx, text, GCUT_TO_NUL, "f.gcut", NULL));
        assert_says(ctx, GCUT_ETYPE, rows[i].says);
        if (!strstr(gcut_last_error(ctx), "f.gcut:2:")) fail_msg("no line: %s", gcut_last_error(ctx));
    }
    gcut_graph *h = gcut_graph_new(ctx, "h");
    gcut_val p = gcut_param(h, "p", GCUT_F32, GCUT_SHAPE(2));
    gcut_late(p);
    assert_says(ctx, GCUT_EUSAGE, "only inputs and `out` results can be #late");
    h = gcut_graph_new(ctx, "h2");
    p = gcut_param(h, "p", GCUT_F32, GCUT_SHAPE(2));
    gcut_transient(gcut_exp(p));
    assert_says(ctx, GCUT_EUSAGE, "it is no input, no key and no result: call gcut_output before");
    h = gcut_graph_new(ctx, "h3");
    p = gcut_param(h, "p", GCUT_F32, GCUT_SHAPE(2));
    gcut_late(gcut_exp(p));
    assert_says(ctx, GCUT_EUSAGE, "it is no input and no result: call gcut_output before");
    gcut_ctx_free(ctx);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *s = text; (s = strstr(s, what)); s++) n++;
    return n;
}

/* sum(y g) with g late: the gradient of the product by w is the backward graph's alone, at every size. */
static void late_input(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g =
        graph_from(ctx, "func @head[N in 1..](param %w: f32[64, 4096], input %x: f32[N, 64], input %g: "
                        "f32[N, 4096] #late) -> (out y: f32[N, 4096]) {\n"
                        "  %y = matmul(%x, %w)\n  return %y\n}\n");
    gcut_graph *summed = graph_from(
        ctx, "func @summed[N in 1..](param %w: f32[64, 4096], input %x: f32[N, 64], input %g: f32[N, 4096] "
             "#late) -> (out loss: f32[], out y: f32[N, 4096]) {\n"
             "  %y = matmul(%x, %w)\n  %p = mul(%y, %g)\n  %loss = sum(%p)\n  return %loss, %y\n}\n");
    assert_null(gcut_plan_new(summed, NULL));
    assert_says(ctx, GCUT_EPLAN, "result loss depends on a cotangent or a #late input");
    gcut_graph *joint = graph_from(
        ctx,
        "func @joint[N in 1..](param %w: f32[64, 4096], input %x: f32[N, 64], input %g: f32[N, 4096] "
        "#late, cotan %dloss: f32[]) -> (out y: f32[N, 4096], grad w: f32[64, 4096]) {\n"
        "  %y = matmul(%x, %w)\n  %b = broadcast(%dloss, shape=[N, 4096], axes=[])\n  %dy = mul(%b, %g)\n"
        "  %dw = matmul(%x, %dy, ta=true)\n  return %y, %dw\n}\n");
    /* A size that only a late input has: the forward graph is told it, and is not given the input. */
    gcut_graph *sized =
        graph_from(ctx, "func @sized[N in 1..](param %w: f32[], input %g: f32[N] #late) -> (out y: "
                        "f32[N]) {\n  %y = broadcast(%w, shape=[N], axes=[])\n  return %y\n}\n");
    if (!crosscheck(sized, &TEST_OPTIONS, NULL, 0, 0).ok) fail_msg("%s", gcut_last_error(ctx));
    gcut_graph *both[] = {g, joint};
    for (int k = 0; k < 2; k++)
        for (int64_t n = 4; n <= 4096; n *= n == 4 ? 64 : 16) {
            gcut_options o = {.at = &(gcut_size){"N", n}, .nat = 1};
            char *text = gcut_show(both[k], &o, GCUT_STAGE_SPLIT, false);
            if (!text) fail_msg("%s", gcut_last_error(ctx));
            char *backward = strstr(text, ".bwd");
            assert_non_null(backward);
            *backward = '\0';
            assert_int_equal(count(text, "matmul("), 1);
            assert_null(strstr(text, "%g"));
            gcut_free(text);
        }
    gcut_ctx_free(ctx);
}

#define JOINT                                                                                                \
    "func @cc[N in 1..](param %x: f32[N], cotan %dz: f32[N]) -> (out z: f32[N], grad x: f32[N]) {\n"         \
    "  %a = cos(%x)\n  %z = cos(%a)\n  %s = sin(%a)\n  %t = sin(%x)\n  %u = mul(%s, %t)\n"                   \
    "  %dx = mul(%u, %dz)\n  return %z, %dx\n}\n"

/* Text with cotangents is a joint graph: as it is written, unless it is to be differentiated again. */
static void written_by_hand(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, JOINT);
    gcut_options o = TEST_OPTIONS;
    assert_true(gradcheck(g, &o, NULL, 0, 0).ok);
    assert_true(crosscheck(g, &o, NULL, 0, 0).ok);
    char *joint = gcut_show(g, &o, GCUT_STAGE_JOINT, false),
         *primal = gcut_show(g, &o, GCUT_STAGE_PRIMAL, false);
    assert_int_equal(count(joint, " = "), count(primal, " = "));
    gcut_free(joint), gcut_free(primal);
    gcut_explanation *e = gcut_explain(g, &o, "a");
    assert_non_null(e);
    gcut_free(e);
    gcut_plan *p = gcut_plan_new(g, &o);
    assert_non_null(p);
    gcut_plan_free(p);
    gcut_frontier *f = gcut_frontier_new(g, &o, NULL);
    assert_non_null(f);
    gcut_free(f);
    /* Its gradient, differentiated again. */
    const char *dx = "dx";
    o.cotan = &dx, o.ncotan = 1;
    assert_true(crosscheck(g, &o, NULL, 0, 0).ok);
    /* Wrong by a sign. */
    gcut_graph *bad =
        graph_from(ctx, "func @bad[N in 1..](param %x: f32[N], cotan %dz: f32[N]) -> (out z: f32[N], "
                        "grad x: f32[N]) {\n  %z = cos(%x)\n  %s = sin(%x)\n  %dx = mul(%s, %dz)\n"
                        "  return %z, %dx\n}\n");
    assert_false(gradcheck(bad, &TEST_OPTIONS, NULL, 0, 0).ok);
    gcut_graph *nobody =
        graph_from(ctx, "func @f[N in 1..](param %x: f32[N], cotan %q: f32[N]) -> (out z: f32[N], "
                        "grad x: f32[N]) {\n  %z = cos(%x)\n  return %z, %q\n}\n");
    assert_null(gcut_gradcheck(nobody, &TEST_OPTIONS, NULL, 0, 0));
    assert_says(ctx, GCUT_EGRAD, "the cotangent 'q' f32[N] is of no result");
    gcut_ctx_free(ctx);
}

/* y = cos(w x), and |dw|^2 of the late cotangent as a result of the backward call. */
static void late_result(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "norm");
    gcut_dim n = gcut_dim_sym(g, "N", 1, 64);
    gcut_val w = gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(8, 8));
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(n, 8));
    gcut_val dy = gcut_late(gcut_input(g, "dy", GCUT_F32, GCUT_SHAPE(n, 8)));
    gcut_val h = gcut_matmul(x, w), y = gcut_cos(h), dw;
    gcut_vjp(&y, &dy, 1, &w, 1, &dw);
    gcut_val norm = gcut_sum(gcut_mul(dw, dw));
    gcut_output(g, "y", y), gcut_output(g, "norm", norm), gcut_gradient(g, "w", dw);
    gcut_late(norm);
    for (int apart = 0; apart < 2; apart++) {
        gcut_options o = TEST_OPTIONS;
        o.apart = apart;
        if (!crosscheck(g, &o, NULL, 0, 0).ok) fail_msg("%s", gcut_last_error(ctx));
    }
    /* Only the backward call writes it. */
    gcut_options o = TEST_OPTIONS;
    o.apart = true, o.unbound = GCUT_UNBOUND_RANDOM;
    for (int k = 0; k < 2; k++) {
        o.backend = k ? GCUT_BACKEND_PLANNED : GCUT_BACKEND_COMPILED;
        gcut_step *s = gcut_compile(g, &o);
        float got = 0;
        assert_int_equal(gcut_bind(s, "norm", &got), GCUT_OK);
        assert_int_equal(gcut_run_forward(s), GCUT_OK);
        assert_true(got == 0);
        assert_int_equal(gcut_run_backward(s), GCUT_OK);
        assert_true(got > 0);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* An infinite result is refused, instead of calling the gradients of other results wrong. */
static void infinite_result(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g =
        graph_from(ctx, "func @f(param %v: f32[2], input %x: f32[0]) -> (out loss: f32[], out e: f32[]) {\n"
                        "  %e = logsumexp(%x)\n  %loss = sum(%v)\n  return %loss, %e\n}\n");
    gcut_options o = TEST_OPTIONS;
    assert_null(gcut_gradcheck(g, &o, NULL, 0, 0));
    assert_says(ctx, GCUT_EGRAD,
                "its result e is -inf, so finite differences of it cannot be compared with gradients");
    o.loss = "loss";
    assert_true(gradcheck(g, &o, NULL, 0, 0).ok);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_result),     cmocka_unit_test(tensor_cotangent),
        cmocka_unit_test(transient_input), cmocka_unit_test(several_results),
        cmocka_unit_test(named_badly),     cmocka_unit_test(late_input),
        cmocka_unit_test(written_by_hand), cmocka_unit_test(infinite_result),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
