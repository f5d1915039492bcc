/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public API of weights in files.
 */
#include <string.h>

#include "driver/ctx.h"
#include "driver/load/weights.h"
#include "import/safetensors.h"

typedef struct job {
    gcut_step *s;
    const char *path; /* NULL: bytes */
    const void *bytes;
    size_t n;
    const gcut_load_options *given; /* the caller's, of `size` bytes */
    size_t size;
    const gcut_file_part *part; /* of the file that is written */
    size_t nparts;
} job;

static void load(void *arg)
{
    const job *j = arg;
    gcut_load_options how = {0};
    GCUT_COPY_KNOWN(j->s->env, gcut_load_options, j->given, j->size, &how);
    gcut_arena *a = gcut_arena_new(j->s->env, j->s->arena);
    gcut_tensor_file *f =
        j->path ? gcut_tensor_file_open(a, j->path) : gcut_tensor_file_parse(a, "the bytes", j->bytes, j->n);
    gcut_step_set_weights(j->s, f, &how);
    gcut_arena_free(a);
}

gcut_status gcut_load_weights_sized(size_t size, gcut_step *step, const char *path,
                                    const gcut_load_options *opt)
{
    GCUT_NEED(NULL, step, GCUT_EUSAGE);
    GCUT_NEED(step->env, path, GCUT_EUSAGE);
    return gcut_protect(step->env, load, &(job){.s = step, .path = path, .given = opt, .size = size});
}

gcut_status gcut_load_weights_from_sized(size_t size, gcut_step *step, const void *bytes, size_t n,
                                         const gcut_load_options *opt)
{
    GCUT_NEED(NULL, step, GCUT_EUSAGE);
    GCUT_NEED(step->env, bytes, GCUT_EUSAGE);
    return gcut_protect(step->env, load,
                        &(job){.s = step, .bytes = bytes, .n = n, .given = opt, .size = size});
}

static void save(void *arg)
{
    const job *j = arg;
    gcut_step_prepare(j->s);
    gcut_arena *a = gcut_arena_new(j->s->env, j->s->arena);
    const gcut_tensors x = gcut_step_weights(j->s, a);
    gcut_tensors_write(j->s->env, j->path, &x);
    gcut_arena_free(a);
}

gcut_status gcut_save_weights(gcut_step *step, const char *path)
{
    GCUT_NEED(NULL, step, GCUT_EUSAGE);
    GCUT_NEED(step->env, path, GCUT_EUSAGE);
    return gcut_protect(step->env, save, &(job){.s = step, .path = path});
}

/* The parts are made in the arena of the job. */
typedef struct bytes_job {
    job of;
    gcut_arena *a;
} bytes_job;

static void make_parts(void *arg)
{
    bytes_job *j = arg;
    gcut_step_prepare(j->of.s);
    const gcut_tensors x = gcut_step_weights(j->of.s, j->a);
    j->of.part = gcut_safetensors_parts(j->a, &x, &j->of.nparts);
    for (size_t i = 0; i < j->of.nparts; i++) j->of.n += j->of.part[i].n;
}

static void join(void *arg, const gcut_made *m)
{
    const job *j = arg;
    char *at = m->object;
    for (size_t i = 0; i < j->nparts; i++) {
        if (j->part[i].n) memcpy(at, j->part[i].at, j->part[i].n);
        at += j->part[i].n;
    }
}

void *gcut_save_weights_to(gcut_step *step, size_t *n)
{
    GCUT_NEED(NULL, step, NULL);
    GCUT_NEED(step->env, n, NULL);
    bytes_job j = {.of = {.s = step}};
    void *made = NULL;
    if (gcut_guard_in(step->env, &j.a, make_parts, &j)) made = gcut_made_by(step->env, j.of.n, join, &j.of);
    gcut_arena_free(j.a);
    *n = made ? j.of.n : 0;
    return made;
}
