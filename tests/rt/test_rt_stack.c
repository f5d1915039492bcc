/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How deep the stack of a thread gets in the run-time library: it must do with the 128 KiB that some systems
 * give a thread.  The thread runs on memory that was painted before, and so tells.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"

/* What is left is for the emitted code, and for who calls it. */
enum { STACK = 1 << 20, MOST = 88 << 10, PAINT = 0xa5 };

static double *numbers(int64_t n)
{
    double *x = aligned_alloc(64, (size_t)(n * 8 + 63) / 64 * 64);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = 0;
    return x;
}

/* Large enough for any of the problems below, in elements of 8 bytes. */
enum { SOME = 1 << 21 };
typedef struct memory {
    double *a, *b, *c, *work;
} memory;

static void products(const memory *m, int64_t rows, int64_t columns, int64_t depth)
{
    for (int turned = 0; turned < 4; turned++) {
        const gcut_rt_gemm g = {.m = rows,
                                .n = columns,
                                .k = depth,
                                .rsa = turned & 1 ? 1 : depth,
                                .csa = turned & 1 ? rows : 1,
                                .rsb = turned & 2 ? 1 : columns,
                                .csb = turned & 2 ? depth : 1,
                                .rsc = columns,
                                .csc = 1};
        gcut_rt_gemm_f32(&g, (float *)m->a, (float *)m->b, (float *)m->c, 2);
        gcut_rt_gemm_f64(&g, m->a, m->b, m->c, 2);
    }
}

static void convolutions(const memory *m, gcut_rt_conv g)
{
    g.oh = (g.h + 2 * g.pad[0] - g.dilation[0] * (g.kh - 1) - 1) / g.stride[0] + 1;
    g.ow = (g.w + 2 * g.pad[1] - g.dilation[1] * (g.kw - 1) - 1) / g.stride[1] + 1;
    for (g.winograd = 0; g.winograd < (g.kh == 3 && g.stride[0] == 1 ? 2 : 1); g.winograd++) {
        gcut_rt_conv_y_f32(&g, (float *)m->a, (float *)m->b, (float *)m->c, (float *)m->work, 2);
        gcut_rt_conv_x_f32(&g, (float *)m->c, (float *)m->b, (float *)m->a, (float *)m->work, 2);
        gcut_rt_conv_w_f32(&g, (float *)m->a, (float *)m->c, (float *)m->b, (float *)m->work, 2);
        gcut_rt_conv_y_f64(&g, m->a, m->b, m->c, m->work, 2);
        gcut_rt_conv_x_f64(&g, m->c, m->b, m->a, m->work, 2);
        gcut_rt_conv_w_f64(&g, m->a, m->c, m->b, m->work, 2);
    }
}

static void everything(void *arg)
{
    const memory *m = arg;
    products(m, 5, 40, 300);
    products(m, 200, 100, 70);
    products(m, 400, 700, 600);
    const gcut_rt_conv one = {.n = 2,
                              .c = 32,
                              .h = 19,
                              .w = 19,
                              .o = 24,
                              .kh = 3,
                              .kw = 3,
                              .stride = {1, 1},
                              .pad = {1, 1},
                              .dilation = {1, 1},
                              .groups = 1};
    gcut_rt_conv g = one;
    convolutions(m, g);
    g.h = g.w = 5; /* flat panels */
    convolutions(m, g);
    g = one;
    g.stride[0] = g.stride[1] = 2;
    convolutions(m, g);
    g.kh = g.kw = 1;
    convolutions(m, g);
    g = one;
    g.c = g.o = g.groups = 24;
    convolutions(m, g);
}

static void *thread(void *m)
{
    gcut_rt_team(everything, m, 2);
    return NULL;
}

static int64_t touched(const unsigned char *stack)
{
    int64_t i = 0;
    while (i < STACK && stack[i] == PAINT) i++;
    return STACK - i;
}

static void test_depth(void **state)
{
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); /* their frames are much larger */
#endif
    memory m = {numbers(SOME), numbers(SOME), numbers(SOME), numbers(SOME)};
    unsigned char *stack = aligned_alloc(4096, STACK);
    pthread_attr_t attr;
    pthread_t t;
    assert_non_null(stack);
    memset(stack, PAINT, STACK);
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstack(&attr, stack, STACK), 0);
    assert_int_equal(pthread_create(&t, &attr, thread, &m), 0);
    pthread_join(t, NULL);
    pthread_attr_destroy(&attr);
    int64_t depth = touched(stack);
    print_message("%lld KiB\n", (long long)depth >> 10);
    assert_in_range(depth, 1, MOST);
    free(stack);
    free(m.a), free(m.b), free(m.c), free(m.work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_depth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
