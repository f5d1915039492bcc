/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NumPy's .npy files.  bf16 has no descriptor there.
 */
#ifndef GCUT_IMPORT_NPY_H
#define GCUT_IMPORT_NPY_H

#include "base/file.h"
#include "import/tensor.h"

/* name is for diagnostics; out.data may point into `bytes`, which must outlive it.  Throws GCUT_EIO when the
 * bytes are no well-formed .npy file or their number is not what the header says, GCUT_ETYPE for a dtype or
 * rank that gradcut does not have. */
gcut_tensor gcut_npy_parse(gcut_arena *arena, const char *name, const void *bytes, size_t size);
gcut_tensor gcut_npy_read(gcut_arena *arena, const char *path);
/* Written as a whole or not at all (base/file.h).  Throws GCUT_EIO or, for bf16, GCUT_ETYPE. */
void gcut_npy_write(gcut_env *env, const char *path, const gcut_tensor *x);
bool gcut_npy_has(gcut_dtype t);

/* ---- the parts of a file ---- */

typedef struct gcut_npy_head {
    gcut_tensor x; /* without data; of any dtype */
    size_t size;   /* of the head: the elements follow */
    bool fortran;  /* the elements are not in C order: there are two axes or more */
} gcut_npy_head;

/* The first bytes of a file that has `size`, of which the first 12, or all, are there, say how many are its head.  Throws
 * GCUT_EIO. */
size_t gcut_npy_head_size(gcut_env *env, const char *name, const void *bytes, size_t size);
/* Of a file of `size` bytes, of which n are its head.  Throws what gcut_npy_parse throws, but for dtypes that gradcut does
 * not have. */
gcut_npy_head gcut_npy_read_head(gcut_arena *arena, const char *name, const void *head, size_t n,
                                 size_t size);
/* The elements in C order: at, or a copy in the arena.  Throws GCUT_ETYPE for bools that are neither 0 nor 1 and dtypes
 * that gradcut does not have. */
const void *gcut_npy_elements(gcut_arena *arena, const char *name, const gcut_npy_head *head, const void *at);
/* The head of a file of x, whose elements follow. */
gcut_file_part gcut_npy_new_head(gcut_arena *arena, const gcut_tensor *x);

#endif
