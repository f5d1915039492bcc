/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Many small measurements in one compiled step.
 *
 * A probe is a piece of graph with size symbols of its own.  All probes are compiled together; a probe is on
 * when its symbols are not 0.  Its time is that of the step less that of the step with all probes off.
 */
#ifndef GCUT_DRIVER_MEASURE_RIG_H
#define GCUT_DRIVER_MEASURE_RIG_H

#include "driver/load/step.h"

/* In every text $ stands for the probe's number, @ for the dtype.  Symbols are N$, M$, K$, B$. */
typedef struct gcut_probe {
    gcut_op op;         /* what is measured */
    const char *params; /* "input %x$: @[N$, 256]" */
    const char *body;   /* lines that define %y$; a contraction with several results names the first %w$ */
    const char *type;   /* of %y$ */
    int64_t on;         /* N$ when it is on; 0 = the caller chooses */
    double elements;    /* priced per op, for each N$; 0 = a contraction, which counts flops */
} gcut_probe;

typedef GCUT_VEC(gcut_probe) gcut_probes;

#define GCUT_PROBE_SYMBOLS 4 /* N, M, K, B */

typedef struct gcut_rig {
    gcut_env *env;
    gcut_dtype dtype;
    const gcut_probe *probe;
    uint32_t n;
    gcut_step *step;
    gcut_size *size;   /* GCUT_PROBE_SYMBOLS for each probe; symbols that a probe lacks have no name */
    void *pool;        /* memory of every float input: numbers from 0.5 to 1.5 */
    void *results;     /* memory of float results with symbolic sizes */
    size_t pool_bytes; /* of each of the two */
} gcut_rig;

/* Compiles the probes, all off.  No input and no result may have more than pool_bytes. */
gcut_rig *gcut_rig_new(gcut_env *env, gcut_arena *arena, const gcut_probes *probes, gcut_dtype t,
                       size_t pool_bytes);
/* Sets the sizes of probe i, and those of all others to 0; i = GCUT_NONE: all off. */
void gcut_rig_only(gcut_rig *rig, uint32_t i, const int64_t size[GCUT_PROBE_SYMBOLS], int threads);
/* Turns on, with N = n, the probes of ops whose cost in the op table is below `ps` for an element; all others are off. */
void gcut_rig_cheap(gcut_rig *rig, double ps, int64_t n, int threads);
/* The ns of a run, after 2 to 8 runs that warm the caches up: the least mean of a stretch of runs that take a
 * millisecond together.  Stretches go on until the budget is spent; one of less than a millisecond is one stretch. */
double gcut_rig_run(gcut_rig *rig, double budget_ns);
/* The work of probe i at its present sizes: flops of a contraction, elements of any other op. */
double gcut_rig_work(const gcut_rig *rig, uint32_t i);

/* Bytes of the inputs and results of the probe that is on. */
void gcut_rig_bytes(const gcut_rig *rig, double *in, double *out);

#endif
