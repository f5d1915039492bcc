/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Properties of the host: its processor's name, sizes of caches, the times of handing a kernel to threads, of a round trip
 * of a cache line between them and of a call of a product, and for how much of its time a thread ran.
 */
#define _GNU_SOURCE
#include "driver/measure/host.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "driver/measure/quantile.h"
#include "driver/pipeline/pass.h"
#include "gradcut/gradcut_rt.h"

const char *gcut_host_name(gcut_arena *a)
{
    static const char key[] = "model name";
    char line[256] = "";
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, sizeof key - 1)) break;
    if (f) fclose(f);
    const char *name = !strncmp(line, key, sizeof key - 1) ? strchr(line, ':') : NULL;
    size_t n = name ? strcspn(name + 2, "\n") : 0;
    return n ? gcut_strndup(a, name + 2, n) : "unknown";
}

/* Of the first core, from sysfs: sysconf was off by a factor of ten on some machines. */
static double cache_bytes(int index, int name, double otherwise)
{
    char path[64];
    long kib = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%ldK", &kib) != 1) kib = 0;
    if (f) fclose(f);
    long n = kib > 0 ? kib * 1024 : name >= 0 ? sysconf(name) : 0;
    return n > 0 ? (double)n : otherwise;
}

void gcut_host_caches(double bytes[GCUT_DRAM])
{
#ifdef _SC_LEVEL3_CACHE_SIZE
    static const int names[] = {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
#else
    static const int names[] = {-1, -1};
#endif
    double l2 = cache_bytes(2, names[0], 1 << 20), l3 = cache_bytes(3, names[1], 8 * l2);
    bytes[GCUT_L2] = l2;
    bytes[GCUT_L3] = fmax(l3, 4 * l2);
}

gcut_presence gcut_host_presence(void)
{
    struct timespec cpu = {0};
    struct rusage use = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    getrusage(RUSAGE_THREAD, &use);
    return (gcut_presence){.wall_ns = (double)gcut_passes_clock(),
                           .cpu_ns = 1e9 * (double)cpu.tv_sec + (double)cpu.tv_nsec,
                           .preempted = use.ru_nivcsw};
}

static void nothing(void *arg, int t, int nt)
{
    (void)arg, (void)t, (void)nt;
}

typedef struct handing {
    int threads;
    double ns;
} handing;

/* Takes the first quartile: the least time is of threads that happened to be waiting already. */
static void hand_out(void *arg)
{
    enum { TIMES = 400 };
    handing *h = arg;
    double ns[TIMES];
    for (int i = 0; i < TIMES; i++) {
        int64_t start = gcut_passes_clock();
        gcut_rt_parallel(nothing, NULL, h->threads);
        ns[i] = (double)(gcut_passes_clock() - start);
    }
    gcut_sort_reals(ns, TIMES);
    h->ns = gcut_quantile(ns, TIMES, 0.25);
}

double gcut_host_handing_ns(int threads)
{
    handing h = {.threads = threads};
    if (threads > 1) gcut_rt_team(hand_out, &h, threads);
    return h.ns;
}

/* A cache line for thread t > 0.  The leader sends odd numbers; thread t answers each with the number after it, until the
 * leader stores OVER. */
typedef struct line {
    _Alignas(64) atomic_int value;
} line;

enum { MOST_LINES = 64, OVER = -1 };

typedef struct trips {
    line line[MOST_LINES];
    double ns; /* of the thread that is the furthest away */
} trips;

/* The time of a round trip to one thread: the first quartile of BATCHES means of TRIPS trips, since reading the clock before
 * and after each trip would add a third of its time; INFINITY if the trips take longer than PATIENCE_NS, because that thread
 * has no processor.  A sleeping thread wakes up sooner: within 12 ms on a virtual machine, whose host first has to schedule
 * an idle processor. */
static double trip_ns(atomic_int *value)
{
    enum { BATCHES = 20, TRIPS = 64, POLLS = 1024, PATIENCE_NS = 100000000 };
    double ns[BATCHES];
    const int64_t begin = gcut_passes_clock();
    int sent = 1, polls = 0;
    for (int i = 0; i < BATCHES; i++) {
        const int64_t start = gcut_passes_clock();
        for (int k = 0; k < TRIPS; k++, sent += 2) {
            atomic_store(value, sent);
            while (atomic_load(value) == sent)
                if (++polls % POLLS == 0 && gcut_passes_clock() - begin > PATIENCE_NS) return INFINITY;
        }
        ns[i] = (double)(gcut_passes_clock() - start) / TRIPS;
    }
    gcut_sort_reals(ns, BATCHES);
    return gcut_quantile(ns, BATCHES, 0.25);
}

static void exchange(void *arg, int t, int nt)
{
    trips *x = arg;
    if (t > 0 && t < MOST_LINES)
        for (int last = 0; last != OVER; last = atomic_load(&x->line[t].value))
            if (last % 2 > 0) atomic_compare_exchange_strong(&x->line[t].value, &last, last + 1);
    for (int to = 1; t == 0 && to < nt && to < MOST_LINES; to++) {
        if (x->ns < INFINITY) x->ns = fmax(x->ns, trip_ns(&x->line[to].value));
        atomic_store(&x->line[to].value, OVER);
    }
}

double gcut_host_line_ns(int threads)
{
    trips x = {0};
    gcut_rt_parallel(exchange, &x, threads);
    return x.ns;
}

double gcut_host_call_ns(void)
{
    enum { ROUNDS = 50, TIMES = 200 };
    const int64_t n = (int64_t)gcut_gemm_hi[0], k = (int64_t)gcut_gemm_k[0];
    const gcut_rt_gemm g = {
        .m = 1, .n = n, .k = k, .rsa = k, .csa = 1, .rsb = n, .csb = 1, .rsc = n, .csc = 1};
    float a[8] = {1}, b[8 * 16] = {1}, y[16];
    double least = INFINITY;
    GCUT_ASSERT(k <= 8 && n <= 16);
    for (int r = 0; r < ROUNDS; r++) {
        int64_t start = gcut_passes_clock();
        for (int i = 0; i < TIMES; i++) gcut_rt_gemm_f32(&g, a, b, y, 1);
        least = fmin(least, (double)(gcut_passes_clock() - start) / TIMES);
    }
    return least;
}
