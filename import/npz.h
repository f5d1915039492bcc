/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NumPy's .npz files: zip archives of .npy files, over libzip.  The entry "w.npy" is the tensor "w".
 */
#ifndef GCUT_IMPORT_NPZ_H
#define GCUT_IMPORT_NPZ_H

#include "base/file.h"
#include "import/tensor.h"

typedef struct gcut_npz gcut_npz;

/* Appends the tensors in the order of the archive's directory to *out, which is empty, all of them without data.  `bytes`
 * must outlive the arena; name is for diagnostics.  Throws GCUT_EIO where the archive or the head of an entry is malformed,
 * entries share a name or bytes, or an entry is no .npy file; GCUT_ETYPE for a rank that gradcut does not have;
 * GCUT_EUNSUPPORTED for encrypted entries and those that are neither stored nor deflated. */
gcut_npz *gcut_npz_parse(gcut_arena *arena, const char *name, const void *bytes, size_t size,
                         gcut_tensors *out);
/* Sets the data of *x, which is the tensor i of the archive and has a dtype of gradcut.  They are in `bytes` where the
 * entry is stored in C order, else in the arena.  Reads the whole entry, and drops the pages that it read of a mapped
 * file.  Throws GCUT_EIO where the bytes are not those that the archive's directory promises, GCUT_ETYPE as
 * gcut_npy_parse. */
void gcut_npz_load(gcut_npz *z, const gcut_file_bytes *file, uint32_t i, gcut_tensor *x);

/* As numpy.savez does: entries are stored, in the order of the tensors, whose names are unique.  The same tensors make the
 * same bytes: every entry is of 1980-01-01.  Written as a whole or not at all (base/file.h), of a copy in memory.  Throws
 * GCUT_EIO and, for bf16, which NumPy does not have, GCUT_ETYPE. */
void gcut_npz_write(gcut_env *env, const char *path, const gcut_tensors *x);

#endif
