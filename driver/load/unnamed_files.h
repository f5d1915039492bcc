/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files without a name: no folder lists them, and they are gone with their last descriptor, however the
 * process ends.  The source, the objects and the messages of the C compiler are such files, so nothing is
 * left to be removed after an exit, a signal or a crash, and the library needs no signal handler.
 */
#ifndef GCUT_DRIVER_LOAD_UNNAMED_FILES_H
#define GCUT_DRIVER_LOAD_UNNAMED_FILES_H

#include "base/arena.h"

/* A new empty file, open for reading and writing, closed with the arena, not inherited by other programs.  In
 * memory where the kernel has memfd_create, else in TMPDIR.  Throws GCUT_EIO. */
int gcut_unnamed_new(gcut_arena *arena, const char *label);

/* Closes fd with the arena. */
void gcut_close_with(gcut_arena *arena, int fd);

/* A path that opens the file in this process, and in a child that has it under the same number.  The loader
 * takes two objects of the same path for one: keep the file open for as long as it is loaded. */
const char *gcut_unnamed_path(gcut_arena *arena, int fd);

/* Replaces the contents, and puts the offset back to the beginning.  Throws GCUT_EIO. */
void gcut_unnamed_write(gcut_env *env, int fd, const void *data, size_t n);
/* The contents, of at most `limit` bytes, followed by one NUL that *n does not count. */
char *gcut_unnamed_read(gcut_arena *arena, int fd, size_t limit, size_t *n);

/* TMPDIR as an absolute path, /tmp when it is not set or not a folder. */
const char *gcut_temporary_folder(gcut_arena *arena);

#endif
