/* SPDX-License-Identifier: MIT
 *
 * Threads.  A step opens one parallel region: its code runs on thread 0, and the other threads sit in the
 * region and wait for kernels.  Handing one out is a store that a waiting thread sees, some 100 ns, where a
 * region of its own costs microseconds.
 *
 * Each thread but the first has a seat.  Thread 0 writes the job into the team and moves the seat's `go`; the
 * seat's thread claims its part, runs it, and moves `done`.  When thread 0 is through with its own part it
 * claims those that nobody has, because their thread sleeps or has no core, and runs them too: which parts
 * there are does not depend on who runs them, and a machine with more to do than cores holds up no kernel
 * that has not begun.  A job's fields are read by those who claimed a part of it alone, and rewritten once
 * these are done.
 *
 * Who waits spins for a while and then sleeps, so that a long serial kernel costs nobody else a core.
 */
#ifdef __linux__
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#define _POSIX_C_SOURCE 200809L
#endif
#ifdef _OPENMP
#include <omp.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "gradcut/gradcut_rt.h"

/* ---- gates ---- */

/* A counter that one thread moves, by 2, and another waits for; alone on its cache line.  Odd: who waits
 * sleeps. The mover touches it once: behind that it may be gone. */
typedef struct gate {
    _Alignas(64) _Atomic uint32_t word;
} gate;

enum { SPIN_NS = 100000, SPINS_A_LOOK = 64 };

static inline void relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int spin(gate *g, uint32_t was)
{
    for (int64_t start = 0;;) {
        for (int i = 0; i < SPINS_A_LOOK; i++) {
            if (atomic_load_explicit(&g->word, memory_order_acquire) != was) return 1;
            relax();
        }
        int64_t t = now();
        if (!start) start = t;
        if (t - start > SPIN_NS) return 0;
    }
}

/* Returns once the gate is no longer at `was`: where it is then. */
static uint32_t await(gate *g, uint32_t was)
{
    if (!spin(g, was)) {
#ifdef __linux__
        uint32_t expected = was, asleep = was | 1;
        if (atomic_compare_exchange_strong(&g->word, &expected, asleep)) {
            while (atomic_load(&g->word) == asleep)
                syscall(SYS_futex, &g->word, FUTEX_WAIT_PRIVATE, asleep, NULL, NULL, 0);
            atomic_fetch_and(&g->word, ~UINT32_C(1));
        }
#else
        while (atomic_load(&g->word) == was) sched_yield();
#endif
    }
    return atomic_load_explicit(&g->word, memory_order_acquire);
}

static uint32_t where(gate *g)
{
    return atomic_load_explicit(&g->word, memory_order_relaxed) & ~UINT32_C(1);
}

static void move(gate *g)
{
    uint32_t was = atomic_fetch_add(&g->word, 2);
#ifdef __linux__
    if (was & 1) syscall(SYS_futex, &g->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#else
    (void)was;
#endif
}

/* ---- teams ---- */

typedef void kernel_fn(void *arg, int t, int nt);

typedef struct seat {
    gate go, done;
    _Atomic uint32_t claimed; /* where `go` was when the last part was claimed */
} seat;

enum { MOST = 256 };

typedef struct team {
    kernel_fn *kernel; /* the job */
    void *arg;
    int nt;
    int size; /* threads that came */
    void (*body)(void *arg);
    void *body_arg;
    _Atomic int open; /* for those who enter: what was written before is theirs to read */
    _Atomic int over; /* the next `go` is no job */
    seat *seats;      /* of threads 1, 2, … */
} team;

/* What this thread is to a step that is running. */
static _Thread_local team *leading;
static _Thread_local int busy; /* in a part of a kernel: what it calls runs on this thread alone */

/* OpenMP keeps the threads of a region for the next one of the thread that opened it. */
static _Thread_local int keeps; /* such threads of this one */
static _Thread_local int alone; /* they stayed behind in the process that this one was forked from */

static void run_part(kernel_fn *kernel, void *arg, int t, int nt)
{
    int was = busy;
    busy = 1;
    kernel(arg, t, nt);
    busy = was;
}

/* True for one caller for each place of `go`.  Each is claimed before the next one is offered, so a caller
 * that comes late, with an old place, finds another claim than the one before its own. */
static int claim(seat *s, uint32_t go)
{
    uint32_t last = go - 2;
    return atomic_compare_exchange_strong(&s->claimed, &last, go);
}

/* No place of a gate between two calls: those are even. */
enum { MINE = 1 };

/* On thread 0: parts 1..nt-1 are offered, part 0 and those that nobody has claimed by then run here.  It
 * waits for none before it has run all of these. */
static void hand_out(team *w, kernel_fn *kernel, void *arg, int nt)
{
    uint32_t done[MOST];
    w->kernel = kernel;
    w->arg = arg;
    w->nt = nt;
    for (int t = 1; t < nt; t++) {
        done[t] = where(&w->seats[t - 1].done);
        move(&w->seats[t - 1].go);
    }
    run_part(kernel, arg, 0, nt);
    for (int t = 1; t < nt; t++) {
        if (!claim(&w->seats[t - 1], where(&w->seats[t - 1].go))) continue;
        run_part(kernel, arg, t, nt);
        done[t] = MINE;
    }
    for (int t = 1; t < nt; t++)
        if (done[t] != MINE) await(&w->seats[t - 1].done, done[t]);
}

#ifdef _OPENMP
/* Thread t of the region; what it reads of the team it may read once it has seen it open. */
static void follow(team *w, int t)
{
    if (!atomic_load_explicit(&w->open, memory_order_acquire)) return;
    seat *s = &w->seats[t - 1];
    for (uint32_t go = 0;;) {
        go = await(&s->go, go);
        if (atomic_load_explicit(&w->over, memory_order_acquire)) {
            move(&s->done);
            return;
        }
        if (!claim(s, go)) continue;
        run_part(w->kernel, w->arg, t, w->nt);
        move(&s->done);
    }
}

/* Every part that was claimed has been waited for: the next move of a `done` is its last, and comes as soon
 * as its thread sees that the team is over, whether or not `go` moved for that. */
static void dismiss(team *w)
{
    uint32_t done[MOST];
    for (int t = 1; t < w->size; t++) done[t] = where(&w->seats[t - 1].done);
    atomic_store_explicit(&w->over, 1, memory_order_release);
    for (int t = 1; t < w->size; t++) move(&w->seats[t - 1].go);
    for (int t = 1; t < w->size; t++) await(&w->seats[t - 1].done, done[t]);
}

/* The runtime may give fewer threads than asked for. */
static void lead(team *w, int size)
{
    w->size = size;
    leading = w;
    w->body(w->body_arg);
    leading = NULL;
    dismiss(w);
}

/* How a region of OpenMP begins, with w handed from thread 0 to the others, is ordered inside of its library,
 * which ThreadSanitizer does not see; so these few reads it does not check.  Everything behind them is
 * ordered by the team's own atomics, and checked. */
__attribute__((no_sanitize("thread"))) static void gather(team *w, int threads)
{
#pragma omp parallel num_threads(threads)
    {
        int t = omp_get_thread_num();
        if (t > 0)
            follow(w, t);
        else
            lead(w, omp_get_num_threads());
    }
}
#endif

void gcut_rt_team(void (*body)(void *arg), void *arg, int threads)
{
#ifdef _OPENMP
    if (threads > 1 && !leading && !busy && !alone) {
        team w;
        keeps = 1;
        if (threads > MOST) threads = MOST;
        seat seats[threads - 1]; /* all of them would be a third of a small thread's stack */
        w.seats = seats;
        w.body = body;
        w.body_arg = arg;
        for (int t = 1; t < threads; t++) {
            atomic_init(&w.seats[t - 1].go.word, 0);
            atomic_init(&w.seats[t - 1].done.word, 0);
            atomic_init(&w.seats[t - 1].claimed, 0);
        }
        atomic_init(&w.over, 0);
        atomic_store_explicit(&w.open, 1, memory_order_release);
        gather(&w, threads);
        return;
    }
#endif
    (void)threads;
    body(arg);
}

/* ---- kernels ---- */

/* Handing a kernel to a team takes some 0.3 us, and moving its data between caches more: below this much work
 * per thread it does not pay. */
#define GRAIN_PS INT64_C(3000000)

int gcut_rt_worth(int threads, int64_t n, int64_t ps)
{
    if (threads <= 1 || n <= 0) return 1;
    if (n > INT64_MAX / (ps > 0 ? ps : 1)) return threads;
    int64_t most = n * ps / GRAIN_PS;
    return most < 1 ? 1 : most < threads ? (int)most : threads;
}

typedef struct launch {
    kernel_fn *kernel;
    void *arg;
    int threads;
} launch;

static void hand_out_one(void *arg)
{
    launch *l = arg;
    if (!leading) { /* no team to be had */
        l->kernel(l->arg, 0, 1);
        return;
    }
    hand_out(leading, l->kernel, l->arg, l->threads < leading->size ? l->threads : leading->size);
}

void gcut_rt_parallel(void (*kernel)(void *arg, int t, int nt), void *arg, int threads)
{
    launch l = {kernel, arg, threads};
    if (threads <= 1 || busy)
        kernel(arg, 0, 1);
    else if (leading)
        hand_out_one(&l);
    else
        gcut_rt_team(hand_out_one, &l, threads);
}

static atomic_flag noting = ATOMIC_FLAG_INIT;

void gcut_rt_note(gcut_rt_fault *all, const gcut_rt_fault *mine)
{
    if (mine->at == INT64_MAX) return;
    while (atomic_flag_test_and_set_explicit(&noting, memory_order_acquire)) relax();
    if (mine->at < all->at) *all = *mine;
    atomic_flag_clear_explicit(&noting, memory_order_release);
}

/* ---- fork ---- */

/* A child has no thread but the one that forked, and OpenMP would wait in it for those that it has kept.  So
 * they are let go before; both processes get new ones with their next region. */
static void before_fork(void)
{
#if defined _OPENMP && (_OPENMP >= 201811 || (defined __GNUC__ && __GNUC__ >= 9))
    if (keeps && !omp_in_parallel() && omp_pause_resource_all(omp_pause_soft) == 0) keeps = 0;
#endif
}

static void in_child(void)
{
    alone |= keeps;
    atomic_flag_clear_explicit(&noting, memory_order_relaxed); /* held by a thread that is not here */
}

/* Handlers go with the object that they lie in: an unloaded step leaves none. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, NULL, in_child);
}
