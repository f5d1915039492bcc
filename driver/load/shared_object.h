/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A shared object that this process made, and loading it.
 */
#ifndef GCUT_DRIVER_LOAD_SHARED_OBJECT_H
#define GCUT_DRIVER_LOAD_SHARED_OBJECT_H

#include "base/arena.h"
#include "gradcut/gradcut_rt.h"

/* A shared object, and the path to load it by: the nameless file, or the copy that GRADCUT_KEEP asks for. */
typedef struct gcut_object {
    int fd; /* a nameless file (driver/load/unnamed_files.h) */
    const char *path;
    const gcut_rt_entry *entry; /* NULL unless it was loaded */
} gcut_object;

/* An empty one, which `a` closes. */
gcut_object gcut_object_new(gcut_arena *a);
#define GCUT_OBJECT_BYTES ((size_t)1 << 32) /* limit on its size */
/* Loads the object until `a` is freed.  Returns NULL, or why it cannot be loaded. */
const char *gcut_object_load(gcut_arena *a, gcut_object *o);
/* Writes it to a file with a name. */
void gcut_object_write(const gcut_object *o, gcut_env *env, const char *path);

#endif
