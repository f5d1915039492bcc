/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A function as text, with its contents in a file of tensors.
 */
#include <string.h>

#include "driver/ctx.h"
#include "driver/exchange/contents.h"
#include "gradcut/train.h"
#include "import/tensor_file.h"
#include "text/text.h"

enum { MOST_LISTED = 64 }; /* numbers of a list that stays in the text */

typedef struct job {
    gcut_graph *g;
    const char *path, *weights;
} job;

static bool is_moved(const gcut_data *d)
{
    return d->kind == GCUT_DATA_file || (d->kind == GCUT_DATA_dense && d->nnums > MOST_LISTED);
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
    gcut_open_files open = {0};
    gcut_text text = {.arena = a};
    for (uint32_t i = 0; j->weights && i < m->data.n; i++) {
        gcut_data *d = &m->data.at[i];
        if (!is_moved(d)) continue;
        *GCUT_PUSH(a, &x) = gcut_data_contents(a, m, d, &open);
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
