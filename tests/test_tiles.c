/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products whose epilogue runs tile by tile: only with hundreds of rows, which the other models of the tests
 * do not have.  Every backend agrees, and threads do not change a bit.
 */
#include "harness.h"

#include "gradcut/gradcut.h"

typedef struct model {
    const char *file, *size;
    int64_t n;
} model;

static const model models[] = {
    {"mlp", "N", 257},
    {"mlp", "N", 1000},
    {"gpt_tiny", "N", 64},
    {"gpt_tied", "N", 40},
    {"transformer_block", "B", 48},
};

static gcut_graph *load(gcut_ctx *ctx, const model *m)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/corpus/%s.gcut", GCUT_SOURCE_DIR, m->file);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

/* All results of one compiled step, one after the other. */
static unsigned char *results(gcut_ctx *ctx, gcut_graph *g, const model *m, int threads, const char *policy,
                              size_t *size)
{
    gcut_size at = {m->size, m->n};
    gcut_options opt = GCUT_OPTIONS_DEFAULT;
    opt.at = &at;
    opt.nat = 1;
    opt.threads = threads;
    opt.policy = policy;
    gcut_step *s = gcut_compile(g, &opt);
    if (!s || gcut_run(s) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    gcut_stats st = gcut_step_stats(s);
    assert_int_equal(st.peak_bytes, st.predicted_bytes);
    unsigned char *all = NULL;
    *size = 0;
    for (size_t i = 0; i < gcut_step_value_count(s); i++) {
        gcut_value_info v = gcut_step_value_at(s, i);
        if (strcmp(v.role, "out") != 0 && strcmp(v.role, "grad") != 0) continue;
        all = realloc(all, *size + (size_t)v.bytes);
        memcpy(all + *size, v.at, (size_t)v.bytes);
        *size += (size_t)v.bytes;
    }
    gcut_step_free(s);
    return all;
}

static void test_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_size at = {models[i].size, models[i].n};
        gcut_options opt = GCUT_OPTIONS_DEFAULT;
        opt.at = &at;
        opt.nat = 1;
        opt.threads = 2;
        gcut_check_report r = gcut_ladder(load(ctx, &models[i]), &opt, NULL, 0, -1);
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
            fail_msg("%s: %s with %d threads differs", m->file, ways[k].policy, ways[k].threads);
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
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        same_bits(&models[i], threads, 2);
        compile_quickly(true);
        same_bits(&models[i], policies, 3);
        compile_quickly(false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_agree), cmocka_unit_test(test_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
