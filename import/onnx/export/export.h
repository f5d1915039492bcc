/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Export of a function as an ONNX model: inputs of the function are inputs of the model, parameters and states are
 * initializers, `out` results are outputs, and each op is what its row in ops.def says.
 */
#ifndef GCUT_IMPORT_ONNX_EXPORT_EXPORT_H
#define GCUT_IMPORT_ONNX_EXPORT_EXPORT_H

#include "base/file.h"
#include "import/tensor.h"

/* Is the op replaced by its decomposition?  The `want` of gcut_pass_expand. */
bool gcut_onnx_expands(gcut_op op);

#define GCUT_ONNX_LARGEST INT32_MAX /* bytes of a message of Protocol Buffers */

typedef struct gcut_onnx_export {
    size_t nodes; /* of the model, its subgraphs included */
    size_t inputs, outputs, initializers;
    int64_t elements; /* of the params */
    size_t draws;     /* inputs that are random numbers in the function */
    int64_t opset;
    uint64_t bytes;      /* of the model and its data */
    const char *outside; /* the file of data beside it; NULL: there is none */
} gcut_onnx_export;

/* The contents of a parameter of g, by its name.  Throws GCUT_ETYPE where there are none. */
const gcut_tensor *gcut_onnx_contents_of(const gcut_graph *g, const gcut_tensors *contents, gcut_ref v);

/* Writes g, a function without calls and without ops that gcut_onnx_expands, to `path`.  `contents` has its parameters and
 * states by name; their elements are not copied.  A model of more than `largest` bytes has them in the file `path`.data, which
 * is written first.  Each file is written as a whole or not at all.  Throws GCUT_EUNSUPPORTED for ops and draws that ONNX does
 * not have, GCUT_ETYPE where contents are missing. */
gcut_onnx_export gcut_onnx_export_model(const gcut_graph *g, gcut_arena *a, const gcut_tensors *contents,
                                        const char *path, uint64_t largest);

#endif
