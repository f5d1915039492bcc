/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The checks of a call's arguments: which overlap is reported, against a look at every pair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "gradcut/gradcut_rt.h"

static uint64_t seed = 11;
static int random_below(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)n);
}

static _Alignas(64) char memory[1 << 16], arena[64];

static gcut_rt_status check(const gcut_rt_span *s, int n, gcut_rt_error *err)
{
    return gcut_rt_check(s, n, arena, sizeof arena, err);
}

static int overlap(const gcut_rt_span *a, const gcut_rt_span *b)
{
    const char *x = a->at, *y = b->at;
    return a->bytes > 0 && b->bytes > 0 && x < y + b->bytes && y < x + a->bytes;
}

/* The first written one that overlaps another, *with. */
static int first(const gcut_rt_span *s, int n, int *with)
{
    for (int i = 0; i < n; i++)
        for (*with = 0; *with < n; ++*with)
            if (i != *with && s[i].written && overlap(&s[i], &s[*with])) return i;
    return -1;
}

static void test_overlaps(void **state)
{
    (void)state;
    int found = 0;
    for (int r = 0; r < 3000; r++) {
        TRY("round %d", (int)r);
        enum { MOST = 60 };
        static const char *const names[MOST];
        gcut_rt_span s[MOST];
        int n = 1 + random_below(MOST), room = r % 2 ? (int)sizeof memory : 4096;
        for (int i = 0; i < n; i++) {
            int at = random_below(room / 4) * 4;
            s[i] =
                (gcut_rt_span){memory + at, random_below(9) * 4, (const char *)&names[i], 4, random_below(2)};
            if (at + s[i].bytes > room) s[i].bytes = room - at;
        }
        gcut_rt_error err = {0};
        int with, bad = first(s, n, &with);
        gcut_rt_status st = check(s, n, &err);
        assert_int_equal(st, bad < 0 ? GCUT_RT_OK : GCUT_RT_EOVERLAP);
        if (bad >= 0) {
            assert_ptr_equal(err.what, s[bad].name);
            assert_ptr_equal(err.where, s[with].name);
        }
        found += bad >= 0;
    }
    assert_in_range(found, 300, 2700);
}

/* Neighbours that touch, equal addresses, a small span within a large one, more spans than are sorted. */
static void test_corners(void **state)
{
    (void)state;
    gcut_rt_error err;
    gcut_rt_span s[3] = {{memory, 8, "a", 4, 1}, {memory + 8, 8, "b", 4, 1}, {memory + 16, 0, "c", 4, 1}};
    assert_int_equal(check(s, 3, &err), GCUT_RT_OK);
    s[2] = (gcut_rt_span){memory + 8, 8, "c", 4, 0};
    assert_int_equal(check(s, 3, &err), GCUT_RT_EOVERLAP);
    assert_string_equal(err.what, "b");
    s[1].written = 0;
    assert_int_equal(check(s, 3, &err), GCUT_RT_OK);
    s[0] = (gcut_rt_span){memory, 4096, "a", 4, 0};
    s[2].written = 1;
    assert_int_equal(check(s, 3, &err), GCUT_RT_EOVERLAP);
    assert_string_equal(err.what, "c");
    assert_string_equal(err.where, "a");
    char text[128];
    gcut_rt_message(&err, text, sizeof text);
    assert_string_equal(text, "the memory of c, which the step writes, overlaps that of a");
    enum { MANY = 5000 };
    gcut_rt_span *many = calloc(MANY, sizeof *many);
    for (int i = 0; i < MANY; i++) many[i] = (gcut_rt_span){memory + 8 * i, 8, "many", 8, 1};
    assert_int_equal(check(many, MANY, &err), GCUT_RT_OK);
    assert_int_equal(check(many, 4096, &err), GCUT_RT_OK);
    many[4000].bytes = 16;
    assert_int_equal(check(many, MANY, &err), GCUT_RT_EOVERLAP);
    assert_int_equal(check(many, 4096, &err), GCUT_RT_EOVERLAP);
    free(many);
}

static void test_pointers(void **state)
{
    (void)state;
    gcut_rt_error err;
    gcut_rt_span s = {NULL, 8, "a", 8, 0};
    assert_int_equal(check(&s, 1, &err), GCUT_RT_ENULL);
    s.bytes = 0;
    assert_int_equal(check(&s, 1, &err), GCUT_RT_OK);
    s = (gcut_rt_span){memory + 4, 8, "a", 8, 0};
    assert_int_equal(check(&s, 1, &err), GCUT_RT_EALIGN);
    s.align = 4;
    assert_int_equal(check(&s, 1, &err), GCUT_RT_OK);
    s.at = arena + 60;
    assert_int_equal(check(&s, 1, &err), GCUT_RT_EOVERLAP);
    assert_int_equal(gcut_rt_check(&s, 1, arena + 32, 32, NULL), GCUT_RT_EALIGN);
    assert_int_equal(gcut_rt_check(&s, 0, NULL, 64, NULL), GCUT_RT_ENULL);
    assert_int_equal(gcut_rt_check(NULL, 0, NULL, 0, NULL), GCUT_RT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_corners),
        cmocka_unit_test(test_pointers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
