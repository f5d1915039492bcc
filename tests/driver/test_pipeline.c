/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models, and graphs that were wrong once, through the whole pipeline by the
 * public API.  Random graphs: test_graphs.c.
 */
#define _GNU_SOURCE
#include "runs.h"
#include "public.h"

#include <glob.h>

/* ---- models ---- */

/* Three steps, so that the second and third run on what the first wrote.  AdamW divides a gradient by its own
 * size: with eps = 1e-3 a gradient that is zero but for rounding moves its parameter by no more than lr times
 * that. */
static void model(run_case *c, const char *optimizer)
{
    static outcome want, stated, got;
    gcut_step *s[3] = {compile(c, GCUT_BACKEND_EAGER, "mincut", 1, true, optimizer),
                       compile(c, GCUT_BACKEND_EAGER, "mincut", 1, false, optimizer),
                       compile(c, GCUT_BACKEND_COMPILED, "mincut", 2, false, optimizer)};
    outcome *o[3] = {&want, &stated, &got};
    for (int k = 0; k < 3; k++) {
        for (int step = 0; s[k] && step < 3; step++)
            CHECK(c, gcut_run(s[k]) == GCUT_OK, "step %d of %d not run", step, k);
        if (s[k] && !c->nwrong) collect(s[k], o[k]);
    }
    if (!c->nwrong) {
        gcut_stats st = *gcut_step_stats(s[2]);
        CHECK(c, st.peak_bytes == st.predicted_bytes, "peak measured %lld, predicted %lld",
              (long long)st.peak_bytes, (long long)st.predicted_bytes);
        compare(c, optimizer ? optimizer : "no optimizer", 3, &got, &stated, &want);
    }
    for (int k = 0; k < 3; k++) {
        gcut_step_free(s[k]);
        forget(o[k]);
    }
}

static void models(void **state)
{
    (void)state;
    static const char *const optimizers[] = {NULL, "sgd(lr=0.05, weight_decay=0.01)",
                                             "momentum(lr=0.05, momentum=0.9)",
                                             "adamw(lr=1e-3, eps=1e-3, weight_decay=0.1)"};
    glob_t files;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/corpus/*.gcut", 0, NULL, &files), 0);
    assert_int_equal(glob(GCUT_SOURCE_DIR "/examples/*.gcut", GLOB_APPEND, NULL, &files), 0);
    int done = 0, bad = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        run_case c = {.what = strrchr(files.gl_pathv[i], '/') + 1, .path = files.gl_pathv[i]};
        c.ctx = gcut_ctx_new(NULL);
        assert_non_null(c.ctx);
        c.g = gcut_load(c.ctx, c.path, NULL);
        if (c.g) c.half = unit_of(gcut_show(c.g, NULL, GCUT_STAGE_PRIMAL, false));
        /* A pair is no model: it is differentiated. */
        if (c.g && gcut_show(c.g, &(gcut_options){.optimizer = optimizers[1]}, GCUT_STAGE_JOINT, false)) {
            /* None and AdamW, the latter compiled as users' are; the other two for every eighth. */
            const bool all = nightly() || i % 8 == 0, large = !strncmp(c.what, "gpt", 3);
            for (size_t k = 0; k < sizeof optimizers / sizeof *optimizers; k += all && !large ? 1 : 3) {
                compile_quickly(k < 3 || !all);
                model(&c, optimizers[k]);
            }
            if (!c.nwrong) dumped(&c);
            if (!c.nwrong) emitted(&c, true);
            done++;
        }
        bad += c.nwrong > 0;
        gcut_ctx_free(c.ctx);
    }
    globfree(&files);
    assert_true(done >= 8);
    assert_int_equal(bad, 0);
}

/* ---- what was wrong once ---- */

/* Runs at N = M = n, with results in out; checks the peak. */
static void run_sized(run_case *c, gcut_options o, int64_t n, outcome *out)
{
    gcut_size at[2] = {{"N", n}, {"M", n}};
    o.at = at;
    gcut_step *s = gcut_compile(c->g, &o);
    if (CHECK(c, s && gcut_run(s) == GCUT_OK, "%s: not run at %d", o.policy, (int)n)) {
        gcut_stats st = *gcut_step_stats(s);
        CHECK(c, st.peak_bytes == st.predicted_bytes, "%s at %d: peak measured %lld, predicted %lld",
              o.policy, (int)n, (long long)st.peak_bytes, (long long)st.predicted_bytes);
        collect(s, out);
    }
    gcut_step_free(s);
}

static void regression(run_case *c, bool optimised)
{
    static const char *const policies[] = {"mincut", "recompute-all"};
    static outcome one, large[2];
    const char *text = gcut_show(c->g, NULL, GCUT_STAGE_PRIMAL, false);
    gcut_options o = TEST_OPTIONS;
    o.nat = (strstr(text, "[N in") != NULL) + (strstr(text, "M in") != NULL);
    for (int k = 0; k < 2; k++) {
        gcut_size at[2] = {{"N", k ? 1 : 5}, {"M", k ? 1 : 5}};
        o.policy = policies[k];
        o.threads = k + 1;
        o.at = at;
        compile_quickly(true);
        gcut_check_report r = crosscheck(c->g, &o, NULL, 0, 0);
        CHECK(c, r.text && r.ok, "%s:\n%s", o.policy, r.text ? r.text : "no ladder");
        compile_quickly(k > 0 || !optimised); /* which changes no bit either */
        run_sized(c, o, 257, &large[k]);
    }
    run_sized(c, o, 1, &one);
    compile_quickly(false);
    if (!c->nwrong) same_bits(c, "mincut and recompute-all", 257, &large[0], &large[1]);
    forget(&one);
    forget(&large[0]);
    forget(&large[1]);
    emitted(c, optimised);
}

static void regressions(void **state)
{
    (void)state;
    glob_t files;
    int bad = 0;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/regress/*.gcut", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        run_case c = {.what = strrchr(files.gl_pathv[i], '/') + 1, .path = files.gl_pathv[i]};
        c.ctx = gcut_ctx_new(NULL);
        assert_non_null(c.ctx);
        c.g = gcut_load(c.ctx, c.path, NULL);
        if (CHECK(&c, c.g, "does not parse")) regression(&c, i % 4 == 0 || nightly());
        bad += c.nwrong > 0;
        gcut_ctx_free(c.ctx);
    }
    globfree(&files);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models), cmocka_unit_test(regressions)};
    if (!begin_runs()) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    end_runs();
    return failed;
}
