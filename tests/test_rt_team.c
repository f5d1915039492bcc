/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Teams of threads: every part of every kernel runs once, whoever is asleep, and what one part writes the
 * code behind the kernel reads.  The memory is plain, so that a ThreadSanitizer build proves the order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gradcut/gradcut_rt.h"

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
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_sleep), cmocka_unit_test(test_no_team),
        cmocka_unit_test(test_nested),  cmocka_unit_test(test_users), cmocka_unit_test(test_note),
        cmocka_unit_test(test_fork),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
