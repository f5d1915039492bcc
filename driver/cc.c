/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Emitted files, and the C compiler that turns them into a shared object: run
 * with an argument vector, never through a shell, in a private folder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/pipeline.h"

extern char **environ;

/* The last part of a path, which names the step. */
static const char *last_part(const char *base)
{
    const char *s = strrchr(base, '/');
    return s ? s + 1 : base;
}

static void emit(const gcut_pipeline *p, const char *name, gcut_text *c, gcut_text *h)
{
    const char *ok = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    if (!*name || strspn(name, ok) != strlen(name) || (*name >= '0' && *name <= '9'))
        gcut_fail(p->env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "'%s' is not a C identifier, so it cannot name a step", name);
    gcut_emit_c(p->program, name, p->opt.profile, c, h);
}

void gcut_write_c(const gcut_pipeline *p, const char *base)
{
    gcut_arena *a = gcut_arena_new(p->env, p->arena);
    gcut_text c = {.arena = a}, h = {.arena = a};
    emit(p, last_part(base), &c, &h);
    gcut_file_write(p->env, gcut_printf(a, "%s.c", base), c.at, c.n);
    gcut_file_write(p->env, gcut_printf(a, "%s.h", base), h.at, h.n);
    gcut_arena_free(a);
}

/* ---- the compiler ---- */

static void remove_folder(void *path)
{
    static const char *const files[] = {"step.c", "step.h", "step.so", "log"};
    char name[512];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(name, sizeof name, "%s/%s", (const char *)path, files[i]);
        unlink(name);
    }
    rmdir(path);
}

static char *private_folder(gcut_env *env, gcut_arena *a)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = gcut_printf(a, "%s/gradcut-XXXXXX", tmp && *tmp && strlen(tmp) < 400 ? tmp : "/tmp");
    if (!mkdtemp(dir))
        gcut_fail(env, GCUT_EIO, (gcut_place){.file = dir}, "set TMPDIR",
                  "cannot create a temporary folder: %s", strerror(errno));
    gcut_arena_defer(a, remove_folder, dir);
    return dir;
}

static void destroy_actions(void *actions)
{
    posix_spawn_file_actions_destroy(actions);
}

/* Runs argv with its output going to `log`; throws GCUT_ETOOL with the log's first lines when it fails. */
static void run(gcut_env *env, gcut_arena *a, char *const *argv, const char *log)
{
    posix_spawn_file_actions_t *fa = gcut_alloc(a, sizeof *fa); /* outlives a throw, as its undoing does */
    pid_t pid;
    int status = 0;
    if (posix_spawn_file_actions_init(fa) != 0) gcut_throw(env, GCUT_ENOMEM);
    gcut_arena_defer(a, destroy_actions, fa);
    posix_spawn_file_actions_addopen(fa, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(fa, 1, 2);
    int err = posix_spawnp(&pid, argv[0], fa, NULL, argv, environ);
    while (err == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (err == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        gcut_arena_free(a);
        return;
    }
    /* POSIX lets posix_spawn find out too late, and the child exit with 127. */
    bool found = err == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
    if (!found)
        gcut_fail(env, GCUT_ETOOL, (gcut_place){0}, "install a C compiler or set GRADCUT_CC",
                  "cannot run '%s': %s", argv[0], strerror(err ? err : ENOENT));
    size_t n = 0;
    char *text = gcut_file_read(env->arena, log, 1 << 20, &n);
    if (n > 2000) text[2000] = '\0';
    gcut_fail(env, GCUT_ETOOL, (gcut_place){0}, NULL, "the C compiler failed on the emitted step:\n%s", text);
}

static const char *setting(const char *variable, const char *built_in)
{
    const char *s = getenv(variable);
    return s && *s ? s : built_in;
}

/* Splits words at blanks: flags of our own build, not a user's shell line. */
static uint32_t words(gcut_arena *a, const char *s, char **out, uint32_t n, uint32_t room)
{
    while (*s) {
        size_t k = strcspn(s, " ");
        if (k && n < room) out[n++] = gcut_strndup(a, s, k);
        s += k + (s[k] == ' ');
    }
    return n;
}

void gcut_build_shared(const gcut_pipeline *p, const char *so)
{
    gcut_arena *a = gcut_arena_new(p->env, p->arena);
    const char *dir = private_folder(p->env, a);
    gcut_text c = {.arena = a}, h = {.arena = a};
    emit(p, "step", &c, &h);
    const char *source = gcut_printf(a, "%s/step.c", dir), *log = gcut_printf(a, "%s/log", dir);
    gcut_file_write(p->env, source, c.at, c.n);
    gcut_file_write(p->env, gcut_printf(a, "%s/step.h", dir), h.at, h.n);
    char *argv[64];
    uint32_t n = words(a, setting("GRADCUT_CC", GRADCUT_CC), argv, 0, 8);
    n = words(a, setting("GRADCUT_STEP_FLAGS", GRADCUT_STEP_FLAGS), argv, n, 32);
    n = words(a, "-std=c17 -fPIC -shared -fvisibility=hidden -w", argv, n, 40);
    argv[n++] = gcut_printf(a, "-I%s", setting("GRADCUT_INCLUDE_DIR", GRADCUT_INCLUDE_DIR));
    argv[n++] = "-o";
    argv[n++] = gcut_printf(a, "%s", so);
    argv[n++] = gcut_printf(a, "%s", source);
    argv[n++] = gcut_printf(a, "%s", setting("GRADCUT_RT_LIBRARY", GRADCUT_RT_LIBRARY));
    argv[n++] = gcut_printf(a, "%s", setting("GRADCUT_BLIS_LIBRARY", GRADCUT_BLIS_LIBRARY));
    n = words(a, "-Wl,--exclude-libs,ALL -fopenmp -lm", argv, n, 62);
    argv[n] = NULL;
    run(p->env, gcut_arena_new(p->env, a), argv, log);
    gcut_arena_free(a);
}
