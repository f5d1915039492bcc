/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public API as its callers meet it: the sticky builder, binding, run-time
 * errors, threads, and what happens when memory, a folder or a compiler is missing.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gradcut/gradcut.h"

static char tmp[] = "/tmp/gradcut-api-XXXXXX";

static gcut_ctx *new_ctx(void)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    assert_non_null(ctx);
    return ctx;
}

static const char *in_tmp(const char *name)
{
    static char path[4][128];
    static int k;
    k = (k + 1) % 4;
    snprintf(path[k], sizeof path[k], "%s/%s", tmp, name);
    return path[k];
}

static gcut_graph *graph_from(gcut_ctx *ctx, const char *text)
{
    const char *path = in_tmp("graph.gcut");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "gcut 1\n%s", text);
    assert_int_equal(fclose(f), 0);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) print_error("%s", gcut_last_error(ctx));
    assert_non_null(g);
    return g;
}

static void assert_says(gcut_ctx *ctx, gcut_status status, const char *what)
{
    const char *e = gcut_last_error(ctx);
    if (!strstr(e, what)) fail_msg("expected '%s' in: %s", what, e);
    assert_int_equal(gcut_last_status(ctx), status);
}

static void must_run(gcut_ctx *ctx, gcut_step *s)
{
    if (!s || gcut_run(s) != GCUT_OK) fail_msg("not run: %s", gcut_last_error(ctx));
}

static gcut_step *compile_as(gcut_graph *g, gcut_backend b, const char *optimizer)
{
    gcut_options o = GCUT_OPTIONS_DEFAULT;
    o.backend = b;
    o.optimizer = optimizer;
    return gcut_compile(g, &o);
}

static const gcut_backend backends[] = {GCUT_EAGER, GCUT_JOINT_BACKEND, GCUT_PLANNED, GCUT_COMPILED};

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
    assert_null(gcut_plan_of(g, NULL));
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
    REFUSED(gcut_init(x, "splat(1)"));
    REFUSED(gcut_init(gcut_neg(x), "splat(1)"));
    REFUSED(OF_W(gcut_init(w, "")));
    REFUSED(OF_W(gcut_init(w, NULL)));
    REFUSED(OF_W(gcut_init(w, "ones(1)")));
    REFUSED(OF_W(gcut_init(w, "dense([1, 2, 3])")));
    REFUSED(OF_W(gcut_init(w, "splat(1) splat(2)")));
    REFUSED(OF_W((gcut_init(w, "splat(1)"), gcut_init(w, "splat(2)"))));
    REFUSED(gcut_init(gcut_param(g, "s", GCUT_F32, GCUT_SHAPE(gcut_dim_sym(g, "N", 1, 4))), "splat(1)"));
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
        assert_int_equal(gcut_bind_scalar(s, "loss", &loss), GCUT_OK);
        must_run(ctx, s);
        assert_float_equal(loss, 21 * 15 + 2 * 30, 0);
        for (int i = 0; i < 6; i++) assert_float_equal(da[i / 3][i % 3], 15, 0);
        for (int i = 0; i < 5; i++) assert_float_equal(db[i], 21, 0);
        gcut_step_free(s);
    }
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
    gcut_val w = gcut_init(gcut_param(g, "w", GCUT_F64, GCUT_SHAPE(4)), "dense([1e-4, -2e-5, 1, 0.0])");
    gcut_output(g, "loss", gcut_sum(gcut_mul(gcut_relu(w), gcut_exp(w)), 0));
    gcut_check_report r = gcut_gradcheck(g, NULL, NULL, 0, 1e-7);
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
    gcut_check_report r = gcut_gradcheck(g, NULL, NULL, 0, -1);
    if (!r.ok) fail_msg("%s", r.text ? r.text : gcut_last_error(ctx));
    gcut_ctx_free(ctx);
}

/* The lists of elementwise ops and the macros that pass the caller's line: each has the other. */
static void elementwise_ops_have_macros(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(2)), p = gcut_ge(x, x), y;
#define GCUT_X(op)                                                                                           \
    y = gcut_##op(!strcmp(#op, "not") ? p : x);                                                              \
    if (!y.id) fail_msg("%s: %s", #op, gcut_last_error(ctx));
    GCUT_UNARY(GCUT_X)
#undef GCUT_X
#define GCUT_X(op)                                                                                           \
    {                                                                                                        \
        bool logical = !strcmp(#op, "and") || !strcmp(#op, "or") || !strcmp(#op, "xor");                     \
        y = gcut_##op(logical ? p : x, logical ? p : x);                                                     \
        if (!y.id) fail_msg("%s: %s", #op, gcut_last_error(ctx));                                            \
    }
    GCUT_BINARY(GCUT_X)
#undef GCUT_X
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
    gcut_options opt = GCUT_OPTIONS_DEFAULT;
    opt.optimizer = "adamw";
    gcut_check_report r = gcut_ladder(g, &opt, NULL, 0, -1);
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
    assert_true(has(g, "slice(%v1, start=[N-1, 0], limit=[N, 4])"));
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
             w = gcut_init(gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(2, 4)), "dense([1, 2, 3, 4, 5, 6, 7, 8])"),
             s = gcut_init(gcut_state(g, "s", GCUT_F32, GCUT_SHAPE(4)), "splat(2.5)"),
             i = gcut_range(gcut_input(g, "i", GCUT_I32, GCUT_SHAPE(N)), 2, 5);
    gcut_val y = gcut_matmul(x, w), both[] = {gcut_slice(y, -1, 0, 1), gcut_slice(y, 2, 1, 4)};
    gcut_val z = gcut_rms_norm(gcut_concat(both, 2, -1), s, 0);
    assert_string_equal(gcut_last_error(ctx), "");
    gcut_shape shape = gcut_shape_of(z);
    assert_int_equal(shape.rank, 3);
    assert_true(shape.dim[0] == N && shape.dim[1] == 3 && shape.dim[2] == 4);
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
        assert_true(gcut_step_value(step, "z", &v));
        for (int r = 0; r < 3; r++) {
            double row[4], square = 0;
            for (int c = 0; c < 4; c++) {
                row[c] = (double)xv[0][r][0] * (1 + c) + (double)xv[0][r][1] * (5 + c);
                square += row[c] * row[c] / 4;
            }
            for (int c = 0; c < 4; c++)
                assert_true(fabs(((float *)v.at)[4 * r + c] - 2.5 * row[c] / sqrt(square)) <= 1e-5);
        }
        assert_true(gcut_step_value(step, "i", &v));
        assert_in_range(*(int32_t *)v.at, 2, 4);
        gcut_step_free(step);
    }
    gcut_ctx_free(ctx);
}

/* ---- binding ---- */

static const char line_fit[] = "func @line[N in 1..64 mult 1](param %w: f32[3], input %x: f32[N, 3], input "
                               "%y: f32[N]) -> (out loss: f32[]) {\n"
                               "  %w2 = reshape(%w, shape=[3, 1])\n"
                               "  %p = matmul(%x, %w2)\n"
                               "  %q = reshape(%p, shape=[N])\n"
                               "  %loss = mse(%q, %y)\n"
                               "  return %loss\n"
                               "}\n";

/* The loss, by hand. */
static double line_loss(const float *w, float (*x)[3], const float *y, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double e = (double)w[0] * x[i][0] + (double)w[1] * x[i][1] + (double)w[2] * x[i][2] - y[i];
        s += e * e;
    }
    return s / n;
}

static void binding(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, line_fit);
    static float x[2][64][3], y[64], w[3] = {0.5f, -1, 2}, loss;
    for (int i = 0; i < 64 * 3; i++)
        x[0][i / 3][i % 3] = (float)(i % 7) - 3, x[1][i / 3][i % 3] = (float)(i % 5) / 4;
    for (int i = 0; i < 64; i++) y[i] = (float)(i % 3);
    for (size_t k = 0; k < 4; k++) {
        gcut_step *s = compile_as(g, backends[k], NULL);
        assert_int_equal(gcut_bind(s, "nobody", x, 4, 3), GCUT_EUSAGE);
        assert_says(ctx, GCUT_EUSAGE, "'nobody'");
        assert_int_equal(gcut_bind(s, "x", x, 4), GCUT_EDIM);
        assert_int_equal(gcut_bind(s, "x", x, 4, 4), GCUT_EDIM);
        assert_int_equal(gcut_bind(s, "w", w, 4), GCUT_EDIM);
        gcut_clear_errors(ctx);
        assert_int_equal(gcut_bind(s, "x", x[0], 4, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "y", y, 5), GCUT_OK);
        assert_int_equal(gcut_run(s), GCUT_EDIM); /* N is 4 and 5 */
        gcut_clear_errors(ctx);
        assert_int_equal(gcut_bind(s, "w", w, 3), GCUT_OK);
        assert_int_equal(gcut_bind_scalar(s, "loss", &loss), GCUT_OK);
        /* Other sizes back and forth, then the same size at another address. */
        static const int sizes[] = {4, 64, 1, 33, 4};
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(gcut_bind(s, "x", x[0], sizes[i], 3), GCUT_OK);
            assert_int_equal(gcut_bind(s, "y", y, sizes[i]), GCUT_OK);
            must_run(ctx, s);
            assert_float_equal(loss, line_loss(w, x[0], y, sizes[i]), 1e-4);
        }
        assert_int_equal(gcut_bind(s, "x", x[1], 4, 3), GCUT_OK);
        must_run(ctx, s);
        assert_float_equal(loss, line_loss(w, x[1], y, 4), 1e-5);
        /* A result elsewhere, and forward alone. */
        float elsewhere = -1, before = loss;
        assert_int_equal(gcut_bind_scalar(s, "loss", &elsewhere), GCUT_OK);
        loss = 77;
        assert_int_equal(gcut_run_forward(s), GCUT_OK);
        assert_float_equal(elsewhere, before, 0);
        assert_float_equal(loss, 77, 0);
        /* Beyond the declaration. */
        assert_int_equal(gcut_bind(s, "x", x[0], 65, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "y", y, 65), GCUT_OK);
        assert_int_equal(gcut_run(s), GCUT_EDIM);
        gcut_clear_errors(ctx);
        assert_int_equal(gcut_bind(s, "x", x[0], -1, 3), GCUT_OK);
        assert_int_equal(gcut_run(s), GCUT_EDIM);
        gcut_clear_errors(ctx);
        gcut_value_info v;
        assert_false(gcut_step_value(s, "nobody", &v));
        assert_true(gcut_step_value(s, "w", &v));
        assert_ptr_equal(v.at, w);
        assert_true(v.bound);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

static void options_are_checked(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, line_fit);
    const char *none[] = {"nothing*"};
    const gcut_size unknown = {"K", 4}, large = {"N", 65};
    gcut_options bad[9];
    for (size_t i = 0; i < 9; i++) bad[i] = GCUT_OPTIONS_DEFAULT;
    bad[0].policy = "best";
    bad[1].lambda = -1;
    bad[2].optimizer = "adam(";
    bad[3].optimizer = "adamw(learning=1)";
    bad[4].loss = "nobody";
    bad[5].wrt = none, bad[5].nwrt = 1;
    bad[6].at = &unknown, bad[6].nat = 1;
    bad[7].at = &large, bad[7].nat = 1;
    bad[8].save = none, bad[8].nsave = 1;
    for (size_t i = 0; i < 9; i++) {
        gcut_clear_errors(ctx);
        if (gcut_compile(g, &bad[i])) fail_msg("options %zu accepted", i);
        if (!strstr(gcut_last_error(ctx), "error: ")) fail_msg("options %zu: '%s'", i, gcut_last_error(ctx));
    }
    bad[1].lambda = (double)NAN;
    assert_null(gcut_compile(g, &bad[1]));
    gcut_ctx_free(ctx);
}

/* ---- values at run time ---- */

static void indices_out_of_range(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(
        ctx, "func @lookup[N in 1..](param %table: f32[5, 3], input %i: i32[N]) -> (out loss: f32[]) {\n"
             "  %e = take(%table, %i) !1\n"
             "  %s = mul(%e, %e) !1\n"
             "  %loss = sum(%s) !1\n"
             "  return %loss\n"
             "}\n"
             "loc !1 = \"lookup.c\":42:7\n");
    static const int32_t wrong[] = {5, -1, INT32_MAX, INT32_MIN};
    for (size_t k = 0; k < 4; k++) {
        gcut_step *s = compile_as(g, backends[k], "sgd(lr=0.1)");
        float table[5][3], before[5][3];
        for (int i = 0; i < 15; i++) table[i / 3][i % 3] = (float)i / 4;
        memcpy(before, table, sizeof table);
        int32_t i[4] = {0, 4, 2, 0};
        assert_int_equal(gcut_bind(s, "table", table, 5, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "i", i, 4), GCUT_OK);
        for (size_t w = 0; w < 4; w++) {
            char number[32];
            i[w] = wrong[w];
            gcut_clear_errors(ctx);
            assert_int_equal(gcut_run(s), GCUT_EINDEX);
            snprintf(number, sizeof number, "%d", wrong[w]);
            assert_says(ctx, GCUT_EINDEX, number);
            assert_says(ctx, GCUT_EINDEX, "lookup.c:42");
            assert_says(ctx, GCUT_EINDEX, "take");
            bool range = strstr(gcut_last_error(ctx), "[0, 5)") || strstr(gcut_last_error(ctx), "0..4");
            assert_true(range);
            assert_memory_equal(table, before, sizeof table);
            i[w] = 1;
        }
        gcut_clear_errors(ctx);
        must_run(ctx, s); /* the step is as good as new */
        assert_true(memcmp(table, before, sizeof table) != 0);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

static void not_numbers_survive(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(
        ctx,
        "func @nan(param %x: f32[6, 5]) -> (out loss: f32[], out soft: f32[6, 5], out top: f32[6], out low: "
        "f32[6],\n"
        "    out sum: f32[6], out relu: f32[6, 5], out gelu: f32[6, 5], out lse: f32[6], out log: f32[6, "
        "5],\n"
        "    out clamp: f32[6, 5], out root: f32[6, 5], out column: f32[5], out prod: f32[6, 6]) {\n"
        "  %soft = softmax(%x, axis=1)\n"
        "  %top = max_reduce(%x, axes=[1])\n"
        "  %low = min_reduce(%x, axes=[1])\n"
        "  %sum = sum(%x, axes=[1])\n"
        "  %relu = relu(%x)\n"
        "  %gelu = gelu(%x)\n"
        "  %lse = logsumexp(%x, axes=[1])\n"
        "  %log = log(%x)\n"
        "  %clamp = clamp(%x, lo=-1, hi=1)\n"
        "  %root = sqrt(%x)\n"
        "  %column = max_reduce(%x, axes=[0])\n"
        "  %prod = matmul(%x, %x, tb=true)\n"
        "  %loss = sum(%soft)\n"
        "  return %loss, %soft, %top, %low, %sum, %relu, %gelu, %lse, %log, %clamp, %root, %column, %prod\n"
        "}\n");
    const float inf = (float)INFINITY, nan = (float)NAN;
    float x[6][5] = {{0, 1, -1, 2, 0.5f},   {nan, 1, 2, 3, 4},
                     {-inf, 1, 2, -inf, 0}, {-inf, -inf, -inf, -inf, -inf},
                     {inf, 1, -inf, 2, 0},  {1, 2, 3, -0.0f, nan}};
    gcut_step *ref = compile_as(g, GCUT_EAGER, NULL);
    assert_int_equal(gcut_bind(ref, "x", x, 6, 5), GCUT_OK);
    must_run(ctx, ref);
    for (size_t k = 1; k < 4; k++) {
        gcut_step *s = compile_as(g, backends[k], NULL);
        assert_int_equal(gcut_bind(s, "x", x, 6, 5), GCUT_OK);
        must_run(ctx, s);
        for (size_t i = 0; i < gcut_step_value_count(ref); i++) {
            gcut_value_info want = gcut_step_value_at(ref, i), got;
            assert_true(gcut_step_value(s, want.name, &got));
            for (int64_t e = 0; e < want.bytes / 4; e++) {
                float a = ((float *)got.at)[e], b = ((float *)want.at)[e];
                bool same = isnan(b)   ? isnan(a)
                            : isinf(b) ? a == b
                                       : fabsf(a - b) <= 1e-5f * fmaxf(1, fabsf(b));
                if (!same)
                    fail_msg("backend %zu: %s[%lld] is %g, expected %g", k, want.name, (long long)e,
                             (double)a, (double)b);
            }
        }
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* ---- surroundings ---- */

static void missing_tools_and_folders(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, line_fit);
    assert_int_equal(gcut_emit_files(g, NULL, in_tmp("no/such/folder/step"), false), GCUT_EIO);
    assert_says(ctx, GCUT_EIO, "no/such/folder");
    gcut_clear_errors(ctx);
    assert_int_equal(gcut_emit_files(g, NULL, in_tmp("not-a-name"), false), GCUT_EUSAGE);
    assert_int_equal(gcut_emit_files(g, NULL, in_tmp(""), false), GCUT_EUSAGE);
    gcut_clear_errors(ctx);
    gcut_options o = GCUT_OPTIONS_DEFAULT;
    o.dump = in_tmp("no/such/folder");
    assert_null(gcut_compile(g, &o));
    assert_int_equal(gcut_last_status(ctx), GCUT_EIO);
    static const char *const compilers[] = {"/nonexistent", "false", "/"};
    for (size_t i = 0; i < 3; i++) {
        gcut_clear_errors(ctx);
        setenv("GRADCUT_CC", compilers[i], 1);
        assert_null(gcut_compile(g, NULL));
        assert_int_equal(gcut_emit_files(g, NULL, in_tmp("shared"), true), GCUT_ETOOL);
        assert_says(ctx, GCUT_ETOOL, i == 1 ? "compiler" : compilers[i]);
    }
    unsetenv("GRADCUT_CC");
    gcut_clear_errors(ctx);
    setenv("TMPDIR", "/nonexistent", 1);
    assert_null(gcut_compile(g, NULL));
    assert_int_equal(gcut_last_status(ctx), GCUT_EIO);
    unsetenv("TMPDIR");
    gcut_clear_errors(ctx);
    gcut_ctx_free(ctx);
}

/* Temporary files go with what made them, also after errors. */
static int entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = -2;
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static void nothing_is_left_behind(void **state)
{
    (void)state;
    char dir[128];
    snprintf(dir, sizeof dir, "%s/left", tmp);
    assert_int_equal(mkdir(dir, 0777), 0);
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, line_fit);
    setenv("TMPDIR", dir, 1);
    gcut_step *s = gcut_compile(g, NULL);
    must_run(ctx, s);
    gcut_step_free(s);
    assert_int_equal(entries(dir), 0);
    setenv("GRADCUT_CC", "false", 1);
    assert_null(gcut_compile(g, NULL));
    unsetenv("GRADCUT_CC");
    gcut_ctx_free(ctx);
    assert_int_equal(entries(dir), 0);
    unsetenv("TMPDIR");
}

typedef struct worker {
    pthread_t thread;
    const char *file;
    float loss[3];
    int64_t saved;
    bool ok;
} worker;

/* No cmocka here: its assertions jump on the thread that runs the test. */
static void *work(void *arg)
{
    worker *w = arg;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = ctx ? gcut_load(ctx, w->file, NULL) : NULL;
    gcut_options o = GCUT_OPTIONS_DEFAULT;
    o.optimizer = "adamw(lr=0.01)";
    o.threads = 2;
    for (int i = 0; g && i < 10; i++) w->saved = gcut_plan_saved_bytes(gcut_plan_of(g, &o));
    gcut_step *s = g ? gcut_compile(g, &o) : NULL;
    w->ok = s != NULL;
    for (int i = 0; s && i < 3; i++) {
        gcut_value_info v;
        w->ok = w->ok && gcut_run(s) == GCUT_OK && gcut_step_value(s, "loss", &v);
        if (w->ok) w->loss[i] = *(float *)v.at;
    }
    gcut_ctx_free(ctx);
    return NULL;
}

/* A backward half is a function like any other: its saved values are bound like inputs. */
/* Launches of a body are timed as often as they run; a step that was not compiled for it has no clock. */
static void profiled(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g =
        graph_from(ctx, "func @f(param %w: f32[8, 8], input %x: f32[5, 3, 8]) -> (out l: f32[]) {\n"
                        "  %h0 = full(shape=[3, 8], value=0)\n"
                        "  %h: f32[3, 8] = scan(%h0, %x, carries=1) body(%a: f32[3, 8], %e: f32[3, 8]) {\n"
                        "    %p = matmul(%a, %w)\n    %q = add(%p, %e)\n    %r = tanh(%q)\n"
                        "    yield %r\n  }\n"
                        "  %l = sum(%h)\n  return %l\n}\n");
    gcut_options o = GCUT_OPTIONS_DEFAULT;
    gcut_profile p;
    gcut_step *plain = gcut_compile(g, &o);
    must_run(ctx, plain);
    assert_int_equal(gcut_step_profile(plain, 2, &p), GCUT_EUSAGE);
    gcut_clear_errors(ctx);
    o.profile = true;
    gcut_step *s = gcut_compile(g, &o);
    assert_non_null(s);
    assert_int_equal(gcut_step_profile(s, 0, &p), GCUT_EUSAGE);
    gcut_clear_errors(ctx);
    assert_int_equal(gcut_step_profile(s, 3, &p), GCUT_OK);
    assert_int_equal(p.steps, 3);
    assert_true(p.n > 0 && p.median_ns > 0 && p.p90_ns >= p.median_ns && p.predicted_ns > 0);
    double flops = 0;
    bool inside = false;
    for (size_t i = 0; i < p.n; i++) {
        assert_true(p.at[i].measured_ns >= 0);
        inside = inside || p.at[i].runs == 5;
        flops += p.at[i].flops;
    }
    assert_true(inside && flops == p.flops && flops >= 5 * 2.0 * 3 * 8 * 8);
    must_run(ctx, s);
    gcut_value_info a, b;
    assert_true(gcut_step_value(plain, "grad.w", &a) && gcut_step_value(s, "grad.w", &b));
    assert_memory_equal(a.at, b.at, (size_t)a.bytes);
    gcut_ctx_free(ctx);
}

static void a_half_alone(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options opt = GCUT_OPTIONS_DEFAULT;
    opt.forward_only = true;
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/corpus/split.gcut", "scale.bwd");
    gcut_check_report r = gcut_ladder(g, &opt, NULL, 0, -1);
    if (!r.ok) fail_msg("%s%s", r.text ? r.text : "", gcut_last_error(ctx));
    gcut_ctx_free(ctx);
}

static void two_contexts_in_two_threads(void **state)
{
    (void)state;
    static const char *const files[] = {GCUT_SOURCE_DIR "/tests/corpus/mlp_small.gcut",
                                        GCUT_SOURCE_DIR "/tests/corpus/softmax_regression.gcut"};
    worker w[4], alone[2];
    memset(w, 0, sizeof w);
    memset(alone, 0, sizeof alone);
    for (int k = 0; k < 2; k++) {
        alone[k].file = files[k];
        work(&alone[k]);
        assert_true(alone[k].ok);
    }
    for (int k = 0; k < 4; k++) {
        w[k].file = files[k % 2];
        assert_int_equal(pthread_create(&w[k].thread, NULL, work, &w[k]), 0);
    }
    for (int k = 0; k < 4; k++) pthread_join(w[k].thread, NULL);
    for (int k = 0; k < 4; k++) {
        assert_true(w[k].ok);
        assert_int_equal(w[k].saved, alone[k % 2].saved);
        assert_memory_equal(w[k].loss, alone[k % 2].loss, sizeof w[k].loss);
    }
}

/* ---- memory ---- */

/* Counts blocks, and refuses one request; every block is preceded by its count of bytes. */
typedef struct failing {
    long calls, fail_at, blocks;
} failing;

static void *allocate(void *user, void *block, size_t size)
{
    failing *f = user;
    if (size == 0) {
        if (block) f->blocks--;
        free(block);
        return NULL;
    }
    if (f->calls++ == f->fail_at) return NULL;
    void *p = realloc(block, size);
    if (!block && p) f->blocks++;
    return p;
}

enum { EMIT, PEAK, SAVED, FOLLOW, WHY, COMPARE, SWEEP, NWAYS };

/* Load and plan in one of those ways; true when all of it went well. */
static bool all_of_it(failing *f, const char *graph, int way)
{
    gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){allocate, f});
    if (!ctx) return false;
    gcut_options o = GCUT_OPTIONS_DEFAULT;
    bool ok = false, equal;
    gcut_graph *g = gcut_load(ctx, graph, NULL);
    if (way == PEAK) o.budget = 1 << 30;
    if (way == SAVED) o.saved_budget = 100000;
    if (way == FOLLOW) o.plan = in_tmp("sweep.json");
    switch (g ? way : NWAYS) {
    case EMIT:
        ok = gcut_plan_of(g, NULL) && gcut_emit_files(g, NULL, in_tmp("sweep"), false) == GCUT_OK;
        break;
    case PEAK:
    case SAVED:
    case FOLLOW: ok = gcut_plan_of(g, &o); break;
    case WHY: ok = gcut_explain(g, &o, "%h", true); break;
    case COMPARE:
        ok = gcut_compare_plans(ctx, in_tmp("sweep.json"), in_tmp("sweep.json"), true, &equal);
        break;
    case SWEEP: ok = gcut_sweep_of(g, &o, NULL).text; break;
    }
    if (!ok) {
        if (gcut_last_status(ctx) != GCUT_ENOMEM)
            print_error("way %d, request %ld refused: status %d, %s\n", way, f->fail_at,
                        (int)gcut_last_status(ctx), gcut_last_error(ctx));
        assert_int_equal(gcut_last_status(ctx), GCUT_ENOMEM);
        assert_true(strlen(gcut_last_error(ctx)) > 0);
    }
    gcut_ctx_free(ctx);
    return ok;
}

static void write_plan(const char *graph, const char *path)
{
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, graph, NULL);
    FILE *f = fopen(path, "w");
    assert_true(g && f);
    gcut_plan_print_json(gcut_plan_of(g, NULL), f);
    assert_int_equal(fclose(f), 0);
    gcut_ctx_free(ctx);
}

/* Each request for memory in turn; of the thousands of a sweep, one of 29. */
static void refuse_each(const char *graph, int way)
{
    failing all = {.fail_at = -1};
    assert_true(all_of_it(&all, graph, way));
    assert_int_equal(all.blocks, 0);
    assert_true(all.calls > 10);
    for (long k = 0; k <= all.calls; k += way == SWEEP && k + 29 < all.calls ? 29 : 1) {
        failing one = {.fail_at = k};
        bool done = all_of_it(&one, graph, way);
        if (one.blocks) fail_msg("way %d: %ld blocks are lost when request %ld fails", way, one.blocks, k);
        if (done != (k == all.calls)) fail_msg("way %d: request %ld of %ld refused", way, k, all.calls);
    }
}

static void every_allocation_may_fail(void **state)
{
    static const char squash[] =
        "func @f[N in 1..64](param %w: f32[N, 8], input %x: f32[N, 8]) -> (out loss: "
        "f32[]) {\n  %a = mul(%x, %w)\n  %h = tanh(%a)\n  %p = exp(%h)\n"
        "  %loss = sum(%p)\n  return %loss\n}\n";
    (void)state;
    for (int k = 0; k < 2; k++) {
        FILE *f = fopen(in_tmp("sweep.gcut"), "w");
        assert_non_null(f);
        fprintf(f, "gcut 1\n%s", k ? squash : line_fit);
        assert_int_equal(fclose(f), 0);
        char graph[128], plan[128];
        snprintf(graph, sizeof graph, "%s", in_tmp("sweep.gcut"));
        snprintf(plan, sizeof plan, "%s", in_tmp("sweep.json"));
        write_plan(graph, plan);
        for (int way = k ? EMIT + 1 : EMIT; way < (k ? NWAYS : EMIT + 1); way++) refuse_each(graph, way);
    }
    write_plan(GCUT_SOURCE_DIR "/tests/loops/rnn.gcut", in_tmp("sweep.json"));
    refuse_each(GCUT_SOURCE_DIR "/tests/loops/rnn.gcut", FOLLOW);
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
        cmocka_unit_test(elementwise_ops_have_macros),
        cmocka_unit_test(ladder_of_a_step_from_noise),
        cmocka_unit_test(gradcheck_near_kinks),
        cmocka_unit_test(gradcheck_with_a_state),
        cmocka_unit_test(apply_takes_attributes_as_text),
        cmocka_unit_test(builders_of_models),
        cmocka_unit_test(binding),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(indices_out_of_range),
        cmocka_unit_test(not_numbers_survive),
        cmocka_unit_test(missing_tools_and_folders),
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(profiled),
        cmocka_unit_test(a_half_alone),
        cmocka_unit_test(two_contexts_in_two_threads),
        cmocka_unit_test(every_allocation_may_fail),
    };
    if (!mkdtemp(tmp)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", tmp);
    return system(cmd) == 0 ? failed : 1;
}
