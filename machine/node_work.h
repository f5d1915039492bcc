/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The arithmetic of one node on a machine, in whichever kernel it runs: the prices of recomputation and the
 * predicted times of kernels both ask here.
 */
#ifndef GCUT_MACHINE_NODE_WORK_H
#define GCUT_MACHINE_NODE_WORK_H

#include "machine/term.h"

/* A graph at some sizes, on a machine. */
typedef struct gcut_work_of {
    const gcut_graph *g;
    const gcut_machine *m;
    const gcut_dim_binding *at;
    uint32_t nat;
    gcut_terms *terms; /* gets the terms of each time; NULL: nobody asks */
} gcut_work_of;

/* Each returns ns.  Throws GCUT_EDIM where a size has no value at the binding. */

/* One row of the op table; elements: as for gcut_machine_op_ns. */
double gcut_work_op_ns(const gcut_work_of *w, const gcut_node *n, double elements);
/* A product, convolution or attention.  one_b: the batch axes of a product along which its second operand is the
 * same; the matrices of the last of these are rows of one product. */
double gcut_work_contraction_ns(const gcut_work_of *w, const gcut_node *n, uint32_t one_b);
/* An external kernel: the longer of its declared flops, at the rate of additions, and of moving its declared
 * bytes, half of them written.  Throws GCUT_EDIM where its cost has no value. */
double gcut_work_external_ns(const gcut_work_of *w, const gcut_node *n);

#endif
