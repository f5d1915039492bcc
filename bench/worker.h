/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the bench's worker processes have in common: one command per line of standard input, one JSON object
 * per line of standard output.  bench/peers/run.py is at the other end.  A worker that waits for a command
 * sleeps in read(), so that it takes nothing from the one that is being timed.
 *
 *   step W K   runs W steps, then K timed ones: {"ms": [K numbers]}
 *   loss       of the last step: {"loss": 2.3}; what a worker answers to anything but `step` is its own
 */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double worker_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noreturn, format(printf, 1, 2))) static inline void worker_die(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(1);
}

enum { WORKER_SIZES = 8 }; /* at most, on a command line */

/* The number of NAME=SIZE, whose name is cut off in place. */
static inline long long worker_size(char *text)
{
    char *equals = strchr(text, '='), *end;
    if (!equals) worker_die("%s is not NAME=SIZE", text);
    *equals = 0;
    long long n = strtoll(equals + 1, &end, 10);
    if (end == equals + 1 || *end || n < 0) worker_die("%s is no size", equals + 1);
    return n;
}

/* A number as JSON has it, which knows no NaN. */
static inline void worker_number(double x)
{
    if (x - x == 0)
        printf("%.9g", x);
    else
        printf("null");
}

/* Answers commands until the input ends.  step returns the milliseconds it took; other prints an object. */
static inline void worker_serve(double (*step)(void *arg), void (*other)(void *arg), void *arg)
{
    char line[128];
    long warm, timed;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "step %ld %ld", &warm, &timed) == 2) {
            while (warm-- > 0) step(arg);
            printf("{\"ms\": [");
            for (long i = 0; i < timed; i++) printf(i ? ", %.6f" : "%.6f", step(arg));
            printf("]}\n");
        } else {
            other(arg);
        }
        fflush(stdout);
    }
}

#endif
