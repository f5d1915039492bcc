/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whole files, in and out.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static _Noreturn void io_error(gcut_env *env, const char *path, const char *verb, int err)
{
    char buf[128];
    if (strerror_r(err, buf, sizeof buf) != 0) snprintf(buf, sizeof buf, "error %d", err);
    gcut_fail(env, GCUT_EIO, (gcut_place){.file = path}, NULL, "cannot %s '%s': %s", verb, path, buf);
}

/* ---- reading ---- */

static void close_fd(void *fd)
{
    close((int)(intptr_t)fd);
}

/* Up to n bytes: fewer only at the end of the file; -1 with errno. */
static ssize_t read_fully(int fd, char *to, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = read(fd, to + done, n - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

char *gcut_file_read(gcut_arena *arena, const char *path, size_t limit, size_t *size)
{
    gcut_env *env = gcut_arena_env(arena);
    gcut_arena *scratch = gcut_arena_new(env, arena);
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) io_error(env, path, "open", errno);
    gcut_arena_defer(scratch, close_fd, (void *)(intptr_t)fd);
    if (fstat(fd, &st) != 0) io_error(env, path, "read", errno);

    /* The size is a hint: the file may grow or shrink meanwhile, a pipe has none. */
    size_t room = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size : 4096, n = 0;
    if (room > limit) room = limit;
    char *data = gcut_alloc(scratch, room + 1);
    for (;;) {
        ssize_t got =
            read_fully(fd, data + n, room + 1 - n); /* one byte more than room shows whether the file goes
                                                     * on */
        if (got < 0) io_error(env, path, "read", errno);
        n += (size_t)got;
        if (n <= room) break;
        if (room >= limit)
            gcut_fail(env, GCUT_EIO, (gcut_place){.file = path}, NULL, "'%s' is longer than %zu bytes", path,
                      limit);
        room = room < limit / 2 ? 2 * room : limit;
        char *more = gcut_alloc(scratch, room + 1);
        memcpy(more, data, n);
        data = more;
    }
    char *out = gcut_alloc(arena, n + 1);
    memcpy(out, data, n);
    out[n] = '\0';
    if (size) *size = n;
    gcut_arena_free(scratch);
    return out;
}

/* ---- mapping ---- */

#define MOST_READ ((size_t)1 << 30) /* of a pipe or device, which may never end */

static void unmap(void *arg)
{
    const gcut_file_bytes *m = arg;
    munmap((void *)(uintptr_t)m->at, m->n);
}

gcut_file_bytes gcut_file_map(gcut_arena *arena, const char *path)
{
    gcut_env *env = gcut_arena_env(arena);
    gcut_file_bytes *m = gcut_calloc(arena, 1, sizeof *m);
    struct stat st;
    void *at = MAP_FAILED;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) io_error(env, path, "open", errno);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        m->n = (size_t)st.st_size;
        at = mmap(NULL, m->n, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    m->mapped = at != MAP_FAILED;
    m->at = m->mapped ? at : gcut_file_read(arena, path, MOST_READ, &m->n);
    if (m->mapped) gcut_arena_defer(arena, unmap, m);
    return *m;
}

bool gcut_file_is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

bool gcut_file_is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

bool gcut_file_is_same(const char *path, const char *other)
{
    struct stat x, y;
    return stat(path, &x) == 0 && stat(other, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

void gcut_file_drop_pages(const gcut_file_bytes *f, const void *at, size_t n)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)at + page - 1) / page * page,
                    to = ((uintptr_t)at + n) / page * page;
    if (f->mapped && from < to) madvise((void *)from, to - from, MADV_DONTNEED);
}

/* ---- writing ---- */

/* RLIMIT_FSIZE in bytes; RLIM_INFINITY also where getrlimit fails. */
static rlim_t most_bytes(void)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) == 0 ? most.rlim_cur : RLIM_INFINITY;
}

bool gcut_file_may_hold(uint64_t bytes)
{
    const rlim_t most = most_bytes();
    return most == RLIM_INFINITY || bytes <= most;
}

static _Noreturn void size_error(gcut_env *env, const char *path, size_t n)
{
    gcut_fail(env, GCUT_EIO, (gcut_place){.file = path},
              "raise the limit: ulimit -f in a shell, setrlimit in a program",
              "cannot write '%s': it takes %zu bytes, and the limit of a file's size (RLIMIT_FSIZE) is %ju",
              path, n, (uintmax_t)most_bytes());
}

/* Writes, syncs and closes fd; 0 or the error.  EINVAL of fsync means a pipe or device: nothing to sync. */
static int put(int fd, const gcut_file_part *part, size_t nparts)
{
    int err = 0;
    for (size_t i = 0; i < nparts && !err; i++) {
        const char *data = part[i].at;
        size_t n = part[i].n;
        while (n > 0 && !err) {
            ssize_t wrote = write(fd, data, n < SSIZE_MAX ? n : SSIZE_MAX);
            if (wrote >= 0)
                data += wrote, n -= (size_t)wrote;
            else if (errno != EINTR)
                err = errno;
        }
    }
    if (!err && fsync(fd) != 0 && errno != EINVAL && errno != EROFS) err = errno;
    if (close(fd) != 0 && !err && errno != EINTR) err = errno;
    return err;
}

/* Opens a new file beside path, whose name goes to temp (strlen(path) + 32 bytes); -1 with errno. */
static int open_temp(const char *path, char *temp, mode_t mode)
{
    for (unsigned i = 0; i < 1000; i++) {
        sprintf(temp, "%s.tmp%ld.%u", path, (long)getpid(), i);
        int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* n: the bytes of all parts.  No call in here throws, so nothing needs to be handed to an arena between open and close. */
static int replace(const char *path, char *temp, const gcut_file_part *part, size_t nparts, size_t n)
{
    struct stat st;
    bool old = stat(path, &st) == 0;
    if (old && !S_ISREG(st.st_mode)) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? errno : put(fd, part, nparts);
    }
    if (!gcut_file_may_hold(n)) return EFBIG;
    int fd = open_temp(path, temp, 0666);
    if (fd < 0) return errno;
    int err = old && fchmod(fd, st.st_mode & 07777) != 0 ? errno : 0;
    int wrote = put(fd, part, nparts);
    if (!err) err = wrote;
    if (!err && rename(temp, path) != 0) err = errno;
    if (err) unlink(temp);
    return err;
}

void gcut_file_write(gcut_env *env, const char *path, const void *data, size_t n)
{
    gcut_file_write_parts(env, path, &(gcut_file_part){data, n}, 1);
}

void gcut_file_write_parts(gcut_env *env, const char *path, const gcut_file_part *part, size_t nparts)
{
    size_t n = 0;
    for (size_t i = 0; i < nparts; i++) n += part[i].n;
    gcut_arena *scratch = gcut_arena_new(env, env->arena);
    char *real = realpath(path, NULL); /* fails for a new file, which is no link */
    if (real) gcut_arena_defer(scratch, free, real);
    const char *target = real ? real : path;
    char *temp = gcut_alloc(scratch, strlen(target) + 48);
    int err = replace(target, temp, part, nparts, n);
    gcut_arena_free(scratch);
    if (err == EFBIG && !gcut_file_may_hold(n)) size_error(env, path, n);
    if (err) io_error(env, path, "write", err);
}
