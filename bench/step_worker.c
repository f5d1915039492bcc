/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gradcut's worker of the bench against its peers:
 *
 *   step_worker MODEL.gcut OPTIMIZER THREADS FOLDER [NAME=SIZE…]
 *
 * compiles the step (OPTIMIZER "none": gradients alone), fills its parameters and inputs from the model's
 * `data` and a seed, writes each to FOLDER/NAME.npy, from which every peer begins, and then serves commands:
 * see worker.h.  The first line of output says what is known before a step has run.
 */
#include "bench/worker.h"

#include <string.h>

#include "gradcut/gradcut.h"

typedef struct run {
    gcut_ctx *ctx;
    gcut_step *step;
} run;

static void ok(const run *r, bool good)
{
    if (!good) worker_die("%s", gcut_last_error(r->ctx));
}

/* Every parameter and input; what the optimizer adds begins as 0 everywhere. */
static void save_values(const run *r, const char *folder)
{
    char path[4096];
    for (size_t i = 0; i < gcut_step_value_count(r->step); i++) {
        const gcut_value_info *v = gcut_step_value_at(r->step, i);
        if (strcmp(v->role, "param") != 0 && strcmp(v->role, "input") != 0) continue;
        snprintf(path, sizeof path, "%s/%s.npy", folder, v->name);
        ok(r, gcut_step_value_save(r->step, v->name, path) == GCUT_OK);
    }
}

/* Bytes of all values of a role. */
static int64_t bytes_of(const run *r, const char *role)
{
    int64_t n = 0;
    for (size_t i = 0; i < gcut_step_value_count(r->step); i++) {
        const gcut_value_info *v = gcut_step_value_at(r->step, i);
        if (!strcmp(v->role, role)) n += v->bytes;
    }
    return n;
}

static void describe(const run *r, double seconds)
{
    const gcut_plan *plan = gcut_step_plan(r->step);
    printf("{\"compile_s\": %.3f, \"saved_bytes\": %lld, \"param_bytes\": %lld, \"state_bytes\": %lld, "
           "\"input_bytes\": %lld, \"version\": \"%s\", \"inputs\": [",
           seconds, (long long)gcut_plan_look(plan)->saved_bytes, (long long)bytes_of(r, "param"),
           (long long)bytes_of(r, "state"), (long long)bytes_of(r, "input"), gcut_version());
    const char *comma = "";
    for (size_t i = 0; i < gcut_step_value_count(r->step); i++) {
        const gcut_value_info *v = gcut_step_value_at(r->step, i);
        if (strcmp(v->role, "input") != 0 || !strcmp(v->name, "lr")) continue;
        printf("%s\"%s\"", comma, v->name);
        comma = ", ";
    }
    printf("]}\n");
    fflush(stdout);
}

static double step(void *arg)
{
    const run *r = arg;
    double start = worker_now();
    gcut_status s = gcut_run(r->step);
    double ms = 1e3 * (worker_now() - start);
    ok(r, s == GCUT_OK);
    return ms;
}

static void loss(void *arg)
{
    const run *r = arg;
    const gcut_value_info *v = gcut_step_value(r->step, "loss");
    if (!v) worker_die("step_worker: the model has no loss");
    printf("{\"loss\": ");
    worker_number((double)*(float *)v->at);
    printf("}\n");
}

int main(int argc, char **argv)
{
    if (argc < 5 || argc > 5 + WORKER_SIZES)
        worker_die("usage: step_worker MODEL.gcut OPTIMIZER THREADS FOLDER [NAME=SIZE...]");
    run r = {.ctx = gcut_ctx_new(NULL)};
    if (!r.ctx) worker_die("out of memory");
    gcut_size at[WORKER_SIZES];
    gcut_options opt = {0};
    opt.at = at;
    for (int i = 5; i < argc; i++) at[opt.nat++] = (gcut_size){argv[i], worker_size(argv[i])};
    opt.optimizer = strcmp(argv[2], "none") != 0 ? argv[2] : NULL;
    opt.threads = atoi(argv[3]);
    opt.seed = 1;
    opt.unbound = GCUT_UNBOUND_RANDOM;
    gcut_graph *g = gcut_load(r.ctx, argv[1], NULL);
    ok(&r, g != NULL);
    double start = worker_now();
    r.step = gcut_compile(g, &opt);
    double seconds = worker_now() - start;
    ok(&r, r.step != NULL);
    ok(&r, gcut_prepare(r.step) == GCUT_OK);
    save_values(&r, argv[4]);
    describe(&r, seconds);
    worker_serve(step, loss, &r);
    gcut_ctx_free(r.ctx);
    return 0;
}
