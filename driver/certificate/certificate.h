/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Certificates: what a plan claims, with what proves it, in the plan's file.
 *
 *   plan, lowered ─gcut_certificate_of─▶ gcut_certificate ─_write─▶ JSON ─_read─▶ gcut_certificate ─_check─▶ a fault
 *
 * tests/certify/certify.py checks the same file and shares no code with this folder (doc/plans.md,
 * "Certificates").
 */
#ifndef GCUT_DRIVER_CERTIFICATE_CERTIFICATE_H
#define GCUT_DRIVER_CERTIFICATE_CERTIFICATE_H

#include "base/json.h"
#include "base/json_read.h"
#include "driver/pipeline/pipeline.h"

typedef enum gcut_claimed_arc_kind {
    GCUT_CLAIMED_RECOMPUTE, /* source -> the work of `value`'s node */
    GCUT_CLAIMED_SAVE,      /* in -> out of `value` */
    GCUT_CLAIMED_OPERAND, /* out of an operand -> the work that makes `value`, or that work -> in of `value` */
    GCUT_CLAIMED_READ     /* out of `value` -> sink */
} gcut_claimed_arc_kind;

/* An arc of the network at the bound's lambda: its capacity is ns + lambda * bytes. */
typedef struct gcut_claimed_arc {
    gcut_claimed_arc_kind kind;
    uint32_t from, to; /* vertices: 0 the source, 1 the sink */
    const char *value;
    double ns; /* INFINITY: it must not be cut */
    int64_t bytes;
    double capacity, flow;
} gcut_claimed_arc;

/* A value that crosses from the forward to the backward graph. */
typedef struct gcut_claimed_saved {
    const char *value, *format;
    int64_t bytes;
    bool forced;
    int64_t
        buffer; /* index of the buffer that has it; -1: it is in the memory of a gradient, or has no bytes */
} gcut_claimed_saved;

/* The price of a forced save, which every plan pays. */
typedef struct gcut_claimed_forced {
    const char *value;
    double ns; /* at lambda 0 */
    int64_t bytes;
} gcut_claimed_forced;

/* In the arena or in the block of saved values; kernels k<first> to k<last> use it. */
typedef struct gcut_claimed_buffer {
    const char *name;
    bool block, saved;
    int64_t bytes, offset, first, last;
} gcut_claimed_buffer;

typedef struct gcut_claimed_kernel {
    int64_t launch;
    const char *makes;
    bool backward;
    double runs, ns;     /* all runs of a training step together */
    const int64_t *uses; /* indices of buffers */
    uint32_t nuses;
} gcut_claimed_kernel;

typedef struct gcut_certificate {
    const char *graph_hash; /* of the plan's graph */
    const char *graph;      /* its text, where plans of loops have changed the joint graph; else NULL */
    const char *machine, *machine_hash; /* of the plan file */
    int64_t threads;
    /* nodes by their first results, in running order */
    GCUT_VEC(const char *) forward;
    GCUT_VEC(const char *) backward;
    GCUT_VEC(gcut_claimed_saved) saved;
    /* The cost of any plan is at least proved_ns: the value of the flow, what forced saves cost, less lambda *
     * limit for a limit on the bytes that cross (-1: there is none, and costs include lambda * bytes). */
    double lambda, proved_ns; /* proved_ns NAN: no bound is claimed */
    int64_t limit;
    GCUT_VEC(gcut_claimed_forced) forced;
    GCUT_VEC(gcut_claimed_arc) arcs;
    GCUT_VEC(gcut_claimed_buffer) buffers;
    GCUT_VEC(gcut_claimed_kernel) kernels;
    /* of the plan file around it; -1: null there */
    int64_t budget, saved_budget, saved_bytes, peak_bytes, block_bytes;
    double price, prices_ns, cost_ns, step_ns; /* prices_ns: the sum of those of `values` */
    double bound_ns, gap_ns;                   /* NAN: none */
    const gcut_size *at;
    uint32_t nat;
} gcut_certificate;

/* Of a plan that was lowered.  Refers to the plan. */
gcut_certificate *gcut_certificate_of(const gcut_plan *plan, gcut_arena *arena);
/* The value of the member "certificate". */
void gcut_certificate_write(const gcut_certificate *c, gcut_json *j);
/* Of a plan file with a certificate.  Throws GCUT_ESYNTAX. */
gcut_certificate *gcut_certificate_read(gcut_arena *arena, const gcut_jnode *plan);

/* What a check found. */
typedef struct gcut_certified {
    const char *fault;  /* a sentence that names the place; NULL = none */
    const char *member; /* of the file, that the fault is in */
    gcut_text said;     /* a line for each claim that holds */
    int64_t resident_bytes;
} gcut_certified;

/* Checks every claim against the graph that the plan is about.  Memory from `arena`. */
gcut_certified gcut_certificate_check(const gcut_certificate *c, gcut_graph *g, gcut_arena *arena);

#endif
