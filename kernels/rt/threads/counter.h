/* SPDX-License-Identifier: MIT
 *
 * What threads wait on: a counter of events that one thread makes and at most one other waits for.  A wait
 * spins for a while and then sleeps on a futex.
 *
 *     value     2n  --counter_advance-->  2n + 2      the waiter is awake: no system call
 *     value     2n  --counter_await---->  2n + 1      the waiter sleeps on the futex
 *     value 2n + 1  --counter_advance-->  2n + 3      and wakes the waiter, which clears the lowest bit
 */
#ifndef GCUT_KERNELS_RT_THREADS_COUNTER_H
#define GCUT_KERNELS_RT_THREADS_COUNTER_H

#ifdef __linux__
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifndef RUSAGE_THREAD
#define RUSAGE_THREAD 1 /* declared for _GNU_SOURCE alone */
#endif
#endif
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* value: twice the number of events, plus 1 while the waiter sleeps.  counter_advance() changes it as its last access,
 * so a waiter may free the counter.  spin_ns is the waiter's.  Alone on its cache line. */
typedef struct counter {
    _Alignas(64) _Atomic uint32_t value;
    int32_t spin_ns; /* how long the next wait spins; 0: SHORTEST_SPIN_NS */
} counter;

/* A thread that sleeps takes up to 250 us to wake up where processors are virtual, and may wake on another core; one
 * that spins takes its core from whoever else has work for it, the waited-for thread included.  So a spin is short at
 * first.  It becomes four times as long where a sleep of less than LONGEST_SPIN_NS followed it, a quarter where a longer
 * one did, and is short for ALERT_NS once another thread has taken the core.  bench/shared_host.sh measures it. */
enum { SHORTEST_SPIN_NS = 30000, LONGEST_SPIN_NS = 2000000, ALERT_NS = 20000000, LOOKS_PER_CLOCK = 16 };

static inline void counter_relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline int64_t counter_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int counter_spin(counter *c, uint32_t old)
{
    for (int64_t start = 0;;) {
        for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
            if (atomic_load_explicit(&c->value, memory_order_acquire) != old) return 1;
            counter_relax();
        }
        int64_t t = counter_now();
        if (!start) start = t;
        if (t - start > (c->spin_ns ? c->spin_ns : SHORTEST_SPIN_NS)) return 0;
    }
}

#ifdef __linux__
/* After a wait that slept until now, for slept_ns. */
static inline void counter_choose_spin(counter *c, int64_t now, int64_t slept_ns)
{
    static _Thread_local long preemptions; /* of this thread, when it last slept */
    static _Thread_local int64_t alert_ns; /* when it last found that there were more of them */
    const int spin = c->spin_ns ? c->spin_ns : SHORTEST_SPIN_NS;
    struct rusage of;
    if (getrusage(RUSAGE_THREAD, &of) != 0) return;
    if (of.ru_nivcsw != preemptions) preemptions = of.ru_nivcsw, alert_ns = now;
    if (now - alert_ns < ALERT_NS)
        c->spin_ns = SHORTEST_SPIN_NS;
    else if (slept_ns < LONGEST_SPIN_NS)
        c->spin_ns = spin < LONGEST_SPIN_NS / 4 ? 4 * spin : LONGEST_SPIN_NS;
    else
        c->spin_ns = spin > 4 * SHORTEST_SPIN_NS ? spin / 4 : SHORTEST_SPIN_NS;
}
#endif

/* Returns the value once it is no longer `old`, which is even. */
static inline uint32_t counter_await(counter *c, uint32_t old)
{
    if (!counter_spin(c, old)) {
#ifdef __linux__
        uint32_t expected = old, asleep = old | 1;
        if (atomic_compare_exchange_strong(&c->value, &expected, asleep)) {
            const int64_t start = counter_now();
            while (atomic_load(&c->value) == asleep)
                syscall(SYS_futex, &c->value, FUTEX_WAIT_PRIVATE, asleep, NULL, NULL, 0);
            atomic_fetch_and(&c->value, ~UINT32_C(1));
            const int64_t end = counter_now();
            counter_choose_spin(c, end, end - start);
        }
#else
        while (atomic_load(&c->value) == old) sched_yield();
#endif
    }
    return atomic_load_explicit(&c->value, memory_order_acquire);
}

static inline uint32_t counter_value(counter *c)
{
    return atomic_load_explicit(&c->value, memory_order_relaxed) & ~UINT32_C(1);
}

static inline void counter_advance(counter *c)
{
    uint32_t old = atomic_fetch_add(&c->value, 2);
#ifdef __linux__
    if (old & 1) syscall(SYS_futex, &c->value, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#else
    (void)old;
#endif
}

#endif
