/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * .safetensors files (https://github.com/huggingface/safetensors, "Format"): the length of the header as a u64, the
 * header, a JSON object, and the elements.
 */
#ifndef GCUT_IMPORT_SAFETENSORS_H
#define GCUT_IMPORT_SAFETENSORS_H

#include "base/file.h"
#include "import/tensor.h"

/* Appends the tensors in the order of their bytes; their data point into `bytes`, which must outlive them.  name is for
 * diagnostics.  Throws GCUT_EIO when the bytes are no well-formed file: when a tensor lies outside of the file or has
 * another number of bytes than its shape says, tensors overlap, or bytes belong to none; GCUT_ESYNTAX when the header
 * is not the JSON that it must be, or has a rank that gradcut does not have. */
void gcut_safetensors_parse(gcut_arena *arena, const char *name, const void *bytes, size_t size,
                            gcut_tensors *out);

/* The parts of a file of these tensors, in `arena`, with `*nparts` their number: the header, then the data of each
 * tensor, those with the widest elements first, so that each is aligned for its dtype.  Names are unique. */
const gcut_file_part *gcut_safetensors_parts(gcut_arena *arena, const gcut_tensors *x, size_t *nparts);
/* Written as a whole or not at all (base/file.h).  Throws GCUT_EIO. */
void gcut_safetensors_write(gcut_env *env, const char *path, const gcut_tensors *x);

#endif
