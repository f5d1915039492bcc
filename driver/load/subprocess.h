/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running another program: by an argument vector, never through a shell.
 */
#ifndef GCUT_DRIVER_LOAD_SUBPROCESS_H
#define GCUT_DRIVER_LOAD_SUBPROCESS_H

#include "base/arena.h"

typedef struct gcut_subprocess {
    char *const *argv; /* argv[0] is looked for in PATH */
    const char *in;    /* the path of its standard input; NULL = /dev/null */
    int log;           /* its standard output and error */
    const int *kept;   /* descriptors that stay open in it, under the same numbers */
    uint32_t nkept;
} gcut_subprocess;

typedef struct gcut_ending {
    int error;    /* errno of starting it; 0 = it ran */
    int status;   /* as waitpid reports it */
    bool unknown; /* the exit status, 0 here: the host program ignores SIGCHLD or reaps all children */
} gcut_ending;

/* Starts n of them, which run at once, and waits for all. */
void gcut_subprocesses_run(gcut_env *env, const gcut_subprocess *c, uint32_t n, gcut_ending *end);
static inline bool gcut_ended_well(gcut_ending e)
{
    return !e.error && !e.status;
}
/* The program does not exist, or cannot be executed. */
bool gcut_never_ran(gcut_ending e);
/* "exited with status 1", "was killed by signal 9 (Killed)". */
const char *gcut_ending_text(gcut_arena *arena, gcut_ending e);
/* The command line; words with special characters are quoted. */
const char *gcut_subprocess_text(gcut_arena *arena, char *const *argv);

#endif
