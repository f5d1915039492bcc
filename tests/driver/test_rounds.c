/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Comparisons with times that the test makes up: "ours at this peak" is what a budget of that peak takes,
 * whatever was measured and however many points are shown; rounds are in the order of the seed; every sample is
 * in the list, the CSV and the JSON; what overlaps is not separable; each table measures one plan twice.
 */
#define _GNU_SOURCE
#include "runs.h"

#include <jansson.h>

#include "driver/api/timed.h"

/* A chain of products, of which the backward graph may compute some again. */
static gcut_graph *graph_of(gcut_ctx *ctx)
{
    enum { LAYERS = 5 };
    char text[2048];
    int n = snprintf(text, sizeof text,
                     "gcut 1\nfunc @f[N in 1..](param %%w: f32[16, 16], input %%x: f32[N, 16]) -> (out loss: "
                     "f32[]) {\n  %%h0 = matmul(%%x, %%w)\n");
    for (int i = 0; i < LAYERS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "  %%t%d = tanh(%%h%d)\n  %%h%d = matmul(%%t%d, %%w)\n", i, i, i + 1, i);
    snprintf(text + n, sizeof text - (size_t)n,
             "  %%e = exp(%%h%d)\n  %%loss = sum(%%e)\n  return %%loss\n}\n", LAYERS);
    gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "rounds.gcut", NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

static gcut_options options_of(const gcut_size *at)
{
    gcut_options o = TEST_OPTIONS;
    o.at = at, o.nat = 1, o.threads = 1, o.seed = 42;
    return o;
}

/* ---- times ---- */

/* 1 ms and up to 1 % of noise for each row; `slow` takes longer by `factor`, as does every row whose label it
 * has. */
typedef struct fake {
    const char *slow;
    double factor;
} fake;

static double fake_time(void *user, size_t row, const char *name, size_t round, double ns)
{
    const fake *f = user;
    assert_true(ns > 0);
    double noise = gcut_random_f64((int64_t)round, (int64_t)row);
    return 1e6 * (1 + 0.01 * noise) * (f->slow && !strcmp(name, f->slow) ? f->factor : 1);
}

static double median_of(const gcut_sample *const *s, size_t n, size_t row)
{
    double x[64];
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (s[i]->row == row) x[k++] = s[i]->ns;
    for (size_t i = 1; i < k; i++)
        for (size_t m = i; m && x[m] < x[m - 1]; m--) {
            double y = x[m];
            x[m] = x[m - 1], x[m - 1] = y;
        }
    return k % 2 ? x[k / 2] : (x[k / 2 - 1] + x[k / 2]) / 2;
}

/* ---- samples ---- */

static void check_samples(const gcut_sample *const *s, size_t n, size_t rows, int rounds, const char *csv,
                          const json_t *json)
{
    uint32_t order[64];
    assert_int_equal(n, rows * (size_t)rounds);
    assert_int_equal(json_array_size(json), n);
    assert_int_equal(strncmp(csv, "round,turn,row,ns,name\n", 23), 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(s[i]->round, i / rows);
        assert_int_equal(s[i]->turn, i % rows);
        if (i % rows == 0) gcut_round_order(42, i / rows, order, rows);
        assert_int_equal(s[i]->row, order[i % rows]);
        int round, turn, at;
        size_t row;
        double ns;
        csv = strchr(csv, '\n') + 1;
        assert_int_equal(sscanf(csv, "%d,%d,%zu,%lf,%n", &round, &turn, &row, &ns, &at), 4);
        assert_true(round == s[i]->round && turn == s[i]->turn && row == s[i]->row);
        assert_true(fabs(ns - s[i]->ns) <= 0.5);
        at += csv[at] == '"'; /* around a comma */
        assert_int_equal(strncmp(csv + at, s[i]->name, strlen(s[i]->name)), 0);
        const json_t *j = json_array_get(json, i);
        assert_int_equal(json_integer_value(json_object_get(j, "round")), round);
        assert_int_equal(json_integer_value(json_object_get(j, "turn")), turn);
        assert_int_equal(json_integer_value(json_object_get(j, "row")), row);
        assert_true(json_number_value(json_object_get(j, "ns")) == s[i]->ns);
        assert_string_equal(json_string_value(json_object_get(j, "name")), s[i]->name);
    }
    assert_string_equal(strchr(csv, '\n'), "\n"); /* the last row */
}

/* ---- frontiers ---- */

static gcut_frontier *frontier_of(gcut_graph *g, const gcut_options *o, int points, int rounds, fake *times)
{
    const gcut_frontier_options how = {.points = points, .rounds = rounds};
    const gcut_timer timer = {fake_time, times};
    gcut_frontier *f = gcut_frontier_timed(&timer, sizeof *o, sizeof how, g, o, &how);
    if (!f) fail_msg("no frontier of %d points", points);
    return f;
}

/* What a budget takes, as a plan file; without what only a budget or only a point has. */
static json_t *plan_of(const char *text)
{
    json_t *all = json_loads(text, 0, NULL), *out = json_object();
    static const char *const keys[] = {"saved",      "recomputed", "saved_bytes",
                                       "peak_bytes", "step_ns",    "cost_ns"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_non_null(json_object_get(all, keys[i]));
        json_object_set(out, keys[i], json_object_get(all, keys[i]));
    }
    json_decref(all);
    return out;
}

static void is_the_plan_of_a_budget(gcut_ctx *ctx, gcut_graph *g, const gcut_options *opt,
                                    const gcut_frontier_point *x)
{
    gcut_options o = *opt;
    o.budget = x->peak_predicted;
    gcut_plan *plan = gcut_plan_new(g, &o);
    char *text = plan ? gcut_plan_json(plan) : NULL;
    if (!text) fail_msg("%s", gcut_last_error(ctx));
    json_t *want = plan_of(text), *have = plan_of(x->ours->plan);
    if (!json_equal(want, have)) fail_msg("%s: %s is not the plan of the budget", x->label, x->ours->label);
    json_decref(want);
    json_decref(have);
    gcut_free(text);
    gcut_plan_free(plan);
}

static void check_row(const gcut_frontier *f, size_t i)
{
    const gcut_frontier_point *x = f->point[i];
    assert_true(x->step_ns_median == median_of(f->sample, f->nsamples, i));
    assert_true(x->step_ns_best <= x->step_ns_lo && x->step_ns_lo <= x->step_ns_median &&
                x->step_ns_median <= x->step_ns_hi);
    assert_int_equal(x->peak_measured, x->peak_predicted); /* of both calls */
    assert_true((x->ours != NULL) == x->baseline);
    if (!x->ours) return;
    size_t ours = 0;
    while (ours < f->n && f->point[ours] != x->ours) ours++;
    assert_true(ours < f->n); /* it was measured */
    assert_true(x->ours->peak_predicted <= x->peak_predicted);
    assert_true(x->ratio == median_of(f->sample, f->nsamples, ours) / x->step_ns_median);
    assert_true(x->ratio_lo <= x->ratio && x->ratio <= x->ratio_hi);
    assert_true(x->separable == (x->ratio_lo > 1 || x->ratio_hi < 1));
}

/* The line of a table that begins with this label. */
static const char *line_of(const char *text, const char *label)
{
    static char line[1024];
    const size_t n = strlen(label);
    for (const char *s = strstr(text, "without a budget"); s && (s = strchr(s, '\n'));) {
        s++;
        if (strncmp(s, label, n) != 0 || strncmp(s + n, "  ", 2) != 0) continue;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(s, "\n"), s);
        return line;
    }
    fail_msg("there is no line '%s' in\n%s", label, text);
    return NULL;
}

static void check_forms(const gcut_frontier *f, int rounds)
{
    json_t *j = json_loads(f->json, 0, NULL), *points = json_object_get(j, "points");
    size_t again = 0;
    check_samples(f->sample, f->nsamples, f->n, rounds, f->samples, json_object_get(j, "samples"));
    assert_int_equal(json_integer_value(json_object_get(j, "seed")), 42);
    assert_non_null(strstr(f->text, "in random order, seed 42;"));
    for (size_t i = 0; i < f->n; i++) {
        const gcut_frontier_point *x = f->point[i];
        const json_t *p = json_array_get(points, i);
        check_row(f, i);
        again += x->again;
        assert_true(json_number_value(json_object_get(p, "step_ns_lo")) == x->step_ns_lo || rounds < 6);
        if (!x->ours) continue;
        assert_true(!!strstr(line_of(f->text, x->label), "not separable") == !x->separable);
        assert_string_equal(json_string_value(json_object_get(json_object_get(p, "ours"), "label")),
                            x->ours->label);
        assert_true(json_is_true(json_object_get(p, "separable")) == x->separable);
    }
    assert_int_equal(again, 1);
    const gcut_frontier_point *x = f->point[f->n - 1];
    assert_string_equal(x->label, "mincut again");
    assert_string_equal(x->ours->label, "mincut");
    assert_string_equal(x->ours->plan, x->plan);
    assert_non_null(strstr(f->csv, "\nmincut again,mincut,1,"));
    json_decref(j);
}

static void ours_is_chosen_by_prediction(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_of(ctx);
    const gcut_size at = {"N", 512};
    const gcut_options o = options_of(&at);
    fake slow = {.factor = 10};
    gcut_frontier *want = frontier_of(g, &o, 1000, 0, NULL);
    assert_that(want->frontier, >, 2);
    const size_t shown = want->frontier;
    for (size_t i = shown; i < want->n; i++) is_the_plan_of_a_budget(ctx, g, &o, want->point[i]);
    /* What is chosen beside most policies takes ten times as long as everything else. */
    slow.slow = want->point[shown]->ours->label;
    for (int points = 1; points <= 2; points++) {
        const bool measured = points == 1;
        gcut_frontier *f = frontier_of(g, &o, points, measured ? 7 : 0, &slow);
        const size_t first = f->n - measured - (want->n - shown);
        for (size_t i = shown; i < want->n; i++) {
            const gcut_frontier_point *x = f->point[first + i - shown], *y = want->point[i];
            assert_string_equal(x->label, y->label);
            assert_string_equal(x->ours->label, y->ours->label);
            json_t *a = plan_of(x->ours->plan), *b = plan_of(y->ours->plan);
            assert_true(json_equal(a, b));
            json_decref(a);
            json_decref(b);
            assert_true(x->ratio_predicted == y->ratio_predicted && x->ratio_predicted <= 1);
        }
        if (measured) {
            check_forms(f, 7);
            const gcut_frontier_point *x = f->point[first];
            assert_string_equal(x->label, "mincut");
            assert_true(x->ratio > 9 && x->separable);
            assert_false(f->point[f->n - 1]->separable);
        }
        gcut_free(f);
    }
    gcut_free(want);
    gcut_ctx_free(ctx);
}

/* ---- variants ---- */

static gcut_comparison *compared(gcut_ctx *ctx, int rounds, fake *times)
{
    static const char *const list[] = {"unfused", "planned", "save-all"};
    const gcut_compare_options how = {.variant = list, .nvariants = 3, .rounds = rounds};
    const gcut_timer timer = {fake_time, times};
    const gcut_size at = {"N", 64};
    const gcut_options o = options_of(&at);
    gcut_comparison *c = gcut_compare_timed(&timer, sizeof o, sizeof how, graph_of(ctx), &o, &how);
    if (!c) fail_msg("%s", gcut_last_error(ctx));
    json_t *j = json_loads(c->json, 0, NULL);
    check_samples(c->sample, c->nsamples, 4, rounds, c->samples, json_object_get(j, "samples"));
    json_decref(j);
    assert_int_equal(c->n, 4);
    assert_ptr_equal(c->to, c->variant[1]);
    assert_ptr_equal(c->again, c->variant[3]);
    assert_string_equal(c->again->name, "planned again");
    assert_int_equal(c->again->saved_bytes, c->to->saved_bytes);
    assert_non_null(strstr(c->text, "\nplanned again "));
    assert_non_null(strstr(c->text, "seed 42;"));
    for (size_t i = 0; i < 4; i++) {
        const gcut_variant *v = c->variant[i];
        assert_true(v->step_ns_median == median_of(c->sample, c->nsamples, i));
        if (i == 1)
            assert_true(isnan(v->ratio));
        else
            assert_true(v->ratio == c->to->step_ns_median / v->step_ns_median);
    }
    return c;
}

static void overlaps_are_not_separable(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    fake times = {"unfused", 2};
    gcut_comparison *c = compared(ctx, 9, &times);
    assert_true(c->from->separable && fabs(c->from->ratio - 0.5) < 0.01);
    assert_false(c->variant[2]->separable);
    assert_false(c->again->separable);
    assert_string_equal(strstr(c->sentence, " times as fast"), " times as fast");
    gcut_free(c);
    times.slow = "planned again";
    c = compared(ctx, 9, &times);
    assert_true(c->again->separable && !c->variant[2]->separable);
    assert_non_null(strstr(c->text, "\nplanned again, the same plan, is separable from planned"));
    gcut_free(c);
    times.slow = "unfused";
    c = compared(ctx, 5, &times); /* too few rounds for an interval */
    assert_true(isnan(c->from->ratio_lo) && isnan(c->to->step_ns_hi) && !c->from->separable);
    assert_non_null(strstr(c->text, "fewer than 6 rounds"));
    assert_null(strstr(c->text, "the same plan"));
    assert_string_equal(strstr(c->sentence, " times as fast"), " times as fast, not separable");
    gcut_free(c);
    gcut_ctx_free(ctx);
}

static int begin(void **state)
{
    (void)state;
    return begin_runs() ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    end_runs();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_is_chosen_by_prediction),
        cmocka_unit_test(overlaps_are_not_separable),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
