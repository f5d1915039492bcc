/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cache of compiled steps: files in $XDG_CACHE_HOME/gradcut (doc/cache.md).
 *
 *   KEY.step    emitted C and what binds values to it
 *               key: graph, options, machine model, library build
 *   KEY.object  a shared object
 *               key: C, compiler, flags, run-time library, processor
 *   KEY.machine a machine model that was measured briefly
 *               key: processor, cores, library build
 *   KEY.digest  the hash of a file's contents
 *               key: its path, inode, size and times
 *   counters    hits and misses; a process locks it while it changes the folder
 *
 * An entry is its bytes and a trailer with their hash, so a damaged file is detected and never loaded.  The
 * functions here throw GCUT_ENOMEM only: with an unusable folder, a full disk or a damaged entry they find or
 * store nothing.
 */
#ifndef GCUT_DRIVER_LOAD_CACHE_H
#define GCUT_DRIVER_LOAD_CACHE_H

#include "base/hash.h"

typedef struct gcut_cache gcut_cache;

typedef enum gcut_cache_kind {
    GCUT_CACHE_STEP,
    GCUT_CACHE_OBJECT,
    GCUT_CACHE_MACHINE,
    GCUT_CACHE_DIGEST,
    GCUT_CACHE_NKINDS
} gcut_cache_kind;

/* Opens the user's folder, after making it if it is missing; the arena closes it.  NULL when the cache is
 * off (GRADCUT_CACHE=off) or unusable.  *path and *why, unless NULL, receive the path and the reason. */
gcut_cache *gcut_cache_open(gcut_arena *arena, const char **path, const char **why);

/* Fills a nameless file (driver/load/unnamed_files.h) with the entry; false when there is none.  A NULL cache
 * has none.
 */
bool gcut_cache_load(gcut_cache *c, gcut_cache_kind kind, const char *key, int into);
/* Reads the entry into memory; NULL when there is none. */
char *gcut_cache_get(gcut_cache *c, gcut_cache_kind kind, const char *key, gcut_arena *arena, size_t *n);
/* Removes an entry that turned out to be unusable. */
void gcut_cache_drop(gcut_cache *c, gcut_cache_kind kind, const char *key);
/* Stores an entry, and removes the least recently used ones until all are within the limit. */
void gcut_cache_put(gcut_cache *c, gcut_cache_kind kind, const char *key, const void *data, size_t n);

typedef struct gcut_cache_use {
    int64_t entries[GCUT_CACHE_NKINDS], bytes, limit, hits, misses;
} gcut_cache_use;
gcut_cache_use gcut_cache_ask(gcut_cache *c);
/* Removes every entry and resets the counters; returns how many entries it removed. */
int64_t gcut_cache_empty(gcut_cache *c);

/* A hash of the sources that this library was built from (cmake/GradcutBuildId.cmake). */
extern const char gcut_build_id[65];

/* driver/load/cache_key.c: adds the contents of a library to a key; false when it cannot be read.  `library`
 * is a path or "-l:NAME", which the compiler command argv (GRADCUT_CC) resolves. */
bool gcut_key_library(gcut_hash *h, gcut_cache *c, gcut_arena *a, char *const *argv, const char *library);
/* Adds every header of a folder. */
bool gcut_key_headers(gcut_hash *h, gcut_arena *a, const char *folder);
/* Adds the compiler command argv: each word that is a program, and the version that the command reports. */
bool gcut_key_compiler(gcut_hash *h, gcut_arena *a, char *const *argv);
/* Adds the instruction set and the model of this processor. */
void gcut_key_processor(gcut_hash *h);

#endif
