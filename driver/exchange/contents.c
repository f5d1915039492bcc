/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Contents of parameters: numbers of the text, random numbers, or a tensor of a file.
 */
#include "driver/exchange/contents.h"

#include <string.h>

#include "driver/load/data_path.h"
#include "interp/initial_values.h"

static gcut_tensor_file *open_once(gcut_arena *a, gcut_open_files *open, const char *path)
{
    for (uint32_t i = 0; i < open->n; i++)
        if (!strcmp(open->at[i]->name, path)) return open->at[i];
    return *GCUT_PUSH(a, open) = gcut_tensor_file_open(a, path);
}

gcut_tensor gcut_data_contents(gcut_arena *a, const gcut_module *m, const gcut_data *d, gcut_open_files *open)
{
    gcut_tensor x;
    if (d->kind == GCUT_DATA_file) {
        gcut_tensor_file *f = open_once(a, open, gcut_data_path(a, m, d->file));
        const gcut_tensor *t = gcut_tensor_get(m->env, f, d->key);
        gcut_tensor_load(f, t);
        x = *t;
    } else {
        const gcut_array v = gcut_data_array(a, m, d, d->type.dim);
        x = (gcut_tensor){.dtype = v.dtype, .rank = v.rank, .n = v.n};
        memcpy(x.dim, v.dim, sizeof x.dim);
        void *packed = gcut_calloc(a, (size_t)v.n + 1, (size_t)gcut_dtype_bytes(v.dtype));
        gcut_array_store(&v, packed);
        gcut_release(a, v.u.at, (size_t)v.n * sizeof(double));
        x.data = packed;
    }
    x.name = d->name;
    return x;
}
