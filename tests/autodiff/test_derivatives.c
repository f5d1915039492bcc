/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Derivatives as values of the public builder: closed forms in every backend,
 * what may be differentiated by what, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "gradcut/gradcut.h"
#include "public.h"

enum { N = 5 };

typedef struct fixture {
    gcut_ctx *ctx;
    gcut_graph *g;
    gcut_dim n; /* a symbol */
    gcut_val x; /* param %x: f64[N] */
} fixture;

static fixture begin(void)
{
    fixture f = {.ctx = gcut_ctx_new(NULL)};
    assert_non_null(f.ctx);
    f.g = gcut_graph_new(f.ctx, "f");
    f.n = gcut_dim_sym(f.g, "N", 0, GCUT_DIM_MAX);
    f.x = gcut_param(f.g, "x", GCUT_F64, GCUT_SHAPE(f.n));
    return f;
}

static gcut_val total(gcut_val x)
{
    return gcut_sum(x, 0);
}

/* An input %name of the type of x. */
static gcut_val another(const fixture *f, const char *name)
{
    return gcut_input(f->g, name, GCUT_F64, GCUT_SHAPE(f->n));
}

static void bind_filled(gcut_step *step, const char *name, double *at, double phase)
{
    for (int i = 0; i < N; i++) at[i] = sin(1.3 * i + phase) + 2;
    assert_int_equal(gcut_bind(step, name, at, N), GCUT_OK);
}

/* Runs the graph in every backend at x, v, w and compares result `name` with want(x, v, w). */
static void check(const fixture *f, const char *name, double (*want)(double x, double v, double w),
                  bool forward)
{
    for (int backend = 0; backend < 4; backend++) {
        gcut_options opt = TEST_OPTIONS;
        opt.backend = (gcut_backend)backend;
        opt.forward_only = forward;
        opt.f64 = true;
        opt.loss = forward ? NULL : "loss";
        gcut_step *step = gcut_compile(f->g, &opt);
        if (!step) fail_msg("%s", gcut_last_error(f->ctx));
        double x[N], v[N], w[N], y[N] = {0};
        gcut_value_info info;
        bind_filled(step, "x", x, 0);
        if (value_of(step, "v", &info)) bind_filled(step, "v", v, 1);
        if (value_of(step, "w", &info)) bind_filled(step, "w", w, 2);
        assert_int_equal(gcut_bind(step, name, y, N), GCUT_OK);
        if (gcut_run(step) != GCUT_OK) fail_msg("%s", gcut_last_error(f->ctx));
        for (int i = 0; i < N; i++) {
            double exact = want(sin(1.3 * i) + 2, sin(1.3 * i + 1) + 2, sin(1.3 * i + 2) + 2);
            if (!(fabs(y[i] - exact) <= 1e-12 * fabs(exact)))
                fail_msg("backend %d, %s[%d]: %.17g, expected %.17g", backend, name, i, y[i], exact);
        }
        gcut_step_free(step);
    }
}

static double cube_once(double x, double v, double w)
{
    return 3 * x * x + 0 * (v + w);
}
static double cube_twice(double x, double v, double w)
{
    return 6 * x + 0 * (v + w);
}
static double six(double x, double v, double w)
{
    return 6 + 0 * (x + v + w);
}

static void a_gradient_of_a_gradient_is_a_value(void **state)
{
    (void)state;
    fixture f = begin();
    gcut_val cube = total(gcut_mul(gcut_mul(f.x, f.x), f.x)), d[3];
    gcut_grad(cube, &f.x, 1, &d[0]);
    gcut_grad(total(d[0]), &f.x, 1, &d[1]);
    gcut_grad(total(d[1]), &f.x, 1, &d[2]);
    gcut_output(f.g, "first", d[0]);
    gcut_output(f.g, "second", d[1]);
    gcut_output(f.g, "third", d[2]);
    check(&f, "first", cube_once, true);
    check(&f, "second", cube_twice, true);
    check(&f, "third", six, true);
    gcut_ctx_free(f.ctx);
}

static double penalty(double x, double v, double w)
{
    (void)v, (void)w;
    return 2 * x + 8 * x; /* of x^2 + |2x|^2 */
}

/* A loss made of a gradient goes through the whole pipeline: joint, plan, split, kernels. */
static void a_gradient_penalty_can_be_trained(void **state)
{
    (void)state;
    fixture f = begin();
    gcut_val square = total(gcut_mul(f.x, f.x)), d;
    gcut_grad(square, &f.x, 1, &d);
    gcut_output(f.g, "loss", gcut_add(square, total(gcut_mul(d, d))));
    check(&f, "grad.x", penalty, false);
    gcut_options opt = TEST_OPTIONS;
    gcut_check_report r = gradcheck(f.g, &opt, NULL, 0, 0);
    assert_non_null(r.text);
    assert_true(r.ok);
    gcut_ctx_free(f.ctx);
}

/* y = (x v, exp x): J = (diag v, diag exp x) by x and (diag x, 0) by v. */
static double transposed_x(double x, double v, double w)
{
    return w * v + 2 * w * exp(x);
}
static double transposed_v(double x, double v, double w)
{
    return w * x + 0 * v;
}
static double along_product(double x, double v, double w)
{
    return v * w + x * w * w;
}
static double along_exp(double x, double v, double w)
{
    return exp(x) * w + 0 * v;
}

static void products_with_the_jacobian_and_its_transpose(void **state)
{
    (void)state;
    fixture f = begin();
    gcut_val v = another(&f, "v"), w = another(&f, "w");
    gcut_val x[] = {f.x, v}, y[] = {gcut_mul(f.x, v), gcut_exp(f.x)};
    gcut_val dy[] = {w, gcut_scale(w, 2)}, tx[] = {w, gcut_mul(w, w)}, dx[2], ty[2];
    gcut_vjp(y, dy, 2, x, 2, dx);
    gcut_jvp(y, 2, x, tx, 2, ty);
    gcut_output(f.g, "dx", dx[0]);
    gcut_output(f.g, "dv", dx[1]);
    gcut_output(f.g, "product", ty[0]);
    gcut_output(f.g, "exp", ty[1]);
    check(&f, "dx", transposed_x, true);
    check(&f, "dv", transposed_v, true);
    check(&f, "product", along_product, true);
    check(&f, "exp", along_exp, true);
    gcut_ctx_free(f.ctx);
}

/* loss = sum x^2 v: H = (2 v, 2 x; 2 x, 0) in blocks; H (w, 2 w) = (2 v w + 4 x w, 2 x w) */
static double hessian_x(double x, double v, double w)
{
    return 2 * v * w + 4 * x * w;
}
static double hessian_v(double x, double v, double w)
{
    return 2 * x * w + 0 * v;
}

static void products_with_the_hessian_mix_all_values(void **state)
{
    (void)state;
    fixture f = begin();
    gcut_val v = another(&f, "v"), w = another(&f, "w");
    gcut_val x[] = {f.x, v}, along[] = {w, gcut_scale(w, 2)}, h[2];
    gcut_hvp(total(gcut_mul(gcut_mul(f.x, f.x), v)), x, 2, along, h);
    gcut_output(f.g, "hx", h[0]);
    gcut_output(f.g, "hv", h[1]);
    check(&f, "hx", hessian_x, true);
    check(&f, "hv", hessian_v, true);
    gcut_ctx_free(f.ctx);
}

static double nothing(double x, double v, double w)
{
    return 0 * (x + v + w);
}
static double through(double x, double v, double w)
{
    return cos(x * x) * 2 * x + 0 * (v + w);
}
static double outer(double x, double v, double w)
{
    return cos(x * x) + 0 * (v + w);
}

/* By a value in the middle, by one that is made of another one asked for, and by one that has no say. */
static void any_value_may_be_differentiated_by(void **state)
{
    (void)state;
    fixture f = begin();
    gcut_val v = another(&f, "v"), square = gcut_mul(f.x, f.x), loss = total(gcut_sin(square));
    gcut_val x[] = {f.x, square, v, f.x}, d[4];
    gcut_grad(loss, x, 4, d);
    gcut_output(f.g, "dx", d[0]);
    gcut_output(f.g, "dsquare", d[1]);
    gcut_output(f.g, "dv", d[2]);
    gcut_output(f.g, "again", d[3]);
    check(&f, "dx", through, true);
    check(&f, "again", through, true);
    check(&f, "dsquare", outer, true);
    check(&f, "dv", nothing, true);
    gcut_ctx_free(f.ctx);
}

/* Composites whose derivative is that of their meaning are decomposed where they stand. */
static double normed(double x, double v, double w)
{
    return 2 * x / N + 0 * (v + w);
}

static void composites_are_differentiated_in_place(void **state)
{
    (void)state;
    fixture f = begin();
    gcut_val zero = gcut_mul(f.x, gcut_const(f.g, GCUT_F64, 0)), d;
    gcut_grad(gcut_mse(f.x, gcut_stop_gradient(zero)), &f.x, 1, &d);
    gcut_output(f.g, "d", d);
    check(&f, "d", normed, true);
    gcut_ctx_free(f.ctx);
}

static void assert_refused(fixture *f, int line, const char *what)
{
    assert_false(gcut_graph_ok(f->g));
    const char *e = gcut_last_error(f->ctx);
    char place[64];
    snprintf(place, sizeof place, "test_derivatives.c:%d", line);
    if (!strstr(e, what) || !strstr(e, place)) fail_msg("expected '%s' at %s in: %s", what, place, e);
    assert_int_equal(gcut_last_status(f->ctx), GCUT_EUSAGE);
    gcut_ctx_free(f->ctx);
}

static void wrong_requests_name_the_callers_line(void **state)
{
    (void)state;
    gcut_val d;
    fixture f = begin();
    const int vector = __LINE__ + 1;
    gcut_grad(f.x, &f.x, 1, &d);
    assert_int_equal(d.id, 0);
    assert_refused(&f, vector, "a loss is a scalar");

    f = begin();
    gcut_val whole = gcut_cast(f.x, GCUT_I32);
    const int integer = __LINE__ + 1;
    gcut_grad(total(f.x), &whole, 1, &d);
    assert_refused(&f, integer, "only float values");

    f = begin();
    gcut_val half = gcut_cast(f.x, GCUT_F32), y = gcut_exp(f.x);
    const int type = __LINE__ + 1;
    gcut_jvp(&y, 1, &f.x, &half, 1, &d);
    assert_refused(&f, type, "f32[N] is not of the type of its value, %x f64[N]");
}

/* ---- within loops ---- */

/* c - g / 4 with g the gradient of c^4 + w c by c: three steps of gradient descent. */
static void descend(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    gcut_val w = *(gcut_val *)user, c = in[0], c2 = gcut_mul(c, c), g;
    (void)body;
    gcut_grad(total(gcut_add(gcut_mul(c2, c2), gcut_mul(c, w))), &c, 1, &g);
    out[0] = gcut_sub(c, gcut_scale(g, 1.0 / 256));
}

static double descended(double x, double v, double w)
{
    (void)v;
    for (int n = 0; n < 3; n++) x -= (4 * x * x * x + w) / 256;
    return x;
}

/* The derivative of the same by its start: a product of 1 - 12 c^2 / 256. */
static double unrolled(double x, double v, double w)
{
    double d = 1;
    (void)v;
    for (int n = 0; n < 3; n++) {
        d *= 1 - 12 * x * x / 256;
        x -= (4 * x * x * x + w) / 256;
    }
    return d;
}

static void gradients_within_a_loop_can_be_differentiated(void **state)
{
    (void)state;
    fixture f = begin();
    gcut_val w = another(&f, "w"), last, d;
    gcut_scan(f.g, &(gcut_loop){.carry = &f.x, .ncarry = 1, .body = descend, .length = 3, .user = &w}, &last);
    gcut_grad(total(last), &f.x, 1, &d);
    gcut_output(f.g, "last", last);
    gcut_output(f.g, "d", d);
    check(&f, "last", descended, true);
    check(&f, "d", unrolled, true);
    gcut_ctx_free(f.ctx);
}

static int outer_line;
static void by_outer(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)body;
    outer_line = __LINE__ + 1;
    gcut_grad(total(in[0]), user, 1, out);
}

static void a_value_from_around_a_body_is_refused(void **state)
{
    (void)state;
    fixture f = begin();
    gcut_val last;
    gcut_scan(f.g, &(gcut_loop){.carry = &f.x, .ncarry = 1, .body = by_outer, .length = 3, .user = &f.x},
              &last);
    assert_int_equal(last.id, 0);
    assert_refused(&f, outer_line, "values of one graph or of one region's body");

    fixture other = begin();
    f = begin();
    outer_line = __LINE__ + 1;
    gcut_grad(total(f.x), &other.x, 1, &last);
    assert_refused(&f, outer_line, "values of one graph or of one region's body");
    gcut_ctx_free(other.ctx);
}

static void null_values_stay_null_and_quiet(void **state)
{
    (void)state;
    fixture f = begin();
    gcut_val d = f.x, null = {0}, loss = total(f.x);
    gcut_grad(null, &f.x, 1, &d);
    assert_int_equal(d.id, 0);
    gcut_grad(loss, &f.x, 0, &d); /* by nothing: nothing to write */
    assert_int_equal(d.id, 0);
    assert_true(gcut_graph_ok(f.g));
    assert_int_equal(gcut_error_count(f.ctx), 0);
    gcut_ctx_free(f.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gradient_of_a_gradient_is_a_value),
        cmocka_unit_test(a_gradient_penalty_can_be_trained),
        cmocka_unit_test(products_with_the_jacobian_and_its_transpose),
        cmocka_unit_test(products_with_the_hessian_mix_all_values),
        cmocka_unit_test(any_value_may_be_differentiated_by),
        cmocka_unit_test(composites_are_differentiated_in_place),
        cmocka_unit_test(wrong_requests_name_the_callers_line),
        cmocka_unit_test(gradients_within_a_loop_can_be_differentiated),
        cmocka_unit_test(a_value_from_around_a_body_is_refused),
        cmocka_unit_test(null_values_stay_null_and_quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
