/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room machine/: the program of a training step on a machine: which nodes share a kernel, what is stored, what is
 * alive when, and how long it takes.  partition/ prices recomputation with its rates, driver/ compares plans by the programs that it
 * makes of them, kernels/ writes programs as C.
 *
 *   takes:  a model file that `gradcut calibrate` has written, or the shipped model; both graphs of a split
 *           without composites that have no kernel; sizes, a thread count
 *   gives:  predicted times in ns of products, convolutions, attention, elementwise arithmetic and traffic;
 *           of the arithmetic of a node, for prices and for kernels (node_work.h); what decisions about
 *           kernels compare; models as JSON and as a table (this file); programs: kernels, their order, buffers
 *           and arena offsets, predicted times, views and groups (program.h)
 *   keeps:  the graphs; predictions and decisions depend on the model, the sizes and the thread count alone,
 *           never on the machine that runs gradcut
 *
 * A model has one section for each thread count at which it was measured.
 */
#ifndef GCUT_MACHINE_MACHINE_H
#define GCUT_MACHINE_MACHINE_H

#include "graph/ops/node_facts.h"

/* Products are measured on a grid over the smaller side of the result, the larger one, and the contracted
 * length (machine/machine.c has the sizes). */
enum { GCUT_GEMM_LO = 6, GCUT_GEMM_HI = 3, GCUT_GEMM_K = 5 };

enum { GCUT_L2, GCUT_L3, GCUT_DRAM, GCUT_NLEVELS }; /* where data is */

/* What decisions about kernels compare the time of one element with (machine/thresholds.def). */
typedef enum gcut_threshold {
#define THRESHOLD(id, ps, follows, what) GCUT_THRESHOLD_##id,
#include "machine/thresholds.def"
#undef THRESHOLD
    GCUT_NTHRESHOLDS
} gcut_threshold;

/* One section: ns and bytes, for all `threads` threads together.  All fields are doubles (machine.c
 * interpolates between two sections field by field). */
typedef struct gcut_machine {
    double threads;
    double kernel_ns; /* start and end of one kernel on all threads */
    double call_ns;   /* in addition, of a product or convolution of any size */
    double line_ns;   /* a cache line from one thread to another and back; 0 = one thread, or not measured */
    double level_bytes[GCUT_DRAM]; /* capacities of L2 and L3 */
    double past_bytes;             /* of the least result that is written past the caches; 0 = L3's */
    double read_ns_per_byte[GCUT_NLEVELS], write_ns_per_byte[GCUT_NLEVELS];
    double gemm_ns_per_flop[GCUT_GEMM_LO][GCUT_GEMM_HI][GCUT_GEMM_K]; /* f32; multiply and add = 2 flops */
    double conv_ns_per_flop[3][GCUT_NWINDOWS];                        /* by GCUT_WAY_conv_y, conv_x, conv_w */
    double attention_ns_per_flop[2];                                  /* forward, backward */
    double f64_factor;          /* time of contractions in f64 over those in f32 */
    double op_ns[GCUT_NOPS][2]; /* one element of f32 (all of up to 4 bytes), of f64; 0 = not measured */
    double op_scale; /* for ops not in op_ns: ns = op table's cost_ps / 1000 times this; in f64 twice that
                      * of f32 */
    double row_ns;   /* finding one row that is copied or added up, the unit of the ends of rows of loops too
                      * (kernel_sizes.h); 0 = GCUT_ROW_NS times op_scale */
    double threshold_ps[GCUT_NTHRESHOLDS]; /* 0 = it follows the rates (machine/thresholds.def) */
} gcut_machine;

/* The shapes of the convolutions whose rates calibrate measures, by class of windows.  Images are square; their number is a
 * multiple of 4, so that four threads compute equal numbers of images.  The padding is 0 where stride and kernel are equal,
 * else (kernel - 1) / 2, so that y has size / stride rows. */
typedef struct gcut_measured_conv {
    int images, channels, size, out, kernel, stride, groups;
} gcut_measured_conv;
extern const gcut_measured_conv gcut_measured_convs[GCUT_NWINDOWS];

/* Results in a row of the 2 * 2 pools whose rates calibrate measures (driver/measure/probes.c). */
#define GCUT_MEASURED_POOL 14

/* Finding a row, on the machine of the op table. */
#define GCUT_ROW_NS 20

/* How far the rounds of one class of measurements disagreed: interquartile ranges over medians. */
typedef struct gcut_machine_spread {
    const char *class;     /* "products" */
    double typical, worst; /* the median of the class, and the largest */
    const char *probe;     /* the measurement that has the largest */
} gcut_machine_spread;

typedef struct gcut_machine_model {
    const char *made;    /* what was measured: the processor's name */
    int default_threads; /* when the user states no number of threads */
    uint32_t n;
    const gcut_machine *at;            /* n > 0 sections, threads rising */
    const char *note;                  /* what to know of it, such as why it may be wrong; NULL */
    const gcut_machine_spread *spread; /* by class; none where it is not known */
    uint32_t nspread;
} gcut_machine_model;

/* machine/machine_shipped.c: measured on one machine with two cores.  It is used everywhere, so that plans
 * do not depend on the machine. */
const gcut_machine_model *gcut_machine_model_shipped(void);

/* The section for that many threads; 0 = the model's default.  Between two sections every field is
 * interpolated log-linearly; outside of them the nearest one is used. */
gcut_machine gcut_machine_at(const gcut_machine_model *model, int threads);

/* ---- rates ---- */

/* What one unit takes, and the keys of the model's file that say so. */
typedef struct gcut_rate {
    double ns, factor;     /* of one unit: ns * factor */
    const char *key, *sub; /* "conv_y", "tiled"; sub may be NULL */
    double at[3]; /* of a product: its sides lo <= hi, and k, between which points it is interpolated */
    bool grid;    /* there is `at` */
} gcut_rate;
double gcut_rate_ns(const gcut_rate *rate, double units);
/* "gemm.ns_per_flop at lo=64 hi=1024 k=256", "ops.exp". */
const char *gcut_rate_text(const gcut_rate *rate, gcut_arena *arena);

gcut_rate gcut_machine_gemm_rate(const gcut_machine *machine, gcut_dtype t, double m, double n, double k);
/* A convolution (way: one of the three conv ways) or attention (one of the two). */
gcut_rate gcut_machine_conv_rate(const gcut_machine *machine, gcut_way way, gcut_window window, gcut_dtype t);
gcut_rate gcut_machine_attention_rate(const gcut_machine *machine, gcut_way way, gcut_dtype t);
gcut_rate gcut_machine_op_rate(const gcut_machine *machine, gcut_op op, gcut_dtype t);
/* By the cost in the op table, whether or not the op was measured. */
gcut_rate gcut_machine_table_rate(const gcut_machine *machine, gcut_op op, gcut_dtype t);
gcut_rate gcut_machine_row_rate(const gcut_machine *machine);
/* Of starting and ending a kernel, and of a call of a product or convolution. */
gcut_rate gcut_machine_kernel_rate(const gcut_machine *machine);
gcut_rate gcut_machine_call_rate(const gcut_machine *machine);

/* From where bytes of that working set come: the shares of L2, L3 and memory, 1 together, and what a byte
 * takes. */
typedef struct gcut_reach {
    double share[GCUT_NLEVELS];
    double read_ns, write_ns;
    double rest_ns; /* write_ns without the fetch of the line, which takes read_ns; at least 0 */
} gcut_reach;
gcut_reach gcut_machine_reach(const gcut_machine *machine, double working_set);

/* ---- times ---- */

/* Every time below is positive, 0 when there is no work, and does not fall when the work grows. */

/* [m, k] times [k, n] in f32. */
double gcut_machine_gemm_ns(const gcut_machine *machine, double m, double n, double k);

/* Bytes that one kernel reads and writes, from the level that holds a working set of that size: L2, L3 or
 * memory, with smooth transitions around their sizes. */
double gcut_machine_move_ns(const gcut_machine *machine, double read_bytes, double write_bytes,
                            double working_set);
/* The part of that time that exceeds traffic with L2, for kernels whose rate was measured with all data in
 * L2. 0 for a working set of up to half of L2. */
double gcut_machine_bring_ns(const gcut_machine *machine, double read_bytes, double write_bytes,
                             double working_set);
/* Bytes of the least result that a step writes past the caches (kernels/rt/move/streaming_stores.c). */
double gcut_machine_past_bytes(const gcut_machine *machine);
/* The time to write bytes to memory once and to read them back once. */
double gcut_machine_dram_trip_ns(const gcut_machine *machine, double bytes);
/* Arithmetic alone, fused in a loop with other ops. elements: of the result, for a reduction of its
 * operand; t is the widest type among operands and results. */
double gcut_machine_op_ns(const gcut_machine *machine, gcut_op op, gcut_dtype t, double elements);

/* machine/thresholds.c: picoseconds of one core and one element of f32, which decisions about kernels compare:
 * thresholds, and what ops take.  With the shipped model those of thresholds.def and of the op table. */
typedef struct gcut_thresholds {
    int threads; /* when nobody says how many */
    int ps[GCUT_NTHRESHOLDS];
    int op_ps[GCUT_NOPS];
} gcut_thresholds;
gcut_thresholds gcut_machine_thresholds(const gcut_machine_model *model);
extern const char *const gcut_threshold_names[GCUT_NTHRESHOLDS];

/* machine/machine_file.c: as JSON (doc/machine.md).  Reading throws GCUT_ESYNTAX with
 * the path of what is wrong in it, GCUT_EIO. */
void gcut_machine_json(const gcut_machine_model *model, gcut_text *out);
const gcut_machine_model *gcut_machine_parse(gcut_arena *arena, const char *name, const char *text, size_t n);
const gcut_machine_model *gcut_machine_read(gcut_arena *arena, const char *path);
/* As a table: GB/s, GF/s, ns, a column for each section. */
void gcut_machine_table(const gcut_machine_model *model, gcut_text *out);
/* The sizes of the grid of products. */
extern const double gcut_gemm_lo[GCUT_GEMM_LO], gcut_gemm_hi[GCUT_GEMM_HI], gcut_gemm_k[GCUT_GEMM_K];
extern const char *const gcut_window_names[GCUT_NWINDOWS],
    *const gcut_conv_names[3], *const gcut_attention_names[2], *const gcut_level_names[GCUT_NLEVELS];

#endif
