/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one place that measures steps beside each other.  Every round runs each step once, in an order of its
 * own, so that load on the machine affects all of them alike and no step always follows the same other one.
 * The steps share the bound values of the first one and one arena, so that memory holds the model once.
 */
#ifndef GCUT_DRIVER_MEASURE_ROUNDS_H
#define GCUT_DRIVER_MEASURE_ROUNDS_H

#include "driver/load/step.h"
#include "driver/measure/bootstrap.h"

/* Replaces measured times; for tests of what depends on them. */
typedef struct gcut_timer {
    /* The time of row `row`, called `name`, in this round, of which `ns` was measured. */
    double (*time)(void *user, size_t row, const char *name, size_t round, double ns);
    void *user;
} gcut_timer;

typedef struct gcut_rounds {
    gcut_step **step;  /* n of them, of one function and one set of bound values; none has run yet */
    const char **name; /* of each */
    size_t n;
    const gcut_feed *feed;
    size_t nfeed;
    int rounds; /* >= 1 */
    uint64_t seed;
    const gcut_timer *timer; /* NULL: times are as measured */
} gcut_rounds;

typedef struct gcut_measured {
    double *best_ns; /* by step, like the next */
    gcut_interval *median_ns;
    gcut_bootstrap bootstrap;
    const gcut_sample *const *sample; /* in the order in which they were taken */
    size_t nsamples;
} gcut_measured;

/* A permutation of 0..n-1 (Fisher-Yates), each as likely as the others: the order of a round. */
void gcut_round_order(uint64_t seed, size_t round, uint32_t *order, size_t n);
/* Binds and feeds the values, runs each step once and reads its statistics.  Allocates in `arena`, which must
 * outlive the steps.  Throws. */
void gcut_rounds_begin(const gcut_rounds *r, gcut_stats *stats, gcut_arena *arena);
/* Runs the steps in rounds.  Samples go to `keep`, where their names are, all else to `arena`.  Throws. */
gcut_measured gcut_rounds_run(const gcut_rounds *r, gcut_arena *keep, gcut_arena *arena);

#endif
