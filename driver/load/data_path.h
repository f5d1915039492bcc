/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where files of data are.
 */
#ifndef GCUT_DRIVER_LOAD_DATA_PATH_H
#define GCUT_DRIVER_LOAD_DATA_PATH_H

#include "graph/graph.h"

/* A data file's path is relative to the text that names it, unless absolute.  Text without a folder
 * (standard input, memory, the builder) has the current one. */
const char *gcut_data_path(gcut_arena *a, const gcut_module *m, const char *name);

#endif
