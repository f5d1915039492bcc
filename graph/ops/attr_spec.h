/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The attribute specs of the op table, parsed once per module.
 */
#ifndef GCUT_GRAPH_OPS_ATTR_SPEC_H
#define GCUT_GRAPH_OPS_ATTR_SPEC_H

#include "graph/graph.h"

/* One spec per op, in the module's arena; becomes module->specs. */
gcut_op_spec *gcut_op_specs(gcut_module *m);

#endif
