/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The C compiler that makes a shared object of a step.
 */
#ifndef GCUT_DRIVER_LOAD_C_COMPILER_H
#define GCUT_DRIVER_LOAD_C_COMPILER_H

#include "driver/load/shared_object.h"
#include "driver/load/step_source.h"

/* Compiles the source, or takes its object from the cache, and loads it if `load`; `a` closes it.  A cached
 * object that cannot be loaded is compiled again.  `name`, of the function, names the copies of
 * GRADCUT_KEEP. Throws GCUT_EIO; GCUT_ETOOL with the command that failed, and its messages. */
gcut_object gcut_compile_source(gcut_env *env, gcut_arena *a, const char *name, const gcut_c_source *source,
                                bool load);
/* Compiles a step, which calls no external kernel, into the file `so`. */
void gcut_build_shared(const gcut_pipeline *p, const char *so);

#endif
