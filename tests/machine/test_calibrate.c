/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_calibrate from end to end with hardly any time, and the order in which
 * models are looked for.  What is measured here means nothing; that it is
 * complete, positive and a valid file does.
 */
#include "harness.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "count_blocks.h"
#include "driver/measure/host.h"
#include "driver/measure/probes.h"
#include "driver/options/machine_choice.h"
#include "gradcut/gradcut.h"
#include "public.h"

static char folder[] = "/tmp/gradcut-calibrate-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    char cmd[128];
    (void)state;
    snprintf(cmd, sizeof cmd, "rm -r %s", folder);
    return system(cmd);
}

typedef struct job {
    gcut_env *env;
    const char *named;
    const gcut_machine_model *model;
} job;

static void find(void *arg)
{
    job *j = arg;
    j->model = gcut_machine_find(j->env->arena, j->named);
}

/* The rig's step runs on as many threads as a visit asks for: what one thread takes is measured with one. */
static void rig_has_threads(void *arg)
{
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, NULL);
    gcut_probes probes = {0};
    const int64_t size[GCUT_PROBE_SYMBOLS] = {1 << 10};
    gcut_probes_pointwise(a, &probes, true);
    gcut_rig *r = gcut_rig_new(env, a, &probes, GCUT_F32, 1 << 20);
    for (int threads = 2; threads > 0; threads--) {
        gcut_rig_only(r, 1, size, threads);
        assert_that(gcut_rig_run(r, 0), >, 0);
        assert_int_equal(r->step->threads, threads);
        assert_that(gcut_rig_work(r, 1), ==, GCUT_PROBE_OPS * (double)size[0]);
        gcut_rig_cheap(r, 100, 16, threads);
        assert_that(gcut_rig_run(r, 0), >, 0);
        assert_int_equal(r->step->threads, threads);
        for (uint32_t i = 0; i < probes.n; i++) {
            const bool on = gcut_op_get(probes.at[i].op)->cost_ps < 100;
            assert_that(gcut_rig_work(r, i), ==, on ? GCUT_PROBE_OPS * 16.0 : 0);
        }
    }
    gcut_arena_free(a);
}

static void a_visit_has_its_threads(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, rig_has_threads, env);
    gcut_env_free(env);
}

/* Their results: 32 channels of GCUT_MEASURED_POOL by GCUT_MEASURED_POOL, or gradients of four times as many elements. */
static void pools_have_the_rows_of_the_model(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    gcut_probes probes = {0};
    uint32_t n = 0;
    gcut_probes_add(env->arena, &probes, GCUT_PROBES_OTHERS, false);
    for (uint32_t i = 0; i < probes.n; i++) {
        const gcut_op op = probes.at[i].op;
        if (gcut_op_get(op)->emit != GCUT_EMIT_POOL) continue;
        const bool grad = op == GCUT_OP_max_pool2d_grad || op == GCUT_OP_avg_pool2d_grad;
        assert_true(probes.at[i].elements == (grad ? 4 : 1) * 32 * GCUT_MEASURED_POOL * GCUT_MEASURED_POOL);
        n++;
    }
    assert_int_equal(n, 4);
    gcut_env_free(env);
}

static bool count_progress(void *user, const char *what, size_t done, size_t total)
{
    assert_non_null(what);
    assert_true(total == 0 || done <= total);
    ++*(int *)user;
    return false;
}

/* Every elementwise op of floats and every contraction was measured. */
static void check_model(const gcut_machine_model *m)
{
    assert_int_equal(m->n, 1);
    assert_true(m->at[0].threads == 1);
    assert_int_equal(m->default_threads, 1);
    int measured = 0;
    for (int op = 0; op < GCUT_NOPS; op++) measured += m->at[0].op_ns[op][0] > 0;
    assert_true(measured > 60);
    static const gcut_op some[] = {GCUT_OP_exp, GCUT_OP_cos, GCUT_OP_add, GCUT_OP_softmax, GCUT_OP_take};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) assert_true(m->at[0].op_ns[some[i]][0] > 0);
    assert_true(m->at[0].op_ns[GCUT_OP_exp][1] > 0);
    assert_true(m->at[0].f64_factor >= 1);
}

static void a_model_is_measured_written_and_found(void **state)
{
    (void)state;
    char home[64], path[128];
    int calls = 0;
    snprintf(home, sizeof home, "%s/config", folder);
    snprintf(path, sizeof path, "%s/gradcut/machine.json", home);
    unsetenv("GRADCUT_MACHINE");
    setenv("XDG_CONFIG_HOME", home, 1);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_calibrate_options opt = {.threads = 1, .seconds = 0.01, .force = true};
    gcut_ctx_set_hooks(ctx, &(gcut_hooks){.progress = count_progress, .user = &calls});
    gcut_machine_report *made = gcut_calibrate(ctx, &opt);
    if (!made) fail_msg("%s", gcut_last_error(ctx));
    const char *text = made->text, *json = made->json;
    assert_true(calls > 5);
    assert_non_null(strstr(text, "memory read, GB/s"));
    assert_non_null(strstr(text, path));
    assert_non_null(made->busy); /* one round shows nothing */
    assert_non_null(strstr(text, made->busy));
    job j = {.env = gcut_env_new(NULL, NULL)};
    assert_string_equal(json, gcut_file_read(j.env->arena, path, 1 << 20, NULL));
    must(j.env, find, &j);
    check_model(j.model);
    assert_string_equal(j.model->note, made->busy);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
    assert_non_null(g ? gcut_plan_new(g, NULL) : NULL);
    gcut_env_free(j.env);
    gcut_ctx_free(ctx);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Each place holds a model of another name; the first one in the order wins. */
static void models_are_looked_for_in_order(void **state)
{
    (void)state;
    job j = {.env = gcut_env_new(NULL, NULL)};
    gcut_machine_model m = *gcut_machine_model_shipped();
    char path[4][128];
    static const char *const where[] = {"given", "variable", "xdg/gradcut/machine.json",
                                        "home/.config/gradcut/machine.json"};
    snprintf(path[0], sizeof path[0], "cd %s && mkdir -p xdg/gradcut home/.config/gradcut", folder);
    assert_int_equal(system(path[0]), 0);
    for (int i = 0; i < 4; i++) {
        gcut_text t = {.arena = j.env->arena};
        m.made = where[i];
        gcut_machine_json(&m, &t);
        snprintf(path[i], sizeof path[i], "%s/%s", folder, where[i]);
        put(path[i], t.at);
    }
    char xdg[64], home[64];
    snprintf(xdg, sizeof xdg, "%s/xdg", folder);
    snprintf(home, sizeof home, "%s/home", folder);
    setenv("HOME", home, 1);
    setenv("XDG_CONFIG_HOME", xdg, 1);
    setenv("GRADCUT_MACHINE", path[1], 1);
    j.named = path[0];
    for (int i = 0; i < 5; i++) {
        must(j.env, find, &j);
        assert_string_equal(j.model->made, i < 4 ? where[i] : gcut_machine_model_shipped()->made);
        if (i == 0) j.named = NULL;
        if (i == 1) setenv("GRADCUT_MACHINE", "", 1);
        if (i == 2) setenv("XDG_CONFIG_HOME", "relative", 1);
        if (i == 3) unlink(path[3]);
    }
    j.named = "shipped";
    setenv("XDG_CONFIG_HOME", xdg, 1);
    must(j.env, find, &j);
    assert_ptr_equal(j.model, gcut_machine_model_shipped());
    j.named = "/nonexistent/model.json";
    assert_int_equal(gcut_protect(j.env, find, &j), GCUT_EIO);
    gcut_env_free(j.env);
}

/* gcut_profile.line_ratio by the model, with `threads` threads.  A worker may have no processor for a while, and the ratio is
 * unknown then: profiles up to `tries` times. */
static double line_ratio(const gcut_machine_model *m, const char *path, int threads, int tries)
{
    gcut_env *env = gcut_env_new(NULL, NULL);
    gcut_text t = {.arena = env->arena};
    gcut_machine_json(m, &t);
    put(path, t.at);
    gcut_env_free(env);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options o = TEST_OPTIONS;
    o.profile = true, o.threads = threads, o.machine = path;
    gcut_step *s = gcut_compile(gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL), &o);
    double ratio = NAN;
    for (int i = 0; i < tries && isnan(ratio); i++) {
        gcut_profile *p = s ? gcut_step_profile(s, 1) : NULL;
        if (!p) fail_msg("%s", gcut_last_error(ctx));
        ratio = p->line_ratio;
        gcut_free(p);
    }
    gcut_ctx_free(ctx);
    return ratio;
}

/* The ratio is known where the model has a section with line_ns for the number of threads. */
static void round_trips_of_lines(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "%s/lines.json", folder);
    gcut_machine_model m = *gcut_machine_model_shipped();
    assert_true(gcut_host_line_ns(1) == 0);
    assert_that(gcut_host_line_ns(3), >, 0);
    assert_true(isnan(line_ratio(&m, path, 2, 1)));
    gcut_machine at[2] = {m.at[0], m.at[1]};
    m.at = at;
    at[1].line_ns = 1e-3;
    assert_true(isnan(line_ratio(&m, path, 1, 1)));
    const double ratio = line_ratio(&m, path, 2, 100);
    if (isnan(ratio)) skip();    /* another program has all other processors */
    assert_that(ratio, >, 1000); /* a nanosecond */
}

/* The same file and the same plan, whatever OMP_NUM_THREADS says; --threads chooses the section. */
static void plans_go_by_the_file(void **state)
{
    (void)state;
    char *said[3];
    static const struct {
        const char *omp;
        int threads;
    } runs[] = {{"1", 0}, {"2", 0}, {"2", 1}};
    setenv("GRADCUT_MACHINE", "shipped", 1);
    for (int i = 0; i < 3; i++) {
        size_t n;
        FILE *f = open_memstream(&said[i], &n);
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_options o = TEST_OPTIONS;
        setenv("OMP_NUM_THREADS", runs[i].omp, 1);
        o.threads = runs[i].threads;
        gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
        print_text(f, gcut_plan_saved_text(gcut_plan_new(g, &o), NULL));
        fclose(f);
        gcut_ctx_free(ctx);
    }
    assert_string_equal(said[0], said[1]);
    assert_string_not_equal(said[0], said[2]); /* flip prices of another section */
    for (int i = 0; i < 3; i++) free(said[i]);
}

static void what_cannot_be_written_is_said(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_calibrate_options opt = {
        .threads = 1, .seconds = 0.01, .force = true, .path = "/nonexistent/m.json"};
    assert_null(gcut_calibrate(ctx, &opt));
    assert_int_equal(gcut_last_status(ctx), GCUT_EIO);
    assert_non_null(strstr(gcut_last_error(ctx), "/nonexistent/m.json"));
    gcut_ctx_free(ctx);
}

/* What one round measured may be anything: it is not written, unless by force, and what is there stays. */
static void what_may_be_wrong_is_not_written(void **state)
{
    (void)state;
    char path[64];
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_env *env = gcut_env_new(NULL, NULL);
    snprintf(path, sizeof path, "%s/kept.json", folder);
    put(path, "as it was");
    gcut_calibrate_options opt = {.threads = 1, .seconds = 0.01, .path = path};
    assert_null(gcut_calibrate(ctx, &opt));
    assert_int_equal(gcut_last_status(ctx), GCUT_EUNSUPPORTED);
    assert_non_null(strstr(gcut_last_error(ctx), "this machine is too busy: 1 round cannot show"));
    assert_non_null(strstr(gcut_last_error(ctx), "--force"));
    assert_string_equal(gcut_file_read(env->arena, path, 1 << 20, NULL), "as it was");
    opt.reserved[2] = 1;
    assert_null(gcut_calibrate(ctx, &opt));
    assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
    gcut_env_free(env);
    gcut_ctx_free(ctx);
}

/* ---- ends before the end ---- */

/* The clock of everything that is linked, which a test may put forward. */
static time_t later;
int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    int failed = __real_clock_gettime(id, t);
    t->tv_sec += later;
    return failed;
}

typedef struct ending {
    const char *stage; /* where it ends */
    size_t done;       /* in percent, at least */
    bool cancels;      /* or else an hour passes */
    int reached;
} ending;

static bool end(void *user, const char *what, size_t done, size_t total)
{
    ending *e = user;
    (void)total;
    if (strcmp(what, e->stage) != 0 || done < e->done || e->reached++) return false;
    if (!e->cancels) later += 3600;
    return e->cancels;
}

/* Between compilations, and among measurements.  No file is touched, and no memory stays. */
static void it_ends_early(void **state)
{
    (void)state;
    static const char old[] = "an older model";
    static const struct {
        ending how;
        gcut_status status;
        const char *says;
    } rows[] = {
        {{"compiling", 0, true, 0}, GCUT_ECANCELLED, "cancelled by the progress hook while compiling"},
        {{"compiling", 33, true, 0}, GCUT_ECANCELLED, "cancelled by the progress hook while compiling"},
        {{"compiling", 100, true, 0}, GCUT_ECANCELLED, "cancelled by the progress hook while compiling"},
        {{"measuring", 10, true, 0}, GCUT_ECANCELLED, "cancelled by the progress hook while measuring"},
        {{"measuring", 10, false, 0}, GCUT_EUNSUPPORTED, "this machine is too busy"},
        {{"measuring", 20, true, 0}, GCUT_ECANCELLED, "cancelled by the progress hook while measuring"},
    };
    enum { REPEATED = 4 }; /* from this row on nothing is compiled for the first time */
    char path[64];
    snprintf(path, sizeof path, "%s/old.json", folder);
    put(path, old);
    block_counter memory = {0};
    long after = 0;
    gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){count_blocks, &memory});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ending how = rows[i].how;
        gcut_ctx_set_hooks(ctx, &(gcut_hooks){.progress = end, .user = &how});
        gcut_calibrate_options opt = {.threads = 1, .seconds = 0.01, .force = true, .path = path};
        gcut_machine_report *r = gcut_calibrate(ctx, &opt);
        if (r || !how.reached) fail_msg("row %zu: it did not end", i);
        assert_int_equal(gcut_last_status(ctx), rows[i].status);
        if (!strstr(gcut_last_error(ctx), rows[i].says)) fail_msg("%s", gcut_last_error(ctx));
        gcut_clear_errors(ctx);
        if (i == REPEATED) after = memory.blocks; /* with the context's own, for errors */
        if (i > REPEATED && memory.blocks != after) fail_msg("%ld blocks stay", memory.blocks - after);
        gcut_env *env = gcut_env_new(NULL, NULL);
        assert_string_equal(gcut_file_read(env->arena, path, 1 << 20, NULL), old);
        gcut_env_free(env);
    }
    gcut_ctx_free(ctx);
    assert_int_equal(memory.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_visit_has_its_threads),
        cmocka_unit_test(pools_have_the_rows_of_the_model),
        cmocka_unit_test(a_model_is_measured_written_and_found),
        cmocka_unit_test(models_are_looked_for_in_order),
        cmocka_unit_test(round_trips_of_lines),
        cmocka_unit_test(plans_go_by_the_file),
        cmocka_unit_test(what_cannot_be_written_is_said),
        cmocka_unit_test(what_may_be_wrong_is_not_written),
        cmocka_unit_test(it_ends_early),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
