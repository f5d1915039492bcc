/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Emitted C, and the C compiler that makes a shared object of it.
 */
#ifndef GCUT_DRIVER_LOAD_C_COMPILER_H
#define GCUT_DRIVER_LOAD_C_COMPILER_H

#include "driver/pipeline/pipeline.h"
#include "gradcut/gradcut_rt.h"

/* step.h and step.c of a program as one translation unit, and how many parts it can be compiled in. */
typedef struct gcut_c_source {
    gcut_text text;
    uint32_t parts; /* 1 to GCUT_MOST_PARTS */
} gcut_c_source;

/* Memory from `a`. */
gcut_c_source gcut_step_source(const gcut_pipeline *p, gcut_arena *a);

/* A shared object, and the path to load it by: that of the nameless file, or of its copy that GRADCUT_KEEP
 * keeps. */
typedef struct gcut_object {
    int fd; /* a nameless file (driver/load/unnamed_files.h) */
    const char *path;
    const gcut_rt_entry *entry; /* NULL where it was not to be loaded */
} gcut_object;

/* Of that source, closed with `a`, and loaded if asked for: an object that cannot be is made again where it
 * came from the cache.  `name` is the function's: what is kept is called by it.  Throws GCUT_EIO; GCUT_ETOOL
 * with the command that failed, and its messages. */
gcut_object gcut_compile_source(gcut_env *env, gcut_arena *a, const char *name, const gcut_c_source *source,
                                bool load);

#endif
