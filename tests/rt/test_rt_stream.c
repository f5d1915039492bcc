/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writing past the caches: every byte and no other, wherever it begins; copies and gathers that are so
 * written, here from 256 bytes on; and from which size on, when nobody says.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "gradcut/gradcut_rt.h"

enum { MOST = 1300, ROOM = 64 };

static unsigned char from[MOST + ROOM], to[MOST + 2 * ROOM];

static unsigned char byte(size_t i)
{
    return (unsigned char)(i * 37 + i / 251 + 1);
}

static void moves(size_t at, size_t of, size_t n)
{
    memset(to, 0x5A, sizeof to);
    gcut_rt_stream(to + at, from + of, (int64_t)n);
    gcut_rt_streamed();
    assert_memory_equal(to + at, from + of, n);
    for (size_t i = 0; i < at; i++) assert_int_equal(to[i], 0x5A);
    for (size_t i = at + n; i < sizeof to; i++) assert_int_equal(to[i], 0x5A);
}

static void every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof from; i++) from[i] = byte(i);
    for (size_t n = 0; n <= MOST; n += n < 200 ? 1 : 211)
        for (size_t at = 0; at < ROOM; at += n < 200 ? 1 : 7) moves(at, at * 5 % ROOM, n);
}

static void lines(void **state)
{
    (void)state;
    _Alignas(64) static unsigned char a[64], b[192];
    for (size_t i = 0; i < sizeof a; i++) a[i] = byte(i);
    gcut_rt_line(b + 64, a);
    gcut_rt_streamed();
    assert_memory_equal(b + 64, a, 64);
    for (size_t i = 0; i < 64; i++) assert_true(!b[i] && !b[128 + i]);
    for (int64_t size = 1; size <= 8; size *= 2)
        for (int64_t i = 0; i < 64; i += size)
            assert_int_equal(gcut_rt_to_line(b + i, size), (64 - i) % 64 / size);
}

/* What a process decides that is told this much; it is decided once. */
static int64_t decided(const char *told)
{
    int ends[2];
    int64_t n = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (told)
            setenv("GRADCUT_STREAM_BYTES", told, 1);
        else
            unsetenv("GRADCUT_STREAM_BYTES");
        n = gcut_rt_stream_bytes();
        _exit(write(ends[1], &n, sizeof n) != sizeof n);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &n, sizeof n), sizeof n);
    close(ends[0]), close(ends[1]);
    return n;
}

/* Before anything has decided. */
static void size_of_the_cache(void **state)
{
    (void)state;
    const int64_t cache = decided(NULL);
    assert_in_range(cache, 256 << 10, 64 << 20); /* of the last one, of which a core fills 64 MiB at most */
    assert_int_equal(cache % 64, 0);
    assert_int_equal(decided("4096"), 4096);
    static const char *const no_sizes[] = {"", "0", "-5", "64MiB", "x"};
    for (size_t i = 0; i < sizeof no_sizes / sizeof *no_sizes; i++)
        assert_int_equal(decided(no_sizes[i]), cache);
    int64_t n = gcut_rt_stream_bytes();
    assert_int_equal(n, 256);
    setenv("GRADCUT_STREAM_BYTES", "1", 1); /* too late */
    assert_int_equal(gcut_rt_stream_bytes(), n);
}

/* Rows of c floats to every other row of the result, `at` floats after the beginning of a line. */
static void copies(int64_t rows, int64_t c, int64_t at, int threads)
{
    int64_t dim[] = {rows, c}, ss[] = {c, 1}, ds[] = {2 * c, 1};
    float *src = calloc((size_t)(rows * c), sizeof *src),
          *dst = calloc((size_t)(2 * rows * c + 32), sizeof *dst);
    assert_true(src);
    assert_true(dst);
    for (int64_t i = 0; i < rows * c; i++) src[i] = (float)(i + 1);
    gcut_rt_copy(2, dim, sizeof *src, src, ss, dst + at, ds, threads);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < c; i++) {
            assert_true(dst[at + 2 * r * c + i] == src[r * c + i]);
            assert_true(dst[at + (2 * r + 1) * c + i] == 0);
        }
    free(src);
    free(dst);
}

static void gathers(int64_t rows, int64_t c, int threads)
{
    enum { TABLE = 19 };
    double *x = calloc((size_t)(TABLE * c), sizeof *x), *y = calloc((size_t)(rows * c), sizeof *y);
    int32_t *index = calloc((size_t)rows, sizeof *index);
    gcut_rt_fault fault = GCUT_RT_NO_FAULT;
    assert_true(x);
    assert_true(y);
    assert_true(index);
    for (int64_t i = 0; i < TABLE * c; i++) x[i] = (double)(i + 1);
    for (int64_t r = 0; r < rows; r++) index[r] = (int32_t)(r * 7 % TABLE);
    index[rows / 2] = TABLE;
    gcut_rt_take(sizeof *x, 1, TABLE, c, x, index, sizeof *index, rows, y, &fault, threads);
    assert_int_equal(fault.at, rows / 2);
    assert_int_equal(fault.found, TABLE);
    for (int64_t r = 0; r < rows; r++)
        assert_memory_equal(y + r * c, x + (r == rows / 2 ? 0 : index[r]) * c, (size_t)c * sizeof *x);
    free(x);
    free(y);
    free(index);
}

static void rows_move(void **state)
{
    (void)state;
    static const int64_t columns[] = {1, 63, 128, 255, 256, 257, 301, 1024};
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        for (int threads = 1; threads <= 3; threads++) {
            for (int64_t at = 0; at < 17; at += 3) copies(37, columns[k], at, threads);
            gathers(41, columns[k], threads);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(size_of_the_cache), cmocka_unit_test(every_byte),
                                       cmocka_unit_test(lines), cmocka_unit_test(rows_move)};
    setenv("GRADCUT_STREAM_BYTES", "256", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
