/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models of ONNX (https://github.com/onnx/onnx, docs/IR.md), as messages of protobuf-c, which unpacks them by the
 * published schema onnx.proto, and their tensors.
 */
#ifndef GCUT_IMPORT_ONNX_MODEL_H
#define GCUT_IMPORT_ONNX_MODEL_H

#include <onnx.pb-c.h>

#include "base/file.h"
#include "import/tensor.h"

/* A file beside the model that has elements of its tensors. */
typedef struct gcut_onnx_data {
    const char *location;
    gcut_file_bytes file;
} gcut_onnx_data;

typedef struct gcut_onnx_file {
    gcut_arena *arena;
    const char *name;     /* for diagnostics */
    const char *folder;   /* of external data, with its '/'; NULL: the bytes came from memory */
    gcut_file_bytes file; /* not mapped: memory of the caller */
    GCUT_VEC(gcut_onnx_data) data;
    uint64_t converted; /* elements */
} gcut_onnx_file;

/* Both unpack the message of that type and keep it in the arena; the caller's bytes must outlive it.  The raw elements of
 * tensors are not copied: gcut_onnx_tensor finds them in the file.  Before anything is unpacked, a walk over the bytes
 * refuses what is malformed, nested deeper than GCUT_ONNX_NESTING, or would take more than GCUT_ONNX_GROWTH bytes of
 * memory for each byte of the file (GCUT_ESYNTAX). */
#define GCUT_ONNX_NESTING 64
#define GCUT_ONNX_GROWTH 100
#define GCUT_ONNX_MOST_FILES 4096 /* of external data */
/* Tensors may share bytes of a file: most are read where they are.  Those that are converted take memory each time; more
 * elements than this for each byte of the model and its files are refused. */
#define GCUT_ONNX_CONVERSIONS 16
const Onnx__ModelProto *gcut_onnx_model(gcut_onnx_file *f);
const Onnx__TensorProto *gcut_onnx_tensor_message(gcut_onnx_file *f);

/* A mapped file; throws GCUT_EIO. */
gcut_onnx_file *gcut_onnx_open(gcut_arena *arena, const char *path);
gcut_onnx_file *gcut_onnx_of_bytes(gcut_arena *arena, const char *name, const void *bytes, size_t size);

/* The elements as a tensor; what the file has in another width than the dtype of gradcut is converted: u16, u32 and u64
 * are i64.  The dtype is GCUT_NO_DTYPE, with its name, for strings, complex and quantised numbers.  Throws GCUT_EIO
 * where elements lie outside of a file or are not as many as the shape says, and where external data lie outside of the
 * model's folder. */
gcut_tensor gcut_onnx_tensor(gcut_onnx_file *f, const Onnx__TensorProto *t);
/* The dtype of a number of TensorProto.DataType, in which gcut_onnx_tensor gives it; GCUT_NO_DTYPE: none.  The name of
 * that number. */
gcut_dtype gcut_onnx_dtype(int32_t data_type);
const char *gcut_onnx_dtype_name(int32_t data_type);

#endif
