/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Spreads of repeated measurements, and what counts as a busy machine, on made-up samples.
 */
#include "harness.h"

#include "driver/measure/spread.h"

typedef struct world {
    gcut_env *env;
} world;
FIXTURE(world)

enum { PROBES = 40, ROUNDS = 6 };

static const gcut_presence present = {.wall_ns = 1e9, .cpu_ns = 0.999e9, .preempted = 3};

/* The factor by which round r of probe i is longer than the least time of the probe. */
typedef double (*load)(uint32_t i, uint32_t r);

/* From 0 to 1, another one for each probe and round. */
static double chance(uint32_t i, uint32_t r)
{
    uint32_t x = (i * 64 + r + 1) * 2654435761u;
    x = (x ^ x >> 15) * 2246822519u;
    return (x >> 8) / 16777216.0;
}

static double quiet(uint32_t i, uint32_t r)
{
    return 1 + 0.02 * chance(i, r);
}

/* Another program runs during half of all rounds, whichever. */
static double busy(uint32_t i, uint32_t r)
{
    return quiet(i, r) * (chance(i, r + 17) < 0.5 ? 1 : 1.5);
}

/* 4 % longer from round to round: too little for the spread to show. */
static double drifting(uint32_t i, uint32_t r)
{
    return quiet(i, r) * (1 + 0.04 * r);
}

static double speeding_up(uint32_t i, uint32_t r)
{
    return quiet(i, r) * (1 - 0.03 * r);
}

/* Something ran during all of round 4. */
static double one_round(uint32_t i, uint32_t r)
{
    return quiet(i, r) * (r == 4 ? 3 : 1);
}

/* One measurement is never the same twice. */
static double one_probe(uint32_t i, uint32_t r)
{
    return i == 33 ? 1 + r : quiet(i, r);
}

static gcut_steadiness judge(world *w, load by, uint32_t rounds, gcut_presence p)
{
    static double ns[PROBES][ROUNDS];
    gcut_repeats of[PROBES];
    for (uint32_t i = 0; i < PROBES; i++) {
        for (uint32_t r = 0; r < ROUNDS; r++) ns[i][r] = (100 + 1000 * i) * by(i, r);
        of[i] = (gcut_repeats){i < 30 ? "products" : "memory", gcut_printf(w->env->arena, "probe %u", i),
                               ns[i], rounds};
    }
    return gcut_steadiness_of(of, PROBES, p, w->env->arena);
}

static void machines(void **state)
{
    world *w = *state;
    static const gcut_presence half = {.wall_ns = 1e9, .cpu_ns = 0.5e9, .preempted = 300},
                               skewed = {.wall_ns = 1e9, .cpu_ns = 1.001e9};
    const struct {
        load by;
        uint32_t rounds;
        gcut_presence presence;
        const char *says; /* NULL: quiet */
    } rows[] = {
        {quiet, ROUNDS, present, NULL},
        {quiet, GCUT_LEAST_REPEATS, present, NULL},
        {quiet, GCUT_LEAST_REPEATS - 1, present, "2 rounds cannot show whether measurements agree, 3 can"},
        {quiet, 1, present, "1 round cannot show"},
        {quiet, ROUNDS, half,
         "for 50 % of its time the measuring thread had no processor, which it lost 300 times"},
        {quiet, ROUNDS, skewed, NULL},
        {busy, ROUNDS, present, "of the measurements differ by more than 10 % from round to round"},
        {drifting, ROUNDS, present, "times rose by 12 % from the earlier rounds to the later ones"},
        {speeding_up, ROUNDS, present, "times fell by 9 % from the earlier rounds to the later ones"},
        {one_round, ROUNDS, present, NULL},
        {one_probe, ROUNDS, present, NULL},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        gcut_steadiness s = judge(w, rows[k].by, rows[k].rounds, rows[k].presence);
        if (!rows[k].says && s.busy) fail_msg("row %zu: %s", k, s.busy);
        if (rows[k].says && !(s.busy && strstr(s.busy, rows[k].says)))
            fail_msg("row %zu: %s, not: %s", k, s.busy ? s.busy : "quiet", rows[k].says);
        assert_int_equal(s.rounds, rows[k].rounds);
        assert_int_equal(s.nspread, rows[k].rounds < GCUT_LEAST_REPEATS ? 0 : 2);
    }
    gcut_steadiness s = judge(w, one_probe, ROUNDS, present);
    assert_string_equal(s.spread[1].class, "memory");
    assert_string_equal(s.spread[1].probe, "probe 33");
    assert_true(s.spread[1].typical < 0.02);
    s = judge(w, busy, ROUNDS, half);
    assert_non_null(strstr(s.busy, "from round to round, at worst by"));
    assert_non_null(strstr(s.busy, "); for 50 % of its time"));
}

/* 10, 20, … 50 in any order: quartiles 20 and 40, median 30. */
static void spreads(void **state)
{
    world *w = *state;
    static const double one[] = {30, 50, 10, 40, 20}, flat[] = {7, 7, 7, 7}, zero[] = {0, 0, 0, 0};
    const gcut_repeats of[] = {{"a", "one", one, 5}, {"a", "flat", flat, 4}, {"b", "zero", zero, 4}};
    gcut_steadiness s = gcut_steadiness_of(of, 3, present, w->env->arena);
    assert_int_equal(s.nspread, 2);
    assert_true(fabs(s.spread[0].worst - 2.0 / 3) < 1e-12);
    assert_true(fabs(s.spread[0].typical - 1.0 / 3) < 1e-12); /* halfway between both */
    assert_string_equal(s.spread[0].probe, "one");
    assert_true(s.spread[1].worst == 0);
    assert_true(fabs(s.unsteady - 1.0 / 3) < 1e-12);
    assert_true(fabs(s.away - 0.001) < 1e-12);
    assert_true(one[0] == 30 && one[4] == 20); /* the order of the rounds stays */
    s = gcut_steadiness_of(of, 0, present, w->env->arena);
    assert_int_equal(s.nspread, 0);
    assert_non_null(s.busy);
}

/* The time of a round whose threads are apart does not count, however short, unless all rounds are so. */
static void rounds_together(void **state)
{
    (void)state;
    static const double ns[] = {90, 120, 100, 80}, line[] = {INFINITY, 101, 199, 240};
    assert_true(gcut_least_together(ns, line, 4, 100) == 100);
    assert_true(gcut_least_together(ns, line, 2, 100) == 120);
    assert_true(gcut_least_together(ns, line, 1, 100) == 90); /* never together: what there is */
    assert_true(gcut_least_together(ns, line, 4, 200) == 80);
    static const double alone[] = {0, 0, 0, 0}; /* one thread: no line is sent */
    assert_true(gcut_least_together(ns, alone, 4, 0) == 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(machines),
        WITH_FIXTURE(spreads),
        WITH_FIXTURE(rounds_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
