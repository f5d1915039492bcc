/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running another program.
 */
#define _GNU_SOURCE
#include "driver/load/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static void destroy_actions(void *actions)
{
    posix_spawn_file_actions_destroy(actions);
}

static void destroy_attributes(void *attributes)
{
    posix_spawnattr_destroy(attributes);
}

/* A child inherits ignored signals.  With SIGCHLD ignored, it could not wait for its own children. */
static void reset_signals(posix_spawnattr_t *at)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGPIPE);
    posix_spawnattr_setsigdefault(at, &set);
    posix_spawnattr_setflags(at, POSIX_SPAWN_SETSIGDEF);
}

typedef struct spawning {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
} spawning;

static void prepare(gcut_arena *a, const gcut_subprocess *c, spawning *s)
{
    if (posix_spawn_file_actions_init(&s->actions) != 0) gcut_throw(gcut_arena_env(a), GCUT_ENOMEM);
    gcut_arena_defer(a, destroy_actions, &s->actions);
    if (posix_spawnattr_init(&s->attributes) != 0) gcut_throw(gcut_arena_env(a), GCUT_ENOMEM);
    gcut_arena_defer(a, destroy_attributes, &s->attributes);
    reset_signals(&s->attributes);
    posix_spawn_file_actions_addopen(&s->actions, 0, c->in ? c->in : "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&s->actions, c->log, 1);
    posix_spawn_file_actions_adddup2(&s->actions, c->log, 2);
    for (uint32_t i = 0; i < c->nkept; i++) /* dup2 onto itself clears close-on-exec */
        posix_spawn_file_actions_adddup2(&s->actions, c->kept[i], c->kept[i]);
}

static void await(pid_t pid, gcut_ending *end)
{
    pid_t got;
    do got = waitpid(pid, &end->status, 0);
    while (got < 0 && errno == EINTR);
    if (got == pid) return;
    end->status = 0;
    end->unknown = true;
}

/* Throws nothing after the first child has started: it waits for every child. */
void gcut_subprocesses_run(gcut_env *env, const gcut_subprocess *c, uint32_t n, gcut_ending *end)
{
    gcut_arena *a = gcut_arena_new(env, env->arena);
    spawning *s = gcut_calloc(a, n + 1, sizeof *s);
    pid_t *pid = gcut_calloc(a, n + 1, sizeof *pid);
    for (uint32_t i = 0; i < n; i++) prepare(a, &c[i], &s[i]);
    for (uint32_t i = 0; i < n; i++) {
        end[i] = (gcut_ending){0};
        end[i].error =
            posix_spawnp(&pid[i], c[i].argv[0], &s[i].actions, &s[i].attributes, c[i].argv, environ);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!end[i].error) await(pid[i], &end[i]);
    gcut_arena_free(a);
}

bool gcut_never_ran(gcut_ending e)
{
    /* POSIX lets posix_spawn detect the failure in the child, which then exits with 127. */
    return e.error || (WIFEXITED(e.status) && WEXITSTATUS(e.status) == 127);
}

const char *gcut_ending_text(gcut_arena *arena, gcut_ending e)
{
    if (e.error) return gcut_printf(arena, "could not be started: %s", strerror(e.error));
    if (e.unknown) return "ended with an unknown status, because this program ignores SIGCHLD";
    if (WIFSIGNALED(e.status))
        return gcut_printf(arena, "was killed by signal %d (%s)", WTERMSIG(e.status),
                           strsignal(WTERMSIG(e.status)));
    return gcut_printf(arena, "exited with status %d", WEXITSTATUS(e.status));
}

static bool is_plain(const char *s)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./%@";
    return *s && strspn(s, plain) == strlen(s);
}

const char *gcut_subprocess_text(gcut_arena *arena, char *const *argv)
{
    gcut_text t = {.arena = arena};
    for (int i = 0; argv[i]; i++) {
        gcut_text_add(&t, "%s", i ? " " : "");
        if (is_plain(argv[i])) {
            gcut_text_add(&t, "%s", argv[i]);
            continue;
        }
        gcut_text_add(&t, "'");
        for (const char *s = argv[i]; *s; s++) {
            if (*s == '\'') gcut_text_addn(&t, "'\\'", 3);
            gcut_text_addn(&t, s, 1);
        }
        gcut_text_add(&t, "'");
    }
    return t.at;
}
