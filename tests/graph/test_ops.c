/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The typed functions of gradcut/ops.h against the text IR: each value of tests/harness/every_op.h is built a second
 * time by gcut_apply, whose attributes are read by the text's own parser, and both nodes are printed.
 */
#define _GNU_SOURCE
#include "harness.h"

#include "api.h"
#include "every_op.h"
#include "graph/graph.h"

static bool seen[GCUT_NOPS];

/* The op of v's line in the text: "softmax(%r, axis=2)". */
static const char *line_of(gcut_arena *a, gcut_val v)
{
    gcut_text t = {.arena = a};
    gcut_print_graph(v.graph, &(gcut_print_options){.no_loc = true}, &t);
    const char *name = gcut_printf(a, "%%%s: ", v.graph->values.at[v.id].name), *at = t.at;
    while ((at = strstr(at, name)) && at > t.at && at[-1] != ' ') at++; /* the defining one begins a line */
    assert_non_null(at);
    at += strlen(name);
    return gcut_strndup(a, at, strcspn(at, "\n"));
}

static void compare(void *user, gcut_val made, const char *op, const gcut_val *in, int n, const char *attrs)
{
    gcut_ctx *ctx = user;
    if (!made.id) fail_msg("%s: %s", op, gcut_last_error(ctx));
    gcut_graph *g = made.graph;
    gcut_arena *a = g->module->arena;
    seen[gcut_def(g, made.id)->op] = true;
    gcut_val twin, more[3];
    int nres = gcut_def(g, made.id)->nres;
    gcut_apply_multi(g, op, in, n, attrs, more, nres);
    twin = more[0];
    if (!twin.id) fail_msg("%s(%s): %s", op, attrs, gcut_last_error(ctx));
    const char *x = line_of(a, made), *y = line_of(a, twin);
    if (nres > 1) x = strchr(x, '='), y = strchr(y, '='); /* the others' names differ */
    assert_string_equal(x, y);
}

static void functions_are_the_ops(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    every_op(g, compare, ctx);
    assert_true(gcut_graph_ok(g));
    for (int op = 0; op < GCUT_NOPS; op++)
        if (gcut_op_get((gcut_op)op)->c_name && !seen[op])
            fail_msg("tests/harness/every_op.h does not call %s", gcut_op_get((gcut_op)op)->name);
    gcut_ctx_free(ctx);
}

/* A value in the place of a macro's argument is evaluated once, also in nested calls. */
static void arguments_are_evaluated_once(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(3, 4));
    gcut_val all[] = {x, x};
    int k = 0, axis = 0;
    gcut_val y = gcut_gelu(gcut_sum(gcut_elu(all[k++], 0.5), axis++));
    assert_int_equal(k, 1);
    assert_int_equal(axis, 1);
    assert_int_equal(gcut_shape_of(y).rank, 1);
    assert_int_equal(g->nodes.n, 3);
    gcut_ctx_free(ctx);
}

/* A symbol is none of the small numbers below zero. */
static void negative_sizes_are_no_symbols(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_dim N = gcut_dim_sym(g, "N", 1, GCUT_DIM_MAX), M = gcut_dim_sym(g, "M", 1, GCUT_DIM_MAX);
    assert_that(N, <, -(INT64_C(1) << 62));
    assert_that(M, <, N);
    assert_true(gcut_dim_mul(g, N, M) < -(INT64_C(1) << 62));
    static const int64_t bad[] = {
        -1, -2, -7, -(INT64_C(1) << 32), -(INT64_C(1) << 40), -(INT64_C(1) << 62), INT64_MIN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char name[16];
        snprintf(name, sizeof name, "h%zu", i);
        gcut_graph *h = gcut_graph_new(ctx, name);
        gcut_dim_sym(h, "K", 1, 8);
        gcut_val x = gcut_input(h, "x", GCUT_F32, GCUT_SHAPE(bad[i], 4));
        if (x.id || gcut_graph_ok(h)) fail_msg("a size of %lld passed", (long long)bad[i]);
        if (i < 4) assert_says(ctx, GCUT_EUSAGE, "input 'x': the size -");
        gcut_clear_errors(ctx);
    }
    gcut_ctx_free(ctx);
}

static void names_of_values(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(3, 4));
    gcut_val s = gcut_name(gcut_softmax(x, -1), "scores");
    for (int k = 0; k < 300; k++) { /* more than the table of names holds at first */
        char name[16];
        snprintf(name, sizeof name, "step%d", k);
        s = gcut_name(gcut_scale(s, 1 + k), name);
        if (k % 3 == 0) s = gcut_name(s, gcut_printf(g->module->arena, "again%d", k));
    }
    gcut_output(g, "loss", gcut_sum(s));
    const char *text = gcut_show(g, NULL, GCUT_STAGE_PRIMAL, false);
    if (!text) fail_msg("%s", gcut_last_error(ctx));
    assert_non_null(strstr(text, "%scores: f32[3, 4] = softmax(%x, axis=1)"));
    assert_non_null(strstr(text, "%step298: "));
    assert_non_null(strstr(text, "%again297: "));
    assert_null(strstr(text, "%step297: "));
    gcut_name(s, "scores");
    assert_says(ctx, GCUT_EUSAGE, "there is already a value %scores in @g");
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_the_ops), cmocka_unit_test(arguments_are_evaluated_once),
        cmocka_unit_test(negative_sizes_are_no_symbols), cmocka_unit_test(names_of_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
