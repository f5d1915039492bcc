/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files without a name, by the first of three methods that the system supports: memory (memfd_create), a
 * folder's O_TMPFILE, a name that is removed at once.
 */
#define _GNU_SOURCE
#include "driver/load/unnamed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3: objects are loaded from it also where vm.memfd_noexec is 1 */
#endif

const char *gcut_temporary_folder(gcut_arena *arena)
{
    const char *s = getenv("TMPDIR");
    char *real = s && *s ? realpath(s, NULL) : NULL;
    if (!real) return "/tmp";
    gcut_arena_defer(arena, free, real);
    return real;
}

static int in_memory(const char *label)
{
    int fd = memfd_create(label, MFD_CLOEXEC | MFD_EXEC);
    return fd < 0 && errno == EINVAL ? memfd_create(label, MFD_CLOEXEC) : fd;
}

static int in_folder(gcut_arena *arena)
{
    const char *folder = gcut_temporary_folder(arena);
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
    if (fd >= 0) return fd;
    char *name = gcut_printf(arena, "%s/gradcut-XXXXXX", folder);
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) unlink(name);
    return fd;
}

static void close_file(void *fd)
{
    close((int)(intptr_t)fd);
}

void gcut_close_with(gcut_arena *arena, int fd)
{
    gcut_arena_defer(arena, close_file, (void *)(intptr_t)fd);
}

/* Moves a descriptor above 2: where the host program has closed its standard streams, a child would take it
 * for one. */
static int above_standard(int fd)
{
    if (fd < 0 || fd > 2) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return higher;
}

int gcut_unnamed_new(gcut_arena *arena, const char *label)
{
    int fd = in_memory(label);
    if (fd < 0) fd = in_folder(arena);
    fd = above_standard(fd);
    if (fd < 0)
        gcut_fail(gcut_arena_env(arena), GCUT_EIO, (gcut_place){0},
                  "set TMPDIR to a folder that can be written, or close files",
                  "cannot create a temporary file: %s", strerror(errno));
    gcut_close_with(arena, fd);
    return fd;
}

const char *gcut_unnamed_path(gcut_arena *arena, int fd)
{
    return gcut_printf(arena, "/proc/self/fd/%d", fd);
}

void gcut_unnamed_write(gcut_env *env, int fd, const void *data, size_t n)
{
    int err = !gcut_file_may_hold(n) ? EFBIG : ftruncate(fd, 0) == 0 ? 0 : errno;
    for (size_t done = 0; !err && done < n;) {
        ssize_t wrote = pwrite(fd, (const char *)data + done, n - done, (off_t)done);
        if (wrote >= 0)
            done += (size_t)wrote;
        else if (errno != EINTR)
            err = errno;
    }
    if (!err && lseek(fd, 0, SEEK_SET) != 0) err = errno;
    if (err)
        gcut_fail(env, GCUT_EIO, (gcut_place){0},
                  err == EFBIG
                      ? "raise the limit of a file's size: ulimit -f in a shell, setrlimit in a program"
                      : NULL,
                  "cannot write a temporary file of %zu bytes: %s", n, strerror(err));
}

char *gcut_unnamed_read(gcut_arena *arena, int fd, size_t limit, size_t *n)
{
    struct stat st;
    size_t size = fstat(fd, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0, done = 0;
    if (size > limit) size = limit;
    char *out = gcut_alloc(arena, size + 1);
    while (done < size) {
        ssize_t got = pread(fd, out + done, size - done, (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += (size_t)got;
    }
    out[done] = '\0';
    if (n) *n = done;
    return out;
}
