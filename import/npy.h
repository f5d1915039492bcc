/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NumPy's .npy files.  bf16 has no descriptor there.
 */
#ifndef GCUT_IMPORT_NPY_H
#define GCUT_IMPORT_NPY_H

#include "import/tensor.h"

/* name is for diagnostics; out.data may point into `bytes`, which must outlive it.  Throws GCUT_EIO when the
 * bytes are no well-formed .npy file or their number is not what the header says, GCUT_ETYPE for a dtype or
 * rank that gradcut does not have. */
gcut_tensor gcut_npy_parse(gcut_arena *arena, const char *name, const void *bytes, size_t size);
gcut_tensor gcut_npy_read(gcut_arena *arena, const char *path);
/* Written as a whole or not at all (base/file.h).  Throws GCUT_EIO or, for bf16, GCUT_ETYPE. */
void gcut_npy_write(gcut_env *env, const char *path, const gcut_tensor *x);

#endif
