/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Predicted time, shared by cost.c (the walk through the step, and what is in which cache), cost_kernel.c
 * (the arithmetic of one launch) and cost_traffic.c (its bytes).
 */
#ifndef GCUT_MACHINE_COST_COST_H
#define GCUT_MACHINE_COST_COST_H

#include "machine/lower/lowered.h"

/* Sizes and machine, and the launch that is looked at. */
typedef struct gcut_cost_at {
    const gcut_program *p;
    const gcut_dim_binding *at;
    uint32_t nat;
    int threads;
    gcut_machine m, alone; /* of that many threads, of one */
    gcut_terms *terms;     /* gets the terms of work; NULL: nobody asks */
} gcut_cost_at;

/* Elements; throws GCUT_EDIM when a symbol has no value. */
double gcut_cost_size(const gcut_cost_at *c, gcut_dim d);
double gcut_cost_numel(const gcut_cost_at *c, const gcut_type *t);

/* A buffer that a launch touches. */
typedef struct gcut_touch {
    uint32_t buffer;
    double read, written; /* bytes */
    bool past;            /* written past the caches: its lines are not read first */
    bool workspace;       /* of a kernel whose rate contains that traffic */
} gcut_touch;
typedef struct gcut_touches {
    gcut_touch *at;
    uint32_t n, cap;
    uint32_t *of; /* by buffer: which of them it is, if it is one at all; NULL until there is one */
} gcut_touches;

/* What kernel u reads and writes, each buffer once.  `hot` is a value that is in cache because its producer
 * runs in the same launch, tile by tile; 0 = none. */
void gcut_cost_touches(const gcut_cost_at *c, gcut_arena *a, const gcut_lowered *h, uint32_t kernel,
                       gcut_ref hot, gcut_touches *out);

/* The arithmetic of a kernel and what a launch takes by itself, without memory traffic. */
typedef struct gcut_work {
    double ns;            /* arithmetic */
    double fixed;         /* of the launch */
    bool alone;           /* on one thread */
    int threads;          /* that take part; where the run-time library decides, all or one */
    gcut_overlap overlap; /* of ns and traffic */
    double flops;         /* of a contraction */
} gcut_work;
gcut_work gcut_cost_work(const gcut_cost_at *c, const gcut_lowered *h, uint32_t kernel);
const char *gcut_cost_class(const gcut_lowered *h, uint32_t kernel);

#endif
