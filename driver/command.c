/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running another program.
 */
#define _GNU_SOURCE
#include "driver/command.h"

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

/* A host program that ignores SIGCHLD would hand that on, and the program started would not see its own
 * children end. */
static void reset_signals(posix_spawnattr_t *at)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGPIPE);
    posix_spawnattr_setsigdefault(at, &set);
    posix_spawnattr_setflags(at, POSIX_SPAWN_SETSIGDEF);
}

gcut_ending gcut_command_run(gcut_env *env, const gcut_command *c)
{
    gcut_arena *a = gcut_arena_new(env, env->arena);
    posix_spawn_file_actions_t *fa = gcut_alloc(a, sizeof *fa); /* outlive a throw, as their undoing does */
    posix_spawnattr_t *at = gcut_alloc(a, sizeof *at);
    gcut_ending end = {0};
    pid_t pid;
    if (posix_spawn_file_actions_init(fa) != 0) gcut_throw(env, GCUT_ENOMEM);
    gcut_arena_defer(a, destroy_actions, fa);
    if (posix_spawnattr_init(at) != 0) gcut_throw(env, GCUT_ENOMEM);
    gcut_arena_defer(a, destroy_attributes, at);
    reset_signals(at);
    if (c->in >= 0)
        posix_spawn_file_actions_adddup2(fa, c->in, 0);
    else
        posix_spawn_file_actions_addopen(fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(fa, c->log, 1);
    posix_spawn_file_actions_adddup2(fa, c->log, 2);
    for (uint32_t i = 0; i < c->nkept; i++) /* onto itself: it stays open */
        posix_spawn_file_actions_adddup2(fa, c->kept[i], c->kept[i]);
    end.error = posix_spawnp(&pid, c->argv[0], fa, at, c->argv, environ);
    while (!end.error && waitpid(pid, &end.status, 0) < 0 && errno == EINTR) continue;
    gcut_arena_free(a);
    return end;
}

bool gcut_never_ran(gcut_ending e)
{
    /* POSIX lets posix_spawn find out too late, and the child exit with 127. */
    return e.error || (WIFEXITED(e.status) && WEXITSTATUS(e.status) == 127);
}

const char *gcut_ending_text(gcut_arena *arena, gcut_ending e)
{
    if (e.error) return gcut_printf(arena, "could not be started: %s", strerror(e.error));
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

const char *gcut_command_text(gcut_arena *arena, char *const *argv)
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
