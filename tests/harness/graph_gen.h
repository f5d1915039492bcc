/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random well-typed graphs over the whole op table, with a scalar loss.
 *
 * An op is made by the function named after its shape rule, so a new op of a
 * known rule is generated at once and a new rule does not compile until it has
 * a generator.  The same seed gives the same graph.
 *
 * Values stay of moderate size (leaves in [-1, 1], whatever may grow is scaled
 * or squashed), and ops with steps in them read only values that f32 computes
 * exactly, because rounding may not decide a branch when precisions are
 * compared; of f16 and bf16 these are leaves and what only moves them.  Kinks (relu, max) are also put on
 * rounded values; `kinked` tells.
 */
#ifndef GCUT_TESTS_GRAPH_GEN_H
#define GCUT_TESTS_GRAPH_GEN_H

#include "graph/build.h"

#define GEN_OPS GCUT_OP_external /* all but the last, which calls functions that a program registers */
#define GEN_ITEMS 256
#define GEN_LEAVES 128

/* The two symbols, `N in 1..` and `M in 2.. mult 2`; shapes are kept small at the nominal sizes. */
#define GEN_NOMINAL_N 32
#define GEN_NOMINAL_M 6

/* What a leaf of integers or bools may hold: lo <= x < hi. */
typedef struct gen_bound {
    const char *name;
    int64_t lo;
    gcut_dim hi;
} gen_bound;

typedef struct gen_item {
    gcut_ref v;
    double mag; /* about the largest absolute value */
    bool exact; /* f32 holds exactly what f64 does */
    bool used;
} gen_item;

typedef struct graph_gen {
    gcut_build b;
    uint64_t seed;
    gcut_dim sym[2];
    gcut_dtype real; /* of the loss, and of most floats */
    gcut_dtype half; /* f16 or bf16: of most floats instead; else the same as real */
    gen_item item[GEN_ITEMS];
    uint32_t n;
    gen_bound bound[GEN_LEAVES];
    uint32_t nbounds, nleaves;
    bool kinked;
    bool empties; /* one graph in 13: leaves and constants may have axes of no elements */
} graph_gen;

/* A graph of `ops` random ops after one each of first[0..nfirst).  Appended to m.  Throws what building
 * throws. */
gcut_graph *graph_random(graph_gen *r, gcut_module *m, const char *name, uint64_t seed, uint32_t ops,
                         const gcut_op *first, uint32_t nfirst);

/* The bound of a leaf of integers or bools; NULL for floats. */
const gen_bound *graph_bound(const graph_gen *r, const char *name);

#endif
