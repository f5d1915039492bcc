/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Teams of threads: every part of every kernel runs once, whoever is asleep, and what one part writes the
 * code after the kernel reads.  The memory is plain, so that a ThreadSanitizer build proves the order.
 */
#ifdef __linux__
#define _GNU_SOURCE
#include <sched.h>
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "gradcut/gradcut_rt.h"
#include "threads.h"

enum { MOST = 16 };

typedef struct tally {
    int64_t runs[MOST];
    int nt, nested;
} tally;

static void count(void *arg, int t, int nt)
{
    tally *y = arg;
    y->runs[t]++;
    if (t == 0) y->nt = nt;
}

static void pass_time(int64_t ns)
{
    struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

typedef struct job {
    int kernels, threads, pause_every;
    int64_t sum;
} job;

/* Kernels of changing crews one after the other, each seeing what the one before left. */
static void run_kernels(void *arg)
{
    job *j = arg;
    tally y = {{0}, 0, 0};
    int64_t before = 0, after = 0;
    for (int k = 0; k < j->kernels; k++) {
        gcut_rt_parallel(count, &y, 1 + k % j->threads);
        assert_in_range(y.nt, 1, 1 + k % j->threads);
        before += y.nt;
        if (j->pause_every && k % j->pause_every == 0) pass_time(300000);
    }
    for (int t = 0; t < MOST; t++) after += y.runs[t];
    assert_int_equal(before, after);
    j->sum = after;
}

static void test_kernels(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++)
        for (int crew = 1; crew <= 5; crew++) {
            job j = {.kernels = 500, .threads = crew};
            gcut_rt_team(run_kernels, &j, threads);
            assert_true(j.sum >= 500);
        }
}

/* Threads that fell asleep over a long serial stretch wake up, at kernels and at the end. */
static void test_sleep(void **state)
{
    (void)state;
    job j = {.kernels = 60, .threads = 4, .pause_every = 3};
    gcut_rt_team(run_kernels, &j, 4);
    assert_true(j.sum >= 60);
}

static void test_no_team(void **state)
{
    (void)state;
    job j = {.kernels = 50, .threads = 3};
    run_kernels(&j);
    gcut_rt_team(run_kernels, &j, 0);
    for (int k = 0; k < 200; k++) gcut_rt_team(run_kernels, &(job){.kernels = k % 3, .threads = 2}, 2);
}

/* A kernel that launches kernels runs them on its own thread. */
static void inner(void *arg, int t, int nt)
{
    int *parts = arg;
    assert_int_equal(t, 0);
    assert_int_equal(nt, 1);
    ++*parts;
}
static void inner_body(void *arg)
{
    gcut_rt_parallel(inner, arg, 4);
}
static void outer(void *arg, int t, int nt)
{
    int *parts = (int *)arg + t;
    (void)nt;
    gcut_rt_parallel(inner, parts, 4);
    gcut_rt_team(inner_body, parts, 4);
}
static void nest(void *arg)
{
    gcut_rt_parallel(outer, arg, 3);
}

static void test_nested(void **state)
{
    (void)state;
    int parts[MOST] = {0};
    gcut_rt_team(nest, parts, 3);
    nest(parts);
    gcut_rt_team(nest, parts, 1);
    assert_int_equal(parts[0], 6);
    int sum = 0;
    for (int t = 0; t < MOST; t++) sum += parts[t];
    assert_int_equal(sum % 2, 0);
    assert_in_range(sum, 6, 18);
}

/* Teams that do not know of each other. */
static void *user(void *arg)
{
    for (int k = 0; k < 20; k++) gcut_rt_team(run_kernels, arg, 2);
    return NULL;
}

static void test_users(void **state)
{
    (void)state;
    pthread_t other[3];
    job j[4];
    for (int i = 0; i < 4; i++) j[i] = (job){.kernels = 200, .threads = 3, .pause_every = i == 3 ? 50 : 0};
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&other[i], NULL, user, &j[i]), 0);
    user(&j[3]);
    for (int i = 0; i < 3; i++) pthread_join(other[i], NULL);
    for (int i = 0; i < 4; i++) assert_true(j[i].sum >= 200);
}

static void note_threads(void *arg)
{
    run_kernels(&(job){.kernels = 50, .threads = 6});
    *(int *)arg = count_threads(NULL);
}

/* Inside of a parallel region of OpenMP, and after one. */
static void test_openmp(void **state)
{
    (void)state;
#ifndef _OPENMP
    skip();
#else
    int64_t sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    {
        job j = {.kernels = 100, .threads = 3};
        for (int k = 0; k < 10; k++) gcut_rt_team(run_kernels, &j, 3);
        sum += j.sum;
    }
    assert_true(sum >= 100);
    gcut_rt_team(run_kernels, &(job){.kernels = 100, .threads = 3}, 3);
#endif
}

#ifdef __linux__
/* Between steps every worker comes to sleep: if one spun on, this test would never end. Steps that follow on
 * each other share their workers. */
static void test_idle(void **state)
{
    (void)state;
    int awake, during = 0, later = 0;
    alarm(120);
    for (int k = 0; k < 3; k++) {
        gcut_rt_team(note_threads, &during, 6);
        assert_true(during >= 5);
        do {
            pass_time(1000000);
            later = count_threads(&awake);
        } while (awake);
        assert_int_equal(later, during);
    }
    alarm(0);
}
#endif

/* ---- how many threads by default ---- */

static void test_default_threads(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int threads; /* 0: as if it were not set */
    } cases[] = {{"3", 3}, {" 5 ", 5}, {"4,2", 4}, {"4 , 2", 4}, {"", 0},
                 {"0", 0}, {"-2", 0},  {"two", 0}, {"3x", 0},    {"99999999999999999999", 0}};
    const char *old = getenv("OMP_NUM_THREADS");
    char *kept = old ? strdup(old) : NULL;
    unsetenv("OMP_NUM_THREADS");
    int cores = gcut_rt_threads(0);
    assert_true(cores >= 1);
    assert_int_equal(gcut_rt_threads(7), 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY("case %zu", i);
        setenv("OMP_NUM_THREADS", cases[i].value, 1);
        assert_int_equal(gcut_rt_threads(0), cases[i].threads ? cases[i].threads : cores);
        assert_int_equal(gcut_rt_threads(-1), gcut_rt_threads(0));
        assert_int_equal(gcut_rt_threads(2), 2);
    }
    unsetenv("OMP_NUM_THREADS");
#ifdef __linux__
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE && !CPU_COUNT(&one); c++)
        if (CPU_ISSET(c, &all)) CPU_SET(c, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(gcut_rt_threads(0), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(gcut_rt_threads(0), cores);
#endif
    if (kept) setenv("OMP_NUM_THREADS", kept, 1);
    free(kept);
}

/* Parts that all find a bad index: the first one is kept. */
static void find(void *arg, int t, int nt)
{
    (void)nt;
    gcut_rt_fault mine = {100 - t, -t}, none = GCUT_RT_NO_FAULT;
    gcut_rt_note(arg, &none);
    gcut_rt_note(arg, &mine);
}
static void find_all(void *arg)
{
    gcut_rt_parallel(find, arg, 4);
}

static void test_note(void **state)
{
    (void)state;
    for (int k = 0; k < 100; k++) {
        gcut_rt_fault all = GCUT_RT_NO_FAULT;
        gcut_rt_team(find_all, &all, 4);
        assert_in_range(all.at, 97, 100);
        assert_int_equal(all.found, all.at - 100);
    }
}

/* ThreadSanitizer ends a child of several threads that makes new ones. */
#ifdef __SANITIZE_THREAD__
enum { CHILD_THREADS = 1 };
#else
enum { CHILD_THREADS = 3 };
#endif

/* A child that hangs is killed. */
static void run_child(void (*body)(void *arg), void *arg)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(30);
        body(arg);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_that(WEXITSTATUS(status), ==, 0);
}

static void run_team(void *arg)
{
    (void)arg;
    job j = {.kernels = 50, .threads = CHILD_THREADS};
    gcut_rt_team(run_kernels, &j, CHILD_THREADS);
    if (j.sum < 50) _exit(1);
}

static void run_grandchild(void *arg)
{
    run_team(arg);
    run_child(run_team, arg);
}

/* A process and its children each have threads, whichever runs first. */
static void test_fork(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        run_child(run_grandchild, NULL);
        gcut_rt_team(run_kernels, &(job){.kernels = 50, .threads = 3}, 3);
    }
}

/* The system refuses every refuse-th new thread; 0: none. The linker has pthread_create call this one. */
static _Atomic int refuse;
typedef void *thread_fn(void *arg);
int __real_pthread_create(pthread_t *id, const pthread_attr_t *attr, thread_fn *fn, void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr, thread_fn *fn, void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr, thread_fn *fn, void *arg)
{
    static _Atomic int asked;
    if (refuse && ++asked % refuse == 0) return EAGAIN;
    return __real_pthread_create(id, attr, fn, arg);
}

static void run_refused(void *every)
{
    job j = {.kernels = 100, .threads = 8};
    refuse = *(int *)every;
    for (int k = 0; k < 10; k++) gcut_rt_team(run_kernels, &j, 8);
    refuse = 0;
#ifdef __linux__
    int threads = 0;
    gcut_rt_team(note_threads, &threads, 8);
    if (threads < 5) _exit(1);
#endif
}

/* Teams are smaller where threads are refused, and whole again later. */
static void test_refused(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* see CHILD_THREADS */
#endif
    for (int every = 1; every <= 4; every++) run_child(run_refused, &every);
}

/* ---- signals ---- */

typedef struct raising {
    pthread_t leader;
    int signal;
    _Atomic int on_worker;
} raising;

static volatile pthread_t handled_on;

static void note_handler(int signal)
{
    (void)signal;
    handled_on = pthread_self();
}

/* The leader waits in its part until a worker has begun the other one. */
static void raise_on_worker(void *arg, int t, int nt)
{
    raising *r = arg;
    if (nt < 2) return;
    if (t == 0)
        while (!r->on_worker) pass_time(100000);
    if (t != 1) return;
    r->on_worker = 1;
    raise(r->signal);
}

static void run_raising(void *arg)
{
    raising *r = arg;
    signal(r->signal, note_handler);
    r->leader = pthread_self();
    handled_on = r->leader;
    gcut_rt_parallel(raise_on_worker, r, 2);
    if (!r->on_worker || pthread_equal(handled_on, r->leader)) _exit(1);
}

/* Of what a thread does itself, the program's handlers hear on that thread. */
static void test_signals_of_a_worker(void **state)
{
    (void)state;
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF};
#ifdef __SANITIZE_THREAD__
    skip(); /* see CHILD_THREADS */
#endif
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        run_child(run_raising, &(raising){.signal = own[i]});
}

static void ask_blocked(void *arg, int t, int nt)
{
    raising *r = arg;
    sigset_t set;
    if (nt < 2) return;
    if (t == 0)
        while (!r->on_worker) pass_time(100000);
    if (t != 1) return;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    r->on_worker = sigismember(&set, r->signal) == 1 ? 1 : -1;
}

/* What is sent to the process is for the threads of the program. */
static void test_signals_of_the_process(void **state)
{
    (void)state;
    static const int sent[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGCHLD, SIGUSR1, SIGPIPE, SIGWINCH};
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        TRY("case %zu", i);
        raising r = {.signal = sent[i]};
        gcut_rt_parallel(ask_blocked, &r, 2);
        assert_int_equal(r.on_worker, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_no_team),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_note),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_openmp),
        cmocka_unit_test(test_default_threads),
#ifdef __linux__
        cmocka_unit_test(test_signals_of_a_worker),
        cmocka_unit_test(test_signals_of_the_process),
        cmocka_unit_test(test_idle),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
