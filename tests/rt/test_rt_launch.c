/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of launches: what functions are given, in which order they run and where they stop; and division
 * by prepared divisors, against the processor's.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"

/* ---- launches ---- */

static float cell[3];      /* the buffers */
static int64_t seen[8][4]; /* of each launch: function, buffers as cell numbers, a number */
static int launches;

static void note(const gcut_rt_args *args, int64_t function)
{
    seen[launches][0] = function;
    for (int k = 0; k < 2; k++) seen[launches][1 + k] = (float *)args->b[k] - cell;
    seen[launches++][3] = args->n[0];
}

static void first(const gcut_rt_args *args)
{
    note(args, 0);
}
/* Two functions' arguments; the second one's lie after the first one's. */
static void second(const gcut_rt_args *args)
{
    note(args, 1);
    note(args + 1, 1);
}
/* Meets a bad index where its number is not 0. */
static void third(const gcut_rt_args *args)
{
    note(args, 2);
    gcut_rt_fault mine = GCUT_RT_NO_FAULT;
    gcut_rt_bounded(args->n[0] ? 9 : 0, 5, 3, &mine);
    gcut_rt_note(&args->fault[1], &mine);
}

static void (*const functions[])(const gcut_rt_args *) = {first, second, third};
static const gcut_rt_site sites[] = {
    {"a", "", 1}, {"take %y", "m.c:4:9", 4}, {"take %z", "m.c:5:9", GCUT_RT_SIZE(1)}};

static const int64_t code[] = {
    0, 0, 0, 0, 1,  2, 2, 0, 1, 77, /* k0 */
    1, 1, 0, 0, 2,  2, 0, 1, 1, GCUT_RT_SIZE(0),
    2, 1, 2, 1, -5,                /* k1 */
    2, 2, 1, 2, 1,  2, 1, 1, 1, 0, /* k2: no index is bad */
    2, 3, 1, 2, 1,  2, 1, 1, 1, 1, /* k3: the second check fails */
    0, 4, 0, 0, 1,  2, 0, 0, 1, 1, /* k4 */
};

static gcut_rt_status launch(const int64_t *from, const int64_t *to, gcut_rt_profile *profile,
                             gcut_rt_error *err)
{
    static const int64_t size[] = {INT64_C(1) << 40, 6};
    gcut_rt_plan plan = {.threads = 1, .profile = profile};
    gcut_rt_fault fault[3] = {GCUT_RT_NO_FAULT, GCUT_RT_NO_FAULT, GCUT_RT_NO_FAULT};
    void *at[] = {&cell[0], &cell[1], &cell[2]}, *b[16];
    int64_t n[16];
    gcut_rt_call x = {.plan = &plan,
                      .function = functions,
                      .site = sites,
                      .size = size,
                      .at = at,
                      .fault = fault,
                      .b = b,
                      .n = n,
                      .err = err};
    launches = 0;
    return gcut_rt_launch(&x, from, to);
}

static void what_functions_are_given(void **state)
{
    (void)state;
    gcut_rt_error err = {0};
    static const int64_t expected[][4] = {
        {0, 2, 0, 77}, {1, 0, 1, INT64_C(1) << 40}, {1, 1, 2, -5}, {2, 1, 1, 0}, {2, 1, 1, 1}};
    assert_int_equal(launch(code, code + 45, NULL, &err), GCUT_RT_EINDEX); /* k4 does not run */
    assert_int_equal(launches, 5);
    assert_memory_equal(seen, expected, sizeof expected);
    assert_string_equal(err.what, "take %z");
    assert_string_equal(err.where, "m.c:5:9");
    assert_int_equal(err.found, 9);
    assert_int_equal(err.hi, 6);
}

static void a_stretch(void **state)
{
    (void)state;
    int64_t ns[5] = {0}, runs[5] = {0};
    gcut_rt_profile profile = {.ns = ns, .runs = runs};
    gcut_rt_lap(&profile, -1);
    assert_int_equal(launch(code + 10, code + 35, &profile, NULL), GCUT_RT_OK);
    assert_int_equal(launches, 3);
    static const int64_t ran[] = {0, 1, 1, 0, 0};
    assert_memory_equal(runs, ran, sizeof ran);
    assert_int_equal(launch(code, code, NULL, NULL), GCUT_RT_OK);
    assert_int_equal(launches, 0);
}

/* ---- threads ---- */

#define SPIN_NS 200000

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void spin(void *arg, int t, int nt)
{
    (void)arg, (void)t, (void)nt;
    for (const int64_t begin = now(); now() - begin < SPIN_NS;) continue;
}

static void spin_on_two(const gcut_rt_args *args)
{
    (void)args;
    gcut_rt_parallel(spin, NULL, 2);
}

static void spin_on_one(const gcut_rt_args *args)
{
    (void)args;
    spin(NULL, 0, 1);
}

/* A thread computes at most as long as the launch takes, and all together as long as the parts do, whoever runs them. */
static void busy_threads(void **state)
{
    (void)state;
    static const int64_t both[] = {0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0};
    static void (*const two[])(const gcut_rt_args *) = {spin_on_two, spin_on_one};
    int64_t ns[2] = {0}, runs[2] = {0}, busy[2][2] = {{0}};
    gcut_rt_profile profile = {.ns = ns, .runs = runs, .busy_ns = busy[0], .threads = 2};
    gcut_rt_plan plan = {.threads = 2, .profile = &profile};
    gcut_rt_fault fault = GCUT_RT_NO_FAULT;
    void *b[4];
    int64_t n[4];
    gcut_rt_call x = {.plan = &plan, .function = two, .fault = &fault, .b = b, .n = n};
    gcut_rt_lap(&profile, -1);
    assert_int_equal(gcut_rt_launch(&x, both, both + 14), GCUT_RT_OK);
    for (int k = 0; k < 2; k++)
        for (int t = 0; t < 2; t++) assert_true(busy[k][t] >= 0 && busy[k][t] <= ns[k]);
    assert_true(busy[0][0] + busy[0][1] >= 2 * SPIN_NS);
    assert_int_equal(busy[1][0], ns[1]);
    assert_int_equal(busy[1][1], 0);
    /* What is launched afterwards is not timed. */
    gcut_rt_parallel(spin, NULL, 2);
    assert_int_equal(busy[1][1], 0);
}

/* ---- rows ---- */

enum { ROWS = 37 };
typedef struct touched {
    int64_t times[ROWS];
} touched;

static void touch(void *arg, int t, int64_t r0, int64_t r1, int64_t j0, int64_t j1)
{
    const gcut_rt_args *args = arg;
    touched *y = args->b[0];
    (void)t, (void)j0, (void)j1;
    for (int64_t r = r0; r < r1; r++) y->times[r]++;
}

static void every_row_once(void **state)
{
    (void)state;
    for (int64_t rows = 0; rows <= ROWS; rows++)
        for (int threads = 1; threads <= 5; threads++) {
            touched y = {{0}};
            void *b[] = {&y};
            const gcut_rt_args args = {NULL, b, NULL, NULL};
            gcut_rt_rows(touch, &args, rows, threads);
            for (int64_t r = 0; r < ROWS; r++)
                if (y.times[r] != (r < rows))
                    fail_msg("row %d of %d ran %d times on %d threads", (int)r, (int)rows, (int)y.times[r],
                             threads);
        }
}

/* ---- divisors ---- */

static void quotients(void **state)
{
    (void)state;
    static const int64_t edges[] = {1,
                                    2,
                                    3,
                                    5,
                                    7,
                                    10,
                                    64,
                                    144,
                                    1000,
                                    INT64_C(1) << 31,
                                    (INT64_C(1) << 32) + 1,
                                    (INT64_C(1) << 48) - 1,
                                    INT64_C(1) << 62,
                                    INT64_MAX - 1,
                                    INT64_MAX};
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        const gcut_rt_divisor d = gcut_rt_divide_by(edges[i]);
        for (int k = 0; k < 20000; k++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            int64_t a = (int64_t)(random >> 1 >> (k % 63)), near = k % 5 - 2;
            if (k % 2 && a <= INT64_MAX / edges[i] - 1) a = a * edges[i] + near < 0 ? 0 : a * edges[i] + near;
            if (gcut_rt_quotient(a, d) != a / edges[i] || gcut_rt_remainder(a, d) != a % edges[i])
                fail_msg("%lld / %lld", (long long)a, (long long)edges[i]);
        }
        assert_int_equal(gcut_rt_quotient(INT64_MAX, d), INT64_MAX / edges[i]);
        assert_int_equal(gcut_rt_quotient(0, d), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_functions_are_given),
        cmocka_unit_test(a_stretch),
        cmocka_unit_test(busy_threads),
        cmocka_unit_test(every_row_once),
        cmocka_unit_test(quotients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
