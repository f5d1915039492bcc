/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What it costs to read and write memory that another thread has just read or written:
 *
 *   shared_lines [THREADS] [KIB]
 *
 * Each of THREADS threads (2) has KIB KiB (64) of its own, and goes over these, or over those of the next thread, between
 * two barriers.  Prints for each kind of access the ns for a KiB: of each thread the least of ROUNDS, of all the mean.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 200, MOST_THREADS = 256, LANES = 16 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)))); /* 64 bytes: a cache line of x86 */

enum { READ_OWN, READ_OTHER, WRITE_OWN, WRITE_READ, WRITE_WRITTEN, KINDS };
static const char *const kinds[KINDS] = {
    [READ_OWN] = "read what the thread itself has written",
    [READ_OTHER] = "read what another thread has written",
    [WRITE_OWN] = "write what no other thread has touched",
    [WRITE_READ] = "write what another thread has read",
    [WRITE_WRITTEN] = "write what another thread has written",
};

static int threads = 2;
static size_t lines;
static lanes *memory;
static atomic_int arrived;
static double least[MOST_THREADS][KINDS];
static volatile float sink;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void barrier(int *turn)
{
    const int all = ++*turn * threads;
    atomic_fetch_add(&arrived, 1);
    while (atomic_load_explicit(&arrived, memory_order_acquire) < all) continue;
}

static void read_lines(const lanes *x)
{
    lanes sum[4] = {{0}};
    for (size_t i = 0; i < lines; i += 4)
        for (size_t k = 0; k < 4; k++) sum[k] += x[i + k];
    sum[0] += sum[1] + sum[2] + sum[3];
    sink = sum[0][0];
}

static void write_lines(lanes *x, float value)
{
    lanes v = {0};
    v += value;
    for (size_t i = 0; i < lines; i++) x[i] = v;
    atomic_signal_fence(memory_order_seq_cst);
}

static void *run(void *arg)
{
    const int id = (int)((double *)arg - least[0]) / KINDS;
    lanes *own = memory + (size_t)id * lines, *next = memory + (size_t)((id + 1) % threads) * lines;
    int turn = 0;
    for (int k = 0; k < KINDS; k++) least[id][k] = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < KINDS; k++) {
            write_lines(own, 1);
            barrier(&turn);
            if (k == WRITE_READ) read_lines(next);
            if (k == WRITE_WRITTEN) write_lines(next, 2);
            barrier(&turn);
            const double begin = now_ns();
            if (k == READ_OWN) read_lines(own);
            if (k == READ_OTHER) read_lines(next);
            if (k >= WRITE_OWN) write_lines(own, 3);
            const double ns = now_ns() - begin;
            if (ns < least[id][k]) least[id][k] = ns;
            barrier(&turn);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? atoi(argv[1]) : 2;
    const int kib = argc > 2 ? atoi(argv[2]) : 64;
    pthread_t thread[MOST_THREADS];
    if (threads < 1 || threads > MOST_THREADS || kib < 1 || kib > 1 << 20) {
        fprintf(stderr, "shared_lines: expected 1 to %d threads and 1 to 2^20 KiB\n", MOST_THREADS);
        return 2;
    }
    lines = (size_t)kib * 1024 / sizeof *memory;
    memory = aligned_alloc(4096, ((size_t)threads * (size_t)kib * 1024 + 4095) / 4096 * 4096);
    if (!memory) return 1;
    memset(memory, 0, (size_t)threads * (size_t)kib * 1024);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, run, least[i])) return 1;
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    printf("%d threads, %d KiB each; ns for a KiB and a thread\n", threads, kib);
    for (int k = 0; k < KINDS; k++) {
        double sum = 0;
        for (int i = 0; i < threads; i++) sum += least[i][k];
        printf("%8.1f  %s\n", sum / threads / kib, kinds[k]);
    }
    free(memory);
    return 0;
}
