/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The contents that a module declares for parameters, as tensors.
 */
#ifndef GCUT_DRIVER_EXCHANGE_CONTENTS_H
#define GCUT_DRIVER_EXCHANGE_CONTENTS_H

#include "import/tensor_file.h"

/* Files that are open, each once. */
typedef GCUT_VEC(gcut_tensor_file *) gcut_open_files;

/* The contents of d, called as d, in `a`; those of a file are where it is mapped.  Throws where the file or the tensor
 * cannot be read. */
gcut_tensor gcut_data_contents(gcut_arena *a, const gcut_module *m, const gcut_data *d,
                               gcut_open_files *open);

#endif
