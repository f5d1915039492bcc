/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut bench` in all its forms.
 */
#define _GNU_SOURCE
#include "cli.h"

/* Classes are the sums of their kernels; what was predicted for the step is the sum over all. */
static void test_bench(void **state)
{
    (void)state;
    json_t *j = json_of(ARGV("bench", MLP, "--json", "--steps", "3", "--at", "N=8", "--threads", "1"));
    has_keys(
        j,
        "ok max_rel_error worst compile_ns step_ns step_ns_lo step_ns_hi step_ns_best step_ns_p90 "
        "predicted_ns "
        "ratio rel_error samples "
        "flops bytes limit_flops_per_s limit_bytes_per_s steps threads priced_threads blis classes kernels");
    assert_int_equal(json_integer_value(json_object_get(j, "priced_threads")), 1);
    assert_true(json_is_true(json_object_get(j, "ok")));
    double worst = json_number_value(json_object_get(j, "max_rel_error")), seen = 0, predicted = 0, sum = 0;
    size_t i, kernels = 0;
    json_t *row, *all = json_object_get(j, "classes");
    json_array_foreach(all, i, row)
    {
        has_keys(row, "class kernels runs predicted_ns measured_ns ratio rel_error flops bytes");
        if (json_number_value(json_object_get(row, "measured_ns")) > 0)
            assert_within(json_number_value(json_object_get(row, "ratio")),
                          1 + json_number_value(json_object_get(row, "rel_error")), 1e-9);
        seen = fmax(seen, fabs(json_number_value(json_object_get(row, "rel_error"))));
        predicted += json_number_value(json_object_get(row, "predicted_ns"));
        kernels += (size_t)json_integer_value(json_object_get(row, "kernels"));
    }
    assert_true(seen == worst);
    all = json_object_get(j, "kernels");
    assert_int_equal(json_array_size(all), kernels);
    json_array_foreach(all, i, row)
    {
        has_keys(row, "kernel class value op loc half runs predicted_ns measured_ns least_ns flops bytes");
        const double least = json_number_value(json_object_get(row, "least_ns"));
        assert_true(least > 0 && least <= json_number_value(json_object_get(row, "measured_ns")));
        sum += json_number_value(json_object_get(row, "predicted_ns"));
    }
    double step = json_number_value(json_object_get(j, "predicted_ns"));
    assert_within(sum, step, 1e-9 * step);
    assert_within(predicted, step, 1e-9 * step);
    assert_true(json_number_value(json_object_get(j, "step_ns")) > 0);
    json_decref(j);
    char *text = fine(ARGV("bench", "tiny.gcut", "--loss", "loss", "--steps", "1", "--threads", "3"));
    assert_non_null(strstr(text, "predicted: "));
    assert_non_null(strstr(text, " ms, the sum of the least time of each; the prediction is "));
    assert_non_null(strstr(text, ", for 2 threads, the most that the machine model has\n"));
    free(text);
}

/* The rows of the CSV are the classes, and add up to its last row, the step; its ratio is that of its times. */
static void test_bench_csv(void **state)
{
    (void)state;
    char *text = fine(ARGV("bench", MLP, "--csv", "--steps", "3", "--at", "N=8", "--threads", "1")),
         *row = text;
    static const char head[] = "class,kernels,launches,predicted_ns,measured_ns,ratio\n";
    double kernels = 0, launches = 0, predicted = 0;
    begins(text, head);
    for (bool step = false; *(row = strchr(row, '\n') + 1);) {
        char name[32];
        double x[4], ratio;
        assert_false(step); /* it is the last one */
        assert_int_equal(sscanf(row, "%31[^,],%lf,%lf,%lf,%lf,%lf", name, &x[0], &x[1], &x[2], &x[3], &ratio),
                         6);
        assert_within(ratio, x[2] / x[3], 1e-9 * ratio);
        step = !strcmp(name, "step");
        if (!step) {
            kernels += x[0], launches += x[1], predicted += x[2];
            continue;
        }
        assert_true(kernels == x[0] && launches == x[1]);
        assert_within(predicted, x[2], 1e-9 * predicted);
    }
    free(text);
    refused(2, "either --json or --csv is printed", ARGV("bench", MLP, "--csv", "--json"));
    refused(2, "leave --csv, or --compare and --fix, out", ARGV("bench", MLP, "--csv", "--fix", "N=8"));
    refused(2, "leave --csv, or --compare and --fix, out",
            ARGV("bench", MLP, "--csv", "--compare", "planned"));
}

/* Without a model of this machine it is measured first, which is one line to standard error; plans go by the shipped
 * model, and say nothing. */
static void test_bench_without_a_model(void **state)
{
    (void)state;
    setenv("GRADCUT_MACHINE", "", 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    ran r = run_to(NULL, NULL, ARGV("bench", "small.gcut", "--json", "--steps", "1", "--time-passes"));
    expect(r, 0);
    begins(r.err, "note: there is no model of this machine");
    begins(strchr(r.err, '\n'), "\ntimes of @small\n"); /* and those of no probe */
    begins(r.out, "{\"ok\": true");
    done(r);
    char *plan = fine(ARGV("plan", "small.gcut", "--json"));
    setenv("GRADCUT_MACHINE", "shipped", 1);
    char *shipped = fine(ARGV("plan", "small.gcut", "--json"));
    assert_string_equal(plan, shipped);
    free(plan);
    free(shipped);
    unsetenv("XDG_CONFIG_HOME");
}

/* Each kernel of either step once; of this model both have the same. */
static void test_bench_fix(void **state)
{
    (void)state;
    json_t *j = json_of(ARGV("bench", MLP, "--json", "--steps", "3", "--fix", "N=8", "--threads", "1"));
    has_keys(j, "fix turns steps threads symbol constant separable kernels");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "fix"), "N")), 8);
    json_t *one = json_of(ARGV("bench", MLP, "--json", "--steps", "1", "--at", "N=8", "--threads", "1"));
    json_t *row, *all = json_object_get(j, "kernels");
    static const char *const predicted[] = {"symbol_predicted_ns", "constant_predicted_ns"};
    double sum[2] = {0};
    size_t i;
    assert_int_equal(json_array_size(all), json_array_size(json_object_get(one, "kernels")));
    json_array_foreach(all, i, row)
    {
        has_keys(row,
                 "class value op loc half symbol_ns symbol_predicted_ns constant_ns constant_predicted_ns "
                 "difference_ns");
        const double symbol = json_number_value(json_object_get(row, "symbol_ns"));
        const double constant = json_number_value(json_object_get(row, "constant_ns"));
        assert_true(symbol > 0 && constant > 0);
        assert_true(json_number_value(json_object_get(row, "difference_ns")) == symbol - constant);
        for (size_t s = 0; s < 2; s++) sum[s] += json_number_value(json_object_get(row, predicted[s]));
    }
    static const char *const sides[] = {"symbol", "constant"};
    for (i = 0; i < 2; i++) {
        row = json_object_get(j, sides[i]);
        has_keys(row, "step_ns step_ns_lo step_ns_hi step_ns_best predicted_ns");
        assert_true(json_number_value(json_object_get(row, "predicted_ns")) ==
                    json_number_value(json_object_get(one, "predicted_ns")));
        assert_true(fabs(sum[i] / json_number_value(json_object_get(row, "predicted_ns")) - 1) < 1e-9);
    }
    json_decref(one);
    json_decref(j);
    char *text = fine(ARGV("bench", MLP, "--steps", "1", "--fix", "N=8"));
    assert_non_null(strstr(text, "N=8: symbol "));
    assert_non_null(strstr(text, "%h0 matmul"));
    free(text);
    text = fine(ARGV("check", MLP, "--fix", "N=8"));
    assert_string_equal(text, "@mlp: 8 nodes, 4 param, 2 input, 1 out\n");
    free(text);
}

/* What is after the list is counted, by the library's test; here that every option reaches it. */
static void test_bench_compare(void **state)
{
    static const char *const names[] = {"eager", "unfused", "sqrt", "planned", "planned again"};
    (void)state;
    json_t *j = json_of(ARGV("bench", MLP, "--compare", "eager,unfused,sqrt,planned", "--json", "--steps",
                             "3", "--at", "N=8", "--threads", "1", "--optimizer", "sgd(lr=0.1)", "--samples",
                             "beside.csv")),
           *v;
    size_t i;
    has_keys(j, "graph at threads rounds seed variants from to again sentence samples");
    assert_int_equal(json_integer_value(json_object_get(j, "rounds")), 3);
    assert_int_equal(json_integer_value(json_object_get(j, "threads")), 1);
    assert_string_equal(json_string_value(json_object_get(j, "at")), "N=8");
    assert_string_equal(json_string_value(json_object_get(j, "from")), "unfused");
    assert_string_equal(json_string_value(json_object_get(j, "to")), "planned");
    assert_int_equal(json_array_size(json_object_get(j, "variants")), 5);
    assert_int_equal(json_array_size(json_object_get(j, "samples")), 15);
    json_array_foreach(json_object_get(j, "variants"), i, v)
    {
        has_keys(v, "name policy forward backward saved_bytes peak_predicted peak_measured step_ns_best "
                    "step_ns_median step_ns_lo step_ns_hi ratio ratio_lo ratio_hi separable");
        has_keys(json_object_get(v, "backward"), "ops kernels launches bytes");
        assert_string_equal(json_string_value(json_object_get(v, "name")), names[i]);
        assert_true(json_equal(json_object_get(v, "peak_measured"), json_object_get(v, "peak_predicted")));
    }
    char *text = fine(ARGV("bench", "small.gcut", "--compare", "save-all,planned", "--forward"));
    begins(text, "variants of @");
    assert_non_null(strstr(text, "\n20 rounds in random order, seed 0; "));
    assert_non_null(strstr(text, "\nplanned again "));
    assert_non_null(strstr(text, "\nsave-all -> planned: "));
    free(text);
    text = slurp("beside.csv");
    begins(text, "round,turn,row,ns,name\n0,0,");
    free(text);
    json_decref(j);
    static const char hint[] = "variants: eager, unfused, planned, or a policy: mincut, save-all, ";
    refused(2, hint, ARGV("bench", MLP, "--compare", ""));
    refused(2, "there is no variant 'fast' to compare", ARGV("bench", MLP, "--compare", "eager,fast"));
    refused(2, "there is no variant '' to compare", ARGV("bench", MLP, "--compare", "planned,"));
    refused(2, "the variant 'eager' is listed twice", ARGV("bench", MLP, "--compare", "eager,eager"));
    refused(2, "--compare needs a value", ARGV("bench", MLP, "--compare"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bench),
        cmocka_unit_test(test_bench_csv),
        cmocka_unit_test(test_bench_without_a_model),
        cmocka_unit_test(test_bench_fix),
        cmocka_unit_test(test_bench_compare),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
