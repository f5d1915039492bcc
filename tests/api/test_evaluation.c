/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_eval and gcut_share: what is left of a function, in loops and functions too, and steps that read the values of a
 * training step where these are.  tests/zoo/test_models.c compares evaluated models with PyTorch.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"
#include "gradcut/train.h"

/* ---- graphs ---- */

static char *text_of(gcut_graph *g)
{
    char *text = gcut_show(g, NULL, GCUT_STAGE_PRIMAL, false);
    assert_non_null(text);
    return text;
}

/* What is evaluated of the first text is the second, line for line. */
static void becomes(const char *text, const char *want)
{
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, text);
    char *before = text_of(g);
    gcut_graph *e = gcut_eval(g);
    if (!e) fail_msg("%s", gcut_last_error(ctx));
    char *got = text_of(e), *after = text_of(g);
    if (!strstr(got, want)) fail_msg("expected:\n%s\nin:\n%s", want, got);
    assert_string_equal(before, after);
    gcut_options o = {.eval = true};
    char *by_option = gcut_show(g, &o, GCUT_STAGE_PRIMAL, false),
         *joint = gcut_show(g, &o, GCUT_STAGE_JOINT, false);
    assert_string_equal(by_option, got);
    assert_non_null(joint); /* no derivative: a forward graph alone */
    assert_null(strstr(joint, "grad "));
    gcut_graph *again = gcut_eval(e); /* nothing is left to do */
    char *same = text_of(again);
    assert_string_equal(same, got);
    gcut_graph_free(e);
    gcut_ctx_free(ctx);
}

static void dropout_and_updates_go(void **state)
{
    (void)state;
    becomes("func @f[N](param %w: f32[4], state %m: f32[4], rng %key: i64[], rng %noise: i64[], input %x: "
            "f32[N, 4]) -> "
            "(out loss: f32[], next m: f32[4], next w: f32[4]) {\n"
            "  %k = key_split(%key, n=2)\n  %one = slice(%k, start=[0], limit=[1])\n  %use = reshape(%one, "
            "shape=[])\n"
            "  %d = dropout(%x, %use, p=0.5)\n  %n = normal(%noise, shape=[4])\n  %b = add(%w, %n)\n"
            "  %c = broadcast(%b, shape=[N, 4], axes=[1])\n  %y = mul(%d, %c)\n  %loss = sum(%y)\n"
            "  %next = add(%m, %w)\n  return %loss, %next, %m\n}\n",
            "func @f[N](param %w: f32[4], state %m: f32[4], rng %noise: i64[], input %x: f32[N, 4]) -> (out "
            "loss: f32[]) {\n"
            "  %n: f32[4] = normal(%noise, shape=[4])\n  %b: f32[4] = add(%w, %n)\n"
            "  %c: f32[N, 4] = broadcast(%b, shape=[N, 4], axes=[1])\n  %y: f32[N, 4] = mul(%x, %c)\n"
            "  %loss: f32[] = sum(%y)\n  return %loss\n}\n");
}

/* The body of a loop takes no key any more; calls are inlined. */
static void bodies_and_functions(void **state)
{
    (void)state;
    becomes("func @half(input %v: f32[4], rng %k: i64[]) -> (out r: f32[4]) {\n"
            "  %r = dropout(%v, %k, p=0.5)\n  return %r\n}\n"
            "func @f(input %x: f32[3, 4], rng %key: i64[]) -> (out loss: f32[]) {\n"
            "  %first = full(shape=[4], value=0)\n"
            "  %last = scan(%first, %x, carries=1) body(%h, %row) {\n    %d = dropout(%row, %key, p=0.25)\n"
            "    %s = add(%h, %d)\n    yield %s\n  }\n"
            "  %c = call(@half, %last, %key)\n  %loss = sum(%c)\n  return %loss\n}\n",
            "func @f(input %x: f32[3, 4]) -> (out loss: f32[]) {\n"
            "  %first: f32[4] = full(shape=[4], value=0)\n"
            "  %last: f32[4] = scan(%first, %x, carries=1) body(%h: f32[4], %row: f32[4]) {\n"
            "    %s: f32[4] = add(%h, %row)\n    yield %s\n  }\n"
            "  %loss: f32[] = sum(%last)\n  return %loss\n}\n");
}

static void nothing_left(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g =
        graph_from(ctx, "func @f(state %m: f32[4]) -> (next m: f32[4]) {\n  %n = exp(%m)\n  return %n\n}\n");
    assert_null(gcut_eval(g));
    assert_says(ctx, GCUT_ETYPE, "@f has nothing to evaluate");
    gcut_options o = {.eval = true};
    assert_null(gcut_compile(g, &o));
    assert_null(gcut_eval(NULL));
    gcut_ctx_free(ctx);
}

/* ---- sharing ---- */

/* y = 2 w x in training half of the time, w x when evaluated; w grows by 1. */
#define GROWS                                                                                                \
    "func @f[N](state %w: f32[], rng %key: i64[], input %x: f32[N]) -> (out y: f32[N], next w: f32[]) {\n"   \
    "  %b = broadcast(%w, shape=[N], axes=[])\n  %z = mul(%b, %x)\n  %y = dropout(%z, %key, p=0.5)\n"        \
    "  %one = full(shape=[], value=1)\n  %n = add(%w, %one)\n  return %y, %n\n}\n"

static void values_are_read_where_they_are(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, GROWS);
    gcut_options forward = {.forward_only = true, .backend = GCUT_BACKEND_JOINT};
    gcut_step *training = gcut_compile(g, &forward), *step = gcut_compile(gcut_eval(g), &forward);
    if (!training || !step) fail_msg("%s", gcut_last_error(ctx));
    const float zero = 0, x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    float y[8], own = 10;
    assert_int_equal(gcut_set(training, "w", &zero), GCUT_OK);
    assert_int_equal(gcut_share(training, step), GCUT_OK);
    assert_int_equal(gcut_bind_input(step, "x", x, 2), GCUT_OK);
    assert_int_equal(gcut_bind(step, "y", y, 2), GCUT_OK);
    for (int k = 1; k <= 3; k++) {
        /* Other sizes: the training step places its values anew. */
        assert_int_equal(gcut_bind_input(training, "x", x, 2 * k), GCUT_OK);
        must_run(ctx, training);
        must_run(ctx, step);
        assert_true(y[0] == (float)k && y[1] == (float)(2 * k));
    }
    /* Bound to something else, and shared again. */
    assert_int_equal(gcut_bind(step, "w", &own), GCUT_OK);
    must_run(ctx, step);
    assert_true(y[1] == 20);
    assert_int_equal(gcut_share(training, step), GCUT_OK);
    must_run(ctx, step);
    assert_true(y[1] == 6);
    gcut_step_free(step);
    must_run(ctx, training);
    gcut_ctx_free(ctx);
}

static void other_steps_are_refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_options forward = {.forward_only = true, .backend = GCUT_BACKEND_JOINT};
    gcut_step *a = gcut_compile(graph_from(ctx, GROWS), &forward),
              *b = gcut_compile(graph_from(ctx,
                                           "func @g(param %w: f32[2], param %v: f32[3], rng %k: i64[]) -> "
                                           "(out y: f32[2]) {\n  %y = exp(%w)\n  return %y\n}\n"),
                                &forward);
    assert_true(a && b);
    assert_int_equal(gcut_share(a, b), GCUT_ETYPE);
    assert_says(ctx, GCUT_ETYPE, "the step of @f lacks values of @g to share");
    assert_says(ctx, GCUT_ETYPE, "w, f32[2]\n    v, f32[3]");
    must_run(ctx, b); /* it stays as it was */
    assert_int_equal(gcut_share(NULL, b), GCUT_EUSAGE);
    assert_int_equal(gcut_share(a, NULL), GCUT_EUSAGE);
    assert_int_equal(gcut_share(a, a), GCUT_EUSAGE);
    gcut_ctx *other = new_ctx();
    gcut_step *elsewhere = gcut_compile(graph_from(other, GROWS), &forward);
    assert_non_null(elsewhere);
    assert_int_equal(gcut_share(a, elsewhere), GCUT_EUSAGE);
    assert_says(other, GCUT_EUSAGE, "different contexts");
    gcut_ctx_free(other);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropout_and_updates_go),
        cmocka_unit_test(bodies_and_functions),
        cmocka_unit_test(nothing_left),
        cmocka_unit_test(values_are_read_where_they_are),
        cmocka_unit_test(other_steps_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
