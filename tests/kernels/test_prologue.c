/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operands of products that are computed while they are packed: of sizes at which products pack, and at which
 * they do not.  The interpreter agrees; neither threads nor what is saved change a bit; the peak is
 * predicted.
 */
#include "harness.h"

#include "api.h"
#include "nightly.h"
#include "public.h"

/* The gelu and the normed rows of a transformer's second half; the batch decides whether products pack. */
static gcut_graph *block(gcut_ctx *ctx)
{
    static const char text[] =
        "func @block[N in 1..](input %x: f32[N, 576], param %g: f32[576], param %c: f32[576], param %w: "
        "f32[576, 640],\n"
        "                      param %b: f32[640], param %v: f32[640, 576]) -> (out loss: f32[]) {\n"
        "  %n = layer_norm(%x, %g, %c)\n"
        "  %p = matmul(%n, %w)\n"
        "  %q = broadcast(%b, shape=[N, 640], axes=[1])\n"
        "  %h = add(%p, %q)\n"
        "  %a = gelu(%h)\n"
        "  %y = matmul(%a, %v)\n"
        "  %z = add(%y, %x)\n"
        "  %s = mul(%z, %z)\n"
        "  %loss = mean(%s, axes=[0, 1])\n"
        "  return %loss\n"
        "}\n";
    return graph_from(ctx, text);
}

static gcut_options options(const gcut_size *at, const char *policy, int threads)
{
    gcut_options opt = TEST_OPTIONS;
    opt.at = at;
    opt.nat = 1;
    opt.threads = threads;
    opt.policy = policy;
    return opt;
}

/* All results of one compiled step, one after the other. */
static unsigned char *results(gcut_ctx *ctx, gcut_graph *g, int64_t n, const char *policy, int threads,
                              size_t *size)
{
    gcut_size at = {"N", n};
    gcut_options opt = options(&at, policy, threads);
    gcut_step *s = gcut_compile(g, &opt);
    if (!s || gcut_run(s) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    gcut_stats st = *gcut_step_stats(s);
    assert_int_equal(st.peak_bytes, st.predicted_bytes);
    unsigned char *all = result_bytes(s, size);
    gcut_step_free(s);
    return all;
}

static const int64_t batches[] = {768, 333, 1};

/* Without the largest batch, which the interpreter would take long for. */
static void test_agree(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = block(ctx);
    for (size_t i = 1; i < sizeof batches / sizeof *batches; i++) {
        if (!in_turn(i, 2)) continue;
        gcut_size at = {"N", batches[i]};
        gcut_options opt = options(&at, "mincut", 2);
        gcut_check_report r = crosscheck(g, &opt, NULL, 0, 0);
        if (!r.ok)
            fail_msg("N=%lld\n%s%s", (long long)batches[i], r.text ? r.text : "", gcut_last_error(ctx));
    }
    gcut_ctx_free(ctx);
}

/* What is saved is computed once and stored; what is not, in packings. */
static void test_same_bits(void **state)
{
    (void)state;
    static const char *const policies[] = {"mincut", "recompute-all"};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = block(ctx);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        size_t size, other;
        unsigned char *want = results(ctx, g, batches[i], "save-all", 1, &size);
        for (int k = 0; k < 4; k++) {
            if (!in_turn(i + (size_t)k, 3)) continue;
            unsigned char *got = results(ctx, g, batches[i], policies[k % 2], k + 1, &other);
            assert_int_equal(other, size);
            if (memcmp(want, got, size) != 0)
                fail_msg("N=%lld: %s with %d threads differs", (long long)batches[i], policies[k % 2], k + 1);
            free(got);
        }
        free(want);
    }
    gcut_ctx_free(ctx);
}

/* The gelu has no kernel of its own: it has the number of the product that reads it. */
static void test_is_fused(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_size at = {"N", 768};
    gcut_options opt = options(&at, "mincut", 2);
    opt.without = refine_pass, opt.nwithout = 1;
    const char *const text = gcut_show(block(ctx), &opt, GCUT_STAGE_KERNEL, false);
    if (!text) fail_msg("%s", gcut_last_error(ctx));
    const char *gelu = strstr(text, " = gelu("), *kernel = gelu ? strstr(gelu, "#kernel(") : NULL;
    assert_non_null(kernel);
    const char *product = strstr(gelu, " = matmul(");
    assert_non_null(product);
    const char *its = strstr(product, "#kernel(");
    assert_non_null(its);
    assert_memory_equal(kernel, its, strcspn(its, ")") + 1);
    gcut_ctx_free(ctx);
}

/* "#kernel(kN" of the line of a value; by how many characters two of them are compared. */
static const char *kernel_of(const char *shown, const char *value, size_t *length)
{
    const char *line = strstr(shown, value), *kernel = line ? strstr(line, "#kernel(") : NULL;
    assert_non_null(kernel);
    *length = strcspn(kernel, ")") + 1;
    return kernel;
}

/* The kernels of a graph that multiplies 768 rows, with the context.  At few rows the compiled step gives what the other
 * backends give. */
static const char *shown_and_checked(gcut_ctx *ctx, const char *text, int64_t few)
{
    gcut_graph *g = graph_from(ctx, text);
    gcut_size at = {"N", 768};
    gcut_options opt = options(&at, "mincut", 2);
    opt.forward_only = true;
    const char *const shown = gcut_show(g, &opt, GCUT_STAGE_KERNEL, false);
    if (!shown) fail_msg("%s", gcut_last_error(ctx));
    at.value = few;
    gcut_check_report r = crosscheck(g, &opt, NULL, 0, 0);
    if (!r.ok) fail_msg("%s%s", r.text ? r.text : "", gcut_last_error(ctx));
    return shown;
}

/* Members of a prologue are in graph order, whatever the order in which operands name them: `sub` reads the
 * later one first. */
static void test_order_of_operands(void **state)
{
    (void)state;
    static const char text[] =
        "func @order[N in 1..](input %x: f32[N, 576], param %w: f32[576, 640]) -> (out y: "
        "f32[N, 640]) {\n"
        "  %a = mul(%x, %x)\n"
        "  %b = abs(%x)\n"
        "  %c = sub(%b, %a)\n"
        "  %y = matmul(%c, %w)\n"
        "  return %y\n"
        "}\n";
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    const char *const shown = shown_and_checked(ctx, text, 40);
    static const char *const names[] = {"%a: ", "%b: ", "%c: ", "%y: "};
    size_t n;
    const char *kernel = kernel_of(shown, names[0], &n);
    for (int i = 1; i < 4; i++)
        assert_memory_equal(kernel, kernel_of(shown, names[i], &n), n); /* one launch */
    gcut_ctx_free(ctx);
}

/* A value that other members of its fusion group read is no prologue: the product would not store it for them. */
static void test_own_loop_reads_it(void **state)
{
    (void)state;
    static const char text[] =
        "func @both[N in 1..](input %x: f32[N, 576], param %w: f32[576, 640]) -> (out y: "
        "f32[N, 640], out z: f32[N, 576]) {\n"
        "  %a = exp(%x)\n"
        "  %z = mul(%a, %x)\n"
        "  %y = matmul(%a, %w)\n"
        "  return %y, %z\n"
        "}\n";
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    const char *const shown = shown_and_checked(ctx, text, 60);
    size_t n;
    const char *y = kernel_of(shown, "%y: ", &n);
    assert_memory_not_equal(kernel_of(shown, "%a: ", &n), y, n);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agree), cmocka_unit_test(test_same_bits), cmocka_unit_test(test_is_fused),
        cmocka_unit_test(test_order_of_operands), cmocka_unit_test(test_own_loop_reads_it)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
