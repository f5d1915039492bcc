/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Derivatives that do not fit the function whose call states them: each message names both functions, the
 * parameter or result, both types, the line of the call, and what to write instead.
 */
#include "backends.h"

#include "custom.h"

#define F                                                                                                    \
    "func @f[N](param %w: f32[N], input %x: f32[N, 2], input %i: i64[N])\n"                                  \
    "    -> (out y: f32[N], out k: i64[N], out c: f32[2, N]) {\n"                                            \
    "  %c = transpose(%x, perm=[1, 0]) return %w, %i, %c }\n"
#define CALL                                                                                                 \
    "func @g[N](param %w: f32[N], input %x: f32[N, 2], input %i: i64[N]) -> (out y: f32[N]) {\n"             \
    "  %y, %k, %c = call(@f, %w, %x, %i, vjp=@v) return %y }\n"

typedef struct refusal {
    const char *text, *error, *hint;
} refusal;

static const refusal refusals[] = {
    {F "func @v[N](input %w: f32[N]) -> (grad w: f32[N]) { return %w }\n" CALL,
     "@v is given as the derivative of @f, but takes the cotangent of none of its results",
     "it takes at least one of: `cotan %dy: f32[N]`, `cotan %dc: f32[2, N]`"},
    {F "func @v[N](cotan %dz: f32[N]) -> (grad w: f32[N]) { return %dz }\n" CALL,
     "cotan %dz of @v is the cotangent of no result of @f",
     "a cotangent is named after a result of @f: `cotan %dy: f32[N]`, `cotan %dc: f32[2, N]`"},
    {F "func @v[N](input %dy: f32[N]) -> (grad w: f32[N]) { return %dy }\n" CALL,
     "@v takes %dy, but @f has no parameter or result of that name", "declare it `cotan %dy: f32[N]`"},
    {F "func @v[N](cotan %dy: f32[N], input %u: f32[N]) -> (grad w: f32[N]) { return %dy }\n" CALL,
     "@v takes %u, but @f has no parameter or result of that name",
     "what a derivative saves is named after parameters and results of @f"},
    {F "func @v[N](cotan %dy: f64[N]) -> (grad w: f32[N]) { %z = cast(%dy, to=f32) return %z }\n" CALL,
     "cotan %dy of @v is f64[N], but the result y of @f is f32[N]", "declare it `cotan %dy: f32[N]`"},
    {F "func @v[N](cotan %dy: f32[N], input %x: f32[N]) -> (grad w: f32[N]) { return %dy }\n" CALL,
     "input %x of @v is f32[N], but the parameter %x of @f is f32[N, 2]", "declare it `input %x: f32[N, 2]`"},
    {F "func @v[N](cotan %dy: f32[N], cotan %dk: i64[N]) -> (grad w: f32[N]) { return %dy }\n" CALL,
     "cotan %dk of @v is of the result k of @f, which is i64[N]",
     "only float results have cotangents: remove %dk"},
    {F "func @v[N](cotan %dy: f32[N], input %x: f32[N, 3]) -> (grad w: f32[N]) { return %dy }\n" CALL,
     "%x of @v is f32[N, 3], here f32[N, 3], but the call has f32[N, 2]",
     "the parameter %x of @f is f32[N, 2]"},
    {F "func @v[N](cotan %dy: f32[N], input %c: f32[N, N]) -> (grad w: f32[N]) { return %dy }\n"
       "func @g(param %w: f32[3], input %x: f32[3, 2], input %i: i64[3]) -> (out y: f32[3]) {\n"
       "  %y, %k, %c = call(@f, %w, %x, %i, vjp=@v) return %y }\n",
     "%c of @v is f32[N, N], here f32[3, 3], but the call has f32[2, 3]", "the result c of @f is f32[2, N]"},
    {F "func @v[N](cotan %dy: f32[N]) -> () { return }\n" CALL,
     "@v is given as the derivative of @f, but gives no gradient",
     "return some of: `grad w: f32[N]`, `grad x: f32[N, 2]`"},
    {F "func @v[N](cotan %dy: f32[N]) -> (out w: f32[N]) { return %dy }\n" CALL,
     "@v is given as the derivative of @f, but has the result 'out w', which is no gradient",
     "return some of: `grad w: f32[N]`, `grad x: f32[N, 2]`"},
    {F "func @v[N](cotan %dy: f32[N]) -> (grad u: f32[N]) { return %dy }\n" CALL,
     "'grad u' of @v is of no parameter of @f",
     "a gradient is named after a parameter of @f: `grad w: f32[N]`"},
    {F "func @v[N](cotan %dy: f32[N]) -> (grad x: f32[N]) { return %dy }\n" CALL,
     "'grad x' of @v is f32[N], but the parameter %x of @f is f32[N, 2]", "return it as `grad x: f32[N, 2]`"},
    {F "func @v[N](cotan %dy: f32[N]) -> (grad w: f64[N]) { %z = cast(%dy, to=f64) return %z }\n" CALL,
     "'grad w' of @v is f64[N], but the parameter %w of @f is f32[N]", "return it as `grad w: f32[N]`"},
    {F "func @v[N](cotan %dy: f32[N], input %i: i64[N]) -> (grad i: i64[N]) { return %i }\n" CALL,
     "'grad i' of @v is of the parameter %i of @f, which is i64[N]", "only float parameters have gradients"},
    {F CALL, "the function @v is not defined before this line",
     "a function stands before those that call it"},
    {F "func @v[N](cotan %dy: f32[N]) -> (grad w: f32[N]) { return %dy }\n"
       "func @g[N](param %w: f32[N], input %x: f32[N, 2], input %i: i64[N]) -> (out y: f32[N]) {\n"
       "  %y, %k, %c = call(@f, %w, %x, vjp=@v, %i) return %y }\n",
     "expected an attribute: operands come before attributes", NULL},
    {F "func @v[N](cotan %dy: f32[N]) -> (grad w: f32[N]) { return %dy }\n"
       "func @g[N](param %w: f32[N], input %x: f32[N, 2], input %i: i64[N]) -> (out y: f32[N]) {\n"
       "  %y, %k, %c = call(@f, %w, %x, %i, vjp=@v, vjp=@v) return %y }\n",
     "attribute 'vjp' is given twice", NULL},
    {F "func @v[N](cotan %dy: f32[N]) -> (grad w: f32[N]) { return %dy }\n"
       "func @g[N](param %w: f32[N], input %x: f32[N, 2], input %i: i64[N]) -> (out y: f32[N]) {\n"
       "  %y, %k, %c = call(@f, %w, %x, %i, vjp=\"v\") return %y }\n",
     "the function that is the derivative, such as @f.vjp", NULL},
    {F "func @v[N](cotan %dy: f32[N], saved %x: f32[N, 2]) -> (grad w: f32[N]) { return %dy }\n" CALL,
     "%x of @v is declared `saved`, which is for parameters of backward graphs",
     "declare it `input %x: f32[N, 2]`"},
    {F "func @v[N, M](cotan %dy: f32[N]) -> (grad w: f32[N]) { return %dy }\n" CALL,
     "no operand of @v determines its size M", NULL},
    {"func @s[N](input %x: f32[N]) -> (out y: f32[N], grad x: f32[N]) { return %x, %x }\n"
     "func @g[N](param %w: f32[N]) -> (out y: f32[N]) { %y, %z = call(@s, %w) return %y }\n",
     "@s has the result 'grad x'; only functions with nothing but `out` are called", NULL},
};

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        const refusal *r = &refusals[k];
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        assert_null(load_text(ctx, r->text));
        const char *said = gcut_last_error(ctx);
        if (!strstr(said, r->error) || (r->hint && !strstr(said, r->hint)) || !strstr(said, ":"))
            fail_msg("refusal %zu: expected \"%s\" and \"%s\", found\n%s", k, r->error,
                     r->hint ? r->hint : "", said);
        gcut_ctx_free(ctx);
    }
}

/* In C the place is the caller's line, and a failed call fails the graph. */
static void misuse_from_c_is_refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    functions s = straight_functions(ctx);
    gcut_val v = gcut_param(s.g, "w", GCUT_F64, GCUT_SHAPE(4)), q;
    int line = __LINE__ + 1;
    gcut_custom(s.g, s.f, s.vjp, &v, 1, &q, 1);
    char place[64];
    snprintf(place, sizeof place, "test_custom_wrong.c:%d", line);
    assert_int_equal(q.id, 0);
    assert_false(gcut_graph_ok(s.g));
    assert_non_null(strstr(gcut_last_error(ctx), "operand 1 is f64[4], but @ste takes f32[N]"));
    if (!strstr(gcut_last_error(ctx), place)) fail_msg("%s", gcut_last_error(ctx));
    gcut_ctx_free(ctx);

    ctx = gcut_ctx_new(NULL);
    s = straight_functions(ctx);
    v = gcut_param(s.g, "w", GCUT_F32, GCUT_SHAPE(4));
    gcut_custom(s.g, s.f, s.f, &v, 1, &q, 1); /* no derivative */
    assert_int_equal(q.id, 0);
    assert_non_null(strstr(gcut_last_error(ctx), "takes the cotangent of none of its results"));
    gcut_ctx_free(ctx);

    ctx = gcut_ctx_new(NULL);
    s = straight_functions(ctx);
    v = gcut_input(s.vjp, "z", GCUT_F32, GCUT_SCALAR);
    gcut_custom(s.vjp, s.f, s.vjp, &v, 1, &q, 1);
    assert_non_null(strstr(gcut_last_error(ctx), "a function cannot call itself"));
    gcut_ctx_free(ctx);

    ctx = gcut_ctx_new(NULL);
    s = straight_functions(ctx);
    v = gcut_param(s.g, "w", GCUT_F32, GCUT_SHAPE(4));
    gcut_custom(s.g, s.f, NULL, &v, 1, &q, 1); /* quiet, like every null operand */
    assert_int_equal(q.id, 0);
    gcut_ctx_free(ctx);
}

/* What a derivative gives is of another function. */
static void a_derivative_is_no_step(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = graph_from(ctx, STE);
        assert_string_equal(gcut_graph_name(g), "ste.vjp");
        gcut_options o = TEST_OPTIONS;
        o.forward_only = k == 2;
        assert_true(k ? !gcut_compile(g, &o) : !gcut_plan_new(g, &o));
        const char *said = gcut_last_error(ctx);
        if (!strstr(said, "@ste.vjp is a derivative of another function, and no step: 'grad x' is of none") ||
            !strstr(said, "take the function whose call states it"))
            fail_msg("%s", said);
        gcut_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(misuse_from_c_is_refused),
        cmocka_unit_test(a_derivative_is_no_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
