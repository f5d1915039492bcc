/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lists of values that a call of the builder reads or writes: NULL, or of a negative number, they are an error that names the
 * function and the argument, or where no operand says which graph it is an error of, null results.
 */
#include "harness.h"

#include "gradcut/gradcut.h"
#include "gradcut/ops.h"
#include "gradcut/shorthand.h"

/* What is said (NULL: nothing), and the call, over a graph g, a function h of one result, a value x f32[2, 3], its sum s,
 * and results y. */
#define CALLS                                                                                                \
    CALL("gcut_apply: `in`, a list of 1, is NULL", gcut_apply(g, "softmax", NULL, 1, "axis=1"))              \
    CALL("gcut_apply: a negative number of values, -1, in `in`", gcut_apply(g, "softmax", &x, -1, "axis=1")) \
    CALL("gcut_apply: `in`, a list of 1, is NULL",                                                           \
         gcut_apply_multi(g, "topk", NULL, 1, "k=1, axis=0", y, 2))                                          \
    CALL("gcut_apply_multi: `out`, a list of 2, is NULL",                                                    \
         gcut_apply_multi(g, "topk", &x, 1, "k=1, axis=0", NULL, 2))                                         \
    CALL("negative number of values, -1, in `out`",                                                          \
         gcut_apply_multi(g, "topk", &x, 1, "k=1, axis=0", y, -1))                                           \
    CALL(NULL, gcut_concat(NULL, 2, 0))                                                                      \
    CALL(NULL, gcut_einsum_at(GCUT_HERE, "ij,jk", NULL, 2))                                                  \
    CALL("gcut_grad: `xs`, a list of 1, is NULL", gcut_grad(s, NULL, 1, y))                                  \
    CALL("gcut_grad: `dxs`, a list of 1, is NULL", gcut_grad(s, &x, 1, NULL))                                \
    CALL("gcut_grad: a negative number of values, -1, in `xs`", gcut_grad(s, &x, -1, y))                     \
    CALL("gcut_vjp: `ys`, a list of 1, is NULL", gcut_vjp(NULL, &x, 1, &x, 1, y))                            \
    CALL("gcut_vjp: `dys`, a list of 1, is NULL", gcut_vjp(&x, NULL, 1, &x, 1, y))                           \
    CALL("gcut_vjp: `xs`, a list of 1, is NULL", gcut_vjp(&x, &x, 1, NULL, 1, y))                            \
    CALL("gcut_vjp: `dxs`, a list of 1, is NULL", gcut_vjp(&x, &x, 1, &x, 1, NULL))                          \
    CALL("gcut_vjp: a negative number of values, -1, in `ys`", gcut_vjp(&x, &x, -1, &x, 1, y))               \
    CALL(NULL, gcut_vjp(NULL, NULL, 1, NULL, 1, y))                                                          \
    CALL("gcut_jvp: `ys`, a list of 1, is NULL", gcut_jvp(NULL, 1, &x, &x, 1, y))                            \
    CALL("gcut_jvp: `xs`, a list of 1, is NULL", gcut_jvp(&x, 1, NULL, &x, 1, y))                            \
    CALL("gcut_jvp: `txs`, a list of 1, is NULL", gcut_jvp(&x, 1, &x, NULL, 1, y))                           \
    CALL("gcut_jvp: `tys`, a list of 1, is NULL", gcut_jvp(&x, 1, &x, &x, 1, NULL))                          \
    CALL("gcut_hvp: `xs`, a list of 1, is NULL", gcut_hvp(s, NULL, 1, &x, y))                                \
    CALL("gcut_hvp: `vs`, a list of 1, is NULL", gcut_hvp(s, &x, 1, NULL, y))                                \
    CALL("gcut_hvp: `hvs`, a list of 1, is NULL", gcut_hvp(s, &x, 1, &x, NULL))                              \
    CALL("gcut_hvp: a negative number of values, -1, in `xs`", gcut_hvp(s, &x, -1, &x, y))                   \
    CALL("gcut_scan: `carry`, a list of 1, is NULL",                                                         \
         gcut_scan(g, (&(gcut_loop){.ncarry = 1, .xs = &x, .nxs = 1, .body = first}), y))                    \
    CALL("gcut_scan: `xs`, a list of 1, is NULL",                                                            \
         gcut_scan(g, (&(gcut_loop){.carry = &s, .ncarry = 1, .nxs = 1, .body = first}), y))                 \
    CALL("gcut_scan: a negative number of values, -4, in `xs`",                                              \
         gcut_scan(g, (&(gcut_loop){.carry = &s, .ncarry = 1, .xs = &x, .nxs = -4, .body = first}), y))      \
    CALL("scan: `out`, a list of 1, is NULL",                                                                \
         gcut_scan(g, (&(gcut_loop){.carry = &s, .ncarry = 1, .xs = &x, .nxs = 1, .body = first}), NULL))    \
    CALL("gcut_while: `carry`, a list of 1, is NULL",                                                        \
         gcut_while(g, (&(gcut_loop){.ncarry = 1, .cond = first, .body = first}), y))                        \
    CALL("if: `out`, a list of 1, is NULL",                                                                  \
         gcut_if(gcut_full(g, GCUT_BOOL, GCUT_SHAPE(), 1), first, first, NULL, NULL, 1))                     \
    CALL("gcut_call: `in`, a list of 1, is NULL", gcut_call(g, h, NULL, 1, y, 1))                            \
    CALL("gcut_call: `out`, a list of 1, is NULL", gcut_call(g, h, &x, 1, NULL, 1))                          \
    CALL("gcut_call: a negative number of values, -1, in `in`", gcut_call(g, h, &x, -1, y, 1))

static void first(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)user;
    (void)body;
    if (in) out[0] = in[0];
}

static const struct {
    const char *says, *call;
} rows[] = {
#define CALL(says, ...) {says, #__VA_ARGS__},
    CALLS
#undef CALL
};

static void make_call(size_t row, gcut_graph *g, gcut_graph *h, gcut_val x, gcut_val s, gcut_val *y)
{
    size_t k = 0;
#define CALL(says, ...)                                                                                      \
    if (row == k++) __VA_ARGS__;
    CALLS
#undef CALL
}

static void lists_are_checked(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        TRY("%s", rows[k].call);
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_graph_new(ctx, "g"), *h = gcut_function(g, "h");
        gcut_output(h, "y", gcut_relu(gcut_param(h, "x", GCUT_F32, GCUT_SHAPE(2, 3))));
        const gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(2, 3)), s = gcut_sum(x);
        gcut_val y[2] = {x, x};
        assert_int_equal(gcut_error_count(ctx), 0);
        make_call(k, g, h, x, s, y);
        if (!rows[k].says) {
            assert_int_equal(gcut_error_count(ctx), 0);
        } else {
            assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
            if (!strstr(gcut_last_error(ctx), rows[k].says))
                fail_msg("'%s', not '%s'", gcut_last_error(ctx), rows[k].says);
        }
        gcut_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_are_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
