/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products whose epilogue runs tile by tile: only with hundreds of rows, which the other models of the tests
 * do not have.  Every backend agrees, and threads do not change a bit.
 */
#include "harness.h"

#include "api.h"
#include "public.h"

typedef struct model {
    const char *file, *size;
    int64_t n;
    const char *optimizer;
} model;

static const model models[] = {
    {"mlp", "N", 257, NULL},
    {"mlp", "N", 1000, "adamw(lr=0.01)"},
    {"gpt_tiny", "N", 64, NULL},
    {"gpt_tied", "N", 40, "momentum(lr=0.1)"},
    {"transformer_block", "B", 48, NULL},
};

/* Products that are packed in blocks, forward and after the gradient: built by wide(). */
static const model wide_model = {NULL, "N", 300, "adamw(lr=0.01)"};

static gcut_graph *wide(gcut_ctx *ctx)
{
    gcut_graph *g = gcut_graph_new(ctx, "wide");
    gcut_val w = gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(290, 1030)),
             b = gcut_param(g, "b", GCUT_F32, GCUT_SHAPE(1030)),
             x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(gcut_dim_sym(g, "N", 1, 1000), 290));
    gcut_output(g, "loss", gcut_mean(gcut_gelu(gcut_add(gcut_matmul(x, w), b)), 0, 1));
    return g;
}

static gcut_graph *load(gcut_ctx *ctx, const model *m)
{
    char path[512];
    if (!m->file) return wide(ctx);
    snprintf(path, sizeof path, "%s/tests/corpus/%s.gcut", GCUT_SOURCE_DIR, m->file);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

/* All results of one compiled step, and what it updates, one after the other. */
static unsigned char *results(gcut_ctx *ctx, gcut_graph *g, const model *m, int threads, const char *policy,
                              size_t *size)
{
    gcut_size at = {m->size, m->n};
    gcut_options opt = TEST_OPTIONS;
    opt.at = &at;
    opt.nat = 1;
    opt.threads = threads;
    opt.policy = policy;
    opt.optimizer = m->optimizer;
    gcut_step *s = gcut_compile(g, &opt);
    if (!s || gcut_run(s) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    gcut_stats st = *gcut_step_stats(s);
    assert_int_equal(st.peak_bytes, st.predicted_bytes);
    unsigned char *all = result_bytes(s, size);
    gcut_step_free(s);
    return all;
}

static void test_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_size at = {models[i].size, models[i].n};
        gcut_options opt = TEST_OPTIONS;
        opt.at = &at;
        opt.nat = 1;
        opt.threads = 2;
        opt.optimizer = models[i].optimizer;
        gcut_check_report r = crosscheck(load(ctx, &models[i]), &opt, NULL, 0, 0);
        if (!r.ok)
            fail_msg("%s at %s=%lld\n%s%s", models[i].file, models[i].size, (long long)models[i].n,
                     r.text ? r.text : "", gcut_last_error(ctx));
        gcut_ctx_free(ctx);
    }
}

typedef struct way {
    const char *policy;
    int threads;
} way;

static void same_bits(const model *m, const way *ways, size_t n)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = load(ctx, m);
    size_t size, other;
    unsigned char *want = results(ctx, g, m, ways[0].threads, ways[0].policy, &size);
    for (size_t k = 1; k < n; k++) {
        unsigned char *got = results(ctx, g, m, ways[k].threads, ways[k].policy, &other);
        assert_int_equal(other, size);
        if (memcmp(want, got, size) != 0)
            fail_msg("%s: %s with %d threads differs", m->file ? m->file : "wide", ways[k].policy,
                     ways[k].threads);
        free(got);
    }
    free(want);
    gcut_ctx_free(ctx);
}

/* Any number of threads gives the bits of one: as optimised, where lanes and what is left of them matter.
 * Recomputing gives the bits that saving would have kept, and that is a matter of the graph. */
static void test_same_bits(void **state)
{
    (void)state;
    static const way threads[] = {{"mincut", 1}, {"mincut", 3}};
    static const way policies[] = {{"mincut", 2}, {"save-all", 2}, {"recompute-all", 2}};
    same_bits(&wide_model, threads, 2);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        same_bits(&models[i], threads, 2);
        compile_quickly(true);
        same_bits(&models[i], policies, 3);
        compile_quickly(false);
    }
}

/* The loop after the first product stores s, which a product reads, and dh1.1, which is saved though nothing reads it
 * later: s was written over dh1.1, as if that were an operand of the loop, and the product read dh1.1. */
static const char saved_unread[] = "gcut 1\n"
                                   "func @mlp(input %x: f32[64, 64], param %w1: f32[64, 96], param %w2: "
                                   "f32[96, 64]) -> (out loss: f32[]) {\n"
                                   "  %a1 = matmul(%x, %w1)\n"
                                   "  %h1 = tanh(%a1)\n"
                                   "  %s = softplus(%h1)\n"
                                   "  %a2 = matmul(%s, %w2)\n"
                                   "  %loss = mean(%a2)\n"
                                   "  return %loss\n"
                                   "}\n";

static void test_results_are_no_operands(void **state)
{
    (void)state;
    static const char *const save[] = {"dh1.1", "dh1.3"}, *const recompute[] = {"h1", "s"};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_parse(ctx, saved_unread, strlen(saved_unread), "saved", NULL);
    gcut_options opt = TEST_OPTIONS;
    opt.save = save;
    opt.recompute = recompute;
    opt.nsave = opt.nrecompute = 2;
    gcut_check_report r = crosscheck(g, &opt, NULL, 0, 0);
    if (!r.ok) fail_msg("%s%s", r.text ? r.text : "", gcut_last_error(ctx));
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_agree), cmocka_unit_test(test_same_bits),
                                       cmocka_unit_test(test_results_are_no_operands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
