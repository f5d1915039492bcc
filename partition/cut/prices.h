/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The price of saving and of recomputing each value, in ns by the machine model.
 */
#ifndef GCUT_PARTITION_CUT_PRICES_H
#define GCUT_PARTITION_CUT_PRICES_H

#include "machine/term.h"
#include "partition/cut/sides.h"

typedef struct gcut_price {
    int64_t bytes;       /* elements times element size, of a view too */
    double recompute_ns; /* c_v, of the whole node for each of its results; INFINITY for parameters */
    double trip_ns;      /* t_v: the round trip to memory, in format PLAIN */
    double convert_ns;   /* to the other storage format of its type and back; 0 where opt allows none */
    const char *why;     /* why recompute_ns is infinite or zero, NULL otherwise */
} gcut_price;

/* The most bytes that all values of a graph may have together: sums over values, with repetitions, stay far
 * below 2^63. */
#define GCUT_MOST_BYTES 0x1p56

/* One price per value id of the graph, BACKWARD values too, at the sizes, the machine and the packings of
 * opt.  Memory from `arena`.
 * Throws GCUT_EDIM when a size cannot be evaluated at the binding, or there are more than GCUT_MOST_BYTES. */
gcut_price *gcut_prices(gcut_arena *arena, const gcut_facts *f, const gcut_plan_options *opt);

/* recompute_ns of a value that has neither a reason for 0 nor none to compute it, and its terms; else 0. */
double gcut_price_terms(const gcut_facts *f, const gcut_plan_options *opt, gcut_ref v, gcut_terms *out);

#endif
