/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every rule of what a recorded function may do.  This file has no unwind tables where the compiler allows it, so that
 * gcut_trace cannot read the stack of these functions.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"
#include "traced.h"

static gcut_step *some_step;
static jmp_buf away;

static void reads(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    out[0] = gcut_exp(in[0]);
    assert_null(gcut_data(out[0]));
}
static void frees(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_graph_free(g);
    out[0] = gcut_exp(in[0]);
}
static void steps(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    assert_int_equal(gcut_run(some_step), GCUT_EUSAGE);
    out[0] = gcut_exp(in[0]);
}
static void returns_early(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g, (void)in, (void)out;
}
static void of_another(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)g, (void)in;
    out[0] = *(gcut_val *)user;
}
static void leaves(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    out[0] = gcut_exp(in[0]);
    longjmp(away, 1);
}
static void *builds(void *arg)
{
    gcut_exp(*(const gcut_val *)arg);
    return NULL;
}
static void threads(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, builds, (void *)(uintptr_t)in), 0);
    pthread_join(t, NULL);
    out[0] = gcut_exp(in[0]);
}
static int calls_so_far;
static void changes(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val y = calls_so_far++ ? gcut_tanh(in[0]) : gcut_exp(in[0]);
    out[0] = gcut_cond(gcut_gt(gcut_sum(y), gcut_const(g, GCUT_F32, 0))) ? y : gcut_neg(y);
}
static void endless(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    out[0] = in[0];
    for (int k = 0; k < 70; k++)
        if (gcut_cond(gcut_gt(gcut_sum(out[0]), gcut_const(g, GCUT_F32, 0)))) out[0] = gcut_scale(out[0], 2);
}

/* Apart from the function that calls setjmp, whose local variables longjmp may change. */
static __attribute__((noinline)) void trace_leaves(gcut_ctx *ctx, const gcut_val *x)
{
    gcut_trace(ctx, leaves, NULL, x, 1, 1, NULL);
    fail();
}

static void leave_by_longjmp(gcut_ctx *ctx, const gcut_val *x)
{
    if (!setjmp(away)) trace_leaves(ctx, x);
}

static void rules(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    const float a[] = {1, 2};
    gcut_graph *e = gcut_eager(ctx);
    gcut_val x = written(e, "x", a, 2), y = written(e, "y", a, 2);
    gcut_graph *fine = gcut_graph_new(ctx, "fine");
    gcut_output(fine, "y", gcut_exp(gcut_input(fine, "x", GCUT_F32, GCUT_SHAPE(2))));
    gcut_options o = {.forward_only = true, .unbound = GCUT_UNBOUND_RANDOM, .backend = GCUT_BACKEND_EAGER};
    some_step = gcut_compile(fine, &o);
    const struct {
        gcut_body *fn;
        bool branches, passes;
        const char *says;
    } wrong[] = {{reads, false, false, "gcut_cond reads a bool scalar"},
                 {frees, false, false, "frees a graph"},
                 {steps, false, false, "runs a step"},
                 {returns_early, false, false, "set no out[0]"},
                 {of_another, false, false, "a value of another graph, @eager"},
                 {threads, false, false, "recorded on another thread"},
                 {changes, true, false, "tanh"},
                 {endless, false, false, "70 times in one run; at most 64"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        gcut_clear_errors(ctx);
        gcut_graph *t =
            gcut_trace(ctx, wrong[k].fn, &y, &x, 1, 1, &(gcut_trace_options){.branches = wrong[k].branches});
        if ((t != NULL) != wrong[k].passes) fail_msg("%zu: %s", k, gcut_last_error(ctx));
        if (!strstr(gcut_last_error(ctx), wrong[k].says)) fail_msg("%zu: %s", k, gcut_last_error(ctx));
    }
    calls_so_far = 0; /* both ops are in the message */
    assert_null(gcut_trace(ctx, changes, NULL, &x, 1, 1, &(gcut_trace_options){.branches = true}));
    assert_non_null(strstr(gcut_last_error(ctx), "exp(%x)"));
    assert_non_null(strstr(gcut_last_error(ctx), "tanh(%x)"));
    assert_true(gcut_graph_ok(e));
    leave_by_longjmp(ctx, &x);
    must_run(ctx, some_step); /* the context is usable */
    assert_non_null(gcut_trace(ctx, risky, NULL, &x, 1, 1, NULL));
    gcut_ctx_free(ctx);
}

static void wrong_arguments(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    const float a[] = {1, 2};
    gcut_graph *e = gcut_eager(ctx), *g = gcut_graph_new(ctx, "g");
    gcut_val x = written(e, "x", a, 2), p = gcut_input(g, "p", GCUT_F32, GCUT_SHAPE(2)), y = gcut_exp(x);
    assert_null(gcut_trace(NULL, risky, NULL, &x, 1, 1, NULL));
    assert_null(gcut_trace(ctx, NULL, NULL, &x, 1, 1, NULL));
    assert_null(gcut_trace(ctx, risky, NULL, NULL, 1, 1, NULL));
    assert_says(ctx, GCUT_EUSAGE, "`in` is NULL");
    assert_null(gcut_trace(ctx, risky, NULL, &p, 1, 1, NULL));
    assert_says(ctx, GCUT_EUSAGE, "not of an eager graph");
    assert_null(gcut_trace(ctx, risky, NULL, &y, 1, 1, NULL));
    assert_says(ctx, GCUT_EUSAGE, "is no parameter");
    assert_null(gcut_trace(ctx, risky, NULL, &x, 1, -1, NULL));
    assert_null(gcut_trace(ctx, risky, NULL, &x, 1, 1, &(gcut_trace_options){.name = "a b"}));
    assert_says(ctx, GCUT_EUSAGE, "'a b'");
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules),
        cmocka_unit_test(wrong_arguments),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
