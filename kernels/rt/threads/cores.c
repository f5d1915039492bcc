/* SPDX-License-Identifier: MIT
 *
 * The default number of threads.
 */
#ifdef __linux__
#define _GNU_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif
#include "kernels/rt/threads/cores.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "gradcut/gradcut_rt.h"

int gcut_rt_cores(void)
{
    long n = 0;
#ifdef __linux__
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) == 0) n = CPU_COUNT(&mask);
#endif
    if (n < 1) n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > INT_MAX ? INT_MAX : (int)n;
}

/* The first number of OMP_NUM_THREADS, which is a list with one for each depth of nested regions; 0 where it
 * is not set or not a positive number. */
static int from_environment(void)
{
    const char *s = getenv("OMP_NUM_THREADS");
    char *end;
    if (!s) return 0;
    errno = 0;
    long n = strtol(s, &end, 10);
    while (*end == ' ' || *end == '\t') end++;
    return end == s || errno || n < 1 || n > INT_MAX || (*end && *end != ',') ? 0 : (int)n;
}

int gcut_rt_threads(int asked)
{
    int n = asked > 0 ? asked : from_environment();
    return n > 0 ? n : gcut_rt_cores();
}
