/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public API as those who build graphs meet it: the sticky builder, its messages, its checks.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "api.h"
#include "public.h"

static const gcut_backend backends[] = {GCUT_BACKEND_EAGER, GCUT_BACKEND_JOINT, GCUT_BACKEND_PLANNED,
                                        GCUT_BACKEND_COMPILED};

/* ---- the builder ---- */

static void null_values_are_sticky(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "sticky");
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(4, 3)),
             y = gcut_input(g, "y", GCUT_F32, GCUT_SHAPE(5, 3));
    assert_true(gcut_graph_ok(g));
    const int line = __LINE__ + 1;
    gcut_val bad = gcut_add(x, y);
    assert_int_equal(bad.id, 0);
    assert_false(gcut_graph_ok(g));
    gcut_val later[] = {gcut_tanh(bad),        gcut_matmul(x, bad),
                        gcut_sum(bad, 0, 1),   gcut_apply(g, "softmax", &bad, 1, "axis=0"),
                        gcut_mul(x, x),        gcut_input(g, "z", GCUT_F32, GCUT_SCALAR),
                        gcut_select(bad, x, y)};
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) assert_int_equal(later[i].id, 0);
    gcut_output(g, "loss", bad);
    assert_int_equal(gcut_error_count(ctx), 1);
    char where[64];
    snprintf(where, sizeof where, "test_api.c:%d: error: ", line);
    assert_says(ctx, GCUT_ETYPE, where);
    assert_says(ctx, GCUT_ETYPE, "'add'");
    assert_null(gcut_compile(g, NULL));
    assert_null(gcut_show(g, NULL, GCUT_STAGE_JOINT, true));
    assert_null(gcut_plan_new(g, NULL));
    assert_int_not_equal(gcut_emit_files(g, NULL, in_tmp("never"), false), GCUT_OK);
    /* The first error stays the first; a new graph of the same context is not affected. */
    assert_says(ctx, GCUT_ETYPE, where);
    gcut_clear_errors(ctx);
    assert_string_equal(gcut_last_error(ctx), "");
    assert_int_equal(gcut_last_status(ctx), GCUT_OK);
    gcut_graph *h = gcut_graph_new(ctx, "sound");
    gcut_val w = gcut_param(h, "w", GCUT_F32, GCUT_SHAPE(3));
    gcut_output(h, "loss", gcut_sum(gcut_mul(w, w), 0));
    assert_true(gcut_graph_ok(h));
    assert_non_null(gcut_show(h, NULL, GCUT_STAGE_KERNEL, true));
    gcut_ctx_free(ctx);
}

static void wrong_calls_are_errors(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = NULL, *other = gcut_graph_new(ctx, "other");
    gcut_val x, stranger = gcut_input(other, "x", GCUT_F32, GCUT_SHAPE(3));
    assert_null(gcut_graph_new(ctx, "not a name"));
    assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
#define FRESH                                                                                                \
    (gcut_clear_errors(ctx), g = gcut_graph_new(ctx, "g"), x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(3, 4)))
#define REFUSED(call)                                                                                        \
    do {                                                                                                     \
        FRESH;                                                                                               \
        (void)(call);                                                                                        \
        if (gcut_graph_ok(g) || !*gcut_last_error(ctx)) fail_msg("accepted: %s", #call);                     \
        if (gcut_error_count(ctx) != 1) fail_msg("%zu errors: %s", gcut_error_count(ctx), #call);            \
        if (!strstr(gcut_last_error(ctx), "error: ")) fail_msg("%s", gcut_last_error(ctx));                  \
    } while (0)
    REFUSED(gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(3)));
    REFUSED(gcut_input(g, "", GCUT_F32, GCUT_SHAPE(3)));
    REFUSED(gcut_input(g, "a b", GCUT_F32, GCUT_SHAPE(3)));
    REFUSED(gcut_input(g, "a\"b", GCUT_F32, GCUT_SHAPE(3)));
    REFUSED(gcut_input(g, "y", 99, GCUT_SHAPE(3)));
    REFUSED(gcut_input(g, "y", -1, GCUT_SHAPE(3)));
    REFUSED(gcut_input(g, "y", GCUT_F32, ((gcut_shape){.rank = 9})));
    REFUSED(gcut_input(g, "y", GCUT_F32, ((gcut_shape){.rank = -1})));
    REFUSED(gcut_input(g, "y", GCUT_F32, GCUT_SHAPE(-77))); /* a size that this graph never made */
    REFUSED(gcut_input(g, "y", GCUT_F32, GCUT_SHAPE(INT64_MIN)));
    REFUSED(gcut_dim_sym(g, "N", 5, 4));
    REFUSED(gcut_dim_sym(g, "not a name", 1, 4));
    REFUSED(gcut_dim_sym(g, "7", 1, 4));
    REFUSED((gcut_dim_sym(g, "N", 1, 4), gcut_dim_sym(g, "N", 1, 5)));
    REFUSED(gcut_dim_add(g, GCUT_DIM_MAX, 1));
    REFUSED(gcut_dim_sub(g, 1, 2));
    REFUSED(gcut_dim_div(g, 1, 0));
    REFUSED(gcut_cast(x, 99));
    REFUSED(gcut_transpose(x, 0, 0));
    REFUSED(gcut_transpose(x, 0));
    REFUSED(gcut_sum(x, 2));
    REFUSED(gcut_sum(x, -3));
    REFUSED(gcut_softmax(x, 2));
    REFUSED(gcut_reshape(x, 5));
    REFUSED(gcut_matmul(x, x));
    REFUSED(gcut_take(x, x, 0));
    REFUSED(gcut_output(g, "loss", (gcut_val){0}));
    REFUSED(gcut_output(g, "loss", stranger));
    REFUSED((gcut_output(g, "loss", x), gcut_output(g, "loss", x)));
    REFUSED(gcut_output(g, "a b", x));
    REFUSED(gcut_next(g, "x.new", x));
    REFUSED(gcut_apply(g, "no_such_op", &x, 1, NULL));
    REFUSED(gcut_apply(g, "tanh", &x, 1, "axis=1"));
    REFUSED(gcut_apply(g, "softmax", &x, 1, NULL));
    REFUSED(gcut_apply(g, "softmax", &x, 1, "axis=2"));
    REFUSED(gcut_apply(g, "softmax", &x, 1, "axis=1, axis=1"));
    REFUSED(gcut_apply(g, "softmax", &x, 1, "axis=1) %y = tanh(%x"));
    REFUSED(gcut_apply(g, "softmax", &x, 1, "axis="));
    REFUSED(gcut_apply(g, "softmax", &x, 1, ","));
    REFUSED(gcut_apply(g, "softmax", &x, 1, "axis=1,"));
    REFUSED(gcut_apply(g, "add", &x, 1, NULL));
    REFUSED(gcut_apply(g, "sum", &x, 1, "axes=[K]"));
    REFUSED(gcut_apply(g, "slice", &x, 1, "start=[0, 0], limit=[4, 4]"));
    gcut_val w;
#define OF_W(call) (w = gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(2)), call)
    REFUSED(gcut_initial(gcut_rng(g, "key"), "splat(1)"));
    REFUSED(gcut_initial(gcut_neg(x), "splat(1)"));
    REFUSED(OF_W(gcut_initial(w, "")));
    REFUSED(OF_W(gcut_initial(w, NULL)));
    REFUSED(OF_W(gcut_initial(w, "ones(1)")));
    REFUSED(OF_W(gcut_initial(w, "dense([1, 2, 3])")));
    REFUSED(OF_W(gcut_initial(w, "splat(1) splat(2)")));
    REFUSED(OF_W((gcut_initial(w, "splat(1)"), gcut_initial(w, "splat(2)"))));
    REFUSED(gcut_initial(gcut_param(g, "s", GCUT_F32, GCUT_SHAPE(gcut_dim_sym(g, "N", 1, 4))), "dense([1])"));
    REFUSED(gcut_range(x, 0, 4));
    REFUSED(gcut_range(gcut_input(g, "i", GCUT_I32, GCUT_SHAPE(2)), 4, 4));
    REFUSED(gcut_range(gcut_range(gcut_input(g, "i", GCUT_I32, GCUT_SHAPE(2)), 0, 4), 0, 5));
    REFUSED(gcut_slice(x, 2, 0, 1));
    REFUSED(gcut_slice(x, 0, 0, 4));
    REFUSED(gcut_concat(&x, 1, 2));
    assert_int_equal(gcut_concat(&x, 0, 0).id, 0);
    REFUSED(gcut_matmul_t(gcut_reshape(x, 1, 3, 4), gcut_reshape(x, 3, 4), true, false));
    REFUSED(gcut_rms_norm(x, x, 1e-5));
    assert_null(gcut_compile(NULL, NULL));
    assert_null(gcut_load(ctx, in_tmp("missing.gcut"), NULL));
    assert_null(gcut_load(ctx, tmp, NULL));
    gcut_ctx_free(ctx);
}

static void calls_of_another_graph_do_not_pass(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g"), *h = gcut_graph_new(ctx, "h");
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(3)), y = gcut_input(h, "y", GCUT_F32, GCUT_SHAPE(3));
    gcut_val two[] = {x, y};
    assert_int_equal(gcut_add(x, y).id, 0);
    assert_int_equal(gcut_apply(g, "add", two, 2, NULL).id, 0);
    gcut_output(g, "loss", gcut_add(x, y));
    assert_false(gcut_graph_ok(g));
    gcut_ctx_free(ctx);
}

/* A parameter may be called anything, but then the gradient of another may not be bound by that name. */
static void names_of_results_are_taken(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(3)),
             y = gcut_param(g, "grad.x", GCUT_F32, GCUT_SHAPE(3));
    gcut_output(g, "loss", gcut_sum(gcut_mul(x, y), 0));
    assert_true(gcut_graph_ok(g));
    assert_null(gcut_compile(g, NULL));
    assert_non_null(strstr(gcut_last_error(ctx), "'grad.x'"));
    gcut_ctx_free(ctx);
}

static void locations_have_scopes(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "scoped");
    gcut_val w = gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(3));
    gcut_scope(g, "block0/att\"en\ntion");
    const int line = __LINE__ + 1;
    gcut_val y = gcut_tanh(w);
    gcut_scope(g, NULL);
    gcut_output(g, "loss", gcut_sum(y, -1));
    const char *text = gcut_show(g, NULL, GCUT_STAGE_PRIMAL, true);
    assert_non_null(text);
    char want[128];
    snprintf(want, sizeof want, "test_api.c\":%d \"block0/att\\\"en", line);
    assert_non_null(strstr(text, want));
    /* The sum that follows has a location of its own, without a scope. */
    snprintf(want, sizeof want, "test_api.c\":%d\n", line + 2);
    assert_non_null(strstr(text, want));
    assert_non_null(strstr(gcut_show(g, NULL, GCUT_STAGE_JOINT, true), "grad(!"));
    assert_null(strstr(gcut_show(g, NULL, GCUT_STAGE_JOINT, false), "loc "));
    gcut_ctx_free(ctx);
}

static bool has(gcut_graph *g, const char *line)
{
    return strstr(gcut_show(g, NULL, GCUT_STAGE_PRIMAL, false), line);
}

static void broadcasting(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_dim N = gcut_dim_sym(g, "N", 1, GCUT_DIM_MAX);
    gcut_val a = gcut_param(g, "a", GCUT_F32, GCUT_SHAPE(N, 1, 3)),
             b = gcut_param(g, "b", GCUT_F32, GCUT_SHAPE(5, 1));
    gcut_val c = gcut_const(g, GCUT_F32, 2), sum = gcut_add(gcut_mul(a, b), c);
    gcut_output(g, "loss", gcut_sum(sum, 0, 1, 2));
    assert_true(gcut_graph_ok(g));
    assert_true(has(g, "f32[N, 5, 3]"));
    float av[2][3] = {{1, 2, 3}, {4, 5, 6}}, bv[5] = {1, 2, 3, 4, 5}, loss = 0, da[2][3], db[5];
    for (size_t k = 0; k < 4; k++) {
        gcut_step *s = compile_as(g, backends[k], NULL);
        assert_int_equal(gcut_bind(s, "a", av, 2, 1, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "b", bv, 5, 1), GCUT_OK);
        assert_int_equal(gcut_bind(s, "grad.a", da, 2, 1, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "grad.b", db, 5, 1), GCUT_OK);
        assert_int_equal(gcut_bind(s, "loss", &loss), GCUT_OK);
        must_run(ctx, s);
        assert_float_equal(loss, 21 * 15 + 2 * 30, 0);
        for (int i = 0; i < 6; i++) assert_float_equal(da[i / 3][i % 3], 15, 0);
        for (int i = 0; i < 5; i++) assert_float_equal(db[i], 21, 0);
        gcut_step_free(s);
    }
    /* One key for all counters. */
    gcut_graph *r = gcut_graph_new(ctx, "r");
    gcut_val i = gcut_input(r, "i", GCUT_I64, GCUT_SHAPE(7));
    gcut_output(r, "y", gcut_random(gcut_rng(r, "key"), i, GCUT_F32));
    assert_true(gcut_graph_ok(r));
    assert_true(has(r, "f32[7] = random("));
    /* A symbol does not broadcast, even to itself times one: N and M, N and 5 do not go together. */
    gcut_graph *h = gcut_graph_new(ctx, "h");
    gcut_dim n = gcut_dim_sym(h, "N", 6, GCUT_DIM_MAX);
    gcut_val p = gcut_input(h, "p", GCUT_F32, GCUT_SHAPE(n)), q = gcut_input(h, "q", GCUT_F32, GCUT_SHAPE(5));
    assert_int_equal(gcut_add(p, q).id, 0);
    assert_says(ctx, GCUT_ETYPE, "'add'");
    gcut_clear_errors(ctx);
    /* What cannot be decided is checked when sizes are known: N = 1 does not repeat to 5. */
    gcut_graph *u = gcut_graph_new(ctx, "u");
    n = gcut_dim_sym(u, "N", 1, GCUT_DIM_MAX);
    p = gcut_param(u, "p", GCUT_F32, GCUT_SHAPE(n)), q = gcut_input(u, "q", GCUT_F32, GCUT_SHAPE(5));
    gcut_output(u, "loss", gcut_sum(gcut_add(p, q), 0));
    assert_true(gcut_graph_ok(u));
    for (size_t k = 0; k < 4; k++) {
        gcut_step *s = compile_as(u, backends[k], NULL);
        assert_non_null(s);
        assert_int_equal(gcut_bind(s, "p", bv, 1), GCUT_OK);
        assert_int_equal(gcut_run(s), GCUT_EDIM);
        assert_int_equal(gcut_bind(s, "p", bv, 5), GCUT_OK);
        gcut_clear_errors(ctx);
        must_run(ctx, s);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* A relu that is nearly 0 has a derivative, which a step of 1e-3 leaves; one that is 0 has none to compare.
 */
static void gradcheck_near_kinks(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_val w = gcut_initial(gcut_param(g, "w", GCUT_F64, GCUT_SHAPE(4)), "dense([1e-4, -2e-5, 1, 0.0])");
    gcut_output(g, "loss", gcut_sum(gcut_mul(gcut_relu(w), gcut_exp(w)), 0));
    gcut_check_report r = gradcheck(g, NULL, NULL, 0, 1e-7);
    assert_non_null(r.text);
    if (!r.ok) fail_msg("%s", r.text);
    assert_non_null(strstr(r.text, "1 at kinks left out"));
    gcut_ctx_free(ctx);
}

/* Both sides of the check see the state as it was before the step. */
static void gradcheck_with_a_state(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_val w = gcut_param(g, "w", GCUT_F64, GCUT_SHAPE(3)), s = gcut_state(g, "s", GCUT_F64, GCUT_SHAPE(3));
    gcut_output(g, "loss", gcut_sum(gcut_mul(gcut_sin(w), s), 0));
    gcut_next(g, "s", gcut_add(gcut_scale(s, 3), w));
    gcut_check_report r = gradcheck(g, NULL, NULL, 0, 0);
    if (!r.ok) fail_msg("%s", r.text ? r.text : gcut_last_error(ctx));
    gcut_ctx_free(ctx);
}

/* The loss does not depend on b: its gradient is rounding alone, of which AdamW makes a whole step. */
static void ladder_of_a_step_from_noise(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(33, 8)),
             w = gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(8, 10)),
             b = gcut_param(g, "b", GCUT_F32, GCUT_SCALAR),
             t = gcut_range(gcut_input(g, "t", GCUT_I32, GCUT_SHAPE(33)), 0, 10);
    gcut_output(g, "loss", gcut_cross_entropy(gcut_add(gcut_matmul(x, w), b), t));
    gcut_options opt = TEST_OPTIONS;
    opt.optimizer = "adamw";
    gcut_check_report r = crosscheck(g, &opt, NULL, 0, 0);
    if (!r.ok) fail_msg("%s", r.text ? r.text : gcut_last_error(ctx));
    gcut_ctx_free(ctx);
}

static void apply_takes_attributes_as_text(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_dim N = gcut_dim_sym(g, "N", 2, GCUT_DIM_MAX);
    gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(N, 4));
    gcut_val s = gcut_apply(g, "softmax", &x, 1, "axis=1"),
             c = gcut_apply(g, "slice", &s, 1, "start=[N-1, 0], limit=[N, 4]");
    gcut_val both[] = {c, c}, k = gcut_apply(g, "concat", both, 2, "axis=0"),
             i = gcut_apply(g, "iota", NULL, 0, "shape=[2*N], dtype=\"f32\"");
    gcut_val m = gcut_apply(g, "clamp", &k, 1, "lo=-1.5, hi=1e3"), r = gcut_apply(g, "sum", &m, 1, "");
    gcut_output(g, "loss", r);
    gcut_output(g, "count", i);
    assert_string_equal(gcut_last_error(ctx), "");
    assert_true(gcut_graph_ok(g));
    assert_true(has(g, "slice(%softmax, start=[N-1, 0], limit=[N, 4])"));
    assert_true(has(g, "f32[2*N] = iota("));
    assert_true(has(g, "lo=-1.5, hi=1000"));
    gcut_ctx_free(ctx);
}

/* What models are made of: initial contents, ranges, shapes, slices, rows times a matrix. */
static void builders_of_models(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_dim N = gcut_dim_sym(g, "N", 1, GCUT_DIM_MAX);
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(N, 3, 2)),
             w = gcut_initial(gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(2, 4)),
                              "dense([1, 2, 3, 4, 5, 6, 7, 8])"),
             s = gcut_initial(gcut_state(g, "s", GCUT_F32, GCUT_SHAPE(4)), "splat(2.5)"),
             i = gcut_range(gcut_input(g, "i", GCUT_I32, GCUT_SHAPE(N)), 2, 5);
    gcut_val y = gcut_matmul(x, w), both[] = {gcut_slice(y, -1, 0, 1), gcut_slice(y, 2, 1, 4)};
    gcut_val z = gcut_rms_norm(gcut_concat(both, 2, -1), s, 0);
    assert_string_equal(gcut_last_error(ctx), "");
    gcut_shape shape = gcut_shape_of(z);
    assert_int_equal(shape.rank, 3);
    assert_that(shape.dim[0], ==, N);
    assert_that(shape.dim[1], ==, 3);
    assert_that(shape.dim[2], ==, 4);
    assert_int_equal(gcut_dtype_of(i), GCUT_I32);
    assert_int_equal(gcut_dtype_of((gcut_val){0}), -1);
    assert_int_equal(gcut_shape_of((gcut_val){0}).rank, 0);
    gcut_output(g, "loss", gcut_sum(z, 0, 1, 2));
    gcut_output(g, "z", z);
    gcut_output(g, "index", i);
    assert_true(has(g, "data @w: f32[2, 4] = dense(["));
    assert_true(has(g, "input %i: i32[N] #range(2, 5)"));
    static const float xv[1][3][2] = {{{1, 0}, {0, 1}, {1, -1}}};
    for (size_t k = 0; k < 4; k++) {
        gcut_step *step = compile_as(g, backends[k], NULL);
        assert_int_equal(gcut_bind(step, "x", (void *)xv, 1, 3, 2), GCUT_OK);
        must_run(ctx, step);
        gcut_value_info v;
        assert_true(value_of(step, "z", &v));
        for (int r = 0; r < 3; r++) {
            double row[4], square = 0;
            for (int c = 0; c < 4; c++) {
                row[c] = (double)xv[0][r][0] * (1 + c) + (double)xv[0][r][1] * (5 + c);
                square += row[c] * row[c] / 4;
            }
            for (int c = 0; c < 4; c++)
                assert_true(fabs(((float *)v.at)[4 * r + c] - 2.5 * row[c] / sqrt(square)) <= 1e-5);
        }
        assert_true(value_of(step, "i", &v));
        assert_in_range(*(int32_t *)v.at, 2, 4);
        gcut_step_free(step);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_values_are_sticky),
        cmocka_unit_test(wrong_calls_are_errors),
        cmocka_unit_test(calls_of_another_graph_do_not_pass),
        cmocka_unit_test(names_of_results_are_taken),
        cmocka_unit_test(locations_have_scopes),
        cmocka_unit_test(broadcasting),
        cmocka_unit_test(ladder_of_a_step_from_noise),
        cmocka_unit_test(gradcheck_near_kinks),
        cmocka_unit_test(gradcheck_with_a_state),
        cmocka_unit_test(apply_takes_attributes_as_text),
        cmocka_unit_test(builders_of_models),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
