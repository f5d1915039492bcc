/* SPDX-License-Identifier: MIT
 *
 * The launches of a step, from the table of emitted C, and the time that each takes.
 */
#define _POSIX_C_SOURCE 200809L
#include "gradcut/gradcut_rt.h"

#include <time.h>

#include "kernels/rt/threads/team.h"

enum { SIZES = 1 << 24 }; /* INT64_MIN + k below this is size k */

static int64_t number(const gcut_rt_call *x, int64_t v)
{
    return v < INT64_MIN + SIZES ? x->size[v - INT64_MIN] : v;
}

/* Reads the buffers and the numbers of one function; b and n move after them. */
static const int64_t *read_args(gcut_rt_call *x, const int64_t *code, gcut_rt_fault *fault, void ***b,
                                int64_t **n, gcut_rt_args *args)
{
    *args = (gcut_rt_args){x, *b, *n, fault};
    for (int64_t k = *code++; k > 0; k--) *(*b)++ = x->at[*code++];
    for (int64_t k = *code++; k > 0; k--) *(*n)++ = number(x, *code++);
    return code;
}

static gcut_rt_status report(gcut_rt_call *x, int64_t check)
{
    const gcut_rt_site *s = &x->site[check];
    return gcut_rt_fail(x->err, GCUT_RT_EINDEX, s->what, s->where, x->fault[check].found, 0,
                        number(x, s->limit));
}

/* Threads are timed for launch k of p. */
static void time_threads(const gcut_rt_profile *p, int64_t k)
{
    if (p && p->busy_ns) gcut_rt_team_times(p->busy_ns + k * p->threads, p->threads);
}

static gcut_rt_status launch_all(gcut_rt_call *x, const int64_t *code, const int64_t *end)
{
    while (code < end) {
        const int64_t function = code[0], launch = code[1], check = code[2], checks = code[3], n = code[4];
        gcut_rt_args args[GCUT_RT_LAUNCH];
        void **buffers = x->b;
        int64_t *numbers = x->n;
        code += 5;
        for (int64_t i = 0; i < n; i++)
            code = read_args(x, code, x->fault + check, &buffers, &numbers, &args[i]);
        time_threads(x->plan->profile, launch);
        x->function[function](args);
        if (x->plan->profile) gcut_rt_lap(x->plan->profile, (int)launch);
        for (int64_t i = check; i < check + checks; i++)
            if (x->fault[i].at != INT64_MAX) return report(x, i);
    }
    return GCUT_RT_OK;
}

gcut_rt_status gcut_rt_launch(gcut_rt_call *x, const int64_t *code, const int64_t *end)
{
    const gcut_rt_status status = launch_all(x, code, end);
    if (x->plan->profile) gcut_rt_team_times(NULL, 0);
    return status;
}

typedef struct rows_job {
    gcut_rt_tile_fn *kernel;
    const gcut_rt_args *args;
    int64_t rows;
} rows_job;

static void rows_part(void *arg, int t, int nt)
{
    const rows_job *j = arg;
    int64_t r0, r1;
    gcut_rt_share(j->rows, 1, t, nt, &r0, &r1);
    j->kernel((void *)j->args, t, r0, r1, 0, 0);
}

void gcut_rt_rows(gcut_rt_tile_fn *kernel, const gcut_rt_args *args, int64_t rows, int threads)
{
    rows_job j = {kernel, args, rows};
    gcut_rt_parallel(rows_part, &j, threads);
}

void gcut_rt_lap(gcut_rt_profile *p, int k)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    if (k >= 0) {
        p->ns[k] += now - p->last;
        p->runs[k]++;
        if (p->busy_ns) p->busy_ns[(int64_t)k * p->threads] += now - p->last;
    }
    p->last = now;
}
