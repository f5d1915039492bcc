/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where files of data are.
 */
#include "driver/load/data_path.h"

#include <string.h>

const char *gcut_data_path(gcut_arena *a, const gcut_module *m, const char *name)
{
    const char *slash = m->file && *name != '/' ? strrchr(m->file, '/') : NULL;
    return slash ? gcut_printf(a, "%.*s/%s", (int)(slash - m->file), m->file, name) : name;
}
