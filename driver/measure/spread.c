/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How far repeated measurements disagree.
 */
#include "driver/measure/spread.h"

#include <math.h>
#include <string.h>

#include "driver/measure/quantile.h"

/* The median of n >= 1 numbers, which it sorts. */
static double median(double *x, uint32_t n)
{
    gcut_sort_reals(x, n);
    return gcut_quantile(x, n, 0.5);
}

static double *copy(const double *x, uint32_t n, gcut_arena *a)
{
    double *out = gcut_calloc(a, n, sizeof *out);
    memcpy(out, x, n * sizeof *out);
    return out;
}

double gcut_least_together(const double *ns, const double *line, uint32_t n, double nearest)
{
    double together = INFINITY, all = INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        all = fmin(all, ns[i]);
        if (line[i] <= GCUT_APART * nearest) together = fmin(together, ns[i]);
    }
    return together < INFINITY ? together : all;
}

static double spread_of(const gcut_repeats *r, gcut_arena *a)
{
    double *x = copy(r->ns, r->n, a), middle = median(x, r->n);
    if (!(middle > 0)) return 0; /* shorter than the clock can tell */
    return (gcut_quantile(x, r->n, 0.75) - gcut_quantile(x, r->n, 0.25)) / middle;
}

/* Of an odd number of rounds the middle one is in neither half. */
static double drift_of(const gcut_repeats *r, gcut_arena *a)
{
    uint32_t half = r->n / 2;
    double before = median(copy(r->ns, half, a), half),
           after = median(copy(r->ns + (r->n - half), half, a), half);
    return before > 0 ? after / before - 1 : 0;
}

/* What the measurements from `from` on that are of one class have in common; x: their spreads. */
static gcut_machine_spread class_of(const gcut_repeats *of, const double *x, uint32_t n, gcut_arena *a)
{
    uint32_t worst = 0;
    for (uint32_t i = 1; i < n; i++)
        if (x[i] > x[worst]) worst = i;
    return (gcut_machine_spread){of->class, median(copy(x, n, a), n), x[worst], of[worst].name};
}

static void add_cause(gcut_text *out, const char *sentence)
{
    gcut_text_add(out, "%s%s", out->n ? "; " : "", sentence);
}

static const char *causes(const gcut_steadiness *s, gcut_presence presence, gcut_arena *a)
{
    gcut_text t = {.arena = a};
    const gcut_machine_spread *worst = NULL;
    for (uint32_t i = 0; i < s->nspread; i++)
        if (!worst || s->spread[i].worst > worst->worst) worst = &s->spread[i];
    if (s->rounds < GCUT_LEAST_REPEATS)
        add_cause(&t, gcut_printf(a, "%u round%s cannot show whether measurements agree, %d can", s->rounds,
                                  s->rounds == 1 ? "" : "s", GCUT_LEAST_REPEATS));
    if (s->unsteady > GCUT_MOST_UNSTEADY)
        add_cause(&t,
                  gcut_printf(a,
                              "%.0f %% of the measurements differ by more than %.0f %% from round to round, "
                              "at worst by %.0f %% (%s)",
                              100 * s->unsteady, 100 * GCUT_STEADY, 100 * worst->worst, worst->probe));
    if (fabs(s->drift) > GCUT_MOST_DRIFT)
        add_cause(&t, gcut_printf(a, "times %s by %.0f %% from the earlier rounds to the later ones",
                                  s->drift > 0 ? "rose" : "fell", 100 * fabs(s->drift)));
    if (s->away > GCUT_MOST_AWAY)
        add_cause(&t, gcut_printf(a,
                                  "for %.0f %% of its time the measuring thread had no processor, which it "
                                  "lost %lld times",
                                  100 * s->away, (long long)presence.preempted));
    return t.n ? t.at : NULL;
}

gcut_steadiness gcut_steadiness_of(const gcut_repeats *of, uint32_t n, gcut_presence presence,
                                   gcut_arena *arena)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    gcut_repeats *known = gcut_calloc(scratch, n + 1u, sizeof *known);
    gcut_machine_spread *out = gcut_calloc(arena, n + 1u, sizeof *out);
    double *spread = gcut_calloc(scratch, n + 1u, sizeof *spread),
           *drift = gcut_calloc(scratch, n + 1u, sizeof *drift);
    gcut_steadiness s = {.spread = out, .rounds = n ? of[0].n : 0};
    uint32_t m = 0, unsteady = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (of[i].n < s.rounds) s.rounds = of[i].n;
        if (of[i].n < GCUT_LEAST_REPEATS) continue;
        known[m] = of[i];
        spread[m] = spread_of(&of[i], scratch);
        unsteady += spread[m] > GCUT_STEADY;
        drift[m++] = drift_of(&of[i], scratch);
    }
    for (uint32_t i = 0, next; i < m; i = next) {
        for (next = i + 1; next < m && !strcmp(known[next].class, known[i].class);) next++;
        out[s.nspread++] = class_of(&known[i], &spread[i], next - i, scratch);
    }
    s.unsteady = m ? (double)unsteady / m : 0;
    s.drift = m ? median(drift, m) : 0;
    s.away = presence.wall_ns > presence.cpu_ns ? 1 - presence.cpu_ns / presence.wall_ns : 0;
    s.busy = causes(&s, presence, arena);
    gcut_arena_free(scratch);
    return s;
}
