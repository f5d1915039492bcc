/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loading shared objects.
 */
#include "driver/load/shared_object.h"

#include <dlfcn.h>

#include "base/file.h"
#include "driver/load/install_paths.h"
#include "driver/load/unnamed_files.h"
#include "graph/external.h"

gcut_object gcut_object_new(gcut_arena *a)
{
    int fd = gcut_unnamed_new(a, "gradcut-step");
    return (gcut_object){.fd = fd, .path = gcut_unnamed_path(a, fd)};
}

void gcut_object_write(const gcut_object *o, gcut_env *env, const char *path)
{
    gcut_arena *a = gcut_arena_new(env, env->arena);
    size_t n;
    const char *data = gcut_unnamed_read(a, o->fd, GCUT_OBJECT_BYTES, &n);
    gcut_file_write(env, path, data, n);
    gcut_arena_free(a);
}

static void close_object(void *handle)
{
    dlclose(handle);
}

static void *open_file(gcut_arena *a, const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle) gcut_arena_defer(a, close_object, handle);
    return handle;
}

typedef struct loaded {
    gcut_arena *a;
    void *handle;
} loaded;

/* Sets the pointer to an external kernel; each shared object has pointers of its own to those it calls. */
static void set_external(void *arg, const char *kernel, gcut_rt_external_fn *fn)
{
    const loaded *l = arg;
    gcut_rt_external_fn **at = dlsym(l->handle, gcut_printf(l->a, "gcut_external_%s", kernel));
    if (at) *at = fn;
}

/* The object names the run-time library by its soname,
 * which the loader resolves to the library loaded before it. */
const char *gcut_object_load(gcut_arena *a, gcut_object *o)
{
    const char *shared = gcut_install_paths_find(a).rt_shared;
    void *handle = shared && !open_file(a, shared) ? NULL : open_file(a, o->path);
    if (!handle) return gcut_printf(a, "%s", dlerror());
    const gcut_rt_entry *entry = dlsym(handle, "step_entry");
    if (!entry || entry->abi != GCUT_RT_ABI) return "it has no entry point of this version";
    o->entry = entry;
    gcut_external_registered(gcut_arena_env(a), set_external, &(loaded){a, handle});
    return NULL;
}
