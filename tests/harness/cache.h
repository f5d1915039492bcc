/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A cache of the tests' own, steps to keep in it, and a compiler that counts its runs: a script, which does
 * not count those that ask for its version.
 */
#ifndef GCUT_TESTS_CACHE_H
#define GCUT_TESTS_CACHE_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api.h"
#include "public.h"

#define RUNS 3 /* of the compiler for one step: it compiles two parts, it links */

static char folder[160]; /* of the cache */

/* ---- surroundings ---- */

static inline void write_text(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static inline int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
    (void)st, (void)flag, (void)f;
    return remove(path);
}

static inline void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int make(void **state)
{
    if (make_folder(state) != 0) return -1;
    char script[400];
    snprintf(script, sizeof script,
             "#!/bin/sh\n[ \"$1\" = --version ] || printf x >>%s/runs\nexec cc \"$@\"\n", tmp);
    write_text(in_tmp("cc"), script, 0700);
    setenv("GRADCUT_CC", in_tmp("cc"), 1);
    setenv("GRADCUT_STEP_FLAGS", "-O0", 1);
    setenv("XDG_CACHE_HOME", in_tmp("home"), 1);
    snprintf(folder, sizeof folder, "%s/home/gradcut", tmp);
    return 0;
}

/* Each test begins with an empty cache, in use. */
static inline int begin(void **state)
{
    (void)state;
    remove_tree(in_tmp("home"));
    unsetenv("GRADCUT_CACHE");
    unsetenv("GRADCUT_CACHE_SIZE");
    unsetenv("GRADCUT_CACHE_PROCESSOR");
    return 0;
}

static inline int runs(void)
{
    struct stat st;
    return stat(in_tmp("runs"), &st) == 0 ? (int)st.st_size : 0;
}

/* ---- steps ---- */

/* least squares with a factor of its own, so that steps can differ */
static inline const char *graph_of(double factor)
{
    static char text[1000];
    snprintf(
        text, sizeof text,
        "func @line[N in 1..64](param %%w: f32[3], input %%x: f32[N, 3], input %%y: f32[N]) -> (out loss: "
        "f32[]) {\n"
        "  %%w2 = reshape(%%w, shape=[3, 1])\n"
        "  %%p = matmul(%%x, %%w2)\n"
        "  %%q = reshape(%%p, shape=[N])\n"
        "  %%c = full(shape=[N], value=%.6f)\n"
        "  %%s = mul(%%q, %%c)\n"
        "  %%loss = mse(%%s, %%y)\n"
        "  return %%loss\n"
        "}\n",
        factor);
    return text;
}

/* Compiles, runs, and returns the bytes of all results, to be freed. */
static inline unsigned char *run_step(double factor, size_t *n)
{
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, graph_of(factor));
    gcut_step *s = compile_as(g, GCUT_BACKEND_COMPILED, "sgd(lr=0.1)");
    must_run(ctx, s);
    assert_int_equal(gcut_error_count(ctx), 0);
    unsigned char *all = result_bytes(s, n);
    gcut_ctx_free(ctx);
    return all;
}

typedef struct result {
    unsigned char *at;
    size_t n;
} result;

/* Without a cache; factors are 0 to 9. */
static inline result expected(int factor)
{
    static result all[10];
    if (all[factor].at) return all[factor];
    const char *mode = getenv("GRADCUT_CACHE");
    assert_true(!mode || !strcmp(mode, "off"));
    setenv("GRADCUT_CACHE", "off", 1);
    all[factor].at = run_step(factor, &all[factor].n);
    if (!mode) unsetenv("GRADCUT_CACHE");
    return all[factor];
}

/* The same bits as without a cache, after so many runs of the compiler. */
static inline void expect(int factor, int compilations, const char *what)
{
    const result want = expected(factor);
    const int before = runs();
    result got;
    got.at = run_step(factor, &got.n);
    if (runs() - before != compilations * RUNS)
        fail_msg("%s: the compiler ran %d times, not %d", what, runs() - before, compilations * RUNS);
    assert_int_equal(want.n, got.n);
    if (memcmp(want.at, got.at, got.n) != 0) fail_msg("%s: other results", what);
    free(got.at);
}

/* ---- entries ---- */

/* The only entry of a kind; NULL when there is none. */
static inline char *entry(const char *suffix)
{
    static char path[512];
    int found = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name), k = strlen(suffix);
        if (n <= k || strcmp(e->d_name + n - k, suffix) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        found++;
    }
    if (d) closedir(d);
    assert_true(found <= 1);
    return found ? path : NULL;
}

static inline int64_t bytes_of_all(int *count)
{
    int64_t sum = 0;
    DIR *d = opendir(folder);
    *count = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (*e->d_name == '.' || !strcmp(e->d_name, "counters")) continue;
        assert_int_equal(fstatat(dirfd(d), e->d_name, &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        sum += st.st_size;
        ++*count;
    }
    if (d) closedir(d);
    return sum;
}

static inline int64_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static inline void flip(const char *path, int64_t at)
{
    unsigned char byte;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

#endif
