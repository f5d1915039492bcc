/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The attribute specs of the op table, parsed once per module, and the functions that its rows name.
 */
#ifndef GCUT_GRAPH_OPS_OP_TABLE_H
#define GCUT_GRAPH_OPS_OP_TABLE_H

#include "graph/graph.h"

/* One spec per op, in the module's arena; becomes module->specs. */
gcut_op_spec *gcut_op_specs(gcut_module *m);

/* multiply_adds.c: the rules of the cost column. */
gcut_madds_fn gcut_madds_matmul, gcut_madds_attention, gcut_madds_conv2d, gcut_madds_conv2d_weight;

#endif
