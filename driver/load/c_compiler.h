/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Emitted C, and the C compiler that makes a shared object of it.
 */
#ifndef GCUT_DRIVER_LOAD_C_COMPILER_H
#define GCUT_DRIVER_LOAD_C_COMPILER_H

#include "driver/pipeline/pipeline.h"
#include "gradcut/gradcut_rt.h"

/* step.h and step.c of a program as one translation unit. */
typedef struct gcut_c_source {
    gcut_text text;
    uint32_t parts; /* it can be compiled in 1 to GCUT_MOST_PARTS parts */
} gcut_c_source;

/* Allocates in `a`. */
gcut_c_source gcut_step_source(const gcut_pipeline *p, gcut_arena *a);

/* A shared object, and the path to load it by: the nameless file, or the copy that GRADCUT_KEEP asks for. */
typedef struct gcut_object {
    int fd; /* a nameless file (driver/load/unnamed_files.h) */
    const char *path;
    const gcut_rt_entry *entry; /* NULL unless it was loaded */
} gcut_object;

/* Compiles the source, or takes its object from the cache, and loads it if `load`; `a` closes it.  A cached
 * object that cannot be loaded is compiled again.  `name`, of the function, names the copies of
 * GRADCUT_KEEP. Throws GCUT_EIO; GCUT_ETOOL with the command that failed, and its messages. */
gcut_object gcut_compile_source(gcut_env *env, gcut_arena *a, const char *name, const gcut_c_source *source,
                                bool load);

#endif
