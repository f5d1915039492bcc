/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of gcut_calibrate share: many small measurements in one compiled step.
 *
 * A probe is a piece of graph with size symbols of its own.  All probes are compiled together; a probe is on
 * when its symbols are not 0.  Its time is that of the step less that of the step with all probes off.
 */
#ifndef GCUT_DRIVER_MEASURE_CALIBRATE_H
#define GCUT_DRIVER_MEASURE_CALIBRATE_H

#include "driver/load/step.h"
#include "driver/measure/spread.h"

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

/* driver/measure/calibrate_probes.c: each function adds probes to `out` and returns the index of the first.
 */
#define GCUT_PROBE_OPS 4 /* applications of the op in an elementwise probe */
/* One probe for each elementwise op of one or two floats; the first probe is the same loop without an op.  few: of
 * a few ops that stand for the others. */
uint32_t gcut_probes_pointwise(gcut_arena *arena, gcut_probes *out, bool few);
typedef enum gcut_probe_table {
    GCUT_PROBES_OTHERS,       /* reductions, moves, draws */
    GCUT_PROBES_CONTRACTIONS, /* convolutions, attention */
    GCUT_PROBES_PRODUCTS,     /* one: [B, M, K] times [B, K, N] */
    GCUT_PROBES_STREAMS       /* two: read 4096 N, read and write N */
} gcut_probe_table;
uint32_t gcut_probes_add(gcut_arena *arena, gcut_probes *out, gcut_probe_table table, bool few);

/* driver/measure/calibrate.c: fills the report m->object with a model of this machine from fewer measurements, in fewer
 * rounds: of products with their sides in one order, of a few ops, with one thread and with all.  The rest comes from
 * the shipped model (gcut_machine_complete).  Takes about two seconds; throws where probes do not compile. */
void gcut_calibrate_briefly(gcut_env *env, const gcut_made *m);

/* driver/measure/calibrate_fill.c: gives what was not measured, and is 0, the figure of `like`, times the geometric
 * mean of measured figures over those of `like` in its class.  The classes are: elementwise and similar ops with
 * op_scale; products; convolutions; attention.  f64_factor, of which there is one, is that of `like`. */
void gcut_machine_complete(gcut_machine *m, const gcut_machine *like);

/* driver/measure/calibrate_fill.c: raises the time of each product of the grid to at least that of its smaller neighbours. */
void gcut_machine_monotone_products(gcut_machine *m);
/* driver/measure/calibrate_fill.c: lowers the times of m to those of `fewer`, a section with fewer threads: a longer time means
 * that another program had a core. */
void gcut_machine_monotone_threads(gcut_machine *m, const gcut_machine *fewer);

/* driver/measure/calibrate_fill.c: the capacity of a cache.  bytes: n > 0 working sets of rising sizes, of which it holds
 * the first and not the last; ns: the time of a byte in each.  It is the size at which half of the difference between the
 * first and the last time is passed, where machine/machine.c prices that half; INFINITY where the last time is less than
 * 1.2 times the first. */
double gcut_cache_bytes(const double *bytes, const double *ns, uint32_t n);

/* driver/measure/machine_here.c: the key of this machine's model in the cache. */
const char *gcut_machine_here_key(gcut_arena *arena);

/* driver/measure/calibrate_host.c */
const char *gcut_host_name(gcut_arena *arena);  /* of the processor */
void gcut_host_caches(double bytes[GCUT_DRAM]); /* of one core's L2, and of L3 */
/* The time to hand a kernel to the threads of a step and to wait for them; 0 for one thread. */
double gcut_host_handing_ns(int threads);
/* The time that a cache line takes from the thread that leads a step to another thread and back: the longest to any of the
 * first 64 threads; 0 for one thread, INFINITY where one of them has no processor. */
double gcut_host_line_ns(int threads);
gcut_presence gcut_host_presence(void); /* of the calling thread since some time */
/* The time of one call of the smallest product of the grid. */
double gcut_host_call_ns(void);

#endif
