/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Eager graphs: values beside the same graph interpreted as a whole and beside closed forms, gradients beside those of the
 * joint graph, contents, forgetting, and what is refused.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"
#include "gradcut/trace.h"

static float number(gcut_val v)
{
    const float *x = gcut_data(v);
    assert_non_null(x);
    return x[0];
}

static gcut_val tensor(gcut_graph *g, const char *name, const float *at, int64_t n)
{
    return gcut_write(gcut_input(g, name, GCUT_F32, GCUT_SHAPE(n)), at);
}

static gcut_val squared(gcut_val x)
{
    return gcut_mul(x, x);
}

/* ---- values ---- */

static void computes_at_once(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_eager(ctx);
    const float a[] = {1, -2, 3}, b[] = {4, 5, -6};
    gcut_val x = tensor(g, "x", a, 3), y = tensor(g, "y", b, 3);
    gcut_val s = gcut_sum(gcut_mul(gcut_relu(x), y)); /* 4 - 18 */
    assert_true(number(s) == -14);
    const float *p = gcut_data(gcut_add(x, y));
    assert_true(p[0] == 5 && p[1] == 3 && p[2] == -3);
    assert_true(gcut_cond(gcut_lt(s, gcut_const(g, GCUT_F32, 0))));
    assert_false(gcut_cond(gcut_gt(s, gcut_const(g, GCUT_F32, 0))));
    gcut_ctx_free(ctx);
}

/* Every value of a small model is that of the graph, interpreted as a whole. */
static void model(gcut_val x, gcut_val w, gcut_val out[4])
{
    out[0] = gcut_matmul(x, w);
    out[1] = gcut_softmax(out[0], 1);
    out[2] = gcut_layer_norm(gcut_gelu(out[0], "tanh"), gcut_slice(gcut_reshape(w, -1), 0, 0, 5),
                             gcut_slice(gcut_reshape(w, -1), 0, 5, 10));
    out[3] = gcut_sum(gcut_mul(out[1], out[2]));
}

static void as_the_whole_graph(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    float x[4 * 3], w[3 * 5];
    for (int k = 0; k < 12; k++) x[k] = (float)sin(k);
    for (int k = 0; k < 15; k++) w[k] = (float)cos(3 * k);
    gcut_graph *e = gcut_eager(ctx), *g = gcut_graph_new(ctx, "f");
    gcut_val own[4], of[4];
    model(gcut_write(gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(4, 3)), x),
          gcut_write(gcut_input(e, "w", GCUT_F32, GCUT_SHAPE(3, 5)), w), own);
    model(gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(4, 3)), gcut_input(g, "w", GCUT_F32, GCUT_SHAPE(3, 5)), of);
    const char *const name[] = {"a", "b", "c", "d"};
    for (int k = 0; k < 4; k++) gcut_output(g, name[k], of[k]);
    gcut_options o = {.backend = GCUT_BACKEND_EAGER, .forward_only = true};
    gcut_step *s = gcut_compile(g, &o);
    assert_int_equal(gcut_bind_input(s, "x", x, 4, 3), GCUT_OK);
    assert_int_equal(gcut_bind_input(s, "w", w, 3, 5), GCUT_OK);
    must_run(ctx, s);
    for (int k = 0; k < 4; k++) {
        gcut_value_info v;
        assert_true(value_of(s, name[k], &v));
        assert_memory_equal(v.at, gcut_data(own[k]), (size_t)v.bytes);
    }
    gcut_ctx_free(ctx);
}

static int compilations;

static void count(void *user, const char *sentence)
{
    (void)user, (void)sentence;
    compilations++;
}

/* Large enough for a step of its own: beside sums in f64. */
static void large_products(void **state)
{
    (void)state;
    enum { N = 160 };
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_eager(ctx);
    float *a = malloc(N * N * sizeof *a), *b = malloc(N * N * sizeof *b);
    for (int k = 0; k < N * N; k++) a[k] = (float)sin(k), b[k] = (float)cos(7 * k);
    gcut_val x = gcut_write(gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(N, N)), a),
             y = gcut_write(gcut_input(g, "y", GCUT_F32, GCUT_SHAPE(N, N)), b);
    gcut_ctx_set_hooks(ctx, &(gcut_hooks){.log = count});
    compilations = 0;
    int first = 0;
    for (int again = 0; again < 2; again++) { /* the second has the step of the first */
        const float *c = gcut_data(gcut_matmul(x, y));
        if (!c) fail_msg("%s", gcut_last_error(ctx));
        for (int i = 0; i < N; i += 37)
            for (int j = 0; j < N; j++) {
                double sum = 0;
                for (int k = 0; k < N; k++) sum += (double)a[i * N + k] * b[k * N + j];
                assert_true(fabs(c[i * N + j] - sum) < 1e-4);
            }
        if (!again) first = compilations;
    }
    assert_true(first > 0);
    assert_int_equal(compilations, first);
    free(a);
    free(b);
    gcut_ctx_free(ctx);
}

static void doubles(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    out[0] = gcut_add(in[0], in[0]);
}

static void loops_and_functions(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_eager(ctx);
    const float a[] = {1, 2};
    gcut_val x = tensor(g, "x", a, 2), y, z;
    gcut_scan(g, &(gcut_loop){.carry = &x, .ncarry = 1, .length = 5, .body = doubles}, &y);
    assert_true(number(y) == 32);
    gcut_graph *f = gcut_function(g, "twice");
    gcut_val p = gcut_input(f, "p", GCUT_F32, GCUT_SHAPE(2));
    gcut_output(f, "q", gcut_add(p, p));
    gcut_call(g, f, &y, 1, &z, 1);
    assert_true(number(z) == 64);
    gcut_ctx_free(ctx);
}

/* ---- gradients ---- */

static void gradients(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_eager(ctx);
    const float a[] = {1, 2, 3}, b[] = {-1, 0.5f, 2};
    gcut_val w = gcut_write(gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(3)), a), x = tensor(g, "x", b, 3);
    assert_null(gcut_gradient_of(w).graph);
    assert_says(ctx, GCUT_EUSAGE, "gcut_backward makes it");
    assert_int_equal(gcut_forget(g), GCUT_OK); /* the failure, too */
    for (int times = 1; times < 3; times++) {  /* the sum of (w x)^2 by w: 2 w x^2, added up */
        gcut_backward(gcut_sum(squared(gcut_mul(w, x))));
        const float *d = gcut_data(gcut_gradient_of(w));
        for (int k = 0; k < 3; k++) assert_true(d[k] == (float)times * 2 * a[k] * b[k] * b[k]);
    }
    gcut_ctx_free(ctx);
}

/* Descent with one graph: what a step made is forgotten, parameters are not. */
static void iterations(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_eager(ctx);
    float at[] = {5, -3};
    gcut_val w = gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(2)), last = {0};
    for (int step = 0; step < 40; step++) {
        gcut_write(w, at);
        last = gcut_sum(squared(w));
        gcut_backward(last);
        const float *d = gcut_data(gcut_gradient_of(w));
        for (int k = 0; k < 2; k++) at[k] -= 0.2f * d[k];
        if (step < 39) assert_int_equal(gcut_forget(g), GCUT_OK);
    }
    assert_true(number(last) < 1e-10f);
    assert_true(gcut_graph_ok(g));
    gcut_ctx_free(ctx);
}

/* ---- refusals ---- */

static void refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_eager(ctx), *plain = gcut_graph_new(ctx, "f");
    const float a[] = {1, 2};
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(2)),
             p = gcut_input(plain, "p", GCUT_F32, GCUT_SHAPE(2));
    assert_null(gcut_exp(x).graph);
    assert_says(ctx, GCUT_EUSAGE, "%x has no contents");
    assert_non_null(strstr(gcut_last_error(ctx), "test_eager.c"));
    gcut_forget(g);
    gcut_write(x, a);
    gcut_val y = gcut_exp(x);
    assert_null(gcut_write(x, a).graph);
    assert_says(ctx, GCUT_EUSAGE, "an op has read %x");
    gcut_forget(g);
    assert_null(gcut_data(y)); /* it is gone */
    assert_says(ctx, GCUT_EUSAGE, "the value is null");
    gcut_forget(g);
    assert_null(gcut_data(p));
    assert_says(ctx, GCUT_EUSAGE, "@f has no values while it is built");
    plain = gcut_graph_new(ctx, "h");
    p = gcut_input(plain, "p", GCUT_BOOL, GCUT_SCALAR);
    assert_false(gcut_cond(p));
    assert_says(ctx, GCUT_EUSAGE, "gcut_if builds both");
    assert_false(gcut_cond(x));
    assert_says(ctx, GCUT_ETYPE, "%x is f32[2], not a bool scalar");
    gcut_forget(g);
    gcut_backward(x);
    assert_says(ctx, GCUT_EUSAGE, "no float parameter");
    gcut_forget(g);
    const int64_t ten[] = {10};
    gcut_val i = gcut_write(gcut_input(g, "i", GCUT_I64, GCUT_SHAPE(1)), ten);
    assert_null(gcut_take(x, i, 0).graph);
    assert_says(ctx, GCUT_EINDEX, "10");
    gcut_graph_free(g);
    assert_null(gcut_eager(NULL));
    assert_int_equal(gcut_forget(NULL), GCUT_EUSAGE);
    gcut_ctx_free(ctx);
}

/* A value that gcut_forget has removed is no other value, whichever has its number now. */
static void removed_values(void **state)
{
    (void)state;
    const float a[] = {1, 2}, b[] = {30, 40};
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_eager(ctx);
    gcut_val x = gcut_write(gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(2)), a), old = gcut_exp(x);
    assert_int_equal(gcut_forget(g), GCUT_OK);
    gcut_val y = gcut_write(gcut_input(g, "y", GCUT_F32, GCUT_SHAPE(2)), b), now = gcut_neg(y);
    assert_true(y.id == old.id || now.id == old.id);
    assert_null(gcut_data(old));
    assert_says(ctx, GCUT_EUSAGE, "gcut_forget has removed");
    assert_null(gcut_add(old, now).graph);
    assert_says(ctx, GCUT_EUSAGE, "is no value of @eager");
    assert_int_equal(gcut_dtype_of(old), GCUT_NO_DTYPE);
    assert_int_equal(gcut_shape_of(old).rank, 0);
    gcut_write(old, a);
    assert_says(ctx, GCUT_EUSAGE, "gcut_forget has removed");
    assert_false(gcut_cond(old));
    assert_int_equal(gcut_forget(g), GCUT_OK); /* y was declared before the first op, too */
    const float *kept = gcut_data(y), *first = gcut_data(x);
    assert_true(kept[0] == 30 && kept[1] == 40 && first[0] == 1 && first[1] == 2);
    assert_null(gcut_data(now));
    gcut_ctx_free(ctx);
}

/* A failed call gives null, and changes nothing else. */
static void goes_on_after_errors(void **state)
{
    (void)state;
    const float a[] = {1, 2, 3};
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_eager(ctx);
    gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(3));
    assert_null(gcut_exp(x).graph);
    assert_says(ctx, GCUT_EUSAGE, "gcut_write gives it some");
    assert_non_null(gcut_write(x, a).graph); /* no op has read it */
    assert_null(gcut_gradient_of(x).graph);
    assert_null(gcut_add(x, gcut_full(g, GCUT_F32, GCUT_SHAPE(7), 1)).graph);
    assert_null(gcut_initial(x, "splat(3.0)").graph);
    assert_says(ctx, GCUT_EUSAGE, "gcut_write");
    assert_true(gcut_graph_ok(g));
    gcut_val square = gcut_sum(gcut_mul(x, x));
    assert_true(*(const float *)gcut_data(square) == 14);
    assert_true(gcut_cond(gcut_gt(square, gcut_const(g, GCUT_F32, 3))));
    gcut_backward(square);
    const float *d = gcut_data(gcut_gradient_of(x));
    for (int k = 0; k < 3; k++) assert_true(d[k] == 2 * a[k]);
    gcut_backward(gcut_mul(x, x)); /* no scalar: the sums stay */
    assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
    d = gcut_data(gcut_gradient_of(x));
    for (int k = 0; k < 3; k++) assert_true(d[k] == 2 * a[k]);
    gcut_ctx_free(ctx);
}

/* What is under construction is not freed. */
static gcut_graph *whole;
static gcut_val captured;

static void forgets(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)in;
    assert_int_equal(gcut_forget(user ? whole : g), GCUT_EUSAGE);
    gcut_graph_free(user ? whole : g);
    out[0] = gcut_exp(captured);
}

static void bodies_are_not_freed(void **state)
{
    (void)state;
    const float a[] = {1, 2, 3};
    const unsigned char yes = 1;
    gcut_ctx *ctx = new_ctx();
    for (int outer = 0; outer < 2; outer++) {
        whole = gcut_eager(ctx);
        gcut_val p = gcut_write(gcut_input(whole, "p", GCUT_BOOL, GCUT_SCALAR), &yes), y;
        captured = gcut_write(gcut_input(whole, "x", GCUT_F32, GCUT_SHAPE(3)), a);
        gcut_if(p, forgets, forgets, outer ? ctx : NULL, &y, 1);
        const float *now = gcut_data(y);
        if (!now) fail_msg("%s", gcut_last_error(ctx));
        for (int k = 0; k < 3; k++) assert_true(fabsf(now[k] - expf(a[k])) < 1e-5f);
        assert_int_equal(gcut_forget(whole), GCUT_OK);
        gcut_graph_free(whole);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_at_once),
        cmocka_unit_test(as_the_whole_graph),
        cmocka_unit_test(large_products),
        cmocka_unit_test(loops_and_functions),
        cmocka_unit_test(gradients),
        cmocka_unit_test(iterations),
        cmocka_unit_test(refused),
        cmocka_unit_test(removed_values),
        cmocka_unit_test(goes_on_after_errors),
        cmocka_unit_test(bodies_are_not_freed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
