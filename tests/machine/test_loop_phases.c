/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loops with several long functions, which walk strips of columns part by part: against the interpreter, at
 * sizes around those of strips, lanes and chunks.
 */
#include "harness.h"

#include "gradcut/gradcut.h"
#include "public.h"

/* One stretch with a total; a comparison crosses parts, and gradients meet in place. */
static const char chain[] = "gcut 1\n"
                            "func @chain[N in 1..](param %x: f32[N]) -> (out loss: f32[]) {\n"
                            "  %a = tanh(%x)\n"
                            "  %b = mul(%a, %x)\n"
                            "  %c = exp(%b)\n"
                            "  %d = gt(%c, %a)\n"
                            "  %e = sigmoid(%c)\n"
                            "  %f = gelu(%e)\n"
                            "  %g = select(%d, %f, %a)\n"
                            "  %h = silu(%g)\n"
                            "  %i = add(%h, %b)\n"
                            "  %loss = sum(%i, axes=[0])\n"
                            "  return %loss\n"
                            "}\n";

/* Rows with phases, a column reduction for the bias, a result that a later phase reads back. */
static const char rows[] =
    "gcut 1\n"
    "func @rows[N in 1..](param %x: f32[7, N], param %bias: f32[N]) -> (out y: f32[7, N], "
    "out loss: f32[]) {\n"
    "  %wide = broadcast(%bias, shape=[7, N], axes=[1])\n"
    "  %a = add(%x, %wide)\n"
    "  %b = tanh(%a)\n"
    "  %c = gelu(%b)\n"
    "  %d = sigmoid(%c)\n"
    "  %y = mul(%d, %a)\n"
    "  %p = softmax(%y, axis=1)\n"
    "  %q = exp(%p)\n"
    "  %r = silu(%q)\n"
    "  %s = mul(%r, %b)\n"
    "  %loss = sum(%s, axes=[0, 1])\n"
    "  return %y, %loss\n"
    "}\n";

/* f64 has functions of libm in its parts, and arrays twice as long. */
static const char wide[] = "gcut 1\n"
                           "func @wide[N in 1..](param %x: f64[N]) -> (out loss: f64[]) {\n"
                           "  %a = tanh(%x)\n"
                           "  %b = exp(%a)\n"
                           "  %c = sigmoid(%b)\n"
                           "  %d = mul(%a, %c)\n"
                           "  %e = erf(%d)\n"
                           "  %loss = sum(%e, axes=[0])\n"
                           "  return %loss\n"
                           "}\n";

static void check(const char *text, const char *loss, const char *optimizer, int64_t n)
{
    const char *path = GCUT_BINARY_DIR "/test_loop_phases.gcut";
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_size at = {"N", n};
    gcut_options opt = TEST_OPTIONS;
    opt.at = &at;
    opt.nat = 1;
    opt.threads = 3;
    opt.loss = loss;
    opt.optimizer = optimizer;
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    gcut_check_report r = crosscheck(g, &opt, NULL, 0, 0);
    if (!r.ok) fail_msg("N=%lld\n%s\n%s%s", (long long)n, text, r.text ? r.text : "", gcut_last_error(ctx));
    gcut_ctx_free(ctx);
    remove(path);
}

static void test_flat(void **state)
{
    (void)state;
    check(chain, NULL, NULL, 65);
    check(chain, NULL, "adamw", 4099);
}

static void test_rows(void **state)
{
    (void)state;
    check(rows, "loss", NULL, 63);
    check(rows, "loss", NULL, 257);
}

static void test_double(void **state)
{
    (void)state;
    check(wide, NULL, NULL, 257);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flat), cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_double)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
