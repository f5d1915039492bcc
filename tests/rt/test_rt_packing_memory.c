/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The memory that products pack into: shared by threads, in a child process, and when there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "gradcut/gradcut_rt.h"
#include "kernels/rt/threads/packing_memory.h"

static _Atomic int poor;       /* there is no memory */
static _Atomic size_t largest; /* of the blocks asked for, without those of HUGE_BLOCK */

/* More than any block that was given back. */
enum { HUGE_BLOCK = 1 << 30 };

/* The run-time library's, in place of libc's. */
void *aligned_alloc(size_t align, size_t bytes)
{
    void *p = NULL;
    if (bytes < HUGE_BLOCK && bytes > atomic_load(&largest)) atomic_store(&largest, bytes);
    return !atomic_load(&poor) && posix_memalign(&p, align, bytes) == 0 ? p : NULL;
}

/* Blocks that earlier runs gave back would do: the list is emptied by asking for more, and there is none. */
static void be_poor(void)
{
    atomic_store(&poor, 1);
    for (int k = 0; k < 8; k++) gcut_rt_give_back(gcut_rt_borrow(HUGE_BLOCK));
}

/* ---- products without memory ---- */

/* Too large for the kernels that pack nothing. */
enum { ROWS = 501, COLUMNS = 530, DEPTH = 540 };

/* sums: of the columns of b, or NULL */
static void product(const float *a, const float *b, float *c, float *sums, int turned, int threads)
{
    const gcut_rt_gemm g = {.m = ROWS,
                            .n = COLUMNS,
                            .k = DEPTH,
                            .rsa = DEPTH,
                            .csa = 1,
                            .rsb = COLUMNS,
                            .csb = 1,
                            .rsc = turned ? 1 : COLUMNS,
                            .csc = turned ? ROWS : 1,
                            .sums = sums ? GCUT_RT_SUMS_B : 0,
                            .sum = sums};
    gcut_rt_gemm_f32(&g, a, b, c, threads);
}

static float *numbers(int64_t n)
{
    float *x = malloc((size_t)n * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = (float)((i * 7919 % 1009) - 504) / 64;
    return x;
}

/* Threads take the reserve in turns, and the bits are the same. */
static void test_poor(void **state)
{
    (void)state;
    float *a = numbers(ROWS * DEPTH), *b = numbers(DEPTH * COLUMNS);
    float *few = numbers(ROWS * COLUMNS), *many = numbers(ROWS * COLUMNS), sums[2][COLUMNS];
    for (int turned = 0; turned < 2; turned++)
        for (int threads = 1; threads <= 4; threads++) {
            be_poor();
            memset(few, 0xff, ROWS * COLUMNS * sizeof *few);
            product(a, b, few, sums[0], turned, threads);
            atomic_store(&poor, 0);
            product(a, b, many, sums[1], turned, threads);
            assert_memory_equal(few, many, ROWS * COLUMNS * sizeof *few);
            assert_memory_equal(sums[0], sums[1], sizeof *sums);
        }
    free(a), free(b), free(few), free(many);
}

/* ---- small images without memory ---- */

/* y, x and w of windows of one element, one after the other in `out`. */
static void convolve(const gcut_rt_conv *g, const float *x, const float *y, const float *w, float *out)
{
    gcut_rt_conv_y_f32(g, x, w, out, NULL, 2);
    gcut_rt_conv_x_f32(g, y, w, out + g->n * g->o * g->h * g->w, NULL, 2);
    gcut_rt_conv_w_f32(g, x, y, out + g->n * (g->o + g->c) * g->h * g->w, NULL, 2);
}

/* Images that fit in the reserve, too, which their product needs, are not joined then.  With memory, a block has 2 MiB at
 * most. */
static void test_small_images(void **state)
{
    (void)state;
    static const int64_t sizes[][4] = {{9, 128, 130, 6}, {5, 500, 500, 2}, {64, 700, 600, 4}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t n = sizes[i][0], c = sizes[i][1], o = sizes[i][2], h = sizes[i][3];
        const gcut_rt_conv g = {.n = n,
                                .c = c,
                                .h = h,
                                .w = h,
                                .o = o,
                                .oh = h,
                                .ow = h,
                                .kh = 1,
                                .kw = 1,
                                .stride = {1, 1},
                                .dilation = {1, 1},
                                .groups = 1};
        const int64_t all = n * (o + c) * h * h + o * c;
        float *x = numbers(n * c * h * h), *y = numbers(n * o * h * h), *w = numbers(o * c);
        float *few = numbers(all), *many = numbers(all);
        be_poor();
        convolve(&g, x, y, w, few);
        atomic_store(&poor, 0);
        atomic_store(&largest, 0);
        convolve(&g, x, y, w, many);
        assert_that(atomic_load(&largest), >, 0);
        assert_that(atomic_load(&largest), <=, (size_t)2 << 20);
        for (int64_t k = 0; k < all; k++)
            assert_true(fabsf(few[k] - many[k]) <= 1e-4f * fabsf(few[k]) + 1e-2f);
        free(x), free(y), free(w), free(few), free(many);
    }
}

/* Blocks are as large as asked for, aligned, and nobody else's. */
static void *fill_blocks(void *arg)
{
    for (size_t k = 1; k < 400; k++) {
        const size_t bytes = k * 7919 % 100000 + (k % 100 == 0 ? (size_t)2 << 20 : 0);
        gcut_rt_packing_memory w = gcut_rt_borrow(bytes);
        if (w.bytes < bytes || (uintptr_t)w.at % 64 != 0) return arg;
        memset(w.at, (int)k, bytes);
        for (size_t i = 0; i < bytes; i += 997)
            if (((unsigned char *)w.at)[i] != (unsigned char)k) return arg;
        gcut_rt_give_back(w);
    }
    return NULL;
}

static void test_blocks(void **state)
{
    (void)state;
    pthread_t other[3];
    void *wrong;
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&other[i], NULL, fill_blocks, other), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(other[i], &wrong);
        assert_null(wrong);
    }
}

/* ---- in a child ---- */

static void borrow_both(void)
{
    gcut_rt_packing_memory a = gcut_rt_borrow(2000);
    atomic_store(&poor, 1);
    gcut_rt_packing_memory b = gcut_rt_borrow(HUGE_BLOCK);
    atomic_store(&poor, 0);
    if (a.bytes < 2000 || b.bytes != GCUT_RT_RESERVE) _exit(1);
    gcut_rt_give_back(b);
    gcut_rt_give_back(a);
}

/* One that hangs is killed. */
static void run_child(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(30);
        borrow_both();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_that(WEXITSTATUS(status), ==, 0);
}

static void *borrow(void *over)
{
    while (!atomic_load((_Atomic int *)over)) gcut_rt_give_back(gcut_rt_borrow(1000));
    return NULL;
}

/* The list of blocks is whole in a child, whatever other threads were doing. */
static void test_fork(void **state)
{
    (void)state;
    _Atomic int over = 0;
    pthread_t other[2];
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&other[i], NULL, borrow, &over), 0);
    for (int k = 0; k < 100; k++) run_child();
    atomic_store(&over, 1);
    for (int i = 0; i < 2; i++) pthread_join(other[i], NULL);
}

static void *keep_reserve(void *arg)
{
    pthread_barrier_t *b = arg;
    atomic_store(&poor, 1);
    gcut_rt_packing_memory w = gcut_rt_borrow(HUGE_BLOCK);
    atomic_store(&poor, 0);
    pthread_barrier_wait(b);
    pthread_barrier_wait(b);
    gcut_rt_give_back(w);
    return NULL;
}

/* Nor is the reserve in the hands of a thread that the child does not have. */
static void test_fork_reserve(void **state)
{
    (void)state;
    pthread_barrier_t b;
    pthread_t other;
    assert_int_equal(pthread_barrier_init(&b, NULL, 2), 0);
    assert_int_equal(pthread_create(&other, NULL, keep_reserve, &b), 0);
    pthread_barrier_wait(&b);
    run_child();
    pthread_barrier_wait(&b);
    pthread_join(other, NULL);
    pthread_barrier_destroy(&b);
    borrow_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poor), cmocka_unit_test(test_small_images), cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_fork), cmocka_unit_test(test_fork_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
