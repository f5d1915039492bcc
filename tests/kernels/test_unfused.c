/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps without fusion: every node that computes is a kernel of its own, whose bytes can be counted by hand,
 * and the results have the bits of the fused step.
 */
#define _GNU_SOURCE
#include "nightly.h"
#include "runs.h"

#include <glob.h>

/* ---- the same bits ---- */

static bool run_twice(run_case *c, const char *policy, bool unfused, int threads, outcome *o)
{
    gcut_options opt = TEST_OPTIONS;
    opt.policy = policy;
    opt.threads = threads;
    opt.unfused = unfused;
    gcut_step *s = gcut_compile(c->g, &opt);
    bool ok = CHECK(c, s, "%s, unfused %d: not compiled", policy, unfused);
    for (int k = 0; ok && k < 2; k++) ok = CHECK(c, gcut_run(s) == GCUT_OK, "step %d does not run", k);
    if (ok) collect(s, o);
    gcut_step_free(s);
    return ok;
}

static int try_file(const char *path)
{
    static outcome fused, unfused;
    run_case c = {.what = path, .ctx = gcut_ctx_new(NULL)};
    c.g = gcut_load(c.ctx, path, NULL);
    if (CHECK(&c, c.g, "not read") && run_twice(&c, "save-all", false, 1, &fused)) {
        if (run_twice(&c, "save-all", true, 2, &unfused)) same_bits(&c, "save-all", 2, &unfused, &fused);
        if (run_twice(&c, "recompute-all", true, 1, &unfused))
            same_bits(&c, "recompute-all", 1, &unfused, &fused);
    }
    forget(&fused);
    forget(&unfused);
    gcut_ctx_free(c.ctx);
    return c.nwrong;
}

/* Each file, or one of `stride`. */
static void files_agree(const char *folder, size_t stride)
{
    char pattern[512];
    glob_t files;
    int bad = 0;
    snprintf(pattern, sizeof pattern, "%s/tests/%s/*.gcut", GCUT_SOURCE_DIR, folder);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i += stride) {
        if (strstr(files.gl_pathv[i], "/split.gcut")) continue; /* a pair, not a function */
        if (!in_turn(i / stride, 3)) continue;
        bad += try_file(files.gl_pathv[i]) != 0;
    }
    globfree(&files);
    assert_int_equal(bad, 0);
}

static void corpus_agrees(void **state)
{
    (void)state;
    files_agree("corpus", 1);
}

static void models_agree(void **state)
{
    (void)state;
    files_agree("models", nightly() ? 1 : 4); /* test_zoo runs them all */
}

/* ---- kernels ---- */

/* A dense layer and its loss: a product with an epilogue, and a sum, when fused. */
static const char layer[] =
    "gcut 1\n"
    "func @f(input %x: f32[40, 30], param %w: f32[30, 20], param %b: f32[20]) -> (out loss: f32[]) {\n"
    "  %h = matmul(%x, %w)\n"
    "  %c = broadcast(%b, shape=[40, 20], axes=[1])\n"
    "  %z = add(%h, %c)\n"
    "  %y = tanh(%z)\n"
    "  %loss = sum(%y)\n"
    "  return %loss\n"
    "}\n";

static gcut_profile *profile_of(gcut_ctx *ctx, bool unfused)
{
    gcut_options opt = TEST_OPTIONS;
    opt.profile = opt.forward_only = true;
    opt.unfused = unfused;
    gcut_graph *g = gcut_parse(ctx, layer, sizeof layer - 1, "layer.gcut", NULL);
    gcut_step *s = g ? gcut_compile(g, &opt) : NULL;
    gcut_profile *p = s ? gcut_step_profile(s, 1) : NULL;
    if (!p) fail_msg("%s", gcut_last_error(ctx));
    return p;
}

static void every_op_is_a_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        double bytes;
    } want[] = {{"matmul", 4 * (40 * 30 + 30 * 20 + 40 * 20)}, /* the broadcast is a view */
                {"add", 4 * (40 * 20 + 20 + 40 * 20)},
                {"tanh", 4 * (40 * 20 + 40 * 20)},
                {"sum", 0}};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_profile *fused = profile_of(ctx, false), *p = profile_of(ctx, true);
    assert_int_equal(p->n, 4);
    for (size_t i = 0; i < p->n; i++) {
        assert_string_equal(p->at[i]->op, want[i].op);
        assert_true(p->at[i]->runs == 1);
        if (want[i].bytes > 0) assert_true(p->at[i]->bytes == want[i].bytes);
    }
    assert_true(fused->n < p->n);
    assert_true(fused->bytes < p->bytes);
    gcut_free(fused);
    gcut_free(p);
    gcut_ctx_free(ctx);
}

/* No result takes the memory of an operand: the arena of a chain holds two neighbours, fused none. */
static void operands_keep_their_memory(void **state)
{
    (void)state;
    static const char chain[] = "gcut 1\n"
                                "func @f(input %x: f32[4096]) -> (out y: f32[4096]) {\n"
                                "  %a = exp(%x)\n  %b = sin(%a)\n  %c = cos(%b)\n  %y = tanh(%c)\n"
                                "  return %y\n}\n";
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_parse(ctx, chain, sizeof chain - 1, "chain.gcut", NULL);
    assert_non_null(g);
    for (int unfused = 0; unfused < 2; unfused++) {
        gcut_options opt = TEST_OPTIONS;
        opt.forward_only = true;
        opt.unfused = unfused != 0;
        gcut_step *s = gcut_compile(g, &opt);
        assert_non_null(s);
        assert_int_equal(gcut_run(s), GCUT_OK);
        assert_int_equal(gcut_step_stats(s)->arena_bytes, unfused ? 2 * 4096 * 4 : 0);
        assert_int_equal(gcut_step_stats(s)->peak_bytes, gcut_step_stats(s)->predicted_bytes);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_a_kernel),
        cmocka_unit_test(operands_keep_their_memory),
        cmocka_unit_test(corpus_agrees),
        cmocka_unit_test(models_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
