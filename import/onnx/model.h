/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models of ONNX (https://github.com/onnx/onnx, docs/IR.md), as messages of protobuf-c, which unpacks them by the
 * published schema onnx.proto, as fields, and their tensors.
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

/* The bytes of elements that are in a file beside the model: as many as its entries say, else `want`.  Throws GCUT_EIO. */
#define GCUT_ONNX_REST UINT64_MAX /* all up to the end of the file */
gcut_file_part gcut_onnx_external(gcut_onnx_file *f, const Onnx__TensorProto *t, uint64_t want);
/* Of a number of TensorProto.DataType: the bytes of an element where it is raw, and the field that lists elements which are
 * not; 0: gradcut does not have the type. */
int gcut_onnx_element_bytes(int32_t data_type);
unsigned gcut_onnx_list_field(int32_t data_type);

/* The version of the domain, "" being ONNX's own; 0: it is not there. */
int64_t gcut_onnx_opset(Onnx__OperatorSetIdProto *const *opset, size_t n, const char *domain);

/* ---- fields ---- */

/* Of TensorProto. */
enum {
    GCUT_ONNX_DATA_TYPE = 2,
    GCUT_ONNX_FLOAT_DATA = 4,
    GCUT_ONNX_INT32_DATA = 5,
    GCUT_ONNX_INT64_DATA = 7,
    GCUT_ONNX_TENSOR_NAME = 8,
    GCUT_ONNX_RAW_DATA = 9,
    GCUT_ONNX_DOUBLE_DATA = 10,
    GCUT_ONNX_UINT64_DATA = 11,
    GCUT_ONNX_EXTERNAL_DATA = 13,
    GCUT_ONNX_DATA_LOCATION = 14
};

/* How the bytes of a field end (https://protobuf.dev/programming-guides/encoding/). */
enum gcut_onnx_wire {
    GCUT_ONNX_VARINT = 0,
    GCUT_ONNX_FIXED64 = 1,
    GCUT_ONNX_BYTES = 2,
    GCUT_ONNX_FIXED32 = 5
};

typedef struct gcut_onnx_field {
    const ProtobufCFieldDescriptor *field; /* NULL: of a later version of the schema */
    enum gcut_onnx_wire wire;
    uint64_t value;          /* of a VARINT */
    const uint8_t *tag, *at; /* where the field begins, and its contents, n bytes */
    size_t n;
} gcut_onnx_field;

/* The field of a message at *p, which is moved after it, not beyond `end`; *p < end.  Throws GCUT_ESYNTAX. */
gcut_onnx_field gcut_onnx_next_field(const gcut_onnx_file *f, const ProtobufCMessageDescriptor *of,
                                     const uint8_t **p, const uint8_t *end);
void gcut_onnx_write_varint(gcut_text *out, uint64_t x);

#endif
