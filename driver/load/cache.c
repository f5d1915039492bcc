/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cache's folder: entries that are read whole, checked and never changed.
 *
 * A new entry is written to a file without a name, which gets its name when it is complete; where the file
 * system has no such files, to a temporary name.  Readers take no lock.  Writers hold one on `counters` while
 * they evict old entries and give the name, so that all entries together never exceed the limit.
 */
#define _GNU_SOURCE
#include "driver/load/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/ctx.h"
#include "driver/load/unnamed_files.h"

#define DEFAULT_LIMIT (INT64_C(1) << 30)
#define MOST_BYTES (INT64_C(1) << 32) /* limit on the size of an entry */

struct gcut_cache {
    gcut_env *env;
    gcut_arena *arena;
    int folder;
    int64_t limit;
};

static const char *const suffix[GCUT_CACHE_NKINDS] = {".step", ".object", ".machine", ".digest"};

/* Follows the bytes of an entry. */
typedef struct trailer {
    unsigned char hash[GCUT_HASH_BYTES]; /* of kind, key and bytes */
    uint64_t bytes;
    char magic[8];
} trailer;
static const char magic[8] = "gcutcch1";

/* ---- the folder ---- */

/* The limit in bytes: GRADCUT_CACHE_SIZE, a number alone or with KiB, MiB, GiB, kB, MB or GB; 1 GiB where it
 * is unset or invalid. */
static int64_t limit_from(const char *s)
{
    static const struct {
        const char *suffix;
        double bytes;
    } unit[] = {{"", 1},     {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
                {"kB", 1e3}, {"MB", 1e6},     {"GB", 1e9}};
    char *end = NULL;
    double x = s ? strtod(s, &end) : -1;
    for (size_t i = 0; x >= 0 && end != s && i < sizeof unit / sizeof *unit; i++)
        if (!strcmp(end, unit[i].suffix) && x * unit[i].bytes < 9e18) return (int64_t)(x * unit[i].bytes);
    return DEFAULT_LIMIT;
}

/* XDG base directories: a path that is not absolute counts as not set. */
static const char *folder_path(gcut_arena *a)
{
    const char *cache = gcut_variable("XDG_CACHE_HOME"), *home = gcut_variable("HOME");
    if (cache && *cache == '/') return gcut_printf(a, "%s/gradcut", cache);
    return home && *home == '/' ? gcut_printf(a, "%s/.cache/gradcut", home) : NULL;
}

/* Makes the folder, and its parent, which a new home may lack.  Returns NULL when the path exists, else the
 * error. */
static const char *make_folder(gcut_arena *a, const char *path)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST) return NULL;
    if (errno == ENOENT) {
        const char *above = gcut_strndup(a, path, (size_t)(strrchr(path, '/') - path));
        if (mkdir(above, 0700) != 0 && errno != EEXIST)
            return gcut_printf(a, "cannot make %s: %s", above, strerror(errno));
        if (mkdir(path, 0700) == 0 || errno == EEXIST) return NULL;
    }
    return gcut_printf(a, "cannot make %s: %s", path, strerror(errno));
}

/* Returns why a folder or file cannot be trusted; NULL when it belongs to the user alone. */
static const char *distrust(gcut_arena *a, const struct stat *st)
{
    if (st->st_uid != geteuid())
        return gcut_printf(a, "it belongs to user %lu, not to %lu", (unsigned long)st->st_uid,
                           (unsigned long)geteuid());
    if (st->st_mode & 077)
        return gcut_printf(a, "its mode is %04o: chmod 700 makes it private", st->st_mode & 07777);
    return NULL;
}

gcut_cache *gcut_cache_open(gcut_arena *arena, const char **path, const char **why)
{
    const char *ignored[2];
    struct stat st;
    if (!path) path = &ignored[0];
    if (!why) why = &ignored[1];
    *path = folder_path(arena);
    *why = NULL;
    const char *asked = getenv("GRADCUT_CACHE");
    if (asked && !strcmp(asked, "off"))
        *why = "GRADCUT_CACHE is off";
    else if (!*path)
        *why = "neither XDG_CACHE_HOME nor HOME is an absolute path";
    if (*why) return NULL;
    *why = make_folder(arena, *path);
    if (*why) return NULL;
    int fd = open(*path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        *why = strerror(errno);
        if (fd >= 0) close(fd);
        return NULL;
    }
    gcut_close_with(arena, fd);
    *why = distrust(arena, &st);
    if (*why) return NULL;
    gcut_cache *c = gcut_calloc(arena, 1, sizeof *c);
    *c = (gcut_cache){gcut_arena_env(arena), arena, fd, limit_from(getenv("GRADCUT_CACHE_SIZE"))};
    return c;
}

/* ---- the lock and the counters ---- */

typedef struct counters {
    int64_t hits, misses;
} counters;

#define PATIENCE 100 /* attempts, 10 ms apart: the process that holds the lock may be stopped */

/* Takes the lock until the arena is freed; returns its file descriptor, or -1 after PATIENCE attempts. */
static int lock(const gcut_cache *c, gcut_arena *a)
{
    int fd = openat(c->folder, "counters", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    gcut_close_with(a, fd);
    for (int i = 0; i < PATIENCE; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return -1;
}

static counters read_counters(int fd)
{
    counters n = {0};
    char text[64] = "";
    if (pread(fd, text, sizeof text - 1, 0) > 0 &&
        sscanf(text, "%" SCNd64 " %" SCNd64, &n.hits, &n.misses) == 2 && n.hits >= 0 && n.hits < INT64_MAX &&
        n.misses >= 0 && n.misses < INT64_MAX)
        return n;
    return (counters){0}; /* malformed: count from 0 */
}

/* Writes a fixed number of digits, which covers the previous text completely. */
static void write_counters(int fd, counters n)
{
    char text[64];
    int k = snprintf(text, sizeof text, "%019" PRId64 " %019" PRId64 "\n", n.hits, n.misses);
    if (!gcut_file_may_hold((uint64_t)k)) return;
    if (pwrite(fd, text, (size_t)k, 0) != k && ftruncate(fd, 0) != 0) return;
}

static void count(const gcut_cache *c, bool hit)
{
    gcut_arena *a = gcut_arena_new(c->env, c->arena);
    int fd = lock(c, a);
    counters n = fd < 0 ? (counters){0} : read_counters(fd);
    hit ? n.hits++ : n.misses++;
    if (fd >= 0) write_counters(fd, n);
    gcut_arena_free(a);
}

/* ---- reading ---- */

static const char *entry_name(gcut_arena *a, gcut_cache_kind kind, const char *key)
{
    return gcut_printf(a, "%s%s", key, suffix[kind]);
}

static void hash_entry(gcut_cache_kind kind, const char *key, const void *data, size_t n,
                       unsigned char out[GCUT_HASH_BYTES])
{
    gcut_hash h;
    gcut_hash_begin(&h);
    gcut_hash_int(&h, kind);
    gcut_hash_text(&h, key);
    gcut_hash_bulk(&h, data, n);
    gcut_hash_end(&h, out);
}

/* Copies all of the file `from` into `into`. */
static bool copy(int from, int into, int64_t bytes)
{
    off_t at = 0;
    if (ftruncate(into, 0) != 0 || lseek(into, 0, SEEK_SET) != 0) return false;
    while (at < bytes) {
        ssize_t n = sendfile(into, from, &at, (size_t)(bytes - at));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
    }
    return lseek(into, 0, SEEK_SET) == 0;
}

/* Checks the copy, not the file, which may change meanwhile; then cuts off the trailer. */
static bool check(gcut_cache_kind kind, const char *key, int fd, int64_t size)
{
    trailer t;
    unsigned char hash[GCUT_HASH_BYTES];
    const int64_t n = size - (int64_t)sizeof t;
    if (pread(fd, &t, sizeof t, n) != (ssize_t)sizeof t || memcmp(t.magic, magic, sizeof magic) != 0 ||
        t.bytes != (uint64_t)n)
        return false;
    void *at = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (at == MAP_FAILED) return false;
    hash_entry(kind, key, at, (size_t)n, hash);
    munmap(at, (size_t)size);
    return memcmp(hash, t.hash, sizeof hash) == 0 && ftruncate(fd, n) == 0;
}

static bool is_sound(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 077) &&
           st->st_size >= (off_t)sizeof(trailer) && st->st_size <= MOST_BYTES;
}

static bool load(gcut_cache *c, gcut_cache_kind kind, const char *key, int into)
{
    gcut_arena *a = gcut_arena_new(c->env, c->arena);
    const char *name = entry_name(a, kind, key);
    struct stat st;
    int fd = openat(c->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool sound = fd >= 0 && fstat(fd, &st) == 0 && is_sound(&st),
         fits = !sound || gcut_file_may_hold((uint64_t)st.st_size);
    bool ok = sound && fits && copy(fd, into, st.st_size) && check(kind, key, into, st.st_size);
    if (ok) futimens(fd, NULL); /* the time of last use, which orders eviction */
    if (!ok && fits && (fd >= 0 || errno == ELOOP)) unlinkat(c->folder, name, 0);
    if (fd >= 0) close(fd);
    gcut_arena_free(a);
    return ok;
}

bool gcut_cache_load(gcut_cache *c, gcut_cache_kind kind, const char *key, int into)
{
    if (!c) return false;
    bool ok = load(c, kind, key, into);
    if (kind < GCUT_CACHE_MACHINE) count(c, ok);
    return ok;
}

char *gcut_cache_get(gcut_cache *c, gcut_cache_kind kind, const char *key, gcut_arena *arena, size_t *n)
{
    if (!c) return NULL;
    gcut_arena *a = gcut_arena_new(c->env, c->arena);
    int fd = gcut_unnamed_new(a, "gradcut-entry");
    char *out =
        gcut_cache_load(c, kind, key, fd) ? gcut_unnamed_read(arena, fd, (size_t)MOST_BYTES, n) : NULL;
    gcut_arena_free(a);
    return out;
}

void gcut_cache_drop(gcut_cache *c, gcut_cache_kind kind, const char *key)
{
    if (c) unlinkat(c->folder, entry_name(c->arena, kind, key), 0);
}

/* ---- writing ---- */

typedef struct entry {
    const char *name;
    int64_t bytes;
    struct timespec used;
} entry;

typedef struct entries {
    GCUT_VEC(entry) all;
    int64_t bytes;
} entries;

/* The kind of an entry; GCUT_CACHE_NKINDS for the temporary file of an entry that is being written; -1 for
 * any other file. */
static int kind_of(const char *name)
{
    if (!strncmp(name, "new-", 4)) return GCUT_CACHE_NKINDS;
    for (int k = 0; k < GCUT_CACHE_NKINDS; k++)
        if (gcut_has_suffix(name, suffix[k])) return k;
    return -1;
}

static void close_folder(void *d)
{
    closedir(d);
}

/* All entries of the cache but the one named `but`. */
static entries list(const gcut_cache *c, gcut_arena *a, const char *but)
{
    entries out = {0};
    int fd = openat(c->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0) close(fd);
    if (d) gcut_arena_defer(a, close_folder, d);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (kind_of(e->d_name) < 0 || !strcmp(e->d_name, but)) continue;
        if (fstatat(c->folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        *GCUT_PUSH(a, &out.all) =
            (entry){gcut_strndup(a, e->d_name, strlen(e->d_name)), st.st_size, st.st_mtim};
        out.bytes += st.st_size;
    }
    return out;
}

static int by_age(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

#define ABANDONED 3600 /* seconds: the writer of an older temporary file is taken for dead */

/* Evicts the least recently used entries until `bytes` more fit, the bytes of the temporary file `temp`,
 * which stays.  The caller holds the lock. */
static bool make_room(const gcut_cache *c, gcut_arena *a, int64_t bytes, const char *temp)
{
    if (bytes > c->limit) return false;
    entries e = list(c, a, temp);
    const time_t now = time(NULL);
    if (e.all.n) qsort(e.all.at, e.all.n, sizeof *e.all.at, by_age);
    for (uint32_t i = 0; i < e.all.n; i++) {
        const entry *x = &e.all.at[i];
        bool abandoned = kind_of(x->name) == GCUT_CACHE_NKINDS && now - x->used.tv_sec > ABANDONED;
        if (e.bytes + bytes <= c->limit && !abandoned) continue;
        if (unlinkat(c->folder, x->name, 0) == 0 || errno == ENOENT) e.bytes -= x->bytes;
    }
    return e.bytes + bytes <= c->limit;
}

static bool write_all(int fd, const void *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t wrote = write(fd, (const char *)data + done, n - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        done += (size_t)wrote;
    }
    return true;
}

/* A new file: without a name, and temp is "", or else with the name it writes to temp. */
static int new_file(const gcut_cache *c, char *temp, size_t room)
{
    *temp = '\0';
    int fd = openat(c->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    for (int i = 0; i < 100; i++) {
        snprintf(temp, room, "new-%ld-%d", (long)getpid(), i);
        fd = openat(c->folder, temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

static bool give_name(const gcut_cache *c, int fd, const char *temp, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (*temp) return renameat(c->folder, temp, c->folder, name) == 0;
    return linkat(AT_FDCWD, path, c->folder, name, AT_SYMLINK_FOLLOW) == 0 ||
           errno == EEXIST; /* another process stored it */
}

static bool store(const gcut_cache *c, gcut_arena *a, int fd, const char *temp, const char *name,
                  const trailer *t, const void *data)
{
    const int64_t bytes = (int64_t)(t->bytes + sizeof *t);
    if (!write_all(fd, data, t->bytes) || !write_all(fd, t, sizeof *t)) return false;
    return lock(c, a) >= 0 && make_room(c, a, bytes, temp) && give_name(c, fd, temp, name);
}

void gcut_cache_put(gcut_cache *c, gcut_cache_kind kind, const char *key, const void *data, size_t n)
{
    trailer t = {.bytes = n};
    char temp[64];
    const int64_t bytes = (int64_t)(n + sizeof t);
    if (!c || bytes > MOST_BYTES || bytes > c->limit || !gcut_file_may_hold((uint64_t)bytes)) return;
    memcpy(t.magic, magic, sizeof magic);
    hash_entry(kind, key, data, n, t.hash);
    gcut_arena *a = gcut_arena_new(c->env, c->arena);
    const char *name = entry_name(a, kind, key);
    int fd = new_file(c, temp, sizeof temp);
    if (fd >= 0) {
        gcut_close_with(a, fd);
        if (!store(c, a, fd, temp, name, &t, data) && *temp) unlinkat(c->folder, temp, 0);
    }
    gcut_arena_free(a);
}

/* ---- figures and clearing ---- */

gcut_cache_use gcut_cache_ask(gcut_cache *c)
{
    gcut_cache_use u = {.limit = c->limit};
    gcut_arena *a = gcut_arena_new(c->env, c->arena);
    entries e = list(c, a, "");
    for (uint32_t i = 0; i < e.all.n; i++) {
        int kind = kind_of(e.all.at[i].name);
        if (kind < GCUT_CACHE_NKINDS) u.entries[kind]++;
    }
    u.bytes = e.bytes;
    int fd = lock(c, a);
    if (fd >= 0) {
        counters n = read_counters(fd);
        u.hits = n.hits, u.misses = n.misses;
    }
    gcut_arena_free(a);
    return u;
}

int64_t gcut_cache_empty(gcut_cache *c)
{
    int64_t removed = 0;
    gcut_arena *a = gcut_arena_new(c->env, c->arena);
    int fd = lock(c, a);
    entries e = list(c, a, "");
    for (uint32_t i = 0; i < e.all.n; i++) removed += unlinkat(c->folder, e.all.at[i].name, 0) == 0;
    if (fd >= 0) write_counters(fd, (counters){0});
    gcut_arena_free(a);
    return removed;
}
