/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gradcut's worker of bench/fit.sh:
 *
 *   fit_worker MODEL.gcut OPTIMIZER THREADS BUDGET LIMIT STEPS [NAME=SIZE…]
 *
 * compiles the step for a budget of BUDGET bytes (OPTIMIZER "none": gradients alone), forbids the process more than
 * LIMIT bytes of data beyond what it then has (RLIMIT_DATA), fills the values, and runs one step and STEPS timed ones:
 * one JSON object, or a sentence and exit code 1 where memory is short.
 */
#define _GNU_SOURCE
#include "bench/worker.h"

#include <malloc.h>
#include <sys/resource.h>

#include "gradcut/gradcut.h"

/* Bytes that count for RLIMIT_DATA. */
static long long data_bytes(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long long kib = -1;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmData: %lld kB", &kib) == 1) break;
    if (f) fclose(f);
    if (kib < 0) worker_die("fit_worker: /proc/self/status has no VmData");
    return kib * 1024;
}

static void forbid(long long limit)
{
    malloc_trim(0);
    const rlim_t most = (rlim_t)(data_bytes() + limit);
    if (setrlimit(RLIMIT_DATA, &(struct rlimit){most, most}) != 0)
        worker_die("fit_worker: no limit can be set");
}

int main(int argc, char **argv)
{
    gcut_size at[WORKER_SIZES];
    if (argc < 7 || argc > 7 + WORKER_SIZES)
        worker_die("usage: fit_worker MODEL.gcut OPTIMIZER THREADS BUDGET LIMIT STEPS [NAME=SIZE...]");
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    if (!ctx) worker_die("out of memory");
    gcut_options opt = {.at = at, .seed = 1, .unbound = GCUT_UNBOUND_RANDOM};
    for (int i = 7; i < argc; i++) at[opt.nat++] = (gcut_size){argv[i], worker_size(argv[i])};
    opt.optimizer = strcmp(argv[2], "none") != 0 ? argv[2] : NULL;
    opt.threads = atoi(argv[3]);
    opt.budget = atoll(argv[4]);
    gcut_graph *g = gcut_load(ctx, argv[1], NULL);
    gcut_step *step = g ? gcut_compile(g, &opt) : NULL;
    if (!step) worker_die("%s", gcut_last_error(ctx));
    forbid(atoll(argv[5]));
    if (gcut_run(step) != GCUT_OK) worker_die("%s", gcut_last_error(ctx));
    printf("{\"ms\": [");
    for (int i = 0; i < atoi(argv[6]); i++) {
        const double start = worker_now();
        if (gcut_run(step) != GCUT_OK) worker_die("%s", gcut_last_error(ctx));
        printf(i ? ", %.6f" : "%.6f", 1e3 * (worker_now() - start));
    }
    const gcut_stats *stats = gcut_step_stats(step);
    printf("], \"peak_bytes\": %lld}\n", stats ? (long long)stats->peak_bytes : -1);
    gcut_ctx_free(ctx);
    return 0;
}
