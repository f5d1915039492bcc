/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * times FILE: a step compiled ahead of time that writes what its launches took in ten steps.
 */
#include <stdio.h>
#include <stdlib.h>

#include "timed.h"

enum { N = 32, STEPS = 10, THREADS = 2 };

int main(int argc, char **argv)
{
    static float w1[128 * 256], b1[256], w2[256 * 10], b2[10], x[N * 128], loss;
    static float dw1[128 * 256], db1[256], dw2[256 * 10], db2[10];
    static int32_t t[N];
    int64_t ns[timed_NLAUNCHES] = {0}, runs[timed_NLAUNCHES] = {0};
    int64_t busy[timed_NLAUNCHES * THREADS] = {0};
    gcut_rt_profile times = {.ns = ns, .runs = runs, .busy_ns = busy, .threads = THREADS};
    timed_plan plan;
    gcut_rt_error err;
    if (argc != 2 || timed_init(&plan, N, THREADS, &err) != GCUT_RT_OK) return 1;
    const timed_io io = {.w1 = w1,
                         .b1 = b1,
                         .w2 = w2,
                         .b2 = b2,
                         .x = x,
                         .t = t,
                         .loss = &loss,
                         .grad_w1 = dw1,
                         .grad_b1 = db1,
                         .grad_w2 = dw2,
                         .grad_b2 = db2};
    void *arena = aligned_alloc(64, (size_t)(plan.head.arena_bytes + 63) / 64 * 64);
    if (!arena || timed_init_values(&plan, &io, 1, &err) != GCUT_RT_OK) return 1;
    if (timed_step(&plan, &io, arena, &err) != GCUT_RT_OK) return 1; /* not timed */
    plan.head.profile = &times;
    for (int i = 0; i < STEPS; i++)
        if (timed_step(&plan, &io, arena, &err) != GCUT_RT_OK) return 1;
    free(arena);
    return gcut_rt_write_times(argv[1], &times, timed_NLAUNCHES, STEPS) != 0;
}
