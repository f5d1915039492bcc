/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut frontier` and `--budget` from outside: forms, exit codes, and that both speak of the same plans.
 */
#define _GNU_SOURCE
#include "cli.h"

#define GPT GCUT_SOURCE_DIR "/tests/models/gpt2.gcut"
#define RNN GCUT_SOURCE_DIR "/tests/models/rnn.gcut" /* a quarter of the time */
#define SIZES "--at", "N=2,T=8", "--threads", "2"

static double real(const json_t *j, const char *key)
{
    const json_t *x = json_object_get(j, key);
    if (!json_is_number(x)) fail_msg("'%s' is no number", key);
    return json_number_value(x);
}

static bool flag(const json_t *j, const char *key)
{
    return json_is_true(json_object_get(j, key));
}

static void test_json(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "label",           "lambda",     "policy",    "baseline",       "saved_bytes", "peak_predicted",
        "peak_measured",   "recomputed", "cost_ns",   "step_ns_median", "step_ns_lo",  "step_ns_hi",
        "ratio_predicted", "ratio",      "separable", "ours",           "plan"};
    json_t *j = json_of(ARGV("frontier", GPT, SIZES, "--json")), *p, *points = json_object_get(j, "points");
    double peak = INFINITY, ns = 0;
    size_t i, ours = 0, policies = 0;
    json_array_foreach(points, i, p)
    {
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (!json_object_get(p, keys[k])) fail_msg("point %zu has no '%s'", i, keys[k]);
        json_t *plan = json_object_get(p, "plan");
        assert_true(json_is_null(json_object_get(p, "peak_measured")));
        assert_true(real(plan, "peak_bytes") == real(p, "peak_predicted"));
        assert_true(real(plan, "saved_bytes") == real(p, "saved_bytes"));
        assert_int_equal(json_array_size(json_object_get(plan, "recomputed")), (size_t)real(p, "recomputed"));
        if (flag(p, "baseline")) {
            policies++;
            assert_true(json_is_null(json_object_get(plan, "budget")));
            const json_t *best = json_object_get(p, "ours");
            assert_true(real(best, "peak_predicted") <= real(p, "peak_predicted"));
            assert_true(real(best, "step_ns_predicted") <= real(p, "step_ns_predicted"));
            continue;
        }
        ours++;
        assert_true(real(plan, "budget") >= real(p, "peak_predicted"));
        assert_that(real(p, "peak_predicted"), <, peak);
        assert_that(real(p, "step_ns_predicted"), >, ns);
        peak = real(p, "peak_predicted");
        ns = real(p, "step_ns_predicted");
    }
    assert_that(ours, >, 1);
    assert_that(policies, >, 2);
    assert_that(real(j, "frontier"), >=, (double)ours);
    assert_that(real(j, "plans"), >=, real(j, "frontier"));
    json_decref(j);
}

/* The plan of a graph with loops of any length says for which sizes it stays the cheapest: as much where it
 * is one point of a frontier, of a copy of the graph with size symbols of its own, as where it is asked for
 * alone. */
static void test_loops(void **state)
{
    (void)state;
    static const char *const files[] = {GCUT_SOURCE_DIR "/tests/corpus/loops.gcut",
                                        GCUT_SOURCE_DIR "/tests/models/lstm.gcut"};
    for (size_t k = 0; k < 2; k++) {
        json_t *alone = json_of(ARGV("plan", files[k], "--json")), *want = json_object_get(alone, "holds");
        json_t *j = json_of(ARGV("frontier", files[k], "--json")), *p;
        size_t i, found = 0;
        assert_true(json_object_size(want) > 0);
        json_array_foreach(json_object_get(j, "points"), i, p)
        {
            if (strcmp(json_string_value(json_object_get(p, "label")), "mincut")) continue;
            json_t *have = json_object_get(json_object_get(p, "plan"), "holds");
            if (!json_equal(have, want)) fail_msg("%s: %s", files[k], json_dumps(have, 0));
            found++;
        }
        assert_int_equal(found, 1);
        json_decref(j);
        json_decref(alone);
    }
}

/* What frontier shows is what --budget of the plan's own budget chooses, and the step keeps to it. */
static void test_budget_is_the_point(void **state)
{
    (void)state;
    json_t *j = json_of(ARGV("frontier", GPT, SIZES, "--json", "--points", "3")), *p;
    size_t i;
    json_array_foreach(json_object_get(j, "points"), i, p)
    {
        char budget[32];
        if (flag(p, "baseline")) continue;
        json_t *want = json_object_get(p, "plan");
        snprintf(budget, sizeof budget, "%.0f", real(want, "budget"));
        json_t *plan = json_of(ARGV("plan", GPT, SIZES, "--json", "--budget", budget));
        assert_true(json_equal(json_object_get(plan, "saved"), json_object_get(want, "saved")));
        assert_true(json_equal(json_object_get(plan, "recomputed"), json_object_get(want, "recomputed")));
        assert_true(real(plan, "step_ns") == real(want, "step_ns"));
        assert_true(real(plan, "lower_bound") <= real(plan, "lower_bound") + real(plan, "gap"));
        json_decref(plan);
        json_t *step = json_of(ARGV("run", GPT, SIZES, "--json", "--budget", budget));
        assert_true(real(step, "peak_bytes") == real(p, "peak_predicted"));
        json_decref(step);
    }
    json_decref(j);
}

/* The peak of --budget min is the one that a refused budget names; a plan file replays it. */
static void test_smallest_budget(void **state)
{
    (void)state;
    json_t *least = json_of(ARGV("plan", GPT, SIZES, "--json", "--budget", "min", "-o", "min.json"));
    char named[64], budget[32];
    snprintf(budget, sizeof budget, "%.0f", real(least, "budget"));
    json_t *same = json_of(ARGV("plan", GPT, SIZES, "--json", "--budget", budget));
    assert_true(json_equal(least, same));
    json_t *replayed = json_of(ARGV("plan", GPT, SIZES, "--json", "--plan", "min.json"));
    assert_true(real(replayed, "peak_bytes") == real(least, "peak_bytes"));
    snprintf(named, sizeof named, "%.0f", real(least, "budget") - 1);
    refused(1, "smallest peak", ARGV("plan", GPT, SIZES, "--budget", named));
    json_t *step = json_of(ARGV("run", GPT, SIZES, "--json", "--budget", "min"));
    assert_true(real(step, "peak_bytes") == real(least, "peak_bytes"));
    json_decref(step);
    json_decref(replayed);
    json_decref(same);
    json_decref(least);
}

static size_t lines_of(const char *s)
{
    size_t n = 0;
    for (; *s; s++) n += *s == '\n';
    return n;
}

static void test_measured(void **state)
{
    (void)state;
    json_t *j = json_of(ARGV("frontier", "small.gcut", "--json", "--measure", "--rounds", "6", "--points",
                             "2", "--seed", "7", "--samples", "samples.csv")),
           *p, *sample = json_object_get(j, "samples");
    size_t i, n = json_array_size(json_object_get(j, "points"));
    json_array_foreach(json_object_get(j, "points"), i, p)
    {
        assert_true(real(p, "peak_measured") == real(p, "peak_predicted"));
        assert_that(real(p, "step_ns_best"), >, 0);
        assert_that(real(p, "step_ns_median"), >=, real(p, "step_ns_best"));
        assert_true(real(p, "step_ns_lo") <= real(p, "step_ns_hi"));
    }
    assert_int_equal((int)real(j, "rounds"), 6);
    assert_int_equal((int)real(j, "seed"), 7);
    assert_int_equal(json_array_size(sample), 6 * n);
    char *csv = slurp("samples.csv");
    assert_int_equal(lines_of(csv), 6 * n + 1);
    free(csv);
    json_decref(j);
    refused(2, "no samples without --measure", ARGV("frontier", "small.gcut", "--samples", "samples.csv"));
}

static void test_text_and_csv(void **state)
{
    (void)state;
    json_t *j = json_of(ARGV("frontier", RNN, "--threads", "2", "--json"));
    size_t points = json_array_size(json_object_get(j, "points"));
    char *csv = fine(ARGV("frontier", RNN, "--threads", "2", "--csv")),
         *text = fine(ARGV("frontier", RNN, "--threads", "2"));
    begins(csv, "label,policy,baseline,lambda,saved_bytes,peak_predicted,");
    assert_int_equal(lines_of(csv), points + 1);
    begins(text, "frontier of @rnn at N=4, T=4, 2 threads: ");
    assert_int_equal(lines_of(text), points + 3);
    assert_non_null(strstr(text, "\nsave-all "));
    json_decref(j);
    free(csv);
    free(text);
}

/* The ends of the frontier, and no more. */
static void test_points(void **state)
{
    (void)state;
    json_t *all = json_of(ARGV("frontier", RNN, "--threads", "2", "--json", "--points", "1000"));
    json_t *two = json_of(ARGV("frontier", RNN, "--threads", "2", "--json", "--points", "2"));
    json_t *a = json_object_get(all, "points"), *b = json_object_get(two, "points");
    size_t last = 0;
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!flag(json_array_get(a, i), "baseline")) last = i;
    assert_true(real(json_array_get(b, 0), "peak_predicted") == real(json_array_get(a, 0), "peak_predicted"));
    assert_true(real(json_array_get(b, 1), "peak_predicted") ==
                real(json_array_get(a, last), "peak_predicted"));
    assert_true(flag(json_array_get(b, 2), "baseline"));
    json_decref(all);
    json_decref(two);
}

static void test_picture(void **state)
{
    (void)state;
    free(fine(ARGV("frontier", GPT, SIZES, "--svg", "a.svg")));
    char *a = slurp("a.svg");
    begins(a, "<svg xmlns=");
    assert_string_equal(a + strlen(a) - 7, "</svg>\n");
    assert_null(strstr(a, "nan"));
    assert_null(strstr(a, "inf"));
    assert_non_null(
        strstr(a, ">save-all, attention-only</text>")); /* one mark: the op has no core in memory */
    assert_null(strstr(a, ">save-all</text>"));
    char *said = fine(ARGV("frontier", GPT, SIZES, "-o", "all")), *text = slurp("all.txt");
    assert_string_equal(said, text);
    free(said);
    free(text);
    char *b = slurp("all.svg"); /* of another run */
    assert_string_equal(a, b);
    free(a);
    free(b);
    json_t *j = json_load_file("all.json", 0, NULL);
    assert_true(json_is_object(j));
    json_decref(j);
    assert_int_equal(access("all.csv", R_OK), 0);
    refused(2, "frontier has no option --policy", ARGV("frontier", GPT, "--policy", "torch"));
    refused(2, "frontier has no option --budget", ARGV("frontier", GPT, "--budget", "1MiB"));
    refused(4, "no/such.svg", ARGV("frontier", "small.gcut", "--svg", "no/such.svg"));
}

static void test_refusals(void **state)
{
    (void)state;
    refused(1, "budget|smallest peak|parameters|alive", ARGV("plan", RNN, "--budget", "1000"));
    refused(1, "smallest peak", ARGV("compile", RNN, "--budget", "1000", "-o", "never"));
    refused(1, "smallest peak", ARGV("plan", RNN, "--budget", "1000", "--policy", "save-all"));
    refused(2, "csv", ARGV("frontier", GPT, "--json", "--csv"));
    refused(2, "points", ARGV("frontier", GPT, "--points", "0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_budget_is_the_point),
        cmocka_unit_test(test_smallest_budget),
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_text_and_csv),
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_picture),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_loops),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
