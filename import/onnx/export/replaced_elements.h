/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model with other elements of its initializers.
 */
#ifndef GCUT_IMPORT_ONNX_EXPORT_REPLACED_ELEMENTS_H
#define GCUT_IMPORT_ONNX_EXPORT_REPLACED_ELEMENTS_H

#include "import/onnx/model.h"

typedef struct gcut_onnx_replaced {
    uint64_t bytes;      /* of the model and its data */
    const char *outside; /* the file of data beside it; NULL: there is none */
} gcut_onnx_replaced;

/* Writes the model of f, which gcut_onnx_model has read, to `path`.  Each of x is an initializer of its graph by name, in the
 * shape and dtype that gcut_onnx_tensor gives it.  Elements stay in the field of the model that they are in; those in files
 * beside it, of all tensors, go to the file `path`.data, which is written first.  All other bytes are kept.  Elements are not
 * copied but where a list of the model has them as varints, or in another width than gradcut.  Each file is written as a
 * whole or not at all, and none that the model has its data in: throws GCUT_EIO.  Throws GCUT_EUNSUPPORTED where a model
 * would have more than 2^31 bytes, GCUT_ESYNTAX where a message states a field twice that it has once, GCUT_ETYPE for a
 * number that is none of an initializer's type. */
gcut_onnx_replaced gcut_onnx_replace_elements(gcut_onnx_file *f, gcut_arena *a, const gcut_tensors *x,
                                              const char *path);

#endif
