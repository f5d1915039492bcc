/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arena placement, checked independently: no two buffers alive at once overlap, the arena holds them all, and
 * is never below (and on families with a known optimum never above) the most bytes alive at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"
#include "gradcut/gradcut_rt.h"

static uint64_t seed = 1;
static int random_below(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)n);
}

static int64_t up(int64_t x)
{
    return (x + 63) / 64 * 64;
}

static int64_t live_bytes(const gcut_rt_buffer *b, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++) {
        int64_t sum = 0; /* the maximum is taken on at some birth */
        for (int j = 0; j < n; j++)
            if (b[j].birth <= b[i].birth && b[i].birth <= b[j].death) sum += up(b[j].bytes);
        if (sum > most) most = sum;
    }
    return most;
}

static void check(const gcut_rt_buffer *b, int n, int64_t arena)
{
    assert_int_equal(arena % 64, 0);
    for (int i = 0; i < n; i++) {
        assert_int_equal(b[i].offset % 64, 0);
        assert_that(b[i].offset, >=, 0);
        if (b[i].bytes == 0)
            assert_int_equal(b[i].offset, 0);
        else
            assert_that(b[i].offset + b[i].bytes, <=, arena);
        for (int j = 0; j < i; j++) {
            int together = b[i].birth <= b[j].death && b[j].birth <= b[i].death && b[i].bytes && b[j].bytes;
            int apart = b[i].offset + b[i].bytes <= b[j].offset || b[j].offset + b[j].bytes <= b[i].offset;
            if (together) assert_true(apart);
        }
    }
}

/* Places a copy in another memory state too: the result may depend on sizes and lifetimes alone. */
static int64_t place(gcut_rt_buffer *b, int n)
{
    gcut_rt_buffer *c = malloc((size_t)n * sizeof *c + 1);
    memcpy(c, b, (size_t)n * sizeof *c);
    for (int i = 0; i < n; i++) c[i].offset = c[i].order = c[i].link = -12345;
    int64_t arena = gcut_rt_place(b, n);
    assert_int_equal(gcut_rt_place(c, n), arena);
    for (int i = 0; i < n; i++) assert_int_equal(b[i].offset, c[i].offset);
    free(c);
    check(b, n, arena);
    return arena;
}

static void test_random(void **state)
{
    (void)state;
    double worst = 1;
    for (int r = 0; r < 400; r++) {
        TRY("round %d", (int)r);
        int n = 1 + random_below(120), steps = 1 + random_below(100), longest = 1 + random_below(steps);
        gcut_rt_buffer b[120];
        for (int i = 0; i < n; i++) {
            int birth = random_below(steps),
                bytes = random_below(8) ? 1 + random_below(1 << random_below(20)) : 0;
            b[i] = (gcut_rt_buffer){.bytes = bytes, .birth = birth, .death = birth + random_below(longest)};
        }
        int64_t arena = place(b, n), low = live_bytes(b, n);
        assert_that(arena, >=, low);
        if (low && (double)arena / (double)low > worst) worst = (double)arena / (double)low;
    }
    printf("random: at most %.3f of the lower bound\n", worst);
    assert_that(worst, <, 1.35);
}

/* A training step: activation i lives from forward step i to backward step 2 depth - i, with temporaries on
 * the way. The nested lifetimes can be stacked, so the most bytes alive at once are reachable. */
static void test_step(void **state)
{
    (void)state;
    for (int depth = 1; depth < 200; depth = depth * 2 + 1) {
        int n = 0;
        static gcut_rt_buffer b[1000];
        for (int i = 0; i < depth; i++) {
            int64_t size = 64 * (1 + random_below(1000));
            b[n++] = (gcut_rt_buffer){.bytes = size, .birth = i, .death = 2 * depth - i};
        }
        assert_int_equal(place(b, n), live_bytes(b, n));
        for (int i = 0; i < 2 * depth; i++)
            b[n++] = (gcut_rt_buffer){.bytes = 64 * (1 + random_below(300)), .birth = i, .death = i + 1};
        int64_t low = live_bytes(b, n), arena = place(b, n);
        printf("step of depth %d: %.3f of the lower bound\n", depth, (double)arena / (double)low);
        assert_that(arena, >=, low);
        assert_that((double)arena, <=, (depth > 10 ? 1.05 : 1.3) * (double)low);
    }
}

/* Equal sizes: interval graphs are perfect, so as many slots as buffers are alive at once suffice. */
static void test_known_optimum(void **state)
{
    (void)state;
    for (int r = 0; r < 100; r++) {
        TRY("round %d", (int)r);
        int n = 1 + random_below(200), steps = 1 + random_below(80);
        gcut_rt_buffer b[200];
        for (int i = 0; i < n; i++) {
            int birth = random_below(steps);
            b[i] = (gcut_rt_buffer){.bytes = 4000, .birth = birth, .death = birth + random_below(steps)};
        }
        assert_int_equal(place(b, n), live_bytes(b, n));
    }
}

static void test_edges(void **state)
{
    (void)state;
    assert_int_equal(gcut_rt_place(NULL, 0), 0);
    gcut_rt_buffer none[2] = {{.bytes = 0, .offset = 7, .death = 3},
                              {.bytes = 0, .offset = 9, .birth = 1, .death = 1}};
    assert_int_equal(place(none, 2), 0);
    gcut_rt_buffer one = {.bytes = 1};
    assert_int_equal(place(&one, 1), 64);
    /* Both included: one that dies in the kernel in which another is born shares no bytes with it. */
    gcut_rt_buffer touch[2] = {{.bytes = 64, .death = 5}, {.bytes = 64, .birth = 5, .death = 9}};
    assert_int_equal(place(touch, 2), 128);
    gcut_rt_buffer follow[2] = {{.bytes = 64, .death = 4}, {.bytes = 64, .birth = 5, .death = 9}};
    assert_int_equal(place(follow, 2), 64);
    gcut_rt_buffer large[2] = {{.bytes = INT64_C(1) << 40}, {.bytes = INT64_C(3) << 40}};
    assert_int_equal(place(large, 2), INT64_C(1) << 42);
}

static void test_messages(void **state)
{
    (void)state;
    char buf[200], tiny[8];
    gcut_rt_error e;
    assert_int_equal(gcut_rt_fail(&e, GCUT_RT_EINDEX, "labels", "mlp.c:4:9", 12, 0, 10), GCUT_RT_EINDEX);
    int n = gcut_rt_message(&e, buf, sizeof buf);
    assert_int_equal((size_t)n, strlen(buf));
    assert_non_null(strstr(buf, "mlp.c:4:9: "));
    assert_non_null(strstr(buf, "labels: index 12"));
    assert_int_equal(gcut_rt_message(&e, tiny, sizeof tiny), n);
    assert_int_equal(tiny[7], 0);
    assert_int_equal(gcut_rt_fail(NULL, GCUT_RT_ENULL, "x", "", 0, 0, 0), GCUT_RT_ENULL);
    for (int s = GCUT_RT_OK; s <= GCUT_RT_EINDEX; s++) {
        gcut_rt_fail(&e, (gcut_rt_status)s, "B", NULL, 0, 1, 2);
        assert_that(gcut_rt_message(&e, buf, sizeof buf), >, 5);
    }
    assert_int_equal(gcut_rt_threads(3), 3);
    assert_that(gcut_rt_threads(0), >=, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_step),     cmocka_unit_test(test_known_optimum),
        cmocka_unit_test(test_edges),  cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
