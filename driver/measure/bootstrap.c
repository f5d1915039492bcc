/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Medians and their bootstrap intervals.
 *
 * A candidate's times are sorted once.  The median of a resample is found by how often it drew each round, so
 * it takes one walk over the sorted times instead of a sort.
 */
#include "driver/measure/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver/measure/draw.h"
#include "driver/measure/quantile.h"

static const double tail = 0.025; /* of the resamples, below and above the interval */

typedef struct timed {
    double ns;
    size_t round;
} timed;

static int by_ns(const void *a, const void *b)
{
    const timed *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* The median of the sorted times, each taken `drawn` times by its round; drawn sums up to n. */
static double median_of(const timed *sorted, const uint32_t *drawn, size_t n)
{
    double middle[2] = {0}; /* items (n - 1) / 2 and n / 2, from 0 */
    size_t seen = 0;
    for (size_t i = 0; i < n && seen <= n / 2; i++) {
        const size_t before = seen;
        seen += drawn[sorted[i].round];
        if (before <= (n - 1) / 2 && seen > (n - 1) / 2) middle[0] = sorted[i].ns;
        if (before <= n / 2 && seen > n / 2) middle[1] = sorted[i].ns;
    }
    return middle[0] + (middle[1] - middle[0]) / 2;
}

gcut_bootstrap gcut_bootstrap_of(const gcut_round_times *t, uint64_t seed, gcut_arena *a)
{
    const size_t n = t->rounds;
    gcut_bootstrap out = {.n = t->n,
                          .rounds = n,
                          .median = gcut_calloc(a, t->n + 1, sizeof *out.median),
                          .resampled = gcut_calloc(a, t->n * GCUT_RESAMPLES + 1, sizeof *out.resampled),
                          .scratch = gcut_calloc(a, GCUT_RESAMPLES, sizeof *out.scratch)};
    timed *sorted = gcut_calloc(a, t->n * n + 1, sizeof *sorted);
    uint32_t *drawn = gcut_calloc(a, n, sizeof *drawn);
    for (size_t k = 0; k < n; k++) drawn[k] = 1;
    for (size_t i = 0; i < t->n; i++) {
        timed *x = sorted + i * n;
        for (size_t k = 0; k < n; k++) x[k] = (timed){t->ns[i * n + k], k};
        qsort(x, n, sizeof *x, by_ns);
        out.median[i] = median_of(x, drawn, n);
    }
    for (size_t b = 0; b < GCUT_RESAMPLES; b++) {
        memset(drawn, 0, n * sizeof *drawn);
        for (size_t k = 0; k < n; k++) drawn[gcut_draw(seed, GCUT_DRAW_RESAMPLE, b, k, n)]++;
        for (size_t i = 0; i < t->n; i++)
            out.resampled[i * GCUT_RESAMPLES + b] = median_of(sorted + i * n, drawn, n);
    }
    return out;
}

/* Around `at`, from the resampled values in b->scratch, which it sorts. */
static gcut_interval interval_of(const gcut_bootstrap *b, double at)
{
    if (b->rounds < GCUT_LEAST_ROUNDS) return (gcut_interval){at, NAN, NAN};
    gcut_sort_reals(b->scratch, GCUT_RESAMPLES);
    return (gcut_interval){at, gcut_quantile(b->scratch, GCUT_RESAMPLES, tail),
                           gcut_quantile(b->scratch, GCUT_RESAMPLES, 1 - tail)};
}

gcut_interval gcut_bootstrap_median(const gcut_bootstrap *b, size_t i)
{
    memcpy(b->scratch, b->resampled + i * GCUT_RESAMPLES, GCUT_RESAMPLES * sizeof *b->scratch);
    return interval_of(b, b->median[i]);
}

gcut_interval gcut_bootstrap_ratio(const gcut_bootstrap *b, size_t i, size_t k)
{
    const double *x = b->resampled + i * GCUT_RESAMPLES, *y = b->resampled + k * GCUT_RESAMPLES;
    for (size_t r = 0; r < GCUT_RESAMPLES; r++) b->scratch[r] = x[r] / y[r];
    return interval_of(b, b->median[i] / b->median[k]);
}

bool gcut_separable(gcut_interval ratio)
{
    return ratio.lo > 1 || ratio.hi < 1;
}
