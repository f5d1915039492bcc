/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Terms of predicted times: of every launch of every model and loop, on one and on two threads, at two sizes,
 * they add up to the predicted time, to the last bit; and each is what its own numbers say.  Those of every price
 * of recomputation too.
 */
#include "harness.h"

#include <string.h>

#include "base/file.h"
#include "driver/pipeline/compile.h"
#include "model_files.h"
#include "partition/cut/prices.h"
#include "text/text.h"

typedef struct job {
    gcut_env *env;
    const char *path;
    uint32_t launches, runs, prices;
    bool overlap[3], kind[3], hidden, scaled, workspace, apart;
} job;

static void near(double got, double want, const char *what)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want))) fail_msg("%s: %.17g instead of %.17g", what, got, want);
}

static void check_term(job *j, const gcut_cost_run *run, const gcut_term *t)
{
    j->kind[t->kind] = true;
    j->hidden |= t->hidden;
    j->scaled |= t->times != 1;
    assert_true(t->ns >= 0 && isfinite(t->ns));
    assert_true(t->name || t->what);
    if (t->kind == GCUT_TERM_TRAFFIC) {
        const gcut_reach *r = &t->reach;
        near(r->share[0] + r->share[1] + r->share[2], 1, "shares");
        assert_true(t->fetched >= 0 && t->fetched <= t->written);
        if (t->what && !strcmp(t->what, "workspace, in the rate"))
            assert_true(t->ns == 0), j->workspace = true;
        else if (run->overlap == GCUT_OVERLAP_BEYOND)
            assert_that(t->ns, <=, t->read * r->read_ns + t->fetched * r->write_ns);
        else
            near(t->ns, t->read * r->read_ns + t->fetched * r->write_ns, t->name);
        return;
    }
    assert_non_null(t->unit);
    if (t->rate.key) near(t->ns, t->units * t->rate.ns * t->rate.factor * t->times, t->what);
}

static double sum_of(const gcut_cost_run *run, gcut_term_kind kind)
{
    double ns = 0;
    for (uint32_t i = 0; i < run->nterms; i++)
        if (run->term[i].kind == kind && !run->term[i].hidden) ns += run->term[i].ns;
    return ns;
}

static void check_run(job *j, const gcut_cost_run *run)
{
    const double work = run->work_ns, moves = run->traffic_ns;
    j->overlap[run->overlap] = true;
    near(sum_of(run, GCUT_TERM_WORK), work, "work"); /* a factor of several terms is rounded with each */
    assert_true(sum_of(run, GCUT_TERM_TRAFFIC) == moves);
    assert_true(sum_of(run, GCUT_TERM_FIXED) == run->fixed_ns);
    assert_true(run->ns ==
                (run->overlap == GCUT_OVERLAP_LONGER ? fmax(work, moves) : work + moves) + run->fixed_ns);
    for (uint32_t i = 0; i < run->nterms; i++) check_term(j, run, &run->term[i]);
}

static void check_launch(job *j, const gcut_cost *plain, const gcut_cost *c, int threads)
{
    double ns = 0, read = 0, written = 0;
    assert_int_equal(plain->launch, c->launch);
    assert_true(plain->ns == c->ns);
    for (uint32_t i = 0; i < c->nruns; i++) {
        const gcut_cost_run *run = &c->run[i];
        check_run(j, run);
        assert_that(run->threads, >=, 1);
        assert_that(run->threads, <=, threads);
        ns += run->ns * run->times;
        for (uint32_t k = 0; k < run->nterms; k++)
            read += run->term[k].read * run->times, written += run->term[k].written * run->times;
    }
    assert_true(ns == plain->ns);
    near(read, c->read, "read");
    near(written, c->written, "written");
    j->launches++;
    j->runs += c->nruns;
    j->apart |= c->nruns > 1;
}

static void check_costs(job *j, const gcut_pipeline *p, int64_t larger, int threads, gcut_arena *a)
{
    gcut_dim_binding *at = gcut_memdup(a, p->at, (p->nat + 1) * sizeof *at);
    for (uint32_t i = 0; i < p->nat; i++) at[i].value *= larger;
    gcut_costs plain = gcut_program_costs(p->program, p->machine, at, p->nat, threads, a),
               c = gcut_program_terms(p->program, p->machine, at, p->nat, threads, a);
    assert_true(plain.ns == c.ns);
    assert_int_equal(plain.n, c.n);
    for (uint32_t i = 0; i < c.n; i++) check_launch(j, &plain.at[i], &c.at[i], threads);
}

static void check_prices(job *j, const gcut_plan *plan, gcut_arena *a)
{
    const gcut_problem *q = gcut_problem_of(a, plan);
    for (gcut_ref v = 1; v < q->g->values.n; v++) {
        gcut_terms terms = {.arena = a};
        const gcut_price *price = &q->price[v];
        const double ns = gcut_price_terms(q->facts, q->opt, v, &terms);
        double sum = 0;
        for (uint32_t i = 0; i < terms.list.n; i++) sum += terms.list.at[i].hidden ? 0 : terms.list.at[i].ns;
        assert_true(ns == (price->why ? 0 : price->recompute_ns));
        near(sum, ns, q->g->values.at[v].name);
        j->prices += ns > 0;
    }
}

static void file(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    size_t n;
    const char *text = gcut_file_read(a, j->path, (size_t)1 << 20, &n);
    gcut_module *m = gcut_parse_module(j->env, a, j->path, text, n);
    gcut_settings opt = gcut_settings_of(j->env, NULL, 0);
    opt.threads = 2;
    gcut_pipeline *p = gcut_pipeline_new(m->graphs.at[m->graphs.n - 1], &opt, GCUT_STAGE_KERNEL, a);
    check_prices(j, p->plan, a);
    for (int threads = 1; threads <= 2; threads++) {
        check_costs(j, p, 1, threads, a);
        check_costs(j, p, 8, threads, a);
    }
    gcut_arena_free(a);
}

static void models(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    job j = {.env = env};
    glob_t files = model_files();
    for (size_t i = 0; i < files.gl_pathc; i++) {
        TRY("%s", files.gl_pathv[i]);
        j.path = files.gl_pathv[i];
        must(env, file, &j);
    }
    globfree(&files);
    assert_that(j.launches, >, 2000);
    assert_that(j.runs, >, j.launches);
    assert_that(j.prices, >, 500);
    for (int i = 0; i < 3; i++) assert_true(j.overlap[i] && j.kind[i]);
    assert_true(j.hidden && j.scaled && j.workspace && j.apart);
    gcut_env_free(env);
}

/* ---- threads ---- */

typedef struct team {
    gcut_env *env;
    int64_t t;
    int threads;
} team;

static void attention(void *arg)
{
    team *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    static const char text[] =
        "gcut 1\n"
        "func @f[T in 1..](input %q: f32[1, 1, T, 32]) -> (out y: f32[1, 1, T, 32]) {\n"
        "  %y = attention(%q, %q, %q, scale=0.1)\n"
        "  return %y\n"
        "}\n";
    gcut_module *m = gcut_parse_module(j->env, a, "f.gcut", text, strlen(text));
    const gcut_size at = {"T", j->t};
    gcut_settings opt = gcut_settings_of(j->env, NULL, 0);
    opt.threads = 2;
    opt.at = &at;
    opt.nat = 1;
    const gcut_pipeline *p = gcut_pipeline_new(m->graphs.at[0], &opt, GCUT_STAGE_KERNEL, a);
    const gcut_costs c = gcut_program_terms(p->program, p->machine, p->at, p->nat, 2, a);
    for (uint32_t i = 0; i < c.n; i++)
        if (!strcmp(c.at[i].class, "attention")) j->threads = c.at[i].run[0].threads;
    gcut_arena_free(a);
}

/* Programs start a thread on attention for each 3 us of it at 15 ps for a multiply-add (gradcut_rt.h): for T * T * (32 + 32) of
 * them these are 3.9 us at T = 64 and 7.8 us at T = 90, whatever the machine model says that they take. */
static void attention_is_priced_with_its_team(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    team few = {env, 64, 0}, more = {env, 90, 0};
    must(env, attention, &few);
    must(env, attention, &more);
    assert_int_equal(few.threads, 1);
    assert_int_equal(more.threads, 2);
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models),
                                       cmocka_unit_test(attention_is_priced_with_its_team)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
