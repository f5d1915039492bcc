/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Orders of rounds, medians and bootstrap intervals, against closed forms: the bootstrap's distribution of a
 * median is known exactly, and so is the probability that an interval between two order statistics covers it.
 */
#include "harness.h"

#include "driver/measure/quantile.h"
#include "driver/measure/rounds.h"
#include "report/report.h"

typedef struct world {
    gcut_env *env;
} world;
FIXTURE(world)

/* ---- distributions ---- */

static double choose(size_t n, size_t k)
{
    return exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1));
}

/* P(X >= k), X binomial. */
static double at_least(size_t n, double p, size_t k)
{
    double sum = 0;
    for (size_t i = k; i <= n; i++) sum += choose(n, i) * pow(p, (double)i) * pow(1 - p, (double)(n - i));
    return sum;
}

/* Of an odd number n of different times: P(the median of a resample <= the k-th smallest, from 1). */
static double below(size_t n, size_t k)
{
    return at_least(n, (double)k / (double)n, (n + 1) / 2);
}

/* The order statistic at which that reaches q. */
static size_t rank_at(size_t n, double q)
{
    size_t k = 1;
    while (below(n, k) < q) k++;
    return k;
}

static double uniform(uint64_t key, uint64_t i)
{
    return gcut_random_f64((int64_t)key, (int64_t)i);
}

/* ---- the order of rounds ---- */

/* All 24 orders of four steps are as likely: 24,000 rounds, chi-square with 23 degrees of freedom. */
static void orders_are_permutations(void **state)
{
    (void)state;
    enum { ROUNDS = 24000 };
    int seen[256] = {0}, kinds = 0;
    double chi = 0;
    for (size_t k = 0; k < ROUNDS; k++) {
        uint32_t order[4], again[4], code = 0, all = 0;
        gcut_round_order(7, k, order, 4);
        gcut_round_order(7, k, again, 4);
        assert_memory_equal(order, again, sizeof order);
        for (int i = 0; i < 4; i++) code = 4 * code + order[i], all |= 1u << order[i];
        assert_int_equal(all, 15);
        seen[code]++;
    }
    for (int i = 0; i < 256; i++) {
        kinds += seen[i] > 0;
        if (seen[i]) chi += pow(seen[i] - ROUNDS / 24.0, 2) / (ROUNDS / 24.0);
    }
    assert_int_equal(kinds, 24);
    assert_true(chi < 49.7); /* exceeded with probability 0.001 */
    uint32_t one[64], other[64];
    gcut_round_order(1, 0, one, 64);
    gcut_round_order(2, 0, other, 64);
    assert_memory_not_equal(one, other, sizeof one);
}

/* ---- intervals ---- */

static gcut_bootstrap of_times(const world *w, double *ns, size_t n, size_t rounds, uint64_t seed)
{
    const gcut_round_times t = {n, rounds, ns};
    return gcut_bootstrap_of(&t, seed, w->env->arena);
}

static void medians_are_those_of_sorted_times(void **state)
{
    const world *w = *state;
    for (size_t n = 1; n < 60; n++) {
        double ns[60];
        for (size_t k = 0; k < n; k++) ns[k] = floor(20 * uniform(n, k)); /* with equal ones */
        gcut_bootstrap b = of_times(w, ns, 1, n, n);
        gcut_interval m = gcut_bootstrap_median(&b, 0);
        gcut_sort_reals(ns, n);
        assert_true(m.at == gcut_quantile(ns, n, 0.5));
        assert_true(isnan(m.lo) == (n < 6) && isnan(m.hi) == (n < 6));
        if (n >= 6) assert_true(ns[0] <= m.lo && m.lo <= m.at && m.at <= m.hi && m.hi <= ns[n - 1]);
    }
}

/* The ends of an interval are the order statistics where the exact distribution reaches 2.5 and 97.5 %: within
 * four deviations of what 2000 draws of it have there, 0.014. */
static void ends_are_order_statistics(void **state)
{
    const world *w = *state;
    const double off = 4 * sqrt(0.025 * 0.975 / GCUT_RESAMPLES);
    int sure = 0;
    for (size_t n = 7; n <= 101; n += 2)
        for (uint64_t seed = 0; seed < 3; seed++) {
            double ns[101];
            for (size_t k = 0; k < n; k++) ns[(k * 37) % n] = (double)k + 1; /* n has no factor 37 but 37 */
            if (n == 37) continue;
            gcut_bootstrap b = of_times(w, ns, 1, n, seed);
            gcut_interval m = gcut_bootstrap_median(&b, 0);
            size_t lo = rank_at(n, 0.025 - off), lo2 = rank_at(n, 0.025 + off);
            size_t hi = rank_at(n, 0.975 - off), hi2 = rank_at(n, 0.975 + off);
            assert_true(m.at == ((double)n + 1) / 2);
            if (m.lo < (double)lo || m.lo > (double)lo2 || m.hi < (double)hi || m.hi > (double)hi2)
                fail_msg("n %zu, seed %d: %g to %g, not %zu..%zu to %zu..%zu", n, (int)seed, m.lo, m.hi, lo,
                         lo2, hi, hi2);
            sure += lo == lo2 && hi == hi2;
        }
    assert_that(sure, >=, 6); /* where one order statistic alone is possible */
}

/* One time that is far off moves neither the median nor its interval, but for the ends of few rounds. */
static void small_samples(void **state)
{
    const world *w = *state;
    double ns[] = {5,   5,   5,   5,   5,   5,   5,   5,   5,   5,   900, /* then each of them half */
                   2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 450};
    gcut_bootstrap b = of_times(w, ns, 2, 11, 1);
    gcut_interval m = gcut_bootstrap_median(&b, 0), r = gcut_bootstrap_ratio(&b, 1, 0);
    assert_true(m.at == 5 && m.lo == 5 && m.hi == 5);
    assert_true(r.at == 0.5 && r.lo == 0.5 && r.hi == 0.5);
    assert_true(gcut_separable(r));
    r = gcut_bootstrap_ratio(&b, 0, 0);
    assert_true(r.lo == 1 && r.hi == 1 && !gcut_separable(r));
    b = of_times(w, ns, 4, 5, 1);
    r = gcut_bootstrap_ratio(&b, 3, 0);
    assert_true(r.at == 0.5 && isnan(r.lo) && !gcut_separable(r)); /* five rounds do not suffice */
}

/* Rounds stay together: what takes 0.9 of another in every round is separable from it, however much the rounds
 * differ, and what differs as much without being of the same rounds is not. */
static void ratios_are_of_the_same_rounds(void **state)
{
    const world *w = *state;
    enum { N = 15 };
    double ns[3 * N];
    for (size_t k = 0; k < N; k++) {
        ns[k] = 100 * (1 + 3 * uniform(5, k));
        ns[N + k] = 0.9 * ns[k];
        ns[2 * N + (k * 7) % N] = 0.9 * ns[k];
    }
    gcut_bootstrap b = of_times(w, ns, 3, N, 0);
    gcut_interval whole = gcut_bootstrap_median(&b, 0), paired = gcut_bootstrap_ratio(&b, 1, 0),
                  loose = gcut_bootstrap_ratio(&b, 2, 0);
    assert_true(whole.hi / whole.lo > 1.2);
    assert_true(fabs(paired.lo - 0.9) < 1e-12 && fabs(paired.hi - 0.9) < 1e-12 && gcut_separable(paired));
    assert_true(fabs(loose.at - paired.at) < 1e-12 && !gcut_separable(loose));
}

/* ---- coverage ---- */

/* Times of an exponential distribution, whose median is log 2: the interval covers it as often as its ranks do,
 * 93.5 % of the time, and two equal steps under load that both share are separable once in twenty times at
 * most. */
static void intervals_cover(void **state)
{
    const world *w = *state;
    enum { N = 11, TRIALS = 1000 }; /* of 11 rounds, the ranks do not depend on the resamples */
    int covered = 0, apart = 0;
    for (uint64_t t = 0; t < TRIALS; t++) {
        double ns[2 * N];
        gcut_arena *a = gcut_arena_new(w->env, w->env->arena);
        for (size_t k = 0; k < N; k++) ns[k] = -log(1 - uniform(1000 + t, k));
        gcut_round_times times = {1, N, ns};
        gcut_bootstrap b = gcut_bootstrap_of(&times, t, a);
        gcut_interval m = gcut_bootstrap_median(&b, 0);
        covered += m.lo <= log(2) && log(2) <= m.hi;
        for (size_t k = 0; k < N; k++) {
            double load = 1 + 4 * uniform(9000 + t, k);
            for (size_t i = 0; i < 2; i++) ns[i * N + k] = load * (1 + uniform(9000 + t, 100 + 2 * k + i));
        }
        times.n = 2;
        b = gcut_bootstrap_of(&times, t, a);
        apart += gcut_separable(gcut_bootstrap_ratio(&b, 0, 1));
        gcut_arena_free(a);
    }
    double want = 0; /* P(the lower end <= median <= the upper end) */
    for (size_t i = rank_at(N, 0.025); i < rank_at(N, 0.975); i++) want += choose(N, i) * pow(0.5, N);
    print_message("covered %d of %d, %.1f expected; equal steps apart %d\n", covered, TRIALS, want * TRIALS,
                  apart);
    assert_true(fabs(covered - want * TRIALS) < 4 * sqrt(TRIALS * want * (1 - want)));
    assert_that(apart, <, TRIALS / 20);
}

/* ---- text ---- */

static void verdicts_as_text(void **state)
{
    const world *w = *state;
    gcut_arena *a = w->env->arena;
    assert_string_equal(gcut_ratio_text(a, 0.982, 0.961, 1.0134, false),
                        "0.982 (0.961 to 1.013), not separable");
    assert_string_equal(gcut_ratio_text(a, 0.9, 0.85, 0.95, true), "0.900 (0.850 to 0.950)");
    assert_string_equal(gcut_ratio_text(a, 0.5, NAN, NAN, false), "0.500, not separable");
    assert_null(gcut_ratio_text(a, NAN, NAN, NAN, false));
    assert_string_equal(gcut_median_text(a, 33.8e6, 33.1e6, 34.9e6), "33.8 ms (33.1 ms to 34.9 ms)");
    assert_string_equal(gcut_median_text(a, 33.8e6, NAN, NAN), "33.8 ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_permutations),
        WITH_FIXTURE(medians_are_those_of_sorted_times),
        WITH_FIXTURE(ends_are_order_statistics),
        WITH_FIXTURE(small_samples),
        WITH_FIXTURE(ratios_are_of_the_same_rounds),
        WITH_FIXTURE(intervals_cover),
        WITH_FIXTURE(verdicts_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
