/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Control flow by the public builder, run by every backend that can.
 */
#include "harness.h"

#include <math.h>

#include "gradcut/gradcut.h"
#include "public.h"

typedef struct cell {
    gcut_val w, u, b; /* of the function around the loop */
} cell;

/* s' = tanh(x w + s u + b); the weights are captured. */
static void rnn_step(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    const cell *c = user;
    (void)body;
    gcut_val a = gcut_add(gcut_matmul(in[1], c->w), gcut_matmul(in[0], c->u));
    out[0] = gcut_tanh(gcut_add(a, c->b));
    out[1] = gcut_scale(out[0], 2);
}

static void run_rnn(int backend)
{
    enum { T = 3, B = 2, I = 2, H = 2 };
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "rnn");
    gcut_dim t = gcut_dim_sym(g, "T", 0, GCUT_DIM_MAX);
    cell c = {gcut_param(g, "w", GCUT_F64, GCUT_SHAPE(I, H)), gcut_param(g, "u", GCUT_F64, GCUT_SHAPE(H, H)),
              gcut_param(g, "b", GCUT_F64, GCUT_SHAPE(H))};
    gcut_val xs = gcut_input(g, "xs", GCUT_F64, GCUT_SHAPE(t, B, I)),
             s0 = gcut_input(g, "s0", GCUT_F64, GCUT_SHAPE(B, H)), out[2];
    gcut_scan(
        g,
        &(gcut_loop){.carry = &s0, .ncarry = 1, .xs = &xs, .nxs = 1, .nys = 1, .body = rnn_step, .user = &c},
        out);
    gcut_output(g, "last", out[0]);
    gcut_output(g, "ys", out[1]);
    gcut_options opt = TEST_OPTIONS;
    opt.backend = (gcut_backend)backend;
    opt.forward_only = true;
    gcut_step *step = gcut_compile(g, &opt);
    if (!step) fail_msg("%s", gcut_last_error(ctx));
    double w[] = {1, -1, 0.5, 2}, u[] = {0.25, 0, 1, -1}, b[] = {0.1, -0.2}, x[T * B * I], s[B * H] = {0};
    for (int k = 0; k < T * B * I; k++) x[k] = cos(k);
    gcut_bind(step, "w", w, I, H);
    gcut_bind(step, "u", u, H, H);
    gcut_bind(step, "b", b, H);
    gcut_bind(step, "xs", x, T, B, I);
    gcut_bind(step, "s0", s, B, H);
    if (gcut_run_forward(step) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    gcut_value_info ys;
    assert_true(value_of(step, "ys", &ys));
    double h[B][H] = {{0}};
    for (int k = 0; k < T; k++)
        for (int i = 0; i < B; i++) {
            double next[H];
            for (int j = 0; j < H; j++) {
                double a = b[j];
                for (int m = 0; m < I; m++)
                    a += x[(k * B + i) * I + m] * w[m * H + j] + h[i][m] * u[m * H + j];
                next[j] = tanh(a);
                assert_true(fabs(((double *)ys.at)[(k * B + i) * H + j] - 2 * next[j]) < 1e-14);
            }
            memcpy(h[i], next, sizeof next);
        }
    gcut_ctx_free(ctx);
}

static void rnn_by_the_builder(void **state)
{
    (void)state;
    run_rnn(GCUT_BACKEND_EAGER);
    run_rnn(GCUT_BACKEND_COMPILED);
}

/* ---- while, if, call ---- */

static void not_small(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)user;
    out[0] = gcut_ge(in[0], gcut_const(body, GCUT_F64, 0.1));
}

static void halve(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)body;
    out[0] = gcut_scale(in[0], 0.5);
}

static void take_x(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)body, (void)in;
    out[0] = *(gcut_val *)user;
}

static void halve_till_small(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)in;
    gcut_val x = gcut_scale(*(gcut_val *)user, 1);
    gcut_while(body, &(gcut_loop){.carry = &x, .ncarry = 1, .cond = not_small, .body = halve}, out);
}

static double by_branches(double x, gcut_backend backend)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "f"), *f = gcut_function(g, "square");
    gcut_val v = gcut_input(f, "v", GCUT_F64, GCUT_SCALAR);
    gcut_output(f, "y", gcut_mul(v, v));
    gcut_val in = gcut_input(g, "x", GCUT_F64, GCUT_SCALAR), out, sq;
    gcut_if(gcut_ge(in, gcut_const(g, GCUT_F64, 0)), halve_till_small, take_x, &in, &out, 1);
    gcut_call(g, f, &out, 1, &sq, 1);
    gcut_output(g, "y", sq);
    gcut_options opt = TEST_OPTIONS;
    opt.backend = backend;
    opt.forward_only = true;
    gcut_step *step = gcut_compile(g, &opt);
    if (!step) fail_msg("%s", gcut_last_error(ctx));
    gcut_bind(step, "x", &x);
    if (gcut_run_forward(step) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    gcut_value_info y;
    assert_true(value_of(step, "y", &y));
    double r = *(double *)y.at;
    gcut_ctx_free(ctx);
    return r;
}

static void branches_by_the_builder(void **state)
{
    (void)state;
    static const gcut_backend backends[] = {GCUT_BACKEND_EAGER, GCUT_BACKEND_JOINT, GCUT_BACKEND_PLANNED,
                                            GCUT_BACKEND_COMPILED};
    for (size_t k = 0; k < sizeof backends / sizeof *backends; k++) {
        TRY("backend %zu", k);
        assert_true(by_branches(1, backends[k]) == 0.0625 * 0.0625);
        assert_true(by_branches(-3, backends[k]) == 9);
    }
}

/* ---- ops of lists of operands, in a body ---- */

/* s' = einsum(concat(s, v), m), with v and m of the graph around. */
static void mix(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    const gcut_val *around = user;
    (void)body;
    gcut_val both = gcut_concat(((gcut_val[]){in[0], around[0]}), 2, 0);
    out[0] = gcut_einsum("i,ij->j", both, around[1]);
}

static void lists_capture(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val unread = gcut_input(g, "unread", GCUT_F64, GCUT_SHAPE(7)), out,
             s = gcut_input(g, "s", GCUT_F64, GCUT_SHAPE(2)),
             around[] = {gcut_input(g, "v", GCUT_F64, GCUT_SHAPE(1)),
                         gcut_input(g, "m", GCUT_F64, GCUT_SHAPE(3, 2))};
    gcut_scan(g, &(gcut_loop){.carry = &s, .ncarry = 1, .length = 2, .body = mix, .user = around}, &out);
    gcut_output(g, "y", out);
    gcut_output(g, "loss", gcut_sum(unread, 0));
    gcut_options opt = TEST_OPTIONS;
    opt.backend = GCUT_BACKEND_EAGER;
    opt.forward_only = true;
    gcut_step *step = gcut_compile(g, &opt);
    if (!step) fail_msg("%s", gcut_last_error(ctx));
    double x[] = {1, 2}, v[] = {3}, m[] = {1, 0, 2, 1, 0, 1}, want[] = {15, 8};
    gcut_bind(step, "s", x, 2);
    gcut_bind(step, "v", v, 1);
    gcut_bind(step, "m", m, 3, 2);
    if (gcut_run_forward(step) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    gcut_value_info y;
    assert_true(value_of(step, "y", &y));
    assert_memory_equal(y.at, want, sizeof want);
    gcut_ctx_free(ctx);
}

/* The mask is drawn where the key is, of a value from around. */
static void drop(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)body;
    out[0] = gcut_dropout(*(gcut_val *)user, in[0], 0.5);
}

static void operands_from_around_come_first(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val x = gcut_input(g, "x", GCUT_F64, GCUT_SHAPE(4)), keys = gcut_key_split(gcut_rng(g, "key"), 3),
             out;
    gcut_scan(g, &(gcut_loop){.xs = &keys, .nxs = 1, .nys = 1, .body = drop, .user = &x}, &out);
    gcut_output(g, "y", out);
    if (!gcut_graph_ok(g)) fail_msg("%s", gcut_last_error(ctx));
    assert_int_equal(gcut_shape_of(out).rank, 2);
    gcut_ctx_free(ctx);
}

/* ---- what goes wrong is said ---- */

static void no_value(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)body, (void)in, (void)out;
}

static void leak(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)body;
    *(gcut_val *)user = in[0];
    out[0] = in[0];
}

static void shrink(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)body;
    out[0] = gcut_sum(in[0], 0);
}

static void own_parameter(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)in;
    out[0] = gcut_param(body, "w", GCUT_F32, GCUT_SHAPE(4));
}

static void misuse_is_an_error(void **state)
{
    (void)state;
    static const struct {
        gcut_body *body;
        const char *message;
    } cases[] = {{no_value, "gives no value 0"},
                 {leak, "a region that is closed"},
                 {shrink, "the body's yield 1 is f32[], expected f32[4]"},
                 {own_parameter, "has no parameters of its own"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_graph_new(ctx, "f");
        gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(4)), inner = {0}, out;
        gcut_scan(g,
                  &(gcut_loop){.carry = &x, .ncarry = 1, .length = 3, .body = cases[k].body, .user = &inner},
                  &out);
        if (inner.id) gcut_add(x, inner), gcut_output(g, "y", inner);
        assert_false(gcut_graph_ok(g));
        if (!strstr(gcut_last_error(ctx), cases[k].message) || !strstr(gcut_last_error(ctx), __FILE__))
            fail_msg("case %zu: expected \"%s\", found \"%s\"", k, cases[k].message, gcut_last_error(ctx));
        gcut_ctx_free(ctx);
    }
}

static void wrong_calls_are_errors(void **state)
{
    (void)state;
    static const struct {
        gcut_loop loop;
        const char *message;
    } cases[] = {{{.ncarry = 1, .length = 2}, "no function that builds the region 'body'"},
                 {{.ncarry = -1, .length = 2, .body = leak}, "a negative number"},
                 {{.ncarry = 1, .nys = -1, .length = 2, .body = leak}, "a negative number"},
                 {{.ncarry = 1, .length = -77, .body = leak}, "op 'scan': the size -77 is negative"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_graph_new(ctx, "f");
        gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(4)), out = {0};
        gcut_loop loop = cases[k].loop;
        loop.carry = &x;
        gcut_scan(g, &loop, &out);
        assert_int_equal(out.id, 0);
        if (!strstr(gcut_last_error(ctx), cases[k].message) || !strstr(gcut_last_error(ctx), __FILE__))
            fail_msg("case %zu: expected \"%s\", found \"%s\"", k, cases[k].message, gcut_last_error(ctx));
        gcut_ctx_free(ctx);
    }
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(4));
    assert_int_equal(gcut_einsum(NULL, x, x).id, 0);
    assert_non_null(strstr(gcut_last_error(ctx), "'einsum': the equation is NULL"));
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rnn_by_the_builder), cmocka_unit_test(branches_by_the_builder),
        cmocka_unit_test(lists_capture),      cmocka_unit_test(operands_from_around_come_first),
        cmocka_unit_test(misuse_is_an_error), cmocka_unit_test(wrong_calls_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
