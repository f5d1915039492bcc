/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A function as text, with its contents in a file of tensors.
 */
#include <string.h>

#include "driver/ctx.h"
#include "driver/load/data_path.h"
#include "gradcut/train.h"
#include "import/tensor_file.h"
#include "interp/initial_values.h"
#include "text/text.h"

enum { MOST_LISTED = 64 }; /* numbers of a list that stays in the text */

typedef struct job {
    gcut_graph *g;
    const char *path, *weights;
} job;

/* Files that are open, by path. */
typedef GCUT_VEC(gcut_tensor_file *) files;

static gcut_tensor_file *open_once(gcut_arena *a, files *open, const char *path)
{
    for (uint32_t i = 0; i < open->n; i++)
        if (!strcmp(open->at[i]->name, path)) return open->at[i];
    return *GCUT_PUSH(a, open) = gcut_tensor_file_open(a, path);
}

static bool is_moved(const gcut_data *d)
{
    return d->kind == GCUT_DATA_file || (d->kind == GCUT_DATA_dense && d->nnums > MOST_LISTED);
}

static gcut_tensor contents_of(gcut_arena *a, const gcut_module *m, const gcut_data *d, files *open)
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
        x.data = packed;
    }
    x.name = d->name;
    return x;
}

/* The name by which a text at `path` reads `file`: without the folder that both are in. */
static const char *seen_from(const char *path, const char *file)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    return n && !strncmp(path, file, n) && !strchr(file + n, '/') ? file + n : file;
}

/* In a copy of the module, whose data are changed. */
static void save(void *arg)
{
    const job *j = arg;
    gcut_env *env = j->g->module->env;
    gcut_arena *a = gcut_arena_new(env, env->arena);
    gcut_graph *g = gcut_module_clone(j->g, a);
    gcut_module *m = g->module;
    gcut_tensors x = {0};
    files open = {0};
    gcut_text text = {.arena = a};
    for (uint32_t i = 0; j->weights && i < m->data.n; i++) {
        gcut_data *d = &m->data.at[i];
        if (!is_moved(d)) continue;
        *GCUT_PUSH(a, &x) = contents_of(a, m, d, &open);
        d->kind = GCUT_DATA_file;
        d->nnums = 0;
        d->file = seen_from(j->path, j->weights);
        d->key = d->name;
    }
    gcut_print_graph(g, &(gcut_print_options){0}, &text);
    if (x.n) gcut_tensors_write(env, j->weights, &x);
    gcut_file_write(env, j->path, text.at, text.n);
    gcut_arena_free(a);
}

gcut_status gcut_save(gcut_graph *g, const char *path, const char *weights)
{
    GCUT_NEED(NULL, g, GCUT_EUSAGE);
    GCUT_NEED(g->module->env, path, GCUT_EUSAGE);
    return gcut_protect(g->module->env, save, &(job){g, path, weights});
}
