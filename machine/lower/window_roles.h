/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolutions and pools: which operand is the image, the weight and what the window makes of them.
 */
#ifndef GCUT_MACHINE_LOWER_WINDOW_ROLES_H
#define GCUT_MACHINE_LOWER_WINDOW_ROLES_H

#include "graph/graph.h"

/* The types of x, w and y of kernels/rt/conv/conv.c, whichever operand or result each is; a pool has no w. */
typedef struct gcut_window_roles {
    const char *function; /* gcut_rt_<function>_<dtype>, of `length` characters */
    int length;
    const gcut_type *x, *w, *y;
} gcut_window_roles;
/* Of a node whose column C of the op table is "function:letters", a letter for each operand and the result. */
gcut_window_roles gcut_window_roles_of(const gcut_graph *g, const gcut_node *n);

#endif
