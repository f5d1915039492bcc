/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The model by which predicted times are compared with measured ones: which it is, where it is kept, and that
 * plans know nothing of it; what plans say of the model that they are priced by.
 */
#include "harness.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/load/cache.h"
#include "driver/measure/calibrate.h"
#include "driver/measure/completion.h"
#include "gradcut/gradcut.h"
#include "public.h"

static char folder[] = "/tmp/gradcut-here-XXXXXX", config[64];

/* A home without a model, and a cache of its own. */
static int setup(void **state)
{
    (void)state;
    char cmd[128], cache[64];
    if (!mkdtemp(folder)) return -1;
    snprintf(config, sizeof config, "%s/config", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(cmd, sizeof cmd, "mkdir -p %s/gradcut", config);
    setenv("XDG_CONFIG_HOME", config, 1);
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("GRADCUT_MACHINE", "", 1);
    unsetenv("GRADCUT_CACHE");
    return system(cmd);
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
    const char *text, *path;
    const gcut_machine_model *model;
} job;

/* Into the cache: the shipped model under another name, and with other prices. */
static void plant(void *arg)
{
    job *j = arg;
    gcut_arena *a = j->env->arena;
    const gcut_machine_model *shipped = gcut_machine_model_shipped();
    gcut_machine *at = gcut_memdup(a, shipped->at, shipped->n * sizeof *at);
    gcut_machine_model m = *shipped;
    gcut_text t = {.arena = a};
    m.made = "planted";
    m.at = at;
    for (uint32_t i = 0; i < m.n; i++) at[i].op_ns[GCUT_OP_tanh][0] *= 1000;
    gcut_machine_json(&m, &t);
    gcut_cache *cache = gcut_cache_open(a, NULL, NULL);
    assert_non_null(cache);
    gcut_cache_put(cache, GCUT_CACHE_MACHINE, gcut_machine_here_key(a), t.at, t.n);
    j->text = t.at;
}

static void read_model(void *arg)
{
    job *j = arg;
    j->model = gcut_machine_read(j->env->arena, j->path);
}

static bool refuse(void *user, const char *what, size_t done, size_t total)
{
    (void)user, (void)what, (void)done, (void)total;
    return true;
}

/* The plan file of the MLP. */
static char *plan_of(const char *machine)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options o = TEST_OPTIONS;
    o.machine = machine;
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
    char *text = gcut_plan_json(gcut_plan_new(g, &o)), *copy = text ? strdup(text) : NULL;
    if (!copy) fail_msg("%s", gcut_last_error(ctx));
    gcut_ctx_free(ctx);
    return copy;
}

/* --machine, GRADCUT_MACHINE and what calibrate wrote: nothing is measured, and nothing said. */
static void a_model_that_is_there_is_taken(void **state)
{
    (void)state;
    char file[128];
    snprintf(file, sizeof file, "%s/gradcut/machine.json", config);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_ctx_set_hooks(ctx, &(gcut_hooks){.progress = refuse}); /* measuring would be cancelled */
    gcut_machine_report *r = gcut_machine_here(ctx, "given.json");
    assert_string_equal(r->path, "given.json");
    assert_null(r->said);
    setenv("GRADCUT_MACHINE", "shipped", 1);
    assert_string_equal(gcut_machine_here(ctx, NULL)->path, "shipped");
    setenv("GRADCUT_MACHINE", "", 1);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fclose(f);
    assert_string_equal(gcut_machine_here(ctx, NULL)->path, file);
    unlink(file);
    assert_null(gcut_machine_here(ctx, NULL));
    assert_int_equal(gcut_last_status(ctx), GCUT_ECANCELLED);
    gcut_ctx_free(ctx);
}

/* What is in the cache is given to those who ask for it, and to no plan. */
static void plans_do_not_look_into_the_cache(void **state)
{
    (void)state;
    job j = {.env = gcut_env_new(NULL, NULL)};
    char *before = plan_of(NULL);
    must(j.env, plant, &j);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_ctx_set_hooks(ctx, &(gcut_hooks){.progress = refuse});
    gcut_machine_report *r = gcut_machine_here(ctx, NULL);
    if (!r) fail_msg("%s", gcut_last_error(ctx));
    assert_string_equal(r->json, j.text);
    assert_non_null(strstr(r->said, "a brief measurement of it (planted), which "));
    assert_non_null(strstr(r->said, "is from the cache"));
    assert_null(strchr(r->said, '\n'));
    gcut_cache_info *info = gcut_cache_look(ctx);
    assert_int_equal(info->models, 1);
    assert_int_equal(info->hits + info->misses, 0);
    char *after = plan_of(NULL), *here = plan_of(r->path);
    assert_string_equal(before, after);
    assert_non_null(strstr(here, "\"planted\""));
    assert_null(strstr(before, "planted"));
    gcut_free(r);
    free(before), free(after), free(here);
    gcut_ctx_free(ctx);
    gcut_env_free(j.env);
}

/* ---- what plans say of the model ---- */

/* Writes a file into the folder; its path. */
static const char *put(gcut_arena *a, const char *name, const char *text)
{
    const char *path = gcut_printf(a, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static const gcut_plan *planned(gcut_graph *g, const char *machine, int threads, const char *file)
{
    gcut_options o = {.machine = machine, .threads = threads, .plan = file};
    gcut_plan *p = gcut_plan_new(g, &o);
    assert_non_null(p);
    return p;
}

static bool contains(char *text, const char *what)
{
    bool found = text && strstr(text, what);
    gcut_free(text);
    return found;
}

/* A replay by another model is no error, and says so; by the same model it is the same file. */
static void plan_files_name_their_model(void **state)
{
    (void)state;
    job j = {.env = gcut_env_new(NULL, NULL)};
    must(j.env, plant, &j);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
    const char *machine = put(j.env->arena, "planted.json", j.text);
    char *json = gcut_plan_json(planned(g, "shipped", 0, NULL));
    const char *file = put(j.env->arena, "plan.json", json);
    const gcut_plan *same = planned(g, "shipped", 0, file), *other = planned(g, machine, 0, file);
    char *again = gcut_plan_json(same);
    assert_string_equal(json, again);
    assert_null(gcut_plan_look(same)->file_machine_hash);
    const gcut_plan_info *info = gcut_plan_look(other);
    assert_string_equal(info->machine, "planted");
    assert_string_equal(info->file_machine, gcut_machine_model_shipped()->made);
    assert_string_equal(info->file_machine_hash, gcut_plan_look(same)->machine_hash);
    assert_string_not_equal(info->file_machine_hash, info->machine_hash);
    assert_false(contains(gcut_plan_text(same, NULL), "times are of the machine model"));
    assert_true(contains(gcut_plan_text(other, NULL), "times are of the machine model planted ("));
    assert_true(contains(gcut_plan_json(other), "\"replayed_machine_hash\": \""));
    char *by_other = gcut_plan_json(planned(g, machine, 0, NULL));
    gcut_plan_diff *d = gcut_diff_plans(ctx, file, put(j.env->arena, "other.json", by_other));
    assert_string_equal(d->b->machine, "planted");
    assert_true(contains(gcut_diff_text(ctx, d, NULL), "those of B of planted ("));
    gcut_free(d);
    d = gcut_diff_plans(ctx, file, file);
    assert_false(contains(gcut_diff_text(ctx, d, NULL), "machine model"));
    gcut_free(d);
    gcut_free(json), gcut_free(again), gcut_free(by_other);
    gcut_ctx_free(ctx);
    gcut_env_free(j.env);
}

/* Of two sections, for 1 and for 2 threads; and of one, for 2. */
static void threads_beyond_the_model_are_said(void **state)
{
    (void)state;
    static const struct {
        bool one;
        int asked, threads, priced;
        const char *says;
    } rows[] = {{false, 0, 2, 2, NULL},
                {false, 1, 1, 1, NULL},
                {false, 64, 64, 2, "threads: 64, priced as 2, the most that the machine model has\n"},
                {true, 1, 1, 2, "threads: 1, priced as 2, the fewest that the machine model has\n"}};
    job j = {.env = gcut_env_new(NULL, NULL)};
    gcut_machine_model m = *gcut_machine_model_shipped();
    gcut_text t = {.arena = j.env->arena};
    m.at++, m.n--;
    gcut_machine_json(&m, &t);
    const char *one = put(j.env->arena, "one.json", t.at);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const gcut_plan *p = planned(g, rows[i].one ? one : "shipped", rows[i].asked, NULL);
        assert_int_equal(gcut_plan_look(p)->threads, rows[i].threads);
        assert_int_equal(gcut_plan_look(p)->priced_threads, rows[i].priced);
        assert_int_equal(contains(gcut_plan_text(p, NULL), rows[i].says ? rows[i].says : "priced as"),
                         rows[i].says != NULL);
    }
    gcut_ctx_free(ctx);
    gcut_env_free(j.env);
}

/* ---- what is measured ---- */

/* Every figure is there, measured or not; what the figures are, no test can say. */
static void a_brief_measurement_makes_a_whole_model(void **state)
{
    (void)state;
    job j = {.env = gcut_env_new(NULL, NULL)};
    setenv("GRADCUT_CACHE", "off", 1);
    setenv("OMP_NUM_THREADS", "3", 1);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_machine_report *r = gcut_machine_here(ctx, NULL);
    if (!r) fail_msg("%s", gcut_last_error(ctx));
    j.path = r->path;
    must(j.env, read_model, &j);
    assert_int_equal(j.model->n, 2);
    assert_int_equal(j.model->default_threads, 3);
    for (uint32_t i = 0; i < j.model->n; i++) {
        const gcut_machine *m = &j.model->at[i];
        const gcut_machine like = gcut_machine_at(gcut_machine_model_shipped(), (int)m->threads);
        assert_true(m->threads == (i ? 3 : 1));
        for (int op = 0; op < GCUT_NOPS; op++)
            for (int wide = 0; wide < 2; wide++)
                assert_true(like.op_ns[op][wide] > 0 ? m->op_ns[op][wide] > 0 : m->op_ns[op][wide] >= 0);
        assert_true(m->f64_factor == like.f64_factor);
    }
    assert_true(!r->busy == !strstr(r->said, "busy"));
    assert_true(!r->busy == !j.model->note);
    static const char *const classes[] = {"attention", "convolutions", "elementwise ops",
                                          "memory",    "products",     "reductions, moves, draws"};
    assert_int_equal(j.model->nspread, sizeof classes / sizeof *classes); /* three rounds are always made */
    for (uint32_t i = 0; i < j.model->nspread; i++) {
        const gcut_machine_spread *x = &j.model->spread[i];
        assert_string_equal(x->class, classes[i]);
        assert_true(x->typical >= 0 && x->worst >= x->typical);
        assert_non_null(strstr(x->probe, "thread"));
    }
    unsetenv("GRADCUT_CACHE");
    unsetenv("OMP_NUM_THREADS");
    gcut_free(r);
    gcut_ctx_free(ctx);
    gcut_env_free(j.env);
}

/* Measured: add and exp at twice and eight times the other model's price, one product at half of it. */
static void what_is_missing_is_scaled(void **state)
{
    (void)state;
    const gcut_machine like = gcut_machine_at(gcut_machine_model_shipped(), 1);
    gcut_machine m = like;
    memset(m.op_ns, 0, sizeof m.op_ns);
    memset(m.gemm_ns_per_flop, 0, sizeof m.gemm_ns_per_flop);
    m.op_scale = m.f64_factor = 0;
    m.op_ns[GCUT_OP_add][0] = 2 * like.op_ns[GCUT_OP_add][0];
    m.op_ns[GCUT_OP_exp][0] = 8 * like.op_ns[GCUT_OP_exp][0];
    m.gemm_ns_per_flop[2][1][3] = 0.5 * like.gemm_ns_per_flop[2][1][3];
    gcut_machine_complete(&m, &like);
    assert_true(m.op_ns[GCUT_OP_add][0] == 2 * like.op_ns[GCUT_OP_add][0]);
    for (int op = 0; op < GCUT_NOPS; op++)
        for (int wide = 0; wide < 2; wide++)
            if (wide || (op != GCUT_OP_add && op != GCUT_OP_exp))
                assert_true(fabs(m.op_ns[op][wide] - 4 * like.op_ns[op][wide]) <=
                            1e-12 * like.op_ns[op][wide]);
    assert_true(fabs(m.op_scale / like.op_scale - 4) < 1e-12);
    for (int l = 0; l < GCUT_GEMM_LO; l++)
        for (int h = 0; h < GCUT_GEMM_HI; h++)
            for (int k = 0; k < GCUT_GEMM_K; k++)
                assert_true(fabs(m.gemm_ns_per_flop[l][h][k] / like.gemm_ns_per_flop[l][h][k] - 0.5) < 1e-12);
    assert_memory_equal(m.conv_ns_per_flop, like.conv_ns_per_flop, sizeof m.conv_ns_per_flop);
    assert_true(m.f64_factor == like.f64_factor);
    gcut_machine same = like;
    gcut_machine_complete(&same, &like);
    assert_memory_equal(&same, &like, sizeof same);
}

/* A curve of known capacity: 1 ns a byte up to half of it, 3 ns from twice of it on, half way between in it. */
static void capacity_of_a_cache(void **state)
{
    (void)state;
    enum { N = 9 };
    for (double capacity = 40; capacity < 900; capacity *= 1.3) {
        double bytes[N], ns[N];
        for (int i = 0; i < N; i++) {
            bytes[i] = 10 * exp2(i);
            ns[i] = 2 + fmax(-1, fmin(1, log2(bytes[i] / capacity)));
        }
        assert_true(fabs(gcut_cache_bytes(bytes, ns, N) / capacity - 1) < 1e-9);
    }
    static const double bytes[] = {16, 32, 64}, level[] = {1, 1.3, 1.19}, at_once[] = {1, 4, 4},
                        late[] = {1, 0.9, 3};
    assert_true(isinf(gcut_cache_bytes(bytes, level, 3)));
    assert_true(isinf(gcut_cache_bytes(bytes, level, 1)));
    assert_true(fabs(gcut_cache_bytes(bytes, at_once, 3) - 16 * sqrt(2)) < 1e-9);
    assert_true(fabs(gcut_cache_bytes(bytes, late, 3) - 32 * exp2(1.1 / 2.1)) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacity_of_a_cache),
        cmocka_unit_test(a_model_that_is_there_is_taken),
        cmocka_unit_test(plans_do_not_look_into_the_cache),
        cmocka_unit_test(plan_files_name_their_model),
        cmocka_unit_test(threads_beyond_the_model_are_said),
        cmocka_unit_test(a_brief_measurement_makes_a_whole_model),
        cmocka_unit_test(what_is_missing_is_scaled),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
