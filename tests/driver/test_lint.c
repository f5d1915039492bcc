/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_lint: models of the literature have no findings but kernels that only move; each rule has a small graph that it
 * finds and one, nearly the same, that it does not.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <jansson.h>

#include "api.h"
#include "gradcut/inspect.h"
#include "model_files.h"

static void check_json(const gcut_lint_report *r)
{
    json_error_t at;
    json_t *j = json_loads(r->json, 0, &at);
    if (!j) fail_msg("%s in line %d", at.text, at.line);
    assert_int_equal(json_array_size(json_object_get(j, "findings")), r->n);
    assert_int_equal(json_boolean_value(json_object_get(j, "ok")), r->n == 0);
    json_decref(j);
}

static void models(void **state)
{
    (void)state;
    glob_t files = model_files();
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (!strstr(files.gl_pathv[i], "/models/")) continue;
        gcut_ctx *ctx = new_ctx();
        gcut_lint_report *r = gcut_lint(gcut_load(ctx, files.gl_pathv[i], NULL), NULL);
        if (!r) fail_msg("%s: %s", files.gl_pathv[i], gcut_last_error(ctx));
        check_json(r);
        if (r->n) fail_msg("%s: %s of %%%s", files.gl_pathv[i], r->finding[0]->rule, r->finding[0]->value);
        gcut_free(r);
        gcut_ctx_free(ctx);
    }
    globfree(&files);
}

/* The finding of that rule; NULL: there is none. */
static const gcut_lint_finding *find(const gcut_lint_report *r, const char *rule)
{
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->finding[i]->rule, rule)) return r->finding[i];
    return NULL;
}

static void check(const char *rule, const char *text, const char *value, const char *says)
{
    gcut_ctx *ctx = new_ctx();
    gcut_options o = {.threads = 2};
    gcut_lint_report *r = gcut_lint(graph_from(ctx, text), &o);
    if (!r) fail_msg("%s", gcut_last_error(ctx));
    const gcut_lint_finding *x = find(r, rule);
    check_json(r);
    if (!value && x) fail_msg("%s of %%%s: %s in\n%s", rule, x->value, x->says, text);
    if (value && !x) fail_msg("no %s in\n%s", rule, text);
    if (value) {
        assert_string_equal(x->value, value);
        if (!strstr(x->says, says)) fail_msg("'%s' is not in '%s'", says, x->says);
        char *said = gcut_lint_text(ctx, r, NULL);
        assert_non_null(strstr(said, rule));
        assert_non_null(strstr(said, x->means));
        assert_non_null(strstr(said, x->instead));
        gcut_free(said);
    }
    gcut_free(r);
    gcut_ctx_free(ctx);
}

static const struct {
    const char *rule, *value, *says; /* what is found in the first */
    const char *found, *clean;
} rules[] = {
    {"unread_input", "z", "input",
     "func @f(param %w: f32[8], input %x: f32[8], input %z: f32[8]) -> (out loss: f32[]) {\n"
     "  %p = mul(%x, %w)\n  %loss = sum(%p, axes=[0])\n  return %loss\n}\n",
     "func @f(param %w: f32[8], input %x: f32[8], input %z: f32[8]) -> (out loss: f32[]) {\n"
     "  %p = mul(%x, %w)\n  %q = mul(%p, %z)\n  %loss = sum(%q, axes=[0])\n  return %loss\n}\n"},
    {"unused_value", "q", "exp",
     "func @f(param %w: f32[8], input %x: f32[8]) -> (out loss: f32[]) {\n"
     "  %p = mul(%x, %w)\n  %q = exp(%p)\n  %loss = sum(%p, axes=[0])\n  return %loss\n}\n",
     "func @f(param %w: f32[8], input %x: f32[8]) -> (out loss: f32[], out q: f32[8]) {\n"
     "  %p = mul(%x, %w)\n  %q = exp(%p)\n  %loss = sum(%p, axes=[0])\n  return %loss, %q\n}\n"},
    {"no_gradient", "v", "param",
     "func @f(param %w: f32[8], param %v: f32[8]) -> (out loss: f32[]) {\n"
     "  %s = stop_gradient(%v)\n  %p = mul(%s, %w)\n  %loss = sum(%p, axes=[0])\n  return %loss\n}\n",
     "func @f(param %w: f32[8], param %v: f32[8]) -> (out loss: f32[]) {\n"
     "  %p = mul(%v, %w)\n  %loss = sum(%p, axes=[0])\n  return %loss\n}\n"},
    {"stale_state", "m", "no state is updated",
     "func @f(param %w: f32[8], state %m: f32[8]) -> (out loss: f32[]) {\n"
     "  %p = sub(%w, %m)\n  %loss = sum(%p, axes=[0])\n  return %loss\n}\n",
     "func @f(param %w: f32[8], state %m: f32[8]) -> (out loss: f32[], next m: f32[8]) {\n"
     "  %p = sub(%w, %m)\n  %loss = sum(%p, axes=[0])\n  return %loss, %p\n}\n"},
    {"wide_broadcast", "d", "1,048,576 elements out of 1,024 and 1,024",
     "func @f(param %w: f32[1024], input %y: f32[1024]) -> (out loss: f32[]) {\n"
     "  %a = broadcast(%w, shape=[1024, 1024], axes=[0])\n  %b = broadcast(%y, shape=[1024, 1024], "
     "axes=[1])\n"
     "  %d = sub(%a, %b)\n  %loss = sum(%d, axes=[0, 1])\n  return %loss\n}\n",
     "func @f(param %w: f32[1024], input %y: f32[1024, 1024]) -> (out loss: f32[]) {\n"
     "  %a = broadcast(%w, shape=[1024, 1024], axes=[0])\n"
     "  %d = sub(%a, %y)\n  %loss = sum(%d, axes=[0, 1])\n  return %loss\n}\n"},
    {"dtype_island", "e", "2 ops in f64 between casts from and to f32",
     "func @f(param %w: f32[8]) -> (out loss: f32[]) {\n"
     "  %c = cast(%w, to=\"f64\")\n  %e = exp(%c)\n  %g = neg(%e)\n  %h = cast(%g, to=\"f32\")\n"
     "  %loss = sum(%h, axes=[0])\n  return %loss\n}\n",
     "func @f(param %w: f32[8]) -> (out loss: f64[]) {\n"
     "  %c = cast(%w, to=\"f64\")\n  %e = exp(%c)\n  %g = neg(%e)\n"
     "  %loss = sum(%g, axes=[0])\n  return %loss\n}\n"},
    {"dtype_island", "e", "1 op in bf16 between casts from and to f32",
     "func @f(param %w: f32[8]) -> (out loss: f32[]) {\n"
     "  %c = cast(%w, to=\"bf16\")\n  %e = exp(%c)\n  %h = cast(%e, to=\"f32\")\n"
     "  %loss = sum(%h, axes=[0])\n  return %loss\n}\n",
     /* The usual way of 16-bit training. */
     "func @f(param %w: bf16[8]) -> (out loss: f32[]) {\n"
     "  %c = cast(%w, to=\"f32\")\n  %e = exp(%c)\n  %g = cast(%e, to=\"bf16\")\n  %h = cast(%g, "
     "to=\"f32\")\n"
     "  %loss = sum(%h, axes=[0])\n  return %loss\n}\n"},
    {"log_of_softmax", "l", "of %s",
     "func @f(param %w: f32[8, 9]) -> (out loss: f32[]) {\n"
     "  %s = softmax(%w, axis=1)\n  %l = log(%s)\n  %loss = sum(%l, axes=[0, 1])\n  return %loss\n}\n",
     "func @f(param %w: f32[8, 9]) -> (out loss: f32[]) {\n"
     "  %s = softmax(%w, axis=1)\n  %l = exp(%s)\n  %loss = sum(%l, axes=[0, 1])\n  return %loss\n}\n"},
    {"softmax_twice", "loss", "of %s",
     "func @f(param %w: f32[8, 9], input %t: i32[8] #range(0, 9)) -> (out loss: f32[]) {\n"
     "  %s = softmax(%w, axis=1)\n  %loss = cross_entropy(%s, %t)\n  return %loss\n}\n",
     "func @f(param %w: f32[8, 9], input %t: i32[8] #range(0, 9)) -> (out loss: f32[]) {\n"
     "  %s = tanh(%w)\n  %loss = cross_entropy(%s, %t)\n  return %loss\n}\n"},
    {"any_index", "t", "%loss looks them up in an axis of 9",
     "func @f(param %w: f32[8, 9], input %t: i32[8]) -> (out loss: f32[]) {\n"
     "  %loss = cross_entropy(%w, %t)\n  return %loss\n}\n",
     "func @f(param %w: f32[8, 9], input %t: i32[8] #range(0, 9)) -> (out loss: f32[]) {\n"
     "  %loss = cross_entropy(%w, %t)\n  return %loss\n}\n"},
    {"index_range", "t", "from 0 to 9, in %loss over an axis of 9",
     "func @f(param %w: f32[8, 9], input %t: i32[8] #range(0, 10)) -> (out loss: f32[]) {\n"
     "  %loss = cross_entropy(%w, %t)\n  return %loss\n}\n",
     /* -100 is ignored */
     "func @f(param %w: f32[8, 9], input %t: i32[8] #range(-100, 9)) -> (out loss: f32[]) {\n"
     "  %loss = cross_entropy(%w, %t)\n  return %loss\n}\n"},
    {"index_range", "t", "from -2 to 8, in %loss over an axis of 9",
     "func @f(param %w: f32[8, 9], input %t: i32[8] #range(-2, 9)) -> (out loss: f32[]) {\n"
     "  %loss = nll(%w, %t, ignore=-1)\n  return %loss\n}\n",
     "func @f(param %w: f32[8, 9], input %t: i32[8] #range(-1, 9)) -> (out loss: f32[]) {\n"
     "  %loss = nll(%w, %t, ignore=-1)\n  return %loss\n}\n"},
    {"index_range", "t", "from -1 to 8, in %r over an axis of 9",
     "func @f(param %w: f32[9, 8], input %t: i32[4] #range(-1, 9)) -> (out loss: f32[]) {\n"
     "  %r = take(%w, %t)\n  %loss = sum(%r, axes=[0, 1])\n  return %loss\n}\n",
     "func @f(param %w: f32[8, 9], input %t: i32[4] #range(0, 9)) -> (out loss: f32[]) {\n"
     "  %r = take(%w, %t, axis=1)\n  %loss = sum(%r, axes=[0, 1])\n  return %loss\n}\n"},
    {"loop_product", "p", "of rows that the scan is over",
     "func @f(param %w: f32[8, 8], input %s0: f32[4, 8], input %xs: f32[16, 4, 8]) -> (out loss: f32[]) {\n"
     "  %s, %ys = scan(%s0, %xs, carries=1) body(%c: f32[4, 8], %x: f32[4, 8]) {\n"
     "    %p = matmul(%x, %w)\n    %q = add(%c, %p)\n    %t = tanh(%q)\n    yield %t, %t\n  }\n"
     "  %loss = sum(%s, axes=[0, 1])\n  return %loss\n}\n",
     "func @f(param %w: f32[8, 8], input %s0: f32[4, 8], input %xs: f32[16, 4, 8]) -> (out loss: f32[]) {\n"
     "  %s, %ys = scan(%s0, %xs, carries=1) body(%c: f32[4, 8], %x: f32[4, 8]) {\n"
     "    %p = matmul(%c, %w)\n    %q = add(%x, %p)\n    %t = tanh(%q)\n    yield %t, %t\n  }\n"
     "  %loss = sum(%s, axes=[0, 1])\n  return %loss\n}\n"},
    {"layout_change", "c", "concat, forward graph",
     "func @f(param %w: f32[512, 512], input %z: f32[512, 512]) -> (out loss: f32[], out c: f32[1024, 512]) "
     "{\n"
     "  %c = concat(%w, %z, axis=0)\n  %e = cumsum(%c, axis=0)\n  %loss = sum(%e, axes=[0, 1])\n  return "
     "%loss, %c\n}\n",
     "func @f(param %w: f32[512, 512], input %z: f32[512, 512]) -> (out loss: f32[]) {\n"
     "  %c = add(%w, %z)\n  %e = cumsum(%c, axis=0)\n  %loss = sum(%e, axes=[0, 1])\n  return %loss\n}\n"},
};

static void each_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        TRY("%s, %zu", rules[i].rule, i);
        check(rules[i].rule, rules[i].found, rules[i].value, rules[i].says);
        check(rules[i].rule, rules[i].clean, NULL, NULL);
    }
}

/* Every op that has indices for an operand; the shortest axis that they are looked up in has 8 elements. */
static void each_lookup(void **state)
{
    (void)state;
    static const struct {
        const char *indices, *r, *type; /* of t; the result and its type */
    } ops[] = {
        {"i64[4]", "take(%w, %t)", "f32[4, 9]"},
        {"i64[9]", "pick(%w, %t, axis=0)", "f32[9]"},
        {"i64[4, 9]", "take_along(%w, %t, axis=0)", "f32[4, 9]"},
        {"i64[4, 2]", "take_nd(%w, %t)", "f32[4]"},
        {"i64[4]", "one_hot(%t, n=8)", "f32[4, 8]"},
        {"i64[4]", "bounded(%t, of=8)", "i64[4]"},
        {"i64[8]", "scatter_add(%w, %t, %w)", "f32[8, 9]"},
        {"i64[8, 9]", "scatter_add_along(%w, %t, %w, axis=0)", "f32[8, 9]"},
        {"i64[4, 2]", "scatter_add_nd(%w, %t, %u)", "f32[8, 9]"},
        {"i64[9]", "cross_entropy(%v, %t)", "f32[]"},
        {"i64[9]", "nll(%v, %t)", "f32[]"},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        static const char *const ranges[] = {"", " #range(0, 9)", " #range(0, 8)"};
        TRY("%s", ops[i].r);
        for (size_t k = 0; k < 3; k++) {
            char text[600];
            snprintf(
                text, sizeof text,
                "func @f(param %%w: f32[8, 9], param %%v: f32[9, 8], param %%u: f32[4], input %%t: %s%s)\n"
                "  -> (out loss: f32[], out r: %s) {\n  %%r = %s\n"
                "  %%loss = sum(%%u, axes=[0])\n  return %%loss, %%r\n}\n",
                ops[i].indices, ranges[k], ops[i].type, ops[i].r);
            check("any_index", text, k == 0 ? "t" : NULL, "%r looks them up in an axis of 8");
            check("index_range", text, k == 1 ? "t" : NULL, "from 0 to 8, in %r over an axis of 8");
        }
    }
}

static void refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, "func @f(input %x: f32[8, 9]) -> (out y: i64[8]) {\n"
                                    "  %y = argmax(%x, axis=1)\n  return %y\n}\n");
    assert_null(gcut_lint(g, NULL));
    assert_says(ctx, GCUT_EGRAD, "no float result to differentiate");
    gcut_lint_report *r = gcut_lint(g, &(gcut_options){.forward_only = true});
    assert_non_null(r);
    assert_int_equal(r->n, 0);
    assert_null(gcut_lint_text(ctx, r, &(gcut_table_options){.top = -3}));
    assert_null(gcut_lint_text(ctx, NULL, NULL));
    assert_null(gcut_lint(NULL, NULL));
    gcut_free(r);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models),
        cmocka_unit_test(each_rule),
        cmocka_unit_test(each_lookup),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
