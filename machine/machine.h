/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room machine/: the machine model, from which all times are predicted.  partition/ prices recomputation with
 * it, kernels/ the kernels of a program.
 *
 *   takes:  a model file that `gradcut calibrate` has written, or the shipped model; a thread count; sizes
 *   gives:  predicted times in ns of products, convolutions, attention, elementwise arithmetic and traffic;
 *           models as JSON and as a table
 *   keeps:  predictions depend on the model and the thread count alone, never on the machine that runs gradcut
 *
 * A model has one section for each thread count at which it was measured.
 */
#ifndef GCUT_MACHINE_MACHINE_H
#define GCUT_MACHINE_MACHINE_H

#include "graph/graph.h"

/* Products are measured on a grid over the smaller side of the result, the larger one, and the contracted
 * length (machine/machine.c has the sizes). */
enum { GCUT_GEMM_LO = 5, GCUT_GEMM_HI = 3, GCUT_GEMM_K = 5 };

enum { GCUT_L2, GCUT_L3, GCUT_DRAM, GCUT_NLEVELS }; /* where data is */

/* What decides how a convolution is computed, and how fast. */
typedef enum gcut_window {
    GCUT_WINDOW_point, /* 1x1 */
    GCUT_WINDOW_plain,
    GCUT_WINDOW_tiled,  /* 3x3, multiplied in tiles (Winograd's transforms) */
    GCUT_WINDOW_narrow, /* of x or of y a group has few channels */
    GCUT_WINDOW_single, /* x has one channel: more to write than to multiply */
    GCUT_WINDOW_strided,
    GCUT_WINDOW_patches,   /* side by side: each element of x is in one */
    GCUT_WINDOW_depthwise, /* one channel in a group */
    GCUT_NWINDOWS
} gcut_window;

/* Fewer channels are few; from here on transforms pay for the multiplications they save. */
#define GCUT_FEW_CHANNELS 24

/* One section: ns, bytes, of `threads` threads together.  All fields are doubles (machine.c mixes two
 * sections field by field). */
typedef struct gcut_machine {
    double threads;
    double kernel_ns;              /* one more kernel, handed to the threads of the step and awaited */
    double call_ns;                /* of a product or convolution, whatever its size, beside that */
    double level_bytes[GCUT_DRAM]; /* what L2 and L3 hold */
    double read_ns_per_byte[GCUT_NLEVELS], write_ns_per_byte[GCUT_NLEVELS];
    double gemm_ns_per_flop[GCUT_GEMM_LO][GCUT_GEMM_HI][GCUT_GEMM_K]; /* f32; multiply and add = 2 flops */
    double conv_ns_per_flop[3][GCUT_NWINDOWS];                        /* by GCUT_WAY_conv_y, conv_x, conv_w */
    double attention_ns_per_flop[2];                                  /* forward, backward */
    double f64_factor;          /* what contractions of f64 take of those */
    double op_ns[GCUT_NOPS][2]; /* one element of f32 (all of up to 4 bytes), of f64; 0 = not measured */
    double op_scale; /* else: the op table's cost_ps / 1000 times this; for f64 twice that of f32 */
} gcut_machine;

typedef struct gcut_machine_model {
    const char *made;    /* what was measured: the processor's name */
    int default_threads; /* where the user asks for no number of threads */
    uint32_t n;
    const gcut_machine *at; /* n > 0 sections, threads rising */
} gcut_machine_model;

/* machine/machine_shipped.c: of one machine with two cores; the same everywhere, so that plans are. */
const gcut_machine_model *gcut_machine_model_shipped(void);
/* Its default section. */
gcut_machine gcut_machine_shipped(void);

/* The section of that many threads; 0 = the model's default.  Between two sections every field is
 * interpolated, log-linearly; outside of them the outermost one serves. */
gcut_machine gcut_machine_at(const gcut_machine_model *model, int threads);

/* Every time below is 0 where there is nothing to do, positive, and no less for more of anything. */

/* [m, k] times [k, n], `batch` times. */
double gcut_machine_gemm_ns(const gcut_machine *machine, gcut_dtype t, double m, double n, double k,
                            double batch);
/* A convolution that is one of the three conv ways, or an attention one of the two. */
double gcut_machine_conv_ns(const gcut_machine *machine, gcut_way way, gcut_window window, gcut_dtype t,
                            double flops);
double gcut_machine_attention_ns(const gcut_machine *machine, gcut_way way, gcut_dtype t, double flops);
/* Which window a convolution's is; kernels of those that are tiled are told so. */
gcut_window gcut_conv_window(const gcut_graph *g, const gcut_node *n);

/* Bytes that one kernel reads and writes, found where a working set of that size lives: L2, L3 or memory,
 * with smooth transitions around their sizes. */
double gcut_machine_move_ns(const gcut_machine *machine, double read_bytes, double write_bytes,
                            double working_set);
/* What that adds to a kernel whose rate is one with everything in L2: reading what is not there, and what
 * writing takes longer than to L2.  0 for a working set of up to half of L2. */
double gcut_machine_bring_ns(const gcut_machine *machine, double read_bytes, double write_bytes,
                             double working_set);
/* Written once to memory and read back once. */
double gcut_machine_dram_trip_ns(const gcut_machine *machine, double bytes);
/* A kernel that declares so many flops and bytes: the longer of the flops, at the rate of additions of type
 * t, and of moving the bytes, half of them written. */
double gcut_machine_external_ns(const gcut_machine *machine, gcut_dtype t, double flops, double bytes);
/* Arithmetic alone, in a loop with other ops.  Elements are those of the result, of a reduction those of its
 * operand; t is the widest type among operands and results. */
double gcut_machine_op_ns(const gcut_machine *machine, gcut_op op, gcut_dtype t, double elements);

/* machine/machine_file.c: as JSON (doc/partition.md, "The machine model").  Reading throws GCUT_ESYNTAX with
 * the path of what is wrong in it, GCUT_EIO. */
void gcut_machine_json(const gcut_machine_model *model, gcut_text *out);
const gcut_machine_model *gcut_machine_parse(gcut_arena *arena, const char *name, const char *text, size_t n);
const gcut_machine_model *gcut_machine_read(gcut_arena *arena, const char *path);
/* For people: GB/s, GF/s, ns, a column for each section. */
void gcut_machine_table(const gcut_machine_model *model, gcut_text *out);
/* The sizes of the grid of products. */
extern const double gcut_gemm_lo[GCUT_GEMM_LO], gcut_gemm_hi[GCUT_GEMM_HI], gcut_gemm_k[GCUT_GEMM_K];
extern const char *const gcut_window_names[GCUT_NWINDOWS];

#endif
