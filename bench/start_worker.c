/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   start_worker MODEL.gcut [OPTIMIZER [THREADS [NAME=SIZE…]]]
 *
 * What gcut_compile takes in a process that just began, as elapsed and as processor time, its children's
 * included, in milliseconds.  Without OPTIMIZER: AdamW; THREADS 0 = every core.
 */
#include <sys/resource.h>

#include "bench/worker.h"
#include "gradcut/gradcut.h"

static double used_ms(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4 + WORKER_SIZES)
        worker_die("usage: start_worker MODEL.gcut [OPTIMIZER [THREADS [NAME=SIZE...]]]");
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    if (!ctx) worker_die("out of memory");
    gcut_size at[WORKER_SIZES];
    gcut_options o = {.optimizer = argc > 2 ? argv[2] : "adamw(lr=3e-4)", .at = at};
    o.threads = argc > 3 ? atoi(argv[3]) : 0;
    for (int i = 4; i < argc; i++) at[o.nat++] = (gcut_size){argv[i], worker_size(argv[i])};
    gcut_graph *g = gcut_load(ctx, argv[1], NULL);
    double begun = worker_now(), used = used_ms(RUSAGE_SELF) + used_ms(RUSAGE_CHILDREN);
    gcut_step *s = g ? gcut_compile(g, &o) : NULL;
    if (!s) worker_die("%s", gcut_last_error(ctx));
    printf("%.1f %.1f\n", 1e3 * (worker_now() - begun),
           used_ms(RUSAGE_SELF) + used_ms(RUSAGE_CHILDREN) - used);
    gcut_ctx_free(ctx);
    return 0;
}
