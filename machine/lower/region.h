/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The bodies of if, while and scan.
 */
#ifndef GCUT_MACHINE_LOWER_REGION_H
#define GCUT_MACHINE_LOWER_REGION_H

#include "machine/lower/lowered.h"

/* Operands and results of a region node by what they are to its bodies. */
typedef struct gcut_region_shape {
    uint32_t test;    /* leading operands that no body sees: the predicate of an `if` */
    uint32_t carries; /* operands, and as many leading results, that an iteration updates */
    uint32_t xs;      /* operands of which an iteration sees one part */
} gcut_region_shape;
gcut_region_shape gcut_region_shape_of(const gcut_graph *g, const gcut_node *n);
/* L1, grouping: the stacked results of a scan are stored with their axis outermost. */
void gcut_region_views(gcut_lowered *h, const gcut_node *n);
/* L5, placing, in the graph around: results get their memory and the initial values of carries go there. */
void gcut_region_carries(gcut_program *p, gcut_lowered *h);
/* In a body, grouping: views and buffers of its parameters; placing: its results. */
void gcut_region_params(gcut_program *p, gcut_lowered *body);
void gcut_region_results(gcut_program *p, gcut_lowered *body);

#endif
