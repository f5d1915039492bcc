/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * start_worker FILE: what gcut_compile takes in a process that just began, as elapsed and as processor time,
 * its children's included, in milliseconds.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "gradcut/gradcut.h"

static double elapsed_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double used_ms(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

int main(int argc, char **argv)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = argc == 2 && ctx ? gcut_load(ctx, argv[1], NULL) : NULL;
    double begun = elapsed_ms(), used = used_ms(RUSAGE_SELF) + used_ms(RUSAGE_CHILDREN);
    gcut_options o = {0};
    o.optimizer = "adamw(lr=3e-4)";
    gcut_step *s = g ? gcut_compile(g, &o) : NULL;
    if (!s) {
        fputs(ctx ? gcut_last_error(ctx) : "out of memory\n", stderr);
        return 1;
    }
    printf("%.1f %.1f\n", elapsed_ms() - begun, used_ms(RUSAGE_SELF) + used_ms(RUSAGE_CHILDREN) - used);
    gcut_ctx_free(ctx);
    return 0;
}
