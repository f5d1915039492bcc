/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tensors of a file by name, whatever its format: .safetensors, .npz, or .npy, whose only tensor has the name of the
 * file without ".npy".
 */
#ifndef GCUT_IMPORT_TENSOR_FILE_H
#define GCUT_IMPORT_TENSOR_FILE_H

#include "base/file.h"
#include "import/tensor.h"

typedef struct gcut_tensor_file {
    const char *name;     /* for diagnostics */
    gcut_file_bytes file; /* not mapped: memory of the caller */
    gcut_tensors tensor;  /* names are unique */
    struct gcut_npz *npz; /* whose tensors are read when they are asked for; NULL: of another format */
} gcut_tensor_file;

/* The format is that of the first bytes.  The file is mapped until the arena is freed, and its tensors point there.
 * Throws what gcut_npy_parse, gcut_npz_parse and gcut_safetensors_parse throw. */
gcut_tensor_file *gcut_tensor_file_open(gcut_arena *arena, const char *path);
/* The same of bytes in memory, which must outlive it. */
gcut_tensor_file *gcut_tensor_file_parse(gcut_arena *arena, const char *name, const void *bytes, size_t size);

/* The tensor of that name, or, where name is NULL, the only one.  Throws GCUT_EIO, with the nearest name, where there is
 * none, and where name is NULL and there is not one. */
const gcut_tensor *gcut_tensor_get(gcut_env *env, const gcut_tensor_file *f, const char *name);

/* The tensor of that name; NULL: there is none. */
const gcut_tensor *gcut_tensors_find(const gcut_tensors *x, const char *name);

/* Reads the elements of x, a tensor of f, where they are not there yet; of a dtype that gradcut does not have, none.  They
 * take no memory but for .npz files (import/npz.c).  Throws what gcut_npz_load throws. */
void gcut_tensor_load(gcut_tensor_file *f, const gcut_tensor *x);

/* "f32[64, 4]" */
const char *gcut_tensor_type_text(gcut_arena *a, const gcut_tensor *x);
/* Can the elements be converted?  Floats can, into every float. */
bool gcut_tensor_converts(const gcut_tensor *x, gcut_dtype to);
/* Writes all elements to `at`, which has room for them as `to`: those of x, or converted, rounded to nearest even.
 * Loads them first; f NULL: they are in memory.  Throws GCUT_ETYPE where they cannot be converted.  Drops the pages of a mapped file from memory. */
void gcut_tensor_copy(gcut_env *env, gcut_tensor_file *f, const gcut_tensor *x, gcut_dtype to, void *at);
/* x with elements of the dtype: x itself where it has them, else converted into memory of `a`, as by gcut_tensor_copy. */
gcut_tensor gcut_tensor_as(gcut_arena *a, gcut_tensor_file *f, const gcut_tensor *x, gcut_dtype to);

/* A file of tensors whose names are unique: .npz where the path ends so, else .safetensors.  Written as a whole or not at
 * all.  Throws what gcut_npz_write and gcut_safetensors_write throw. */
void gcut_tensors_write(gcut_env *env, const char *path, const gcut_tensors *x);

#endif
