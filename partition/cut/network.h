/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The flow network whose minimum cut is the cheapest plan.  Knows neither graphs
 * nor GLPK: values are numbers, prices are doubles, forbidden is INFINITY.
 *
 *     source ──c──▶ in ──save──▶ out ──∞──▶ sink          one value, read in the backward graph
 *                    ▲
 *     operand.out ─∞─┘
 *
 *     source ──c──▶ work ──∞──▶ in ──save──▶ out          several results: the work is paid once
 *                    ▲
 *     operand.out ─∞─┘
 *
 *   in on the sink's side        the value is recomputed in the backward graph
 *   in -> out in the cut         the value is saved
 *   both on the source's side    the backward graph does not need it
 */
#ifndef GCUT_PARTITION_CUT_NETWORK_H
#define GCUT_PARTITION_CUT_NETWORK_H

#include "base/arena.h"

typedef enum gcut_arc_kind {
    GCUT_ARC_RECOMPUTE,
    GCUT_ARC_SAVE,
    GCUT_ARC_OPERAND,
    GCUT_ARC_READ
} gcut_arc_kind;

typedef struct gcut_arc {
    uint32_t from, to;
    double price; /* >= 0; INFINITY = must not be cut */
    double fixed; /* the price at lambda 0 */
    gcut_arc_kind kind;
    uint32_t value;     /* whose arc it is */
    int64_t bytes;      /* SAVE: ties go to fewer bytes */
    int32_t weight;     /* SAVE: then to fewer tensors; 0 for a value that is alive anyway */
    const char *reason; /* why the price is infinite or zero, NULL otherwise */
} gcut_arc;

#define GCUT_NET_SOURCE 0u
#define GCUT_NET_SINK 1u

typedef struct gcut_network {
    gcut_arena *arena;
    uint32_t nvertices;
    GCUT_VEC(gcut_arc) arcs;
    uint32_t nvalues;
    uint32_t *in, *out; /* by value: its vertices, 0 = not in the network */
} gcut_network;

gcut_network *gcut_network_new(gcut_arena *arena, uint32_t nvalues);
/* Room for that number of arcs in an empty network. */
void gcut_network_make_room(gcut_network *n, uint32_t narcs);
/* Gives value v its two vertices and its save arc.  weight: 1, or 0 for a value that is alive anyway. */
void gcut_network_value(gcut_network *n, uint32_t v, double save, int64_t bytes, int32_t weight,
                        const char *reason);
/* The node that computes res[0..nres) from args[0..nargs): both must have their vertices already. */
void gcut_network_work(gcut_network *n, double recompute, const char *reason, const uint32_t *args,
                       uint32_t nargs, const uint32_t *res, uint32_t nres);
/* Every price at another lambda: fixed + lambda * bytes. */
void gcut_network_at(gcut_network *n, double lambda);
/* The backward graph reads v. */
void gcut_network_read(gcut_network *n, uint32_t v, const char *reason);

/* The sums over the arcs that leave the source's side of a cut. */
typedef struct gcut_cut_sums {
    double price, fixed; /* INFINITY where one of them must not be cut */
    int64_t bytes;
} gcut_cut_sums;
gcut_cut_sums gcut_network_cut(const gcut_network *n, const bool *source_side);

/* ---- arcs by their tails, of any graph ---- */

typedef struct gcut_ends {
    uint32_t tail, head;
} gcut_ends;

typedef struct gcut_arcs_by_tail {
    const uint32_t *first; /* by vertex, and one more: its arcs are head[first[v]] .. head[first[v + 1]] */
    const uint32_t *head;
} gcut_arcs_by_tail;
/* The arcs of a vertex keep their order.  Memory from `arena`. */
gcut_arcs_by_tail gcut_sort_by_tail(gcut_arena *arena, uint32_t nvertices, const gcut_ends *arc,
                                    uint32_t narcs);

#endif
