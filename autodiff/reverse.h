/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reverse mode over one graph, which appends to that graph. gcut_reverse_mode (autodiff.h) returns the
 * cotangents only; gcut_joint also reads which node's rule built which node.
 */
#ifndef GCUT_AUTODIFF_REVERSE_H
#define GCUT_AUTODIFF_REVERSE_H

#include "graph/build.h"

typedef struct gcut_reverse {
    gcut_graph *g;
    gcut_arena *tmp;
    uint32_t nvalues;         /* length of the two tables; later values have neither entry */
    bool *wanted;             /* by value: depends differentiably on a value that is differentiated by */
    gcut_ref *cotangent;      /* by value: the sum of the terms so far, 0 = none */
    uint32_t nnodes;          /* nodes before the reverse pass, which adds the later ones */
    GCUT_VEC(gcut_ref) owner; /* by added node: the first result of the node whose rule built it */
} gcut_reverse;

/* Starts a reverse pass for the cotangents of the values x; zeros among x are ignored. */
gcut_reverse gcut_reverse_new(gcut_graph *g, gcut_arena *tmp, const gcut_ref *x, uint32_t nx);
/* Adds dy to y's cotangent. */
void gcut_reverse_seed(gcut_reverse *s, gcut_ref y, gcut_ref dy);
/* Visits the nodes from before the reverse pass, last first.  Afterwards `cotangent` is complete. */
void gcut_reverse_run(gcut_reverse *s);

/* By value of g: depends differentiably on one of x, of which some may be 0. */
bool *gcut_wanted(const gcut_graph *g, gcut_arena *a, const gcut_ref *x, uint32_t nx);
/* The location of a derived node: grad(loc). */
gcut_locid gcut_grad_loc(gcut_module *m, gcut_locid loc);
/* Is this op differentiated through its decomposition? */
bool gcut_vjp_by_meaning(gcut_op op);

#endif
