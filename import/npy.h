/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room import/: NumPy's .npy files, versions 1 to 3 (numpy.lib.format).
 *
 *   takes:  .npy bytes, little-endian, in C or Fortran order; arrays to write
 *   gives:  arrays in C order; .npy files
 *   keeps:  every bit of the elements; other dtypes and malformed files are refused (bf16 has no descriptor)
 */
#ifndef GCUT_IMPORT_NPY_H
#define GCUT_IMPORT_NPY_H

#include "interp/interp.h"

/* Elements packed in the dtype's own width, row-major. */
typedef struct gcut_npy {
    gcut_dtype dtype;
    uint32_t rank;
    int64_t dim[GCUT_MAX_RANK];
    int64_t n;        /* product of dim */
    const void *data; /* n * gcut_dtype_bytes(dtype) bytes */
} gcut_npy;

/* name is for diagnostics; out.data may point into `bytes`, which must outlive it.  Throws GCUT_EIO when the
 * bytes are no well-formed .npy file or their number is not what the header says, GCUT_ETYPE for a dtype or
 * rank that gradcut does not have. */
gcut_npy gcut_npy_parse(gcut_arena *arena, const char *name, const void *bytes, size_t size);
gcut_npy gcut_npy_read(gcut_arena *arena, const char *path);
/* Written as a whole or not at all (base/file.h).  Throws GCUT_EIO or, for bf16, GCUT_ETYPE. */
void gcut_npy_write(gcut_env *env, const char *path, const gcut_npy *x);

/* The same as an array of the interpreter. */
gcut_array gcut_npy_read_array(gcut_arena *arena, const char *path);

#endif
