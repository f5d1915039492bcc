/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ranges of sizes for which a plan is the cheapest: against plans made at every size.
 */
#include "joint_gen.h"

#include <unistd.h>

#include "gradcut/gradcut.h"
#include "partition/cut/decisions.h"
#include "partition/query/valid_range.h"
#include "public.h"

#define SIX GCUT_SOURCE_DIR "/tests/plans/six.gcut"

static gcut_plan *plan_at(gcut_graph *g, int64_t n, double lambda)
{
    gcut_dim_binding at = {g->decls.at[0].sym, n};
    gcut_plan_options o = {
        .lambda = lambda, .at = &at, .nat = 1, .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
    return gcut_plan_make(g, &o);
}

/* Does the set that `plan` saves cost no more at n than the plan made there? */
static bool is_best_at(gcut_plan *plan, int64_t n, gcut_arena *a)
{
    gcut_graph *g = plan->joint;
    gcut_plan *there = plan_at(g, n, plan->options.lambda);
    gcut_problem *p = gcut_problem_of(a, there);
    bool *saved = gcut_calloc(a, g->values.n, 1);
    for (gcut_ref v = 1; v < g->values.n; v++) saved[v] = plan->value[v].decision == GCUT_PLAN_SAVED;
    return gcut_choice_saving(p, a, saved, NULL, plan->options.lambda)->cost_ns <=
           there->cost_ns * (1 + 1e-9) + 1e-9;
}

static uint32_t check_range(gcut_plan *plan, gcut_arena *a)
{
    const gcut_plan_validity *h = gcut_plan_valid_sizes(plan, a);
    assert_true(h->best);
    assert_true(!h->skipped);
    assert_that(h->n, ==, 1);
    const gcut_valid_range *r = h->range[0];
    int64_t own = plan->options.at[0].value;
    assert_that(r->lo, >=, 1);
    assert_that(r->lo, <=, own);
    assert_that(r->hi, >=, own);
    assert_true(r->lo_exact);
    assert_true(r->hi_exact || r->unbounded);
    uint32_t ends = 0;
    if (r->lo > 1) assert_false(is_best_at(plan, r->lo - 1, a)), ends++;
    if (r->hi_exact) assert_false(is_best_at(plan, r->hi + 1, a)), ends++;
    for (int64_t n = r->lo; n <= r->hi && n < 3000; n += n < 40 ? 1 : n / 7)
        assert_true(is_best_at(plan, n, a));
    assert_true(is_best_at(plan, r->hi, a));
    return ends;
}

static void random_body(void *arg)
{
    gcut_env *env = arg;
    static const double lambdas[] = {0, 0.05, 0.3, 1};
    static const int64_t sizes[] = {4, 30, 500};
    uint32_t ends = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        TRY("seed %d", (int)seed);
        gcut_arena *a = gcut_arena_new(env, NULL);
        gcut_graph *g = joint_random(gcut_module_new(env, a), seed, 7, 0, 128, "j");
        ends += check_range(plan_at(g, sizes[seed % 3], lambdas[seed % 4]), a);
        gcut_arena_free(a);
    }
    if (ends < 10) fail_msg("only %u ends", ends);
}

static void ranges_end_where_another_plan_is_cheaper(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, random_body, env);
    gcut_env_free(env);
}

/* Multiples, an upper limit, and sizes that no 64 bits hold. */
static void limits_body(void *arg)
{
    gcut_env *env = arg;
    static const char *const heads[] = {"N in 8..64 mult 8", "N in 1..1000", "N in 1.."};
    for (int i = 0; i < 3; i++) {
        gcut_arena *a = gcut_arena_new(env, NULL);
        const char *text =
            gcut_printf(a,
                        "gcut 1\n"
                        "func @j[%s](param %%w: f32[1048576, 1048576], input %%x: f32[N, 1048576], "
                        "cotan %%dy: f32[N, 1048576]) -> (out y: f32[N, 1048576], grad x: "
                        "f32[N, 1048576]) {\n"
                        "  %%h = matmul(%%x, %%w) %%c = cos(%%h) %%y = exp(%%c) %%s = sin(%%h)\n"
                        "  %%d = mul(%%dy, %%y) %%dx = mul(%%d, %%s)\n"
                        "  return %%y, %%dx\n}\n",
                        heads[i]);
        gcut_module *m = gcut_parse_module(env, a, "limits", text, strlen(text));
        gcut_plan *plan = plan_at(m->graphs.at[0], 16, 0.05);
        const gcut_plan_validity *h = gcut_plan_valid_sizes(plan, a);
        assert_true(h->best);
        assert_that(h->n, ==, 1);
        assert_int_equal(h->range[0]->lo, i == 0 ? 8 : 1);
        if (i < 2) assert_int_equal(h->range[0]->hi, i == 0 ? 64 : 1000);
        assert_int_equal(h->range[0]->unbounded, i == 2);
        gcut_arena_free(a);
    }
}

static void declarations_bound_ranges(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, limits_body, env);
    gcut_env_free(env);
}

/* The plan of file `path` at N = n, as text. */
static const char *replayed(gcut_graph *g, const char *path, long n)
{
    gcut_plan *p =
        gcut_plan_new(g, &(gcut_options){.plan = path, .threads = 2, .at = &(gcut_size){"N", n}, .nat = 1});
    assert_non_null(p);
    return gcut_plan_text(p, NULL);
}

/* A mask is saved as bits where they take fewer lines of cache than bools; below, the plan is another. */
static void formats_end_where_they_save_nothing(void **state)
{
    (void)state;
    static const char text[] =
        "gcut 1\nfunc @f[N in 1..](param %w: f32[N], rng %k: i64[]) -> (out loss: f32[]) {\n"
        "  %d = dropout(%w, %k, p=0.25)\n  %e = mul(%d, %d)\n  %loss = sum(%e)\n  return %loss\n}\n";
    static const char says[] = "\nbest at every N tried from ";
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "f.gcut", NULL);
    gcut_plan *p =
        gcut_plan_new(g, &(gcut_options){.lambda = 1, .threads = 2, .at = &(gcut_size){"N", 1000}, .nat = 1});
    assert_non_null(p);
    char path[] = "/tmp/gradcut_range_XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    assert_non_null(f);
    print_text(f, gcut_plan_json(p));
    fclose(f);
    const char *from = strstr(gcut_plan_text(p, NULL), says);
    assert_non_null(from);
    const long lo = strtol(from + strlen(says), NULL, 10);
    assert_that(lo, >, 8);
    assert_null(strstr(replayed(g, path, lo), "not the cheapest"));
    assert_non_null(strstr(replayed(g, path, lo - 1), "not the cheapest"));
    unlink(path);
    gcut_ctx_free(ctx);
}

/* The loop's step has to hold too; other policies say nothing. */
static void reports_tell(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/loops/lstm.gcut", NULL);
    gcut_options o = TEST_OPTIONS;
    FILE *f = tmpfile();
    char text[8192];
    assert_non_null(f);
    print_text(f, gcut_plan_text(gcut_plan_new(g, &o), NULL));
    o.policy = "save-all";
    print_text(f, gcut_plan_text(gcut_plan_new(g, &o), NULL));
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    const char *first = strstr(text, "\nbest at every T tried from ");
    assert_non_null(first);
    assert_null(strstr(first + 5, "best at every"));
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_end_where_another_plan_is_cheaper),
        cmocka_unit_test(declarations_bound_ranges),
        cmocka_unit_test(formats_end_where_they_save_nothing),
        cmocka_unit_test(reports_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
