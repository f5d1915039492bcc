/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rules of the table ops.def, and what files of rules share.
 */
#ifndef GCUT_IMPORT_ONNX_RULES_H
#define GCUT_IMPORT_ONNX_RULES_H

#include "import/onnx/known.h"
#include "import/onnx/node.h"

#define ROW(name, rule, op, when) gcut_onnx_rule gcut_onnx_##rule;
#include "import/onnx/ops.def"
#undef ROW

/* rules/point.c */
gcut_ref gcut_onnx_convert(gcut_onnx_node *n, gcut_ref x, gcut_dtype to); /* whatever is not 0 is true */
gcut_dtype gcut_onnx_dtype_attr(const gcut_onnx_node *n, const char *name, int64_t otherwise);
/* rules/index.c: imports a slice whose start is computed and whose length is constant; false: it is another slice */
bool gcut_onnx_slice_at(gcut_onnx_node *n);
/* rules/shape.c: axes as a bit mask */
uint32_t gcut_onnx_axes_mask(const gcut_onnx_node *n, gcut_onnx_list axes, uint32_t rank);
/* values.c: a tensor of an attribute; a key of its own for a draw; a count of nodes that are in the mode for inference */
gcut_array gcut_onnx_load(gcut_onnx_node *n, const Onnx__TensorProto *t);
gcut_ref gcut_onnx_key(gcut_onnx_node *n);
void gcut_onnx_count_mode(gcut_onnx_node *n, bool trains);

#endif
