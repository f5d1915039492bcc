/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * However a program that compiles or runs a step ends, no temporary file stays.
 *
 * Each case is a child process.  It and the compilers that it starts hold the write end of a pipe: its reader
 * sees them begin, one byte each, and sees the last of them end, also of those that outlive the child.
 */
#define _GNU_SOURCE
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

#define PIPE 9 /* the write end's number in children: shells know numbers of one digit */

static char folder[128]; /* TMPDIR of the children */
static char home[128];   /* of their cache, as its parent; it holds entries alone */
static char cc[128];     /* a compiler that says that it begins */

typedef enum ending { FREE, RETURN, EXIT_NOW, CRASH, STAY } ending;

static void write_cc(void)
{
    snprintf(cc, sizeof cc, "%s/cc", tmp);
    FILE *f = fopen(cc, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n[ \"$1\" = --version ] || printf x >&%d\nexec cc \"$@\"\n", PIPE);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(cc, 0700), 0);
}

static int make(void **state)
{
    if (make_folder(state) != 0) return -1;
    snprintf(folder, sizeof folder, "%s/temporary", tmp);
    snprintf(home, sizeof home, "%s/home", tmp);
    write_cc();
    return mkdir(folder, 0777);
}

/* No cmocka in here: it would go on with the parent's tests. */
static _Noreturn void child(ending how)
{
    static const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    setenv("TMPDIR", folder, 1);
    setenv("GRADCUT_CC", cc, 1);
    setenv("XDG_CACHE_HOME", home, 1);
    unsetenv("GRADCUT_CACHE");
    setenv("GRADCUT_STEP_FLAGS", "-O0", 1);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = ctx ? graph_from(ctx, LINE_FIT) : NULL;
    gcut_step *s = g ? compile_as(g, GCUT_BACKEND_COMPILED, "sgd(lr=0.1)") : NULL;
    if (!s || gcut_run(s) != GCUT_OK) _exit(9);
    if (write(PIPE, "r", 1) != 1) _exit(8);
    switch (how) {
    case FREE: gcut_ctx_free(ctx); exit(0);
    case RETURN: exit(0);
    case EXIT_NOW: _exit(0);
    case CRASH: signal(SIGSEGV, SIG_DFL), raise(SIGSEGV); break;
    case STAY: pause(); break;
    }
    _exit(7);
}

static pid_t begin(ending how, int *from)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (dup2(ends[1], PIPE) != PIPE) _exit(6);
        close(ends[0]);
        close(ends[1]);
        child(how);
    }
    close(ends[1]);
    *from = ends[0];
    return pid;
}

/* Waits for the child and every compiler that it started. */
static int finish(pid_t pid, int from)
{
    char byte;
    int status;
    while (read(from, &byte, 1) > 0) continue;
    close(from);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static bool belongs(const char *name)
{
    return strstr(name, ".object") || strstr(name, ".digest") || strstr(name, ".step") ||
           !strcmp(name, "counters");
}

/* No temporary file, and a cache that is cold again. */
static void assert_empty(const char *what)
{
    char cache[160];
    snprintf(cache, sizeof cache, "%s/gradcut", home);
    const char *const folders[] = {folder, cache};
    for (int k = 0; k < 2; k++) {
        DIR *d = opendir(folders[k]);
        if (!d && k == 1) return; /* it did not come to that */
        assert_non_null(d);
        for (struct dirent *e; (e = readdir(d));) {
            if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
            if (k == 0 || !belongs(e->d_name)) fail_msg("%s leaves %s/%s", what, folders[k], e->d_name);
            assert_int_equal(unlinkat(dirfd(d), e->d_name, 0), 0);
        }
        closedir(d);
    }
}

static void after_every_exit(void **state)
{
    (void)state;
    static const char *const what[] = {"gcut_ctx_free", "exit", "_exit", "a crash"};
    for (ending how = FREE; how < STAY; how++) {
        int from;
        pid_t pid = begin(how, &from);
        int status = finish(pid, from);
        if (how == CRASH)
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        else
            assert_int_equal(status, 0);
        assert_empty(what[how]);
    }
}

/* At bytes 1 and 2 it compiles a part, at byte 3 it links, at byte 4 it has run; the signal goes to the child
 * alone, as kill(1) sends it, or to the compilers too, as a terminal does. */
static void after_every_signal(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGKILL};
    for (int stage = 1; stage <= 4; stage++)
        for (size_t k = 0; k < sizeof signals / sizeof *signals; k++) {
            TRY("signal %zu", k);
            char what[64], byte;
            int from;
            pid_t pid = begin(STAY, &from);
            for (int i = 0; i < stage; i++) assert_int_equal(read(from, &byte, 1), 1);
            assert_int_equal(kill(pid, signals[k]), 0);
            int status = finish(pid, from);
            assert_true(WIFSIGNALED(status));
            assert_that(WTERMSIG(status), ==, signals[k]);
            snprintf(what, sizeof what, "signal %d at stage %d", signals[k], stage);
            assert_empty(what);
        }
}

/* Tools that cannot write by a path below /proc get a folder, which goes too. */
static void after_a_folder(void **state)
{
    (void)state;
    const char *picky = in_tmp("picky");
    FILE *f = fopen(picky, "w");
    assert_non_null(f);
    fputs("#!/bin/sh\nfor a; do case $a in /proc/*) exit 3;; esac; done\nexec cc \"$@\"\n", f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(picky, 0700), 0);
    setenv("GRADCUT_CC", picky, 1);
    setenv("TMPDIR", folder, 1);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, LINE_FIT);
    gcut_step *s = gcut_compile(g, &TEST_OPTIONS);
    assert_empty("compiling in a folder");
    if (!s || gcut_run(s) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    setenv("GRADCUT_CC", "false", 1);
    assert_null(gcut_compile(g, &TEST_OPTIONS));
    assert_empty("a compiler that fails");
    gcut_ctx_free(ctx);
    unsetenv("GRADCUT_CC");
    unsetenv("TMPDIR");
}

int main(void)
{
    /* A shell that runs this in the background, and nohup, leave signals ignored, which children inherit. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_every_exit),
        cmocka_unit_test(after_every_signal),
        cmocka_unit_test(after_a_folder),
    };
    return cmocka_run_group_tests(tests, make, remove_folder);
}
