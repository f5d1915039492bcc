/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How far repeated measurements disagree, and whether the machine was quiet meanwhile: functions of the samples
 * alone.
 *
 * The spread of a measurement is the interquartile range of its rounds over their median, so that one
 * disturbed round of six does not show.  The machine was busy if any of these holds:
 *
 *   - fewer than GCUT_LEAST_REPEATS rounds were measured, of which no spread is known;
 *   - more than GCUT_MOST_UNSTEADY of the measurements have a spread above GCUT_STEADY;
 *   - the median measurement of the later half of the rounds differs from that of the earlier half by more than
 *     GCUT_MOST_DRIFT;
 *   - the measuring thread had no processor for more than GCUT_MOST_AWAY of its time.
 */
#ifndef GCUT_DRIVER_MEASURE_SPREAD_H
#define GCUT_DRIVER_MEASURE_SPREAD_H

#include "machine/machine.h"

enum { GCUT_LEAST_REPEATS = 3 };
#define GCUT_STEADY 0.10
#define GCUT_MOST_UNSTEADY 0.20
#define GCUT_MOST_DRIFT 0.08
#define GCUT_MOST_AWAY 0.05

/* The times of one measurement by round, in the order of the rounds. */
typedef struct gcut_repeats {
    const char *class; /* measurements of one class stand side by side */
    const char *name;
    const double *ns;
    uint32_t n;
} gcut_repeats;

/* Of the measuring thread, while it measured without helpers. */
typedef struct gcut_presence {
    double wall_ns, cpu_ns;
    int64_t preempted; /* how often another thread took its processor */
} gcut_presence;

typedef struct gcut_steadiness {
    const gcut_machine_spread *spread; /* by class, in their order; of those with enough rounds */
    uint32_t nspread;
    uint32_t rounds;  /* of the measurement with the fewest */
    double unsteady;  /* the share of the measurements with a spread above GCUT_STEADY */
    double drift;     /* later over earlier half of the rounds, less 1: the median over the measurements */
    double away;      /* the share of its time for which the measuring thread had no processor */
    const char *busy; /* why the machine was busy, without a full stop; NULL: it was quiet */
} gcut_steadiness;

/* The threads of a round are together if the round trip of a cache line between them takes at most this many times the least
 * of any round, else apart.  On an EPYC (Zen 5) it takes 70 to 130 ns between two cores with a common L3 and 330 to 430
 * between two without. */
#define GCUT_APART 2.0

/* The least time of the rounds whose threads are together; of all n > 0 rounds if there is no such round.
 *   ns, line: by round, its time and the time of a round trip;  nearest: the least of any round */
double gcut_least_together(const double *ns, const double *line, uint32_t n, double nearest);

/* Memory from `arena`. */
gcut_steadiness gcut_steadiness_of(const gcut_repeats *of, uint32_t n, gcut_presence presence,
                                   gcut_arena *arena);

#endif
