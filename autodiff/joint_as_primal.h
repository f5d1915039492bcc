/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Joint graphs as primal ones, for higher derivatives.
 */
#ifndef GCUT_AUTODIFF_JOINT_AS_PRIMAL_H
#define GCUT_AUTODIFF_JOINT_AS_PRIMAL_H

#include "graph/graph.h"

bool gcut_has_grads(const gcut_graph *g);

/* in: JOINT. out: PRIMAL: `grad w` becomes `out dw`, and each cotangent the constant 1, its default value.
 * keeps: names, locations, the order of results. */
gcut_graph *gcut_joint_as_primal(gcut_graph *g, const char *name);

#endif
