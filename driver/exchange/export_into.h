/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Export of the contents of a function's parameters into the ONNX model that it was imported from.
 */
#ifndef GCUT_DRIVER_EXCHANGE_EXPORT_INTO_H
#define GCUT_DRIVER_EXCHANGE_EXPORT_INTO_H

#include "gradcut/train.h"
#include "graph/graph.h"
#include "import/tensor.h"

/* Writes the model of how->into to `path`.  `contents`: of params and states of g, by name; initializers for which it has
 * none stay as they are, but a param must have some, unless how->partial.  Throws what gcut_export_onnx says of `into`. */
gcut_export_info gcut_export_into(gcut_arena *a, const gcut_graph *g, const gcut_tensors *contents,
                                  const gcut_export_options *how, const char *path);

#endif
