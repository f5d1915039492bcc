/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whole files, in and out.
 */
#ifndef GCUT_BASE_FILE_H
#define GCUT_BASE_FILE_H

#include "base/arena.h"

/* The bytes of the file at path, followed by one NUL that *size does not count (size may be NULL).  Works on
 * pipes and devices too.  Throws GCUT_EIO, naming the file, when it cannot be read or is longer than limit.
 */
char *gcut_file_read(gcut_arena *arena, const char *path, size_t limit, size_t *size);

/* The bytes of the file at path, read-only, until the arena is freed: mapped, or, up to 1 GiB, read where it cannot be
 * mapped, as a pipe.  A mapped file that is cut short meanwhile ends the process (SIGBUS).  Throws GCUT_EIO, naming the
 * file. */
typedef struct gcut_file_bytes {
    const void *at;
    size_t n;
    bool mapped;
} gcut_file_bytes;
gcut_file_bytes gcut_file_map(gcut_arena *arena, const char *path);
/* Is it a symbolic link? */
bool gcut_file_is_link(const char *path);
/* Is there something that is no regular file, such as a folder or a pipe? */
bool gcut_file_is_special(const char *path);
/* Are both paths of one file?  Not where one of them is of none. */
bool gcut_file_is_same(const char *path, const char *other);
/* Drops the pages of a mapped file that lie within these n bytes from memory; a later access reads them again. */
void gcut_file_drop_pages(const gcut_file_bytes *f, const void *at, size_t n);

/* May a regular file have that many bytes (RLIMIT_FSIZE)?  Beyond the limit the kernel sends SIGXFSZ,
 * which ends the process, so callers that write a regular file ask first. */
bool gcut_file_may_hold(uint64_t bytes);

/* Replaces the file at path as a whole: readers see the old bytes or the new ones, never a mix.  The bytes
 * go to a temporary name in the same folder, reach the disk, and are renamed; symbolic links are followed,
 * permissions of an existing file are kept.  Other files (a terminal, a pipe, /dev/full) are written to
 * directly.  Throws GCUT_EIO, also where the process may write no file of n bytes, and leaves no temporary
 * file. */
void gcut_file_write(gcut_env *env, const char *path, const void *data, size_t n);

/* The same of several parts, one after the other. */
typedef struct gcut_file_part {
    const void *at;
    size_t n;
} gcut_file_part;
void gcut_file_write_parts(gcut_env *env, const char *path, const gcut_file_part *part, size_t nparts);

#endif
