/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The core of reverse mode: the backward sweep over one graph, which appends to
 * that graph.  gcut_backward (autodiff.h) is it for whoever wants only the
 * cotangents; gcut_joint also reads whose rule made which node.
 */
#ifndef GCUT_AUTODIFF_REVERSE_H
#define GCUT_AUTODIFF_REVERSE_H

#include "graph/build.h"

typedef struct gcut_reverse {
    gcut_graph *g;
    gcut_arena *tmp;
    uint32_t nvalues;         /* length of the two tables; later values have neither entry */
    bool *wanted;             /* by value: depends differentiably on what the sweep is for */
    gcut_ref *cotangent;      /* by value: the sum of what arrived so far, 0 = nothing */
    uint32_t nnodes;          /* nodes before the sweep: later ones are its own */
    GCUT_VEC(gcut_ref) owner; /* by node of its own: the first result of the node whose rule made it */
} gcut_reverse;

/* Wants the values x and all that depends on them differentiably.  Zeros among x are no values. */
gcut_reverse gcut_reverse_new(gcut_graph *g, gcut_arena *tmp, const gcut_ref *x, uint32_t nx);
/* dy is (part of) y's cotangent. */
void gcut_reverse_seed(gcut_reverse *s, gcut_ref y, gcut_ref dy);
/* Visits the nodes that were there before the sweep, last first.  Afterwards `cotangent` is complete. */
void gcut_reverse_run(gcut_reverse *s);

/* By value of g: depends differentiably on one of x, of which some may be 0. */
bool *gcut_wanted(const gcut_graph *g, gcut_arena *a, const gcut_ref *x, uint32_t nx);
/* A derived node's place: grad(loc). */
gcut_locid gcut_grad_loc(gcut_module *m, gcut_locid loc);
/* Is this op differentiated through its decomposition? */
bool gcut_vjp_by_meaning(gcut_op op);

#endif
