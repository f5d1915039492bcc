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

/* Recomputing gives the bits that saving would have kept, and any number of threads the bits of one. */
static void test_same_bits(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        int threads;
    } ways[] = {{"mincut", 1}, {"mincut", 2}, {"mincut", 3}, {"save-all", 2}, {"recompute-all", 2}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = load(ctx, &models[i]);
        size_t n0, n;
        unsigned char *want = results(ctx, g, &models[i], ways[0].threads, ways[0].policy, &n0);
        for (size_t k = 1; k < sizeof ways / sizeof *ways; k++) {
            unsigned char *got = results(ctx, g, &models[i], ways[k].threads, ways[k].policy, &n);
            assert_int_equal(n, n0);
            if (memcmp(want, got, n) != 0)
                fail_msg("%s: %s with %d threads differs", models[i].file, ways[k].policy, ways[k].threads);
            free(got);
        }
        free(want);
        gcut_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_agree), cmocka_unit_test(test_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
