/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room import/: files of tensors: NumPy's .npy, versions 1 to 3 (numpy.lib.format), .npz and .safetensors; models
 * of ONNX.
 *
 *   takes:  files, little-endian, mapped or in memory; tensors to write; a function to write as a model
 *   gives:  tensors in C order, by name (tensor_file.h); .npy, .npz and .safetensors files; of a model its initializers and, in
 *           onnx/, a function (import.h); in onnx/export/, a model of a function (export.h), or with other elements
 *           (replaced_elements.h)
 *   keeps:  every bit of the elements; malformed files are refused, and dtypes that gradcut does not have where their
 *           elements are asked for
 */
#ifndef GCUT_IMPORT_TENSOR_H
#define GCUT_IMPORT_TENSOR_H

#include "interp/array.h"

/* Elements packed in the dtype's own width, row-major. */
typedef struct gcut_tensor {
    const char *name;    /* NULL: the file has none */
    gcut_dtype dtype;    /* GCUT_NO_DTYPE: `foreign` */
    const char *foreign; /* a dtype that gradcut does not have; NULL: it has it */
    uint32_t rank;
    int64_t dim[GCUT_MAX_RANK];
    int64_t n; /* product of dim */
    const void *
        data; /* n * gcut_dtype_bytes(dtype) bytes, at any address; NULL: not read yet (import/tensor_file.h) */
} gcut_tensor;

typedef GCUT_VEC(gcut_tensor) gcut_tensors;

#endif
