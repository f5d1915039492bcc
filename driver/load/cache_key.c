/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inputs of a shared object other than its source: the compiler, the libraries and headers it reads, and the
 * processor that it compiles for.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/file.h"
#include "driver/ctx.h"
#include "driver/load/cache.h"
#include "driver/load/subprocess.h"
#include "driver/load/unnamed_files.h"

#define MOST_BYTES ((size_t)1 << 30) /* limit on the size of a library */

/* ---- files ---- */

typedef struct reading {
    gcut_arena *arena;
    const char *path, *data;
    size_t n;
} reading;

static void read_file(void *arg)
{
    reading *r = arg;
    r->data = gcut_file_read(r->arena, r->path, MOST_BYTES, &r->n);
}

/* NULL when the file cannot be read; the tool that needs it reports why. */
static const char *contents(gcut_arena *a, const char *path, size_t *n)
{
    gcut_env *env = gcut_arena_env(a);
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || access(path, R_OK) != 0) return NULL;
    reading r = {a, path, NULL, 0};
    uint32_t before = env->ndiags;
    if (gcut_protect(env, read_file, &r) != GCUT_OK) {
        gcut_diags_drop(env, before);
        return NULL;
    }
    *n = r.n;
    return r.data;
}

static void add_stat(gcut_hash *h, const char *path, const struct stat *st)
{
    gcut_hash_text(h, path);
    gcut_hash_int(h, (int64_t)st->st_dev);
    gcut_hash_int(h, (int64_t)st->st_ino);
    gcut_hash_int(h, st->st_size);
    gcut_hash_int(h, st->st_mtim.tv_sec);
    gcut_hash_int(h, st->st_mtim.tv_nsec);
    gcut_hash_int(h, st->st_ctim.tv_sec);
    gcut_hash_int(h, st->st_ctim.tv_nsec);
}

/* The cache stores the digest of a file by its inode and times, because libraries have many megabytes. */
static bool add_file(gcut_hash *h, gcut_cache *c, gcut_arena *a, const char *path)
{
    struct stat st;
    size_t n;
    if (stat(path, &st) != 0) return false;
    gcut_hash id;
    gcut_hash_begin(&id);
    add_stat(&id, path, &st);
    const char *key = gcut_hash_hex(&id, a), *digest = gcut_cache_get(c, GCUT_CACHE_DIGEST, key, a, &n);
    if (!digest) {
        gcut_arena *scratch = gcut_arena_new(gcut_arena_env(a), a);
        const char *data = contents(scratch, path, &n);
        gcut_hash all;
        gcut_hash_begin(&all);
        if (data) gcut_hash_add(&all, data, n);
        if (data) digest = gcut_hash_hex(&all, a);
        gcut_arena_free(scratch);
        if (!digest) return false;
        gcut_cache_put(c, GCUT_CACHE_DIGEST, key, digest, strlen(digest));
    }
    gcut_hash_text(h, digest);
    return true;
}

static int is_header(const struct dirent *e)
{
    return gcut_has_suffix(e->d_name, ".h");
}

bool gcut_key_headers(gcut_hash *h, gcut_arena *a, const char *folder)
{
    struct dirent **e = NULL;
    int n = scandir(folder, &e, is_header, alphasort);
    bool ok = n > 0;
    for (int i = 0; i < n; i++) {
        size_t size;
        const char *data = ok ? contents(a, gcut_printf(a, "%s/%s", folder, e[i]->d_name), &size) : NULL;
        ok = ok && data;
        if (ok) gcut_hash_text(h, e[i]->d_name);
        if (ok) gcut_hash_field(h, data, size);
        free(e[i]);
    }
    free(e);
    return ok;
}

/* ---- the compiler ---- */

/* The path at which posix_spawnp finds a program; NULL when PATH has none. */
static const char *find_program(gcut_arena *a, const char *name)
{
    if (strchr(name, '/')) return name;
    const char *path = getenv("PATH");
    for (const char *s = path ? path : "/bin:/usr/bin"; s; s = strchr(s, ':') ? strchr(s, ':') + 1 : NULL) {
        size_t n = strcspn(s, ":");
        const char *full = gcut_printf(a, "%.*s/%s", n ? (int)n : 1, n ? s : ".", name);
        if (access(full, X_OK) == 0) return full;
    }
    return NULL;
}

/* The output of the command argv with one more word; *well: it exited with status 0. */
static const char *answer(gcut_arena *a, char *const *argv, const char *word, size_t *n, bool *well)
{
    uint32_t k = 0;
    while (argv[k]) k++;
    char **ask = gcut_calloc(a, k + 2, sizeof *ask);
    memcpy(ask, argv, k * sizeof *ask);
    ask[k] = gcut_strndup(a, word, strlen(word));
    int log = gcut_unnamed_new(a, "gradcut-answer");
    gcut_ending end;
    gcut_subprocesses_run(gcut_arena_env(a), &(gcut_subprocess){.argv = ask, .log = log}, 1, &end);
    *well = gcut_ended_well(end);
    return gcut_unnamed_read(a, log, 1 << 16, n);
}

/* Adds the files of all words and the version.  The files alone are not enough: a wrapper stays the same
 * when the program that it runs changes.  Nor is the version: in "ccache cc" every word counts. */
bool gcut_key_compiler(gcut_hash *h, gcut_arena *a, char *const *argv)
{
    struct stat st;
    bool well;
    size_t n;
    if (!argv) return false;
    for (uint32_t i = 0; argv[i]; i++) {
        const char *path = find_program(a, argv[i]);
        if (path && stat(path, &st) == 0)
            add_stat(h, path, &st);
        else if (i == 0)
            return false;
    }
    const char *said = answer(a, argv, "--version", &n, &well);
    gcut_hash_field(h, said, n);
    return well;
}

bool gcut_key_library(gcut_hash *h, gcut_cache *c, gcut_arena *a, char *const *argv, const char *library)
{
    if (strncmp(library, "-l:", 3) != 0) return add_file(h, c, a, library);
    bool well;
    size_t n;
    const char *said = answer(a, argv, gcut_printf(a, "-print-file-name=%s", library + 3), &n, &well);
    return well && add_file(h, c, a, gcut_strndup(a, said, strcspn(said, "\n")));
}

/* ---- the processor ---- */

#if defined(__x86_64__) || defined(__i386__)
/* Vendor, model and features.  EBX of leaf 1 is left out: it names the core that executes this. */
static void add_features(gcut_hash *h)
{
    static const struct {
        unsigned leaf, sub;
    } leaves[] = {{0, 0},          {1, 0},          {7, 0},          {7, 1},         {0xd, 1},
                  {0x80000001, 0}, {0x80000002, 0}, {0x80000003, 0}, {0x80000004, 0}};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        unsigned r[4] = {0};
        if (!__get_cpuid_count(leaves[i].leaf, leaves[i].sub, &r[0], &r[1], &r[2], &r[3])) continue;
        if (leaves[i].leaf == 1) r[1] = 0;
        if (leaves[i].leaf == 0xd) r[1] = 0; /* EBX: size of the state that is enabled now */
        gcut_hash_add(h, r, sizeof r);
    }
    unsigned eax, ebx, ecx, edx, low = 0, high = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx >> 27 & 1) /* XCR0: states the system saves */
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    gcut_hash_int(h, (int64_t)((uint64_t)high << 32 | low));
}
#else
static void add_features(gcut_hash *h)
{
    gcut_hash_int(h, (int64_t)getauxval(AT_HWCAP));
    gcut_hash_int(h, (int64_t)getauxval(AT_HWCAP2));
    gcut_hash_text(h, (const char *)getauxval(AT_PLATFORM));
}
#endif

void gcut_key_processor(gcut_hash *h)
{
    struct utsname name;
    gcut_hash_text(h, uname(&name) == 0 ? name.machine : "");
    add_features(h);
    gcut_hash_text(h, getenv("GRADCUT_CACHE_PROCESSOR")); /* lets a test simulate another processor */
}
