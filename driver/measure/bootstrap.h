/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Medians of times measured in rounds, with bootstrap percentile intervals (Efron, 1979).
 *
 * A resample draws as many rounds as there are, with replacement, and takes them whole: the times of one round
 * stay together, so a ratio is always one of the same rounds, and load that lasts for a round cancels in it.
 * An interval is from the 2.5 % to the 97.5 % quantile of the medians of GCUT_RESAMPLES resamples.  It is a
 * function of the times and the seed alone.
 *
 * Of fewer than GCUT_LEAST_ROUNDS rounds no interval covers a median with 95 %: even that from the least to the
 * greatest of n times misses it with 2^(1-n), 6.3 % for 5.  Such an interval is NAN.
 */
#ifndef GCUT_DRIVER_MEASURE_BOOTSTRAP_H
#define GCUT_DRIVER_MEASURE_BOOTSTRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "gradcut/plan.h"

/* Times of n candidates in some rounds. */
typedef struct gcut_round_times {
    size_t n, rounds; /* rounds >= 1 */
    double *ns;       /* ns[i * rounds + k]: candidate i in round k */
} gcut_round_times;

typedef struct gcut_interval {
    double at, lo, hi; /* at: of the times themselves */
} gcut_interval;

typedef struct gcut_bootstrap {
    size_t n, rounds;
    double *median;    /* of each candidate */
    double *resampled; /* resampled[i * GCUT_RESAMPLES + b]: the median of candidate i in resample b */
    double *scratch;
} gcut_bootstrap;

gcut_bootstrap gcut_bootstrap_of(const gcut_round_times *t, uint64_t seed, gcut_arena *a);
gcut_interval gcut_bootstrap_median(const gcut_bootstrap *b, size_t i);
/* Of the median of candidate i to that of candidate k. */
gcut_interval gcut_bootstrap_ratio(const gcut_bootstrap *b, size_t i, size_t k);
/* The interval of a ratio is known and does not contain 1. */
bool gcut_separable(gcut_interval ratio);

#endif
