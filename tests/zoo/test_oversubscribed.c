/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training steps on many more threads than this machine has cores, alone and beside other host threads that
 * run the same step: every value has the bits of one thread, whoever has got a core.
 */
#define _GNU_SOURCE
#include "runs.h"

#include <pthread.h>
#include <stdatomic.h>

#include "driver/load/step.h"
#include "models/models.h"
#include "threads.h"

/* Emitted code is instrumented in builds for the thread sanitizer. */
#ifndef SANITIZED
#define SANITIZED ""
#endif

enum { HOSTS = 4, STEPS = 2, RUNS = 3 };

/* ---- a run in memory of its own ---- */

typedef struct values {
    void **at; /* by slot */
} values;

static values copy_values(gcut_step *s)
{
    values v = {calloc(s->nslots, sizeof *v.at)};
    assert_non_null(v.at);
    for (uint32_t k = 0; k < s->nslots; k++) {
        v.at[k] = malloc((size_t)s->slot[k].bytes + 1);
        assert_non_null(v.at[k]);
        if (s->slot[k].bytes) memcpy(v.at[k], s->slot[k].at, (size_t)s->slot[k].bytes);
    }
    return v;
}

static void free_values(gcut_step *s, values *v)
{
    for (uint32_t k = 0; k < s->nslots; k++) free(v->at[k]);
    free(v->at);
}

typedef struct run {
    gcut_step *s;
    const int64_t *dims;
    int threads;
    values v;
    gcut_rt_error err;
} run;

/* As gcut_run does, but with a plan and an arena of the run's own. */
static void *run_steps(void *arg)
{
    run *r = arg;
    gcut_step *s = r->s;
    gcut_rt_plan *plan = calloc(1, s->entry->plan_size);
    void **value = calloc((size_t)s->entry->nvalues + 1, sizeof *value), *arena = NULL;
    for (int i = 0; i < s->entry->nvalues; i++)
        for (uint32_t k = 0; k < s->nslots; k++)
            if (s->value[i] && s->value[i] == s->slot[k].at) value[i] = r->v.at[k];
    gcut_rt_status st = s->entry->init(plan, r->dims, r->threads, &r->err);
    if (st == GCUT_RT_OK) arena = aligned_alloc(64, (size_t)(plan->arena_bytes + 64) / 64 * 64);
    for (int k = 0; k < STEPS && st == GCUT_RT_OK; k++)
        st = s->entry->run(plan, value, NULL, arena, GCUT_RT_STEP, &r->err);
    free(arena);
    free(value);
    free(plan);
    return NULL;
}

static bool same_values(run_case *c, const run *r, const values *want)
{
    char why[256];
    gcut_rt_message(&r->err, why, sizeof why);
    if (!CHECK(c, r->err.status == GCUT_RT_OK, "%d threads: %s", r->threads, why)) return false;
    for (uint32_t k = 0; k < r->s->nslots; k++)
        if (!CHECK(c, !memcmp(r->v.at[k], want->at[k], (size_t)r->s->slot[k].bytes),
                   "%d threads: %s has other bits than on one", r->threads, r->s->slot[k].name))
            return false;
    return true;
}

/* `hosts` threads run the step at once. */
static void compare_with(run_case *c, const run *first, int threads, int hosts)
{
    run r[HOSTS];
    pthread_t id[HOSTS];
    for (int h = 0; h < hosts; h++) {
        r[h] = *first;
        r[h].threads = threads;
        r[h].v = copy_values(first->s);
    }
    for (int h = 1; h < hosts; h++) assert_int_equal(pthread_create(&id[h], NULL, run_steps, &r[h]), 0);
    run_steps(&r[0]);
    for (int h = 1; h < hosts; h++) pthread_join(id[h], NULL);
    for (int h = 0; h < hosts; h++) {
        same_values(c, &r[h], &first->v);
        free_values(first->s, &r[h].v);
    }
}

/* ---- models ---- */

typedef struct model_case {
    const char *name, *size; /* size NULL: a file of bench/models */
    int64_t n, t;            /* the symbols N and T; t 0: there is no T */
} model_case;

/* Large enough that their busiest kernels are worth tens of threads. */
static const model_case cases[] = {
    {"mlp", "784-500-10", 128, 0},
    {"cnn", NULL, 16, 0},
    {"gpt2", "tiny", 200, 13},
    {"lstm", "characters", 64, 3},
};

static gcut_graph *load(gcut_ctx *ctx, const model_case *m)
{
    int64_t parameters;
    char path[512];
    const model *found = m->size ? model_find(m->name) : NULL;
    if (found) return model_graph(found, model_size(found, m->size), GCUT_F32, ctx, &parameters);
    snprintf(path, sizeof path, "%s/bench/models/%s.gcut", GCUT_SOURCE_DIR, m->name);
    return gcut_load(ctx, path, NULL);
}

static int try_model(const model_case *m)
{
    static const int threads[] = {4, 16, 64};
    run_case c = {.what = m->name, .ctx = gcut_ctx_new(NULL), .seed = 3, .nat = m->t ? 2 : 1};
    c.at[0] = (gcut_size){"N", m->n};
    c.at[1] = (gcut_size){"T", m->t};
    c.g = load(c.ctx, m);
    gcut_step *s = CHECK(&c, c.g, "not built") ? compile(&c, GCUT_BACKEND_COMPILED, "mincut", 64, false,
                                                         "adamw(lr=1e-2, weight_decay=0.01)")
                                               : NULL;
    if (CHECK(&c, s, "not compiled") && CHECK(&c, gcut_prepare(s) == GCUT_OK, "not prepared")) {
        int64_t dims[8];
        assert_in_range(s->nsizes, 1, 8);
        for (uint32_t i = 0; i < s->nsizes; i++) dims[i] = s->size[i].value;
        run first = {.s = s, .dims = dims, .threads = 1, .v = copy_values(s)};
        run_steps(&first);
        bool moved = false;
        for (uint32_t k = 0; k < s->nslots; k++)
            moved |= memcmp(first.v.at[k], s->slot[k].at, (size_t)s->slot[k].bytes) != 0;
        CHECK(&c, moved, "the steps change nothing");
        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
            for (int k = 0; k < RUNS; k++) compare_with(&c, &first, threads[i], k == RUNS - 1 ? HOSTS : 1);
#ifdef __linux__
        CHECK(&c, count_threads(NULL) >= 7, "the step has only %d threads", 1 + count_threads(NULL));
#endif
        free_values(s, &first.v);
    }
    gcut_step_free(s);
    gcut_ctx_free(c.ctx);
    return c.nwrong;
}

static void bits_do_not_depend_on_cores(void **state)
{
    (void)state;
    int bad = 0;
    setenv("GRADCUT_STEP_FLAGS", STEP_FLAGS " -O1" SANITIZED, 1); /* the C compiler takes most of the time */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) bad += try_model(&cases[i]) != 0;
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits_do_not_depend_on_cores)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
