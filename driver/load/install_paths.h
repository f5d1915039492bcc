/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds the header and the libraries that a compiled step needs.
 */
#ifndef GCUT_DRIVER_LOAD_INSTALL_PATHS_H
#define GCUT_DRIVER_LOAD_INSTALL_PATHS_H

#include "base/arena.h"

typedef struct gcut_install_paths {
    const char *include_dir;  /* the folder that has gradcut/gradcut_rt.h */
    const char *rt_library;   /* libgradcut_rt.a */
    const char *rt_shared;    /* the shared library beside it, BLIS included; NULL where there is none, or a
                                 variable below names a library */
    const char *blis_library; /* a path, or a word by which the linker finds it */
} gcut_install_paths;

/* Strings belong to `a`.  A member whose environment variable GRADCUT_INCLUDE_DIR, GRADCUT_RT_LIBRARY or
 * GRADCUT_BLIS_LIBRARY is set and not empty has the value of that variable; the C compiler reports a file
 * that does not exist.  Throws GCUT_ETOOL, with a hint, when header or library are not found. */
gcut_install_paths gcut_install_paths_find(gcut_arena *a);

#endif
