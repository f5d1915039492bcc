/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * No path of the build or of the prefix is compiled in, so that a tree or a prefix can be moved.  The search
 * starts at the module (program or shared object) that contains this code.  In this order:
 *
 *   1. the prefix: the module is in PREFIX/BINDIR or PREFIX/LIBDIR
 *   2. the build tree: CMake writes a file BUILD_FILE at the top of each build folder that has gradcut in it,
 *      with paths relative to that folder; the nearest one above the module counts, or in a folder `build`
 *      of those above it: a program that was linked by hand is at the top of the tree
 *   3. the prefix of the command `gradcut` that PATH finds: a program that is linked with the static library
 *      may be anywhere
 *   4. the prefix that gradcut was configured for
 *
 * A build file that belongs to another user than the module, and not to root, is ignored: the folders above a
 * program may be writable by others, as /tmp is.
 */
#define _GNU_SOURCE
#include "driver/load/install_paths.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/ctx.h"
#include "gradcut/version.h"

#define BUILD_FILE "gradcut-build.txt"
#define HEADER "gradcut/gradcut_rt.h"
#define LIBRARY "libgradcut_rt.a"
#define AS_TEXT(number) #number
#define SHARED(abi) "libgradcut_rt.so." AS_TEXT(abi)

/* The path without symbolic links, in the arena; NULL when there is no such file. */
static char *resolve(gcut_arena *a, const char *path)
{
    char found[PATH_MAX];
    return realpath(path, found) ? gcut_strndup(a, found, strlen(found)) : NULL;
}

/* The file that contains this code.  The loader gives the main program no name, and a statically linked
 * program has no loader. */
static char *module(gcut_arena *a)
{
    Dl_info info;
    struct link_map *map = NULL;
    void *here = (void *)(uintptr_t)gcut_install_paths_find;
    if (dladdr1(here, &info, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name && *map->l_name)
        return resolve(a, map->l_name);
    return resolve(a, "/proc/self/exe");
}

/* Cuts the last part of an absolute path off; false at the root. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || !path[1]) return false;
    slash[slash == path] = '\0';
    return true;
}

/* ---- a prefix ---- */

static bool in_folders(gcut_arena *a, const char *include_dir, const char *lib_dir, gcut_install_paths *p)
{
    const char *header = gcut_printf(a, "%s/" HEADER, include_dir);
    const char *library = gcut_printf(a, "%s/" LIBRARY, lib_dir);
    if (access(header, R_OK) != 0 || access(library, R_OK) != 0) return false;
    p->include_dir = include_dir;
    p->rt_library = library;
    return true;
}

/* Sets *p if the module is PREFIX/SUB/NAME. */
static bool under(gcut_arena *a, const char *module, const char *sub, gcut_install_paths *p)
{
    char *dir = gcut_strndup(a, module, strlen(module));
    if (!go_up(dir)) return false;
    size_t n = strlen(dir), k = strlen(sub);
    if (n < k + 1 || strcmp(dir + n - k, sub) != 0 || dir[n - k - 1] != '/') return false;
    dir[n - k - 1] = '\0';
    return in_folders(a, gcut_printf(a, "%s/" GRADCUT_REL_INCLUDEDIR, dir),
                      gcut_printf(a, "%s/" GRADCUT_REL_LIBDIR, dir), p);
}

static bool in_prefix(gcut_arena *a, const char *module, gcut_install_paths *p)
{
    return under(a, module, GRADCUT_REL_LIBDIR, p) || under(a, module, GRADCUT_REL_BINDIR, p);
}

/* ---- the build tree ---- */

static bool trusted(const char *file, const char *module)
{
    struct stat f, m;
    return !stat(file, &f) && !stat(module, &m) && S_ISREG(f.st_mode) && (f.st_uid == m.st_uid || !f.st_uid);
}

/* The value of `key=` in a build file; relative paths are relative to `dir`. */
static const char *entry(gcut_arena *a, const char *text, const char *key, const char *dir)
{
    size_t k = strlen(key);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, key, k) != 0 || line[k] != '=') continue;
        const char *value = line + k + 1;
        char *path = gcut_strndup(a, value, strcspn(value, "\n"));
        return *path == '/' ? path : gcut_printf(a, "%s/%s", dir, path);
    }
    return NULL;
}

static bool by_build_file(gcut_arena *a, const char *module, const char *dir, gcut_install_paths *p)
{
    const char *file = gcut_printf(a, "%s/" BUILD_FILE, dir);
    if (!trusted(file, module)) return false;
    const char *text = gcut_file_read(a, file, 1 << 16, NULL);
    const char *include_dir = entry(a, text, "include", dir), *library = entry(a, text, "library", dir);
    if (!include_dir || !library || access(library, R_OK) != 0) return false;
    p->include_dir = include_dir;
    p->rt_library = library;
    return true;
}

static bool in_build_tree(gcut_arena *a, const char *module, gcut_install_paths *p)
{
    char *dir = gcut_strndup(a, module, strlen(module));
    while (go_up(dir)) {
        const char *at = dir[1] ? dir : "";
        if (by_build_file(a, module, at, p) || by_build_file(a, module, gcut_printf(a, "%s/build", at), p))
            return true;
    }
    return false;
}

/* ---- the whole search ---- */

static bool beside_command(gcut_arena *a, gcut_install_paths *p)
{
    const char *path = gcut_variable("PATH");
    while (path && *path) {
        size_t n = strcspn(path, ":");
        char *command = gcut_printf(a, "%.*s/gradcut", (int)n, path);
        /* A relative folder in PATH would make the result depend on the current folder. */
        if (*path == '/' && access(command, X_OK) == 0 && (command = resolve(a, command)))
            return in_prefix(a, command, p) || in_build_tree(a, command, p);
        path += n + (path[n] == ':');
    }
    return false;
}

/* BLIS is a system library: its path at build time, if that still exists, else a name that the linker
 * resolves. */
static const char *blis_library(void)
{
    return access(GRADCUT_BLIS_LIBRARY, R_OK) == 0 ? GRADCUT_BLIS_LIBRARY : "-l:libblis.a";
}

static const char *shared_beside(gcut_arena *a, const char *library)
{
    char *dir = gcut_strndup(a, library, strlen(library));
    if (!go_up(dir)) return NULL;
    const char *shared = gcut_printf(a, "%s/" SHARED(GCUT_RT_ABI), dir);
    return access(shared, R_OK) == 0 ? shared : NULL;
}

gcut_install_paths gcut_install_paths_find(gcut_arena *a)
{
    gcut_install_paths p = {0};
    const char *include_dir = gcut_variable("GRADCUT_INCLUDE_DIR"),
               *library = gcut_variable("GRADCUT_RT_LIBRARY");
    const char *blis = gcut_variable("GRADCUT_BLIS_LIBRARY");
    if (!include_dir || !library) {
        const char *self = module(a);
        bool found = (self && (in_prefix(a, self, &p) || in_build_tree(a, self, &p))) ||
                     beside_command(a, &p) || in_folders(a, GRADCUT_FULL_INCLUDEDIR, GRADCUT_FULL_LIBDIR, &p);
        if (!found)
            gcut_fail(gcut_arena_env(a), GCUT_ETOOL, (gcut_place){0},
                      "set GRADCUT_INCLUDE_DIR to the folder that has " HEADER
                      " and GRADCUT_RT_LIBRARY to the path of " LIBRARY
                      ", or have the command gradcut in PATH",
                      "cannot find the run-time library of compiled steps: it is not where '%s' is",
                      self ? self : "the program");
    }
    return (gcut_install_paths){.include_dir = include_dir ? include_dir : p.include_dir,
                                .rt_library = library ? library : p.rt_library,
                                .rt_shared = library || blis ? NULL : shared_beside(a, p.rt_library),
                                .blis_library = blis ? blis : blis_library()};
}
